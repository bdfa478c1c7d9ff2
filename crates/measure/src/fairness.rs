//! Fairness: Jain's index, and each job's demand compared with its received service.

use blksched::Span;

/// Jain's index of what takers get: (Σx)² / (n·Σx²). 1 if all get the same, 1/n if one gets everything.
///
/// Source: Jain, Chiu, Hawe, "A Quantitative Measure of Fairness and Discrimination", DEC-TR-301, 1984. An empty list,
/// or only zeros, counts as fair (1). Negative and non-finite amounts count as nothing.
///
/// ```
/// assert_eq!(blksched_measure::jain(&[3.0, 3.0, 3.0]), 1.0);
/// assert_eq!(blksched_measure::jain(&[8.0, 0.0]), 0.5);
/// ```
pub fn jain(amounts: &[f64]) -> f64 {
    let usable = |x: f64| if x.is_finite() { x.max(0.0) } else { 0.0 };
    let greatest = amounts.iter().map(|&x| usable(x)).fold(0.0, f64::max);
    if greatest == 0.0 {
        return 1.0;
    }
    // Scaled by the greatest, so that squares neither overflow nor underflow.
    let scaled = || amounts.iter().map(|&x| usable(x) / greatest);
    let (sum, squares) = (scaled().sum::<f64>(), scaled().map(|x| x * x).sum::<f64>());
    sum * sum / (amounts.len() as f64 * squares)
}

/// Disk time that a process asked for and was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AskedAndGiven {
    /// How long it wanted the disk.
    pub asked: Span,
    /// How long it had the disk.
    pub given: Span,
}

impl AskedAndGiven {
    /// Given over asked: 1 for a process that never waited; `None` for one that asked for nothing.
    pub fn satisfaction(&self) -> Option<f64> {
        (!self.asked.is_zero()).then(|| self.given.as_ns() as f64 / self.asked.as_ns() as f64)
    }
}

/// Jain's index over the part that each got of what it asked for; processes that asked for nothing are left out.
pub fn fairness(shares: &[AskedAndGiven]) -> f64 {
    let satisfied: Vec<f64> = shares.iter().filter_map(AskedAndGiven::satisfaction).collect();
    jain(&satisfied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_are_perfectly_fair() {
        for n in 1..10 {
            assert_eq!(jain(&vec![0.3; n]), 1.0, "{n} takers");
        }
    }

    #[test]
    fn one_taker_among_n_gives_one_nth() {
        for n in 1..10 {
            let mut amounts = vec![0.0; n];
            amounts[n / 2] = 17.0;
            assert_eq!(jain(&amounts), 1.0 / n as f64);
        }
    }

    #[test]
    fn three_to_one_is_between() {
        assert_eq!(format!("{:.12}", jain(&[3.0, 1.0])), "0.800000000000");
    }

    #[test]
    fn nothing_for_anybody_is_fair_and_tiny_or_huge_amounts_do_not_upset_it() {
        assert_eq!((jain(&[]), jain(&[0.0, 0.0])), (1.0, 1.0));
        assert_eq!((jain(&[1e-300, 1e-300]), jain(&[1e300, 1e300])), (1.0, 1.0));
        assert_eq!(jain(&[1.0, f64::NAN]), 0.5);
    }

    #[test]
    fn fairness_is_over_what_was_got_of_what_was_asked() {
        let share = |asked, given| AskedAndGiven { asked: Span::from_ms(asked), given: Span::from_ms(given) };
        assert_eq!(fairness(&[share(100, 50), share(10, 5), share(0, 0)]), 1.0);
        assert_eq!(fairness(&[share(100, 100), share(100, 0)]), 0.5);
        assert_eq!(share(0, 5).satisfaction(), None);
    }
}
