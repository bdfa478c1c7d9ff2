//! A command in progress, and the events that move it.

use blksched::{Command, Instant, Span};

use super::lane::Path;

/// The pattern of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteManner {
    /// It continued the previous write.
    Sequential,
    /// It did not.
    Random,
}

/// Not a command: programs for the buffer.
pub(super) const BACKGROUND: u32 = u32::MAX - 1;

/// An event.
#[derive(Clone, Copy, Debug)]
pub(super) enum SsdEvent {
    /// The page of the map that a read needs has been read.
    Mapped { path: Path },
    /// A page has been read into its die's register.
    Sensed { path: Path, die: u32, sectors: u32 },
    /// A command's data may cross the interface.
    Carry { op: u32 },
    /// A write's data has arrived.
    Arrived { op: u32 },
}

/// How a command is done.
#[derive(Clone, Copy, Debug)]
pub(super) enum SsdWork {
    /// From the dies.
    Read,
    /// From the buffer.
    Hit,
    /// Into the buffer, in this epoch.
    Cached { epoch: u64, manner: WriteManner },
    /// To the dies.
    Through { manner: WriteManner },
    /// Waits for the buffer to drain.
    Flush,
}

/// A command in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnWay {
    pub(super) command: Command,
    pub(super) work: SsdWork,
    pub(super) arrived: Instant,
    pub(super) ready: Instant,
    /// Parts that have not ended.
    pub(super) left: u32,
    /// When its last part was done with the flash, the end of it, and how long its path waited for others.
    pub(super) end: Instant,
    pub(super) media: Instant,
    pub(super) foreign: Span,
}
