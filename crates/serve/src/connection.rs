//! One client in the transmission phase: received bytes that are not yet parsed, and data to be sent.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use blksched::{Instant, SubmitterId};
use blksched_nbd::{Errno, Request, RequestReader};

use crate::buffer::Buffer;
use crate::origin::Place;
use crate::tenant::TenantUse;
use crate::tx_queue::TxQueue;

/// How much is received at once \[bytes\].
pub const INBOX: usize = 64 << 10;

/// How much one connection may have in flight, including replies that are not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Requests.
    pub requests: u32,
    /// How many of them may ask for extents: their answers are long.
    pub questions: u32,
}

impl Default for Room {
    fn default() -> Room {
        Room { requests: 1024, questions: 16 }
    }
}

/// A client's name in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// Its number among all clients ever, from 1.
    pub number: u64,
    /// Where it comes from.
    pub peer: Arc<str>,
    /// Whether its socket is its own.
    pub way: Transport,
}

/// How a client's bytes arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Through its own socket, which another server can take over.
    Direct,
    /// Through TLS, carried by a thread of this process or of one before it: the socket is the end of a pair, and
    /// another server can take it over while that thread goes on.
    Carried,
    /// Through something in this process: a guest's rings, or a block device's.
    Within,
}

impl Transport {
    /// Whether another server can continue with it.
    pub fn can_be_handed_over(self) -> bool {
        self != Transport::Within
    }
}

/// One client.
pub struct Connection {
    /// Its name in the log.
    pub who: Who,
    /// Its socket.
    pub socket: Arc<OwnedFd>,
    /// Parses its requests.
    pub reader: RequestReader,
    /// The tenant that it uses.
    pub tenant: usize,
    /// Its submitter for the scheduler.
    pub submitter: SubmitterId,
    /// Received bytes.
    pub inbox: Inbox,
    /// What is expected next.
    pub reading: NextBytes,
    /// What is likely to follow.
    pub habit: Habit,
    /// Why the inbox is not processed further.
    pub waits_for: WaitsFor,
    /// What is to be sent next; `None` while it is being sent.
    pub tx: Option<TxQueue>,
    /// Requests that are done but not yet answered.
    pub ready: VecDeque<u32>,
    /// Requests in flight, including those in `ready`.
    pub outstanding: u32,
    /// How many of them ask for extents.
    pub questions: u32,
    /// Its tenant's memory held by its requests, including replies that are not sent \[bytes\].
    pub held: u64,
    /// How much of that the present send frees \[bytes\].
    pub sending: u64,
    /// How much of the present send its peer had not taken at the last look \[bytes\].
    pub unsent: Option<u32>,
    /// When it was last observed to take something of it, or the send began.
    pub taken_at: Instant,
    /// The piece whose data the engine receives directly into its buffer.
    pub filling: Option<u32>,
    /// Whether its other end is watched.
    pub watch: Watch,
    /// Its statistics.
    pub used: TenantUse,
    /// Since when its next request has waited for memory.
    pub waits_since: Option<Instant>,
    /// Its phase.
    pub phase: ConnectionPhase,
    /// When something was last received.
    pub heard_at: Instant,
    /// Whether it is on the list of those to be looked after.
    pub attention: Attention,
    /// Its place among the connections of its origin, which is free again afterwards.
    pub _place: Option<Place>,
}

/// Whether a connection must be looked after before the turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// No.
    None,
    /// Yes, and it is on the list.
    Due,
}

/// Whether a socket's other end is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Yes.
    InFlight,
    /// No longer.
    Over,
}

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionPhase {
    /// Requests come and go.
    Open,
    /// No more requests are read; those in flight are answered, and then it may be handed to another server.
    Quiescing,
    /// Nothing is in flight: it belongs to another server, or this one resumes it.
    Quiet,
    /// No more requests are read; those in flight are answered, and then it ends.
    Leaving,
    /// The client has gone: replies are dropped.
    Gone,
}

/// Why a connection does not continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// The next request is incomplete.
    Bytes,
    /// The request is complete, but must wait for memory, or for replies to be sent. Until then nothing more is
    /// received: its bytes would be lent with the inbox.
    Room,
}

/// What is expected next on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextBytes {
    /// A request.
    Header,
    /// Data of this work: of this piece of it, this many bytes have arrived.
    Data {
        /// The work.
        work: u32,
        /// Its piece.
        piece: u32,
        /// How much of the piece has arrived \[bytes\].
        filled: usize,
    },
    /// Data of a refused request: this many more bytes.
    Refused(Request, u32, Errno),
}

/// What a client's last request was: the next is likely to be of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// Anything: much is received at once.
    Any,
    /// A write whose data is received directly into its buffer: only a header of what follows it is received into the
    /// inbox, so that the next write's data need not be copied from there.
    LongWrites,
}

/// Received bytes that are not processed yet.
pub struct Inbox {
    /// `None` while the engine receives into it.
    buffer: Option<Buffer>,
    from: usize,
    to: usize,
}

impl Inbox {
    /// An empty one.
    pub fn new(buffer: Buffer) -> Inbox {
        Inbox { buffer: Some(buffer), from: 0, to: 0 }
    }

    /// Puts what came with the handshake in front.
    pub fn preload(&mut self, bytes: &[u8]) {
        if let Some(buffer) = &mut self.buffer {
            buffer.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
            self.to = bytes.len();
        }
    }

    /// The bytes in it.
    pub fn unread(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], |buffer| &buffer.bytes()[self.from..self.to])
    }

    /// Marks this much of it as processed.
    pub fn used(&mut self, count: usize) {
        self.from += count;
        debug_assert!(self.from <= self.to);
    }

    /// Lends the buffer for receiving more; `None` if it is already lent or has no room. Returns the offset from which
    /// it is free.
    pub fn lend(&mut self) -> Option<(Buffer, usize)> {
        let buffer = self.buffer.as_mut()?;
        buffer.bytes_mut().copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        if self.to == buffer.capacity() {
            return None;
        }
        self.buffer.take().map(|buffer| (buffer, self.to))
    }

    /// The buffer is back with this many more bytes.
    pub fn returned(&mut self, buffer: Buffer, more: usize) {
        self.buffer = Some(buffer);
        self.to += more;
    }

    /// Whether the engine is receiving into it.
    pub fn is_lent(&self) -> bool {
        self.buffer.is_none()
    }
}

impl Connection {
    /// Whether the engine receives for it.
    pub fn receives(&self) -> bool {
        self.inbox.is_lent() || self.filling.is_some()
    }

    /// Whether everything of it is done.
    pub fn is_done(&self) -> bool {
        let idle = self.outstanding == 0 && self.tx.is_some() && !self.receives();
        match self.phase {
            ConnectionPhase::Open | ConnectionPhase::Quiet => false,
            ConnectionPhase::Quiescing => idle && self.reading == NextBytes::Header,
            ConnectionPhase::Leaving | ConnectionPhase::Gone => idle,
        }
    }

    /// Whether received bytes are still processed; for a connection that parts, those of a request that it has begun.
    pub fn is_heard(&self) -> bool {
        match self.phase {
            ConnectionPhase::Open => true,
            ConnectionPhase::Quiescing => self.reading != NextBytes::Header,
            ConnectionPhase::Quiet | ConnectionPhase::Leaving | ConnectionPhase::Gone => false,
        }
    }

    /// Whether another request may be read.
    pub fn takes_more(&self, room: Room) -> bool {
        self.phase == ConnectionPhase::Open && self.outstanding < room.requests && self.questions < room.questions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Pool;

    #[test]
    fn an_inbox_keeps_what_is_not_understood_while_more_comes() {
        let mut pool = Pool::new(1 << 20);
        let mut inbox = Inbox::new(pool.take(4096).unwrap());
        inbox.preload(b"abcdef");
        inbox.used(4);
        let (mut buffer, from) = inbox.lend().unwrap();
        assert!(inbox.is_lent() && inbox.unread().is_empty() && inbox.lend().is_none());
        buffer.bytes_mut()[from..from + 3].copy_from_slice(b"ghi");
        inbox.returned(buffer, 3);
        assert_eq!(inbox.unread(), b"efghi");
    }

    #[test]
    fn a_full_inbox_receives_no_more() {
        let mut pool = Pool::new(1 << 20);
        let mut inbox = Inbox::new(pool.take(4096).unwrap());
        inbox.preload(&[7; 4096]);
        assert!(inbox.lend().is_none());
        inbox.used(1);
        assert_eq!(inbox.lend().unwrap().1, 4095);
    }
}
