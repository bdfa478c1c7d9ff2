//! What searches cost, per index.

use blksched::reasons::Index;

use crate::moments::Moments;

/// Searches and the steps they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    searches: [Moments; 3],
}

impl Effort {
    /// The indices that are distinguished.
    pub const INDICES: [Index; 3] = [Index::List, Index::Tree, Index::Hash];

    /// Searches through this index: how many, and nodes visited or comparisons made by each.
    pub fn of(&self, index: Index) -> &Moments {
        &self.searches[place(index)]
    }

    /// The steps of every search together.
    pub fn steps(&self) -> u64 {
        self.searches.iter().map(|moments| u64::try_from(moments.sum()).unwrap_or(u64::MAX)).sum()
    }

    pub(super) fn searched(&mut self, index: Index, steps: u32) {
        self.searches[place(index)].record(u64::from(steps));
    }
}

fn place(index: Index) -> usize {
    match index {
        Index::List => 0,
        Index::Tree => 1,
        Index::Hash => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_count_under_their_index() {
        let mut effort = Effort::default();
        for (index, steps) in [(Index::List, 100), (Index::Tree, 7), (Index::Tree, 3)] {
            effort.searched(index, steps);
        }
        assert_eq!((effort.of(Index::Tree).count(), effort.of(Index::Tree).mean()), (2, 5.0));
        assert_eq!((effort.of(Index::Hash).count(), effort.steps()), (0, 110));
    }
}
