//! The question and its answer as a program asks: texts in, values out, no file opened.

use std::sync::atomic::{AtomicUsize, Ordering};

use blksched::Catalogue;
use blksched_lab::runs::measured::{CompanyMeasure, WorkMeasure};
use blksched_lab::scene::{Stage, some_time};
use blksched_lab::verdict::action::Kept;
use blksched_lab::verdict::brief::{About, Advice, Brief};
use blksched_lab::verdict::role::Role;
use blksched_lab::{Comparison, Error, NoFiles, Scene, Watch};
use blksched_measure::{Sample, Work};
use blksched_workloads::host::fs::FsKind;

/// A reader that waits for each block, beside a writer that keeps many in flight.
const JOBS: &str = "\
[reader]
rw=randread
bs=4k
size=256m
direct=1
[backup]
rw=write
bs=64k
size=256m
ioengine=libaio
iodepth=32
direct=1
";

fn asked(text: &str, seeds: u32) -> Comparison {
    let fs = Some(FsKind::None.into());
    let scene = Scene { time: some_time("3s").ok(), fs, ..Scene::of_jobs("my.fio", text, "ide-2002") };
    let elevators = ["bfq", "none"].map(str::to_owned).to_vec();
    Comparison { elevators, ..Comparison::of(scene, seeds) }
}

#[test]
fn what_settles_is_left_out_beside_the_time_that_was_asked_for_and_a_clock_tells_when_it_came_to_rest() {
    let qos = "enable=1 ctrl=user rpct=95.00 rlat=1 min=20.00 max=100.00";
    let files = format!("cgroup=a\n; blksched: cgroup_files=io.weight: 100, io.cost.qos: {qos}\n");
    let text = "[a]\nrw=randread\nbs=4k\nsize=1g\ndirect=1\nioengine=libaio\niodepth=32\ntime_based\nruntime=1h\n";
    let text = text.to_owned() + &files;
    let answer = |text: &str, settle| {
        let elevators = vec!["none+io.cost".to_owned()];
        Comparison { elevators, settle, ..asked(text, 1) }.answer()
    };
    let question = |settle| {
        let compared = answer(&text, settle).unwrap();
        let clock = compared.verdict.remarks.iter().find(|remark| remark.contains("(vrate)")).cloned();
        let reads = compared.measured[0].jobs[0].work(Work::Read).expect("it reads").iops.mean();
        (compared.lasting.length, clock.expect("its clock slows down"), reads)
    };
    let (usual, moving, on_the_way) = question(None);
    let (length, at_rest, at_the_end) = question(some_time("8s").ok());
    let counts = usual.limit - usual.warm_up;
    assert_eq!((length.warm_up, length.limit), (some_time("8s").unwrap(), length.warm_up + counts));
    assert!(moving.contains("when counting began") && at_rest.contains("was at rest"), "{moving}; {at_rest}");
    assert!(on_the_way > 1.1 * at_the_end, "{on_the_way} and {at_the_end} a second");
    // So with a job that ends by itself.
    let by_itself = text.replace("time_based\nruntime=1h\n", "");
    let compared = answer(&by_itself, some_time("8s").ok()).unwrap();
    let reads = compared.measured[0].jobs[0].work(Work::Read).expect("it reads").iops.mean();
    assert!((reads / at_the_end - 1.0).abs() < 0.1, "{reads} and {at_the_end} a second");
    assert!(compared.verdict.remarks.iter().any(|remark| remark.contains("was at rest")));
    let compared = answer(&by_itself, None).unwrap();
    assert!(compared.verdict.remarks.iter().any(|remark| remark.contains("when counting began")));
    let short = by_itself.replace("size=1g", "size=1m");
    let error = answer(&short, some_time("8s").ok()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("--settle 8s leaves nothing of a, which ended earlier"), "{error}");
}

#[test]
fn a_job_as_text_and_a_disks_name_come_back_as_what_to_use_and_for_which_price() {
    let compared = asked(JOBS, 5).answer().unwrap();
    let verdict = &compared.verdict;
    let better = verdict.proposal.as_ref().expect("bfq keeps the reader waiting");
    assert_eq!((better.scheduler, better.to_string().as_str(), verdict.kept), ("none", "none", None));
    assert!(better.times_better.ratio > 1.5 && better.p <= 0.05, "{better:?}");
    assert!((better.times_better.low..=better.times_better.high).contains(&better.times_better.ratio));
    assert!(better.gains.iter().any(|gain| gain.job == "reader" && gain.times_better() > 1.5));
    let roles: Vec<(&str, Role)> = verdict.roles.iter().map(|role| (role.job.as_str(), role.role)).collect();
    assert_eq!(roles, [("reader", Role::Latency), ("backup", Role::Background)]);
    assert_eq!(verdict.contrasts.len(), 1);
    let cause = verdict.causes.iter().find(|cause| cause.scheduler == "none").expect("why");
    assert!(cause.here < cause.base, "{cause:?}");
    assert!(verdict.to_string().contains(&format!("Why: {cause}.")), "{verdict}");
    assert!(verdict.to_string().contains("Use none: "), "{verdict}");
    assert!(!verdict.validation.predictions.is_empty() && !verdict.validation.sentences().is_empty());
    let hangs_on = verdict.hangs_on.as_ref().expect("the disk has fitted values");
    assert!(verdict.sentences.contains(&hangs_on.sentence()));
    assert_eq!((verdict.brief.advice, verdict.brief.lines.len() <= Brief::MOST), (Advice::Use, true));
    let about: Vec<About> = verdict.brief.lines.iter().map(|(about, _)| *about).collect();
    assert_eq!(about, [About::Advice, About::Why, About::Price, About::Sure, About::Checked], "{}", verdict.brief);
    assert!(
        verdict.advice().starts_with("Use none: reader: ") && verdict.brief.to_string().contains("never on a real")
    );
}

#[test]
fn why_the_default_stays_is_a_value() {
    assert_eq!(asked(JOBS, 1).answer().unwrap().verdict.kept, Some(Kept::OneSeed));
    let same = Comparison { elevators: vec!["bfq".to_owned(), "bfq".to_owned()], ..asked(JOBS, 2) };
    let verdict = same.answer().unwrap().verdict;
    assert_eq!((verdict.kept, verdict.proposal.is_none()), (Some(Kept::TooLittle), true));
    // Among sixteen buffered readers one waits for more than a second.
    let many = JOBS.replacen("bs=4k\n", "bs=16k\nnumjobs=16\n", 1).replacen("direct=1\n", "", 1);
    let starving = asked(&many, 3).answer().unwrap().verdict;
    assert_eq!((starving.kept, starving.proposal.is_none()), (Some(Kept::BetterIsForbidden), true));
    assert!(starving.candidates[0].forbidden[0].starts_with("reader makes no progress for"), "{starving}");
    let alone = Comparison { elevators: vec!["bfq".to_owned()], ..asked(JOBS, 2) };
    assert_eq!(alone.answer().unwrap().verdict.kept, Some(Kept::NoOther));
}

/// Two readers, the second of which begins after 5 s.
const LATE: &str = "\
[global]
rw=randread
bs=4k
size=256m
direct=1
time_based
runtime=1h
[reader]
[late]
startdelay=5
";

fn with_a_late_job(time: Option<&str>) -> Comparison {
    let time = time.map(|time| some_time(time).expect("a time"));
    let scene = Scene { time, ..Scene::of_jobs("late.fio", LATE, "sata-ssd-ideal") };
    let elevators = ["none", "mq-deadline"].map(str::to_owned).to_vec();
    Comparison { elevators, ..Comparison::of(scene, 2) }
}

#[test]
fn a_job_that_never_ran_means_that_there_is_no_verdict() {
    let verdict = with_a_late_job(Some("3s")).answer().unwrap().verdict;
    let said = "No verdict: late never ran in 3s; --effort 10 or --time makes the runs longer.";
    assert_eq!(verdict.unranked.as_deref(), Some(said), "{verdict}");
    assert!(verdict.sentences.iter().any(|sentence| sentence == said), "{verdict}");
    assert!(verdict.proposal.is_none() && verdict.kept.is_none(), "{verdict}");
    assert_eq!((verdict.brief.advice, verdict.advice()), (Advice::NoVerdict, said));
    assert!(!verdict.notes.iter().any(|note| note.contains("did nothing")), "it is told once: {:?}", verdict.notes);
}

#[test]
fn a_job_that_waits_for_the_disk_all_the_time_has_run() {
    // 256 in flight on a disk without a queue: none is complete after 2 s.
    let scene = Scene { time: some_time("2s").ok(), ..Scene::of("reader-and-writer", "ide-2002", 1) };
    let elevators = vec!["none".to_owned(), "none".to_owned()];
    let compared = Comparison { elevators, ..Comparison::of(scene, 2) }.answer().unwrap();
    let writer = &compared.measured[0].jobs[1];
    assert!(writer.work.is_empty() && writer.asked.mean() > 0.5, "{writer:?}");
    assert_eq!((compared.verdict.unranked, compared.verdict.kept), (None, Some(Kept::TooLittle)));
}

#[test]
fn runs_whose_length_nobody_said_contain_a_job_that_begins_late() {
    let compared = with_a_late_job(None).answer().unwrap();
    assert!(compared.lasting.length.limit > some_time("5s").unwrap(), "{:?}", compared.lasting);
    let late = compared.measured[0].jobs.iter().find(|job| job.name == "late").expect("it is reported");
    assert!(!late.work.is_empty() && compared.verdict.unranked.is_none(), "{}", compared.verdict);
}

#[test]
fn sections_that_group_reporting_joins_are_judged_apart() {
    let jobs = "[global]\nrw=randread\nbs=4k\nsize=64m\ndirect=1\ngroup_reporting\ntime_based\nruntime=1\n\
                [db]\nnumjobs=2\n[scan]\nrw=read\nbs=1m\n";
    let compared = asked(jobs, 2).answer().unwrap();
    let jobs: Vec<String> = compared.measured[0].jobs.iter().map(|job| job.label()).collect();
    assert_eq!(jobs, ["db ×2", "scan"]);
    let note = "group_reporting joins db, scan: they are judged apart here";
    assert!(compared.verdict.notes.iter().any(|said| said == note), "{:?}", compared.verdict.notes);
}

#[test]
fn the_length_is_found_within_its_bound_and_said() {
    let jobs = "[a]\nrw=randread\nbs=4k\nsize=64m\ndirect=1\nioengine=libaio\niodepth=8\ntime_based\nruntime=1h\n";
    let scene = || Scene { time: None, ..Scene::of_jobs("my.fio", jobs, "sata-ssd-ideal") };
    let elevators = || ["none", "mq-deadline"].map(str::to_owned).to_vec();
    let ask = |effort: f64| Comparison { effort, elevators: elevators(), ..Comparison::of(scene(), 2) };
    let lasting = |effort: f64| ask(effort).answer().unwrap().lasting;
    let (little, usual) = (lasting(0.02), lasting(0.2));
    assert!(little.length.limit < usual.length.limit, "{little:?} {usual:?}");
    assert!(little.work < usual.work && little.most_work < usual.most_work, "{little:?} {usual:?}");
    assert!(usual.work <= usual.most_work && !usual.is_given, "{usual:?}");
}

#[test]
fn mistakes_are_data_with_their_place_or_the_nearest_word() {
    let error = |comparison: &Comparison| comparison.answer().err().expect("a mistake");
    let Error::Jobs(errors) = error(&asked("[a]\nrw=raedrand\n", 2)) else { panic!("it is the job's") };
    let place = Error::Jobs(errors.clone()).place().expect("it has one");
    assert_eq!((place.file.as_str(), place.line, place.column), ("my.fio", 2, 4));
    assert!(errors.render(blksched_workloads::fio::Style::Plain).contains("my.fio:2:4"));
    let mut elsewhere = asked(JOBS, 2);
    elsewhere.scene.disk = "hdd-720".to_owned();
    assert_eq!((error(&elsewhere).nearest(), error(&elsewhere).place()), (Some("hdd-7200"), None));
    let with = |change: &dyn Fn(&mut Comparison)| {
        let mut comparison = asked(JOBS, 2);
        change(&mut comparison);
        error(&comparison).to_string()
    };
    for (text, words) in [
        (with(&|asked| asked.scene.disk = "hdd-720".to_owned()), "hdd-7200-ideal"),
        (with(&|asked| asked.elevators = vec!["bqf".to_owned()]), "did you mean `bfq`"),
        (with(&|asked| asked.goal = Some("raeder: p99 read".to_owned())), "did you mean `reader`"),
        (with(&|asked| asked.scene.set = vec!["bfq.slice_idel=0".to_owned()]), "did you mean `slice_idle`"),
        (with(&|asked| asked.scene.jobs = vec!["/etc/passwd".to_owned()]), "neither a file nor a workload"),
        (with(&|asked| asked.scene.disk = "/etc/passwd".to_owned()), "/etc/passwd"),
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn where_jobs_come_and_go_each_phase_has_its_verdict() {
    let text = JOBS
        .replace("[backup]", "[writer]\nruntime=6\ntime_based\nstartdelay=0")
        .replace("bs=4k", "bs=4k\ntime_based\nruntime=30");
    let of = |text: &str| {
        let scene = Scene { time: some_time("14s").ok(), ..Scene::of_jobs("my.fio", text, "ide-2002") };
        let elevators = ["none", "mq-deadline:fifo_batch=1", "bfq"].map(str::to_owned).to_vec();
        Comparison { elevators, ..Comparison::of(scene, 5) }.answer().unwrap()
    };
    let answer = of(&text);
    let verdict = &answer.verdict;
    let jobs: Vec<Vec<&str>> =
        verdict.phases.iter().map(|phase| phase.jobs.iter().map(String::as_str).collect()).collect();
    assert_eq!(jobs, [vec!["reader", "writer"], vec!["reader"]], "{}", verdict.brief);
    let [both, alone] = [&verdict.phases[0], &verdict.phases[1]];
    assert!(both.differs.is_some() && both.is_all, "{both:?}");
    assert!(alone.differs.is_none() && !alone.is_all, "a reader alone has nothing to wait for: {alone:?}");
    assert!((0.3..0.6).contains(&both.part) && both.part + alone.part > 0.85, "{both:?} {alone:?}");
    let line = verdict.brief.lines.iter().find(|(about, _)| *about == About::Phases).expect("it is said");
    assert!(line.1.contains("while only reader runs, no proven difference"), "{}", line.1);
    let steady = of(&text.replace("runtime=6\ntime_based", ""));
    assert!(steady.verdict.phases.is_empty(), "nobody comes or goes: {}", steady.verdict.brief);
    // What is done in the phases is what is done in the run, and the slowest read of all is in one of them.
    for measured in &answer.measured {
        let reads = |company: &CompanyMeasure| company.done[0][Work::Read as usize].clone();
        let phases: Vec<WorkMeasure> = measured.companies.iter().map(reads).collect();
        let whole = measured.jobs[0].work(Work::Read).unwrap();
        for seed in 0..5 {
            let of = |sample: &Sample| sample.values()[seed];
            assert_eq!(phases.iter().map(|one| of(&one.ios)).sum::<f64>(), of(&whole.ios), "{}", measured.name);
            let slowest = phases.iter().map(|one| of(&one.clat[4])).fold(0.0, f64::max);
            assert!((slowest / of(&whole.clat[4]) - 1.0).abs() < 2e-3, "{}: {slowest}", measured.name);
        }
    }
}

#[test]
fn of_writers_that_have_not_filled_the_memory_yet_it_is_said() {
    let text = "[w]\nrw=randwrite\nbs=4k\nsize=1g\nnumjobs=2\ntime_based\nruntime=60\n";
    let of = |text: &str, more: &str| {
        let scene = Scene::of_jobs("my.fio", &format!("{text}{more}"), "nvme-ssd-ideal");
        let elevators = ["none", "mq-deadline"].map(str::to_owned).to_vec();
        Comparison { elevators, effort: 0.1, ..Comparison::of(scene, 2) }
    };
    let alone = of(text, "").answer().unwrap().verdict;
    assert_eq!(alone.brief.advice, Advice::Keep, "{}", alone.brief);
    assert!(alone.brief.to_string().contains("w ×2 fills only part of the memory"), "{}", alone.brief);
    // Writes that return when they are stable do wait for it.
    let stable = of(&text.replace("rw=randwrite", "rw=randwrite\nsync=1"), "").answer().unwrap().verdict;
    assert!(!stable.brief.to_string().contains("no write waits"), "{}", stable.brief);
    assert_ne!(stable.brief.advice, Advice::NoVerdict, "{}", stable.brief);
    // Small files that are synced one by one never fill it.
    let mail = "[w]\nrw=write\nbs=4k\nnrfiles=50\nfilesize=4k\nopenfiles=1\nfile_service_type=sequential\n\
                fsync_on_close=1\ntime_based\nruntime=60\n[reader]\nrw=randread\nbs=4k\nsize=256m\ndirect=1\n";
    let mail = of(mail, "").answer().unwrap().verdict;
    assert!(!mail.notes.iter().any(|note| note.contains("fills only part")), "{:?}", mail.notes);
    // A reader beside them waits for the disk: it is told.
    let beside = of(text, "[reader]\nrw=randread\nbs=4k\nsize=256m\ndirect=1\n").answer().unwrap().verdict;
    assert!(beside.notes.iter().any(|note| note.contains("w ×2 fills only part")), "{:?}", beside.notes);
    // Their own time ends before; and who asks for a time means it.
    let short = of(&text.replace("runtime=60", "runtime=10ms"), "").answer().unwrap().verdict;
    assert!(!short.brief.to_string().contains("fills only part"), "{}", short.brief);
    let mut given = of(text, "");
    given.scene.time = some_time("10ms").ok();
    assert!(!given.answer().unwrap().verdict.brief.to_string().contains("fills only part"));
    // What --time was proposed does cover it.
    given.scene.time = some_time("1s").ok();
    given.scene.disk = "hdd-7200-ideal".to_owned();
    let covered = given.answer().unwrap();
    assert!(covered.measured[0].memory.as_ref().unwrap().throttled.mean() > 0.0);
}

#[test]
fn jobs_of_which_one_writes_into_memory_share_nothing_and_those_that_never_meet_neither() {
    let jain = |text: &str| asked(text, 2).answer().unwrap().measured[0].jain.mean();
    assert!((0.0..=1.0).contains(&jain(JOBS)), "both wait for the disk");
    let copy = JOBS.replace("ioengine=libaio\niodepth=32\ndirect=1\n", "");
    assert!(jain(&copy).is_nan(), "a copy into memory beside a reader");
    let apart = JOBS.replace("[backup]", "runtime=1\n[backup]\nstonewall").replace("iodepth=32", "iodepth=1");
    assert!(jain(&apart).is_nan(), "one after the other");
}

#[test]
fn the_default_is_the_kernels_for_a_disk_attached_so() {
    let default = |disk: &str, queues: Option<u32>| {
        let mut scene = Scene::of_jobs("my.fio", JOBS, disk);
        scene.host.hardware_queues = queues;
        let stage = Stage::load(&scene, &NoFiles).unwrap();
        (stage.kernel_default(&scene), stage.disk.attached.word())
    };
    for (disk, queues, expected) in [
        ("usb-stick", None, ("mq-deadline", "usb")),
        ("sd-card", None, ("mq-deadline", "sd")),
        ("cloud-gp3", None, ("none", "nvme")),
        ("raid5:4xhdd-7200-ideal", None, ("mq-deadline", "scsi")),
        ("virtio:nvme-ssd-ideal", None, ("mq-deadline", "virtio")),
        ("virtio:nvme-ssd-ideal", Some(1), ("mq-deadline", "virtio")),
        ("virtio:nvme-ssd-ideal", Some(4), ("none", "virtio")),
        ("nvme-ssd-ideal", None, ("none", "nvme")),
        ("null", None, ("none", "loop")),
    ] {
        assert_eq!(default(disk, queues), expected, "{disk}, {queues:?} queues");
    }
}

/// Ends the work after so many runs.
struct Until(AtomicUsize, usize);

impl Watch for Until {
    fn step(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn is_interrupted(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= self.1
    }
}

#[test]
fn an_interruption_leaves_the_complete_seeds_or_says_that_there_are_none() {
    let ask = |runs: usize| {
        let comparison = Comparison { threads: Some(1), ..asked(JOBS, 6) };
        let stage = Stage::load(&comparison.scene, &NoFiles).unwrap();
        comparison.run(stage, &Catalogue::builtin(), &Until(AtomicUsize::new(0), runs))
    };
    assert!(matches!(ask(0), Err(Error::Interrupted(_))));
    assert!(matches!(ask(1), Err(Error::Interrupted(_))));
    let compared = ask(5).unwrap();
    assert_eq!(compared.measured[0].jain.values().len(), 2);
    assert!(compared.verdict.notes.iter().any(|note| note.starts_with("interrupted: 2 of 6 seeds")));
}

#[test]
fn the_answer_is_the_same_on_any_number_of_threads() {
    let on = |threads| {
        let compared = Comparison { threads: Some(threads), ..asked(JOBS, 3) }.answer().unwrap();
        (compared.verdict.to_string(), compared.measured.iter().flat_map(|one| one.hashes.clone()).collect::<Vec<_>>())
    };
    assert_eq!(on(1), on(7));
}

#[test]
fn a_cap_that_held_nothing_back_is_said_to_have_done_nothing() {
    let capped =
        |rate: &str| JOBS.replace("[backup]", &format!("[backup]\ncgroup=a\ncgroup_files=io.max: wbps={rate}"));
    let said = |text: &str| -> Vec<String> {
        let verdict = asked(&capped(text), 2).answer().unwrap().verdict;
        let all = verdict.notes.iter().chain(&verdict.remarks);
        all.filter(|note| note.contains("io.max did nothing")).cloned().collect()
    };
    let loose = said("100000000000");
    assert!(loose.len() == 1 && loose[0].contains("under bfq, none: no I/O was held back"), "{loose:?}");
    assert_eq!(said("1000000"), [""; 0]);
}

#[test]
fn what_a_p99_rests_on_is_said_of_such_io_as_was_compared_alone() {
    use blksched_lab::verdict::tails::{TailFigure, sentence};
    let said = |jobs: &str, disk: &str| {
        let fs = Some(FsKind::None.into());
        let scene = Scene { time: some_time("50ms").ok(), fs, ..Scene::of_jobs("a.fio", jobs, disk) };
        let question = Comparison { elevators: vec!["none".to_owned()], ..Comparison::of(scene, 1) };
        let compared = question.answer().unwrap();
        let base = &compared.measured[0];
        let figures: Vec<TailFigure> = base
            .jobs
            .iter()
            .zip(&compared.stage.plan.jobs)
            .map(|(job, plan)| {
                let work = if job.work(Work::Read).is_some() { Work::Read } else { Work::Write };
                TailFigure { job, work, plan: Some(plan) }
            })
            .collect();
        let in_flight = compared.stage.plan.jobs.iter().map(|job| job.depth).sum();
        sentence(&compared.verdict.validation.model, base, &figures, in_flight).unwrap()
    };
    let job = |options: &str| format!("[a]\nioengine=libaio\niodepth=4\nfilename=/dev/nvme0n1\n{options}\n");
    let reads = said(&job("rw=randread\nbs=4k\ndirect=1"), "nvme-ssd");
    assert!(
        reads.starts_with("p99 rests on ")
            && reads.ends_with(" I/Os a run; compared with a measured drive's: reads (57 % off on average)"),
        "{reads}"
    );
    let never = "a run; never compared with a drive's";
    for (options, disk) in [
        ("rw=randread\nbs=1m\ndirect=1", "nvme-ssd"),
        ("rw=read\nbs=4k\ndirect=1", "nvme-ssd"),
        ("rw=randread\nbs=4k", "nvme-ssd"),
        ("rw=randwrite\nbs=4k\ndirect=1", "nvme-ssd"),
        ("rw=randread\nbs=4k\ndirect=1\nnumjobs=9", "nvme-ssd"),
        ("rw=randread\nbs=4k\ndirect=1", "nvme-ssd-ideal"),
    ] {
        let said = said(&job(options), disk);
        assert!(said.ends_with(never), "{options}: {said}");
    }
}
