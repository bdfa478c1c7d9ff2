//! `explain` on loads whose cause is known: it names the cause, the knob that decided it, and what its next value does.

use blksched::Catalogue;
use blksched_lab::scene::{Stage, some_time};
use blksched_lab::why::Explanation;
use blksched_lab::{NoFiles, Scene};
use blksched_simulate::experiment::Experiment;
use blksched_simulate::story::{Leg, StoriesAsked};

fn explained(scene: &Scene, elevator: &str, time: &str) -> Explanation {
    let scene = Scene { time: some_time(time).ok(), ..scene.clone() };
    let stage = Stage::load(&scene, &NoFiles).unwrap();
    let contender = stage.one_contender(Some(&elevator.to_owned()), &scene, &Catalogue::builtin()).unwrap();
    let limit = stage.length_once(&scene, &contender).unwrap().limit;
    let trial = stage.trial(&scene, &contender, limit);
    Explanation::run(&stage, &scene, &contender, &trial, StoriesAsked::nothing()).unwrap()
}

/// The closing sentence names this job, this rule, and this knob with its value.
fn blames(explanation: &Explanation, whom: &str, rule: &str, knob: &str) {
    let said = explanation.culprit.as_deref().expect("somebody is to blame");
    assert!(said.starts_with(&format!("Others waited longest for {whom}: ")), "{said}");
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
