//! Stacked devices in a world: every member has a queue of its own.

use std::sync::Arc;

use blksched::{Catalogue, Choice, Sector, Span};
use blksched_disks::stack::{StackWord, StackedWord, stack_word};
use blksched_measure::Work;
use blksched_simulate::cpu::{CpuPreset, HostCpus};
use blksched_simulate::{Beside, BesideDisk, BesideVolume, Findings, Surroundings, Trial};
use blksched_workloads::DiskPlaces;
use blksched_workloads::fio::JobFile;
use blksched_workloads::host::fs::FsKind;

fn choice(name: &str) -> Choice {
    Catalogue::builtin().parse(name).unwrap()
}

const APART: u64 = 1 << 40;

/// Disks and devices below one another, at places of their own.
struct Below {
    surroundings: Surroundings,
    elevator: Choice,
    disks: Vec<BesideDisk>,
    volumes: Vec<BesideVolume>,
}

impl Below {
    /// Where the device is, and how long.
    fn add(&mut self, stacked: &StackedWord, first: Option<Sector>) -> (Sector, u64) {
        let members = stacked.members.iter().map(|member| match member {
            StackWord::Stacked(inner) => self.add(inner, None),
            StackWord::Disk { word, .. } => {
                let disk = Arc::new(blksched_disks::load(word).unwrap());
                let place = (self.next(), disk.build(0).facts().sectors);
                self.disks.push(BesideDisk {
                    name: format!("[{}]", self.disks.len()),
                    first: place.0,
                    disk,
                    is_fellow: true,
                    is_alike: true,
                    elevator: self.elevator.clone(),
                    knobs: Vec::new(),
                    surroundings: self.surroundings,
                });
                place
            }
        });
        let members: Vec<_> = members.collect();
        let volume = BesideVolume { first: first.unwrap_or_else(|| self.next()), spec: stacked.spec, members };
        let place = (volume.first, volume.sectors());
        self.volumes.push(volume);
        place
    }

    fn next(&self) -> Sector {
        Sector(APART * (1 + self.disks.len() + self.volumes.len()) as u64)
    }
}

/// A run of these jobs on a stacked device.
fn trial(word: &str, elevator: &str, jobs: &str, surroundings: Surroundings) -> Trial {
    let mut below = Below { surroundings, elevator: choice(elevator), disks: Vec::new(), volumes: Vec::new() };
    let stacked = stack_word(word).unwrap().unwrap();
    let (_, sectors) = below.add(&stacked, Some(Sector(0)));
    let jobs = format!("[global]\nfilename=/dev/md0\n{jobs}");
    let plan = JobFile::parse(&jobs, "jobs").unwrap().plan_on_disks(&DiskPlaces::alone(sectors), FsKind::None).unwrap();
    let own = below.disks.remove(0);
    Trial {
        elevator: choice(elevator),
        knobs: Vec::new(),
        surroundings,
        disk: own.disk,
        plan: Arc::new(plan),
        seed: 1,
        limit: Span::from_secs(2),
        other_disks: Vec::new(),
        beside: Beside { first: own.first, disks: below.disks, volumes: below.volumes, ..Beside::default() },
    }
}

fn run(word: &str, elevator: &str, jobs: &str) -> Findings {
    trial(word, elevator, jobs, Surroundings::default()).simulate().unwrap()
}

fn with_cpus() -> Surroundings {
    let cpus = Some(HostCpus { cpus: 2, costs: CpuPreset::usual().costs });
    Surroundings { cpus, ..Surroundings::default() }
}

fn ios(found: &Findings, work: Work) -> u64 {
    found.jobs.iter().map(|job| job.record.work(work).ios).sum()
}

const READS: &str = "[r]\nrw=randread\nbs=4k\ndirect=1\nioengine=libaio\niodepth=16\ntime_based\nruntime=60\n";

#[test]
fn two_stripes_read_faster_than_one_and_both_members_work() {
    let one = ios(&run("linear:hdd-7200-ideal", "none", READS), Work::Read);
    for word in [
        "md-raid0:2xhdd-7200-ideal",
        "striped:2xhdd-7200-ideal",
        "md-raid1:2xhdd-7200-ideal",
        "md-raid10:4xhdd-7200-ideal",
    ] {
        let found = run(word, "none", READS);
        assert!(ios(&found, Work::Read) * 10 > one * 15, "{word}: {} and {one}", ios(&found, Work::Read));
        assert!(found.disk.busy > 0.8 && found.beside.iter().all(|member| member.disk.busy > 0.8), "{word}");
    }
}

#[test]
fn a_mirror_writes_everything_twice_and_waits_for_the_slower() {
    let writes = "[w]\nrw=randwrite\nbs=4k\ndirect=1\nsize=1g\nnumber_ios=200\n";
    let one = run("linear:hdd-7200-ideal", "mq-deadline", writes);
    let two = run("md-raid1:2xhdd-7200-ideal", "mq-deadline", writes);
    assert!(one.finished && two.finished);
    assert_eq!((one.requests, two.requests), (200, 400));
    assert!(two.elapsed * 20 >= one.elapsed * 19, "{:?} {:?}", two.elapsed, one.elapsed);
    let slow = run("md-raid1:sata-ssd-ideal+hdd-7200-ideal", "mq-deadline", writes);
    assert!(slow.elapsed * 2 > one.elapsed, "{:?} {:?}", slow.elapsed, one.elapsed);
}

/// md(4): a write of less than a row costs reads, of which nobody hears who writes to a mirror.
#[test]
fn parity_costs_reads_of_small_writes_and_none_of_large_ones() {
    let small = "[w]\nrw=randwrite\nbs=4k\ndirect=1\nsize=1g\nnumber_ios=200\n";
    let five = run("md-raid5:5xhdd-7200-ideal", "mq-deadline", small);
    assert_eq!((five.finished, five.requests), (true, 800), "two reads and two writes each");
    let ten = run("md-raid10:4xhdd-7200-ideal", "mq-deadline", small);
    assert!(five.elapsed * 2 > ten.elapsed * 3, "{:?} {:?}", five.elapsed, ten.elapsed);
    let large = "[w]\nrw=write\nbs=192k\ndirect=1\nsize=1g\nnumber_ios=50\n";
    let rows = run("md-raid5:4xhdd-7200-ideal,chunk=64k", "mq-deadline", large);
    // 50 rows of four members, in one request each.
    assert_eq!((rows.finished, rows.requests), (true, 200));
}

/// Nothing but the way differs from the disk alone.
#[test]
fn a_linear_device_of_one_disk_does_as_the_disk() {
    for elevator in ["none", "mq-deadline", "kyber", "bfq"] {
        for jobs in [
            READS.to_owned(),
            "[w]\nrw=randwrite\nbs=4k\nsize=64m\nfsync=8\ntime_based\nruntime=60\n".to_owned(),
            "[u]\nrw=randread\ndirect=1\nioengine=io_uring\niodepth=600\ntime_based\nruntime=60\n".to_owned(),
            format!("{READS}[w]\nrw=write\nbs=1m\ndirect=1\nioengine=libaio\niodepth=8\ntime_based\nruntime=60\n"),
        ] {
            for around in [Surroundings::default(), with_cpus()] {
                let stacked = trial("linear:hdd-7200-ideal", elevator, &jobs, around);
                let alone = Trial { beside: Beside::default(), ..stacked.clone() };
                let (stacked, alone) = (stacked.simulate().unwrap(), alone.simulate().unwrap());
                let (one, other) = (alone.requests, stacked.requests);
                assert!(one.abs_diff(other) * 10 <= one, "{elevator}: {other} and {one} alone\n{jobs}");
            }
        }
    }
}

#[test]
fn runs_are_the_same_again() {
    let jobs = "[w]\nrw=randrw\nbs=16k\nsize=1g\nfsync=16\n[r]\nrw=randread\ndirect=1\nioengine=io_uring\niodepth=64\n\
                [d]\nrw=randwrite\ndirect=1\nsync=1\nbs=64k\n";
    for word in [
        "md-raid10:4xnvme-ssd-ideal",
        "md-raid5:3xnvme-ssd-ideal,chunk=16k",
        "crypt:md-raid6:4xnvme-ssd-ideal,stripe_cache_size=32",
        "crypt:md-raid0:2xnvme-ssd-ideal,chunk=16k",
        "linear:md-raid1:2xnvme-ssd-ideal",
        "crypt:sata-ssd-ideal,no_read_workqueue,no_write_workqueue",
    ] {
        for around in [Surroundings::default(), with_cpus()] {
            for elevator in ["none", "bfq"] {
                let trial = Trial { limit: Span::from_ms(50), ..trial(word, elevator, jobs, around) };
                let (found, again) = (trial.simulate().unwrap(), trial.simulate().unwrap());
                assert_eq!((found.hash, found.requests), (again.hash, again.requests), "{word} {elevator}");
                assert!(ios(&found, Work::Read) > 20 && ios(&found, Work::Write) > 2, "{word} {elevator}");
            }
        }
    }
}

#[test]
fn few_slots_at_the_members_let_nobody_starve() {
    let jobs = "[a]\nrw=write\nbs=1m\ndirect=1\nioengine=libaio\niodepth=8\nnumjobs=4\nsize=16m\n\
                [b]\nrw=randwrite\nbs=256k\nsize=16m\nend_fsync=1\n\
                [u]\nrw=randread\nbs=256k\ndirect=1\nioengine=io_uring\niodepth=64\nsize=32m\n";
    for word in ["md-raid0:2xsata-ssd-ideal,chunk=16k", "md-raid1:2xsata-ssd-ideal", "crypt:sata-ssd-ideal"] {
        for around in [Surroundings::default(), with_cpus()] {
            let around = Surroundings { nr_requests: Some(4), ..around };
            let trial = Trial { limit: Span::from_secs(60), ..trial(word, "mq-deadline", jobs, around) };
            let found = trial.simulate().unwrap();
            assert!(found.finished, "{word}");
        }
    }
}

#[test]
fn a_flush_reaches_every_member() {
    let jobs = "[a]\nrw=randwrite\nbs=4k\ndirect=1\nfsync=1\nnumber_ios=20\nsize=1g\n";
    let found = run("md-raid0:2xsata-ssd-ideal", "none", jobs);
    assert!(found.finished);
    let syncs = ios(&found, Work::Sync);
    assert!(syncs >= 19 && found.requests >= 20 + 2 * syncs, "{} requests, {syncs} syncs", found.requests);
}

#[test]
fn encryption_costs_time_and_without_workqueues_less() {
    let jobs = "[r]\nrw=randread\nbs=4k\ndirect=1\ntime_based\nruntime=60\n";
    let of = |word: &str| {
        ios(
            &Trial { limit: Span::from_ms(200), ..trial(word, "none", jobs, with_cpus()) }.simulate().unwrap(),
            Work::Read,
        )
    };
    let (plain, crypt) = (of("linear:nvme-ssd-ideal"), of("crypt:nvme-ssd-ideal"));
    let (inline, slow) = (of("crypt:nvme-ssd-ideal,no_read_workqueue"), of("crypt:nvme-ssd-ideal,decrypt=100"));
    assert!(plain > inline && inline > crypt && crypt > slow, "{plain} {inline} {crypt} {slow}");
}

/// dm-crypt that costs nothing.
const FREE: &str = "max_read_size=none,max_write_size=none,encrypt=1000000,decrypt=1000000,hop=0us,no_read_workqueue,\
                    no_write_workqueue";

/// The first report of docs/stack.md, with the job of its source: 32.7 k reads a second, and 18.5 k once dm-crypt works
/// without workqueues. The drive and the file system above are not known.
#[test]
fn what_was_reported_of_dm_crypt() {
    let mixed = "[g]\nrw=randrw\nrwmixread=50\nbs=4k\ndirect=1\nioengine=libaio\niodepth=256\ntime_based\nruntime=60\n";
    let reads = |word: &str, cpus: u32| {
        let around = Surroundings { cpus: Some(HostCpus { cpus, costs: CpuPreset::usual().costs }), ..with_cpus() };
        let trial = Trial { limit: Span::from_ms(300), ..trial(word, "none", mixed, around) };
        ios(&trial.simulate().unwrap(), Work::Read)
    };
    for cpus in [1, 2, 4] {
        let bare = reads("linear:nvme-ssd-ideal", cpus);
        let free = reads(&format!("crypt:nvme-ssd-ideal,{FREE}"), cpus);
        let usual = reads("crypt:nvme-ssd-ideal", cpus);
        let inline = reads("crypt:nvme-ssd-ideal,no_read_workqueue,no_write_workqueue", cpus);
        let slow = reads("crypt:nvme-ssd-ideal,encrypt=100,decrypt=100", cpus);
        println!("{cpus}: {bare} bare, {free} free, {usual} usual, {inline} without queues, {slow} at 100 MiB/s");
        assert!(free.abs_diff(bare) * 50 <= bare, "what costs nothing changes nothing: {free} and {bare}");
        // One process's processor does all of it, where workers do some of it elsewhere.
        let (dropped, reported) = (inline as f64 / usual as f64, 18.5 / 32.7);
        assert!(cpus == 1 || (dropped / reported - 1.0).abs() < 0.2, "{inline} of {usual}");
        assert!(cpus > 1 || usual < inline && inline < bare, "on one processor switches come on top");
        // 100 MiB/s are 25,600 pages a second of each processor, a read and a write each.
        let most = 25_600 * 3 / 10 / 2 * u64::from(cpus);
        assert!(slow < most && slow * 10 > most * 8, "{slow} of at most {most}");
    }
}

/// Cloudflare's report of 2020: on a RAM disk (1.73 us an I/O, one at a time, half of them writes) dm-crypt adds 11.5
/// us, with 256-bit aes-xts at 1823 and 1900 MiB/s.
#[test]
fn one_io_at_a_time_dm_crypt_adds_its_parts_and_with_a_wake_about_what_cloudflare_measured() {
    let mixed = "[g]\nrw=randrw\nrwmixread=50\nbs=4k\ndirect=1\ntime_based\nruntime=60\n";
    let micros = |word: &str| {
        let trial = Trial { limit: Span::from_ms(100), ..trial(word, "none", mixed, with_cpus()) };
        let found = trial.simulate().unwrap();
        100_000.0 / (ios(&found, Work::Read) + ios(&found, Work::Write)) as f64
    };
    let (bare, usual) = (micros("linear:null"), micros("crypt:null,encrypt=1823,decrypt=1900"));
    let inline = micros("crypt:null,encrypt=1823,decrypt=1900,no_read_workqueue,no_write_workqueue");
    println!("{bare:.2} us bare, {usual:.2} with dm-crypt, {inline:.2} without workqueues");
    assert!((inline - bare - 2.1).abs() < 0.2, "only the encryption: {bare} {inline}");
    let added = usual - bare;
    assert!((added - 6.6).abs() < 0.4, "{added}");
    // A RAM disk answers in the call, so there only dm-crypt makes the process sleep and wake.
    let woken = added + CpuPreset::usual().costs.switch.as_ns() as f64 / 1e3;
    assert!((woken / 11.5 - 1.0).abs() < 0.2, "{woken}");
}

/// The work is a processor's: it is in the sum of their work, and takes from a process what there is no more of.
#[test]
fn encryption_and_parity_take_processors_from_processes() {
    let jobs = "[w]\nrw=randwrite\nbs=4k\ndirect=1\nioengine=libaio\niodepth=64\ntime_based\nruntime=60\n";
    let of = |word: &str, cpus: u32| {
        let around = Surroundings { cpus: Some(HostCpus { cpus, costs: CpuPreset::usual().costs }), ..with_cpus() };
        let trial = Trial { limit: Span::from_ms(100), ..trial(word, "mq-deadline", jobs, around) };
        let found = trial.simulate().unwrap();
        let busy = found.cpu.unwrap().busy.as_ns() as f64 / 1e3;
        let ios = ios(&found, Work::Write);
        (ios, busy / ios as f64)
    };
    for cpus in [1, 4] {
        let ((bare, least), (crypt, works)) = (of("linear:nvme-ssd-ideal", cpus), of("crypt:nvme-ssd-ideal", cpus));
        // 4 KiB at 1494 MiB/s.
        assert!(works > least + 2.61 && (cpus > 1 || crypt < bare), "{bare} {crypt}, {least} {works} us each");
        let (mirror, twice) = of("md-raid1:2xnvme-ssd-ideal", cpus);
        assert!(twice > least + 2.0 && (cpus > 1 || mirror < bare), "{bare} {mirror}, {least} {twice} us each");
        let (_, parity) = of("md-raid5:3xnvme-ssd-ideal", cpus);
        // Two writes at least, each an interrupt and a submission.
        assert!(parity > least + 2.0, "{least} {parity} us each");
    }
}

/// The second report of docs/stack.md: an application starts beside ten readers. Reads go down in their process's own
/// name (recorded), so that BFQ favours it behind dm-crypt, too, even where decryption is what limits everybody.
#[test]
fn behind_dm_crypt_bfq_still_sees_who_reads() {
    let jobs = "[application]\nstartdelay=500ms\nsize=400m\nio_size=4m\nrw=randread\npercentage_random=60\n\
                bssplit=4k/30:16k/40:64k/20:128k/10\nthinktime=2ms\nthinktime_blocks=8\n\
                [readers]\nnumjobs=10\ntime_based\nruntime=20\nsize=1g\noffset=1g\noffset_increment=2g\nrw=read\n\
                bs=128k\n";
    let starts = |word: &str, elevator: &str| {
        let around = Surroundings { cpus: Some(HostCpus { cpus: 2, costs: CpuPreset::usual().costs }), ..with_cpus() };
        let trial = Trial { limit: Span::from_ms(1_600), ..trial(word, elevator, jobs, around) };
        trial.simulate().unwrap().jobs[0].record.work(Work::Read).lat.mean() / 1e3
    };
    let (bare, alike) = (starts("linear:nvme-ssd-ideal", "bfq"), starts("linear:nvme-ssd-ideal", "none"));
    assert!(bare * 10.0 < alike, "{bare} {alike}");
    for (word, times) in [("crypt:nvme-ssd-ideal", 1.6), ("crypt:nvme-ssd-ideal,decrypt=400", 3.0)] {
        let (bfq, none) = (starts(word, "bfq"), starts(word, "none"));
        println!("{word}: bfq {bfq:.0} us a read ({bare:.0} bare), none {none:.0} ({alike:.0} bare)");
        assert!(bfq < bare * times && bfq * 10.0 < none, "{word}: {bfq}, {bare} bare; none {none}");
    }
}

#[test]
fn behind_dm_crypts_thread_bfq_sees_one_writer() {
    let one = |name: &str, class: u32| {
        format!("[{name}]\nrw=randwrite\nbs=4k\ndirect=1\nioengine=libaio\niodepth=16\nprioclass=2\nprio={class}\n")
    };
    let jobs = format!("{}{}", one("high", 0), one("low", 7));
    let share = |word: &str| {
        let found = run(word, "bfq", &jobs);
        let of = |job: usize| found.jobs[job].record.work(Work::Write).ios as f64;
        of(0) / of(1).max(1.0)
    };
    let (kept, lost) = (share("linear:hdd-7200-ideal"), share("linear:hdd-7200-ideal,priority=lost"));
    let crypt = share("crypt:hdd-7200-ideal");
    assert!(kept > 4.0 && lost < kept / 4.0, "{kept} {lost}");
    assert!(crypt < kept / 4.0, "one queue for both: {crypt}, and {kept} without dm-crypt");
}
