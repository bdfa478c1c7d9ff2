//! Is one scheduler better than another, and by how much? Both ran with the same seeds, so each seed is a pair.
//!
//! **Rule** For each seed the logarithm of the ratio counts, so that twice and half are equally far from one. Their
//! mean is the estimate. Below eight seeds its interval and its p-value are Student's; from eight on they are
//! bootstrapped: the centred logarithms are drawn again with replacement, each draw gives its own t, and the real t is
//! compared with these (the studentised bootstrap, symmetric; B. Efron and R. J. Tibshirani, "An Introduction to the
//! Bootstrap", chapter 12). A deviation below half of a histogram's precision is raised to that, so that values that
//! happen to round to the same number prove nothing. [`holm`] says which of many comparisons in one table are
//! significant.

mod student;

/// Intervals are at 95 %.
const LEVEL: f64 = 0.05;
/// The bootstrap is used from this many seeds on.
const BOOTSTRAP_FROM: usize = 8;
/// The number of bootstrap samples.
const DRAWS: usize = 9_999;
/// Half the precision of a percentile, which is one part in a thousand.
const PRECISION: f64 = 5e-4;
/// A ratio to zero counts as a million.
const FARTHEST: f64 = 1e6;

/// One measure of two schedulers over the same seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// The number of pairs.
    pub count: usize,
    /// The value here over the value there: the geometric mean over the seeds.
    pub ratio: f64,
    /// The lower end of that ratio's 95 % interval, for this comparison alone. The interval of one pair is infinite.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The probability of a ratio at least this far from one if there is no difference; 1 for one pair.
    pub p: f64,
}

impl Paired {
    /// `here` and `base` seed by seed; pairs with a NaN are left out. `None` if none is left.
    ///
    /// ```
    /// let paired = blksched_measure::Paired::of(&[20.0, 22.0, 21.0], &[10.0, 11.0, 10.0]).unwrap();
    /// assert!(paired.ratio > 2.0 && paired.low < paired.ratio && paired.p < 0.01);
    /// ```
    pub fn of(here: &[f64], base: &[f64]) -> Option<Paired> {
        Paired::of_logarithms(&logarithms(here, base))
    }

    /// The same from the logarithms of the ratios.
    pub fn of_logarithms(logarithms: &[f64]) -> Option<Paired> {
        let count = logarithms.len();
        if count == 0 {
            return None;
        }
        let Moments { mean, error } = Moments::of(logarithms);
        let alike = logarithms.iter().all(|&log| log == 0.0);
        let (p, reach) = match count {
            _ if alike => (1.0, 0.0),
            1 => (1.0, f64::INFINITY),
            2..BOOTSTRAP_FROM => {
                let freedom = count as f64 - 1.0;
                (student::two_sided((mean / error).abs(), freedom), error * student::critical(LEVEL, freedom))
            }
            _ => bootstrap(logarithms, mean, error),
        };
        let [ratio, low, high] = [mean, mean - reach, mean + reach].map(libm::exp);
        Some(Paired { count, ratio, low, high, p })
    }
}

/// The logarithm of each pair's ratio.
pub fn logarithms(here: &[f64], base: &[f64]) -> Vec<f64> {
    let known = |(h, b): (&f64, &f64)| {
        let least = h.max(*b) / FARTHEST;
        let known = h.is_finite() && b.is_finite() && *h >= 0.0 && *b >= 0.0;
        // Zero in both is no difference.
        known.then(|| if least == 0.0 { 0.0 } else { libm::log(h.max(least) / b.max(least)) })
    };
    here.iter().zip(base).filter_map(known).collect()
}

/// The 95 % interval of the mean of values.
pub(crate) fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let spread = crate::spread::Spread::of(values);
    let freedom = spread.count.checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
    let reach = spread.stddev / libm::sqrt(spread.count as f64) * student::critical(LEVEL, freedom);
    Some((spread.mean - reach, spread.mean + reach))
}

/// Mean, and its standard error.
struct Moments {
    mean: f64,
    error: f64,
}

impl Moments {
    fn of(values: &[f64]) -> Moments {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let deviation = libm::sqrt(squares / (n - 1.0).max(1.0)).max(PRECISION);
        Moments { mean, error: deviation / libm::sqrt(n) }
    }
}

/// The p-value and the half width of the interval.
fn bootstrap(logarithms: &[f64], mean: f64, error: f64) -> (f64, f64) {
    let centred: Vec<f64> = logarithms.iter().map(|log| log - mean).collect();
    // The same numbers for the same count: results must not vary by chance.
    let mut state = logarithms.len() as u64;
    let mut drawn = vec![0.0; centred.len()];
    let mut ts: Vec<f64> = (0..DRAWS)
        .map(|_| {
            drawn.iter_mut().for_each(|value| *value = centred[below(&mut state, centred.len())]);
            let moments = Moments::of(&drawn);
            (moments.mean / moments.error).abs()
        })
        .collect();
    ts.sort_by(f64::total_cmp);
    let t = (mean / error).abs();
    let beyond = DRAWS - ts.partition_point(|drawn| *drawn < t);
    let at = ((1.0 - LEVEL) * (DRAWS + 1) as f64) as usize - 1;
    ((beyond + 1) as f64 / (DRAWS + 1) as f64, error * ts[at.min(DRAWS - 1)])
}

/// A number below `n`, from a 64-bit counter well mixed (splitmix64).
fn below(state: &mut u64, n: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((u128::from(z ^ (z >> 31)) * n as u128) >> 64) as usize
}

/// Holm's correction: p-values such that in 95 of 100 tables in which nothing differs none is 0.05 or less, however
/// many comparisons a table has, and whether or not they are correlated.
///
/// ```
/// assert_eq!(blksched_measure::holm(&[0.01, 0.5, 0.03]), [0.03, 0.5, 0.06]);
/// ```
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least = 0.0f64;
    for (rank, &nth) in order.iter().enumerate() {
        least = least.max(p[nth] * (p.len() - rank) as f64).min(1.0);
        adjusted[nth] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Roughly normal: the sum of twelve numbers from 0 to 1, minus six.
    fn normal(state: &mut u64) -> f64 {
        (0..12).map(|_| below(state, 1 << 40) as f64 / (1u64 << 40) as f64).sum::<f64>() - 6.0
    }

    /// One seed's logarithms, one per comparison of a table.
    type Seed = fn(&mut u64) -> Vec<f64>;

    const COMPARISONS: usize = 30;

    fn even(state: &mut u64) -> Vec<f64> {
        (0..COMPARISONS).map(|_| normal(state)).collect()
    }

    fn with_a_tail(state: &mut u64) -> Vec<f64> {
        (0..COMPARISONS).map(|_| libm::exp(normal(state)) - libm::exp(normal(state))).collect()
    }

    /// Each side falls into one mode in one of four runs, and all measures of a run with it.
    fn in_two_modes(state: &mut u64) -> Vec<f64> {
        let mut mode = || if below(state, 4) == 0 { 1.0 } else { 0.0 };
        let difference = mode() - mode();
        (0..COMPARISONS).map(|_| difference + 0.01 * normal(state)).collect()
    }

    /// How many of 200 tables without a difference raise an alarm.
    fn alarms(seeds: usize, draw: Seed) -> usize {
        let mut state = 1;
        let mut any = || {
            let runs: Vec<Vec<f64>> = (0..seeds).map(|_| draw(&mut state)).collect();
            let of = |nth: usize| Paired::of_logarithms(&runs.iter().map(|run| run[nth]).collect::<Vec<_>>());
            let p: Vec<f64> = (0..COMPARISONS).map(|nth| of(nth).expect("there are seeds").p).collect();
            holm(&p).iter().any(|p| *p <= LEVEL)
        };
        (0..200).filter(|_| any()).count()
    }

    #[test]
    fn tables_of_nothing_seldom_raise_an_alarm() {
        for seeds in [3, 5] {
            let found = [even, with_a_tail, in_two_modes].map(|draw| alarms(seeds, draw));
            assert!(found.iter().all(|&found| found <= 16), "{seeds}: {found:?}");
        }
    }

    #[test]
    #[ignore = "slow: 200 tables of bootstraps"]
    fn bootstrapped_tables_of_nothing_seldom_raise_an_alarm() {
        for seeds in [8, 10, 20] {
            let found = [even, with_a_tail, in_two_modes].map(|draw| alarms(seeds, draw));
            println!("{seeds}: {found:?}");
            assert!(found.iter().all(|&found| found <= 16), "{seeds}: {found:?}");
        }
    }

    #[test]
    fn power_grows_with_the_seeds() {
        let found = |seeds: usize| {
            let mut state = 7;
            let mut one = || (0..seeds).map(|_| 0.3 + 0.3 * normal(&mut state)).collect::<Vec<_>>();
            (0..60).filter(|_| Paired::of_logarithms(&one()).is_some_and(|paired| paired.p <= LEVEL)).count()
        };
        let [three, ten, twenty] = [3, 10, 20].map(found);
        assert!(three < ten && ten < twenty && twenty >= 55, "{three} {ten} {twenty}");
    }

    #[test]
    fn an_interval_holds_the_truth_nineteen_times_in_twenty() {
        for seeds in [4, 12] {
            let mut state = 3;
            let mut one = || (0..seeds).map(|_| 0.5 + normal(&mut state)).collect::<Vec<_>>();
            let holds = |paired: Paired| paired.low <= libm::exp(0.5) && libm::exp(0.5) <= paired.high;
            let held = (0..200).filter(|_| Paired::of_logarithms(&one()).is_some_and(holds)).count();
            assert!((180..=199).contains(&held), "{seeds}: {held}");
        }
    }

    #[test]
    fn the_same_values_are_no_difference_and_one_pair_proves_nothing() {
        let same = Paired::of(&[3.0, 4.0, 0.0], &[3.0, 4.0, 0.0]).unwrap();
        assert_eq!((same.ratio, same.low, same.high, same.p), (1.0, 1.0, 1.0, 1.0));
        let one = Paired::of(&[8.0], &[2.0]).unwrap();
        assert_eq!((one.ratio.round(), one.low, one.high, one.p), (4.0, 0.0, f64::INFINITY, 1.0));
        assert_eq!(Paired::of(&[f64::NAN], &[2.0]), None);
    }

    #[test]
    fn values_that_round_alike_are_no_proof() {
        let paired = Paired::of(&[1.001; 3], &[1.0; 3]).unwrap();
        assert!(paired.p > 0.05, "{paired:?}");
    }

    #[test]
    fn a_ratio_to_nothing_is_large_and_finite() {
        let paired = Paired::of(&[5.0, 6.0, 7.0], &[0.0; 3]).unwrap();
        assert!((paired.ratio / FARTHEST - 1.0).abs() < 1e-9 && paired.p < 1e-6, "{paired:?}");
    }
}
