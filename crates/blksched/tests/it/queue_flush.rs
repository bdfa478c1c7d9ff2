//! Flushes: what they cover, how many are in flight, what waits for them, and which devices need none.

use crate::queue_kit::{FUA, ME, PREFLUSH, Rig, YOU, at_ms, durable};
use blksched::surroundings::{WakeRule, Wakes};
use blksched::{Bio, Durability, Instant, Limits, Next, Op, Outcome, QueueConfig, Reason, Sector, Slots, Submitted};

/// A device with a volatile cache, with or without FUA.
fn cached(fua: bool) -> QueueConfig {
    let limits = Limits { volatile_cache: true, fua, ..Limits::default() };
    QueueConfig { limits, depth: 8, ..QueueConfig::default() }
}

fn rig(config: QueueConfig) -> Rig {
    Rig::new("deadline@2.6.33", config)
}

fn flush(rig: &mut Rig) -> Submitted {
    rig.submit(Bio::flush(0, ME))
}

/// The next command, which must be a flush.
fn flush_command(rig: &mut Rig) -> blksched::author::RequestId {
    let command = rig.issue();
    assert_eq!((command.op, command.sectors, command.fua), (Op::Flush, 0, false));
    command.rq
}

/// For how many bios each flush so far was sent.
fn sent(rig: &mut Rig) -> Vec<u32> {
    let bios = |reason| if let Reason::FlushSent { bios } = reason { Some(bios) } else { None };
    rig.heard().into_iter().filter_map(bios).collect()
}

#[test]
fn a_flush_is_sent_at_once_ahead_of_what_is_queued_and_waits_for_nothing_in_flight() {
    let mut rig = rig(cached(false));
    rig.write(0, 8);
    let write = rig.issue();
    rig.write(100, 8);
    assert_eq!(flush(&mut rig), Submitted::Held);
    let rq = flush_command(&mut rig);
    assert_eq!(rig.queue.in_flight(), 2);
    rig.complete(rq);
    assert_eq!(
        rig.done(),
        [(2, Outcome::Ok)],
        "the write is still in flight: it was not complete when the flush was sent"
    );
    rig.complete(write.rq);
    assert_eq!(rig.drain(), [100]);
}

#[test]
fn a_flush_needs_room_in_the_device_like_any_command() {
    let mut rig = rig(QueueConfig { depth: 1, ..cached(false) });
    rig.write(0, 8);
    let write = rig.issue();
    flush(&mut rig);
    assert_eq!(rig.next(), Next::Full);
    rig.complete(write.rq);
    flush_command(&mut rig);
    rig.write(100, 8);
    assert_eq!(rig.next(), Next::Full);
}

#[test]
fn one_flush_is_in_flight_at_a_time_and_wishes_meanwhile_share_the_next() {
    let mut rig = rig(cached(false));
    flush(&mut rig);
    let first = flush_command(&mut rig);
    for _ in 0..3 {
        flush(&mut rig);
    }
    assert_eq!(rig.next(), Next::Empty, "the second waits for the first");
    rig.complete(first);
    assert_eq!(rig.done(), [(0, Outcome::Ok)]);
    let second = flush_command(&mut rig);
    flush(&mut rig);
    rig.complete(second);
    assert_eq!(rig.done(), [1, 2, 3].map(|tag| (tag, Outcome::Ok)));
    let third = flush_command(&mut rig);
    rig.complete(third);
    assert_eq!(rig.done(), [(4, Outcome::Ok)]);
    assert_eq!(sent(&mut rig), [1, 3, 1]);
}

#[test]
fn wishes_that_come_before_the_flush_is_sent_share_it() {
    let mut rig = rig(cached(false));
    flush(&mut rig);
    rig.submit(Bio::flush(0, YOU));
    rig.submit(durable(0, 8, PREFLUSH));
    flush_command(&mut rig);
    assert_eq!(sent(&mut rig), [3]);
}

#[test]
fn a_write_with_preflush_is_sent_when_its_flush_is_done_and_not_before() {
    let mut rig = rig(cached(true));
    assert_eq!(rig.submit(durable(0, 8, PREFLUSH)), Submitted::Held);
    let rq = flush_command(&mut rig);
    assert_eq!((rig.next(), rig.queue.queued()), (Next::Empty, 0));
    rig.now = at_ms(4);
    rig.complete(rq);
    assert_eq!(rig.done(), []);
    let data = rig.issue();
    assert_eq!((data.op, data.start, data.sectors, data.fua), (Op::Write, Sector(0), 8, false));
    assert_eq!(rig.queue.requests()[data.rq].queued_at, at_ms(4));
    rig.complete(data.rq);
    assert_eq!(rig.done(), [(0, Outcome::Ok)]);
    assert_eq!(sent(&mut rig), [1], "preflush alone needs no flush behind it");
}

#[test]
fn a_write_with_fua_is_written_through_if_the_device_can() {
    let mut rig = rig(cached(true));
    rig.submit(durable(0, 8, FUA));
    let data = rig.issue();
    assert!(data.fua);
    rig.complete(data.rq);
    assert_eq!(rig.done(), [(0, Outcome::Ok)]);
    assert_eq!(sent(&mut rig), []);
}

#[test]
fn a_write_with_fua_is_followed_by_a_flush_if_the_device_cannot() {
    let mut rig = rig(cached(false));
    rig.submit(durable(0, 8, FUA));
    let data = rig.issue();
    assert!(!data.fua);
    rig.complete(data.rq);
    assert_eq!(rig.done(), [], "written, but not stable");
    let rq = flush_command(&mut rig);
    rig.complete(rq);
    assert_eq!(rig.done(), [(0, Outcome::Ok)]);
}

#[test]
fn data_that_completes_while_a_flush_is_in_flight_needs_the_next_one() {
    let mut rig = rig(cached(false));
    rig.submit(durable(0, 8, FUA));
    let data = rig.issue();
    flush(&mut rig);
    let early = flush_command(&mut rig);
    rig.complete(data.rq);
    rig.complete(early);
    assert_eq!(rig.done(), [(1, Outcome::Ok)], "the flush was sent before the data was complete");
    let late = flush_command(&mut rig);
    rig.complete(late);
    assert_eq!(rig.done(), [(0, Outcome::Ok)]);
}

#[test]
fn both_means_flush_then_data_then_flush_or_write_through() {
    let both = Durability { preflush: true, fua: true };
    for fua in [false, true] {
        let mut rig = rig(cached(fua));
        rig.submit(durable(0, 8, both));
        let before = flush_command(&mut rig);
        rig.complete(before);
        let data = rig.issue();
        assert_eq!((data.op, data.fua), (Op::Write, fua));
        rig.complete(data.rq);
        if !fua {
            assert_eq!(rig.done(), []);
            let behind = flush_command(&mut rig);
            rig.complete(behind);
        }
        assert_eq!(rig.done(), [(0, Outcome::Ok)]);
    }
}

#[test]
fn a_device_without_a_volatile_cache_needs_none_of_this() {
    let mut rig = rig(QueueConfig { depth: 8, ..QueueConfig::default() });
    assert_eq!(flush(&mut rig), Submitted::Done);
    assert_eq!(rig.done(), [(0, Outcome::Ok)], "already delivered");
    let first = rig.submit(durable(0, 8, Durability { preflush: true, fua: true }));
    assert!(matches!(first, Submitted::Inserted(_)));
    let second = rig.submit(durable(8, 8, FUA));
    assert!(matches!(second, Submitted::Merged { .. }), "they are plain writes, and merge");
    let data = rig.issue();
    assert_eq!((data.sectors, data.fua), (16, false));
    rig.complete(data.rq);
    assert_eq!(rig.next(), Next::Empty);
    assert_eq!(sent(&mut rig), []);
}

#[test]
fn a_flush_that_fails_fails_all_that_waited_for_it_and_their_data_is_not_sent() {
    let mut rig = rig(cached(false));
    rig.submit(durable(0, 8, FUA));
    let data = rig.issue();
    rig.complete(data.rq);
    rig.submit(Bio::flush(0, YOU));
    rig.submit(durable(100, 8, PREFLUSH));
    let rq = flush_command(&mut rig);
    flush(&mut rig);
    rig.end(rq, Outcome::Failed);
    assert_eq!(rig.done(), [0, 1, 2].map(|tag| (tag, Outcome::Failed)));
    let next = flush_command(&mut rig);
    rig.complete(next);
    assert_eq!(rig.done(), [(3, Outcome::Ok)], "what came later had not waited for it");
    assert_eq!(rig.next(), Next::Empty);
    assert!(rig.queue.requests().is_empty());
}

#[test]
fn data_that_fails_is_not_flushed() {
    let mut rig = rig(cached(false));
    rig.submit(durable(0, 8, FUA));
    let data = rig.issue();
    rig.end(data.rq, Outcome::Failed);
    assert_eq!(rig.done(), [(0, Outcome::Failed)]);
    assert_eq!(rig.next(), Next::Empty);
}

#[test]
fn a_flush_handed_back_is_sent_again_and_then_covers_what_came_meanwhile() {
    let mut rig = rig(cached(false));
    flush(&mut rig);
    let rq = flush_command(&mut rig);
    rig.submit(Bio::flush(0, YOU));
    rig.requeue(rq);
    rig.queue.check();
    assert_eq!(rig.queue.in_flight(), 0);
    let again = flush_command(&mut rig);
    rig.complete(again);
    assert_eq!(rig.done(), [0, 1].map(|tag| (tag, Outcome::Ok)));
    assert_eq!(rig.next(), Next::Empty);
}

#[test]
fn a_long_durable_write_is_split_and_flushed_once_for_each_piece_that_completes_apart() {
    let mut rig = rig(cached(false));
    rig.submit(durable(0, 2000, Durability { preflush: true, fua: true }));
    let before = flush_command(&mut rig);
    rig.complete(before);
    let (one, two) = (rig.issue(), rig.issue());
    assert_eq!((one.sectors, two.sectors), (1024, 976));
    rig.complete(one.rq);
    rig.complete(two.rq);
    let behind = flush_command(&mut rig);
    assert_eq!(rig.done(), []);
    rig.complete(behind);
    assert_eq!(rig.done(), [(0, Outcome::Ok)]);
}

#[test]
fn data_behind_a_flush_holds_a_slot_and_gives_it_back() {
    let slots = Slots::PerDirection { nr_requests: 1, wake: WakeRule::AtFree(1) };
    let mut rig = rig(QueueConfig { slots, ..cached(true) });
    rig.submit(durable(0, 8, PREFLUSH));
    let rq = flush_command(&mut rig);
    rig.complete(rq);
    assert_eq!(rig.write_by(YOU, 100, 8), Submitted::Asleep);
    assert_eq!(rig.drain(), [0, 100]);
    assert_eq!(rig.awake(), [YOU]);
}

#[test]
fn a_flush_is_no_change_of_its_own_for_the_elevators_deadline() {
    let mut rig = rig(cached(false));
    flush(&mut rig);
    assert_eq!(rig.queue.deadline(), None);
    rig.now = Instant::from_ns(1);
    let rq = flush_command(&mut rig);
    assert_eq!((rig.queue.queued(), rig.queue.in_flight()), (0, 1));
    rig.complete(rq);
    assert_eq!((rig.queue.queued(), rig.queue.in_flight()), (0, 0));
}

/// blk-mq leaves a flush to a worker: in a trace of 6.18, a log's write reached the disk 20 us before the flush that
/// another log had requested earlier.
#[test]
fn what_is_submitted_before_the_worker_runs_goes_ahead_of_a_flush() {
    let mq = |wakes| QueueConfig { slots: Slots::LINUX_6_12, wakes, ..cached(false) };
    let mut rig = Rig::new("mq-deadline", mq(Wakes::ByDriver));
    assert_eq!(flush(&mut rig), Submitted::Held);
    rig.write(0, 8);
    assert_eq!(rig.issue().op, Op::Write);
    assert!(rig.queue.needs_worker() && matches!(rig.next(), Next::Empty));
    rig.write(100, 8);
    rig.queue.run_worker(rig.now);
    assert!(!rig.queue.needs_worker());
    flush_command(&mut rig);
    assert_eq!(rig.issue().op, Op::Write);
    // If the driver does not decide when woken tasks run, the worker runs at once.
    let mut rig = Rig::new("mq-deadline", mq(Wakes::AtOnce));
    flush(&mut rig);
    rig.write(0, 8);
    assert!(!rig.queue.needs_worker());
    flush_command(&mut rig);
}
