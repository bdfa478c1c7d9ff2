//! The one place that does I/O: an operation goes in with everything it needs, and comes back with its result.
//!
//! An [`Io`] owns its buffers and its file while it is in flight, so nothing can be freed or changed meanwhile. There
//! are two engines with the same behaviour: `uring` uses an io_uring; `threads` uses `poll` and a few threads where
//! there is none.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use blksched_nbd::reply::Extent;

use crate::buffer::Buffer;
use crate::tx_queue::TxQueue;

mod registered;
mod threads;
mod uring;
mod workers;

pub use threads::Threads;
pub use uring::Uring;

/// Which engine to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// An io_uring where the kernel has one, else threads.
    #[default]
    Auto,
    /// An io_uring.
    Uring,
    /// Threads.
    Threads,
}

/// A piece of a transfer between a file and a buffer.
pub struct TransferPart {
    /// The shard's own number of the piece.
    pub piece: u32,
    /// Its memory.
    pub buffer: Buffer,
    /// How much of it is used, from its beginning \[bytes\].
    pub length: usize,
}

/// One operation.
pub enum Io {
    /// Wait until something can be read.
    Poll(Arc<OwnedFd>),
    /// Wait until the other side has closed; a shutdown of one direction may end it, too.
    Hangup(Arc<OwnedFd>),
    /// Receive into a part of a buffer.
    Receive(Arc<OwnedFd>, Buffer, Fill),
    /// Send all of it.
    Send(Arc<OwnedFd>, TxQueue),
    /// Read from a file at this offset, one part after the other.
    Read(Arc<OwnedFd>, u64, Vec<TransferPart>),
    /// Write to a file at this offset.
    Write(Arc<OwnedFd>, u64, Vec<TransferPart>, Stable),
    /// Make written data stable.
    Sync(Arc<OwnedFd>),
    /// Change the allocation of a range of a file.
    Allocate(Arc<OwnedFd>, Allocation, u64, u64),
    /// Ask which parts of a file are allocated; the file system may have to read for it.
    Extents(Arc<OwnedFd>, Question, Vec<Extent>),
}

/// The part of a buffer to receive into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// From here \[bytes\].
    pub from: usize,
    /// Up to here \[bytes\].
    pub to: usize,
    /// When it is complete.
    pub until: Until,
}

/// When a receive is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// With anything received.
    Anything,
    /// When all of it has been received, or as much as has arrived when the engine is hurried. An engine may complete
    /// it early.
    Full,
}

/// A question for extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The offset in the file \[bytes\].
    pub start: u64,
    /// The length \[bytes\].
    pub length: u64,
    /// At most this many.
    pub most: usize,
}

/// When a write is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stable {
    /// As soon as reads see it.
    Later,
    /// Once it is stable (RWF_DSYNC).
    Now,
}

/// What to do with a range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// Free its storage; it reads as zeroes (FALLOC_FL_PUNCH_HOLE).
    Punch,
    /// Make it read as zeroes, and keep its storage (FALLOC_FL_ZERO_RANGE).
    Zero,
}

/// A completed operation.
pub struct EngineEvent {
    /// Its token.
    pub token: u64,
    /// The operation, with everything that it owned.
    pub io: Io,
    /// How much was done \[bytes\], or the operating system's error number.
    pub result: Result<usize, i32>,
}

/// The result of a hurried receive without data (ECANCELED).
pub const HURRIED: i32 = rustix::io::Errno::CANCELED.raw_os_error();

/// Does I/O.
pub trait Engine: Send {
    /// Begins an operation, at the latest with the next [`Engine::wait`].
    fn submit(&mut self, token: u64, io: Io);

    /// Waits until something completes, at most this long; completed operations go into `events`.
    ///
    /// # Errors
    /// If the engine itself has failed.
    fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<EngineEvent>) -> io::Result<()>;

    /// Ends the receive with this token soon, with what it has: a number of bytes, or an error if it has none
    /// ([`HURRIED`]).
    fn hurry(&mut self, token: u64) {
        let _ = token;
    }

    /// How much of what was sent the peer has not taken \[bytes\], if known.
    fn unsent(&self, socket: &OwnedFd) -> Option<u32> {
        let _ = socket;
        None
    }

    /// Its name, for people.
    fn name(&self) -> &'static str;

    /// Its statistics, as `name=number` separated by spaces.
    fn stat(&self) -> String {
        String::new()
    }
}

/// Makes an engine for at most `operations` at a time.
///
/// # Errors
/// If this machine has no such engine.
pub fn make(kind: EngineKind, operations: u32) -> io::Result<Box<dyn Engine>> {
    match kind {
        EngineKind::Uring => Ok(Box::new(Uring::new(operations)?)),
        EngineKind::Threads => Ok(Box::new(Threads::new()?)),
        EngineKind::Auto => match Uring::new(operations) {
            Ok(uring) => Ok(Box::new(uring)),
            Err(error) => {
                tracing::info!(%error, "no io_uring here: using threads");
                Ok(Box::new(Threads::new()?))
            }
        },
    }
}

#[cfg(test)]
mod tests;
