//! `cmdprio_…`: I/Os whose priority is not their process's.

use crate::fio::ddir::{Ddir, PerDdir};
use blksched::Priority;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// A share of the I/Os of one size, or of all sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PriorityShare {
    /// \[sectors\]
    pub size: Option<u32>,
    /// \[%\]
    pub percent: u64,
    pub priority: Priority,
}

/// The priority of an I/O of this length; `others` is the process's own. Entries of the same size add up.
pub(super) fn priority(
    commands: &PerDdir<Vec<PriorityShare>>,
    (dir, length): (Ddir, u32),
    others: Priority,
    random: &mut Pcg64Mcg,
) -> Priority {
    let mut meant = commands[dir].iter().filter(|command| command.size.is_none_or(|size| size == length)).peekable();
    if meant.peek().is_none() {
        return others;
    }
    let drawn = random.random_range(0..100);
    let mut sum = 0;
    let hit = meant.find(|command| {
        sum += command.percent;
        drawn < sum
    });
    hit.map_or(others, |command| command.priority)
}
