//! Request slots and what stands before them, in a whole world: shares beside those of a real 6.18 (fio on the same
//! disk, a loop device over it), and time that stands still.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_simulate::cpu::{CpuPreset, HostCpus};
use blksched_simulate::{RaceOdds, Surroundings, Trial};
use blksched_workloads::fio::JobFile;

/// Every command takes 10 ms, one at a time.
const FIXED: &str = "kind = \"fixed\"\ndescription = \"\"\ncapacity = \"8GiB\"\nmax_command = \"1MiB\"\ndepth = 31\n\
                     channels = 1\nservice = \"10ms\"\n";

fn trial(elevator: &str, disk: blksched_disks::DiskSpec, jobs: &str, around: Surroundings) -> Trial {
    let plan = JobFile::parse(jobs, "jobs").unwrap().plan(disk.build(0).facts().sectors).unwrap();
    Trial {
        elevator: Catalogue::builtin().parse(elevator).unwrap(),
        knobs: Vec::new(),
        surroundings: around,
        disk: Arc::new(disk),
        plan: Arc::new(plan),
        seed: 1,
        limit: Span::from_secs(30),
        other_disks: Vec::new(),
        beside: Default::default(),
    }
}

/// The bandwidth of each process \[KiB/s\].
fn rates(elevator: &str, jobs: &str, around: Surroundings) -> Vec<f64> {
    let found = trial(elevator, blksched_disks::parse("fixed", FIXED).unwrap(), jobs, around).simulate().unwrap();
    let kib = |job: &blksched_simulate::JobOutcome| {
        let all = &job.record;
        (all.read.bytes + all.write.bytes) as f64 / 1024.0 / found.elapsed.as_secs_f64()
    };
    found.jobs.iter().map(kib).collect()
}

/// The bandwidth of the nth job, which runs for 8 s, as a mean over four seeds \[KiB/s\].
fn read_rate(trial: &Trial, job: usize) -> f64 {
    let bytes = |seed| Trial { seed, ..trial.clone() }.simulate().unwrap().jobs[job].record.read.bytes;
    (1..=4).map(bytes).sum::<u64>() as f64 / 4.0 / 8.0 / 1024.0
}

/// A real 6.18: 69, 111, 109 and 111 KiB/s of 400.
#[test]
fn without_a_scheduler_slots_go_round_by_process_and_nobody_starves() {
    let jobs = "[global]\nfilename=/dev/x\ndirect=1\nbs=4k\nrw=randread\nsize=1g\nioengine=libaio\n\
                [a]\niodepth=1\n[b]\niodepth=4\noffset=1g\n[c]\niodepth=16\noffset=2g\n\
                [d]\niodepth=32\noffset=3g\n";
    let around = Surroundings { depth: Some(4), nr_requests: Some(4), ..Surroundings::default() };
    let had = rates("none", jobs, around);
    for (had, real) in had.iter().zip([69.0, 111.0, 109.0, 111.0]) {
        assert!((had / real - 1.0).abs() < 0.15, "{had:.0} KiB/s, and {real} really");
    }
}

/// A real 6.1.0-56 in a guest, whose 256 tags were cut to 64: 160 and 165 KiB/s. There the map keeps its words of 64
/// bits, so that a limit of one request, which 6.1 counts per word, admits one; a map made for 64 tags admits four.
#[test]
fn tags_that_were_cut_keep_the_words_of_their_map() {
    let jobs = include_str!("../../../../testdata/reality/jobs/13-deep-writer-stream.fio");
    let file = include_str!("../../../../testdata/reality/6.1-guest/fixed20.toml");
    let reads = |driver_tags| {
        let around = Surroundings {
            depth: Some(4),
            nr_requests: Some(64),
            driver_tags,
            max_sectors: Some(256),
            cpus: Some(HostCpus { cpus: 1, costs: CpuPreset::usual().costs }),
            odds: RaceOdds { owner_first: 99, worker_first: 7 },
            ..Surroundings::default()
        };
        let disk = blksched_disks::parse("fixed20", file).unwrap();
        read_rate(&trial("bfq@6.1", disk, jobs, around), 1)
    };
    let (cut, made) = (reads(Some(256)), reads(None));
    assert!((cut / 162.0 - 1.0).abs() < 0.2, "{cut:.0} KiB/s");
    assert!(made < 0.75 * 162.0, "{made:.0} KiB/s");
}

#[test]
fn a_disk_that_takes_no_time_and_processes_that_never_think_are_an_error() {
    let jobs = "[a]\nrw=randread\ndirect=1\nbs=4k\nsize=1g\ntime_based\nruntime=30\n";
    let error =
        trial("deadline@2.6.33", blksched_disks::load("null").unwrap(), jobs, Surroundings::default()).simulate();
    let said = error.unwrap_err().to_string();
    assert!(said.starts_with("time stands still at 0.000000000s"), "{said}");
}

/// With processor costs it ends by its time; without, it ends or reports that time stands still.
#[test]
fn every_built_in_workload_ends_on_a_disk_that_takes_no_time() {
    for entry in blksched_workloads::BUILTINS {
        for (elevator, cpus) in [("mq-deadline", Some(4)), ("mq-deadline", None), ("deadline@4.20", None)] {
            let disk = blksched_disks::load("null").unwrap();
            let plan = entry.job_file().plan(disk.build(0).facts().sectors).unwrap();
            let cpus = cpus.map(|cpus| HostCpus { cpus, costs: CpuPreset::usual().costs });
            let around = Surroundings { cpus, ..Surroundings::default() };
            let trial = Trial {
                plan: Arc::new(plan),
                limit: Span::from_ms(2),
                ..trial(elevator, disk, "[a]\nsize=4k\n", around)
            };
            match trial.simulate() {
                Ok(found) => assert!(found.elapsed <= Span::from_secs(1), "{}: {:?}", entry.name, found.elapsed),
                Err(error) => {
                    let said = error.to_string();
                    assert!(cpus.is_none() && said.starts_with("time stands still at"), "{}: {said}", entry.name);
                }
            }
        }
    }
}

/// A completion of a throttled write wakes the next writer and a reader that sleeps for a tag: neither always wins. The
/// reader starved as long as both ran in the order in which they were woken.
#[test]
fn a_reader_that_sleeps_for_a_tag_beside_throttled_writers_is_not_starved() {
    let jobs = "[global]\nruntime=20\ntime_based\nbs=4k\nsize=1g\nfilename=/dev/x\n\
                [writer]\nrw=write\nsize=7g\n[reader]\nrw=randread\ndirect=1\nsize=512m\noffset=7g\n";
    let around = |wbt| Surroundings { depth: Some(1), wbt_latency: Some(wbt), ..Surroundings::default() };
    let [with, without] = [Span::from_ms(75), Span::ZERO].map(|wbt| {
        let disk = blksched_disks::load("sata-2009").unwrap();
        let found = trial("mq-deadline", disk, jobs, around(wbt)).simulate().unwrap();
        found.jobs[1].record.read.bytes
    });
    assert!(without > 0 && with * 2 > without, "{with} bytes with throttling, {without} without");
}

/// A stream of reads and one of writes share a queue of bfq, and a read is dispatched only if no write was submitted
/// before the kernel's worker asked. Real 6.18s, traced: the worker first in 76 of 100 completions, 721 and 741 KiB/s;
/// in 2 of 100, 81 to 106.
#[test]
fn a_stream_beside_another_has_what_the_race_with_the_worker_leaves_it() {
    let jobs = include_str!("../../../../testdata/reality/jobs/02-streams.fio");
    let file = include_str!("../../../../testdata/reality/6.18-live/fixed10.toml");
    let reads = |worker_first| {
        let around = Surroundings {
            depth: Some(4),
            nr_requests: Some(64),
            max_sectors: Some(256),
            cpus: Some(HostCpus { cpus: 2, costs: CpuPreset::usual().costs }),
            odds: RaceOdds { worker_first, ..RaceOdds::default() },
            ..Surroundings::default()
        };
        let disk = blksched_disks::parse("fixed10", file).unwrap();
        read_rate(&trial("bfq", disk, jobs, around), 0)
    };
    let (often, seldom) = (reads(76), reads(2));
    assert!((600.0..=900.0).contains(&often), "{often:.0} KiB/s");
    assert!((50.0..=200.0).contains(&seldom), "{seldom:.0} KiB/s");
}

/// 64 processes with four random reads in flight each, over 128 request slots: fio 3.14 on a SATA SSD. FIT: a read each
/// 18.9 µs, the measured rate; the spread is what the test is about (60 s; the sum is in a public archive of fio
/// results, github.com/louwrentius/fio-plot). Without a batch for each submitter that wakes, the deviation is 2.3 ms.
#[test]
fn a_process_that_wakes_for_a_slot_takes_a_batch_before_the_others_as_on_a_real_host() {
    let jobs = "[a]\nrw=randread\nbs=4k\niodepth=4\nnumjobs=64\ngroup_reporting\nioengine=libaio\ndirect=1\n\
                filename=/dev/x\nsize=4g\ntime_based\nruntime=60\n";
    let link = FIXED.replace("depth = 31", "depth = 32").replace("\"10ms\"", "\"18.9us\"");
    let disk = blksched_disks::parse("link", &link).unwrap();
    let trial = Trial { limit: Span::from_secs(4), ..trial("deadline@4.20", disk, jobs, Surroundings::default()) };
    let found = trial.simulate().unwrap();
    let all: Vec<usize> = (0..64).collect();
    let (clat, lat) = (&found.merged(&all).read.clat, &found.merged(&all).read.lat);
    let us = |ns: f64| ns / 1e3;
    let measured = [
        ("deviation", us(lat.stddev()), 6577.0),
        ("p50", us(clat.percentile(50.0).as_ns() as f64), 2507.0),
        ("p99", us(clat.percentile(99.0).as_ns() as f64), 23462.0),
    ];
    for (name, ours, real) in measured {
        assert!((ours / real - 1.0).abs() < 0.1, "{name}: {ours:.0} us, and {real} really");
    }
}

/// A new request of 4.20's CFQ preempts the queue served last. In perfect lockstep 33 of these processes would take
/// turns for ever and 31 get nothing. On a real host (CFQ behind an IBM M1015, 64 x 1, in the same archive) p99.9 is
/// 226 ms: nobody waits for seconds.
#[test]
fn sixty_four_readers_on_thirty_two_tags_of_the_last_cfq_all_get_their_turn() {
    let jobs = "[a]\nrw=randread\nbs=4k\niodepth=1\nnumjobs=64\ndirect=1\nsize=100m\ntime_based\nruntime=60\n";
    let link = FIXED.replace("depth = 31", "depth = 32").replace("service = \"10ms\"", "service = \"20us\"");
    for seed in 1..=2 {
        let disk = blksched_disks::parse("link", &link).unwrap();
        let trial = Trial { limit: Span::from_secs(2), seed, ..trial("cfq@4.20", disk, jobs, Surroundings::default()) };
        let found = trial.simulate().unwrap();
        let longest = found.jobs.iter().map(|job| job.record.stall).max().unwrap();
        assert!(longest < Span::from_ms(500), "seed {seed}: {longest} without an I/O");
    }
}
