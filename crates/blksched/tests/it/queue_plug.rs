//! Both plugs: the queue's, which holds back dispatch until 2.6.38, and the submitter's, which holds back insertion
//! since 2.6.39.

use crate::queue_kit::{FUA, ME, PREFLUSH, Plain, Rig, Told, YOU, at_ms, durable, inserted, joined};
use blksched::author::Run;
use blksched::author::merge::Merging;
use blksched::reasons::{End, Unplug};
use blksched::surroundings::WakeRule;
use blksched::{
    Bio, Catalogue, Limits, Next, Plugging, QueueConfig, Reason, Sector, Slots, Span, Submitted, SubmitterId,
};

const DELAY: Span = Span::from_ms(3);

fn queue_plug(threshold: u32) -> QueueConfig {
    QueueConfig { plugging: Plugging::Queue { threshold, delay: DELAY }, ..QueueConfig::default() }
}

fn submitter_plug(requests: u32) -> QueueConfig {
    QueueConfig { plugging: Plugging::Submitter { requests }, ..QueueConfig::default() }
}

fn unplugs(rig: &mut Rig) -> Vec<Unplug> {
    let why = |reason| if let Reason::Unplugged(why) = reason { Some(why) } else { None };
    rig.heard().into_iter().filter_map(why).collect()
}

// ---- the queue's plug

#[test]
fn a_request_that_enters_an_empty_queue_closes_the_plug() {
    let mut rig = Rig::new("noop", queue_plug(4));
    assert_eq!(rig.next(), Next::Empty);
    assert_eq!(rig.queue.deadline(), None);
    rig.now = at_ms(10);
    rig.read(0, 8);
    assert!(rig.heard().contains(&Reason::Plugged));
    assert!(matches!(rig.next(), Next::Plugged { .. }));
    assert_eq!(rig.queue.deadline(), Some(at_ms(13)));
}

#[test]
fn a_second_request_neither_closes_the_plug_again_nor_postpones_its_opening() {
    let mut rig = Rig::new("noop", queue_plug(4));
    rig.read(0, 8);
    rig.heard();
    rig.now = at_ms(2);
    rig.read(100, 8);
    assert!(!rig.heard().contains(&Reason::Plugged));
    assert_eq!(rig.queue.deadline(), Some(at_ms(3)));
}

#[test]
fn the_plug_opens_with_the_request_that_reaches_the_threshold() {
    let mut rig = Rig::new("noop", queue_plug(4));
    for nth in 0..3 {
        rig.read(nth * 100, 8);
        assert!(matches!(rig.next(), Next::Plugged { .. }));
    }
    rig.read(300, 8);
    assert_eq!(unplugs(&mut rig), [Unplug::Threshold]);
    assert_eq!(rig.drain(), [0, 100, 200, 300]);
}

#[test]
fn bios_that_merge_do_not_count_towards_the_threshold() {
    let mut rig = Rig::new("noop", queue_plug(4));
    for nth in 0..10 {
        rig.read(nth * 8, 8);
    }
    assert!(matches!(rig.next(), Next::Plugged { .. }));
    rig.queue.waits(rig.now, ME);
    assert_eq!(rig.drain_whole(), [(0, 80)]);
}

#[test]
fn the_plug_opens_after_its_delay_and_not_a_nanosecond_before() {
    let mut rig = Rig::new("noop", queue_plug(4));
    rig.read(0, 8);
    rig.now = blksched::Instant::from_ns(DELAY.as_ns() - 1);
    assert!(matches!(rig.next(), Next::Plugged { .. }));
    rig.now = at_ms(3);
    assert!(matches!(rig.next(), Next::Issue(_)));
    assert_eq!(unplugs(&mut rig), [Unplug::Timer]);
    assert_eq!(rig.queue.deadline(), None);
}

#[test]
fn a_driver_that_comes_late_finds_the_plug_opened_in_time() {
    let mut rig = Rig::new("noop", queue_plug(4));
    rig.read(0, 8);
    rig.now = at_ms(50);
    rig.queue.elapse(rig.now);
    let opened = (at_ms(3), Reason::Unplugged(Unplug::Timer));
    assert!(rig.heard_when().contains(&opened));
}

#[test]
fn the_plug_opens_when_any_submitter_waits() {
    let mut rig = Rig::new("noop", queue_plug(4));
    rig.read(0, 8);
    rig.queue.waits(rig.now, YOU);
    assert_eq!(unplugs(&mut rig), [Unplug::Waiting]);
    assert!(matches!(rig.next(), Next::Issue(_)));
}

#[test]
fn the_plug_opens_when_a_submitter_sleeps_for_a_slot() {
    let slots = Slots::PerDirection { nr_requests: 2, wake: WakeRule::AtFree(1) };
    let mut rig = Rig::new("noop", QueueConfig { slots, ..queue_plug(4) });
    rig.read(0, 8);
    rig.read(100, 8);
    assert_eq!(rig.read(200, 8), Submitted::Asleep);
    assert_eq!(unplugs(&mut rig), [Unplug::Waiting]);
    assert!(matches!(rig.next(), Next::Issue(_)));
}

#[test]
fn the_plug_opens_when_the_elevator_wishes_a_run_now_or_soon() {
    for (wish, expected) in [(Run::No, vec![]), (Run::Soon, vec![Unplug::Wished]), (Run::Now, vec![Unplug::Wished])] {
        let mut rig = Rig::with(Box::new(Plain { wish, ..Plain::new(Merging::LINUX_2_6) }), queue_plug(4));
        rig.read(0, 8);
        let wished = rig.queue.listener().iter().any(|&(_, reason)| reason == Reason::WishedRun(wish));
        assert_eq!(wished, wish != Run::No);
        assert_eq!(unplugs(&mut rig), expected, "{wish:?}");
        assert_eq!(matches!(rig.next(), Next::Plugged { .. }), wish == Run::No);
    }
}

#[test]
fn a_plugged_elevator_is_not_asked() {
    let plain = Plain::new(Merging::LINUX_2_6);
    let mut rig = Rig::with(plain.boxed(), queue_plug(4));
    rig.read(0, 8);
    assert!(matches!(rig.next(), Next::Plugged { .. }));
    assert!(!plain.told.lock().unwrap().contains(&Told::Dispatch));
}

#[test]
fn an_open_plug_stays_open_until_the_elevator_is_empty_even_if_the_device_is_not() {
    let mut rig = Rig::new("noop", QueueConfig { depth: 8, ..queue_plug(2) });
    rig.read(0, 8);
    rig.read(100, 8);
    rig.issue();
    rig.heard();
    rig.read(200, 8);
    assert!(!rig.heard().contains(&Reason::Plugged), "one is queued still");
    rig.issue();
    rig.issue();
    rig.read(300, 8);
    assert!(rig.heard().contains(&Reason::Plugged), "three are in flight, none is queued");
    assert!(matches!(rig.next(), Next::Plugged { .. }));
}

#[test]
fn a_full_device_says_so_before_the_plug_does() {
    let mut rig = Rig::new("noop", queue_plug(1));
    rig.read(0, 8);
    rig.issue();
    rig.read(100, 8);
    assert_eq!(rig.next(), Next::Full);
}

#[test]
fn a_flush_passes_a_closed_plug() {
    let limits = Limits { volatile_cache: true, ..Limits::default() };
    let mut rig = Rig::new("noop", QueueConfig { limits, depth: 8, ..queue_plug(4) });
    rig.write(0, 8);
    rig.submit(Bio::flush(0, ME));
    assert_eq!(rig.issue().op, blksched::Op::Flush);
    assert!(matches!(rig.next(), Next::Plugged { .. }));
}

#[test]
fn a_queue_that_never_plugs_issues_at_once() {
    let mut rig = Rig::new("noop", QueueConfig::default());
    rig.read(0, 8);
    assert!(matches!(rig.next(), Next::Issue(_)));
    assert!(!rig.heard().contains(&Reason::Plugged));
}

/// How many separate reads one submitter must send until the first is issued without any task waiting.
fn reads_until_issued(spec: &str) -> u32 {
    let built = Catalogue::builtin().build(spec).unwrap();
    let mut rig = Rig::with(built.elevator, QueueConfig { plugging: built.plugging, ..QueueConfig::default() });
    (1..)
        .find(|&nth| {
            rig.read(u64::from(nth) * 1000, 8);
            matches!(rig.next(), Next::Issue(_))
        })
        .unwrap()
}

#[test]
fn each_era_lets_go_at_its_own_number_of_requests() {
    let eras = ["deadline@2.5.38", "deadline@2.5.45", "deadline@2.6.33", "deadline@4.20"];
    assert_eq!(eras.map(reads_until_issued), [32, 32, 4, 16]);
}

// ---- the submitter's plug

#[test]
fn a_submitters_requests_are_held_until_it_waits_and_then_enter_in_its_order() {
    let plain = Plain::new(Merging::LINUX_4_20);
    let mut rig = Rig::with(plain.boxed(), submitter_plug(16));
    for start in [500, 100, 300] {
        assert_eq!(rig.read(start, 8), Submitted::Held);
    }
    assert_eq!((rig.next(), rig.queue.queued()), (Next::Plugged { until: Some(at_ms(100)) }, 0));
    assert!(!rig.heard().iter().any(|reason| matches!(reason, Reason::Inserted { .. })));
    rig.queue.waits(rig.now, ME);
    assert_eq!(rig.queue.queued(), 3);
    assert_eq!(rig.drain(), [500, 100, 300]);
}

#[test]
fn the_elevator_hears_of_what_is_held_when_it_leaves_the_plug() {
    let plain = Plain::new(Merging::LINUX_4_20);
    let mut rig = Rig::with(plain.boxed(), submitter_plug(16));
    rig.read(500, 8);
    assert!(plain.told.lock().unwrap().is_empty());
    rig.queue.waits(rig.now, ME);
    let told = plain.told.lock().unwrap().clone();
    assert!(matches!(told[..], [Told::Prepare(rq), Told::Insert(same)] if rq == same), "{told:?}");
}

#[test]
fn another_submitters_wait_does_not_hand_mine_over() {
    let mut rig = Rig::new("noop", submitter_plug(16));
    rig.read(0, 8);
    rig.read_by(YOU, 100, 8);
    rig.queue.waits(rig.now, YOU);
    assert_eq!(rig.drain(), [100]);
    rig.queue.waits(rig.now, ME);
    assert_eq!(rig.drain(), [0]);
}

#[test]
fn a_submitter_that_reaches_the_number_hands_over_and_begins_anew() {
    let mut rig = Rig::new("noop", submitter_plug(16));
    for nth in 0..15 {
        rig.read(nth * 100, 8);
    }
    assert_eq!(rig.queue.queued(), 0);
    rig.read(1500, 8);
    assert_eq!(rig.queue.queued(), 16);
    rig.read(1600, 8);
    assert_eq!(rig.queue.queued(), 16, "the seventeenth waits for its own burst");
}

#[test]
fn the_number_is_counted_for_each_submitter_alone() {
    let mut rig = Rig::new("noop", submitter_plug(4));
    for nth in 0..3 {
        rig.read_by(ME, nth * 100, 8);
        rig.read_by(YOU, 10_000 + nth * 100, 8);
    }
    assert_eq!(rig.queue.queued(), 0);
}

#[test]
fn a_submitter_that_is_gone_hands_over_what_it_had() {
    let mut rig = Rig::new("noop", submitter_plug(16));
    rig.read(0, 8);
    rig.queue.forget(rig.now, ME);
    assert_eq!(rig.drain(), [0]);
}

#[test]
fn a_submitter_that_sleeps_for_a_slot_hands_over_what_it_had() {
    let slots = Slots::PerDirection { nr_requests: 2, wake: WakeRule::AtFree(1) };
    let mut rig = Rig::new("noop", QueueConfig { slots, ..submitter_plug(16) });
    rig.read(0, 8);
    rig.read(100, 8);
    assert_eq!(rig.read(200, 8), Submitted::Asleep);
    assert_eq!(rig.queue.queued(), 2, "it cannot say that it waits: it sleeps");
    assert_eq!(rig.drain(), [0, 100, 200]);
    assert_eq!(rig.awake(), [ME]);
}

#[test]
fn a_bio_joins_what_its_submitter_collected_at_either_end_and_says_so() {
    let mut rig = Rig::new("noop", submitter_plug(16));
    rig.read(100, 8);
    let into = joined(rig.read(108, 8));
    assert_eq!(joined(rig.read(92, 8)), into);
    let merges: Vec<Reason> = rig.heard().into_iter().filter(|r| matches!(r, Reason::Merged { .. })).collect();
    assert_eq!(merges, [Reason::Merged { into, end: End::Back }, Reason::Merged { into, end: End::Front }]);
    rig.queue.waits(rig.now, ME);
    assert_eq!(rig.drain_whole(), [(92, 24)]);
    let mut done = rig.done();
    done.sort_by_key(|&(tag, _)| tag);
    assert_eq!(done.len(), 3);
}

#[test]
fn of_two_collected_requests_that_fit_the_newer_is_joined() {
    let mut rig = Rig::new("noop", submitter_plug(16));
    rig.read(0, 8);
    rig.read(0, 8);
    let into = joined(rig.read(8, 8));
    assert_eq!(rig.queue.requests()[into].serial, 1);
}

#[test]
fn a_collected_request_that_would_grow_too_large_is_passed_over_for_an_older_one() {
    let limits = Limits { max_sectors: 16, ..Limits::default() };
    let mut rig = Rig::new("noop", QueueConfig { limits, ..submitter_plug(16) });
    rig.read(8, 8);
    rig.read(0, 16);
    let into = joined(rig.read(16, 8));
    assert_eq!(rig.queue.requests()[into].serial, 0);
}

#[test]
fn a_bio_does_not_join_what_another_submitter_collected() {
    let mut rig = Rig::new("noop", submitter_plug(16));
    rig.read_by(YOU, 0, 8);
    assert_eq!(rig.read_by(ME, 8, 8), Submitted::Held);
}

#[test]
fn a_bio_that_finds_nothing_collected_joins_what_is_queued() {
    let mut rig = Rig::new("deadline@4.20", submitter_plug(16));
    rig.read_by(YOU, 0, 8);
    rig.queue.waits(rig.now, YOU);
    rig.read_by(ME, 500, 8);
    joined(rig.read_by(ME, 8, 8));
}

#[test]
fn a_read_does_not_join_a_collected_write() {
    let mut rig = Rig::new("noop", submitter_plug(16));
    rig.write(0, 8);
    assert_eq!(rig.read(8, 8), Submitted::Held);
}

#[test]
fn a_write_that_must_be_durable_joins_nothing_collected() {
    let limits = Limits { volatile_cache: true, fua: true, ..Limits::default() };
    let mut rig = Rig::new("noop", QueueConfig { limits, ..submitter_plug(16) });
    rig.submit(Bio::write(0, ME, Sector(0), 8));
    rig.submit(durable(8, 8, FUA));
    rig.queue.waits(rig.now, ME);
    let plain = rig.issue();
    rig.complete(plain.rq);
    let written_through = rig.issue();
    assert_eq!((plain.sectors, plain.fua), (8, false));
    assert_eq!((written_through.sectors, written_through.fua), (8, true));
}

#[test]
fn data_behind_a_flush_does_not_wait_in_a_plug_that_nobody_opens() {
    let limits = Limits { volatile_cache: true, ..Limits::default() };
    for plugging in [Plugging::LINUX_2_6, Plugging::LINUX_3] {
        let mut rig = Rig::new("noop", QueueConfig { limits, plugging, ..QueueConfig::default() });
        rig.submit(durable(0, 8, PREFLUSH));
        rig.queue.waits(rig.now, ME);
        let flush = rig.issue();
        rig.complete(flush.rq);
        assert_eq!(rig.drain_whole(), [(0, 8)], "{plugging:?}: its submitter has said already that it waits");
    }
}

#[test]
fn an_elevator_under_which_nothing_merges_merges_nothing_in_the_plug_either() {
    let mut rig = Rig::with(Box::new(Plain::new(Merging::NEVER)), submitter_plug(16));
    rig.read(0, 8);
    assert_eq!(rig.read(8, 8), Submitted::Held);
    rig.queue.waits(rig.now, ME);
    assert_eq!(rig.drain_whole(), [(0, 8), (8, 8)]);
}

#[test]
fn a_collected_request_holds_a_slot() {
    let slots = Slots::PerDirection { nr_requests: 2, wake: WakeRule::AtFree(1) };
    let mut rig = Rig::new("noop", QueueConfig { slots, ..submitter_plug(16) });
    rig.read_by(YOU, 0, 8);
    rig.read_by(YOU, 100, 8);
    assert_eq!(rig.read_by(ME, 200, 8), Submitted::Asleep);
}

#[test]
fn many_submitters_come_and_go_and_leave_nothing_behind() {
    let mut rig = Rig::new("noop", submitter_plug(16));
    for who in 0..100 {
        rig.read_by(SubmitterId(who), u64::from(who) * 100, 8);
        rig.queue.forget(rig.now, SubmitterId(who));
    }
    assert_eq!(rig.drain().len(), 100);
    assert!(rig.queue.requests().is_empty());
}

#[test]
fn the_queues_plug_does_not_hold_back_insertion() {
    let mut rig = Rig::new("noop", queue_plug(4));
    inserted(rig.read(0, 8));
    assert_eq!(rig.queue.queued(), 1);
}
