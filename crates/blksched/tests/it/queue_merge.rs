//! Merging, rule by rule: notes E1 to E8 and E10 (2.6), D25.2, D25.3 and D25RB (2.5), E420 (4.20), and 6.1's rules with
//! an elevator that has no order of its own.

use crate::queue_kit::{FUA, ME, Plain, Rig, Told, WHO, YOU, at_ms, back, durable, front, inserted};
use blksched::author::merge::Merging;
use blksched::author::{RequestId, Stage, Waiter};
use blksched::reasons::{BatchStart, End};
use blksched::{Bio, Class, Limits, Next, Op, Plugging, Priority, QueueConfig, Reason, Sector, Submitted};

/// A queue of 2.6.33 with requests of up to `max_sectors`. A distant request is queued first, so that it is the one
/// merged last.
fn linux_2_6(max_sectors: u32) -> Rig {
    let mut rig = without_decoy("deadline@2.6.33", max_sectors);
    rig.new_read(DECOY, 1);
    rig
}

const DECOY: u64 = 1_000_000;

fn without_decoy(spec: &str, max_sectors: u32) -> Rig {
    let limits = Limits { max_sectors, ..Limits::default() };
    Rig::new(spec, QueueConfig { limits, ..QueueConfig::default() })
}

/// Lets the decoy grow, so that it is again the one merged last.
fn distract(rig: &mut Rig) {
    let decoy = rig.queue.requests()[RequestId::from_index(0)];
    assert!(decoy.start.0 == DECOY && decoy.stage == Stage::Queued);
    assert_eq!(rig.read(decoy.end().0, 1), back(RequestId::from_index(0)));
}

fn drained_but_decoy(rig: &mut Rig) -> Vec<(u64, u32)> {
    let mut all = rig.drain_whole();
    all.retain(|&(start, _)| start != DECOY);
    all
}

fn coalesced(rig: &mut Rig) -> Vec<(RequestId, RequestId)> {
    let pair = |reason| if let Reason::Coalesced { into, victim } = reason { Some((into, victim)) } else { None };
    rig.heard().into_iter().filter_map(pair).collect()
}

// ---- E1, E2, E7: the order of the search

#[test]
fn e1_until_2_6_38_a_merge_is_tried_only_while_the_elevator_says_that_it_has_work() {
    for (merging, merges) in [
        (Merging::LINUX_2_6, false),
        (Merging::LINUX_4_20, true),
        (Merging::LINUX_6_1, true),
        (Merging::LINUX_6_1_NEWEST, true),
    ] {
        let modest = Plain { modest: true, ..Plain::new(merging) };
        let mut rig = Rig::with(Box::new(modest), QueueConfig::default());
        rig.read(0, 8);
        assert_eq!(matches!(rig.read(8, 8), Submitted::Merged { .. }), merges);
    }
}

#[test]
fn e2_the_request_merged_last_comes_before_the_newest_in_the_hash() {
    let mut rig = without_decoy("deadline@2.6.33", 1024);
    let first = rig.new_read(0, 8);
    rig.new_read(4, 4);
    assert_eq!(rig.read(8, 8), back(first), "E7: the first request counts as merged last while none is");
}

#[test]
fn e2_the_request_merged_last_is_joined_in_front_before_another_is_at_its_back() {
    let mut rig = without_decoy("deadline@2.6.33", 1024);
    let last = rig.new_read(100, 8);
    let lower = rig.new_read(84, 8);
    assert_eq!(rig.read(92, 8), front(last));
    assert_eq!(coalesced(&mut rig), [(lower, last)]);
}

#[test]
fn e2_the_hash_comes_before_the_elevators_own_look_up() {
    let mut rig = linux_2_6(1024);
    let lower = rig.new_read(0, 8);
    rig.new_read(16, 8);
    assert_eq!(rig.read(8, 8), back(lower));
}

#[test]
fn e2_of_several_with_the_same_end_the_one_hashed_last_is_joined() {
    let mut rig = linux_2_6(1024);
    rig.new_read(0, 8);
    let newer = rig.new_read(4, 4);
    assert_eq!(rig.read(8, 8), back(newer));
}

#[test]
fn e2_if_the_newest_is_not_acceptable_the_next_is_not_tried() {
    let mut rig = linux_2_6(1024);
    rig.new_read(0, 8);
    rig.new_write(4, 4);
    rig.new_read(8, 4);
}

#[test]
fn e2_but_the_elevators_own_look_up_is() {
    let mut rig = linux_2_6(1024);
    rig.new_read(0, 8);
    rig.new_write(4, 4);
    let behind = rig.new_read(16, 8);
    assert_eq!(rig.read(8, 8), front(behind));
}

#[test]
fn e6_a_back_merge_makes_a_request_the_newest_of_its_chain() {
    let mut rig = linux_2_6(1024);
    let grows = rig.new_read(0, 4);
    rig.new_read(2, 6);
    rig.read(4, 4);
    distract(&mut rig);
    assert_eq!(rig.read(8, 8), back(grows));
}

#[test]
fn e6_a_front_merge_does_not() {
    let mut rig = linux_2_6(1024);
    let grows = rig.new_read(4, 4);
    let newer = rig.new_read(6, 2);
    assert_eq!(rig.read(0, 4), front(grows));
    distract(&mut rig);
    assert_eq!(rig.read(8, 8), back(newer));
}

#[test]
fn in_2_5_a_front_merge_does() {
    let mut rig = without_decoy("deadline@2.5.45", 1024);
    rig.new_read(DECOY, 1);
    let grows = rig.new_read(4, 4);
    rig.new_read(6, 2);
    assert_eq!(rig.read(0, 4), front(grows));
    distract(&mut rig);
    assert_eq!(rig.read(8, 8), back(grows));
}

#[test]
fn e6_the_request_that_grew_is_the_one_merged_last() {
    let mut rig = linux_2_6(1024);
    let grows = rig.new_read(0, 4);
    rig.read(4, 4);
    rig.new_read(6, 2);
    assert_eq!(rig.read(8, 8), back(grows));
}

// ---- E3: which bios may join which requests

#[test]
fn e3_a_write_does_not_join_a_read() {
    let mut rig = without_decoy("deadline@2.6.33", 1024);
    rig.new_read(0, 8);
    rig.new_write(8, 8);
}

#[test]
fn e3_a_request_keeps_the_waiter_the_priority_and_the_hints_of_its_first_bio() {
    let mut rig = without_decoy("deadline@2.6.33", 1024);
    let rq = rig.new_write(0, 8);
    let urgent = Priority { class: Class::RealTime, level: 0 };
    let hints = blksched::Hints { meta: true, no_idle: true, ..Default::default() };
    let sync = Bio { priority: urgent, hints, ..Bio::write(0, YOU, Sector(8), 8) };
    assert_eq!(rig.submit(sync), back(rq));
    let request = &rig.queue.requests()[rq];
    assert_eq!((request.waiter, request.priority), (Waiter::Async, Priority::default()));
    assert_eq!((request.hints, request.submitter), (blksched::Hints::default(), ME));
}

#[test]
fn e3_a_request_in_flight_takes_nothing() {
    let mut rig = without_decoy("deadline@2.6.33", 1024);
    rig.new_read(0, 8);
    rig.new_read(100, 8);
    rig.issue();
    rig.new_read(8, 8);
}

#[test]
fn discards_and_durable_writes_merge_with_nothing() {
    let limits = Limits { volatile_cache: true, fua: true, ..Limits::default() };
    for spec in ["noop", "deadline@2.5.45", "deadline@2.6.33", "deadline@4.20"] {
        let mut rig = Rig::new(spec, QueueConfig { limits, ..QueueConfig::default() });
        rig.new_write(0, 8);
        inserted(rig.submit(durable(8, 8, FUA)));
        inserted(rig.submit(Bio { op: Op::Discard, ..Bio::write(0, ME, Sector(16), 8) }));
        inserted(rig.submit(Bio { op: Op::Discard, ..Bio::write(0, ME, Sector(24), 8) }));
        rig.new_write(32, 8);
        assert_eq!(rig.drain().len(), 5, "{spec}");
    }
}

// ---- E4: too large

#[test]
fn e4_a_request_that_would_grow_too_large_takes_nothing_ever_again() {
    let mut rig = linux_2_6(16);
    let full = rig.new_read(0, 12);
    rig.new_read(12, 8);
    assert!(rig.heard().contains(&Reason::Oversize { rq: full }));
    rig.new_read(12, 4);
    assert_eq!(drained_but_decoy(&mut rig).iter().filter(|&&(start, _)| start == 0).count(), 1);
}

#[test]
fn e4_a_request_may_become_exactly_as_large_as_the_largest() {
    let mut rig = linux_2_6(16);
    let rq = rig.new_read(0, 8);
    assert_eq!(rig.read(8, 8), back(rq));
}

#[test]
fn e4_pieces_of_memory_limit_a_request_too() {
    let limits = Limits { max_segments: 3, ..Limits::default() };
    let mut rig = Rig::new("noop", QueueConfig { limits, ..QueueConfig::default() });
    for nth in 0..7 {
        rig.read(nth * 8, 8);
    }
    assert_eq!(rig.drain_whole(), [(0, 24), (24, 24), (48, 8)]);
}

#[test]
fn limits_may_be_as_large_as_they_can_be_written() {
    let limits = Limits { max_sectors: u32::MAX, max_segments: u16::MAX, ..Limits::default() };
    let mut rig = Rig::new("noop", QueueConfig { limits, ..QueueConfig::default() });
    let big = rig.new_read(0, u32::MAX - 4);
    assert_eq!(rig.read(u64::from(u32::MAX) - 4, 4), back(big));
    rig.new_read(u64::from(u32::MAX), 8);
    let many = rig.new_write(0, 1);
    let joined =
        (1..70_000).take_while(|&nth| rig.queue.submit(rig.now, Bio::write(0, ME, Sector(nth), 1)) == back(many));
    assert_eq!(joined.count(), 65_534);
}

#[test]
fn e4_a_failed_back_merge_is_not_followed_by_a_front_try() {
    let mut rig = linux_2_6(16);
    rig.new_read(0, 16);
    rig.new_read(24, 8);
    rig.new_read(16, 8);
}

#[test]
fn e4_a_request_too_large_is_forgotten_as_the_one_merged_last() {
    let mut rig = without_decoy("deadline@2.6.33", 16);
    rig.new_read(100, 8);
    let beside = rig.new_read(108, 12);
    rig.new_read(116, 4);
    assert_eq!(rig.read(120, 2), back(beside), "the next new one took its place");
}

#[test]
fn e4_another_that_was_merged_last_stays_it() {
    let mut rig = linux_2_6(16);
    rig.new_read(100, 8);
    rig.new_read(108, 12);
    let newer = rig.new_read(116, 4);
    assert_eq!(rig.read(120, 2), back(newer));
}

#[test]
fn in_2_5_whichever_was_merged_last_is_forgotten() {
    let mut rig = without_decoy("deadline@2.5.45", 16);
    rig.new_read(DECOY, 1);
    rig.new_read(100, 8);
    let beside = rig.new_read(108, 12);
    rig.new_read(116, 4);
    assert_eq!(rig.read(120, 2), back(beside));
}

#[test]
fn e4_a_request_that_takes_nothing_does_not_coalesce_either() {
    let mut rig = linux_2_6(16);
    rig.new_read(100, 8);
    rig.new_read(108, 12);
    let below = rig.new_read(94, 2);
    assert_eq!(rig.read(96, 4), back(below));
    assert_eq!(coalesced(&mut rig), []);
    assert_eq!(drained_but_decoy(&mut rig), [(100, 8), (108, 12), (94, 6)]);
}

// ---- E5: coalescing

#[test]
fn e5_of_two_that_have_become_one_the_lower_survives_with_the_older_time() {
    for first_high in [true, false] {
        let mut rig = linux_2_6(1024);
        let (mut low, mut high) = (None, None);
        for (ms, is_high) in [(1, first_high), (5, !first_high)] {
            rig.now = at_ms(ms);
            if is_high {
                high = Some(rig.new_read(16, 8));
            } else {
                low = Some(rig.new_read(0, 8));
            }
        }
        let (low, high) = (low.unwrap(), high.unwrap());
        rig.now = at_ms(9);
        rig.read(8, 8);
        assert_eq!(coalesced(&mut rig), [(low, high)]);
        assert!(!rig.queue.requests().is_live(high));
        assert_eq!((rig.extent(low), rig.queue.requests()[low].queued_at), ((0, 24), at_ms(1)));
        assert_eq!(drained_but_decoy(&mut rig), [(0, 24)]);
        assert_eq!(rig.done().len(), 4, "every bio is delivered");
    }
}

#[test]
fn e5_after_a_front_merge_too() {
    let mut rig = without_decoy("deadline@2.6.33", 1024);
    let high = rig.new_read(16, 8);
    let low = rig.new_read(0, 8);
    assert_eq!(rig.read(8, 8), front(high));
    assert_eq!(coalesced(&mut rig), [(low, high)]);
}

#[test]
fn e5_the_survivor_is_the_newest_of_its_chain() {
    let mut rig = linux_2_6(1024);
    rig.new_read(16, 8);
    let low = rig.new_read(0, 8);
    rig.new_read(20, 4);
    rig.read(8, 8);
    distract(&mut rig);
    assert_eq!(rig.read(24, 8), back(low));
}

#[test]
fn e5_the_survivor_is_the_one_merged_last() {
    let mut rig = without_decoy("deadline@2.6.33", 1024);
    rig.new_read(16, 8);
    let low = rig.new_read(0, 8);
    rig.read(8, 8);
    rig.new_read(20, 4);
    assert_eq!(rig.read(24, 8), back(low));
}

#[test]
fn in_2_5_a_victim_that_was_merged_last_leaves_none_in_its_place() {
    let mut rig = without_decoy("deadline@2.5.45", 1024);
    let high = rig.new_read(116, 8);
    let low = rig.new_read(100, 8);
    assert_eq!(rig.read(108, 8), front(high));
    assert_eq!(coalesced(&mut rig), [(low, high)]);
    let next = rig.new_read(120, 4);
    assert_eq!(rig.read(124, 8), back(next), "the next new one took it");
}

#[test]
fn e5_only_the_neighbour_in_order_is_looked_at() {
    let mut rig = linux_2_6(1024);
    rig.new_read(8, 8);
    rig.new_read(0, 4);
    rig.new_read(2, 1);
    rig.read(4, 4);
    assert_eq!(coalesced(&mut rig), [], "a request that begins at 2 lies between 0 and 8");
}

#[test]
fn e5_a_read_and_a_write_do_not_coalesce() {
    let mut rig = linux_2_6(1024);
    rig.new_write(16, 8);
    rig.new_read(0, 8);
    rig.read(8, 8);
    assert_eq!(coalesced(&mut rig), []);
}

#[test]
fn e5_nor_do_two_that_would_be_too_large_and_both_go_on_merging() {
    let mut rig = linux_2_6(16);
    let high = rig.new_read(12, 8);
    let low = rig.new_read(0, 8);
    assert_eq!(rig.read(8, 4), back(low));
    assert_eq!(coalesced(&mut rig), []);
    assert_eq!(rig.read(20, 2), back(high));
    distract(&mut rig);
    assert!(rig.queue.requests()[low].is_mergeable());
}

#[test]
fn d26_8_the_survivor_takes_the_place_of_an_older_victim_in_the_fifo() {
    for spec in ["deadline@2.6.33", "deadline@4.20", "mq-deadline"] {
        for (starts, expected) in [([16, 1000, 0], [0, 1000]), ([1000, 16, 0], [1000, 0]), ([0, 1000, 16], [0, 1000])] {
            let mut rig = without_decoy(spec, 1024);
            for (nth, start) in starts.into_iter().enumerate() {
                rig.now = at_ms(10 * nth as u64);
                rig.new_read(start, 8);
            }
            rig.read(8, 8);
            assert_eq!(coalesced(&mut rig).len(), 1);
            rig.now = at_ms(2000);
            assert_eq!(rig.drain(), expected, "{spec}, queued in the order {starts:?}");
        }
    }
}

/// The survivor takes over the expiry of the older victim.
#[test]
fn d26_8_the_survivor_is_late_when_an_older_victim_would_have_been() {
    let is_late_at = |spec, ms| {
        let mut rig = without_decoy(spec, 1024);
        rig.queue.set(rig.now, "fifo_batch", 1).unwrap();
        rig.new_read(5016, 8);
        rig.now = at_ms(100);
        rig.new_read(5000, 8);
        rig.reads([700, 800]);
        rig.read(5008, 8);
        assert_eq!(coalesced(&mut rig).len(), 1);
        // The survivor is now the oldest of all, but 700 was taken before the merge and delays its batch.
        rig.now = at_ms(ms);
        rig.new_read(10, 8);
        rig.serve();
        let expired = |reason| matches!(reason, Reason::BatchBegan { why: BatchStart::Expired { .. }, .. });
        rig.heard().into_iter().any(expired)
    };
    for spec in ["deadline@2.6.33", "deadline@4.20", "mq-deadline"] {
        assert!(!is_late_at(spec, 499) && is_late_at(spec, 504), "{spec}: queued at 0, not at 100 ms");
    }
}

// ---- E8, E10: requests on the dispatch list

#[test]
fn e10_in_2_6_an_older_request_with_the_same_first_sector_goes_at_once_and_takes_nothing_more() {
    let mut rig = without_decoy("deadline@2.6.33", 1024);
    rig.new_read(50, 8);
    let older = rig.new_read(100, 8);
    rig.new_read(100, 4);
    assert!(rig.heard().contains(&Reason::AliasForced { rq: older }));
    rig.new_read(108, 8);
    assert_eq!(rig.drain_whole(), [(100, 8), (50, 8), (100, 4), (108, 8)]);
}

#[test]
fn e10_also_when_a_request_comes_to_have_it_by_a_front_merge() {
    let mut rig = without_decoy("deadline@2.6.33", 1024);
    rig.new_read(50, 8);
    let lower = rig.new_read(100, 2);
    let higher = rig.new_read(104, 8);
    assert_eq!(rig.read(100, 4), front(higher));
    assert!(rig.heard().contains(&Reason::AliasForced { rq: lower }));
    assert_eq!(rig.drain_whole(), [(100, 2), (50, 8), (100, 12)]);
}

#[test]
fn e10_a_write_with_the_same_first_sector_as_a_read_forces_nothing() {
    let mut rig = without_decoy("deadline@2.6.33", 1024);
    rig.new_read(50, 8);
    rig.new_read(100, 8);
    rig.new_write(100, 8);
    assert_eq!(rig.issue().start, Sector(50));
}

#[test]
fn e420_in_4_20_the_newer_queues_behind_its_equals_and_both_go_on_merging() {
    let mut rig = without_decoy("deadline@4.20", 1024);
    rig.new_read(50, 8);
    let older = rig.new_read(100, 8);
    rig.new_read(100, 4);
    rig.new_read(100, 2);
    assert_eq!(rig.read(108, 8), back(older));
    assert_eq!(rig.drain_whole(), [(50, 8), (100, 16), (100, 4), (100, 2)]);
}

#[test]
fn d25_1_in_2_5_a_chosen_request_still_merges_until_it_is_issued() {
    let mut rig = without_decoy("deadline@2.5.45", 1024);
    let issued = rig.new_read(0, 8);
    let chosen = rig.new_read(100, 8);
    assert_eq!(rig.issue().rq, issued);
    assert_eq!(rig.read(108, 8), back(chosen));
    rig.new_read(8, 8);
    rig.complete(issued);
    assert_eq!(rig.drain_whole(), [(100, 16), (8, 8)]);
}

// ---- D25.2, D25.3: the list of 2.5

#[test]
fn d25_2_the_list_makes_a_second_run_of_what_lies_behind_the_arm() {
    let mut rig = without_decoy("deadline@2.5.45", 1024);
    rig.new_read(40, 8);
    rig.serve();
    for start in [300, 100, 10, 200, 20, 48] {
        rig.new_read(start, 4);
    }
    assert_eq!(rig.drain(), [100, 200, 300, 10, 20, 48], "48 is not ahead of the arm: not strictly");
}

#[test]
fn d25_2_a_place_found_by_the_scan_ends_it_so_a_front_merge_below_is_missed() {
    let mut rig = without_decoy("deadline@2.5.45", 1024);
    rig.new_read(7, 8);
    rig.serve();
    for start in [300, 20, 10, 15] {
        rig.new_read(start, 1);
    }
    rig.new_read(12, 8);
    assert_eq!(rig.drain(), [20, 300, 10, 12, 15]);
}

#[test]
fn d25_2_a_front_merge_met_before_the_place_is_made() {
    let mut rig = without_decoy("deadline@2.5.45", 1024);
    rig.new_read(DECOY, 1);
    let target = rig.new_read(100, 8);
    rig.new_read(300, 8);
    assert_eq!(rig.read(92, 8), front(target));
}

#[test]
fn d25_3_a_bio_too_large_for_a_chosen_request_goes_right_behind_it_into_the_running_batch() {
    let mut rig = without_decoy("deadline@2.5.45", 16);
    rig.new_read(0, 8);
    rig.new_read(100, 12);
    rig.new_read(200, 8);
    rig.serve();
    rig.new_read(112, 8);
    rig.new_read(150, 8);
    assert_eq!(rig.drain_whole(), [(100, 12), (112, 8), (200, 8), (150, 8)]);
}

#[test]
fn d25_3_or_right_before_it() {
    let mut rig = without_decoy("deadline@2.5.45", 16);
    rig.new_read(0, 8);
    rig.new_read(100, 8);
    let last = rig.new_read(200, 12);
    rig.serve();
    assert_eq!(rig.read(212, 1), back(last));
    rig.new_read(192, 8);
    assert_eq!(rig.drain_whole(), [(100, 8), (192, 8), (200, 13)]);
}

#[test]
fn d25_3_a_bio_too_large_for_a_queued_request_goes_right_beside_it_in_the_list() {
    let mut rig = without_decoy("deadline@2.5.45", 16);
    rig.new_read(40, 8);
    rig.serve();
    rig.new_read(100, 12);
    rig.new_read(10, 12);
    rig.new_read(22, 8);
    assert_eq!(rig.drain_whole(), [(100, 12), (10, 12), (22, 8)]);
}

#[test]
fn d25_3_chosen_neighbours_coalesce() {
    let mut rig = without_decoy("deadline@2.5.45", 1024);
    rig.new_read(0, 8);
    let low = rig.new_read(100, 8);
    let high = rig.new_read(112, 8);
    rig.serve();
    assert_eq!(rig.read(108, 4), back(low));
    assert_eq!(coalesced(&mut rig), [(low, high)]);
    assert_eq!(rig.drain_whole(), [(100, 20)]);
}

#[test]
fn d25rb_in_the_tree_a_second_request_with_one_first_sector_goes_at_once() {
    let mut rig = without_decoy("deadline@2.5.45+order=tree", 1024);
    rig.new_read(50, 8);
    rig.new_read(100, 8);
    rig.new_read(100, 4);
    assert_eq!(rig.drain_whole(), [(100, 4), (50, 8), (100, 8)]);
}

#[test]
fn d25rb_requests_in_the_tree_never_coalesce() {
    let mut rig = without_decoy("deadline@2.5.45+order=tree", 1024);
    rig.new_read(0, 8);
    rig.new_read(16, 8);
    rig.read(8, 8);
    assert_eq!(coalesced(&mut rig), []);
    assert_eq!(rig.drain_whole(), [(0, 16), (16, 8)]);
}

#[test]
fn d25rb_whatever_a_search_hits_is_the_one_merged_last_unless_it_is_too_large() {
    let mut rig = without_decoy("deadline@2.5.45+order=tree", 16);
    rig.new_read(DECOY, 1);
    rig.new_read(100, 8);
    let beside = rig.new_read(108, 12);
    rig.new_read(116, 4);
    assert_eq!(rig.read(120, 2), back(beside));
}

// ---- 6.1

fn plain(merging: Merging) -> (Rig, Plain) {
    let plain = Plain::new(merging);
    let limits = Limits { max_sectors: 16, ..Limits::default() };
    let plugging = Plugging::Submitter { requests: 100 };
    (Rig::with(plain.boxed(), QueueConfig { limits, plugging, ..QueueConfig::default() }), plain)
}

/// Submits a bio and hands it over at once.
fn enter(rig: &mut Rig, bio: Bio) {
    let who = bio.submitter;
    rig.submit(bio);
    rig.queue.waits(rig.now, who);
}

#[test]
fn the_one_merged_last_is_asked_about_before_adjacency_is_looked_at() {
    let (mut rig, plain) = plain(Merging::LINUX_6_1);
    let mut enter = |bio| enter(&mut rig, bio);
    enter(Bio::read(0, ME, Sector(1000), 4));
    enter(Bio::read(0, ME, Sector(0), 4));
    plain.told.lock().unwrap().clear();
    // It continues the second; the first, which it does not adjoin, is the one merged last.
    enter(Bio::read(0, YOU, Sector(4), 4));
    let asked: Vec<_> = plain.told.lock().unwrap().iter().copied().filter(|t| matches!(t, Told::MayMerge(_))).collect();
    let [last, hashed] = [0, 1].map(|index| Told::MayMerge(RequestId::from_index(index)));
    assert_eq!(asked[..1], [last]);
    assert!(asked[1..].iter().all(|told| *told == hashed) && asked.len() > 1, "{asked:?}");
}

#[test]
fn the_one_merged_last_may_be_refused_and_stays_the_one_merged_last() {
    let refuses = Some(RequestId::from_index(0));
    let told = Plain { refuses, ..Plain::new(Merging::LINUX_4_20) };
    let mut rig = Rig::with(told.boxed(), QueueConfig::default());
    rig.new_read(0, 8);
    // Found as the request merged last and by the hash, and refused both times.
    rig.new_read(8, 8);
    told.told.lock().unwrap().clear();
    rig.new_read(500, 8);
    assert_eq!(told.told.lock().unwrap()[0], Told::MayMerge(RequestId::from_index(0)));
}

#[test]
fn in_6_1_only_equal_priorities_merge() {
    let urgent = Priority { class: Class::RealTime, level: 0 };
    for (merging, expected) in [
        (Merging::LINUX_2_6, vec![(0, 16)]),
        (Merging::LINUX_4_20, vec![(0, 16)]),
        (Merging::LINUX_6_1, vec![(0, 8), (8, 8)]),
        (Merging::LINUX_6_1_NEWEST, vec![(0, 8), (8, 8)]),
    ] {
        let (mut rig, _) = plain(merging);
        enter(&mut rig, Bio::read(0, ME, Sector(0), 8));
        enter(&mut rig, Bio { priority: urgent, ..Bio::read(0, YOU, Sector(8), 8) });
        assert_eq!(rig.drain_whole(), expected, "{merging:?}");
    }
}

#[test]
fn in_6_1_only_equal_priorities_merge_in_the_plug_and_coalesce() {
    let urgent = Priority { class: Class::RealTime, level: 0 };
    let (mut rig, _) = plain(Merging::LINUX_6_1);
    rig.read(0, 4);
    rig.submit(Bio { priority: urgent, ..Bio::read(0, ME, Sector(4), 4) });
    rig.queue.waits(rig.now, ME);
    assert_eq!(rig.drain_whole(), [(0, 4), (4, 4)]);
    enter(&mut rig, Bio::read(0, ME, Sector(100), 4));
    enter(&mut rig, Bio { priority: urgent, ..Bio::read(0, ME, Sector(108), 4) });
    enter(&mut rig, Bio::read(0, ME, Sector(104), 4));
    assert_eq!(rig.drain_whole(), [(100, 8), (108, 4)]);
}

#[test]
fn in_6_1_a_bio_refused_for_its_size_may_still_continue_another_as_it_is_inserted() {
    for (merging, expected) in
        [(Merging::LINUX_4_20, vec![(100, 16), (84, 8), (92, 8)]), (Merging::LINUX_6_1, vec![(100, 16), (84, 16)])]
    {
        let limits = Limits { max_sectors: 16, ..Limits::default() };
        let told = Plain::new(merging);
        let mut rig = Rig::with(told.boxed(), QueueConfig { limits, ..QueueConfig::default() });
        rig.new_read(100, 16);
        let continued = rig.new_read(84, 8);
        let became = rig.read(92, 8);
        assert_eq!(became == Submitted::MergedOnInsert { into: continued }, merging == Merging::LINUX_6_1);
        let unprepared = told.told.lock().unwrap().iter().filter(|told| matches!(told, Told::Unprepare(_))).count();
        assert_eq!(unprepared, usize::from(merging == Merging::LINUX_6_1));
        assert_eq!(rig.drain_whole(), expected);
        assert_eq!(rig.done().len(), 3);
    }
}

/// Two adjacent requests that were inserted in an order in which they do not merge, then one that continues them.
/// `decoy`: whether another request was merged last.
fn cascade(merging: Merging, decoy: bool) -> (Vec<(u64, u32)>, Vec<Told>) {
    let (mut rig, plain) = plain(merging);
    if decoy {
        enter(&mut rig, Bio::read(0, ME, Sector(DECOY), 1));
    }
    for (who, start) in [(ME, 0), (YOU, 4), (WHO, 8)] {
        rig.read_by(who, start, 4);
    }
    for who in [YOU, ME, WHO] {
        rig.queue.waits(rig.now, who);
    }
    let told = plain.told.lock().unwrap().clone();
    rig.queue.check();
    (drained_but_decoy(&mut rig), told)
}

#[test]
fn in_6_1_a_request_that_continues_one_in_the_hash_is_tried_again_as_part_of_it() {
    let (issued, told) = cascade(Merging::LINUX_6_1, true);
    assert_eq!(issued, [(0, 12)]);
    assert_eq!(told.iter().filter(|told| matches!(told, Told::Absorbed(_))).count(), 1, "the middle one");
    assert_eq!(told.iter().filter(|told| matches!(told, Told::Unprepare(_))).count(), 1, "the new one");
}

#[test]
fn in_6_1_a_request_that_continues_the_one_merged_last_is_not() {
    assert_eq!(cascade(Merging::LINUX_6_1, false).0, [(4, 8), (0, 4)]);
}

#[test]
fn until_4_20_a_request_is_not_tried_again_as_it_is_inserted() {
    assert_eq!(cascade(Merging::LINUX_4_20, true).0, [(4, 4), (0, 4), (8, 4)]);
}

#[test]
fn kyber_looks_at_the_newest_eight_only() {
    for (age, merges) in [(7, true), (8, false)] {
        let mut rig = Rig::with(Plain::new(Merging::LINUX_6_1_NEWEST).boxed(), QueueConfig::default());
        rig.new_read(0, 8);
        for nth in 0..age {
            rig.new_read(1000 + nth * 100, 8);
        }
        assert_eq!(matches!(rig.read(8, 8), Submitted::Merged { .. }), merges, "{age} newer");
    }
}

#[test]
fn kyber_joins_the_newest_that_adjoins_at_either_end() {
    let mut rig = Rig::with(Plain::new(Merging::LINUX_6_1_NEWEST).boxed(), QueueConfig::default());
    rig.new_read(0, 8);
    let newer = rig.new_read(16, 8);
    assert_eq!(rig.read(8, 8), front(newer));
}

#[test]
fn kyber_stops_at_the_first_that_adjoins_even_if_it_is_too_large() {
    let limits = Limits { max_sectors: 16, ..Limits::default() };
    let config = QueueConfig { limits, ..QueueConfig::default() };
    let mut rig = Rig::with(Plain::new(Merging::LINUX_6_1_NEWEST).boxed(), config);
    rig.new_read(0, 8);
    rig.new_read(16, 16);
    rig.new_read(8, 8);
}

#[test]
fn never_means_never() {
    let mut rig = Rig::with(Plain::new(Merging::NEVER).boxed(), QueueConfig::default());
    rig.new_read(0, 8);
    rig.new_read(8, 8);
    assert_eq!(rig.drain_whole(), [(0, 8), (8, 8)]);
}

// ---- splitting

#[test]
fn a_bio_longer_than_the_largest_request_is_split_and_done_with_its_last_piece() {
    let mut rig = Rig::new("noop", QueueConfig { depth: 8, ..QueueConfig::default() });
    rig.read(0, 2500);
    let pieces: Vec<_> = (0..3).map(|_| rig.issue()).collect();
    assert_eq!(
        pieces.iter().map(|c| (c.start.0, c.sectors)).collect::<Vec<_>>(),
        [(0, 1024), (1024, 1024), (2048, 452)]
    );
    assert_eq!(rig.next(), Next::Empty);
    rig.end(pieces[2].rq, blksched::Outcome::Ok);
    rig.end(pieces[0].rq, blksched::Outcome::Failed);
    assert_eq!(rig.done(), []);
    rig.end(pieces[1].rq, blksched::Outcome::Ok);
    assert_eq!(rig.done(), [(0, blksched::Outcome::Failed)]);
}

#[test]
fn the_last_piece_of_a_split_bio_takes_what_continues_it() {
    let mut rig = Rig::new("noop", QueueConfig::default());
    let tail = inserted(rig.read(0, 1100));
    assert_eq!(rig.read(1100, 8), Submitted::Merged { into: tail, end: End::Back });
}
