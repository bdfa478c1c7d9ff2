//! How far a replay by dependency can be trusted: traces that our own simulator made, whose load is known, replayed on
//! the disk that they were made on and on another one. docs/traces.md says what came out.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::{cell::RefCell, rc::Rc};

use blksched::{Catalogue, Span};
use blksched_measure::{Reasons, Work};
use blksched_simulate::recording::{Reading, in_memory, recording};
use blksched_simulate::story::BlockTrace;
use blksched_simulate::{Findings, OtherDisk, Starts, Surroundings, Trial};
use blksched_workloads::Plan;
use blksched_workloads::fio::JobFile;
use blksched_workloads::replay::Replay;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn trial(elevator: &str, disk: &str, plan: impl Fn(u64) -> Plan) -> Trial {
    let spec = Arc::new(blksched_disks::load(disk).unwrap());
    let plan = plan(spec.build(0).facts().sectors);
    Trial {
        elevator: Catalogue::builtin().parse(elevator).unwrap(),
        knobs: Vec::new(),
        surroundings: Surroundings { starts: Starts::Drawn(0), ..Surroundings::default() },
        disk: spec,
        plan: Arc::new(plan),
        seed: 5,
        limit: Span::from_secs(3600),
        other_disks: Vec::new(),
        beside: Default::default(),
    }
}

fn original(jobs: &str, elevator: &str, disk: &str) -> Trial {
    trial(elevator, disk, |sectors| JobFile::parse(jobs, "jobs").unwrap().plan(sectors).unwrap())
}

/// The load's block trace on this disk.
fn trace(jobs: &str, elevator: &str, disk: &str) -> (Findings, Vec<u8>) {
    let kept = Kept::default();
    let names = Box::new(|by: blksched::SubmitterId| format!("p{}", by.0));
    let onlooker =
        Rc::new(RefCell::new(BlockTrace::new(Box::new(kept.clone()), names, Box::new(|reason| format!("{reason:?}")))));
    let findings = original(jobs, elevator, disk).simulate_before(onlooker.clone(), Reasons::new()).unwrap();
    assert!(findings.finished);
    Rc::into_inner(onlooker).unwrap().into_inner().finish().unwrap();
    let bytes = kept.0.lock().unwrap().clone();
    (findings, bytes)
}

fn replayed(bytes: &[u8], said: &str, elevator: &str, disk: &str) -> Findings {
    let read = recording(vec![in_memory("x.blktrace.0", bytes.to_vec())], &Reading::default()).unwrap();
    let replay = Replay::of("x", said, Arc::new(read.recording)).unwrap();
    let made = trial(elevator, disk, |sectors| {
        let mut plan = Plan::default();
        plan.add_replay(replay.clone(), sectors).unwrap();
        plan
    });
    made.simulate().unwrap()
}

/// For each process: the number of I/Os, and their mean latency \[ns\].
fn latencies(findings: &Findings) -> Vec<(u64, f64)> {
    let of = |job: &blksched_simulate::JobOutcome| {
        let works = [Work::Read, Work::Write].map(|work| job.record.work(work));
        let ios: u64 = works.iter().map(|done| done.ios).sum();
        let total: f64 = works.iter().map(|done| done.lat.mean() * done.ios as f64).sum();
        (ios, total / ios as f64)
    };
    findings.jobs.iter().map(of).collect()
}

/// The greatest relative difference in a process's mean latency.
fn error(original: &Findings, replay: &Findings) -> f64 {
    // The trace names processes p0, p1, … as they were; the replay has them in the order of their first I/O.
    let mut names: Vec<usize> = (0..replay.jobs.len()).collect();
    names.sort_by_key(|&job| replay.jobs[job].record.job.name.clone());
    let (a, b) = (latencies(original), latencies(replay));
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().zip(names.iter().map(|&job| b[job]));
    let part = |(a, b): (&(u64, f64), (u64, f64))| {
        assert_eq!(a.0, b.0, "every I/O is replayed");
        (b.1 / a.1 - 1.0).abs()
    };
    pairs.map(part).fold(0.0, f64::max)
}

// On the disk itself, so that places are the same on every disk.
const CLOSED: &str = "[global]\ndirect=1\nfilename=/dev/sda\nsize=4g\nnumber_ios=400\n\
                      [seeker]\nrw=randread\nbs=4k\n[stream]\noffset=8g\nrw=read\nbs=64k\nthinktime=1ms\n\
                      [log]\noffset=16g\nrw=write\nbs=16k\nthinktime=5ms\n";
const DEEP: &str = "[global]\ndirect=1\nfilename=/dev/sda\nsize=4g\nnumber_ios=800\nioengine=libaio\n\
                    [a]\nrw=randread\nbs=4k\niodepth=8\n[b]\noffset=8g\nrw=randwrite\nbs=8k\niodepth=4\n";
const OPEN: &str = "[global]\ndirect=1\nfilename=/dev/sda\nsize=4g\nnumber_ios=400\nioengine=libaio\niodepth=64\n\
                    rate_process=poisson\n[a]\nrw=randread\nbs=4k\nrate_iops=40\n\
                    [b]\noffset=8g\nrw=randwrite\nbs=8k\nrate_iops=20\n";

/// From a spinning disk to another one, and to a solid-state disk.
const WAYS: [(&str, &str); 5] = [
    ("sata-2009", "sata-2009"),
    ("sata-2009", "hdd-7200-ideal"),
    ("sata-2009", "sata-ssd-ideal"),
    ("sata-ssd-ideal", "sata-2009"),
    ("sata-ssd-ideal", "sata-ssd-ideal"),
];

#[test]
fn by_dependency_a_load_comes_out_on_any_disk_as_if_it_had_run_there() {
    for elevator in ["mq-deadline", "bfq"] {
        for (name, jobs) in [("closed", CLOSED), ("deep", DEEP), ("open", OPEN)] {
            for (on, to) in WAYS {
                let (_, bytes) = trace(jobs, elevator, on);
                let there = original(jobs, elevator, to).simulate().unwrap();
                let error = error(&there, &replayed(&bytes, "timing=closed", elevator, to));
                // On the spinning disk that it was recorded on, the latencies are reproduced. Elsewhere simultaneous
                // events come in another order: which of two processes whose I/Os completed together submits first.
                let bound = if (on, to) == ("sata-2009", "sata-2009") { 0.05 } else { 0.15 };
                let percent = 100.0 * error;
                assert!(error <= bound, "{name} under {elevator}, {on} to {to}: {percent:.1} %");
            }
        }
    }
}

#[test]
fn at_recorded_moments_only_a_load_that_waits_for_nobody_comes_out_elsewhere() {
    let error = |jobs: &str, on: &str, to: &str| {
        let (_, bytes) = trace(jobs, "mq-deadline", on);
        let there = original(jobs, "mq-deadline", to).simulate().unwrap();
        error(&there, &replayed(&bytes, "timing=recorded", "mq-deadline", to))
    };
    for (on, to) in WAYS {
        let error = error(OPEN, on, to);
        assert!(error <= 0.30, "{on} to {to}: {:.1} %", 100.0 * error);
    }
    let closed = error(CLOSED, "sata-ssd-ideal", "sata-2009");
    assert!(closed > 1.0, "a disk that is too slow for the recorded moments shows: {:.1} %", 100.0 * closed);
}

/// A process that reads one disk, waits, and reads the other, 200 times; and one that only reads the second disk.
fn across_disks() -> Vec<u8> {
    let mut text = "time_ns,disk,process,op,offset_B,size_B,response_ns\n".to_owned();
    let mut now = 0_u64;
    for nth in 0..200_u64 {
        let place = nth * 7919 % 1000 * (1 << 20);
        text += &format!("{now},a,both,R,{place},4096,8000000\n");
        text += &format!("{},b,both,R,{place},4096,100000\n", now + 8_000_000);
        text += &format!("{},b,other,R,{},8192,100000\n", now + 8_050_000, place + (1 << 30));
        now += 8_200_000;
    }
    text.into_bytes()
}

#[test]
fn a_process_on_two_disks_waits_on_one_for_the_other() {
    let mut reading = Reading::default();
    reading.filter.take("device", "each").unwrap();
    let read = recording(vec![in_memory("x", across_disks())], &reading).unwrap();
    assert_eq!(read.each.iter().map(|of| of.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let replay = Replay::of("x", "timing=closed", Arc::new(read.recording)).unwrap();
    let one = |nth: usize, disk: &str| {
        let replay = replay.on(read.each[nth].device).unwrap();
        trial("bfq", disk, |sectors| {
            let mut plan = Plan::default();
            plan.add_replay(replay.clone(), sectors).unwrap();
            plan
        })
    };
    let other = |trial: &Trial| OtherDisk { disk: trial.disk.clone(), plan: trial.plan.clone() };
    let (a, b) = (one(0, "sata-2009"), one(1, "sata-ssd-ideal"));
    let on_a = Trial { other_disks: vec![other(&b)], ..a.clone() }.simulate().unwrap();
    let on_b = Trial { other_disks: vec![other(&a)], ..b.clone() }.simulate().unwrap();
    assert!(on_a.finished && on_b.finished);
    let of = |findings: &Findings, name: &str| {
        let job = findings.jobs.iter().find(|job| job.record.job.name.starts_with(name)).unwrap();
        let reads = job.record.work(Work::Read);
        (reads.ios, reads.lat.mean() * reads.ios as f64, job.exited.unwrap().as_ns() as f64)
    };
    let ((ios_a, time_a, ended_a), (ios_b, time_b, ended_b)) = (of(&on_a, "both"), of(&on_b, "both"));
    assert_eq!((ios_a, ios_b, of(&on_b, "other").0), (200, 200, 200));
    // One I/O after the other, on whichever disk, and the recorded think time of 100 us before all but the first.
    let (ended, expected) = (ended_a.max(ended_b), time_a + time_b + 199.0 * 100_000.0);
    assert!((ended / expected - 1.0).abs() < 0.02, "{ended} ns, and its waits and pauses are {expected} ns");
    assert!((ended_a / ended_b - 1.0).abs() < 0.001, "a process ends once: {ended_a} {ended_b}");
    assert!(time_a > 20.0 * time_b, "the disks differ: {time_a} {time_b}");
    // A process on one disk alone waits for no other: its own I/Os, and 8.1 ms between them as recorded.
    let (_, time, ended) = of(&on_b, "other");
    let expected = time + 200.0 * 8_100_000.0;
    assert!((ended / expected - 1.0).abs() < 0.02, "{ended} ns, and its waits and pauses are {expected} ns");
}
