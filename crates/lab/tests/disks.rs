//! Several disks in a job file are several disks in the run.

use blksched::Catalogue;
use blksched_lab::scene::Stage;
use blksched_lab::{Comparison, NoFiles, Scene};

const TWO: &str = "[global]\ndirect=1\nbs=4k\n[reader]\nfilename=/dev/sda\nrw=randread\n\
                   [copy]\nfilename=/dev/sdb1\nrw=write\nbs=1m\n";

fn stage(jobs: &str, disk: &str) -> Result<Stage, String> {
    let scene = Scene::of_jobs("two.fio", jobs, disk);
    Stage::load(&scene, &NoFiles).map_err(|error| error.to_string())
}

fn described(jobs: &str, disk: &str) -> String {
    stage(jobs, disk).unwrap().on_what()
}

#[test]
fn two_names_are_two_disks_whatever_was_said_of_them() {
    assert_eq!(described(TWO, "auto"), "sda=hdd-7200, sdb=hdd-7200");
    assert_eq!(described(TWO, "sata-ssd"), "sda=sata-ssd, sdb=sata-ssd");
    assert_eq!(described(TWO, "sda=nvme-ssd"), "sda=nvme-ssd, sdb=hdd-7200");
    assert_eq!(described(TWO, "sdb=usb-stick,sda=hdd-7200"), "sdb=usb-stick, sda=hdd-7200");
    let list = "[a]\nfilename=/dev/nvme0n1:/dev/nvme1n1\nrw=read\n";
    assert_eq!(described(list, "auto"), "nvme0n1=nvme-ssd, nvme1n1=nvme-ssd");
    let partitions = "[a]\nfilename=/dev/sda1:/dev/sda2\nrw=read\n";
    assert_eq!(described(partitions, "auto"), "hdd-7200", "two partitions are one disk");
    assert_eq!(described(partitions, "sda1=sata-ssd"), "sata-ssd", "whichever of them is bound");
    let directory = "[a]\nsize=1m\nrw=write\n[b]\nsize=1m\nrw=write\ndirectory=/mnt/usb\n";
    assert_eq!(described(directory, "sda=hdd-7200,/mnt/usb=usb-stick"), "sda=hdd-7200, /mnt/usb=usb-stick");
}

#[test]
fn what_was_not_said_is_told() {
    let notes = stage(TWO, "sda=nvme-ssd").unwrap().notes().join("\n");
    for words in
        ["no --disk: /dev/sdb1 is no disk of this machine", "sdb keeps mq-deadline, its kernel's choice", "--vary sdb"]
    {
        assert!(notes.contains(words), "{words}: {notes}");
    }
}

#[test]
fn that_buffered_writers_to_two_disks_share_one_memory_is_told_and_only_then() {
    let both = TWO.replace("direct=1\n", "").replace("rw=randread", "rw=randwrite");
    let is_told =
        |jobs: &str| stage(jobs, "auto").unwrap().notes().iter().any(|note| note.contains("share one memory"));
    assert!(is_told(&both) && !is_told(TWO) && !is_told(&TWO.replace("direct=1\n", "")));
}

#[test]
fn a_name_bound_twice_or_used_by_no_job_is_an_error_with_its_place() {
    let error = |disk: &str| stage(TWO, disk).map(|stage| stage.on_what()).unwrap_err();
    let twice = error("sda=hdd-7200,sda=sata-ssd");
    assert!(twice.contains("column 14: `sda` has a disk already"), "{twice}");
    let partition = error("sda=hdd-7200,sda1=sata-ssd");
    assert!(partition.contains("column 14: `sda1` has a disk already"), "{partition}");
    let unused = error("sda=hdd-7200,sdbb=usb-stick");
    assert!(unused.contains("column 14: no job uses `sdbb`; did you mean `sdb`? (the jobs use sda, sdb)"), "{unused}");
    let nothing = error("sda=,sdb=hdd-7200");
    assert!(nothing.contains("column 1: `sda` has no disk"), "{nothing}");
    let unknown = error("sda=hdd-7201,sdb=hdd-7200");
    assert!(unknown.contains("hdd-7200"), "{unknown}");
}

#[test]
fn the_disk_whose_schedulers_are_compared_is_at_the_front_and_the_other_keeps_its_own() {
    let compared = |elevators: &[&str], vary: Option<&str>| {
        let scene =
            Scene { vary: vary.map(str::to_owned), ..Scene::of_jobs("two.fio", TWO, "sda=hdd-7200,sdb=ide-2002") };
        let elevators: Vec<String> = elevators.iter().map(|&name| name.to_owned()).collect();
        let mut comparison = Comparison { elevators, ..Comparison::of(scene, 1) };
        comparison.scene.time = Some(blksched::Span::from_secs(1));
        comparison.run(Stage::load(&comparison.scene, &NoFiles).unwrap(), &Catalogue::builtin(), &()).unwrap()
    };
    let sda = compared(&["sda=mq-deadline", "bfq", "sdb=none"], None);
    assert_eq!(sda.stage.disk.name, "hdd-7200");
    let names: Vec<String> = sda.measured.iter().map(|one| one.label()).collect();
    assert_eq!(names, ["mq-deadline", "bfq"]);
    assert_eq!(sda.used[0].1.beside.disks[0].elevator.entry.name, "none");
    let disks: Vec<_> = sda.measured[0].jobs.iter().map(|job| job.disk.clone().unwrap()).collect();
    assert_eq!(disks, ["sda", "sdb"]);
    let sdb = compared(&["none", "bfq"], Some("sdb"));
    assert_eq!(
        (sdb.stage.disk.name.as_str(), sdb.stage.on_what().as_str()),
        ("ide-2002", "sda=hdd-7200, sdb=ide-2002")
    );
    assert_eq!(sdb.measured[0].disk.as_deref(), Some("sdb"));
    let beside = &sdb.measured[0].beside[0];
    assert_eq!(beside.disk, "sda");
    assert!(beside.busy.mean() > 0.5, "{}", beside.busy.mean());
    // The same runs, seen from the other disk.
    let turned = compared(&["sda=mq-deadline", "sdb=none"], Some("sda"));
    let bandwidth =
        |compared: &blksched_lab::Compared, job: usize| compared.measured[0].jobs[job].work[0].1.bandwidth.mean();
    for job in [0, 1] {
        let (one, other) = (bandwidth(&turned, job), bandwidth(&sdb, job));
        assert!((one / other - 1.0).abs() < 0.02, "job {job}: {one} and {other}");
    }
}

#[test]
fn schedulers_that_are_said_for_no_disk_are_not_added_to_anothers() {
    let under = |words: &str| {
        let elevators: Vec<String> = words.split(',').map(str::to_owned).collect();
        let scene = Scene::of_jobs("two.fio", TWO, "sda=hdd-7200,sdb=ide-2002");
        stage(TWO, "sda=hdd-7200,sdb=ide-2002")
            .and_then(|stage| stage.under(&elevators, &scene, &Catalogue::builtin()).map_err(|error| error.to_string()))
            .map(|stage| stage.among.elevators.unwrap_or_default().join(" "))
    };
    assert_eq!(under("bfq,none,sdb=kyber").unwrap(), "bfq none");
    assert_eq!(under("sdb1=kyber,none").unwrap(), "kyber none", "a partition is its disk");
    let unsaid = under("bfq,none,sdb=kyber,mq-deadline").unwrap_err();
    assert!(unsaid.contains("sdb has schedulers of its own: expected sdb=bfq"), "{unsaid}");
}
