//! BFQ's mechanisms, each triggered by hand, and the reason that each reports.

use crate::queue_kit::{ME, Rig, WHO, YOU, at_ms};
use blksched::author::Waiter;
use blksched::reasons::{Injected, Preempt, Raised, RaisingEnd, SliceEnd};
use blksched::{Bio, Next, QueueConfig, Reason, Sector, Span, SubmitterId};

const FAR: u64 = 1 << 30;

fn rig() -> Rig {
    let config = QueueConfig { born: at_ms(10_000), depth: 31, ..QueueConfig::default() };
    let mut rig = Rig::new("bfq", config);
    rig.now = config.born;
    rig
}

/// The first sectors issued until nothing is queued, each request taking a millisecond; while the disk is left idle,
/// time passes.
fn serve_all(rig: &mut Rig) -> Vec<u64> {
    let mut order = Vec::new();
    loop {
        match rig.next() {
            Next::Issue(command) => {
                order.push(command.start.0);
                rig.now += Span::from_ms(1);
                rig.complete(command.rq);
            }
            Next::Idle { until, .. } => rig.now = until,
            Next::Empty => return order,
            other => panic!("{other:?} with nothing in flight"),
        }
    }
}

/// Submits one read and serves it.
fn fetch(rig: &mut Rig, who: SubmitterId, start: u64) {
    rig.read_by(who, start, 8);
    serve_all(rig);
}

fn pause(rig: &mut Rig, ms: u64) {
    rig.now += Span::from_ms(ms);
    rig.queue.elapse(rig.now);
}

fn count(heard: &[Reason], wanted: impl Fn(&Reason) -> bool) -> usize {
    heard.iter().filter(|reason| wanted(reason)).count()
}

fn is_raised_as(wanted: Raised) -> impl Fn(&Reason) -> bool {
    move |reason| matches!(reason, Reason::WeightRaised { why, .. } if *why == wanted)
}

fn ends_as(wanted: RaisingEnd) -> impl Fn(&Reason) -> bool {
    move |reason| matches!(reason, Reason::RaisingEnded { why, .. } if *why == wanted)
}

#[test]
fn a_queue_that_starts_is_interactive_until_it_has_had_enough_or_long_enough() {
    let mut rig = rig();
    fetch(&mut rig, ME, 0);
    let heard = rig.heard();
    assert_eq!(count(&heard, |r| matches!(r, Reason::WeightRaised { owner: ME, times: 30, .. })), 1);
    assert!(count(&heard, ends_as(RaisingEnd::ServedEnough)) == 0);
    (1..=130).for_each(|n| _ = rig.read(n * 2000, 1024));
    serve_all(&mut rig);
    assert_eq!(count(&rig.heard(), ends_as(RaisingEnd::ServedEnough)), 1);

    pause(&mut rig, 3000);
    fetch(&mut rig, ME, 0);
    assert_eq!(count(&rig.heard(), is_raised_as(Raised::Interactive)), 1);
    // Without a pause, for as long as the start of an application takes on this disk.
    let begun = rig.now;
    while rig.now < begun + Span::from_secs(12) {
        rig.read(rig.now.as_ns() / 1_000_000 * 16, 8);
        let Next::Issue(command) = rig.next() else { panic!("nobody else is there") };
        pause(&mut rig, 10);
        rig.complete(command.rq);
    }
    assert_eq!(count(&rig.heard(), ends_as(RaisingEnd::TimeUp)), 1);
}

#[test]
fn a_queue_that_comes_in_time_is_soft_real_time() {
    let mut rig = rig();
    for n in 0..4 {
        fetch(&mut rig, ME, n * 100);
        pause(&mut rig, 100);
    }
    let heard = rig.heard();
    assert_eq!(count(&heard, is_raised_as(Raised::Interactive)), 1);
    assert_eq!(count(&heard, is_raised_as(Raised::SoftRealTime)), 1, "and that is renewed without a word");
}

#[test]
fn eight_at_once_are_a_large_burst_and_seven_are_none() {
    for (processes, large) in [(7, 0), (8, 8)] {
        let mut rig = rig();
        (1..=processes).for_each(|n| _ = rig.read_by(SubmitterId(n), u64::from(n) * FAR, 8));
        let heard = rig.heard();
        assert_eq!(count(&heard, |r| matches!(r, Reason::InLargeBurst { .. })), large, "{processes} processes");
        serve_all(&mut rig);
        let ended = count(&rig.heard(), ends_as(RaisingEnd::LargeBurst));
        assert_eq!(ended > 0, large > 0, "{processes} processes");
    }
}

#[test]
fn close_readers_share_a_queue_until_it_seeks() {
    let mut rig = rig();
    rig.read_by(WHO, FAR, 8);
    rig.read_by(ME, 1000, 8);
    rig.read_by(YOU, 2000, 8);
    let heard = rig.heard();
    assert!(heard.contains(&Reason::MergePlanned { from: YOU, into: ME }), "{heard:?}");
    assert!(heard.contains(&Reason::QueueMerged { submitter: YOU, into: ME }));
    serve_all(&mut rig);
    for n in 0..40 {
        rig.read_by(ME, 100_000 * (n * 7 % 40), 8);
    }
    serve_all(&mut rig);
    pause(&mut rig, 100);
    rig.heard();
    rig.read_by(YOU, 3000, 8);
    assert!(rig.heard().contains(&Reason::QueueSplit { submitter: YOU }));
    serve_all(&mut rig);
}

#[test]
fn a_queue_that_always_comes_right_behind_another_has_found_its_waker() {
    let mut rig = rig();
    for n in 0..8 {
        fetch(&mut rig, YOU, FAR + n * 100);
        pause(&mut rig, 1);
        fetch(&mut rig, ME, n * 100);
        pause(&mut rig, 50);
    }
    let heard = rig.heard();
    assert!(heard.contains(&Reason::WakerFound { owner: ME, waker: YOU }), "{heard:?}");
}

#[test]
fn while_the_disk_idles_for_a_process_its_own_write_back_goes() {
    let mut rig = rig();
    rig.new_read(1000, 8);
    let read = rig.issue();
    rig.complete(read.rq);
    rig.heard();
    rig.new_write(5000, 8);
    assert_eq!(rig.issue().start, Sector(5000));
    assert!(rig.heard().contains(&Reason::Injected { into: ME, from: ME, why: Injected::OwnWriteBack }));
}

#[test]
fn a_turn_says_why_it_ends_and_what_follows_for_the_budget() {
    let mut rig = rig();
    rig.queue.set(rig.now, "low_latency", 0).unwrap();
    for n in 0..14 {
        rig.read(n * 2000, 1024);
        rig.read_by(YOU, FAR + n * 2000, 1024);
    }
    serve_all(&mut rig);
    pause(&mut rig, 20);
    let heard = rig.heard();
    let ended = |wanted| move |r: &Reason| matches!(r, Reason::SliceEnded { why, .. } if *why == wanted);
    assert_eq!(count(&heard, ended(SliceEnd::BudgetUsed)), 2);
    let four_times = Reason::BudgetAssigned { owner: ME, waiter: Waiter::Sync, sectors: 16_384 };
    assert!(heard.contains(&four_times), "10,922 times four is more than the greatest: {heard:?}");
    assert!(count(&heard, ended(SliceEnd::IdledInVain)) > 0);
}

#[test]
fn a_seeker_pays_for_its_time() {
    let mut rig = rig();
    rig.queue.set(rig.now, "low_latency", 0).unwrap();
    for n in 0..40 {
        rig.read(100_000 * (n * 7 % 40), 8);
        rig.read_by(YOU, FAR + n * 8, 8);
    }
    serve_all(&mut rig);
    let pays = |r: &Reason| matches!(r, Reason::ChargedForTime { owner: ME, sectors } if *sectors > 0);
    assert!(count(&rig.heard(), pays) > 0);
}

#[test]
fn a_queue_that_starts_takes_the_disk_from_a_writer() {
    let mut rig = rig();
    rig.queue.set(rig.now, "low_latency", 0).unwrap();
    (0..30).for_each(|n| _ = rig.write(n * 2000, 8));
    rig.serve();
    rig.queue.set(rig.now, "low_latency", 1).unwrap();
    rig.heard();
    rig.read_by(YOU, FAR, 8);
    let heard = rig.heard();
    let preempted = |r: &Reason| matches!(r, Reason::SliceEnded { why: SliceEnd::Preempted(Preempt::Heavier), .. });
    assert_eq!(count(&heard, preempted), 1, "{heard:?}");
    assert_eq!(rig.issue().start, Sector(FAR));
}

#[test]
fn a_stream_shows_how_fast_the_disk_is_and_whether_it_queues() {
    let mut rig = rig();
    let mut at = 0;
    for _ in 0..400 {
        (0..8).for_each(|n| _ = rig.submit(Bio::read(0, SubmitterId(10 + n), Sector(u64::from(n) * FAR + at), 1024)));
        at += 4096;
        let mut flying = Vec::new();
        while let Next::Issue(command) = rig.next() {
            flying.push(command.rq);
        }
        for rq in flying {
            rig.now += Span::from_ms(5);
            rig.complete(rq);
        }
    }
    let heard = rig.heard();
    let rate = |r: &Reason| match r {
        Reason::PeakRate { sectors_per_s, .. } => Some(*sectors_per_s),
        _ => None,
    };
    let last = heard.iter().rev().find_map(rate).expect("an estimate");
    assert!((100_000..220_000).contains(&last), "1024 sectors each 5 ms are 204,800 a second: {last}");
    assert_eq!(count(&heard, |r| matches!(r, Reason::DiskQueues { queues: true })), 1);
}
