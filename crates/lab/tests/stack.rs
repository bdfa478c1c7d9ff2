//! Stacked devices by their words: what is above what, and whose schedulers are compared.

use blksched::{Catalogue, Span};
use blksched_lab::guess::{Bus, Fact, Facts, Turning};
use blksched_lab::scene::{StackFrom, Stage, Trace, Word};
use blksched_lab::{Comparison, Error, Files, NoFiles, Scene};
use blksched_simulate::recording::{Named, in_memory};
use blksched_workloads::host::fs::FsKind;

const JOBS: &str = "[global]\ndirect=1\nbs=4k\n[reader]\nfilename=/dev/md0\nrw=randread\n\
                    [writer]\nfilename=/dev/md0p1\nrw=randwrite\n";

fn stage_of(jobs: &str, disk: &str) -> Result<Stage, String> {
    let scene = Scene::of_jobs("md.fio", jobs, disk);
    Stage::load(&scene, &NoFiles).map_err(|error| error.to_string())
}

fn stage(disk: &str) -> Result<Stage, String> {
    stage_of(JOBS, disk)
}

fn seen(disk: &str) -> (String, Vec<String>) {
    let stage = stage(disk).unwrap();
    (stage.on_what(), stage.among.names().into_iter().map(str::to_owned).collect())
}

#[test]
fn members_have_disks_of_their_own_or_names() {
    let of = |disk: &str| seen(disk).1.join(" ");
    assert_eq!(of("md-raid0:2xnvme-ssd"), "md-raid0[0] md-raid0[1]");
    assert_eq!(of("md0=md-raid10:3xssd,chunk=64k"), "md0[0] md0[1] md0[2]");
    assert_eq!(of("md0=md-raid1:sda+sdb,sdb=hdd-7200,sda=ssd"), "sda sdb");
    assert_eq!(of("crypt:md-raid1:2xssd"), "crypt[0] crypt[1]");
    assert_eq!(of("md0=md-raid0:sda+2xssd,sda=crypt:nvme-ssd"), "sda[0] md0[0] md0[1]");
    assert_eq!(seen("md0=md-raid1:sda+sdb,sdb=hdd-7200,sda=ssd").0, "md0=md-raid1:sda+sdb");
    assert_eq!(seen("lvm:ssd").0, "lvm:ssd");
}

#[test]
fn a_device_beside_a_disk_has_its_own_place() {
    let jobs = format!("{JOBS}[other]\nfilename=/dev/sdc\nrw=randread\n");
    let stage = stage_of(&jobs, "md0=md-raid0:2xssd,sdc=hdd-7200").unwrap();
    assert_eq!(stage.among.names(), ["md0[0]", "md0[1]", "sdc"]);
    assert_eq!(stage.plan.disks, ["md0", "sdc"]);
    assert_eq!(stage.on_what(), "md0=md-raid0:2xssd, sdc=hdd-7200");
    let notes = stage.notes().join("\n");
    assert!(notes.contains("sdc keeps mq-deadline") && !notes.contains("md0[1] keeps"), "{notes}");
    assert!(notes.contains("schedulers are those of md0[0] and the 1 beside it"), "{notes}");
}

#[test]
fn mistakes_are_told_with_their_place() {
    let error = |disk: &str| stage(disk).map(|stage| stage.on_what()).unwrap_err();
    let twice = error("md0=md-raid1:sda+sda,sda=ssd");
    assert!(twice.contains("md-raid1:sda+sda:1:14: `sda` is a member already: expected each disk once"), "{twice}");
    let circle = error("md0=ssd,md1=md-raid0:md2+sdb,md2=linear:md1,sdb=ssd");
    assert!(circle.contains("is below itself"), "{circle}");
    let own = error("md0=linear:md0");
    assert!(own.contains("`md0` is below itself: expected disks at the bottom"), "{own}");
    let few = error("md0=md-raid1:1xssd");
    assert!(few.contains(":1:10: 1 member: expected 2 to 64"), "{few}");
    let unknown = error("md-raid0:2xnvme-sdd");
    assert!(unknown.contains("did you mean `nvme-ssd`?"), "{unknown}");
    let unbound = error("md0=md-raid1:sdb+sdc,sdc=ssd");
    assert!(unbound.contains("md-raid1:sdb+sdc:1:10: nothing says what `sdb` is: expected sdb=DISK"), "{unbound}");
    let misspelt = error("md-raid1:2xhdd7200");
    assert!(misspelt.contains("did you mean `hdd-7200`?"), "{misspelt}");
    let refused = error("dm-thin:ssd");
    assert!(refused.contains("dm-thin is not modelled"), "{refused}");
    let resync = error("md-raid5:3xssd,resync");
    assert!(resync.contains("md-raid5:3xssd,resync:1:16: resync is not modelled: it reads all members"), "{resync}");
    let unused = error("md0=md-raid0:sda+sdb,sda=ssd,sdb=ssd,sdc=ssd");
    assert!(unused.contains("no job uses `sdc`"), "{unused}");
    let jobs = format!("{JOBS}[raw]\nfilename=/dev/sda\nrw=read\n");
    let raw = stage_of(&jobs, "md0=md-raid0:sda+sdb,sda=ssd,sdb=ssd").map(|stage| stage.on_what()).unwrap_err();
    assert!(raw.contains("/dev/sda is a member of a stacked device"), "{raw}");
}

#[test]
fn files_on_what_looks_like_another_disk_are_told() {
    let jobs = |home: &str, stick: &str| {
        format!("[a]\ndirectory={home}\nsize=1m\nrw=write\n[b]\ndirectory={stick}\nsize=1m\nrw=write\n")
    };
    let notes = |jobs: &str, disk: &str| stage_of(jobs, disk).unwrap().notes().join("\n");
    let told = "files in /mnt/usb are on the same disk as the others: --disk sda=…,/mnt/usb=… gives them their own";
    let two = jobs("/home", "/mnt/usb");
    assert!(notes(&two, "ssd").contains(told), "{}", notes(&two, "ssd"));
    assert!(!notes(&two, "sda=ssd,/mnt/usb=usb-stick").contains("on the same disk as the others"));
    assert!(!notes(&jobs("/mnt/usb", "/mnt/usb/deep"), "ssd").contains("on the same disk as the others"));
    assert!(notes(&jobs("/mnt/usb", "/mnt/usb2"), "ssd").contains(told), "one name begins as the other");
}

#[test]
fn all_members_have_the_schedulers_that_are_compared_unless_one_is_named() {
    let schedulers = |elevators: &[&str]| {
        let scene = Scene::of_jobs("md.fio", JOBS, "md0=md-raid0:2xide-2002");
        let elevators: Vec<String> = elevators.iter().map(|&name| name.to_owned()).collect();
        let mut comparison = Comparison { elevators, ..Comparison::of(scene, 1) };
        comparison.scene.time = Some(Span::from_ms(200));
        let stage = Stage::load(&comparison.scene, &NoFiles).unwrap();
        let compared = comparison.run(stage, &Catalogue::builtin(), &()).unwrap();
        let of = |(_, trial): &(String, blksched_simulate::Trial)| {
            format!("{}+{}", trial.elevator.entry.name, trial.beside.disks[0].elevator.entry.name)
        };
        compared.used.iter().map(of).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(schedulers(&["none", "bfq"]), "none+none bfq+bfq");
    assert_eq!(schedulers(&["md0=none", "bfq"]), "none+none bfq+bfq");
    assert_eq!(schedulers(&["none", "bfq", "md0[1]=kyber"]), "none+kyber bfq+kyber");
}

#[test]
fn a_search_leaves_a_member_alone_that_was_given_its_own() {
    let scene = Scene::of_jobs("md.fio", JOBS, "md0=md-raid0:3xide-2002");
    let elevators = ["md0=deadline", "md0[1]=deadline"].map(str::to_owned);
    let catalogue = Catalogue::builtin();
    let stage = Stage::load(&scene, &NoFiles).unwrap().under(&elevators, &scene, &catalogue).unwrap();
    let contender = stage.one_contender(None, &scene, &catalogue).unwrap();
    let before = stage.trial(&scene, &contender, Span::from_ms(200));
    let turned = blksched_simulate::Trial { knobs: vec![("fifo_batch".to_owned(), 1)], ..before.clone() };
    let turned = turned.for_all_members(&before);
    let knobs: Vec<_> = turned.beside.disks.iter().map(|disk| (disk.name.as_str(), disk.knobs.len())).collect();
    assert_eq!(knobs, [("md0[1]", 0), ("md0[2]", 1)]);
}

#[test]
fn where_all_files_are_on_another_disk_nothing_is_said_of_a_file_system_on_the_first() {
    let jobs = "[files]\ndirectory=/mnt/x\nsize=16m\nrw=write\nfsync=1\n[raw]\nfilename=/dev/sda\nrw=read\ndirect=1\n";
    let scene = Scene::of_jobs("raw.fio", jobs, "sda=ide-2002,/mnt/x=ide-2002");
    let notes = Stage::load(&scene, &NoFiles).unwrap().notes().join("\n");
    assert!(notes.contains("no file is there: they are regions of their disks"), "{notes}");
    assert!(!notes.contains("on a fresh ext4") && !notes.contains("lies over their"), "{notes}");
}

#[test]
fn raw_io_over_the_files_of_a_stacked_device_is_told() {
    let jobs = "[files]\ndirectory=/mnt/x\nsize=16m\nrw=randread\n[raw]\nfilename=/dev/md0\nrw=read\n";
    for disk in ["md0=md-raid0:2xide-2002", "md0=md-raid1:sda+sdb,sda=ide-2002,sdb=ide-2002"] {
        let scene = Scene { fs: Some(FsKind::Ext4.into()), ..Scene::of_jobs("raw.fio", jobs, disk) };
        let notes = Stage::load(&scene, &NoFiles).unwrap().notes().join("\n");
        assert!(notes.contains("/dev/md0 is taken as the disk below the files"), "{disk}: {notes}");
    }
}

/// The file system is as long as its own disk, whichever disk's schedulers are compared.
#[test]
fn whose_schedulers_are_compared_does_not_change_the_file_system() {
    let jobs = "[files]\ndirectory=/mnt/x\nsize=16m\nrw=randwrite\nbs=4k\nfsync=1\n[raw]\nfilename=/dev/sdb\n\
                rw=randread\ndirect=1\nsize=64m\n";
    let run = |vary: &str| {
        let scene = Scene {
            fs: Some(FsKind::Ext4.into()),
            vary: Some(vary.to_owned()),
            time: Some(Span::from_secs(1)),
            ..Scene::of_jobs("two.fio", jobs, "sda=ide-2002,sdb=nvme-ssd")
        };
        let catalogue = Catalogue::builtin();
        let elevators = ["sda=none", "sdb=none"].map(str::to_owned);
        let stage = Stage::load(&scene, &NoFiles).unwrap().under(&elevators, &scene, &catalogue).unwrap();
        let contender = stage.one_contender(None, &scene, &catalogue).unwrap();
        let found = stage.trial(&scene, &contender, Span::from_secs(1)).simulate().unwrap();
        let of = |job: usize| found.jobs[job].record.work(blksched_measure::Work::Sync).ios;
        (of(0), found.requests)
    };
    assert_eq!(run("sda").0, run("sdb").0);
}

#[test]
fn what_may_be_dirty_is_said_for_what_jobs_see() {
    let jobs = format!("{JOBS}[other]\nfilename=/dev/sdc\nrw=write\n");
    let limits = |disk: &str, host: &str, jobs: &str| {
        let host = blksched_lab::scene::HostSettings::parse(host, &|_| None).unwrap();
        let scene = Scene { host, ..Scene::of_jobs("md.fio", jobs, disk) };
        let stage = Stage::load(&scene, &NoFiles).map_err(|error| error.to_string())?;
        let catalogue = Catalogue::builtin();
        let contender = stage.one_contender(None, &scene, &catalogue).unwrap();
        let trial = stage.trial(&scene, &contender, Span::from_secs(1));
        let of = |limits: blksched_workloads::host::DeviceLimits| (limits.most, limits.is_strict);
        let all: Vec<_> = trial.beside.memory_devices().iter().map(|device| device.limits.map(of)).collect();
        Ok::<_, String>((all, trial.surroundings.host.max_bytes))
    };
    let two = "md0=md-raid1:sda+sdb,sda=ssd,sdb=ssd,sdc=usb-stick";
    let of = |host: &str| limits(two, host, &jobs);
    assert_eq!(of("sdc:max_bytes=8m,sdc:strict_limit=1").unwrap().0, [None, Some((Some(2048), true))]);
    assert_eq!(of("strict_limit=1,md0:max_bytes=8m").unwrap().0, [Some((Some(2048), true)), None]);
    let below = of("sda:max_bytes=8m").unwrap_err();
    assert!(below.contains("sda is below another device, whose memory it is: expected md0, sdc"), "{below}");
    let near = of("sdd:max_bytes=8m").unwrap_err();
    assert!(near.contains("no disk is called `sdd`: expected one of md0, sdc; did you mean `sdc`?"), "{near}");
    let one = "[a]\nfilename=/dev/sdb\nrw=write\n";
    assert_eq!(limits("sdb=usb-stick", "sdb:max_bytes=8m", one).unwrap().1, 8 << 20, "the only disk is the host's");
    let unnamed = limits("usb-stick", "sdc:max_bytes=8m", "[a]\nrw=write\nsize=1m\n").unwrap_err();
    assert!(unnamed.contains("this run has one disk, without a name"), "{unnamed}");
}

/// A machine on which md0 is RAID 1 of two SSDs.
struct Machine;

impl Files for Machine {
    fn stack(&self, name: &str) -> Option<Result<Vec<(String, String)>, String>> {
        let md0 = || vec![("md0".to_owned(), "md-raid1:sda+sdb".to_owned())];
        match name.strip_prefix("/dev/").unwrap_or(name) {
            "md0" | "disk/by-id/array" => Some(Ok(md0())),
            "dm-7" => Some(Err("sysfs does not say what it is".to_owned())),
            _ => None,
        }
    }

    fn device(&self, name: &str) -> Option<Facts> {
        let fact = |value| Some(Fact { value, from: "x".to_owned() });
        let turning = Some(Fact { value: Turning::No, from: "x".to_owned() });
        ["sda", "sdb"].contains(&name).then(|| Facts {
            bus: fact(Bus::Sata { gbits: None }),
            turning,
            ..Facts::default()
        })
    }

    fn text(&self, name: &str) -> Result<String, String> {
        match name {
            "array.toml" => Ok("[stack.md0]\nkind = \"md-raid0\"\nmembers = [\"ssd\", \"ssd\"]\n".to_owned()),
            "wrong.toml" => Ok("[stack]\nkind = \"md-riad0\"\nmembers = [\"ssd\", \"ssd\"]\n".to_owned()),
            _ => Err("there is no such file".to_owned()),
        }
    }

    fn open(&self, name: &str) -> Result<Vec<Named>, String> {
        if name == "nested.trace" {
            return Ok(vec![in_memory(name, nested().into_bytes())]);
        }
        let path = "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sdb";
        let mut text = format!(
            "# blksched record 1\n# kernel 6.18.1\n# device 9,0 name=md0 stack=md-raid1:sdb+nvme0n1\n\
             # member 8,16 name=sdb rotational=1 path={path}\n# member 259,0 name=nvme0n1 rotational=0\n# tracer: nop\n"
        );
        for nth in 0..200_u64 {
            let place = nth * 7919 % 100_000 * 8;
            text += &format!(" a-7 [001] d.... 12.{nth:03}007: block_bio_queue: 9,0 R {place} + 8 [a]\n");
            text += &format!(" a-7 [001] d.... 12.{nth:03}907: block_rq_complete: 9,0 R () {place} + 8 [0]\n");
        }
        Ok(vec![in_memory("md0.trace", text.into_bytes())])
    }

    fn word(&self, name: &str, typed: bool) -> Result<Word, Error> {
        match name {
            "md0.trace" | "nested.trace" => Ok(Word::Trace(Trace::of(name, ""))),
            _ => NoFiles.word(name, typed),
        }
    }
}

/// An array and its members, recorded: 100 writes of the array, and 50 reads of another partition of sdb.
fn nested() -> String {
    let mut text = "# blksched record 1\n# kernel 6.18.1\n# mappings recorded\n\
                    # device 9,0 name=md0 stack=md-raid1:sda+sdb\n# device 8,0 name=sda rotational=0\n\
                    # device 8,16 name=sdb rotational=0\n# tracer: nop\n"
        .to_owned();
    for nth in 0..100_u64 {
        let (place, at) = (nth * 7919 % 100_000 * 8, nth * 10);
        text += &format!(" a-7 [001] d.... 12.{at:03}000: block_bio_queue: 9,0 WS {place} + 8 [a]\n");
        for (member, us) in [(0, 100), (16, 200)] {
            let end = us + 1;
            text += &format!(
                " a-7 [001] d.... 12.{at:03}{us}: block_bio_remap: 8,{member} WS {place} + 8 <- (9,0) {place}\n \
                 a-7 [001] d.... 12.{at:03}{end}: block_bio_queue: 8,{member} WS {place} + 8 [a]\n"
            );
        }
        text += &format!(" a-7 [001] d.... 12.{at:03}900: block_bio_complete: 9,0 WS {place} + 8 [0]\n");
        if nth % 2 == 0 {
            let (own, begin, end) = (9_000_000_000 + place, at + 1, at + 2);
            text += &format!(" b-8 [001] d.... 12.{begin:03}000: block_bio_queue: 8,16 R {own} + 8 [b]\n");
            text += &format!(" b-8 [001] d.... 12.{end:03}000: block_rq_complete: 8,16 R () {own} + 8 [0]\n");
        }
    }
    text
}

#[test]
fn what_was_recorded_below_and_is_no_part_is_replayed_on_its_member() {
    let of = |disk: &str| {
        let scene = Scene { time: Some(Span::from_secs(5)), ..Scene::of("nested.trace", disk, 1) };
        let stage = Stage::load(&scene, &Machine).map_err(|error| error.to_string())?;
        let notes = stage.notes().join("\n");
        let contender = stage.one_contender(None, &scene, &Catalogue::builtin()).unwrap();
        let found = stage.trial(&scene, &contender, Span::from_secs(5)).simulate().unwrap();
        assert!(found.finished, "{disk}");
        Ok::<_, String>((notes, found.requests))
    };
    let (notes, requests) = of("auto").unwrap();
    assert_eq!(requests, 250, "each write twice, and each read of sdb's other partition");
    let told = "200 I/Os are parts of others and not counted again: of 9,0: 8,0 (100), 8,16 (100)";
    assert!(notes.contains(told) && notes.contains("50 below are none: 8,16 (50)"), "{notes}");
    assert!(notes.contains("50 I/Os recorded below it, which are no parts of its own, go to the members"), "{notes}");
    assert!(!notes.contains("left out"), "{notes}");
    // On a disk there is no such member.
    let (notes, requests) = of("sata-ssd-ideal").unwrap();
    assert!(notes.contains("50 I/Os recorded below it, which are no parts of its own, are left out"), "{notes}");
    assert_eq!(requests, 100);
    let (_, requests) = of("md0=md-raid1:sda+sdb,sda=sata-ssd-ideal,sdb=sata-ssd-ideal").unwrap();
    assert_eq!(requests, 250, "each write twice, and each read of sdb's other partition");
}

#[test]
fn devices_of_this_machine_are_stacked_as_they_are_here() {
    let of = |jobs: &str, disk: &str| {
        let scene = Scene { stack: StackFrom::Machine, ..Scene::of_jobs("md.fio", jobs, disk) };
        let stage = Stage::load(&scene, &Machine).map_err(|error| error.to_string())?;
        Ok::<_, String>((stage.on_what(), stage.among.names().join(" "), stage.notes().join("\n")))
    };
    let (on, names, notes) = of(JOBS, "auto").unwrap();
    assert_eq!((on.as_str(), names.as_str()), ("md0=md-raid1:sda+sdb", "sda sdb"));
    assert!(notes.contains("as stacked on this machine: --disk md0=md-raid1:sda+sdb,sda=sda,sdb=sdb"), "{notes}");
    let files = "[a]\nrw=read\nsize=1m\ndirectory=/mnt\n";
    assert_eq!(of(files, "md0").unwrap().1, "sda sdb");
    let by_link = JOBS.replace("/dev/md0p1", "/dev/md0").replace("/dev/md0", "/dev/disk/by-id/array");
    assert_eq!(of(&by_link, "auto").unwrap().0, "disk/by-id/array=md-raid1:sda+sdb");
    let beside = format!("{JOBS}[other]\nfilename=/dev/sdc\nrw=randread\n");
    for disk in ["md0,sdc=hdd-7200", "sdc=hdd-7200"] {
        let (on, names, _) = of(&beside, disk).unwrap();
        assert_eq!((on.as_str(), names.as_str()), ("md0=md-raid1:sda+sdb, sdc=hdd-7200", "sda sdb sdc"), "{disk}");
    }
    let (_, _, notes) = of(JOBS, "md0,sda=raid5:3xhdd-7200,failed=1").unwrap();
    assert!(notes.contains("--disk md0=md-raid1:sda+sdb,sdb=sdb,sda=raid5:3xhdd-7200,failed=1"), "{notes}");
    let missing = of(JOBS, "md0,md9").unwrap_err();
    assert!(missing.contains("nothing is stacked on this machine: md9: expected jobs"), "{missing}");
    let bound = of(JOBS, "md0=ssd").unwrap_err();
    assert!(
        bound.contains("nothing is stacked on this machine: the load names no device that --disk does not"),
        "{bound}"
    );
    let nothing = of(files, "auto").unwrap_err();
    assert!(
        nothing.contains("--stack auto: nothing is stacked on this machine: the load names no device"),
        "{nothing}"
    );
    let unknown = of(&JOBS.replace("md0p1", "md0").replace("md0", "dm-7"), "auto").unwrap_err();
    assert!(unknown.contains("--stack auto: /dev/dm-7: sysfs does not say what it is"), "{unknown}");
}

#[test]
fn a_recording_of_a_stacked_device_is_replayed_on_one_like_it() {
    let load = |disk: &str| {
        let scene = Scene { time: Some(Span::from_ms(100)), ..Scene::of("md0.trace", disk, 1) };
        (Stage::load(&scene, &Machine).unwrap(), scene)
    };
    let (stage, scene) = load("auto");
    let shown = "md0=md-raid1:sdb+nvme0n1";
    assert_eq!((stage.on_what().as_str(), stage.among.names().join(" ")), (shown, "sdb nvme0n1".to_owned()));
    let notes = stage.notes().join("\n");
    assert!(notes.contains("--disk md0=md-raid1:sdb+nvme0n1,sdb=hdd-7200,nvme0n1=nvme-ssd"), "{notes}");
    let contender = stage.one_contender(None, &scene, &Catalogue::builtin()).unwrap();
    let found = stage.trial(&scene, &contender, Span::from_secs(2)).simulate().unwrap();
    assert!(found.requests >= 200 && found.beside[0].requests > 0, "{} {}", found.requests, found.beside[0].requests);
    assert_eq!(load("hdd-7200").0.on_what(), "hdd-7200", "the user's word counts");
}

#[test]
fn a_file_describes_what_is_stacked() {
    let of = |disk: &str| {
        let scene = Scene::of_jobs("md.fio", JOBS, disk);
        Stage::load(&scene, &Machine).map(|stage| stage.on_what()).map_err(|error| error.to_string())
    };
    assert_eq!(of("array.toml").unwrap(), "md0=md-raid0:ssd+ssd");
    let wrong = of("wrong.toml").unwrap_err();
    assert!(wrong.contains("wrong.toml:2:8: no stacked device is called `md-riad0`"), "{wrong}");
}
