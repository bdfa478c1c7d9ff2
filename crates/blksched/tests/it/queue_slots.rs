//! Request slots: how many requests may exist, which submitters sleep when there are none, and which wake, when, and
//! how often.

use crate::dice::Dice;
use crate::queue_kit::{ME, PREFLUSH, Plain, Rig, WHO, YOU, at_ms, durable};
use blksched::author::merge::Merging;
use blksched::surroundings::WakeRule;
use blksched::{
    Bio, Dir, Instant, Limits, Next, Plugging, QueueConfig, Reason, Sector, Slots, Span, Submitted, SubmitterId,
};

fn with(slots: Slots) -> QueueConfig {
    QueueConfig { slots, depth: 1000, ..QueueConfig::default() }
}

fn per_direction(nr_requests: u32, wake: WakeRule) -> QueueConfig {
    with(Slots::PerDirection { nr_requests, wake })
}

fn shared(nr_requests: u32) -> QueueConfig {
    with(Slots::LINUX_6_1.with_nr_requests(nr_requests))
}

/// noop, so that only slots have an effect.
fn rig(config: QueueConfig) -> Rig {
    Rig::new("noop", config)
}

/// Sends this many reads of other submitters, far apart, to the device.
fn fill(rig: &mut Rig, reads: u64) -> Vec<blksched::author::RequestId> {
    for nth in 0..reads {
        rig.read_by(WHO, 1_000_000 + nth * 100, 8);
    }
    let mut in_flight = Vec::new();
    while let Next::Issue(command) = rig.next() {
        in_flight.push(command.rq);
    }
    assert_eq!(in_flight.len() as u64, reads);
    in_flight
}

/// The number of completions until the only sleeper wakes.
fn completions_until_awake(config: QueueConfig, requests: u64) -> usize {
    let mut rig = rig(config);
    let in_flight = fill(&mut rig, requests);
    assert_eq!(rig.read(0, 8), Submitted::Asleep);
    for (nth, rq) in in_flight.into_iter().enumerate() {
        rig.complete(rq);
        let _ = rig.next();
        if rig.awake() == [ME] {
            return nth + 1;
        }
    }
    panic!("it never woke")
}

// ---- how many

#[test]
fn an_unlimited_queue_lets_nobody_sleep() {
    let mut rig = rig(QueueConfig::default());
    assert!((0..2000).all(|nth| rig.read(nth * 100, 8) != Submitted::Asleep));
}

#[test]
fn until_blk_mq_each_direction_has_its_own_slots() {
    let mut rig = rig(per_direction(3, WakeRule::AtFree(1)));
    for nth in 0..3 {
        assert_ne!(rig.read(nth * 100, 8), Submitted::Asleep);
    }
    assert_eq!(rig.read(300, 8), Submitted::Asleep);
    for nth in 0..3 {
        assert_ne!(rig.write(nth * 100, 8), Submitted::Asleep);
    }
    assert_eq!(rig.write(300, 8), Submitted::Asleep);
    let slept: Vec<Reason> = rig.heard().into_iter().filter(|r| matches!(r, Reason::Slept { .. })).collect();
    assert_eq!(slept, [Dir::Read, Dir::Write].map(|dir| Reason::Slept { submitter: ME, dir }));
}

#[test]
fn since_blk_mq_both_directions_share_them() {
    let mut rig = rig(shared(4));
    for nth in 0..2 {
        assert_ne!(rig.read(nth * 100, 8), Submitted::Asleep);
        assert_ne!(rig.write(nth * 100, 8), Submitted::Asleep);
    }
    assert_eq!(rig.read(300, 8), Submitted::Asleep);
    assert_eq!(rig.write(300, 8), Submitted::Asleep);
}

#[test]
fn a_slot_comes_free_when_the_device_is_done_and_not_when_it_begins() {
    let mut rig = rig(per_direction(1, WakeRule::AtFree(1)));
    rig.read_by(YOU, 0, 8);
    let command = rig.issue();
    assert_eq!(rig.read(100, 8), Submitted::Asleep);
    assert_eq!((rig.next(), rig.awake()), (Next::Empty, vec![]));
    rig.complete(command.rq);
    assert_eq!(rig.issue().start, Sector(100));
    assert_eq!(rig.awake(), [ME]);
}

#[test]
fn a_slot_comes_free_when_two_requests_become_one() {
    let mut rig = rig(per_direction(2, WakeRule::AtFree(1)));
    rig.read_by(YOU, 0, 8);
    rig.read_by(YOU, 16, 8);
    assert_eq!(rig.read(500, 8), Submitted::Asleep);
    rig.read_by(YOU, 8, 8);
    assert_eq!(rig.drain_whole(), [(0, 24), (500, 8)]);
    assert_eq!(rig.awake(), [ME]);
}

#[test]
fn a_bio_that_merges_needs_no_slot() {
    let mut rig = rig(per_direction(1, WakeRule::AtFree(1)));
    rig.read(0, 8);
    assert!(matches!(rig.read(8, 8), Submitted::Merged { .. }));
    assert_eq!(rig.read(100, 8), Submitted::Asleep);
    assert!(matches!(rig.read(16, 8), Submitted::Merged { .. }), "not even behind a sleeper");
}

#[test]
fn a_sleeper_that_can_merge_when_it_wakes_needs_no_slot_either() {
    let mut rig = rig(per_direction(2, WakeRule::AtFree(1)));
    let in_flight = fill(&mut rig, 2);
    rig.read_by(YOU, 100, 8);
    rig.read_by(ME, 108, 8);
    in_flight.into_iter().for_each(|rq| rig.complete(rq));
    assert_eq!(rig.drain_whole(), [(100, 16)], "both woke before the queue ran again");
    assert_eq!(rig.awake(), [YOU, ME]);
}

#[test]
fn until_blk_mq_a_flush_needs_no_slot_and_since_then_it_holds_one_from_start_to_end() {
    let limits = Limits { volatile_cache: true, ..Limits::default() };
    let mut early = rig(QueueConfig { limits, ..per_direction(1, WakeRule::AtFree(1)) });
    early.write(0, 8);
    assert_eq!(early.submit(Bio::flush(0, YOU)), Submitted::Held);
    assert_eq!(early.issue().op, blksched::Op::Flush);
    let mut late = rig(QueueConfig { limits, ..shared(1) });
    assert_eq!(late.submit(Bio::flush(0, YOU)), Submitted::Held);
    let flush = late.issue();
    assert_eq!((flush.op, late.write(0, 8)), (blksched::Op::Flush, Submitted::Asleep));
    late.complete(flush.rq);
    assert_eq!(late.issue().op, blksched::Op::Write);
}

// ---- when a sleeper wakes

#[test]
fn in_2_5_a_sleeper_wakes_when_32_slots_are_free() {
    assert_eq!(completions_until_awake(with(Slots::LINUX_2_5), 128), 32);
}

#[test]
fn in_2_6_a_sleeper_wakes_at_the_first_free_slot() {
    assert_eq!(completions_until_awake(with(Slots::LINUX_2_6), 128), 1);
}

#[test]
fn in_blk_mq_a_sleeper_wakes_when_8_tags_are_free() {
    assert_eq!(completions_until_awake(with(Slots::LINUX_6_1), 256), 8);
}

#[test]
fn if_there_are_fewer_slots_than_that_all_must_be_free() {
    assert_eq!(completions_until_awake(with(Slots::LINUX_2_5.with_nr_requests(5)), 5), 5);
}

#[test]
fn in_2_5_each_further_sleeper_waits_until_32_are_free_again() {
    let mut rig = rig(with(Slots::LINUX_2_5));
    let mut in_flight = fill(&mut rig, 128).into_iter();
    rig.read_by(YOU, 0, 8);
    rig.read_by(ME, 100, 8);
    in_flight.by_ref().take(32).for_each(|rq| rig.complete(rq));
    let _ = rig.next();
    assert_eq!(rig.awake(), [YOU]);
    let _ = rig.next();
    assert_eq!(rig.awake(), [], "31 are free");
    in_flight.by_ref().take(1).for_each(|rq| rig.complete(rq));
    let _ = rig.next();
    assert_eq!(rig.awake(), [ME]);
}

#[test]
fn a_new_submitter_goes_behind_sleeping_ones_though_slots_are_free() {
    let mut rig = rig(with(Slots::LINUX_2_5));
    let in_flight = fill(&mut rig, 128);
    rig.read_by(YOU, 0, 8);
    in_flight.into_iter().take(31).for_each(|rq| rig.complete(rq));
    assert_eq!(rig.read_by(ME, 100, 8), Submitted::Asleep);
    assert_ne!(rig.write_by(ME, 100, 8), Submitted::Asleep, "nobody sleeps for a write");
}

#[test]
fn those_who_sleep_wake_in_the_order_in_which_they_came() {
    for slots in [Slots::LINUX_2_5, Slots::LINUX_2_6, Slots::LINUX_6_1] {
        let mut rig = rig(with(slots.with_nr_requests(4)));
        let in_flight = fill(&mut rig, 4);
        let sleepers: Vec<SubmitterId> = [9, 4, 7, 5, 8].map(SubmitterId).into();
        for (nth, &who) in sleepers.iter().enumerate() {
            assert_eq!(rig.read_by(who, nth as u64 * 100, 8), Submitted::Asleep);
        }
        in_flight.into_iter().for_each(|rq| rig.complete(rq));
        let order = rig.drain();
        assert_eq!(order, [0, 100, 200, 300, 400], "{slots:?}");
        assert_eq!(rig.awake(), sleepers);
    }
}

#[test]
fn waking_is_said_with_the_moment_at_which_it_happened() {
    let mut rig = rig(per_direction(1, WakeRule::AtFree(1)));
    let in_flight = fill(&mut rig, 1);
    rig.read(0, 8);
    rig.now = at_ms(7);
    rig.complete(in_flight[0]);
    let _ = rig.next();
    assert!(rig.heard_when().contains(&(at_ms(7), Reason::Woke { submitter: ME })));
}

// ---- the batch of a woken submitter in 2.6

const BATCH: WakeRule = WakeRule::Batcher { requests: 32, time: Span::from_ms(20) };

/// With all slots taken, a submitter wakes at the first completion: how many of its reads are accepted before it sleeps
/// again, including the one that slept. `others` sleep behind it; `later` passes before it continues.
fn batch(nr_requests: u32, others: u32, later: Span) -> u64 {
    let mut rig = rig(per_direction(nr_requests, BATCH));
    let in_flight = fill(&mut rig, u64::from(nr_requests));
    assert_eq!(rig.read(0, 8), Submitted::Asleep);
    for other in 0..others {
        assert_eq!(rig.read_by(SubmitterId(100 + other), 500_000 + u64::from(other) * 100, 8), Submitted::Asleep);
    }
    rig.complete(in_flight[0]);
    let _ = rig.next();
    assert_eq!(rig.awake(), [ME]);
    rig.now += later;
    (1..).find(|&nth| rig.read(nth * 100, 8) == Submitted::Asleep).unwrap()
}

#[test]
fn in_2_6_a_woken_submitter_takes_32_requests_in_all_however_many_sleep_behind_it() {
    assert_eq!(batch(128, 0, Span::ZERO), 32);
    assert_eq!(batch(128, 1, Span::ZERO), 32);
    assert_eq!(batch(128, 10, Span::ZERO), 32);
}

#[test]
fn in_2_6_each_woken_submitter_has_a_batch_of_its_own() {
    let mut rig = rig(per_direction(128, BATCH));
    let in_flight = fill(&mut rig, 128);
    let read =
        |rig: &mut Rig, who: SubmitterId, nth: u64| rig.read_by(who, u64::from(who.0) * 1_000_000 + nth * 100, 8);
    assert!([ME, YOU].into_iter().all(|who| read(&mut rig, who, 0) == Submitted::Asleep));
    in_flight[..2].iter().for_each(|&rq| rig.complete(rq));
    let _ = rig.next();
    assert_eq!(rig.awake(), [ME, YOU]);
    for who in [ME, YOU] {
        assert_eq!((1..).find(|&nth| read(&mut rig, who, nth) == Submitted::Asleep), Some(32), "{who:?}");
    }
}

#[test]
fn the_batch_ends_at_one_and_a_half_times_the_slots() {
    assert_eq!(batch(8, 0, Span::ZERO), 1 + 4);
    assert_eq!(batch(8, 3, Span::ZERO), 1 + 4);
}

#[test]
fn the_batch_ends_after_20_ms() {
    assert_eq!(batch(128, 0, Span::from_ms(19)), 32);
    assert_eq!(batch(128, 0, Span::from_ms(21)), 1);
}

#[test]
fn the_batch_is_nobody_elses() {
    let mut rig = rig(per_direction(128, BATCH));
    let in_flight = fill(&mut rig, 128);
    rig.read(0, 8);
    rig.complete(in_flight[0]);
    let _ = rig.next();
    assert_eq!(rig.read_by(YOU, 100, 8), Submitted::Asleep);
    assert_ne!(rig.read(200, 8), Submitted::Asleep);
}

#[test]
fn the_batch_is_for_the_direction_that_was_slept_for() {
    let mut rig = rig(per_direction(2, BATCH));
    let in_flight = fill(&mut rig, 2);
    rig.write_by(YOU, 0, 8);
    rig.write_by(YOU, 100, 8);
    rig.read(0, 8);
    rig.complete(in_flight[0]);
    assert!(matches!(rig.next(), Next::Issue(_)));
    while let Next::Issue(_) = rig.next() {}
    assert_eq!(rig.awake(), [ME]);
    assert_eq!(rig.write(200, 8), Submitted::Asleep);
}

#[test]
fn in_blk_mq_nobody_exceeds_the_tags() {
    let mut rig = rig(with(Slots::LINUX_6_1));
    let in_flight = fill(&mut rig, 256);
    rig.read(0, 8);
    in_flight.into_iter().take(8).for_each(|rq| rig.complete(rq));
    let _ = rig.next();
    let went = (1..).take_while(|&nth| rig.read(nth * 100, 8) != Submitted::Asleep).count();
    assert_eq!(went, 7);
}

// ---- awake, once

#[test]
fn a_split_bio_that_sleeps_wakes_once_with_its_last_piece() {
    let mut rig = rig(per_direction(2, WakeRule::AtFree(1)));
    let in_flight = fill(&mut rig, 1);
    assert_eq!(rig.read(0, 3000), Submitted::Asleep);
    let slept = rig.heard().into_iter().filter(|r| matches!(r, Reason::Slept { .. })).count();
    assert_eq!(slept, 1);
    let one = rig.issue();
    assert_eq!((one.start, one.sectors), (Sector(0), 1024));
    rig.complete(in_flight[0]);
    let two = rig.issue();
    assert_eq!((two.start, rig.awake()), (Sector(1024), vec![]), "its last piece has no slot yet");
    rig.complete(one.rq);
    let three = rig.issue();
    assert_eq!((three.start, three.sectors), (Sector(2048), 952));
    assert_eq!(rig.awake(), [ME]);
    rig.complete(two.rq);
    assert_eq!(rig.done().len(), 0);
    rig.complete(three.rq);
    assert_eq!(rig.done().len(), 1);
}

#[test]
fn every_sleep_is_answered_by_one_awake_whatever_happens() {
    let kinds = [Slots::LINUX_2_5, Slots::LINUX_2_6, Slots::LINUX_6_1].map(|slots| slots.with_nr_requests(6));
    let pluggings = [Plugging::Never, Plugging::LINUX_2_6, Plugging::LINUX_3];
    let limits = Limits { max_sectors: 64, volatile_cache: true, ..Limits::default() };
    for (seed, (slots, plugging)) in (0..).zip(kinds.iter().flat_map(|&k| pluggings.map(|p| (k, p)))) {
        let mut dice = Dice(seed);
        let mut rig = rig(QueueConfig { slots, plugging, depth: 3, limits, ..QueueConfig::default() });
        let (mut asleep, mut in_flight, mut slept, mut submitted, mut done) = (vec![], vec![], 0, 0, 0);
        for step in 0..4000 {
            rig.now = Instant::from_ns(step * 100_000);
            let who = SubmitterId(dice.below(8) as u32);
            match dice.below(8) {
                0..4 if !asleep.contains(&who) => {
                    let (start, sectors) = (Sector(dice.below(5000) * 8), 8 + dice.below(12) as u32 * 8);
                    let bio = match dice.below(10) {
                        0 => Bio { submitter: who, ..durable(start.0, sectors, PREFLUSH) },
                        1..5 => Bio::read(0, who, start, sectors),
                        _ => Bio::write(0, who, start, sectors),
                    };
                    submitted += 1;
                    if rig.submit(bio) == Submitted::Asleep {
                        slept += 1;
                        asleep.push(who);
                    }
                }
                4 => rig.queue.waits(rig.now, who),
                5 | 6 => {
                    if let Next::Issue(command) = rig.next() {
                        in_flight.push(command.rq);
                    }
                }
                _ if !in_flight.is_empty() => {
                    let rq = in_flight.swap_remove(dice.below(in_flight.len() as u64) as usize);
                    rig.complete(rq);
                }
                _ => {}
            }
            for delivery in rig.delivered() {
                match delivery {
                    blksched::Delivery::Done { .. } => done += 1,
                    blksched::Delivery::Awake(who) => {
                        let at = asleep.iter().position(|&sleeper| sleeper == who);
                        asleep.remove(at.expect("only a sleeper wakes"));
                    }
                    blksched::Delivery::Runnable(_) => unreachable!("woken tasks run by themselves here"),
                }
            }
        }
        for _ in 0..20 {
            for who in 0..8 {
                rig.queue.waits(rig.now, SubmitterId(who));
            }
            for rq in in_flight.drain(..) {
                rig.complete(rq);
            }
            rig.drain();
        }
        let woke = rig.delivered();
        let awake = woke.iter().filter(|d| matches!(d, blksched::Delivery::Awake(_))).count();
        assert_eq!(awake, asleep.len(), "{slots:?} {plugging:?}: {slept} slept");
        assert_eq!(done + woke.len() - awake, submitted, "{slots:?} {plugging:?}");
        assert!(slept > 20, "{slots:?} {plugging:?}: {slept} slept only");
        assert!(rig.queue.requests().is_empty());
    }
}

#[test]
fn data_that_was_held_for_a_flush_wakes_nobody() {
    let limits = Limits { volatile_cache: true, ..Limits::default() };
    let mut rig = rig(QueueConfig { limits, ..per_direction(1, WakeRule::AtFree(1)) });
    rig.write_by(YOU, 0, 8);
    let write = rig.issue();
    assert_eq!(rig.submit(durable(100, 8, PREFLUSH)), Submitted::Held);
    let flush = rig.issue();
    rig.complete(flush.rq);
    let _ = rig.next();
    rig.complete(write.rq);
    assert_eq!(rig.drain(), if rig.queue.in_flight() == 0 { vec![100] } else { vec![] });
    assert_eq!(rig.awake(), [], "it was never told that it sleeps");
}

// ---- shallow admission

fn shallow(dir: Dir, per_word: u32) -> Box<dyn blksched::author::Elevator> {
    Box::new(Plain { shallow: Some((dir, per_word)), ..Plain::new(Merging::LINUX_2_6) })
}

#[test]
fn a_request_that_may_take_few_tags_of_each_word_sleeps_while_more_are_taken() {
    // Words of 64 tags, or smaller so that there are four: 256 are 4 × 64, 512 are 8 × 64, 16 are 4 × 4.
    for (tags, per_word, limit) in [(256, 3, 12), (512, 3, 24), (16, 1, 4)] {
        let mut rig = Rig::with(shallow(Dir::Write, per_word), shared(tags));
        for nth in 0..limit {
            assert_ne!(rig.write(nth * 100, 8), Submitted::Asleep, "{tags} tags, the {nth}th");
        }
        assert_eq!(rig.write(90_000, 8), Submitted::Asleep, "{tags} tags");
        assert!(rig.heard().contains(&Reason::Limited { shallow: per_word }));
        assert_ne!(rig.read(0, 8), Submitted::Asleep, "reads are not limited");
    }
}

#[test]
fn what_others_hold_of_its_bits_counts_against_a_shallow_request() {
    // Four words of 16; reads take the first bits of the first.
    let mut rig = Rig::with(shallow(Dir::Write, 1), shared(64));
    rig.reads([0, 100, 200, 300]);
    for nth in 0..3 {
        assert_ne!(rig.write(1000 + nth * 100, 8), Submitted::Asleep, "the first bits of three words are free");
    }
    assert_eq!(rig.write(5000, 8), Submitted::Asleep);
    rig.drain();
    assert_eq!(rig.awake(), [ME]);
}

#[test]
fn a_shallow_sleeper_that_was_woken_in_vain_goes_behind_those_who_came_later() {
    // Two tags: the first is the only one that a write may use.
    let mut rig = Rig::with(shallow(Dir::Write, 1), shared(2));
    let in_flight = fill(&mut rig, 2);
    rig.write_by(YOU, 500, 8);
    rig.write_by(ME, 600, 8);
    rig.complete(in_flight[1]);
    assert_eq!(rig.next(), Next::Empty);
    assert_eq!(rig.awake(), [], "the second tag came free");
    rig.complete(in_flight[0]);
    assert_eq!(rig.issue().start, Sector(600));
    assert_eq!(rig.awake(), [ME]);
}

#[test]
fn until_blk_mq_there_are_no_words_of_tags_to_limit() {
    let mut rig = Rig::with(shallow(Dir::Write, 1), per_direction(8, WakeRule::AtFree(1)));
    assert!((0..8).all(|nth| rig.write(nth * 100, 8) != Submitted::Asleep));
}

#[test]
fn a_map_that_shrinks_keeps_its_words_and_one_that_grows_is_made_anew() {
    let own = Slots::LINUX_6_1;
    let seen = |slots: Slots| (slots.nr_requests(), slots.tags_per_word());
    assert_eq!(
        [own, own.resized(64), own.resized(4), own.resized(512)].map(seen),
        [(256, 64), (64, 64), (4, 64), (512, 64)]
    );
    let small = own.with_nr_requests(8);
    assert_eq!([small, small.resized(3), small.resized(64)].map(seen), [(8, 2), (3, 2), (64, 16)]);
}
