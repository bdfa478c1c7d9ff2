//! What goes in comes out: a run whose jobs end by themselves leaves nothing behind, whatever the surroundings.

use std::sync::Arc;

use blksched::{Catalogue, Plugging, Span};
use blksched_measure::Work;
use blksched_simulate::{Surroundings, Trial};
use blksched_workloads::fio::JobFile;

const JOBS: &str = "\
[global]
direct=1
bs=8k
ioengine=libaio
iodepth=48
[a]
rw=randrw
number_ios=300
[b]
rw=write
bs=256k
number_ios=100
[c]
rw=randread
number_ios=300
";

fn run(elevator: &str, disk: &str, surroundings: Surroundings) -> blksched_simulate::Findings {
    let spec = Arc::new(blksched_disks::load(disk).unwrap());
    let text = JOBS.replace("[a]", "size=64m\n[a]");
    let plan = JobFile::parse(&text, "jobs").unwrap().plan(spec.build(0).facts().sectors).unwrap();
    let trial = Trial {
        elevator: Catalogue::builtin().parse(elevator).unwrap(),
        knobs: Vec::new(),
        surroundings,
        disk: spec,
        plan: Arc::new(plan),
        seed: 3,
        limit: Span::from_secs(1000),
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    trial.simulate().unwrap()
}

#[test]
fn every_io_completes_under_every_elevator_with_few_slots_every_plug_and_any_depth() {
    let plugs = [Plugging::Never, Plugging::TaskQueue, Plugging::LINUX_2_5, Plugging::LINUX_2_6, Plugging::LINUX_3];
    for era in Catalogue::builtin().eras() {
        for (nr_requests, depth, plugging) in plugs.iter().flat_map(|&p| [(2, 1, p), (7, 3, p), (500, 31, p)]) {
            let surroundings = Surroundings {
                depth: Some(depth),
                nr_requests: Some(nr_requests),
                plugging: Some(plugging),
                max_sectors: Some(64),
                ..Surroundings::default()
            };
            let found = run(&era, "sata-2009", surroundings);
            assert!(found.finished, "{era} with {surroundings:?} left something behind");
            let done = |work: Work| found.jobs.iter().map(|job| job.record.work(work).ios).sum::<u64>();
            assert_eq!(done(Work::Read) + done(Work::Write), 700, "{era} with {surroundings:?}");
        }
    }
}

#[test]
fn the_disk_is_never_busy_for_longer_than_the_run_and_shares_add_up() {
    for disk in ["ide-2002", "hdd-7200-ideal", "sata-ssd-ideal", "raid5:3xhdd-7200-ideal", "cloud-gp3"] {
        let found = run("deadline", disk, Surroundings::default());
        let rotates = disk.contains("hdd") || disk.starts_with("ide");
        assert!(found.disk.busy <= 1.0 && found.disk.seeking <= 3.0 && (found.disk.seeking > 0.0) == rotates, "{disk}");
        let given: u64 = found.jobs.iter().map(|job| job.share.given.as_ns()).sum();
        let worked = found.reasons.disk().worked();
        assert!(worked >= found.reasons.disk().busy() && worked <= found.elapsed, "{disk}");
        // Each share is rounded down, by less than a nanosecond for each request and each stint.
        assert!(given.abs_diff(worked.as_ns()) < 20_000, "{disk}: disk time is given to somebody");
        let did: u64 = found.reasons.disk().iter().map(|(_, span)| span.as_ns()).sum();
        assert_eq!(did, found.elapsed.as_ns(), "{disk}");
    }
}

#[test]
fn a_reader_beside_others_in_the_drive_is_given_the_time_of_its_own_reads() {
    let jobs = "[global]\ndirect=1\nfilename=/dev/sda\nruntime=10\ntime_based\n[reader]\nrw=randread\nbs=4k\n\
                [crowd]\nrw=randread\nbs=4k\nioengine=libaio\niodepth=24\n";
    let spec = Arc::new(blksched_disks::load("hdd-7200-ideal").unwrap());
    let plan = JobFile::parse(jobs, "jobs").unwrap().plan(spec.build(0).facts().sectors).unwrap();
    let trial = Trial {
        elevator: Catalogue::builtin().parse("none").unwrap(),
        knobs: Vec::new(),
        surroundings: Surroundings::default(),
        disk: spec,
        plan: Arc::new(plan),
        seed: 3,
        limit: Span::from_secs(10),
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    let found = trial.simulate().unwrap();
    for job in &found.jobs {
        // The drive's own statistics: as much as its reads took, however many jobs ran beside them.
        let booked = (job.activity.positioning() + job.activity.transfer).as_ns() as f64;
        let given = job.share.given.as_ns() as f64;
        assert!((given / booked - 1.0).abs() < 0.02, "given {given} of {booked}");
    }
}
