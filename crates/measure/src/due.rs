//! What priorities ask for: how the disk's time would be split if they were kept to the letter.
//!
//! **Rule** Real time before best effort before idle, each class getting what those before it leave. Within a class by
//! weight, 8 less the level. Nobody gets more than it asked for; what it does not take goes to the others.
//! Who never set a priority counts as best effort, level 4.
//! **Origin** `ioprio_set(2)` for the classes; for the weights kernel documentation of BFQ, which makes
//! (8 − level) × 10 of a level.

use blksched::{Class, Priority};

/// What somebody asks of a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Its I/O priority.
    pub priority: Priority,
    /// How much of the disk's time it wants, in any unit.
    pub asked: f64,
}

impl Claim {
    fn weight(&self) -> f64 {
        match self.priority.class {
            Class::None => 4.0,
            Class::RealTime | Class::BestEffort => f64::from(8 - self.priority.level.min(7)),
            // Its level means nothing.
            Class::Idle => 1.0,
        }
    }
}

/// What each claim is due of `total`, in its unit.
///
/// ```
/// use blksched::{Class, Priority};
/// use blksched_measure::{Claim, due};
/// let claim = |class, asked| Claim { priority: Priority { class, level: 4 }, asked };
/// let claims = [claim(Class::Idle, 1.0), claim(Class::RealTime, 0.25), claim(Class::BestEffort, 1.0)];
/// assert_eq!(due(&claims, 1.0), [0.0, 0.25, 0.75]);
/// ```
pub fn due(claims: &[Claim], total: f64) -> Vec<f64> {
    let mut due = vec![0.0; claims.len()];
    let mut left = total;
    for class in [&[Class::RealTime][..], &[Class::None, Class::BestEffort], &[Class::Idle]] {
        let members = (0..claims.len()).filter(|&nth| class.contains(&claims[nth].priority.class));
        left -= fill(claims, &members.collect::<Vec<_>>(), left, &mut due);
    }
    due
}

/// The part of `given` that went to others than it was due to, between 0 and 1.
pub fn misplaced(due: &[f64], given: &[f64]) -> f64 {
    let total: f64 = given.iter().sum();
    let too_much: f64 = due.iter().zip(given).map(|(due, given)| (given - due).max(0.0)).sum();
    if total > 0.0 { (too_much / total).clamp(0.0, 1.0) } else { 0.0 }
}

/// Split `left` by weight, nobody above what it asked; says how much was taken.
fn fill(claims: &[Claim], members: &[usize], left: f64, due: &mut [f64]) -> f64 {
    let mut open = members.to_vec();
    let mut rest = left.max(0.0);
    while !open.is_empty() {
        let weights: f64 = open.iter().map(|&nth| claims[nth].weight()).sum();
        let per_weight = rest / weights;
        let is_content = |nth: &usize| claims[*nth].asked <= per_weight * claims[*nth].weight();
        let (content, others): (Vec<usize>, Vec<usize>) = open.iter().copied().partition(is_content);
        if content.is_empty() {
            others.iter().for_each(|&nth| due[nth] = per_weight * claims[nth].weight());
            return left.max(0.0);
        }
        for nth in content {
            due[nth] = claims[nth].asked;
            rest -= claims[nth].asked;
        }
        open = others;
    }
    left.max(0.0) - rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(class: Class, level: u8, asked: f64) -> Claim {
        Claim { priority: Priority { class, level }, asked }
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
        assert_eq!(shares[..2], [0.1, 0.3]);
        assert!((shares[2] - 0.6).abs() < 1e-12, "{shares:?}");
    }

    #[test]
    fn what_is_misplaced_is_what_some_have_too_much() {
        assert_eq!(misplaced(&[0.5, 0.5], &[0.5, 0.5]), 0.0);
        assert_eq!(misplaced(&[1.0, 0.0], &[0.25, 0.75]), 0.75);
        assert_eq!(misplaced(&[], &[]), 0.0);
    }
}
