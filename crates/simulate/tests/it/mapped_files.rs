//! Predictions of a job in mappings of files on ext4 beside what a real 6.18 did (`testdata/reality/6.18-files`,
//! `mapped.tsv`): fio 3.33 at ordinary priority, 2026-11-30, over our own server's disk of 10 ms behind FUSE and a loop
//! device, write-back throttling at 2 ms under every scheduler, as sysfs said. Nothing was fitted to it.
//!
//! **Rule** bandwidth and the mean `msync` are right within 20 % of the mean of both repeats.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_measure::Work;
use blksched_simulate::reality::{Set, read, so_far};
use blksched_simulate::{RaceOdds, Surroundings, Trial};
use blksched_workloads::fio::JobFile;
use blksched_workloads::host::fs::FsKind;

const FOLDER: &str = "testdata/reality/6.18-files";
const SEEDS: u64 = 5;

/// Rates \[KiB/s\] and mean syncs \[ms\], by scheduler and process.
#[derive(Default)]
struct Figures {
    rates: BTreeMap<(String, String), Vec<f64>>,
    syncs: BTreeMap<(String, String), Vec<f64>>,
}

fn text(name: &str) -> String {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(FOLDER).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn measured() -> Figures {
    let mut figures = Figures::default();
    for line in text("mapped.tsv").lines().skip(1) {
        let words: Vec<&str> = line.split('\t').collect();
        let [scheduler, _, process, rate, sync] = words[..] else { panic!("{line}") };
        let key = (scheduler.to_owned(), process.to_owned());
        figures.rates.entry(key.clone()).or_default().push(rate.parse().expect("a rate"));
        if let Ok(sync) = sync.parse() {
            figures.syncs.entry(key).or_default().push(sync);
        }
    }
    figures
}

fn predicted() -> Figures {
    let set = Set::parse(&text("settings.toml"), |name| Ok(text(name))).expect("a set");
    let setting = &set.settings[0];
    let raw = read("measured.tsv", &text("measured.tsv")).expect("rows");
    let calibrates = text(&format!("jobs/{}.fio", set.calibrates));
    let bench = set.bench(setting, set.fitted(setting, &calibrates, &raw).expect("it runs")).expect("a disk");
    let file = JobFile::parse(&text("mapped.fio"), "mapped.fio").expect("a job file");
    let plan = Arc::new(file.plan_on(bench.disk.build(0).facts().sectors, FsKind::Ext4).expect("it fits"));
    let mut figures = Figures::default();
    for scheduler in ["none", "mq-deadline", "kyber", "bfq"] {
        let around = Surroundings {
            depth: bench.tags,
            nr_requests: if scheduler == "none" { bench.tags } else { bench.nr_requests },
            wbt_latency: Some(Span::from_ms(2)),
            odds: RaceOdds::default(),
            ..bench.around
        };
        for seed in 1..=SEEDS {
            let trial = Trial {
                elevator: Catalogue::builtin().parse(scheduler).expect("a scheduler"),
                knobs: Vec::new(),
                surroundings: around,
                disk: bench.disk.clone(),
                plan: plan.clone(),
                seed,
                limit: Span::from_secs(10),
                other_disks: Vec::new(),
                beside: Default::default(),
            };
            let found = trial.simulate().expect("it runs");
            for (job, outcome) in plan.jobs.iter().zip(&found.jobs) {
                let key = (scheduler.to_owned(), job.name.clone());
                let work = if job.character.writes { Work::Write } else { Work::Read };
                let rate = outcome.record.bandwidth(work) / 1024.0;
                figures.rates.entry(key.clone()).or_default().push(rate);
                let syncs = outcome.record.work(Work::Sync);
                if syncs.ios > 0 {
                    figures.syncs.entry(key).or_default().push(syncs.lat.mean() / 1e6);
                }
            }
        }
    }
    figures
}

#[test]
fn what_mappings_get_side_by_side_is_what_a_real_kernel_gave_them() {
    let (measured, predicted) = (measured(), predicted());
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let right = |real: &BTreeMap<(String, String), Vec<f64>>, found: &BTreeMap<(String, String), Vec<f64>>| {
        let ratio = |(key, values): (&(String, String), &Vec<f64>)| {
            let ratio = mean(&found[key]) / mean(values);
            println!("{key:?}: {ratio:.2}");
            (0.8..=1.2).contains(&ratio)
        };
        (real.iter().map(ratio).filter(|is_right| *is_right).count(), real.len())
    };
    assert_eq!(right(&measured.syncs, &predicted.syncs), (4, 4));
    let (near, all) = right(&measured.rates, &predicted.rates);
    let said = format!("{near} of {all} rates of one job within 20 %");
    assert!(so_far::MAPPED.contains(&said), "{said}, not{}", so_far::MAPPED);
}
