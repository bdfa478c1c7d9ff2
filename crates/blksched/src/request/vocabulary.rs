//! The small types: sector, direction, operation, waiter, priority, and pairs indexed by them.

use core::fmt;
use core::ops::{Add, Index, IndexMut};

/// A position on the disk \[512-byte sectors\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sector(pub u64);

impl Sector {
    /// The distance between two positions \[sectors\].
    pub fn distance(self, other: Sector) -> u64 {
        self.0.abs_diff(other.0)
    }
}

impl Add<u32> for Sector {
    type Output = Sector;
    fn add(self, sectors: u32) -> Sector {
        Sector(self.0 + u64::from(sectors))
    }
}

impl fmt::Display for Sector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The operation of a bio or request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Op {
    /// Disk to memory.
    Read,
    /// Memory to disk.
    Write,
    /// These sectors may be forgotten. Never merged.
    Discard,
    /// Zeroes, without data to carry. Never merged.
    WriteZeroes,
    /// Make everything completed so far stable. Never reaches an elevator.
    Flush,
}

impl Op {
    /// The direction by which it is scheduled: everything except a read counts as a write.
    pub fn dir(self) -> Dir {
        match self {
            Op::Read => Dir::Read,
            Op::Write | Op::Discard | Op::WriteZeroes | Op::Flush => Dir::Write,
        }
    }
}

/// Read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dir {
    /// Disk to memory.
    Read,
    /// Memory to disk.
    Write,
}

impl Dir {
    /// Both, reads first.
    pub const BOTH: [Dir; 2] = [Dir::Read, Dir::Write];

    /// The other one.
    pub fn other(self) -> Dir {
        match self {
            Dir::Read => Dir::Write,
            Dir::Write => Dir::Read,
        }
    }
}

impl fmt::Display for Dir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Dir::Read => "read",
            Dir::Write => "write",
        })
    }
}

/// One `T` for reads and one for writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerDir<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
}

impl<T> PerDir<T> {
    /// Both, made by the same function.
    pub fn from_fn(mut make: impl FnMut(Dir) -> T) -> PerDir<T> {
        PerDir { read: make(Dir::Read), write: make(Dir::Write) }
    }
}

// Which of the two is used cannot be predicted, so no branch is made of it.
impl<T> Index<Dir> for PerDir<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, dir: Dir) -> &T {
        core::hint::select_unpredictable(dir == Dir::Read, &self.read, &self.write)
    }
}

impl<T> IndexMut<Dir> for PerDir<T> {
    #[inline(always)]
    fn index_mut(&mut self, dir: Dir) -> &mut T {
        core::hint::select_unpredictable(dir == Dir::Read, &mut self.read, &mut self.write)
    }
}

/// Whether a process waits for a request: synchronous or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Waiter {
    /// Synchronous: a process waits. Reads, direct writes, fsync.
    Sync,
    /// Asynchronous: no process waits. Write-back.
    Async,
}

/// One `T` for synchronous requests and one for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerWaiter<T> {
    /// For synchronous requests.
    pub sync: T,
    /// For asynchronous requests.
    pub async_: T,
}

impl<T> Index<Waiter> for PerWaiter<T> {
    type Output = T;
    fn index(&self, waiter: Waiter) -> &T {
        match waiter {
            Waiter::Sync => &self.sync,
            Waiter::Async => &self.async_,
        }
    }
}

impl<T> IndexMut<Waiter> for PerWaiter<T> {
    fn index_mut(&mut self, waiter: Waiter) -> &mut T {
        match waiter {
            Waiter::Sync => &mut self.sync,
            Waiter::Async => &mut self.async_,
        }
    }
}

/// ionice's classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Never set (ionice 0); schedulers treat it as best effort, merging does not.
    #[default]
    None,
    /// Real time (ionice 1).
    RealTime,
    /// Best effort (ionice 2).
    BestEffort,
    /// Only when no other process uses the disk (ionice 3).
    Idle,
}

/// An I/O priority as ionice sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority {
    /// The class.
    pub class: Class,
    /// 0 (highest) to 7 within the class.
    pub level: u8,
}

impl Priority {
    /// Best effort, level 4: the priority of a process with nice 0.
    pub const NORMAL: Priority = Priority { class: Class::BestEffort, level: 4 };

    /// Real time at this level, 0 (highest) to 7; a higher number means 7.
    pub const fn real_time(level: u8) -> Priority {
        Priority::of(Class::RealTime, level)
    }

    /// Best effort at this level, 0 (highest) to 7; a higher number means 7.
    pub const fn best_effort(level: u8) -> Priority {
        Priority::of(Class::BestEffort, level)
    }

    /// Only when no other process uses the disk; the class has no levels.
    pub const fn idle() -> Priority {
        Priority::of(Class::Idle, 7)
    }

    const fn of(class: Class, level: u8) -> Priority {
        Priority { class, level: if level > 7 { 7 } else { level } }
    }
}

impl fmt::Display for Priority {
    /// `rt/0`, `be/4`, `idle/7`, `none/0`, as in the transcripts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = match self.class {
            Class::None => "none",
            Class::RealTime => "rt",
            Class::BestEffort => "be",
            Class::Idle => "idle",
        };
        write!(f, "{class}/{}", self.level)
    }
}

/// Hints of a submitter beyond direction and waiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// File-system metadata, or otherwise worth a preference (REQ_META, since 3.x REQ_PRIO).
    pub meta: bool,
    /// No dependent request follows soon: do not idle for one (REQ_NOIDLE).
    pub no_idle: bool,
    /// The flag REQ_SYNC itself, which Linux sets on writes that a process waits for (O_DIRECT, O_SYNC, fsync) and not
    /// on an ordinary read, although its reader waits too: that is [`Waiter`], which all elevators except ADIOS use.
    pub req_sync: bool,
    /// A write from the page cache, fsync's included; a sync write without it is direct.
    pub write_back: bool,
    /// A write of the periodic flusher, or over the background threshold (REQ_BACKGROUND).
    pub background: bool,
}

/// What must be stable before a write completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durability {
    /// Everything completed before it (REQ_PREFLUSH).
    pub preflush: bool,
    /// Its own data (REQ_FUA).
    pub fua: bool,
}

impl Durability {
    /// True if an ordinary write is sufficient.
    pub fn is_volatile(self) -> bool {
        self == Durability::default()
    }
}
