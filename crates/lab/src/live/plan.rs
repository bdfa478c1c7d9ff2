//! The order of the periods: every block has each arm once, in an order of its own.
//!
//! **Rule** Loads drift over minutes, so that only neighbours are compared, and a fixed order would meet whatever comes
//! every so many seconds always in the same arm.

use blksched::Span;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// How long after a switch nothing is counted. Chosen, not measured: a block whose queue still holds I/O of the former
/// setting then is left out whatever this is. What hangs on it: too short a time mixes the settings, which makes
/// differences look smaller.
pub const SETTLE: Span = Span::from_secs(5);
/// The same where an arm sets io.cost, which moves its rate step by step until it suits the disk. Chosen, not measured:
/// three times as long. What hangs on it is the same; `--every` has to be twice as long.
pub const SETTLE_IO_COST: Span = Span::from_secs(15);
/// With fewer pairs an interval says next to nothing (Student's t with one degree of freedom).
const FEWEST_BLOCKS: usize = 3;

/// The periods of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivePlan {
    /// A block after the other: each arm's number once in each.
    pub blocks: Vec<Vec<usize>>,
    /// The length of a period, with its settling time.
    pub every: Span,
    /// How much of each period is left out at its beginning.
    pub settle: Span,
}

impl LivePlan {
    /// How long it takes.
    pub fn length(&self) -> Span {
        self.every * self.blocks.iter().map(Vec::len).sum::<usize>() as u64
    }
}

/// Draws the order of as many whole blocks as fit into `length`.
///
/// # Errors
/// Which of the times is too short, and what it must be.
pub fn plan(arms: usize, every: Span, length: Span, settle: Span, seed: u64) -> Result<LivePlan, String> {
    if arms < 2 {
        return Err("a trial needs two settings or more, as in `--elevators mq-deadline,bfq`".to_owned());
    }
    if settle * 2 > every {
        return Err(format!(
            "--settle {settle} leaves less than half of --every {every}: expected --every {} or more",
            settle * 2
        ));
    }
    let count = (length.as_ns() / every.as_ns().max(1)) as usize / arms;
    if count < FEWEST_BLOCKS {
        let least = every * (FEWEST_BLOCKS * arms) as u64;
        return Err(format!(
            "--for {length} has room for {count} pairs of periods, and {FEWEST_BLOCKS} are the least: \
             expected --for {} or more",
            least
        ));
    }
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let block = |_| {
        let mut order: Vec<usize> = (0..arms).collect();
        order.shuffle(&mut random);
        order
    };
    Ok(LivePlan { blocks: (0..count).map(block).collect(), every, settle })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(s: u64) -> Span {
        Span::from_secs(s)
    }

    #[test]
    fn every_block_has_each_arm_once_and_orders_differ() {
        let plan = plan(3, secs(30), secs(1200), SETTLE, 1).unwrap();
        assert_eq!((plan.blocks.len(), plan.length()), (13, secs(1170)));
        for block in &plan.blocks {
            let mut sorted = block.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!(plan.blocks.iter().any(|block| block != &plan.blocks[0]));
        assert_eq!(plan, super::plan(3, secs(30), secs(1200), SETTLE, 1).unwrap());
    }

    #[test]
    fn each_arm_is_first_about_as_often() {
        let plan = plan(2, secs(10), secs(20_000), SETTLE, 5).unwrap();
        let first = plan.blocks.iter().filter(|block| block[0] == 0).count();
        assert!((430..=570).contains(&first), "{first} of 1000");
    }

    #[test]
    fn times_too_short_are_refused_at_their_limit() {
        assert!(plan(2, secs(10), secs(60), secs(5), 1).is_ok());
        let short = plan(2, secs(10), secs(59), secs(5), 1).unwrap_err();
        assert!(short.contains("expected --for 60"), "{short}");
        let settle = plan(2, secs(9), secs(60), secs(5), 1).unwrap_err();
        assert!(settle.contains("expected --every 10"), "{settle}");
        assert!(plan(1, secs(10), secs(60), secs(5), 1).is_err());
    }
}
