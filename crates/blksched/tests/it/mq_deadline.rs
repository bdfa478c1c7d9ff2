//! mq-deadline: its classes, ageing, batches and depth, and the reasons it reports.

use crate::queue_kit::{ME, REAL_TIME, Rig, YOU, at_ms, inserted};
use blksched::reasons::{ClassTurn, IdleFor};
use blksched::{Bio, Class, Next, Priority, QueueConfig, Reason, Sector, Slots, Span, Submitted};

const IDLE: Priority = Priority { class: Class::Idle, level: 7 };

/// A device that takes `depth` requests at a time, under the rules of 6.1 (`knobs` and `mechanisms` show what changed).
fn rig(depth: u32) -> Rig {
    Rig::new("mq-deadline@6.1", QueueConfig { depth, ..QueueConfig::default() })
}

fn read(rig: &mut Rig, priority: Priority, start: u64) {
    inserted(rig.submit(Bio { priority, ..Bio::read(0, ME, Sector(start), 8) }));
}

fn served(rig: &mut Rig) -> Vec<(Class, ClassTurn)> {
    let served = |reason| match reason {
        Reason::ClassServed { class, why } => Some((class, why)),
        _ => None,
    };
    rig.heard().into_iter().filter_map(served).collect()
}

#[test]
fn real_time_goes_before_best_effort_and_that_before_idle_and_each_time_it_says_which() {
    let mut rig = rig(1);
    read(&mut rig, IDLE, 100);
    read(&mut rig, Priority::NORMAL, 200);
    read(&mut rig, Priority::default(), 300);
    read(&mut rig, REAL_TIME, 400);
    assert_eq!(rig.drain(), [400, 200, 300, 100]);
    let classes = [Class::RealTime, Class::BestEffort, Class::BestEffort].map(|class| (class, ClassTurn::Highest));
    // With one class left there is no choice.
    assert_eq!(served(&mut rig), classes);
}

#[test]
fn a_lower_class_gets_nothing_while_a_request_of_a_higher_one_is_only_in_flight() {
    let mut rig = rig(8);
    read(&mut rig, REAL_TIME, 400);
    read(&mut rig, Priority::NORMAL, 200);
    let urgent = rig.issue();
    assert_eq!(rig.next(), Next::Wait);
    assert!(rig.heard().contains(&Reason::ClassBlocks { class: Class::RealTime }));
    rig.complete(urgent.rq);
    assert_eq!(rig.issue().start, Sector(200));
}

#[test]
fn a_request_that_waited_prio_aging_expire_goes_first_to_the_tick_and_says_for_how_long() {
    let first_at = |ms| {
        let mut rig = rig(1);
        read(&mut rig, IDLE, 100);
        rig.now = at_ms(ms);
        read(&mut rig, REAL_TIME, 400);
        (rig.serve().0, served(&mut rig))
    };
    let highest = (Class::RealTime, ClassTurn::Highest);
    assert_eq!(first_at(9_999), (400, vec![highest]));
    let aged = (Class::Idle, ClassTurn::Aged { waited: Span::from_secs(10) });
    assert_eq!(first_at(10_000), (100, vec![aged]));
}

#[test]
fn best_effort_ages_before_idle_and_real_time_does_not_age() {
    let mut rig = rig(1);
    read(&mut rig, IDLE, 100);
    read(&mut rig, REAL_TIME, 400);
    read(&mut rig, Priority::NORMAL, 200);
    rig.now = at_ms(20_000);
    assert_eq!(rig.drain(), [200, 100, 400]);
}

/// Each refusal counts the reads once more as preferred to writes, so the decision depends on how often it is asked.
#[test]
fn asking_who_is_old_enough_changes_the_batch_even_if_nobody_is() {
    let first_after = |questions| {
        let mut rig = rig(8);
        read(&mut rig, REAL_TIME, 400);
        let urgent = rig.issue();
        read(&mut rig, Priority::NORMAL, 200);
        inserted(rig.submit(Bio { priority: Priority::NORMAL, ..Bio::write(0, ME, Sector(900), 8) }));
        for _ in 0..questions {
            rig.queue.run();
            assert_eq!(rig.next(), Next::Wait);
        }
        rig.complete(urgent.rq);
        rig.issue().start.0
    };
    assert_eq!([0, 1, 2, 3].map(first_after), [200, 200, 900, 200]);
}

#[test]
fn a_young_request_that_the_batch_would_go_on_with_keeps_an_old_one_behind_it_from_going() {
    let mut rig = rig(8);
    rig.queue.set(rig.now, "prio_aging_expire", 100_000_000).unwrap();
    read(&mut rig, Priority::NORMAL, 100);
    rig.serve();
    read(&mut rig, Priority::NORMAL, 50);
    rig.now = at_ms(90);
    // The batch would continue here, and this request is young.
    read(&mut rig, Priority::NORMAL, 200);
    rig.serve();
    read(&mut rig, Priority::NORMAL, 300);
    read(&mut rig, Priority::NORMAL, 400);
    rig.serve();
    rig.now = at_ms(150);
    read(&mut rig, REAL_TIME, 7000);
    read(&mut rig, REAL_TIME, 8000);
    assert_eq!((rig.serve().0, rig.serve().0), (7000, 8000), "50 is old enough, and 400 is asked about");
}

#[test]
fn a_batch_that_real_time_began_goes_on_in_best_effort() {
    let mut rig = rig(1);
    for (knob, raw) in [("fifo_batch", 2), ("writes_starved", 1)] {
        rig.queue.set(rig.now, knob, raw).unwrap();
    }
    for start in [100, 200, 300] {
        read(&mut rig, Priority::NORMAL, start);
    }
    inserted(rig.submit(Bio { priority: Priority::NORMAL, ..Bio::write(0, ME, Sector(900), 8) }));
    let mut order = vec![rig.serve().0, rig.serve().0];
    // The batch is full, so writes would be next. Real time begins another batch of reads, which best effort continues.
    read(&mut rig, REAL_TIME, 50);
    order.extend(rig.drain());
    assert_eq!(order, [100, 200, 50, 300, 900]);
    let nth = rig.heard().into_iter().filter_map(|reason| match reason {
        Reason::BatchContinued { rq: _, nth } => Some(nth),
        _ => None,
    });
    assert_eq!(nth.collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn a_front_merge_moves_a_request_in_sector_order_and_keeps_its_age() {
    let mut rig = rig(1);
    rig.queue.set(rig.now, "fifo_batch", 1).unwrap();
    rig.reads([1000, 500]);
    assert!(matches!(rig.read(992, 8), Submitted::Merged { .. }));
    assert_eq!(rig.drain_whole(), [(992, 16), (500, 8)]);
}

#[test]
fn a_batch_goes_on_behind_one_that_was_absorbed() {
    let mut rig = rig(1);
    rig.reads([100, 208, 300]);
    rig.serve();
    // 208 would be next; 200 arrives and is coalesced with it, so 208 is absorbed.
    rig.new_read(192, 8);
    assert!(matches!(rig.read(200, 8), Submitted::Merged { .. }));
    assert_eq!(rig.drain_whole(), [(300, 8), (192, 24)]);
}

#[test]
fn a_request_handed_back_goes_first_whatever_its_class() {
    // In 6.1 it would only be the first of its class.
    let mut rig = Rig::new("mq-deadline@6.18", QueueConfig::default());
    read(&mut rig, IDLE, 100);
    let idle = rig.issue();
    read(&mut rig, REAL_TIME, 400);
    rig.requeue(idle.rq);
    assert_eq!(rig.drain(), [100, 400]);
}

/// How many writes get one of 256 slots with this `async_depth`; reads get the rest.
fn writes_let_in(era: &str, async_depth: Option<i64>) -> (u32, bool) {
    let slots = Slots::LINUX_6_12.with_nr_requests(256);
    let mut rig = Rig::new(era, QueueConfig { slots, ..QueueConfig::default() });
    if let Some(raw) = async_depth {
        rig.queue.set(rig.now, "async_depth", raw).unwrap();
    }
    let taken = (0..300).take_while(|nth| rig.write(nth * 100, 8) != Submitted::Asleep).count();
    let read = rig.read_by(YOU, 1 << 30, 8);
    (taken as u32, read != Submitted::Asleep)
}

#[test]
fn async_depth_leaves_slots_that_only_reads_may_take_and_at_first_leaves_none() {
    for era in ["mq-deadline@6.1", "mq-deadline@6.18"] {
        assert_eq!(writes_let_in(era, None), (256, false));
        assert_eq!(writes_let_in(era, Some(256)), (256, false));
        assert_eq!(writes_let_in(era, Some(64)), (64, true));
    }
    assert_eq!(writes_let_in("mq-deadline@6.1", Some(65)), (68, true), "rounded up in each of four words");
    assert_eq!(writes_let_in("mq-deadline@6.18", Some(65)), (65, true));
}

#[test]
fn turning_async_depth_while_running_takes_effect_at_once() {
    let slots = Slots::LINUX_6_1.with_nr_requests(256);
    let mut rig = Rig::new("mq-deadline@6.1", QueueConfig { slots, ..QueueConfig::default() });
    (0..64).for_each(|nth| _ = rig.new_write(nth * 100, 8));
    rig.queue.set(rig.now, "async_depth", 64).unwrap();
    let more = (0..100).take_while(|nth| rig.write((1 << 30) + nth * 100, 8) != Submitted::Asleep).count();
    assert_eq!(more, 48, "16 of each word, and the first word is full");
}

#[test]
fn it_starts_with_as_many_for_writes_as_the_queue_has() {
    let slots = Slots::LINUX_6_1.with_nr_requests(62);
    let rig = Rig::new("mq-deadline", QueueConfig { slots, ..QueueConfig::default() });
    assert_eq!(rig.queue.elevator().tunables().get("async_depth"), Some(62));
}

/// Queued at 0 ms, they expire at 500 ms; with an expire of 100 ms they seem to have arrived at 400 ms.
#[test]
fn lowering_read_expire_leaves_the_disk_alone_until_queued_reads_seem_to_have_come() {
    let mut rig = rig(1);
    rig.reads([100, 200]);
    rig.queue.set(rig.now, "read_expire", 100_000_000).unwrap();
    assert_eq!(rig.next(), Next::Idle { until: at_ms(400), why: IdleFor::AheadOfTime });
    rig.now = at_ms(399);
    assert_eq!(rig.drain(), []);
    assert_eq!(rig.queue.deadline(), Some(at_ms(400)));
    rig.now = at_ms(400);
    assert_eq!(rig.drain(), [100, 200]);
    assert_eq!(rig.queue.deadline(), None);
}

#[test]
fn it_never_asks_to_be_told_the_time() {
    let mut rig = rig(1);
    read(&mut rig, IDLE, 100);
    read(&mut rig, REAL_TIME, 400);
    rig.drain();
    assert_eq!(rig.queue.deadline(), None);
    assert!(!rig.heard().iter().any(|reason| matches!(reason, Reason::Armed { why: IdleFor::Statistics, .. })));
}
