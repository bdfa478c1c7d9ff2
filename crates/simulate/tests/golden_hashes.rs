//! A golden hash per built-in workload and program, elevator era and disk: the same bytes out on any machine and any
//! number of threads. `cargo xtask bless` renews the file; a change of it is a change of decisions and must be
//! explained.

use std::fmt::Write;
use std::sync::Arc;

use blksched::author::{Entry, Preset};
use blksched::{Catalogue, Span};
use blksched_simulate::{Grid, Surroundings, Trial};
use blksched_workloads::programs::{PROGRAMS, Start};
use blksched_workloads::{BUILTINS, Plan, QUESTIONS, SUITE};

/// Disks, and for how long each is driven \[ms\]: the fast ones do in a short time what the slow ones do in a second.
const DISKS: [(&str, u64); 6] = [
    ("ide-2002", 1_000),
    ("sata-2009", 1_000),
    ("fixed", 1_000),
    ("sata-ssd", 100),
    ("nvme-ssd", 20),
    ("raid5:4xhdd-7200", 500),
];
/// The disks of the suite and the programs: one with an arm and one without.
const SUITE_DISKS: [&str; 2] = ["sata-2009", "sata-ssd"];
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/hashes.txt");

/// Every era; of those with the same mechanisms and knobs, only the newest.
fn eras(catalogue: &Catalogue) -> Vec<String> {
    let knobs = |entry: &Entry, preset: &Preset| -> Vec<bool> {
        entry.knobs.iter().map(|knob| knob.kernels.contain(preset.kernel)).collect()
    };
    let is_said_later = |entry: &Entry, nth: usize| {
        let this = &entry.presets[nth];
        entry.presets[nth + 1..].iter().any(|later| {
            let same_world =
                (this.plugging, this.slots, this.max_sectors) == (later.plugging, later.slots, later.max_sectors);
            later.row == this.row && same_world && knobs(entry, later) == knobs(entry, this)
        })
    };
    let mut eras = Vec::new();
    for entry in catalogue.entries() {
        let own = (0..entry.presets.len()).filter(|&nth| !is_said_later(entry, nth));
        eras.extend(own.map(|nth| format!("{}@{}", entry.name, entry.presets[nth].kernel)));
    }
    eras.into_iter().map(|era| catalogue.parse(&era).unwrap().to_string()).collect()
}

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
                    beside: Vec::new(),
                };
                rows.push((format!("{disk} {workload} {era}"), trial));
            }
        }
    }
    rows
}

fn hashes(threads: usize) -> String {
    let (names, trials): (Vec<String>, Vec<Trial>) = rows().into_iter().unzip();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let results = pool.install(|| Grid::new(trials, vec![7]).run(|run| run, || {}, || false)).unwrap();
    let mut text = String::new();
    for (name, runs) in names.iter().zip(&results) {
        writeln!(text, "{} {} {name}", runs[0].hash, runs[0].requests).unwrap();
    }
    text
}

#[test]
fn every_workload_decides_as_it_always_did_on_any_number_of_threads() {
    let here = hashes(1);
    assert_eq!(here, hashes(3), "the number of threads changed a result");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(GOLDEN, &here).unwrap();
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap_or_default();
    for (here, golden) in here.lines().zip(golden.lines()) {
        assert_eq!(here, golden);
    }
    assert_eq!(here.lines().count(), golden.lines().count(), "run `cargo xtask bless` and explain the difference");
}
