//! `explain` on loads whose cause is known: it names the cause, the knob that decided it, and what its next value does.

use blksched::Catalogue;
use blksched::{Instant, Span};
use blksched_lab::scene::{Stage, some_time};
use blksched_lab::why::{Explanation, Remedies};
use blksched_lab::{Error, Files, NoFiles, Scene};
use blksched_simulate::experiment::Experiment;
use blksched_simulate::story::{Leg, StoriesAsked};

/// What is built in, and `slow`: a disk that serves one request at a time, in 10 ms.
struct Slow;

impl Files for Slow {
    fn disk(&self, name: &str) -> Result<blksched_disks::DiskSpec, Error> {
        let text = "kind = \"fixed\"\ndescription = \"10 ms\"\ncapacity = \"8GiB\"\nmax_command = \"1MiB\"\ndepth = 4\n\
                    channels = 1\nservice = \"10ms\"\n";
        if name == "slow" { blksched_disks::parse(name, text).map_err(Error::Disk) } else { NoFiles.disk(name) }
    }
}

fn explained(scene: &Scene, elevator: &str, time: &str) -> Explanation {
    remedied(scene, elevator, time, false).0
}

/// The same, and what may help.
fn remedied(scene: &Scene, elevator: &str, time: &str, tries: bool) -> (Explanation, Option<Remedies>) {
    asked(scene, elevator, time, tries, |_| StoriesAsked::nothing())
}

/// The same of some of the I/Os.
fn asked(
    scene: &Scene,
    elevator: &str,
    time: &str,
    tries: bool,
    of: impl Fn(&Stage) -> StoriesAsked,
) -> (Explanation, Option<Remedies>) {
    let scene = Scene { time: some_time(time).ok(), ..scene.clone() };
    let stage = Stage::load(&scene, &Slow).unwrap();
    let contender = stage.one_contender(Some(&elevator.to_owned()), &scene, &Catalogue::builtin()).unwrap();
    let limit = stage.length_once(&scene, &contender).unwrap().limit;
    let trial = stage.trial(&scene, &contender, limit);
    let found = Explanation::run(&stage, &scene, &contender, &trial, of(&stage)).unwrap();
    let tried = || Remedies::tried(&stage, &scene, &contender, &trial, &found.blame, &Slow).unwrap();
    let tried = tries.then(tried).flatten();
    (found, tried)
}

/// The closing sentence names this job, this rule, and this knob with its value.
fn blames(explanation: &Explanation, whom: &str, rule: &str, knob: &str) {
    let said = explanation.culprit.as_deref().expect("somebody is to blame");
    assert!(said.starts_with(&format!("Others waited most for {whom}, as a part of their time: ")), "{said}");
    assert!(said.contains(rule) && said.contains(knob), "{said}");
}

fn jobs(text: &str, disk: &str) -> Scene {
    Scene::of_jobs("my.fio", text, disk)
}

/// Andrew Morton's test of 2002-09-26.
fn horror() -> Scene {
    let programs = ["dd:at=5%,runs=drawn", "cat:start=5s,at=1%,files=31"];
    Scene { jobs: programs.map(str::to_owned).to_vec(), ..Scene::of("", "ide-2002", 1) }
}

#[test]
fn on_the_mails_load_it_is_the_moved_batch_that_filled_the_drives_cache_and_fifo_batch() {
    let found = explained(&horror(), "deadline@2.5.38", "10s");
    blames(
        &found,
        "dd",
        "a batch of writes, chosen at once, filled the drive's cache",
        "fifo_batch = 64 decides; 32 helps",
    );
    // With shorter batches it is the same cause, and takes less.
    let short = Scene { set: vec!["deadline.fifo_batch=16".to_owned()], ..horror() };
    blames(
        &explained(&short, "deadline@2.5.38", "10s"),
        "dd",
        "filled the drive's cache",
        "fifo_batch = 16 decides; 8 helps",
    );
}

/// Both attribute a wait in the scheduler to the decision behind it, not to what the drive does meanwhile.
#[test]
fn explain_and_the_experiment_say_the_same_about_the_mails_load() {
    let text = r#"
title = "the horror test"
source = "2002-09-26"
seeds = 1
time = "10s"
elevator = "deadline@2.5.38"
disk.preset = "ide-2002"
[[workload]]
program = "dd"
at = "5%"
runs = "drawn"
[[workload]]
program = "cat"
start = "5s"
at = "1%"
files = 31
[[run]]
name = "it"
[[table]]
title = "what reads waited for in the scheduler"
rows = [{ label = "moved", run = "it", value = "waited_for(read, moved)" }]
"#;
    let none = |file: &str| Err(format!("no file {file}"));
    let experiment = Experiment::parse("x", "x.toml", text, &Catalogue::builtin(), &none).unwrap();
    let outcome = experiment.runs[0].simulate(1).unwrap();
    let percent = experiment.answer(&[outcome]).tables[0].rows[0].ours;
    let found = explained(&horror(), "deadline@2.5.38", "10s");
    let queued = found.blame.rows.iter().filter(|(key, ..)| key.who == "cat" && key.leg == Leg::Elevator);
    let (mut all, mut moved) = (0, 0);
    for (key, time, _) in queued {
        all += time.as_ns();
        moved += if key.rule.starts_with("a batch of writes, chosen at once") { time.as_ns() } else { 0 };
    }
    let ours = 100.0 * moved as f64 / all as f64;
    assert!((ours - percent).abs() < 1.0 && percent > 95.0, "explain {ours} %, the experiment {percent} %");
}

const BESIDE_A_STREAM: &str = "\
[app]\nrw=randread\nbs=4k\nsize=1g\ndirect=1\n[stream]\nrw=read\nbs=128k\nsize=4g\noffset=50%\ndirect=1\n";
const BESIDE_BULK: &str = "\
[app]\nrw=randread\nbs=4k\nsize=1g\ndirect=1\n\
[bulk]\nrw=randwrite\nbs=64k\nsize=4g\noffset=50%\nioengine=libaio\niodepth=64\ndirect=1\n";

#[test]
fn beside_a_stream_under_cfq_it_is_the_streams_slice() {
    let found = explained(&jobs(BESIDE_A_STREAM, "hdd-7200-ideal"), "cfq", "5s");
    blames(&found, "stream", "held its turn", "slice_sync = 100ms; 50ms changes little");
}

#[test]
fn beside_deep_writes_on_an_ssd_it_is_the_drives_own_queue() {
    let found = explained(&jobs(BESIDE_BULK, "sata-ssd-ideal"), "none", "2s");
    blames(&found, "bulk", "ahead of it in the drive", "queue_depth = 31 decides; 15 helps");
}

#[test]
fn beside_deep_writes_on_a_disk_that_takes_one_command_it_is_the_batch() {
    let scene = Scene { depth: Some(1), ..jobs(BESIDE_BULK, "hdd-7200-ideal") };
    blames(&explained(&scene, "deadline@2.6.33", "5s"), "bulk", "a batch of writes", "fifo_batch = 16 decides");
}

/// A log that thinks for 3 ms after each write, less than slice_idle.
const A_LOG: &str = "\
[app]\nrw=randread\nbs=4k\nsize=1g\ndirect=1\n[log]\nrw=write\nbs=4k\nsize=1g\ndirect=1\nthinktime=3ms\noffset=50%\n";

#[test]
fn a_log_beside_a_reader_under_cfq_waits_for_the_readers_slice() {
    let found = explained(&jobs(A_LOG, "hdd-7200-ideal"), "cfq", "5s");
    blames(&found, "app", "held its turn", "slice_sync = 100ms decides");
}

#[test]
fn a_reader_beside_a_stream_without_a_scheduler_waits_in_the_drive() {
    let found = explained(&jobs(BESIDE_A_STREAM, "hdd-7200-ideal"), "none", "5s");
    blames(&found, "stream", "ahead of it in the drive", "queue_depth = 31; 15 changes little");
}

#[test]
fn where_the_drives_own_cache_is_the_cause_no_knob_of_the_scheduler_is_named() {
    let found = explained(&jobs(BESIDE_BULK, "hdd-7200-ideal"), "kyber", "5s");
    blames(&found, "bulk", "the drive wrote out its cached writes", "app");
    assert!(!found.culprit.as_deref().unwrap_or_default().contains("decides"), "{:?}", found.culprit);
}

/// A log that waits for each of its flushes.
const A_SYNCED_LOG: &str = "[log]\nrw=write\nbs=4k\nsize=1g\ndirect=1\nfsync=1\noffset=50%\n";

#[test]
fn a_flush_behind_deep_writes_waits_in_the_drive_and_not_before_the_scheduler() {
    let found = explained(&jobs(&format!("{BESIDE_BULK}{A_SYNCED_LOG}"), "sata-ssd-ideal"), "mq-deadline", "2s");
    let of_log = found.blame.rows.iter().filter(|(key, ..)| key.who == "log" && key.rule == "before its flush");
    let legs: Vec<Leg> = of_log.map(|(key, ..)| key.leg).collect();
    assert!(!legs.is_empty() && legs.iter().all(|leg| *leg == Leg::Drive), "{legs:?}");
}

/// A log beside a copy, on a file system.
const APPEND_AND_COPY: &str = "\
[append]\nrw=write\nbs=4k\nsize=64m\nfsync=1\nthinktime=200ms\n[copy]\nrw=write\nbs=1m\nsize=1g\n";

#[test]
fn the_answer_is_about_the_io_that_is_waited_for_and_then_says_what_helps() {
    let (found, tried) = remedied(&jobs(APPEND_AND_COPY, "hdd-7200-ideal"), "mq-deadline", "10s", true);
    let tried = tried.expect("append waits for its fsyncs");
    let answer = found.answer(Some(&tried));
    assert!(answer[0].starts_with("append's slowest I/O ("), "{answer:?}");
    assert!(
        answer[0].contains(", an fsync) took ") && answer[0].contains(" of it for the journal's writes"),
        "{answer:?}"
    );
    assert!(answer[1].contains("changes were tried for append's syncs, each in a run of its own"), "{answer:?}");
    let (as_it_was, best) = (&tried.tried[0], &tried.tried[1]);
    let is_shorter = best.mean + best.mean_write < 0.95 * (as_it_was.mean + as_it_was.mean_write);
    assert_eq!(answer[1].contains(&format!("this helps most: {}: ", best.what)), is_shorter, "{answer:?}");
    assert_eq!(found.answer(None), [&answer[..1], &answer[2..]].concat());
}

#[test]
fn who_only_fills_memory_waits_for_nobody_else_and_then_the_answer_is_what_takes_the_time() {
    let copy = "[copy]\nrw=write\nbs=1m\nsize=1g\n[look]\nrw=randread\nsize=64m\nrate_iops=1\n";
    let found = explained(&jobs(copy, "hdd-7200-ideal"), "mq-deadline", "10s");
    let for_write_back = |who: &str| {
        let own = found.blame.rows.iter().filter(|(key, ..)| key.who == who);
        own.filter(|(key, ..)| key.whom.as_deref() == Some("write-back")).map(|(_, time, _)| time.as_ns()).sum::<u64>()
    };
    assert!(for_write_back("copy") > found.blame.totals["copy"].0.as_ns() / 5, "else there is nothing to leave out");
    let said = found.culprit.as_deref().unwrap_or_default();
    assert!(!said.contains("(copy: "), "what it waits for is what it wrote: {said}");
    let alone = explained(&jobs("[one]\nrw=randread\nsize=64m\n", "hdd-7200-ideal"), "mq-deadline", "2s");
    let [slowest, most] = &alone.answer(None)[..] else { panic!("{:?}", alone.answer(None)) };
    assert!(slowest.starts_with("one's slowest I/O ("), "{slowest}");
    assert!(slowest.contains(", all of it its own service in the disk"), "{slowest}");
    assert!(most.starts_with("The largest part of one's I/O time: rotation, in the drive, "), "{most}");
}

#[test]
fn an_io_that_does_not_end_before_the_run_is_the_slowest() {
    let answer = explained(&jobs(APPEND_AND_COPY, "hdd-7200-ideal"), "deadline@4.20", "1s").answer(None);
    assert!(answer[0].starts_with("append's slowest I/O, an fsync, had not ended "), "{answer:?}");
    assert!(
        answer[0].ends_with("after it began, when the run was over: a longer one (--time) tells why."),
        "{answer:?}"
    );
}

#[test]
fn a_log_on_another_disk_is_tried_or_told_by_the_options_of_that_file_system_alone() {
    let of = |head: &str, fs: Option<&str>| {
        let fs = fs.map(|fs| blksched_workloads::host::fs::FsMount::named(fs).unwrap());
        let text = format!("[global]\n{head}\n{APPEND_AND_COPY}");
        let scene = Scene { fs, ..jobs(&text, "hdd-7200-ideal") };
        let (_, tried) = remedied(&scene, "none", "4s", true);
        let tried = tried.expect("append waits for its fsyncs");
        let is_tried = |option: &str| tried.tried.iter().any(|one| one.what.contains(option));
        (is_tried("journal_dev="), is_tried("logdev="), tried.untried)
    };
    assert_eq!(of("", None), (true, false, None));
    assert_eq!(of("", Some("xfs:logbsize=64k")), (false, true, None));
    assert_eq!(of("", Some("ext4:no_journal")), (false, false, None));
    let said = of("; blksched: fs=xfs:logsize=64m", None);
    let how = "its log on another disk (fs=xfs:logsize=64m,logdev=sdb in the job file, and --disk sda=…,sdb=…)";
    assert_eq!(said, (false, false, Some(how.to_owned())));
    let said = of("; blksched: fs=ext4", None).2.unwrap_or_default();
    assert!(said.contains("(fs=ext4:journal_dev=sdb in the job file"), "{said}");
}

/// On ext3 a copy's new data are written by the commits of the log beside it.
#[test]
fn where_commits_wait_for_others_data_it_is_tried_not_to_and_without_a_journal_nothing_is_the_journals() {
    let of = |fs: &str| {
        let fs = Some(blksched_workloads::host::fs::FsMount::named(fs).unwrap());
        let (found, tried) = remedied(&Scene { fs, ..jobs(APPEND_AND_COPY, "hdd-7200-ideal") }, "none", "4s", true);
        (found.answer(None).join(" "), tried.expect("append waits for its fsyncs").tried)
    };
    let (answer, tried) = of("ext3");
    let mean = |what: &str| tried.iter().find(|one| one.what == what).map(|one| one.mean);
    let (as_it_was, apart) = (tried[0].mean, mean("data=writeback").expect("it is tried"));
    assert!(apart < 0.8 * as_it_was, "{apart} ns, not {as_it_was}: the copy's data no longer count");
    assert!(answer.contains("for the journal's writes"), "{answer}");
    for (fs, has_journal) in [("ext4", true), ("ext3:data=writeback", true), ("ext2", false)] {
        let (answer, tried) = of(fs);
        assert!(tried.iter().all(|one| one.what != "data=writeback"), "{fs}: {answer}");
        assert!(has_journal || !answer.contains("journal"), "{fs}: {answer}");
    }
}

/// A copy keeps a log's fsync, or the only one of a database, waiting until the run is over.
#[test]
fn an_fsync_that_hangs_to_the_end_counts_when_it_is_asked_what_helps() {
    let of = |text: &str, elevator: &str, time: &str, who: &str| {
        let scene = Scene { wbt_lat_usec: Some(0), ..jobs(text, "slow") };
        let (found, tried) = remedied(&scene, elevator, time, true);
        let answer = found.answer(None);
        assert!(answer[0].starts_with(&format!("{who}'s slowest I/O, an fsync, had not ended ")), "{answer:?}");
        let tried = tried.unwrap_or_else(|| panic!("{who} waits for an fsync: {answer:?}"));
        assert_eq!(tried.who, who);
        assert!(tried.tried[0].longest > 3e9 && tried.tried[0].not_ended == 1, "{tried:?}");
        tried
    };
    let append = "[append]\nrw=write\nbs=4k\nsize=64m\nfsync=1\nthinktime=500ms\n[copy]\nrw=write\nbs=1m\nsize=3g\n";
    let said = of(append, "mq-deadline", "10s", "append").best();
    assert!(
        said.contains("; this helps most: ") && said.ends_with("; what had not ended counts with its age."),
        "{said}"
    );
    let database = "[db]\nrw=randwrite\nbs=8k\nsize=1g\nfsync=1000\n[bulk]\nrw=write\nbs=1m\nsize=4g\n";
    let tried = of(database, "bfq", "12s", "db");
    for scheduler in ["none", "mq-deadline", "kyber"] {
        assert!(tried.tried.iter().any(|one| one.what == scheduler), "{scheduler}: {tried:?}");
    }
}

#[test]
fn what_was_asked_for_by_moment_or_number_has_no_answer_about_the_run() {
    let scene = jobs(APPEND_AND_COPY, "hdd-7200-ideal");
    let of = |asked_for: StoriesAsked| asked(&scene, "none", "2s", false, |_| asked_for.clone()).0;
    let at = of(StoriesAsked { slowest: 5, at: Some(Instant::ZERO + Span::from_secs(1)), ..StoriesAsked::nothing() });
    assert_eq!(at.answer(None), Vec::<String>::new());
    let fifth = of(StoriesAsked { slowest: 5, nth: Some(5), ..StoriesAsked::nothing() });
    assert_eq!(fifth.answer(None), Vec::<String>::new());
    assert_eq!(fifth.headline, of(StoriesAsked::nothing()).headline, "the slowest of the run, not of those asked for");
}

/// A copy's write waits for the journal's, which waits for the cache: one thing, said once.
#[test]
fn the_headline_divides_the_time_once() {
    let scene = jobs(APPEND_AND_COPY, "hdd-7200-ideal");
    for elevator in ["none", "mq-deadline", "bfq", "kyber"] {
        for who in [0, 1] {
            let by = |stage: &Stage| [stage.plan.jobs[who].submitter].into();
            let found = asked(&scene, elevator, "5s", false, |stage| StoriesAsked {
                slowest: 1,
                by: by(stage),
                ..StoriesAsked::nothing()
            })
            .0;
            let said = found.headline.expect("it has I/Os");
            let told = said.contains(" for the journal's writes").then_some("the journal");
            let parts = ["above all, ", "the largest part: ", "all of it its own", "all of it the "];
            let parts = parts.iter().filter(|part| said.contains(**part)).count() + usize::from(told.is_some());
            assert!(parts == 1 || said.contains(" had not ended "), "{elevator}, {who}: {said}");
        }
    }
}

#[test]
fn a_knob_that_changes_nothing_is_not_in_the_answer() {
    let found = explained(&jobs(BESIDE_A_STREAM, "hdd-7200-ideal"), "cfq", "5s");
    let answer = found.answer(None);
    assert!(found.culprit.as_deref().unwrap_or_default().contains("50ms changes little"), "else it shows nothing");
    assert!(answer.iter().all(|said| !said.contains("changes little")), "{answer:?}");
}
