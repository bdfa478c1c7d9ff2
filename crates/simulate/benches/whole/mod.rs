//! What takes more than a request: a comparison, a trace that is read, and what many processes take of the heap.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_disks::{DiskSpec, load};
use blksched_simulate::cpu::{CpuPreset, HostCpus};
use blksched_simulate::recording::{Info, Reading, Stream, in_memory, recording};
use blksched_simulate::{Grid, Surroundings, Trial};
use blksched_workloads::fio::JobFile;
use blksched_workloads::{Plan, builtin};

use crate::events::{RECORDED, count, events};
use crate::scene::Day;

/// A case's name, and the function that runs it `times` times.
type Case = (&'static str, fn(u64));

/// The cases.
pub const CASES: [Case; 6] = [
    ("2026-11-22/compare/5ms", compare_of_the_aims),
    ("compare/100us", compare),
    ("sweep/ms", sweep),
    ("trace/info", info),
    ("trace/recording", read),
    ("trace/recording of two", read_both),
];

/// Cases whose memory is measured: the name of one unit, and a small and a large number of units.
pub const HEAPS: [(&str, [u32; 2]); 1] = [("a process of a comparison", [64, 320])];

/// Tenths of a millisecond of a reader beside a writer, under two schedulers and with two seeds.
fn compare(times: u64) {
    let text = builtin("reader-and-writer").expect("a built-in workload").text;
    run(text, "hdd-7200-ideal", &["deadline", "bfq"], vec![1, 2], Span::from_us(100 * times));
}

/// Units of 5 ms of a whole default comparison as of 2026-11-22: its six schedulers and five seeds, its disk, no
/// writeback throttling and free processors. 4,000 of these are the twenty seconds of a run. (Tags and notification
/// delays, which that day added, are part of today's queue and so of this.)
fn compare_of_the_aims(times: u64) {
    let text = builtin("reader-and-writer").expect("a built-in workload").text;
    let surroundings = Surroundings { wbt_latency: Some(Span::ZERO), ..Surroundings::default() };
    let planned = planned_on(text, Day::OfTheAims.disk());
    let elevators = ["none", "mq-deadline", "kyber", "bfq", "deadline", "cfq"];
    let trial = |elevator: &str| trial(elevator, &planned, surroundings, Span::from_ms(5 * times));
    compared(elevators.into_iter().map(trial).collect(), (1..=5).collect());
}

/// Milliseconds of one run of a sweep: the same load under mq-deadline, with processor costs.
fn sweep(times: u64) {
    let text = builtin("reader-and-writer").expect("a built-in workload").text;
    let surroundings = Surroundings {
        cpus: Some(HostCpus { cpus: HostCpus::USUAL, costs: CpuPreset::usual().costs }),
        ..Surroundings::default()
    };
    let trial = trial("mq-deadline", &planned(text, "hdd-7200-ideal"), surroundings, Span::from_ms(times));
    let found = trial.simulate_for_shares().expect("time passes");
    assert!(found.requests > 0, "nothing ran");
}

/// Runs this many processes for 20 ms.
pub fn processes(count: u32) {
    let job = format!("[j]\nrw=randread\ndirect=1\nbs=4k\nfilename=/dev/sda\nnumjobs={count}\n");
    run(&job, "nvme-ssd-ideal", &["mq-deadline"], vec![1], Span::from_ms(20));
}

fn run(job: &str, disk: &str, elevators: &[&str], seeds: Vec<u64>, limit: Span) {
    let planned = planned(job, disk);
    let trials = elevators.iter().map(|elevator| trial(elevator, &planned, Surroundings::default(), limit)).collect();
    compared(trials, seeds);
}

fn compared(trials: Vec<Trial>, seeds: Vec<u64>) {
    // One thread: how often other threads look for work depends on chance.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let grid = Grid::new(trials, seeds);
    let requests = pool.install(|| grid.run(|run| run.requests, || {}, || false)).expect("time passes");
    assert!(requests.iter().flatten().all(|&requests| requests > 0), "nothing ran");
}

/// A job on a disk.
struct Planned {
    disk: Arc<DiskSpec>,
    plan: Arc<Plan>,
}

fn planned(job: &str, disk: &str) -> Planned {
    planned_on(job, load(disk).expect("a preset"))
}

fn planned_on(job: &str, disk: DiskSpec) -> Planned {
    let plan = JobFile::parse(job, "gate").and_then(|file| file.plan(disk.build(1).facts().sectors));
    Planned { disk: Arc::new(disk), plan: Arc::new(plan.expect("a job file")) }
}

fn trial(elevator: &str, planned: &Planned, surroundings: Surroundings, limit: Span) -> Trial {
    Trial {
        elevator: Catalogue::builtin().parse(elevator).expect("a built-in elevator"),
        knobs: Vec::new(),
        surroundings,
        disk: planned.disk.clone(),
        plan: planned.plan.clone(),
        seed: 1,
        limit,
        other_disks: Vec::new(),
        beside: Default::default(),
    }
}

/// Reads this many events for their summary. (Making the trace is counted too.)
fn info(times: u64) {
    let files = vec![in_memory("cpu", events(RECORDED[0], times))];
    let mut stream = Stream::open(files, Reading::default()).expect("a trace").without_plugs();
    assert!(Info::of(&mut stream).expect("a whole trace").ios() > 0);
}

/// Reads this many events of both CPUs for a replay: what one submits completes on the other.
fn read_both(times: u64) {
    let all: u64 = RECORDED.iter().map(|bytes| count(bytes)).sum();
    let files = RECORDED.map(|bytes| in_memory("cpu", events(bytes, times * count(bytes) / all)));
    assert!(recording(files.into(), &Reading::default()).expect("a whole trace").recording.ios() > 0);
}

/// Reads this many events of one CPU for a replay: half of its I/Os have no completion.
fn read(times: u64) {
    let files = vec![in_memory("cpu", events(RECORDED[0], times))];
    assert!(recording(files, &Reading::default()).expect("a whole trace").recording.ios() > 0);
}
