//! One client in the transmission phase: received bytes that are not yet parsed, and data to be sent.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use blksched::{Instant, SubmitterId};
use blksched_nbd::{Errno, Request, RequestReader};

use crate::buffer::Buffer;
use crate::tenant::TenantUse;
use crate::tx_queue::TxQueue;

/// How much is received at a time \[bytes\].
pub const INBOX: usize = 64 << 10;

/// How much one connection may have under way, replies that are not sent included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Requests.
    pub requests: u32,
    /// Those of them that ask for extents: their answers are long.
    pub questions: u32,
}

impl Default for Room {
    fn default() -> Room {
        Room { requests: 1024, questions: 16 }
    }
}

/// A client, as the log names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// Its number among all that ever came, from 1.
    pub number: u64,
    /// Where it comes from.
    pub peer: Arc<str>,
    /// Is its socket its own?
    pub way: Transport,
}

/// How a client's bytes come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// By its own socket, which another server can go on with.
    Direct,
    /// By way of something in this process: TLS, or a guest's rings.
    Within,
}

/// One client.
pub struct Connection {
    /// Who it is, for the log.
    pub who: Who,
    /// Its socket.
    pub socket: Arc<OwnedFd>,
    /// How its requests read.
    pub reader: RequestReader,
    /// Whose part of the disk it uses.
    pub tenant: usize,
    /// Who it is to the scheduler.
    pub submitter: SubmitterId,
    /// What has come in.
    pub inbox: Inbox,
    /// What comes next.
    pub reading: NextBytes,
    /// What is likely to come behind it.
    pub habit: Habit,
    /// Why nothing more of the inbox is understood.
    pub waits_for: WaitsFor,
    /// What is to go out next; none while it is under way.
    pub tx: Option<TxQueue>,
    /// Requests that are done and not yet answered.
    pub ready: VecDeque<u32>,
    /// Requests under way, those in `ready` included.
    pub under_way: u32,
    /// How many of them ask for extents.
    pub questions: u32,
    /// Memory of its tenant that its requests hold, replies that are not sent included \[bytes\].
    pub held: u64,
    /// How much of that is freed by the send under way \[bytes\].
    pub sending: u64,
    /// What its peer had not taken of the send under way when that was last looked at \[bytes\].
    pub unsent: Option<u32>,
    /// When it was last seen to take something of it, or the send began.
    pub taken_at: Instant,
    /// The piece whose data the engine receives straight into its buffer.
    pub filling: Option<u32>,
    /// Is its other end watched?
    pub watch: Watch,
    /// What it has had.
    pub used: TenantUse,
    /// Since when its next request waits for memory.
    pub waits_since: Option<Instant>,
    /// How far it is.
    pub phase: ConnectionPhase,
    /// When something last came in.
    pub heard_at: Instant,
    /// Is it among those to be looked after?
    pub attention: Attention,
}

/// Is there a reason to look after a connection before the turn ends?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// No.
    None,
    /// Yes, and it is on the list.
    Due,
}

/// Is a socket's other end watched?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Yes.
    UnderWay,
    /// No more.
    Over,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionPhase {
    /// Requests come and go.
    Open,
    /// No more requests are read; those under way are answered, then it may be another server's.
    Parting,
    /// Nothing is under way: it is another server's, or this one goes on with it.
    Parted,
    /// No more requests are read; those under way are answered, then it ends.
    Leaving,
    /// The client has gone: answers are dropped.
    Gone,
}

/// Why a connection does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// The next request is not all there.
    Bytes,
    /// It is there, and must wait for memory, or for replies to be sent. Until then nothing more is received: its bytes
    /// would be lent with the inbox.
    Room,
}

/// What comes next on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextBytes {
    /// A request.
    Header,
    /// Data of this work: this piece of it, of which this many bytes are here.
    Data {
        /// The work.
        work: u32,
        /// Its piece.
        piece: u32,
        /// How much of the piece is here \[bytes\].
        filled: usize,
    },
    /// Data of a request that is refused: this many bytes more.
    Refused(Request, u32, Errno),
}

/// What a client's last request was: the next is likely to be such a one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// Anything: much is received at a time.
    Any,
    /// A write whose data are received straight into their buffer: of what is behind it nothing but a header is
    /// received into the inbox, so that the next one's data are not copied out of there.
    LongWrites,
}

/// What has come in and is not yet understood.
pub struct Inbox {
    /// None while the engine receives into it.
    buffer: Option<Buffer>,
    from: usize,
    to: usize,
}

impl Inbox {
    /// An empty one.
    pub fn new(buffer: Buffer) -> Inbox {
        Inbox { buffer: Some(buffer), from: 0, to: 0 }
    }

    /// Put what came with the handshake in front.
    pub fn preload(&mut self, bytes: &[u8]) {
        if let Some(buffer) = &mut self.buffer {
            buffer.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
            self.to = bytes.len();
        }
    }

    /// What is there.
    pub fn unread(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], |buffer| &buffer.bytes()[self.from..self.to])
    }

    /// This much of it is understood.
    pub fn used(&mut self, count: usize) {
        self.from += count;
        debug_assert!(self.from <= self.to);
    }

    /// Lend the buffer to receive more; `None` if it is lent already or has no room. Answers from where on it is free.
    pub fn lend(&mut self) -> Option<(Buffer, usize)> {
        let buffer = self.buffer.as_mut()?;
        buffer.bytes_mut().copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        if self.to == buffer.capacity() {
            return None;
        }
        self.buffer.take().map(|buffer| (buffer, self.to))
    }

    /// The buffer is back with this much more.
    pub fn returned(&mut self, buffer: Buffer, more: usize) {
        self.buffer = Some(buffer);
        self.to += more;
    }

    /// Is the engine receiving into it?
    pub fn is_lent(&self) -> bool {
        self.buffer.is_none()
    }
}

impl Connection {
    /// Does the engine receive for it?
    pub fn receives(&self) -> bool {
        self.inbox.is_lent() || self.filling.is_some()
    }

    /// Is everything of it done?
    pub fn is_done(&self) -> bool {
        let idle = self.under_way == 0 && self.tx.is_some() && !self.receives();
        match self.phase {
            ConnectionPhase::Open | ConnectionPhase::Parted => false,
            ConnectionPhase::Parting => idle && self.reading == NextBytes::Header,
            ConnectionPhase::Leaving | ConnectionPhase::Gone => idle,
        }
    }

    /// Is what comes in still understood? Of one that parts, what it has begun to say.
    pub fn is_heard(&self) -> bool {
        match self.phase {
            ConnectionPhase::Open => true,
            ConnectionPhase::Parting => self.reading != NextBytes::Header,
            ConnectionPhase::Parted | ConnectionPhase::Leaving | ConnectionPhase::Gone => false,
        }
    }

    /// May another request be read?
    pub fn takes_more(&self, room: Room) -> bool {
        self.phase == ConnectionPhase::Open && self.under_way < room.requests && self.questions < room.questions
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
