//! The send path: completed works become replies, all those of a connection in one send.

use std::ops::Range;

use blksched_nbd::{Command, Framing, reply};

use super::work::Work;
use super::{Shard, Token};
use crate::connection::{Attention, Connection, ConnectionPhase, Watch};
use crate::engine::{EngineEvent, Io};
use crate::tx_queue::TxQueue;
use crate::{AUDIT, log_limit};

impl Shard {
    /// Answers, processes and receives wherever there is reason to.
    pub(super) fn look_after_connections(&mut self) {
        self.connections.retry_starved();
        let dirty = self.connections.take_dirty();
        for &at in &dirty {
            if let Some(connection) = self.connections.get_mut(at) {
                connection.attention = Attention::None;
                self.look_after(at);
            }
        }
        self.connections.looked_after(dirty);
    }

    fn look_after(&mut self, at: usize) {
        self.answer_ready(at);
        if !self.connections[at].inbox.unread().is_empty() {
            self.parse(at);
        }
        self.receive_more(at);
        let connection = &self.connections[at];
        match connection.watch {
            _ if !connection.is_done() => {}
            _ if connection.phase == ConnectionPhase::Quiescing => self.became_quiet(at),
            Watch::Over => self.remove(at),
            // Ends the watch.
            Watch::InFlight => drop(rustix::net::shutdown(&connection.socket, rustix::net::Shutdown::Both)),
        }
    }

    /// Sends every reply that is ready and has room, in one send.
    fn answer_ready(&mut self, at: usize) {
        let Some(mut tx) = self.connections[at].tx.take() else { return };
        while let Some(&number) = self.connections[at].ready.front() {
            let pieces = 1 + self.segments.of(&self.requests[number as usize]).count();
            if !tx.is_empty() && !tx.has_room(pieces) {
                break;
            }
            self.connections[at].ready.pop_front();
            if self.connections[at].phase != ConnectionPhase::Gone {
                self.answer_one(at, number, &mut tx);
            }
            self.dissolve(number);
        }
        if tx.is_empty() {
            self.connections[at].tx = Some(tx);
            return;
        }
        (self.connections[at].taken_at, self.connections[at].unsent) = (self.now, None);
        let io = Io::Send(self.connections[at].socket.clone(), tx);
        self.engine.submit(Token::Send(at).pack(), io);
    }

    /// The reply to one work.
    fn answer_one(&mut self, at: usize, number: u32, tx: &mut TxQueue) {
        let Connection { tenant, reader, .. } = &self.connections[at];
        let (tenant, framing) = (*tenant, reader.framing());
        let Work { request, error, since, .. } = self.requests[number as usize];
        let took = self.now.since(since);
        for used in [&mut self.tenants[tenant].used, &mut self.connections[at].used] {
            used.answered(&request, took, error);
        }
        if let Some(errno) = error {
            tx.head(|out| reply::error(framing, &request, errno, out));
            return;
        }
        match request.command {
            Command::Read => self.answer_read(at, number, tx),
            Command::BlockStatus { .. } => {
                let extents = core::mem::take(&mut self.requests[number as usize].extents);
                tx.head(|out| reply::extents(framing, &request, &extents, out));
            }
            _ => tx.head(|out| reply::done(framing, &request, out)),
        }
    }

    /// The data of a read: as a hole if it is all zeroes, and the client understands that.
    fn answer_read(&mut self, at: usize, number: u32, tx: &mut TxQueue) {
        let framing = self.connections[at].reader.framing();
        let request = self.requests[number as usize].request;
        let parts = self.asked_parts(number);
        let is_zero = |(piece, part): &(u32, Range<usize>)| {
            let buffer = self.segments[*piece as usize].buffer.as_ref();
            buffer.is_some_and(|buffer| is_zero(&buffer.bytes()[part.clone()]))
        };
        if framing != Framing::Simple && parts.iter().all(is_zero) {
            tx.head(|out| reply::hole(framing, &request, out));
            return;
        }
        tx.head(|out| reply::data(framing, &request, out));
        self.connections[at].sending += core::mem::take(&mut self.requests[number as usize].holds);
        for (piece, part) in parts {
            let buffer = self.segments[piece as usize].buffer.take();
            tx.data(buffer.expect("what was read is here"), part);
        }
    }

    /// The requested parts of a read's pieces.
    fn asked_parts(&self, number: u32) -> Vec<(u32, Range<usize>)> {
        let Work { request, span, .. } = self.requests[number as usize];
        let (mut skip, mut left) = ((request.offset - span.0) as usize, request.length as usize);
        let part = |piece: u32| {
            let part = skip..self.segments[piece as usize].length().min(skip + left);
            (left, skip) = (left - part.len(), 0);
            (piece, part)
        };
        self.segments.of(&self.requests[number as usize]).map(part).collect()
    }

    /// A send is over.
    pub(super) fn sent(&mut self, at: usize, event: EngineEvent) {
        let Io::Send(_, mut tx) = event.io else { unreachable!("a send came back as something else") };
        let whole = tx.len();
        let connection = &mut self.connections[at];
        tx.clear(&mut self.tenants[connection.tenant].pool);
        connection.tx = Some(tx);
        connection.held -= core::mem::take(&mut connection.sending);
        self.connections.mark_dirty(at);
        if event.result != Ok(whole) && self.connections[at].phase != ConnectionPhase::Gone {
            // It went without waiting for its replies: no reason for a warning.
            self.hang_up(at);
        }
    }

    /// Nothing of a connection is left.
    fn remove(&mut self, at: usize) {
        let Connection { tenant, submitter, who, .. } = self.connections.remove(at);
        self.tenants[tenant].connections -= 1;
        let (export, clients) = (&self.tenants[tenant].export.name, self.tenants[tenant].connections);
        if log_limit::admits(&who.peer) {
            tracing::info!(target: AUDIT, client = who.number, peer = %who.peer, export, clients, "left");
        }
        self.queue.forget(self.now, submitter);
    }
}

/// Whether all bytes are zero. Most data shows by its first bytes that it is not.
fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<16>();
    words.iter().all(|word| u128::from_ne_bytes(*word) == 0) && rest.iter().all(|&byte| byte == 0)
}
