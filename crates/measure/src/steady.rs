//! Where a run's beginning ends.
//!
//! **Rule** MSER-5: the observations become means of five; of all beginnings, that one is cut off that leaves the mean
//! of the rest with the least standard error. A beginning of more than half of the run means that the run is too short
//! to tell. At least a quarter is left (FIT): a few batches at the end have little error by chance, so that a change in
//! the last quarter is not noticed here.
//!
//! **Source** K. P. White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69
//! (1997), 323–334; in batches of five: K. P. White, M. J. Cobb, S. C. Spratt, "A comparison of five steady-state
//! truncation heuristics for simulation", Winter Simulation Conference 2000, 755–760.

/// Observations in a batch.
const BATCH: usize = 5;
/// With fewer batches the least error is mostly chance (FIT: with eight, runs that were steady lost half of
/// themselves).
const LEAST: usize = 20;

/// Where a run's beginning ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// There are too few observations to tell.
    TooFew,
    /// So many observations are the beginning, to be left out.
    Ends(usize),
    /// What changes is not over in the first half.
    NotOver,
}

/// Which of these observations are the run's beginning.
///
/// ```
/// # use blksched_measure::{Beginning, mser5};
/// let settles = (0..200).map(|nth| if nth < 40 { 9.0 } else { 5.0 + f64::from(nth % 3) });
/// assert_eq!(mser5(&settles.collect::<Vec<_>>()), Beginning::Ends(40));
/// assert_eq!(mser5(&(0..200).map(f64::from).collect::<Vec<_>>()), Beginning::NotOver);
/// assert_eq!(mser5(&[1.0; 99]), Beginning::TooFew);
/// ```
pub fn mser5(observations: &[f64]) -> Beginning {
    let batches: Vec<f64> =
        observations.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    let count = batches.len();
    if count < LEAST {
        return Beginning::TooFew;
    }
    // Sums of what is left, from the end.
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, count);
    // Centred first: the difference of two large sums would lose digits.
    let middle = batches.iter().sum::<f64>() / count as f64;
    for (cut, value) in batches.iter().enumerate().rev() {
        let left = (count - cut) as f64;
        sum += value - middle;
        squares += (value - middle) * (value - middle);
        let error = (squares - sum * sum / left).max(0.0) / (left * left);
        // The last few have little error by chance.
        if 4.0 * left >= count as f64 && error <= best.0 {
            best = (error, cut);
        }
    }
    if best.1 * 2 <= count { Beginning::Ends(best.1 * BATCH) } else { Beginning::NotOver }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without order, from 0 to 1.
    fn noise(count: usize) -> Vec<f64> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_run_that_is_steady_from_the_beginning_keeps_it() {
        assert_eq!(mser5(&[4.0; 100]), Beginning::Ends(0));
        let Beginning::Ends(cut) = mser5(&noise(500)) else { panic!("it is steady") };
        assert!(cut <= 150, "{cut} of 500");
    }

    #[test]
    fn a_beginning_unlike_the_rest_is_cut_off_where_it_ends() {
        for beginning in [20, 60, 100, 240] {
            let mut observations = noise(500);
            observations[..beginning].iter_mut().for_each(|value| *value += 20.0);
            let Beginning::Ends(cut) = mser5(&observations) else { panic!("the second half is steady") };
            assert!((beginning..beginning + 150).contains(&cut), "{cut} for {beginning}");
        }
    }

    #[test]
    fn a_change_in_the_second_half_or_too_few_observations_have_no_answer() {
        let mut late = noise(500);
        late[..325].iter_mut().for_each(|value| *value += 20.0);
        assert_eq!(mser5(&late), Beginning::NotOver);
        assert_eq!((mser5(&noise(99)), mser5(&[])), (Beginning::TooFew, Beginning::TooFew));
        assert_ne!(mser5(&noise(100)), Beginning::TooFew);
    }
}
