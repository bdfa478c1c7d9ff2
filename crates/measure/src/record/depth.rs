//! How deep the queue was when I/Os were submitted.
//!
//! fio's manual: "The numbers are divided into powers of 2 and each entry covers depths from that value up to those
//! that are lower than the next entry -- e.g., 16= covers depths from 16 to 31".

/// The least depth of each step; the last has no end.
pub const DEPTH_BOUNDS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Submissions by how many I/Os their job then had in flight, including the new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DepthLevels {
    counts: [u64; DEPTH_BOUNDS.len()],
}

impl DepthLevels {
    /// Counts a submission that brought its job to `depth` in flight (at least 1).
    pub fn record(&mut self, depth: u32) {
        self.counts[(depth.max(1).ilog2() as usize).min(DEPTH_BOUNDS.len() - 1)] += 1;
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &DepthLevels) {
        self.counts.iter_mut().zip(other.counts).for_each(|(ours, theirs)| *ours += theirs);
    }

    /// The counts, by [`DEPTH_BOUNDS`].
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The number of submissions.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_depth_counts_in_the_step_that_it_reaches() {
        let mut levels = DepthLevels::default();
        [1, 2, 3, 4, 31, 32, 63, 64, 4096].into_iter().for_each(|depth| levels.record(depth));
        assert_eq!(levels.counts(), [1, 2, 1, 0, 1, 2, 2]);
        assert_eq!(levels.total(), 9);
    }
}
