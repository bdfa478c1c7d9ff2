//! The simulator's half of `testdata/reality`: every recorded cell predicted again. Figures outside of their tolerance
//! must be listed in `known-misses.tsv` with a reason, and what is listed must still be outside. `BLESS=1` renews the
//! list (new lines say that nobody knows yet why) and `docs/reality.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use blksched::Span;
use blksched_disks::DiskSpec;
use blksched_simulate::Surroundings;
use blksched_simulate::reality::{Bench, Cell, Judged, Row, judge, probe, read};
use blksched_workloads::fio::JobFile;

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// One disk with its number of tags.
struct Setting {
    name: String,
    bench: Bench,
    /// The model does what it did when it was recorded.
    is_current: bool,
    model: String,
    without: Vec<String>,
    /// What the way to the disk adds \[us\], fitted on row 01.
    chain_us: f64,
}

const FOLDER: &str = "testdata/reality/6.18";
const CALIBRATES: &str = "01-syncrand";

fn disk(file: &str, chain_us: f64) -> Arc<DiskSpec> {
    let delay = format!("\n[delay]\ntime = \"{}us\"\n", chain_us.round().max(0.0));
    let text = text(&format!("{FOLDER}/{file}")) + if chain_us > 0.5 { &delay } else { "" };
    Arc::new(blksched_disks::parse(file, &text).expect("a disk"))
}

fn rows(bench: &Bench, job: &str, schedulers: &BTreeSet<String>) -> Vec<Row> {
    let text = text(&format!("{FOLDER}/jobs/{job}.fio"));
    let plan = JobFile::parse(&text, job).expect("a job file").plan(bench.disk.build(0).facts().sectors);
    let plan = Arc::new(plan.expect("it fits"));
    let predict = |scheduler: &String| bench.predict(&plan, (job, scheduler)).expect("it runs");
    schedulers.iter().flat_map(predict).collect()
}

/// The chain's latency: what must be added for the one synchronous reader of row 01 to be as slow as it was.
fn fitted(bench: &Bench, file: &str, measured: &[&Row]) -> f64 {
    let real = measured.iter().filter(|row| row.job == CALIBRATES);
    let real: Vec<f64> = real.map(|row| 4096e6 / row.bandwidth).collect();
    let real = real.iter().sum::<f64>() / real.len() as f64;
    let none = BTreeSet::from(["none".to_owned()]);
    let each = |us: f64| {
        let bench = Bench { disk: disk(file, us), ..bench.clone() };
        let ours = rows(&bench, CALIBRATES, &none);
        4096e6 / (ours.iter().map(|row| row.bandwidth).sum::<f64>() / ours.len() as f64)
    };
    // Of a disk that turns, an added wait may cost a whole turn less or more: two steps of a secant.
    let first = (real - each(0.0)).max(0.0);
    (first + real - each(first)).max(0.0)
}

fn settings(measured: &[Row]) -> Vec<Setting> {
    let table: toml::Table = text(&format!("{FOLDER}/settings.toml")).parse().expect("TOML");
    let number = |table: &toml::Table, key: &str| table[key].as_integer().expect("a number") as u32;
    let setting = |(name, own): (&String, &toml::Table)| {
        let file = own["disk"].as_str().expect("a file");
        let tags = number(own, "tags");
        let bench = Bench {
            disk: disk(file, 0.0),
            around: Surroundings { max_sectors: Some(2 * number(&table, "max_sectors_kb")), ..Surroundings::default() },
            nr_requests: Some(number(&table, "nr_requests")),
            tags: Some(tags),
            kernel: table["kernel"].as_str().expect("a kernel").to_owned(),
            seeds: 3,
            limit: Span::from_secs(12),
        };
        let model = probe(&bench.disk).to_string();
        let is_current = own["model"].as_str() == Some(&model);
        let of_setting: Vec<&Row> = measured.iter().filter(|row| row.setting == *name).collect();
        let chain_us = if is_current { fitted(&bench, file, &of_setting) } else { 0.0 };
        let bench = Bench { disk: disk(file, chain_us), ..bench };
        let without = own.get("without").and_then(toml::Value::as_array).into_iter().flatten();
        let without = without.map(|job| job.as_str().expect("a job").to_owned()).collect();
        Setting { name: name.clone(), bench, is_current, model, without, chain_us }
    };
    table.iter().filter_map(|(name, own)| Some((name, own.as_table()?))).map(setting).collect()
}

fn cells(setting: &Setting, measured: &[Row]) -> Vec<Cell> {
    let own = |row: &&Row| row.setting == setting.name && !setting.without.contains(&row.job);
    let own: Vec<Row> = measured.iter().filter(own).cloned().collect();
    let mut jobs: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for row in &own {
        jobs.entry(&row.job).or_default().insert(row.scheduler.clone());
    }
    let predicted = jobs.iter().flat_map(|(job, schedulers)| rows(&setting.bench, job, schedulers));
    let predicted: Vec<Row> = predicted.map(|row| Row { setting: setting.name.clone(), ..row }).collect();
    Cell::pair(&own, &predicted)
}

const MISSES: &str = "testdata/reality/known-misses.tsv";
const PAGE: &str = "docs/reality.md";
const UNKNOWN: &str = "not yet explained";

/// Place and figure, and why.
fn known() -> BTreeMap<String, String> {
    let lines = text(MISSES);
    let line = |line: &str| line.rsplit_once('\t').map(|(what, why)| (what.to_owned(), why.to_owned()));
    lines.lines().filter(|line| !line.starts_with('#')).filter_map(line).collect()
}

fn summary(page: &mut String, setting: &Setting, judged: &Judged) {
    let (near, all) = judged.within;
    let percent = |part: f64| format!("{:.0} %", part * 100.0);
    let _ = writeln!(
        page,
        "| `{}` | {:.0} us | {near} of {all} | {} / {} | {} of {} | {} of {} |",
        setting.name,
        setting.chain_us,
        percent(judged.error(0.5)),
        percent(judged.error(0.9)),
        judged.right(),
        judged.verdicts.len(),
        judged.pairs.1,
        judged.pairs.0,
    );
}

fn table(page: &mut String, setting: &Setting, cells: &[Cell]) {
    let _ = writeln!(page, "\n## {}\n", setting.name);
    let head = "| job | process | scheduler | KiB/s measured | predicted | ratio | mean latency ms | predicted \
                | p99 ms | predicted |\n|---|---|---|--:|--:|--:|--:|--:|--:|--:|\n";
    page.push_str(head);
    for Cell { measured: real, predicted: ours } in cells {
        let kib = |row: &Row| row.bandwidth / 1024.0;
        let _ = writeln!(
            page,
            "| {} | {} {} | {} | {:.1} | {:.1} | {:.2} | {:.1} | {:.1} | {:.0} | {:.0} |",
            real.job,
            real.process,
            real.dir,
            real.scheduler,
            kib(real),
            kib(ours),
            kib(ours) / kib(real),
            real.latency_us / 1e3,
            ours.latency_us / 1e3,
            real.p99_us / 1e3,
            ours.p99_us / 1e3,
        );
    }
}

const INTRODUCTION: &str = "\
# How far predictions have been right

Recorded on real kernels, predicted by this program: the same job files, disk, number of tags. `testdata/reality` says
how it was recorded; `crates/simulate/tests/reality.rs` predicts every cell again at each run of the tests, fails if one
leaves its tolerance that `testdata/reality/known-misses.tsv` does not list, or comes back into it, and writes this
page. Of the misses listed many say only *not yet explained*, and the reasons of the others are inferred, not tested.

The way from the kernel to the disk (loop device, FUSE, server) takes time of its own. It is added to every predicted
command, and fitted on job 01 alone. *Verdict right*: the scheduler that is predicted to have the highest geometric mean
of its processes' bandwidths is at most 5 % worse, as measured, than the best. *Pairs*: schedulers that really differ by
more than 10 % for a process, predicted in the right direction. Rows of a disk whose model has changed since it was
recorded are not predicted again, and stand here as they last were.

| setting | added to each command | bandwidth within 20 % | median / p90 error | verdict right | pairs |
|---|--:|--:|--:|--:|--:|
";

#[test]
fn recorded_cells_are_predicted_within_their_tolerances() {
    let measured = read("measured.tsv", &text(&format!("{FOLDER}/measured.tsv"))).expect("rows");
    let (mut page, mut tables, mut missed) = (INTRODUCTION.to_owned(), String::new(), BTreeMap::new());
    let mut skipped = Vec::new();
    for setting in settings(&measured) {
        if !setting.is_current {
            println!("skipped: {}: its disk model is {} now; record it anew", setting.name, setting.model);
            skipped.push(setting.name);
            continue;
        }
        let cells = cells(&setting, &measured);
        let judged = judge(&cells);
        summary(&mut page, &setting, &judged);
        table(&mut tables, &setting, &cells);
        for (job, ours, real, regret) in judged.verdicts.iter().filter(|verdict| verdict.3 > 0.05) {
            missed.insert(
                format!("{}\t*\t*\t*\tverdict", job.replace(' ', "\t")),
                format!("{ours}, not {real}: {regret:.2}"),
            );
        }
        for miss in judged.misses {
            missed.insert(
                format!("{}\t{}", miss.place.join("\t"), miss.figure),
                format!("{:.2} of the real", miss.ratio),
            );
        }
    }
    page += &tables;
    let known = known();
    if std::env::var_os("BLESS").is_some() {
        let reason = |what: &String| known.get(what).map_or(UNKNOWN, String::as_str);
        let lines: String = missed.keys().map(|what| format!("{what}\t{}\n", reason(what))).collect();
        let head = "# setting\tjob\tscheduler\tprocess\tdirection\tfigure\twhy\n";
        std::fs::write(root().join(MISSES), head.to_owned() + &lines).expect("written");
        std::fs::write(root().join(PAGE), page).expect("written");
        return;
    }
    let new: Vec<_> = missed.iter().filter(|(what, _)| !known.contains_key(*what)).collect();
    let of_skipped = |what: &str| skipped.iter().any(|name| what.starts_with(&format!("{name}\t")));
    let gone: Vec<_> = known.keys().filter(|what| !missed.contains_key(*what) && !of_skipped(what)).collect();
    assert!(new.is_empty() && gone.is_empty(), "outside and not listed: {new:#?}\nlisted and not outside: {gone:#?}");
    if skipped.is_empty() {
        assert_eq!(text(PAGE), page, "{PAGE} is stale: run with BLESS=1");
    }
}
