//! Which statistics are kept: runs that need few of them are faster without the others.

/// Which statistics are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kept {
    #[default]
    All,
    /// How busy the disk was, and submitters' times.
    Shares,
    /// What is counted: what entered, the effort of searches, slices.
    Counts,
}
