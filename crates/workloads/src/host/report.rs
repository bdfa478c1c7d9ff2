//! What the host did, in numbers.

use blksched::{Op, Span};

use super::fs::FsWait;

/// What a call waits for, besides the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// Pages that it needs, from the disk.
    Pages,
    /// Dirty memory to fall below its limit.
    Room,
    /// Dirty pages to get to the disk, for `fsync`, `O_SYNC` or direct I/O.
    Writing,
    /// A log write of the file system's that is not its own: it needs a block of it, or its own comes after.
    OthersLog,
    /// The log write with its own metadata.
    Log,
    /// The block that makes that one valid, and the flush around it.
    Commit,
    /// Room in the file system's log.
    LogRoom,
    /// Without a log: the blocks of its metadata to be written.
    Home,
    /// The disk's cache to be flushed.
    Flush,
}

impl From<FsWait> for WaitsFor {
    fn from(what: FsWait) -> WaitsFor {
        match what {
            FsWait::OthersLog => WaitsFor::OthersLog,
            FsWait::Log => WaitsFor::Log,
            FsWait::Commit => WaitsFor::Commit,
            FsWait::Room => WaitsFor::LogRoom,
            FsWait::Home => WaitsFor::Home,
            FsWait::Flush => WaitsFor::Flush,
        }
    }
}

impl WaitsFor {
    /// All of them.
    pub const ALL: [WaitsFor; 9] = [
        WaitsFor::Pages,
        WaitsFor::Room,
        WaitsFor::Writing,
        WaitsFor::OthersLog,
        WaitsFor::Log,
        WaitsFor::Commit,
        WaitsFor::LogRoom,
        WaitsFor::Home,
        WaitsFor::Flush,
    ];

    /// The parts of an `fsync`, in order.
    pub const OF_SYNC: [WaitsFor; 7] = {
        let [WaitsFor::Pages, WaitsFor::Room, of_sync @ ..] = WaitsFor::ALL else {
            panic!("what others wait for first")
        };
        of_sync
    };

    /// The end of the sentence "it waits for …".
    pub fn words(self) -> &'static str {
        match self {
            WaitsFor::Pages => "pages from the disk",
            WaitsFor::Room => "dirty memory to fall below its limit",
            WaitsFor::Writing => "its dirty pages to be written",
            WaitsFor::OthersLog => "another's log write",
            WaitsFor::Log => "its log write",
            WaitsFor::Commit => "its commit block",
            WaitsFor::LogRoom => "room in the log",
            WaitsFor::Home => "its metadata to be written",
            WaitsFor::Flush => "a flush of the disk's cache",
        }
    }
}

/// The calls of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// How many returned.
    pub returned: u64,
    /// How often one slept for room ([`WaitsFor::Room`]).
    pub throttled: u64,
    /// How long they waited in all, in the order of [`WaitsFor::ALL`].
    pub waited: [Span; WaitsFor::ALL.len()],
}

impl Calls {
    /// How long they waited for this.
    pub fn on(&self, what: WaitsFor) -> Span {
        self.waited[what as usize]
    }
}

/// Pages that were written, by what caused it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The flusher, above the background limit.
    pub background: u64,
    /// The flusher, because their file had expired.
    pub expired: u64,
    /// Processes themselves: `fsync`, `O_SYNC`, `sync_file_range`, direct I/O.
    pub by_caller: u64,
}

/// What the host did in a run. Pages are of 4096 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostReport {
    /// `read`.
    pub reads: Calls,
    /// `write`.
    pub writes: Calls,
    /// `fsync`, `fdatasync`, `sync_file_range`.
    pub syncs: Calls,
    /// Pages that a reader found in memory, including those read ahead in time.
    pub hits: u64,
    /// Pages that were already being read when a reader needed them.
    pub in_flight: u64,
    /// Pages that were read because a process waited for them.
    pub asked: u64,
    /// Pages that were read ahead.
    pub read_ahead: u64,
    /// Pages that became dirty.
    pub dirtied: u64,
    /// Writes to pages that were already dirty.
    pub overwritten: u64,
    /// Pages that reached the disk.
    pub written: Written,
    /// How often the flusher began to write above the background limit after it had been idle.
    pub background_bursts: u64,
    /// How often it began because files had expired.
    pub expired_bursts: u64,
    /// The most that was dirty or being written \[bytes\].
    pub dirty_most: u64,
    /// What is dirty or being written now \[bytes\].
    pub dirty: u64,
}

impl HostReport {
    /// Whether any I/O went through the page cache.
    pub fn is_used(&self) -> bool {
        self.reads.returned + self.writes.returned + self.syncs.returned + self.hits + self.asked + self.dirtied > 0
    }

    /// Pages that readers got in all.
    pub fn delivered(&self) -> u64 {
        self.hits + self.in_flight + self.asked
    }

    /// Those that cost no disk I/O in this run.
    pub fn from_memory(&self) -> u64 {
        self.delivered().saturating_sub(self.asked + self.read_ahead)
    }

    /// The calls recorded as this operation.
    pub fn calls(&self, op: Op) -> &Calls {
        match op {
            Op::Read => &self.reads,
            Op::Write | Op::Discard | Op::WriteZeroes => &self.writes,
            Op::Flush => &self.syncs,
        }
    }

    pub(super) fn calls_mut(&mut self, op: Op) -> &mut Calls {
        match op {
            Op::Read => &mut self.reads,
            Op::Write | Op::Discard | Op::WriteZeroes => &mut self.writes,
            Op::Flush => &mut self.syncs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_has_its_own_place() {
        assert!(WaitsFor::ALL.iter().enumerate().all(|(at, what)| *what as usize == at));
    }
}
