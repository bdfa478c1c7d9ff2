//! The commands in the device, and the flushes that will be one.

use blksched::author::RequestId;
use blksched::{InFlight, Instant};
use blksched_nbd::Errno;

use super::device_time::Mark;

/// A command in the device.
pub struct Flight {
    /// The command, and the queue's token for its end.
    pub command: InFlight,
    /// When the device got it.
    pub since: Instant,
    /// The same, in the device's own time.
    pub mark: Mark,
    /// How many commands the device had then, this one included.
    pub in_flight: u32,
    /// How many commands the device had ever been given by then, this one included.
    pub nth: u64,
    /// How many operations of the engine are not done.
    pub left: u32,
    /// Whether the disk model is still busy with it.
    pub modelled: Modelled,
    /// Its error.
    pub error: Option<Errno>,
    /// How often a short transfer was retried.
    pub tried: u32,
    /// What a failed write may mean beyond itself.
    pub suspect: Suspect,
    /// How much of it is tried at once.
    pub tries: Tries,
    /// The flushes that it covers.
    pub flushes: Vec<u32>,
    /// The tenants that pay for them.
    pub payers: Vec<Payer>,
}

/// What the failure of a write that was to be stable may mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspect {
    /// Nothing beyond itself.
    Nothing,
    /// The device's flush failed, and not the write: it is being written without one.
    Flush,
}

/// The state of a command in the disk model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modelled {
    /// Still in it.
    Busy,
    /// Done with it, or there is no model.
    Through,
}

/// How much of a command is tried at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tries {
    /// All of it.
    Whole,
    /// Merged, it has failed: each piece is tried by itself, so that only bad ones fail.
    ByPiece {
        /// The piece being tried.
        piece: u32,
        /// The following ones, the last first.
        rest: Vec<u32>,
    },
}

/// The tenant that pays for a part of a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payer {
    /// Its number.
    pub tenant: usize,
    /// How many of the flushes are its own.
    pub asks: u32,
    /// What it pays for.
    pub bytes: u64,
}

/// The commands in the device, by request number.
#[derive(Default)]
pub struct Flights {
    all: Vec<Option<Flight>>,
    /// Flushes in the queue that were not sent.
    flushes: Vec<u32>,
}

impl Flights {
    /// A flush of this piece is in the queue.
    pub fn expect_flush(&mut self, piece: u32) {
        self.flushes.push(piece);
    }

    /// How many of them are not sent.
    #[cfg(test)]
    pub fn flushes_expected(&self) -> usize {
        self.flushes.len()
    }

    /// The flushes that a command that begins now covers.
    pub fn take_flushes(&mut self) -> Vec<u32> {
        core::mem::take(&mut self.flushes)
    }

    pub fn begin(&mut self, rq: RequestId, flight: Flight) {
        let at = rq.index();
        if at >= self.all.len() {
            self.all.resize_with(at + 1, || None);
        }
        self.all[at] = Some(flight);
    }

    pub fn get(&self, rq: RequestId) -> Option<&Flight> {
        self.all[rq.index()].as_ref()
    }

    pub fn get_mut(&mut self, rq: RequestId) -> Option<&mut Flight> {
        self.all[rq.index()].as_mut()
    }

    /// It is over.
    pub fn take(&mut self, rq: RequestId) -> Option<Flight> {
        self.all[rq.index()].take()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Flight> {
        self.all.iter().flatten()
    }

    /// The present try has failed, if this says so; the first failure counts.
    pub fn fail(&mut self, rq: RequestId, failed: Option<Errno>) {
        if let (Some(flight), Some(errno)) = (self.get_mut(rq), failed) {
            flight.error.get_or_insert(errno);
        }
    }
}
