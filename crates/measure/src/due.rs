//! The due shares by priorities and weights: how the disk's time would be divided if they were kept exactly.
//!
//! **Rule** Groups share by weight; those in no group count together as one of weight 100. Within a group real time
//! goes before best effort before idle, each class getting what those before it leave; within a class by weight, 8
//! minus the level. No job gets more than its demand; the rest goes to the others. A job that never set a priority
//! counts as best effort, level 4.
//! **Origin** `ioprio_set(2)` for the classes; for the weights kernel documentation of BFQ, which makes (8 − level) ×
//! 10 of a level.

use std::collections::BTreeSet;

use blksched::{Class, Group, GroupId, Priority};

/// A process's claim on a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskClaim {
    /// Its I/O priority.
    pub priority: Priority,
    /// How much of the disk's time it wants, in any unit.
    pub asked: f64,
    /// Its group, and that group's weight.
    pub group: (GroupId, u32),
}

impl DiskClaim {
    /// A claim in no group.
    pub fn new(priority: Priority, asked: f64) -> DiskClaim {
        DiskClaim { priority, asked, group: (GroupId::ROOT, Group::default().weight) }
    }

    fn weight(&self) -> f64 {
        match self.priority.class {
            Class::None => 4.0,
            Class::RealTime | Class::BestEffort => f64::from(8 - self.priority.level.min(7)),
            // Its level is ignored.
            Class::Idle => 1.0,
        }
    }
}

/// What each claim is due of `total`, in its unit.
///
/// ```
/// use blksched::{Class, Priority};
/// use blksched_measure::{DiskClaim, due};
/// let claim = |class, asked| DiskClaim::new(Priority { class, level: 4 }, asked);
/// let claims = [claim(Class::Idle, 1.0), claim(Class::RealTime, 0.25), claim(Class::BestEffort, 1.0)];
/// assert_eq!(due(&claims, 1.0), [0.0, 0.25, 0.75]);
/// ```
pub fn due(claims: &[DiskClaim], total: f64) -> Vec<f64> {
    let mut due = vec![0.0; claims.len()];
    let groups: BTreeSet<(GroupId, u32)> = claims.iter().map(|claim| claim.group).collect();
    let members = |group: (GroupId, u32)| (0..claims.len()).filter(move |&nth| claims[nth].group == group);
    let wants = |&group: &(GroupId, u32)| Want {
        weight: f64::from(group.1),
        asked: members(group).map(|nth| claims[nth].asked).sum(),
    };
    let parts = fill(&groups.iter().map(wants).collect::<Vec<_>>(), total);
    for (&group, part) in groups.iter().zip(parts) {
        within_a_group(claims, &members(group).collect::<Vec<_>>(), part, &mut due);
    }
    due
}

/// Class by class.
fn within_a_group(claims: &[DiskClaim], members: &[usize], total: f64, due: &mut [f64]) {
    let mut left = total;
    for class in [&[Class::RealTime][..], &[Class::None, Class::BestEffort], &[Class::Idle]] {
        let of_class = |nth: &&usize| class.contains(&claims[**nth].priority.class);
        let of_class: Vec<usize> = members.iter().filter(of_class).copied().collect();
        let want = |&nth: &usize| Want { weight: claims[nth].weight(), asked: claims[nth].asked };
        let parts = fill(&of_class.iter().map(want).collect::<Vec<_>>(), left);
        left -= parts.iter().sum::<f64>();
        of_class.iter().zip(parts).for_each(|(&nth, part)| due[nth] = part);
    }
}

/// The part of `given` that went elsewhere than was due, between 0 and 1.
pub fn misplaced(due: &[f64], given: &[f64]) -> f64 {
    let total: f64 = given.iter().sum();
    let too_much: f64 = due.iter().zip(given).map(|(due, given)| (given - due).max(0.0)).sum();
    if total > 0.0 { (too_much / total).clamp(0.0, 1.0) } else { 0.0 }
}

/// A process or group with a weight.
#[derive(Clone, Copy)]
struct Want {
    weight: f64,
    asked: f64,
}

/// Splits `total` by weight, giving none more than it asked for.
fn fill(wants: &[Want], total: f64) -> Vec<f64> {
    let mut parts = vec![0.0; wants.len()];
    let mut open: Vec<usize> = (0..wants.len()).collect();
    let mut rest = total.max(0.0);
    while !open.is_empty() {
        let per_weight = rest / open.iter().map(|&nth| wants[nth].weight).sum::<f64>();
        let is_content = |nth: &usize| wants[*nth].asked <= per_weight * wants[*nth].weight;
        let (content, others): (Vec<usize>, Vec<usize>) = open.iter().copied().partition(is_content);
        if content.is_empty() {
            others.iter().for_each(|&nth| parts[nth] = per_weight * wants[nth].weight);
            break;
        }
        for nth in content {
            parts[nth] = wants[nth].asked;
            rest -= wants[nth].asked;
        }
        open = others;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounded to a billionth: the last rounding error of a fraction is irrelevant.
    fn due(claims: &[DiskClaim], total: f64) -> Vec<f64> {
        super::due(claims, total).into_iter().map(|part| (part * 1e9).round() / 1e9).collect()
    }

    fn claim(class: Class, level: u8, asked: f64) -> DiskClaim {
        DiskClaim::new(Priority { class, level }, asked)
    }

    #[test]
    fn groups_share_by_weight_and_those_in_none_are_one_of_weight_100() {
        let of = |id, weight, asked| DiskClaim { group: (GroupId(id), weight), ..claim(Class::None, 0, asked) };
        assert_eq!(due(&[of(1, 300, 1.0), claim(Class::None, 0, 1.0)], 0.8), [0.6, 0.2]);
        // A class is first within its group only.
        let idle = DiskClaim { group: (GroupId(1), 300), ..claim(Class::Idle, 0, 1.0) };
        assert_eq!(due(&[idle, claim(Class::RealTime, 0, 1.0)], 1.0), [0.75, 0.25]);
        // What a group does not want goes to the others.
        assert_eq!(due(&[of(1, 300, 0.1), of(2, 100, 1.0)], 1.0), [0.1, 0.9]);
    }

    #[test]
    fn a_class_gets_what_those_above_it_leave() {
        let claims = [claim(Class::RealTime, 4, 1.0), claim(Class::BestEffort, 0, 1.0), claim(Class::Idle, 7, 1.0)];
        assert_eq!(due(&claims, 0.9), [0.9, 0.0, 0.0]);
    }

    #[test]
    fn levels_share_a_class_as_eight_to_one_and_no_priority_counts_as_level_four() {
        let claims = [claim(Class::BestEffort, 0, 1.0), claim(Class::BestEffort, 7, 1.0)];
        assert_eq!(due(&claims, 0.9), [0.8, 0.1]);
        let claims = [claim(Class::None, 0, 1.0), claim(Class::BestEffort, 4, 1.0)];
        assert_eq!(due(&claims, 1.0), [0.5, 0.5]);
    }

    #[test]
    fn what_somebody_does_not_want_goes_to_its_equals_and_then_down() {
        let claims = [claim(Class::BestEffort, 4, 0.1), claim(Class::BestEffort, 4, 0.3), claim(Class::Idle, 0, 1.0)];
        let shares = due(&claims, 1.0);
        assert_eq!(shares, [0.1, 0.3, 0.6]);
    }

    #[test]
    fn what_is_misplaced_is_what_some_have_too_much() {
        assert_eq!(misplaced(&[0.5, 0.5], &[0.5, 0.5]), 0.0);
        assert_eq!(misplaced(&[1.0, 0.0], &[0.25, 0.75]), 0.75);
        assert_eq!(misplaced(&[], &[]), 0.0);
    }
}
