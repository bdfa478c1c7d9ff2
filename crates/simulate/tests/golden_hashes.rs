//! A golden row per behaviour of the built-in workloads and programs under every elevator era on these disks: the same
//! bytes out on any machine and any number of threads.
//!
//! A row has the hash of all that the disk did, and for people what that came to: I/Os, KiB/s and the 99th percentile
//! of the latency. Where several eras do the same, the first one stands for them all, so that each behaviour is run
//! once; that the others still do what it does is a slow test. `BLESS=1` (`cargo xtask bless`) writes the file anew and
//! prints how far each row moved; a change of it is a change of decisions and must be explained.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use blksched::author::{Entry, Preset};
use blksched::{Catalogue, Span};
use blksched_measure::{Histogram, Work};
use blksched_simulate::{Findings, Grid, Surroundings, Trial};
use blksched_workloads::programs::{PROGRAMS, Start};
use blksched_workloads::{BUILTINS, Plan, QUESTIONS, SUITE};

/// Disks, and for how long each is driven \[ms\]: the fast ones do in a short time what the slow ones do in a second.
const DISKS: [(&str, u64); 6] = [
    ("ide-2002", 1_000),
    ("sata-2009", 1_000),
    ("fixed", 1_000),
    ("sata-ssd-ideal", 100),
    ("nvme-ssd-ideal", 20),
    ("raid5:4xhdd-7200-ideal", 500),
];
/// The disks of the suite and the programs: one with an arm and one without.
const SUITE_DISKS: [&str; 2] = ["sata-2009", "sata-ssd-ideal"];
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/hashes.txt");

/// Every era; of those with the same mechanisms and knobs, only the newest that is not newer than the present one.
fn eras(catalogue: &Catalogue) -> Vec<String> {
    let knobs = |entry: &Entry, preset: &Preset| -> Vec<bool> {
        entry.knobs.iter().map(|knob| knob.kernels.contain(preset.kernel)).collect()
    };
    let is_said_elsewhere = |entry: &Entry, nth: usize| {
        let (this, present) = (&entry.presets[nth], entry.present().kernel);
        let mut others = entry.presets.iter().enumerate();
        others.any(|(at, other)| {
            let same_world =
                (this.plugging, this.slots, this.max_sectors) == (other.plugging, other.slots, other.max_sectors);
            let same = other.row == this.row && same_world && knobs(entry, other) == knobs(entry, this);
            same && if this.kernel > present { at < nth } else { at > nth && other.kernel <= present }
        })
    };
    let mut eras = Vec::new();
    for entry in catalogue.entries() {
        let own = (0..entry.presets.len()).filter(|&nth| !is_said_elsewhere(entry, nth));
        eras.extend(own.map(|nth| format!("{}@{}", entry.name, entry.presets[nth].kernel)));
    }
    eras.into_iter().map(|era| catalogue.parse(&era).unwrap().to_string()).collect()
}

/// Every disk, workload and era.
fn rows() -> Vec<(String, Trial)> {
    let catalogue = Catalogue::builtin();
    let mut rows = Vec::new();
    for (disk, limit_ms) in DISKS {
        let spec = Arc::new(blksched_disks::load(disk).unwrap());
        let sectors = spec.build(0).facts().sectors;
        let mut workloads: Vec<(&str, Plan)> = Vec::new();
        // The questions consist of what the others already do.
        let asks = |name: &str| QUESTIONS.contains(&name) || name == "plain-backup";
        let tried = |name: &str| !asks(name) && (!SUITE.contains(&name) || SUITE_DISKS.contains(&disk));
        for builtin in BUILTINS.iter().filter(|builtin| tried(builtin.name)) {
            workloads.push((builtin.name, builtin.job_file().plan(sectors).unwrap()));
        }
        for program in PROGRAMS.iter().filter(|_| SUITE_DISKS.contains(&disk)) {
            let mut plan = Plan::default();
            plan.add_program(Start::parse(program.name).unwrap(), sectors).unwrap();
            workloads.push((program.name, plan));
        }
        for (workload, plan) in workloads {
            let plan = Arc::new(plan);
            for era in eras(&catalogue) {
                let trial = Trial {
                    elevator: catalogue.parse(&era).unwrap(),
                    knobs: Vec::new(),
                    surroundings: Surroundings::default(),
                    disk: spec.clone(),
                    plan: plan.clone(),
                    seed: 0,
                    limit: Span::from_ms(limit_ms),
                    other_disks: Vec::new(),
                    beside: Default::default(),
                };
                rows.push((format!("{disk} {workload} {era}"), trial));
            }
        }
    }
    rows
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
struct Behaviour {
    hash: String,
    ios: u64,
    kib_per_second: u64,
    p99_us: u64,
}

impl Behaviour {
    fn of(run: &Findings) -> Behaviour {
        let all = run.merged(&(0..run.jobs.len()).collect::<Vec<_>>());
        let (mut latency, mut ios, mut bytes) = (Histogram::new(), 0, 0);
        for work in Work::ALL.map(|work| all.work(work)) {
            latency.merge(&work.clat);
            (ios, bytes) = (ios + work.ios, bytes + work.bytes);
        }
        let milliseconds = (run.elapsed.as_ns() / 1_000_000).max(1);
        let p99_us = if latency.is_empty() { 0 } else { latency.percentile(99.0).as_ns() / 1000 };
        Behaviour { hash: run.hash.to_string(), ios, kib_per_second: bytes * 1000 / 1024 / milliseconds, p99_us }
    }

    fn read(words: &[&str]) -> Option<Behaviour> {
        let &[hash, ios, kib_per_second, p99_us] = words else { return None };
        let number = |text: &str| text.parse().ok();
        Some(Behaviour {
            hash: hash.to_owned(),
            ios: number(ios)?,
            kib_per_second: number(kib_per_second)?,
            p99_us: number(p99_us)?,
        })
    }

    /// How far it is from what it was.
    fn moved(&self, was: &Behaviour) -> String {
        let percent = |was: u64, is: u64| match was {
            0 => format!("0 -> {is}"),
            _ => format!("{was} -> {is} ({:+.1} %)", 100.0 * (is as f64 / was as f64 - 1.0)),
        };
        let kib = percent(was.kib_per_second, self.kib_per_second);
        format!("ios {}, KiB/s {kib}, p99 us {}", percent(was.ios, self.ios), percent(was.p99_us, self.p99_us))
    }
}

impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Behaviour { hash, ios, kib_per_second, p99_us } = self;
        write!(f, "{hash} {ios:>6} {kib_per_second:>8} {p99_us:>8}")
    }
}

/// What comes out of these, on so many threads.
fn behaviours(rows: Vec<(String, Trial)>, threads: usize) -> Vec<(String, Behaviour)> {
    let (names, trials): (Vec<String>, Vec<Trial>) = rows.into_iter().unzip();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let grid = Grid::new(trials, vec![7]);
    let results = pool.install(|| grid.run(|run| Behaviour::of(&run), || {}, || false)).unwrap();
    names.into_iter().zip(results.into_iter().map(|mut runs| runs.remove(0))).collect()
}

/// The first words of a row's name: what eras are compared within.
fn scene(name: &str) -> &str {
    name.rsplit_once(' ').expect("disk, workload, era").0
}

fn era(name: &str) -> &str {
    name.rsplit_once(' ').expect("disk, workload, era").1
}

/// One row of each behaviour. An era that nowhere differs from those before it has its rows on the first disk.
fn distinct(all: &[(String, Behaviour)]) -> Vec<&(String, Behaviour)> {
    let mut seen = BTreeSet::new();
    let first: Vec<bool> = all.iter().map(|(name, behaviour)| seen.insert((scene(name), &behaviour.hash))).collect();
    let of_its_own: BTreeSet<&str> =
        all.iter().zip(&first).filter(|(_, first)| **first).map(|((name, _), _)| era(name)).collect();
    let stays = |(name, _): &(String, Behaviour), first: bool| {
        first || (!of_its_own.contains(era(name)) && name.starts_with(DISKS[0].0))
    };
    all.iter().zip(first).filter(|(row, first)| stays(row, *first)).map(|(row, _)| row).collect()
}

const HEAD: &str = "# hash              ios    KiB/s   p99 us  disk workload era\n";

fn golden() -> BTreeMap<String, Behaviour> {
    let text = std::fs::read_to_string(GOLDEN).unwrap_or_default();
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (figures, name) = words.split_at_checked(4)?;
        Some((name.join(" "), Behaviour::read(figures)?))
    };
    text.lines().filter(|line| !line.starts_with('#')).map(|line| row(line).expect("a row")).collect()
}

fn bless() {
    let (all, before) = (behaviours(rows(), 3), golden());
    let mut text = HEAD.to_owned();
    for (name, behaviour) in distinct(&all) {
        text += &format!("{behaviour}  {name}\n");
        match before.get(name) {
            Some(was) if was != behaviour => println!("{name}: {}", behaviour.moved(was)),
            None => println!("{name}: new"),
            Some(_) => {}
        }
    }
    let now: BTreeSet<&String> = distinct(&all).into_iter().map(|(name, _)| name).collect();
    before.keys().filter(|name| !now.contains(name)).for_each(|name| println!("{name}: does what another does"));
    std::fs::write(GOLDEN, text).unwrap();
}

#[test]
fn every_behaviour_is_what_it_always_was_on_any_number_of_threads() {
    if std::env::var_os("BLESS").is_some() {
        bless();
    }
    let golden = golden();
    let of_golden = || rows().into_iter().filter(|(name, _)| golden.contains_key(name)).collect::<Vec<_>>();
    let here = behaviours(of_golden(), 1);
    let moved: Vec<String> = here
        .iter()
        .filter(|(name, behaviour)| golden[name] != *behaviour)
        .map(|(name, behaviour)| format!("{name}: {}", behaviour.moved(&golden[name])))
        .collect();
    assert!(moved.is_empty(), "`cargo xtask bless`, and explain:\n{}", moved.join("\n"));
    assert_eq!(here.len(), golden.len(), "a row of the file has no workload, disk or era any more");
    // What many threads do to the order of runs shows in any of them.
    let few = || of_golden().into_iter().step_by(8).collect::<Vec<_>>();
    let expected: Vec<_> = here.iter().step_by(8).cloned().collect();
    assert!(behaviours(few(), 3) == expected, "the number of threads changed a result");
}

#[test]
fn every_disk_with_every_workload_and_every_era_has_a_row() {
    let (rows, golden) = (rows(), golden());
    let scenes = |names: &mut dyn Iterator<Item = &String>| names.map(|name| scene(name).to_owned()).collect();
    let (wanted, there): (BTreeSet<_>, BTreeSet<_>) =
        (scenes(&mut rows.iter().map(|(name, _)| name)), scenes(&mut golden.keys()));
    assert_eq!(wanted, there, "`cargo xtask bless` adds rows");
    let eras: BTreeSet<&str> = golden.keys().map(|name| era(name)).collect();
    let without: BTreeSet<&str> = rows.iter().map(|(name, _)| era(name)).filter(|era| !eras.contains(era)).collect();
    assert!(without.is_empty(), "without any row: {without:?}");
}

#[test]
#[ignore = "slow: twice as many runs as the golden rows"]
fn eras_that_did_the_same_still_do() {
    let golden = golden();
    let all = behaviours(rows(), 2);
    let known: BTreeSet<(&str, &String)> = golden.iter().map(|(name, row)| (scene(name), &row.hash)).collect();
    let other: Vec<&String> =
        all.iter().filter(|(name, row)| !known.contains(&(scene(name), &row.hash))).map(|(name, _)| name).collect();
    assert!(other.is_empty(), "no row has what these do; `cargo xtask bless`, and explain: {other:?}");
}
