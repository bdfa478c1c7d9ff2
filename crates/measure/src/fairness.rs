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

/// Jain's index over the part that each got of what it asked for, among processes that run side by side; those that
/// asked for nothing are left out (what a process writes into memory, the host writes to the disk). `None` if fewer
/// than two asked: nothing was shared.
///
/// `together` are the processes, by their places in `shares`, that run at the same time. Of several such sets the least
/// fair counts: jobs that never meet are neither fair nor unfair to each other.
pub fn fairness(shares: &[AskedAndGiven], together: &[Vec<usize>]) -> Option<f64> {
    let among = |set: &Vec<usize>| {
        let satisfied: Vec<f64> = set.iter().filter_map(|&nth| shares.get(nth)?.satisfaction()).collect();
        (satisfied.len() > 1).then(|| jain(&satisfied))
    };
    together.iter().filter_map(among).reduce(f64::min)
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
        assert_eq!(fairness(&[share(100, 50), share(10, 5), share(0, 0)], &[vec![0, 1, 2]]), Some(1.0));
        assert_eq!(fairness(&[share(100, 100), share(100, 0)], &[vec![0, 1]]), Some(0.5));
        assert_eq!(share(0, 5).satisfaction(), None);
    }

    #[test]
    fn one_that_asks_beside_a_writer_into_memory_shares_nothing() {
        let share = |asked, given| AskedAndGiven { asked: Span::from_ms(asked), given: Span::from_ms(given) };
        assert_eq!(fairness(&[share(0, 0), share(900, 2)], &[vec![0, 1]]), None);
        assert_eq!(fairness(&[], &[]), None);
    }

    #[test]
    fn jobs_that_never_meet_share_nothing_and_the_least_fair_of_those_that_do_counts() {
        let share = |asked, given| AskedAndGiven { asked: Span::from_ms(asked), given: Span::from_ms(given) };
        let shares = [share(100, 100), share(100, 0), share(100, 50), share(100, 50)];
        assert_eq!(fairness(&shares, &[vec![0], vec![1], vec![2]]), None);
        assert_eq!(fairness(&shares, &[vec![0, 1], vec![2, 3]]), Some(0.5));
    }
}
