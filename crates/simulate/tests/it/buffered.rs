//! Buffered jobs beside their direct twins: what a storage engineer would expect of them.

use std::sync::Arc;

use blksched::{Catalogue, Op, Span};
use blksched_measure::Work;
use blksched_simulate::{Findings, Surroundings, Trial};
use blksched_workloads::fio::JobFile;
use blksched_workloads::host::{HostKnobs, WaitsFor};

const DISK: &str = "sata-2009";

/// Options of one job, separated by spaces, after these of `[global]`.
fn run_with(jobs: &str, host: &str, elevator: &str, seconds: u64) -> Findings {
    let disk = Arc::new(blksched_disks::load(DISK).unwrap());
    let plan = JobFile::parse(jobs, "jobs").unwrap_or_else(|e| panic!("{e}"));
    let plan = plan.plan(disk.build(0).facts().sectors).unwrap_or_else(|e| panic!("{e}"));
    let trial = Trial {
        elevator: Catalogue::builtin().parse(elevator).unwrap(),
        knobs: Vec::new(),
        surroundings: Surroundings { host: HostKnobs::parse(host).unwrap(), ..Surroundings::default() },
        disk,
        plan: Arc::new(plan),
        seed: 1,
        limit: Span::from_secs(seconds),
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    trial.simulate().unwrap()
}

fn run_job(options: &str, host: &str) -> Findings {
    run_with(&format!("[j]\n{}\n", options.replace(' ', "\n")), host, "deadline", 60)
}

fn bandwidth(found: &Findings, work: Work) -> f64 {
    found.jobs[0].record.bandwidth(work)
}

#[test]
fn a_second_pass_over_a_file_in_memory_costs_no_disk_io() {
    let once = run_job("rw=read size=64m", "");
    let twice = run_job("rw=read size=64m loops=2 invalidate=0", "");
    assert_eq!((once.requests, once.host.hits), (twice.requests, once.host.hits));
    assert!(twice.elapsed < once.elapsed + Span::from_ms(20), "{} {}", twice.elapsed, once.elapsed);
    let anew = run_job("rw=read size=64m loops=2", "");
    assert_eq!(anew.requests, 2 * once.requests, "fio drops the file before each pass");
    let small = run_job("rw=read size=128m loops=2 invalidate=0", "memory=64m");
    assert!(small.requests > 3 * once.requests, "and a file that does not fit is read again");
}

#[test]
fn pre_read_files_are_read_at_the_speed_of_memory() {
    let found = run_job("rw=randread size=64m pre_read", "");
    assert_eq!((found.requests, found.host.hits), (0, 16_384));
}

#[test]
fn a_sequential_reader_reads_as_fast_as_the_disk_in_requests_as_long_as_readahead_says() {
    let direct = run_job("rw=read size=64m direct=1", "");
    let buffered = run_job("rw=read size=64m fadvise_hint=0", "");
    assert_eq!(direct.requests, 16_384);
    let kib = |found: &Findings| 64.0 * 1024.0 / found.requests as f64;
    assert!((120.0..=128.0).contains(&kib(&buffered)), "{}", kib(&buffered));
    assert!(bandwidth(&buffered, Work::Read) > 1.5 * bandwidth(&direct, Work::Read));
    let wide = run_job("rw=read size=64m", "read_ahead_kb=512");
    assert!(kib(&wide) > 400.0, "posix_fadvise doubles it; a request of this era has 512 KiB: {}", kib(&wide));
    let none = run_job("rw=read size=64m", "read_ahead_kb=0");
    assert_eq!(none.requests, 16_384);
}

#[test]
fn random_reads_are_as_slow_as_direct_ones_until_the_file_is_in_memory() {
    let direct = run_job("rw=randread size=256m number_ios=500 direct=1", "");
    let buffered = run_job("rw=randread size=256m number_ios=500", "");
    assert_eq!((direct.requests, buffered.requests), (500, 500));
    let ratio = bandwidth(&direct, Work::Read) / bandwidth(&buffered, Work::Read);
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

#[test]
fn writes_go_to_memory_first_and_come_out_in_bursts() {
    let quick = run_job("rw=write size=64m", "");
    assert!(bandwidth(&quick, Work::Write) > 1e9, "64 MiB are less than a tenth of memory");
    assert_eq!((quick.requests, quick.host.dirty), (0, 64 << 20), "all of it is dirty when the job ends");
    let slow = "rw=write size=1g rate=10m runtime=40s";
    let expired = run_job(slow, "");
    assert_eq!(
        (expired.host.background_bursts, expired.host.expired_bursts),
        (0, 2),
        "after 30 s, and 5 s later again"
    );
    let background = run_job(slow, "memory=640m");
    assert!(background.host.background_bursts > 3, "64 MiB are its tenth: {:?}", background.host);
    assert!(background.host.written.background > 40_000);
    assert!(bandwidth(&background, Work::Write) > 9.5 * 1024.0 * 1024.0, "the writer does not notice");
}

#[test]
fn a_writer_that_is_faster_than_the_disk_is_throttled_to_its_speed() {
    let found = run_job("rw=write bs=64k size=4g runtime=20s", "memory=256m");
    let calls = &found.host.writes;
    assert!(calls.throttled > 10 && calls.on(WaitsFor::Room) > Span::from_secs(10), "{calls:?}");
    let direct = run_job("rw=write bs=1m size=4g runtime=20s direct=1", "");
    let ratio = bandwidth(&found, Work::Write) / bandwidth(&direct, Work::Write);
    assert!((0.7..1.4).contains(&ratio), "{ratio}");
    assert!(found.host.dirty_most <= (256 << 20) / 5);
}

#[test]
fn fsync_after_each_write_is_as_slow_as_sync() {
    let fsync = run_job("rw=randwrite size=64m fsync=1 number_ios=200", "");
    let sync = run_job("rw=randwrite size=64m sync=1 number_ios=200", "");
    let free = run_job("rw=randwrite size=64m number_ios=200", "");
    let ratio = fsync.elapsed.as_secs_f64() / sync.elapsed.as_secs_f64();
    assert!((0.8..1.25).contains(&ratio), "{ratio}: {} {}", fsync.elapsed, sync.elapsed);
    assert!(fsync.elapsed.as_secs_f64() > 100.0 * free.elapsed.as_secs_f64());
    let datasync = run_job("rw=randwrite size=64m fdatasync=1 number_ios=200", "");
    assert_eq!(datasync.elapsed, fsync.elapsed, "metadata is not modelled");
}

#[test]
fn files_are_synced_one_after_the_other_when_they_are_closed_or_at_the_end() {
    let files = "rw=write bs=4k nrfiles=20 filesize=4k";
    let synced = |options: &str| {
        let found = run_job(&format!("{files} {options}"), "");
        (found.elapsed, found.host.syncs.returned)
    };
    let one = run_job("rw=write bs=4k size=4k end_fsync=1", "").elapsed;
    for options in [
        "end_fsync=1",
        "fsync_on_close=1",
        "fsync_on_close=1 openfiles=1 file_service_type=sequential",
        "fsync_on_close=1 file_service_type=sequential",
    ] {
        let (elapsed, syncs) = synced(options);
        assert_eq!(syncs, 20, "{options}");
        assert!(elapsed.as_secs_f64() > 10.0 * one.as_secs_f64(), "{options}: {elapsed}, one {one}");
    }
}

#[test]
fn an_fsync_at_the_end_waits_for_everything() {
    for option in ["end_fsync=1", "fsync_on_close=1"] {
        let found = run_job(&format!("rw=write size=64m {option}"), "");
        assert_eq!((found.host.dirty, found.jobs[0].record.work(Work::Sync).ios), (0, 1), "{option}");
        assert!(found.elapsed > Span::from_ms(400), "64 MiB at the disk's speed: {}", found.elapsed);
        assert!(found.host.calls(Op::Flush).on(WaitsFor::Writing) > Span::from_ms(400));
    }
}

#[test]
fn a_direct_reader_of_a_file_that_is_dirty_in_memory_waits_for_it_to_be_written() {
    let jobs = "[global]\nfilename=f\nsize=16m\n[w]\nrw=write\n[r]\nstonewall\nrw=read\nbs=1m\ndirect=1\n";
    let found = run_with(jobs, "", "deadline", 60);
    assert_eq!(found.host.dirty, 0);
    assert_eq!(found.host.written.by_caller, 4096);
    assert!(found.jobs[1].record.bandwidth(Work::Read) < 200e6);
}

#[test]
fn every_buffered_io_completes_under_every_elevator_with_few_slots_every_plug_and_any_depth() {
    use blksched::Plugging;
    let jobs = "[global]\nsize=4m\nfilename=f\nbs=8k\nioengine=io_uring\niodepth=4\nnumber_ios=120\n\
                [a]\nrw=randrw\n[b]\nrw=write\nfsync=7\n[c]\nrw=read\nnumjobs=2\n[d]\nrw=randrw\ndirect=1\n\
                [e]\nrw=randwrite\nsync=1\nbs=2k\n";
    let disk = Arc::new(blksched_disks::load(DISK).unwrap());
    let plan = Arc::new(JobFile::parse(jobs, "jobs").unwrap().plan(disk.build(0).facts().sectors).unwrap());
    for era in Catalogue::builtin().eras() {
        for (n, plugging) in [(2, Plugging::LINUX_2_5), (3, Plugging::LINUX_3), (500, Plugging::Never)] {
            let host = HostKnobs::parse("dirty_bytes=256k,dirty_hysteresis=64k,flusher_requests=8").unwrap();
            let surroundings = Surroundings {
                nr_requests: Some(n),
                plugging: Some(plugging),
                max_sectors: Some(64),
                host,
                ..Surroundings::default()
            };
            let trial = Trial {
                elevator: Catalogue::builtin().parse(&era).unwrap(),
                knobs: Vec::new(),
                surroundings,
                disk: disk.clone(),
                plan: plan.clone(),
                seed: 3,
                limit: Span::from_secs(1000),
                other_disks: Vec::new(),
                beside: Default::default(),
            };
            let found = trial.simulate().unwrap();
            assert!(found.finished, "{era} with {n} slots and {plugging:?} left something behind");
            let done: u64 = found.jobs.iter().map(|job| job.record.read.ios + job.record.write.ios).sum();
            assert_eq!(done, 720, "{era} with {n} slots");
        }
    }
}
