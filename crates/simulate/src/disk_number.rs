//! Which disk of a world.

/// The place of a disk in a world, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiskNumber(pub u16);

impl DiskNumber {
    /// The world's first disk.
    pub const FIRST: DiskNumber = DiskNumber(0);

    /// The same as an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}
