//! Scenarios of the anticipatory scheduler: for which process it waits, why it does not, and the reasons it gives.

use crate::queue_kit::{ME, Rig, WHO, YOU, at_ms};
use blksched::author::Run;
use blksched::reasons::{IdleFor, WaitEnd};
use blksched::{Instant, Next, QueueConfig, Reason, Span};

const FAR: u64 = 100_000_000;

fn rig() -> Rig {
    Rig::new("anticipatory", QueueConfig { depth: 2, ..QueueConfig::default() })
}

/// A state in which my read at 1000 has completed and your distant one is queued.
fn waiting() -> Rig {
    let mut rig = rig();
    rig.new_read(1000, 8);
    rig.serve();
    rig.read_by(YOU, FAR, 8);
    assert_eq!(rig.next(), Next::Idle { until: at_ms(6), why: IdleFor::Submitter(ME) });
    rig.heard();
    rig
}

fn wait_ends(rig: &mut Rig) -> Vec<WaitEnd> {
    let ends = rig.heard().into_iter().filter_map(|reason| match reason {
        Reason::WaitEnds { why, .. } => Some(why),
        _ => None,
    });
    ends.collect()
}

#[test]
fn my_next_read_goes_before_yours_that_was_there_first() {
    let mut rig = waiting();
    rig.now = at_ms(3);
    rig.new_read(1008, 8);
    let heard = rig.heard();
    assert!(heard.contains(&Reason::WaitEnds { submitter: ME, why: WaitEnd::Arrived }));
    assert!(heard.contains(&Reason::Cancelled) && heard.contains(&Reason::WishedRun(Run::Soon)));
    assert_eq!(rig.serve(), (1008, 8));
}

#[test]
fn yours_goes_when_i_do_not_come_in_time() {
    let mut rig = waiting();
    rig.now = at_ms(6);
    assert_eq!(rig.serve(), (FAR, 8));
    assert_eq!(wait_ends(&mut rig), [WaitEnd::TimeIsUp]);
}

#[test]
fn a_close_read_of_another_process_ends_the_wait() {
    let mut rig = waiting();
    rig.read_by(WHO, 1008 + 8192, 8);
    assert_eq!(wait_ends(&mut rig), [WaitEnd::CloseEnough]);
    assert_eq!(rig.serve(), (1008 + 8192, 8));
}

#[test]
fn my_write_ends_the_wait_and_anybody_elses_does_not() {
    let mut rig = waiting();
    rig.write_by(WHO, 1016, 8);
    assert_eq!(wait_ends(&mut rig), []);
    assert!(matches!(rig.next(), Next::Idle { .. }));
    rig.new_write(FAR / 2, 8);
    assert_eq!(wait_ends(&mut rig), [WaitEnd::Arrived]);
}

#[test]
fn while_my_read_is_with_the_device_yours_waits_without_a_timer() {
    let mut rig = rig();
    let mine = rig.new_read(1000, 8);
    rig.issue();
    rig.read_by(YOU, FAR, 8);
    assert_eq!((rig.next(), rig.queue.deadline()), (Next::Wait, None));
    assert!(rig.heard().contains(&Reason::WaitsForCompletion { submitter: ME }));
    rig.now = at_ms(10);
    rig.complete(mine);
    assert_eq!(rig.queue.deadline(), Some(at_ms(16)));
}

#[test]
fn one_who_thinks_longer_than_the_wait_is_not_waited_for() {
    let mut rig = rig();
    for nth in 0..8u64 {
        rig.now += Span::from_ms(15);
        rig.new_read(1000 + nth * 8, 8);
        rig.serve();
    }
    rig.heard();
    rig.read_by(YOU, FAR, 8);
    assert_eq!(rig.serve(), (FAR, 8));
    assert_eq!(wait_ends(&mut rig), [WaitEnd::ThinksLonger]);
}

#[test]
fn one_who_reads_two_files_at_once_is_not_waited_for() {
    let mut rig = rig();
    rig.new_read(1000, 8);
    rig.new_read(FAR, 8);
    assert_eq!((rig.serve(), rig.serve()), ((1000, 8), (FAR, 8)));
    assert_eq!(wait_ends(&mut rig), [WaitEnd::Arrived]);
}

#[test]
fn processes_that_leave_after_one_read_are_not_waited_for_in_the_end() {
    let mut rig = rig();
    let mut waited = 0;
    for nth in 0..40u32 {
        let who = blksched::SubmitterId(100 + nth);
        rig.now += Span::from_ms(50);
        rig.read_by(who, 1000, 8);
        rig.serve();
        rig.queue.forget(rig.now, who);
        rig.read_by(YOU, FAR + u64::from(nth) * FAR, 8);
        match rig.next() {
            Next::Issue(command) => rig.complete(command.rq),
            _ => {
                waited += 1;
                rig.now += Span::from_ms(10);
                rig.serve();
            }
        }
    }
    assert_eq!(waited, 6, "of 40");
}

/// A front merge that gives a request the first sector of another one forces out the older, which ends a wait.
#[test]
fn a_wait_that_ends_in_the_middle_of_a_merge_wishes_a_run_all_the_same() {
    let mut rig = waiting();
    rig.read_by(YOU, FAR + 500, 8);
    let merged_last = rig.read_by(YOU, FAR + 508, 8);
    assert!(matches!(merged_last, blksched::Submitted::Merged { .. }));
    rig.heard();
    rig.read_by(YOU, FAR, 500);
    let heard = rig.heard();
    assert!(heard.iter().any(|reason| matches!(reason, Reason::AliasForced { .. })), "{heard:?}");
    assert!(heard.contains(&Reason::WishedRun(Run::Soon)), "{heard:?}");
    assert_eq!(rig.serve(), (FAR, 8));
    assert_eq!(rig.now, Instant::ZERO);
}
