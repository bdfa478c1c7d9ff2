//! The contract of a source: bursts, sleep, failure, exit; and that a seed fixes a run for ever.

use crate::common::{DISK_SECTORS, job, plan, run};
use blksched::{Instant, Span, Tag};
use blksched_workloads::{BUILTINS, Delivered, Emission, Source, builtin};

const START: Instant = Instant::ZERO;

fn source(options: &str) -> Box<dyn Source> {
    plan(&job(options)).sources(1).remove(0)
}

fn emit(source: &mut dyn Source, now: Instant) -> Vec<Emission> {
    let mut out = Vec::new();
    source.emit(now, &mut out);
    out
}

fn at_ms(ms: u64) -> Instant {
    START + Span::from_ms(ms)
}

fn done(tag: u64, failed: bool) -> Delivered {
    Delivered::Done { tag: Tag(tag), failed }
}

/// `S`ubmit, `W`aits, `T`aken, `E`xit.
fn letters(emissions: &[Emission]) -> String {
    let letter = |emission: &Emission| match emission {
        Emission::Submit(_) => 'S',
        Emission::Waits => 'W',
        Emission::Taken { .. } => 'T',
        Emission::Exit => 'E',
        Emission::Tell { .. } => 't',
        Emission::Call(_) => 'C',
        Emission::Remember { .. } => 'R',
    };
    emissions.iter().map(letter).collect()
}

#[test]
fn each_submission_is_a_burst_of_its_own_until_the_depth_is_reached() {
    let mut source = source("size=64k ioengine=libaio iodepth=3");
    for _ in 0..3 {
        assert_eq!(source.next(), Some(START));
        assert_eq!(letters(&emit(&mut *source, START)), "SW");
    }
    assert_eq!(source.next(), None);
    source.delivered(at_ms(2), done(1, false));
    assert_eq!(source.next(), Some(at_ms(2)));
    assert_eq!(letters(&emit(&mut *source, at_ms(2))), "TSW");
    assert_eq!(source.next(), None);
}

#[test]
fn called_too_early_it_does_nothing() {
    let mut source = source("size=64k startdelay=5ms");
    assert_eq!(source.next(), Some(at_ms(5)));
    assert_eq!(letters(&emit(&mut *source, at_ms(4))), "");
    assert_eq!(source.next(), Some(at_ms(5)));
    assert_eq!(letters(&emit(&mut *source, at_ms(7))), "SW", "late is allowed");
}

#[test]
fn a_sleeping_submitter_submits_nothing_until_it_is_awake() {
    let mut source = source("size=64k ioengine=libaio iodepth=8");
    assert_eq!(letters(&emit(&mut *source, START)), "SW");
    assert_eq!(letters(&emit(&mut *source, START)), "SW");
    source.asleep();
    assert_eq!(source.next(), None);
    source.delivered(at_ms(1), done(0, false));
    assert_eq!(source.next(), None, "a completion does not wake it");
    assert_eq!(letters(&emit(&mut *source, at_ms(1))), "");
    source.delivered(at_ms(2), Delivered::Awake);
    assert_eq!(source.next(), Some(at_ms(2)));
    assert_eq!(letters(&emit(&mut *source, at_ms(2))), "SW");
}

#[test]
fn a_submitter_asleep_beyond_its_runtime_exits_when_all_is_done() {
    let mut source = source("size=64k runtime=5ms");
    assert_eq!(letters(&emit(&mut *source, START)), "SW");
    source.asleep();
    source.delivered(at_ms(9), Delivered::Awake);
    source.delivered(at_ms(10), done(0, false));
    let next = source.next().expect("it wants to exit");
    assert!(next <= at_ms(10));
    assert_eq!(letters(&emit(&mut *source, at_ms(10))), "TE");
}

#[test]
fn a_failed_io_ends_its_job_once_the_others_are_done() {
    let mut source = source("size=64k ioengine=libaio iodepth=2");
    emit(&mut *source, START);
    emit(&mut *source, START);
    source.delivered(at_ms(1), done(0, true));
    assert_eq!(letters(&emit(&mut *source, at_ms(1))), "T");
    assert_eq!(source.next(), None);
    source.delivered(at_ms(2), done(1, false));
    assert_eq!(letters(&emit(&mut *source, at_ms(2))), "TE");
    assert!(source.is_finished());
    assert_eq!(source.next(), None);
    assert_eq!(letters(&emit(&mut *source, at_ms(3))), "");
}

#[test]
#[should_panic(expected = "never submitted")]
fn a_completion_of_nothing_is_a_bug_of_the_driver() {
    source("size=64k").delivered(START, done(0, false));
}

#[test]
fn a_stonewall_needs_every_job_above_and_no_other() {
    let text = "[global]\ndirect=1\nsize=4k\n[a]\n[b]\n[c]\nstonewall\n[d]\n";
    let mut sources = plan(text).sources(1);
    let (a, b, d) = (sources[0].submitter(), sources[1].submitter(), sources[3].submitter());
    assert_eq!(sources.iter().map(|source| source.awaits_exits()).collect::<Vec<_>>(), [false, false, true, true]);
    let c = &mut sources[2];
    c.delivered(at_ms(1), Delivered::Exited(a));
    c.delivered(at_ms(2), Delivered::Exited(d));
    assert_eq!(c.next(), None);
    c.delivered(at_ms(3), Delivered::Exited(b));
    assert_eq!(c.next(), Some(at_ms(3)));
    assert!(!c.awaits_exits(), "it begins, whoever exits now");
}

#[test]
fn a_seed_fixes_a_run_for_ever() {
    let offsets = run(&job("rw=randrw size=32k"), 1).offsets();
    let blocks: Vec<u64> = offsets.iter().map(|offset| offset / 4096).collect();
    // If these change, every published result changes.
    assert_eq!(blocks, GOLDEN);
}

const GOLDEN: [u64; 8] = [4, 7, 6, 5, 0, 3, 1, 2];

#[test]
fn every_built_in_runs_and_the_same_seed_gives_the_same_run() {
    for entry in BUILTINS {
        let file = builtin(entry.name).expect("it is in the table").job_file();
        let plan = file.plan(DISK_SECTORS << 6).unwrap_or_else(|e| panic!("{e}"));
        // A job with a `startdelay` begins later.
        let begin = |source: &mut Box<dyn Source>| {
            let first = source.next().expect("every job begins");
            emit(&mut **source, first)
        };
        let first = |seed| plan.sources(seed).iter_mut().map(begin).collect::<Vec<_>>();
        assert_eq!(first(1), first(1), "{}", entry.name);
        // A direct job submits, a buffered one calls.
        let begins: Vec<String> = first(1).iter().map(|emissions| letters(emissions)).collect();
        assert!(begins.iter().all(|begin| ["SW", "RCW"].contains(&begin.as_str())), "{}: {begins:?}", entry.name);
    }
    assert_eq!(builtin("nothing"), None);
}

/// Completions that it takes, and when each was accepted.
fn taken(emissions: &[Emission]) -> Vec<(u64, Option<Instant>)> {
    let taken = |emission: &Emission| match emission {
        Emission::Taken { tag, accepted } => Some((tag.0, *accepted)),
        _ => None,
    };
    emissions.iter().filter_map(taken).collect()
}

#[test]
fn a_submission_that_slept_is_accepted_when_it_wakes_and_taken_when_the_queue_is_full() {
    let mut source = source("size=64k ioengine=libaio iodepth=3");
    emit(&mut *source, START);
    emit(&mut *source, START);
    source.asleep();
    source.delivered(at_ms(1), done(0, false));
    source.delivered(at_ms(4), Delivered::Awake);
    let mut out = emit(&mut *source, at_ms(4));
    assert_eq!(taken(&out), [], "its queue is not full");
    source.delivered(at_ms(5), done(1, false));
    for _ in 0..2 {
        out.extend(emit(&mut *source, at_ms(5)));
    }
    assert_eq!(taken(&out), [(0, None), (1, Some(at_ms(4)))]);
}

#[test]
fn a_batch_is_accepted_when_its_call_returns_and_its_owner_takes_nothing_meanwhile() {
    let mut source = source("size=64k ioengine=libaio iodepth=4 iodepth_batch=4");
    assert_eq!(letters(&emit(&mut *source, START)), "S");
    assert_eq!(letters(&emit(&mut *source, START)), "S");
    source.asleep();
    source.delivered(at_ms(1), done(0, false));
    assert_eq!(source.next(), None);
    source.delivered(at_ms(3), Delivered::Awake);
    assert_eq!(letters(&emit(&mut *source, at_ms(3))), "S");
    assert_eq!(letters(&emit(&mut *source, at_ms(3))), "SW");
    assert_eq!(taken(&emit(&mut *source, at_ms(3))), [(0, Some(at_ms(3)))]);
}

#[test]
fn a_rated_job_takes_all_that_is_out_before_it_sleeps() {
    let mut source = source("size=64k ioengine=libaio iodepth=8 rate_iops=100");
    assert_eq!(letters(&emit(&mut *source, START)), "SW");
    assert_eq!(source.next(), None, "it waits for its I/O, not for its time");
    source.delivered(at_ms(30), done(0, false));
    assert_eq!(letters(&emit(&mut *source, at_ms(30))), "TSW", "and is late then");
    assert_eq!(letters(&emit(&mut *source, at_ms(30))), "SW");
}
