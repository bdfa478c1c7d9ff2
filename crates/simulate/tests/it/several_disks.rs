//! Several disks in one world, each with a queue of its own.

use std::sync::Arc;

use blksched::{Catalogue, Choice, Sector, Span};
use blksched_disks::DiskSpec;
use blksched_measure::Work;
use blksched_simulate::cpu::{CpuPreset, HostCpus};
use blksched_simulate::{Beside, BesideDisk, Findings, Surroundings, Trial};
use blksched_workloads::DiskPlaces;
use blksched_workloads::fio::JobFile;
use blksched_workloads::host::fs::{FsKind, FsMount};

fn choice(name: &str) -> Choice {
    Catalogue::builtin().parse(name).unwrap()
}

fn disk(name: &str) -> Arc<DiskSpec> {
    Arc::new(blksched_disks::load(name).unwrap())
}

/// A run of these jobs on `sda`, the one in question, and on the others.
struct Bench {
    surroundings: Surroundings,
    fs: FsMount,
    disks: Vec<(&'static str, &'static str, &'static str)>,
}

impl Bench {
    fn of(disks: &[(&'static str, &'static str, &'static str)]) -> Bench {
        Bench { surroundings: Surroundings::default(), fs: FsKind::None.into(), disks: disks.to_vec() }
    }

    fn with_cpus(disks: &[(&'static str, &'static str, &'static str)]) -> Bench {
        let cpus = Some(HostCpus { cpus: 2, costs: CpuPreset::usual().costs });
        Bench { surroundings: Surroundings { cpus, ..Surroundings::default() }, ..Bench::of(disks) }
    }

    /// The trial; the first disk is the one in question.
    fn trial(&self, jobs: &str) -> Trial {
        let specs: Vec<Arc<DiskSpec>> = self.disks.iter().map(|(_, model, _)| disk(model)).collect();
        let sectors = |spec: &Arc<DiskSpec>| spec.build(0).facts().sectors;
        let places = match &specs[..] {
            [lone] => DiskPlaces::alone(sectors(lone)),
            _ => DiskPlaces::beside(
                self.disks.iter().zip(&specs).map(|((n, ..), s)| (vec![(*n).to_owned()], sectors(s))),
            ),
        };
        let plan = JobFile::parse(jobs, "jobs").unwrap().plan_on_disks(&places, self.fs).unwrap();
        let other = |((&(name, _, elevator), spec), place): ((&(&str, _, &str), &Arc<DiskSpec>), Sector)| BesideDisk {
            name: name.to_owned(),
            first: place,
            disk: spec.clone(),
            is_fellow: false,
            is_alike: false,
            elevator: choice(elevator),
            knobs: Vec::new(),
            surroundings: self.surroundings,
        };
        let firsts = places.all().iter().map(|place| place.first);
        let disks = self.disks.iter().zip(&specs).zip(firsts).skip(1).map(other).collect();
        Trial {
            elevator: choice(self.disks[0].2),
            knobs: Vec::new(),
            surroundings: self.surroundings,
            disk: specs[0].clone(),
            plan: Arc::new(plan),
            seed: 1,
            limit: Span::from_secs(4),
            other_disks: Vec::new(),
            beside: Beside { first: Sector(0), disks, ..Beside::default() },
        }
    }

    fn run(&self, jobs: &str) -> Findings {
        self.trial(jobs).simulate().unwrap()
    }
}

const READER: &str = "[global]\nbs=4k\ntime_based\nruntime=60\n[reader]\nfilename=/dev/sda\nrw=randread\ndirect=1\n";

fn reads(found: &Findings) -> u64 {
    found.jobs[0].record.work(Work::Read).ios
}

fn writes(found: &Findings, job: usize) -> u64 {
    found.jobs[job].record.work(Work::Write).bytes
}

#[test]
fn a_reader_beside_a_copy_to_another_disk_is_not_slowed_down_and_beside_one_to_its_own_it_is() {
    let copy = |disk: &str| {
        format!("{READER}[copy]\nfilename=/dev/{disk}\nrw=write\nbs=1m\ndirect=1\niodepth=8\nioengine=libaio\n")
    };
    let two = Bench::of(&[("sda", "hdd-7200-ideal", "mq-deadline"), ("sdb", "hdd-7200-ideal", "mq-deadline")]);
    let alone = reads(&Bench::of(&two.disks[..1]).run(READER));
    let (beside, same) = (two.run(&copy("sdb")), two.run(&copy("sda")));
    assert!(reads(&beside).abs_diff(alone) * 50 < alone, "{} and {alone} alone", reads(&beside));
    assert!(reads(&same) * 10 < alone * 8, "{} and {alone} alone", reads(&same));
    assert!(writes(&beside, 1) > writes(&same, 1) && beside.beside[0].disk.busy > 0.9);
    assert_eq!(same.beside[0].requests, 0);
    assert!(same.beside[0].disk.busy == 0.0 && beside.disk.busy > 0.9);
}

/// The whole way of a world of several against that of a world of one: nothing differs but the way.
#[test]
fn a_disk_that_nobody_uses_changes_nothing() {
    let loads = [
        format!("{READER}[writer]\nfilename=/dev/sda\nrw=randwrite\ndirect=1\nioengine=libaio\niodepth=16\n"),
        format!("{READER}[writer]\nfilename=/dev/sda\nrw=write\nbs=64k\nfsync=32\n"),
        format!("{READER}[uring]\nfilename=/dev/sda\nrw=randread\ndirect=1\nioengine=io_uring\niodepth=600\n"),
    ];
    for elevator in ["none", "mq-deadline", "kyber", "bfq"] {
        for model in ["hdd-7200-ideal", "nvme-ssd-ideal"] {
            let two = [("sda", model, elevator), ("sdb", "usb-stick", "bfq")];
            for make in [Bench::of, Bench::with_cpus] {
                for load in &loads {
                    let limit = Span::from_ms(if model == "nvme-ssd-ideal" { 20 } else { 1_000 });
                    let of = |disks: &[_]| Trial { limit, ..make(disks).trial(load) }.simulate().unwrap();
                    let (lone, beside) = (of(&two[..1]), of(&two));
                    assert_eq!(lone.hash, beside.hash, "{elevator} {model} {load}");
                    for (one, other) in lone.jobs.iter().zip(&beside.jobs) {
                        for work in Work::ALL {
                            let figures = |job: &blksched_simulate::JobOutcome| {
                                let done = job.record.work(work);
                                (done.ios, done.bytes, done.clat.mean().to_bits(), done.slat.mean().to_bits())
                            };
                            assert_eq!(figures(one), figures(other), "{elevator} {model} {work:?} {load}");
                        }
                        assert_eq!(one.share, other.share);
                    }
                    assert_eq!((lone.requests, lone.work), (beside.requests, beside.work));
                }
            }
        }
    }
}

#[test]
fn each_disk_has_its_own_scheduler() {
    let idle = "[a]\nfilename=/dev/sdb\nrw=randread\ndirect=1\nprioclass=3\nioengine=libaio\niodepth=8\n\
                [b]\nfilename=/dev/sdb\nrw=randread\ndirect=1\nprioclass=2\nioengine=libaio\niodepth=8\n";
    let jobs = format!("{READER}{idle}");
    let of = |elevator| {
        Bench::of(&[("sda", "hdd-7200-ideal", "mq-deadline"), ("sdb", "hdd-7200-ideal", elevator)]).run(&jobs)
    };
    let ios = |found: &Findings, job: usize| found.jobs[job].record.work(Work::Read).ios;
    let (none, bfq) = (of("none"), of("bfq"));
    assert!(ios(&none, 1).abs_diff(ios(&none, 2)) * 5 < ios(&none, 2), "{} {}", ios(&none, 1), ios(&none, 2));
    assert!(ios(&bfq, 1) * 4 < ios(&bfq, 2), "{} {}", ios(&bfq, 1), ios(&bfq, 2));
    assert!(reads(&none).abs_diff(reads(&bfq)) * 50 < reads(&none), "{} {}", reads(&none), reads(&bfq));
}

#[test]
fn a_list_of_devices_uses_each_of_them() {
    let jobs = "[a]\nfilename=/dev/sda:/dev/sdb\nrw=randread\ndirect=1\nbs=4k\ntime_based\nruntime=60\n\
                ioengine=libaio\niodepth=2\n";
    let two = Bench::of(&[("sda", "hdd-7200-ideal", "none"), ("sdb", "hdd-7200-ideal", "none")]);
    let (found, again) = (two.run(jobs), two.run(jobs));
    assert_eq!((found.hash, reads(&found)), (again.hash, reads(&again)));
    let other = found.beside[0].requests;
    assert!(other.abs_diff(found.requests - other) <= 2, "in turn: {other} of {}", found.requests);
    let one = reads(&Bench::of(&two.disks[..1]).run(jobs));
    assert!(reads(&found) * 10 > one * 14, "two arms: {} and {one}", reads(&found));
}

#[test]
fn a_flush_is_of_the_disk_that_was_written() {
    let direct = "direct=1\n";
    for how in ["", direct] {
        let jobs = format!("[a]\nfilename=/dev/sdb\nrw=randwrite\nbs=4k\nfsync=1\nnumber_ios=20\nsize=1g\n{how}");
        let found = Bench::of(&[("sda", "sata-ssd-ideal", "none"), ("sdb", "sata-ssd-ideal", "none")]).run(&jobs);
        let other = &found.beside[0];
        assert_eq!(found.requests, other.requests, "nothing reaches sda: {how}");
        assert!(other.requests >= 38, "a write and a flush each: {} {how}", other.requests);
        assert!(found.finished && found.jobs[0].record.work(Work::Sync).ios >= 19);
    }
}

#[test]
fn buffered_writes_reach_the_disk_of_their_file() {
    let jobs = "[a]\nfilename=/dev/sda\nrw=write\nbs=64k\nsize=32m\nend_fsync=1\n\
                [b]\nfilename=/dev/sdb\nrw=randwrite\nbs=4k\nsize=8m\nend_fsync=1\n";
    for make in [Bench::of, Bench::with_cpus] {
        let bench = make(&[("sda", "sata-ssd-ideal", "mq-deadline"), ("sdb", "sata-ssd-ideal", "bfq")]);
        let found = Trial { limit: Span::from_secs(60), ..bench.trial(jobs) }.simulate().unwrap();
        assert!(found.finished);
        assert!(found.jobs.iter().all(|job| job.exited.is_some()));
        assert!(found.beside[0].requests >= (8 << 20) / (1280 << 10) && found.requests > found.beside[0].requests);
    }
}

/// Appends with fsync beside random reads: with its log on a disk of its own, half of an fsync's trips do not wait for
/// the arm.
#[test]
fn a_log_on_a_disk_of_its_own_leaves_the_first_one_its_data() {
    let jobs = "[global]\nbs=4k\ntime_based\nruntime=60\ndirectory=/mnt\n[log]\nrw=write\nfsync=1\nsize=64m\n\
                fallocate=none\n[reader]\nrw=randread\ndirect=1\nsize=256m\n";
    for (within, apart) in [("ext4", "ext4:journal_dev=sdb"), ("xfs", "xfs:logdev=sdb")] {
        let disks = [("sda", "hdd-7200-ideal", "mq-deadline"), ("sdb", "sata-ssd-ideal", "none")];
        let run = |fs: &str| Bench { fs: FsMount::named(fs).unwrap(), ..Bench::of(&disks) }.run(jobs);
        let (within, apart) = (run(within), run(apart));
        let sync = |found: &Findings| found.jobs[0].record.sync.lat.mean();
        assert!(sync(&apart) < 0.75 * sync(&within), "{} ns, and {} with the log apart", sync(&within), sync(&apart));
        assert_eq!(within.beside[0].requests, 0);
        assert!(apart.beside[0].requests >= apart.jobs[0].record.sync.ios, "a log write for each");
    }
}

#[test]
fn a_log_on_a_disk_that_is_not_there_is_an_error() {
    let two = DiskPlaces::beside(["sda", "sdb"].map(|name| (vec![name.to_owned()], 1 << 24)));
    let wrong = |jobs: &str, fs: &str| {
        let fs = FsMount::named(fs).unwrap();
        JobFile::parse(jobs, "jobs").unwrap().plan_on_disks(&two, fs).unwrap_err().to_string()
    };
    let file = "[a]\nrw=write\nsize=1m\n";
    assert!(wrong(file, "ext4:journal_dev=sdc").contains("there is no such disk"));
    assert!(wrong(file, "xfs:logdev=/dev/sda").contains("which its files are on"));
    let too_long = wrong(file, "ext4:journal_dev=sdb,journal_size=9g");
    assert!(too_long.contains("which is too short") && too_long.contains("at most 8191m"), "{too_long}");
    let beside = format!("{file}[b]\nfilename=/dev/sdb\nrw=randread\n");
    assert!(wrong(&beside, "ext4:journal_dev=sdb").contains("which a job uses"));
}
