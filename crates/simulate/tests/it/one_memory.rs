//! One memory above several disks: shares of its dirty limits, a flusher for each, and whose writers are slowed down.

use std::sync::Arc;

use blksched::{Catalogue, Sector, Span};
use blksched_measure::Work;
use blksched_simulate::cpu::{CpuPreset, HostCpus};
use blksched_simulate::{Beside, BesideDisk, Findings, Surroundings, Trial};
use blksched_workloads::DiskPlaces;
use blksched_workloads::fio::JobFile;
use blksched_workloads::host::fs::FsKind;
use blksched_workloads::host::{DeviceLimits, HostKnobs};

/// A program that saves 8 MiB every second, and what is written beside it.
const DESKTOP: &str = "[desktop]\nfilename=/dev/sda\nrw=write\nbs=64k\nsize=1g\nthinktime=1s\nthinktime_blocks=128\n\
                       time_based\nruntime=600\n";
const COPY: &str = "[copy]\nfilename=/dev/sdb\nrw=write\nbs=1m\nsize=4g\ntime_based\nruntime=600\n";

/// A run with a fast disk and a slow one.
fn run(
    jobs: &str,
    disks: [&str; 2],
    host: &str,
    of_slow: Option<DeviceLimits>,
    (elevator, seconds): (&str, u64),
) -> Findings {
    let host = HostKnobs::parse(&format!("memory=512m,{host}")).unwrap();
    let cpus = Some(HostCpus { cpus: 2, costs: CpuPreset::usual().costs });
    let surroundings = Surroundings { host, cpus, ..Surroundings::default() };
    let [fast, slow] = disks.map(|name| Arc::new(blksched_disks::load(name).unwrap()));
    let sectors = |spec: &Arc<blksched_disks::DiskSpec>| spec.build(0).facts().sectors;
    let named = |name: &str, spec| (vec![name.to_owned()], sectors(spec));
    let places = DiskPlaces::beside([named("sda", &fast), named("sdb", &slow)]);
    let plan = JobFile::parse(jobs, "jobs").unwrap().plan_on_disks(&places, FsKind::None).unwrap();
    let elevator = Catalogue::builtin().parse(elevator).unwrap();
    let first = places.all()[1].first;
    let beside = BesideDisk {
        name: "sdb".to_owned(),
        first,
        disk: slow,
        is_fellow: false,
        is_alike: false,
        elevator: elevator.clone(),
        knobs: Vec::new(),
        surroundings,
    };
    let dirty_limits = of_slow.into_iter().map(|limits| (first, limits)).collect();
    let trial = Trial {
        elevator,
        knobs: Vec::new(),
        surroundings,
        disk: fast,
        plan: Arc::new(plan),
        seed: 1,
        limit: Span::from_secs(seconds),
        other_disks: Vec::new(),
        beside: Beside { first: Sector(0), disks: vec![beside], dirty_limits, ..Beside::default() },
    };
    trial.simulate().unwrap()
}

/// What the first job wrote \[MiB\], and its longest write \[ms\].
fn desktop(found: &Findings) -> (u64, f64) {
    let record = found.jobs[0].record.work(Work::Write);
    (record.bytes >> 20, record.clat.max().as_ns() as f64 / 1e6)
}

const STICK: [&str; 2] = ["nvme-ssd-ideal", "usb-stick"];

#[test]
fn a_copy_to_a_stick_slows_down_who_writes_to_another_disk_and_limits_for_the_stick_cure_it() {
    let alone = desktop(&run(DESKTOP, STICK, "", None, ("none", 60)));
    let both = format!("{DESKTOP}{COPY}");
    let beside = run(&both, STICK, "", None, ("none", 60));
    let strict = DeviceLimits { most: Some(4096), is_strict: true };
    let cured = run(&both, STICK, "", Some(strict), ("none", 60));
    let small = run(&both, STICK, "dirty_bytes=16m,dirty_background_bytes=8m", None, ("none", 60));
    assert!(desktop(&beside).1 > 10.0 * alone.1 && desktop(&beside).1 > 5.0 * desktop(&cured).1);
    assert!(cured.dirty_most[1] <= 20 << 20 && beside.dirty_most[1] > 60 << 20, "{:?}", beside.dirty_most);
    assert!(small.dirty_most[1] <= 18 << 20 && desktop(&small).1 < desktop(&beside).1, "{:?}", small.dirty_most);
}

#[test]
fn a_flusher_that_waits_for_a_slow_disk_keeps_none_from_a_fast_one() {
    let jobs = format!("{}{COPY}", COPY.replace("copy", "fast").replace("sdb", "sda"));
    let found = run(&jobs, STICK, "", None, ("none", 10));
    let mib = |job: usize| found.jobs[job].record.work(Work::Write).bytes >> 20;
    assert!(mib(0) > 20 * mib(1), "{} MiB and {} MiB", mib(0), mib(1));
}

#[test]
fn before_3_1_one_flusher_writes_to_all() {
    let jobs = format!("{}{COPY}", COPY.replace("copy", "fast").replace("sdb", "sda"));
    let found = run(&jobs, STICK, "", None, ("deadline@2.6.33", 10));
    let mib = |job: usize| found.jobs[job].record.work(Work::Write).bytes >> 20;
    assert!(found.dirty_most.is_empty() && mib(0) < 5 * mib(1), "{} MiB and {} MiB", mib(0), mib(1));
}
