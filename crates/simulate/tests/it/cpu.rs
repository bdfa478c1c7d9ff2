//! Processors that I/O costs something: conservation, contention, hardware queues, determinism; nothing changes where
//! it costs nothing.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_disks::Attached;
use blksched_simulate::cpu::{CallCosts, CompletesOn, CpuCosts, CpuPreset, HostCpus, UringCosts};
use blksched_simulate::{Findings, Surroundings, Trial};
use blksched_workloads::fio::JobFile;

const READERS: &str = "[r]\nrw=randread\ndirect=1\nbs=4k\nsize=1g\nioengine=libaio\niodepth=8\nnumjobs=8\n";

fn trial(elevator: &str, disk: &str, jobs: &str, cpus: Option<HostCpus>) -> Trial {
    let spec = blksched_disks::load(disk).unwrap();
    let plan = JobFile::parse(jobs, "jobs").unwrap().plan(spec.build(0).facts().sectors).unwrap();
    Trial {
        elevator: Catalogue::builtin().parse(elevator).unwrap(),
        knobs: Vec::new(),
        surroundings: Surroundings {
            cpus,
            attached: (disk == "null").then_some(Attached::Nvme),
            ..Surroundings::default()
        },
        disk: Arc::new(spec),
        plan: Arc::new(plan),
        seed: 1,
        limit: Span::from_ms(20),
        other_disks: Vec::new(),
        beside: Default::default(),
    }
}

fn usual(cpus: u32) -> HostCpus {
    HostCpus { cpus, costs: CpuPreset::usual().costs }
}

/// Eight readers on a disk that takes no time, for 20 ms.
fn readers(elevator: &str, cpus: u32) -> Findings {
    trial(elevator, "null", READERS, Some(usual(cpus))).simulate().unwrap()
}

#[test]
fn processors_that_cost_nothing_change_nothing() {
    let jobs = READERS.replace("numjobs=8", "numjobs=1");
    let free = HostCpus { cpus: 4, costs: CpuCosts::default() };
    for elevator in ["none", "mq-deadline", "kyber", "bfq"] {
        let run = |cpus| {
            let attached = Some(Attached::Sata);
            let mut trial = trial(elevator, "sata-ssd-ideal", &jobs, cpus);
            trial.surroundings.attached = attached;
            trial.simulate().unwrap()
        };
        let (without, with) = (run(None), run(Some(free)));
        assert!(without.requests > 100, "{elevator}: {} requests", without.requests);
        assert_eq!((with.hash, with.requests), (without.hash, without.requests), "{elevator}");
        assert_eq!((with.cpu.unwrap().busy, without.cpu), (Span::ZERO, None), "{elevator}");
    }
}

#[test]
fn processors_work_no_more_than_there_is_time_and_no_less_than_their_ios_cost() {
    let costs = CpuPreset::usual().costs;
    for elevator in ["none", "mq-deadline", "kyber", "bfq"] {
        for cpus in [1, 3, 8] {
            let found = readers(elevator, cpus);
            let report = found.cpu.unwrap();
            assert!(report.busy.as_ns() <= found.elapsed.as_ns() * u64::from(cpus), "{elevator}, {cpus}: {report:?}");
            assert!(report.busiest <= found.elapsed && report.spun <= report.busy, "{elevator}, {cpus}: {report:?}");
            let scheduler = costs.of(elevator);
            let least = costs.submit + costs.interrupt + scheduler.submit + scheduler.complete;
            let all = least.as_ns() * found.requests;
            assert!(report.busy.as_ns() >= all, "{elevator}, {cpus}: {} requests, {report:?}", found.requests);
        }
    }
}

#[test]
fn without_a_scheduler_every_processor_has_its_hardware_queue_and_with_one_lock_they_wait() {
    let rate = |elevator: &str, cpus: u32| readers(elevator, cpus).requests as f64;
    let gain = |elevator: &str| rate(elevator, 8) / rate(elevator, 1);
    // Not quite eight times: where processes share a processor it is never idle, and switches less often.
    assert!(gain("none") > 6.0, "none: {:.1} times as many on 8 processors", gain("none"));
    assert!(gain("kyber") > 6.0, "kyber: {:.1} times as many on 8 processors", gain("kyber"));
    assert!(gain("bfq") < 0.7 * gain("none"), "bfq: {:.1} times as many on 8 processors", gain("bfq"));
    // What the lock admits in 20 ms, however many processors there are; with 8 the result is nearly that.
    let bfq = CpuPreset::usual().costs.bfq;
    let most = 0.02 / (bfq.submit + bfq.complete).as_secs_f64();
    let had = rate("bfq", 8);
    assert!(had <= most && had > 0.8 * most, "{had} requests, and the lock lets {most:.0} through");
}

#[test]
fn waiting_for_the_lock_grows_with_the_processors() {
    let spun = |cpus: u32| readers("bfq", cpus).cpu.unwrap().spun.as_secs_f64();
    let waits = [1, 2, 4, 8].map(spun);
    assert!(waits[0] == 0.0 && waits.is_sorted_by(|a, b| a < b), "{waits:?}");
    assert_eq!(readers("none", 8).cpu.unwrap().spun, Span::ZERO);
}

#[test]
fn one_hardware_queue_is_one_lock_for_kyber_too() {
    let mut trial = trial("kyber", "null", READERS, Some(usual(4)));
    assert_eq!(trial.simulate().unwrap().cpu.unwrap().spun, Span::ZERO);
    trial.surroundings.attached = Some(Attached::Loop);
    assert!(trial.simulate().unwrap().cpu.unwrap().spun > Span::ZERO);
}

#[test]
fn runs_are_the_same_for_the_same_seed_and_others_for_another() {
    let run = |seed| Trial { seed, ..trial("bfq", "nvme-ssd-ideal", READERS, Some(usual(4))) }.simulate().unwrap();
    let (first, again, other) = (run(1), run(1), run(2));
    assert_eq!((first.hash, first.cpu), (again.hash, again.cpu));
    assert_ne!(first.hash, other.hash);
}

#[test]
fn kernels_before_blk_mq_have_no_costs_and_are_the_same_with_them() {
    let jobs = READERS.replace("numjobs=8", "numjobs=2");
    let run = |cpus| trial("cfq@4.20", "sata-ssd-ideal", &jobs, cpus).simulate().unwrap();
    assert_eq!(run(Some(usual(4))).hash, run(None).hash);
    assert_eq!(run(Some(usual(4))).cpu, None);
}

/// Time advances because the processor takes some.
#[test]
fn a_disk_that_takes_no_time_comes_to_its_end() {
    let jobs = "[a]\nrw=randread\ndirect=1\nbs=4k\nsize=1g\ntime_based\nruntime=30\n";
    let found = trial("none", "null", jobs, Some(usual(2))).simulate().unwrap();
    assert_eq!(found.elapsed, Span::from_ms(20));
    let costs = CpuPreset::usual().costs;
    let least = costs.submit + costs.interrupt + costs.reap;
    let per_io = found.elapsed.as_secs_f64() / found.requests as f64;
    assert!(per_io >= least.as_secs_f64(), "{:.2} us an I/O", per_io * 1e6);
}

#[test]
fn a_wait_for_io_max_is_part_of_the_completion_and_not_of_the_submission() {
    for engine in ["libaio", "io_uring"] {
        let jobs = format!(
            "[r]\nrw=randread\ndirect=1\nbs=4k\nsize=1g\nioengine={engine}\niodepth=8\ncgroup=a\n\
             cgroup_files=io.max: riops=100\n"
        );
        let found =
            Trial { limit: Span::from_secs(1), ..trial("mq-deadline", "sata-ssd-ideal", &jobs, Some(usual(2))) };
        let read = &found.simulate().unwrap().jobs[0].record.read;
        let (submission, completion) = (read.slat.mean() / 1e6, read.clat.mean() / 1e6);
        // Eight at a time at 100 per second.
        let good = completion > 50.0 && submission < 1.0;
        assert!(good, "{engine}: {submission:.2} ms to submit, {completion:.1} ms to complete");
    }
}

/// I/Os, busy time, and the busiest processor's, of a disk that takes no time.
fn worked(costs: CpuCosts, attached: Attached, jobs: &str) -> (u64, Span, Span) {
    let mut trial = trial("none", "null", jobs, Some(HostCpus { cpus: 4, costs }));
    trial.surroundings.attached = Some(attached);
    let found = trial.simulate().unwrap();
    let cpu = found.cpu.unwrap();
    (found.requests, cpu.busy, cpu.busiest)
}

#[test]
fn completions_on_one_processor_keep_it_busy_and_queues_of_their_own_are_interrupted_apart() {
    let on = |completes, attached| {
        let costs = CpuCosts { completes, interrupt: Span::from_us(20), ..CpuPreset::usual().costs };
        worked(costs, attached, READERS)
    };
    let (apart, _, _) = on(CompletesOn::Submitter, Attached::Loop);
    let (together, busy, busiest) = on(CompletesOn::Interrupted(2), Attached::Loop);
    assert!(together * 2 < apart, "{together} where one processor handles all, {apart} otherwise");
    assert!(busiest.as_secs_f64() > 0.95 * 0.02 && busy < busiest * 3, "{busiest:?} of {busy:?}");
    assert_eq!(on(CompletesOn::Interrupted(2), Attached::Nvme), on(CompletesOn::Submitter, Attached::Nvme));
}

#[test]
fn an_interrupt_that_is_passed_on_costs_what_the_preset_says_and_nothing_unless_it_does() {
    let on = |completes, pass_on, attached| {
        worked(CpuCosts { completes, pass_on, ..CpuPreset::usual().costs }, attached, READERS)
    };
    let ten = Span::from_us(10);
    let (free, ..) = on(CompletesOn::PassedOn(0), Span::ZERO, Attached::Loop);
    let (dear, ..) = on(CompletesOn::PassedOn(0), ten, Attached::Loop);
    assert_eq!(free, on(CompletesOn::Submitter, ten, Attached::Loop).0);
    assert!(dear < free, "{dear} where passing it on takes time, {free} otherwise");
    let apart = |completes| on(completes, ten, Attached::Nvme);
    assert_eq!(apart(CompletesOn::PassedOn(0)), apart(CompletesOn::Submitter), "each queue has its own processor");
}

#[test]
fn each_way_of_io_uring_costs_what_the_preset_says() {
    let us = Span::from_us;
    let calls = CallCosts { submit: us(4), reap: us(1) };
    let uring = UringCosts { calls, registered: us(1), fixed: us(2), poll: us(1), ring: us(1) };
    let costs = CpuCosts { uring: Some(uring), ..CpuPreset::usual().costs };
    let with = |options: &str| {
        let job = "[r]\nrw=randread\ndirect=1\nbs=4k\nsize=1g\nioengine=io_uring\niodepth=8\ncpus_allowed=0\n";
        worked(costs, Attached::Nvme, &format!("{job}{options}\n"))
    };
    let (plain, ..) = with("");
    let (registered, ..) = with("registerfiles\nfixedbufs");
    let (polled, ..) = with("hipri");
    assert!(registered as f64 > 1.5 * plain as f64, "{plain}, {registered} with what is registered");
    assert!(polled as f64 > 1.1 * plain as f64, "{plain}, {polled} without interrupts");
    // The thread works beside the process.
    let (threaded, busy, busiest) = with("sqthread_poll\nsqthread_poll_cpu=3");
    assert!(threaded > plain && busy > busiest, "{plain}, {threaded} with a thread: {busiest:?} of {busy:?}");
    // libaio's are another's.
    let aio = "[r]\nrw=randread\ndirect=1\nbs=4k\nsize=1g\nioengine=libaio\niodepth=8\nhipri\n";
    let usual = CpuPreset::usual().costs;
    assert_eq!(worked(costs, Attached::Nvme, aio), worked(usual, Attached::Nvme, aio));
}

#[test]
fn a_nicer_process_gets_less_of_a_processor_where_turns_go_by_time() {
    let run = |preset: &str| {
        let jobs = "[global]\nrw=randread\ndirect=1\nbs=4k\nsize=1g\nioengine=libaio\niodepth=8\n\
                    [usual]\n[nice]\nnice=5\noffset=1g\n";
        let costs = CpuPreset::builtin(preset).unwrap().costs;
        let trial = trial("none", "null", jobs, Some(HostCpus { cpus: 1, costs }));
        let found = Trial { limit: Span::from_ms(400), ..trial }.simulate().unwrap();
        let ios: Vec<f64> = found.jobs.iter().map(|job| job.record.read.ios as f64).collect();
        ios[0] / ios[1]
    };
    // A quarter for each step: three times.
    let (by_time, by_arrival) = (run("icpe-10core"), run("epyc-6.18"));
    assert!((2.4..3.6).contains(&by_time) && (0.9..1.1).contains(&by_arrival), "{by_time}, {by_arrival}");
}
