//! io.max in simulated time: caps are kept over any interval, bursts are one slice, levels and siblings are served
//! round-robin.

use super::*;
use crate::request::{Sector, SubmitterId};
use crate::time::Span;

const HZ: Jiffies = Jiffies::new(250);
const ERAS: [Era; 2] = [Era::V6_12, Era::V6_18];
const A: GroupId = GroupId(1);
const B: GroupId = GroupId(2);

fn bio(group: GroupId, op: Op, bytes: u32) -> Bio {
    Bio { op, group, ..Bio::read(0, SubmitterId(0), Sector(8), bytes / 512) }
}

fn bps(rate: u64) -> Limit {
    Limit { bps: Some(rate), iops: None }
}

/// A device that is asked for more than it may have: each of `groups` keeps eight bios on their way for `seconds`.
/// Answers when each group's bios went \[ms\].
fn saturate(throttle: &mut Throttle, groups: &[(GroupId, Op, u32)], seconds: u64) -> Vec<Vec<u64>> {
    let mut went: Vec<Vec<u64>> = vec![Vec::new(); groups.len()];
    let end = Instant::ZERO + Span::from_secs(seconds);
    let mut now = Instant::ZERO;
    let mut in_flight = vec![0; groups.len()];
    while now < end {
        for (nth, &(group, op, bytes)) in groups.iter().enumerate() {
            while in_flight[nth] < 8 {
                match throttle.submit(now, nth as u64, &bio(group, op, bytes)) {
                    Passage::Go => went[nth].push(now.as_ns() / 1_000_000),
                    Passage::Held => in_flight[nth] += 1,
                }
            }
        }
        now = throttle.deadline().expect("something is held").max(now);
        let mut released = Vec::new();
        throttle.elapse(now, &mut released);
        for token in released {
            in_flight[token as usize] -= 1;
            went[token as usize].push(now.as_ns() / 1_000_000);
        }
    }
    went
}

fn throttle(era: Era, groups: &[(GroupId, GroupId)]) -> Throttle {
    let mut throttle = Throttle::new(HZ, era);
    groups.iter().for_each(|&(id, parent)| throttle.set_group(id, parent));
    throttle
}

#[test]
fn a_cap_is_kept_within_two_slices_over_any_stretch_and_used_to_99_per_cent() {
    for era in ERAS {
        for (limit, bytes, per_s) in [(bps(4 << 20), 64 << 10, 64), (Limit { bps: None, iops: Some(100) }, 4096, 100)] {
            let mut throttle = throttle(era, &[(A, GroupId::ROOT)]);
            throttle.set_limits(Instant::ZERO, A, PerDir { read: limit, write: limit });
            for op in [Op::Read, Op::Write] {
                let mut throttle = throttle.clone();
                let went = saturate(&mut throttle, &[(A, op, bytes)], 20).remove(0);
                let rate = went.len() as f64 / 20.0 / f64::from(per_s);
                assert!((0.99..=1.02).contains(&rate), "{era:?} {limit:?} {op:?}: {rate}");
                for start in (0..19_000).step_by(250) {
                    let within = went.iter().filter(|&&at| (start..start + 1000).contains(&at)).count();
                    assert!(within <= per_s as usize * 12 / 10 + 1, "{era:?} {limit:?}: {within} in 1 s from {start}");
                }
            }
        }
    }
}

#[test]
fn a_fresh_group_bursts_for_one_slice_and_a_bio_beyond_waits_until_it_is_covered() {
    let mut throttle = throttle(Era::V6_12, &[(A, GroupId::ROOT)]);
    throttle.set_limits(Instant::ZERO, A, PerDir { read: bps(1 << 20), write: Limit::default() });
    let mut at_once = 0;
    while throttle.submit(Instant::ZERO, 0, &bio(A, Op::Read, 4096)) == Passage::Go {
        at_once += 1;
    }
    assert_eq!(at_once, (1 << 20) / 10 / 4096);
    assert_eq!(throttle.submit(Instant::ZERO, 0, &bio(A, Op::Write, 1 << 20)), Passage::Go, "writes have no limit");
    let mut fresh = throttle_of_one_mib();
    assert_eq!(fresh.submit(Instant::ZERO, 7, &bio(A, Op::Read, 1 << 20)), Passage::Held);
    assert_eq!(fresh.deadline().map(|at| at.as_ns() / 1_000_000), Some(1000));
    let mut released = Vec::new();
    fresh.elapse(Instant::ZERO + Span::from_ms(1000), &mut released);
    assert_eq!(released, [7]);
}

fn throttle_of_one_mib() -> Throttle {
    let mut throttle = throttle(Era::V6_12, &[(A, GroupId::ROOT)]);
    throttle.set_limits(Instant::ZERO, A, PerDir { read: bps(1 << 20), write: Limit::default() });
    throttle
}

#[test]
fn a_parents_cap_holds_for_its_children_together_and_they_take_turns() {
    let (one, other) = (GroupId(3), GroupId(4));
    for era in ERAS {
        let mut throttle = throttle(era, &[(A, GroupId::ROOT), (one, A), (other, A)]);
        throttle.set_limits(Instant::ZERO, A, PerDir { read: bps(4 << 20), write: Limit::default() });
        throttle.set_limits(Instant::ZERO, one, PerDir { read: bps(64 << 20), write: Limit::default() });
        let went = saturate(&mut throttle, &[(one, Op::Read, 65536), (other, Op::Read, 65536)], 20);
        let counts: Vec<usize> = went.iter().map(Vec::len).collect();
        let sum = counts.iter().sum::<usize>() as f64 / 20.0 / 64.0;
        assert!((0.99..=1.02).contains(&sum), "{era:?}: {counts:?}");
        assert!(counts[0].abs_diff(counts[1]) <= counts[0] / 20, "{era:?}: {counts:?}");
    }
}

#[test]
fn no_other_group_is_held_back() {
    let mut throttle = throttle(Era::V6_18, &[(A, GroupId::ROOT), (B, GroupId::ROOT)]);
    throttle.set_limits(Instant::ZERO, A, PerDir { read: bps(1), write: bps(1) });
    assert_eq!(throttle.submit(Instant::ZERO, 0, &bio(A, Op::Read, 4096)), Passage::Held);
    for op in [Op::Read, Op::Write, Op::Discard] {
        assert_eq!(throttle.submit(Instant::ZERO, 1, &bio(B, op, 1 << 20)), Passage::Go);
        assert_eq!(throttle.submit(Instant::ZERO, 1, &bio(GroupId::ROOT, op, 1 << 20)), Passage::Go);
    }
}

#[test]
fn lifting_a_limit_lets_go_what_waited_and_a_group_that_goes_leaves_nothing_behind() {
    let mut throttle = throttle(Era::V6_12, &[(A, GroupId::ROOT)]);
    throttle.set_limits(Instant::ZERO, A, PerDir { read: bps(1), write: Limit::default() });
    for token in 0..3 {
        assert_eq!(throttle.submit(Instant::ZERO, token, &bio(A, Op::Read, 4096)), Passage::Held);
    }
    let mut going = throttle.clone();
    let later = Instant::ZERO + Span::from_ms(40);
    throttle.set_limits(later, A, PerDir::default());
    let mut released = Vec::new();
    throttle.elapse(later, &mut released);
    assert_eq!((released.as_slice(), throttle.deadline()), ([0, 1, 2].as_slice(), None));
    released.clear();
    going.remove_group(A, &mut released);
    assert_eq!((released.as_slice(), going.deadline()), ([0, 1, 2].as_slice(), None));
}
