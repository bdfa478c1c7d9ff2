//! The receive path: bytes of a client become works, and works become bios.

use std::collections::VecDeque;

use blksched::Op;
use blksched_nbd::{Command, Errno, Limits, Parsed, Request, RequestReader};

use super::work::{Piece, Work};
use super::{How, Shard, Token};
use crate::backend::SECTOR;
use crate::buffer::{Buffer, Pool};
use crate::connection::{Attention, Connection, ConnectionPhase, Habit, INBOX, Inbox, NextBytes, WaitsFor, Watch, Who};
use crate::engine::{EngineEvent, Fill, HURRIED, Io, Until};
use crate::orders::Client;
use crate::tenant::{TenantLife, TenantUse};
use crate::tx_queue::TxQueue;
use crate::{AUDIT, log_limit};

/// From this much on, a piece's data is received directly into its buffer, without a copy \[bytes\].
const STRAIGHT: usize = 16 << 10;
/// Inboxes may take this much besides a tenant's memory, as a fraction of it.
const INBOXES: usize = 4;

impl Shard {
    /// A new client.
    pub(super) fn attach(&mut self, client: Client) {
        let Client { who, socket, session, ahead, place } = client;
        let submitter = self.connections.fresh_submitter();
        let tenant = &mut self.tenants[session.export];
        // What is lent must not be used.
        if tenant.life != TenantLife::Here || self.lent {
            return;
        }
        let inboxes = (tenant.connections as usize + 1) * INBOX;
        if ahead.len() > INBOX || inboxes > tenant.pool.ceiling() / INBOXES {
            // Its socket closes; the client may reconnect.
            let Who { number, peer, .. } = who;
            let (export, most) = (&tenant.export.name, tenant.pool.ceiling() / INBOXES / INBOX);
            if log_limit::admits(&peer) {
                let why = "turned away: the export has no room for more";
                tracing::warn!(target: AUDIT, client = number, %peer, export, most, "{why}");
            }
            return;
        }
        tenant.connections += 1;
        self.recording.process(self.now, submitter, &tenant.export.name);
        let mut inbox = Inbox::new(Pool::apart(INBOX));
        inbox.preload(&ahead);
        let reader = RequestReader::new(session.framing, Limits::of(&tenant.export, session.allocation));
        let (export, clients) = (&tenant.export.name, tenant.connections);
        if log_limit::admits(&who.peer) {
            tracing::info!(target: AUDIT, client = who.number, peer = %who.peer, export, clients, "connected");
        }
        let at = self.connections.insert(Connection {
            who,
            socket,
            reader,
            tenant: session.export,
            submitter,
            inbox,
            reading: NextBytes::Header,
            habit: Habit::Any,
            waits_for: WaitsFor::Bytes,
            tx: Some(TxQueue::default()),
            ready: VecDeque::new(),
            outstanding: 0,
            questions: 0,
            held: 0,
            sending: 0,
            unsent: None,
            taken_at: self.now,
            filling: None,
            watch: Watch::Over,
            used: TenantUse::default(),
            waits_since: None,
            phase: ConnectionPhase::Open,
            heard_at: self.now,
            attention: Attention::None,
            _place: place,
        });
        self.watch_socket(at);
        self.connections.mark_dirty(at);
        if let Some(ending) = &self.ending {
            match ending.how {
                How::Over => self.leave(at),
                How::HandOver(_) => self.quiesce(at),
            }
        }
    }

    /// Something was received, or the client has gone.
    pub(super) fn received(&mut self, at: usize, event: EngineEvent) {
        let Io::Receive(_, buffer, _) = event.io else { unreachable!("a receive came back as something else") };
        if let Some(piece) = self.connections[at].filling.take() {
            self.filled(at, piece, buffer, event.result);
            return;
        }
        let count = event.result.unwrap_or(0);
        self.connections[at].inbox.returned(buffer, count);
        self.connections.mark_dirty(at);
        if event.result == Err(HURRIED) {
            return;
        }
        if count == 0 {
            self.stop_reading(at);
            return;
        }
        self.connections[at].heard_at = self.now;
        self.parse(at);
    }

    /// Data of a write was received directly into its piece.
    fn filled(&mut self, at: usize, piece: u32, buffer: Buffer, result: Result<usize, i32>) {
        self.segments[piece as usize].buffer = Some(buffer);
        self.connections.mark_dirty(at);
        let NextBytes::Data { work, filled, .. } = self.connections[at].reading else { return };
        match result {
            _ if !self.connections[at].is_heard() => self.abandon_data(at),
            Err(HURRIED) => {}
            Ok(0) | Err(_) => self.stop_reading(at),
            Ok(count) => {
                self.connections[at].heard_at = self.now;
                self.data_arrived(at, work, piece, filled + count);
                self.parse(at);
            }
        }
    }

    /// Processes as much as has arrived and there is room for.
    pub(super) fn parse(&mut self, at: usize) {
        while self.connections[at].is_heard() && self.step(at) {}
    }

    /// One step of that; false if it must wait.
    fn step(&mut self, at: usize) -> bool {
        match self.connections[at].reading {
            NextBytes::Header => self.header(at),
            NextBytes::Data { work, piece, filled } => self.data(at, work, piece, filled),
            NextBytes::Refused(request, left, errno) => self.skip(at, request, left, errno),
        }
    }

    fn header(&mut self, at: usize) -> bool {
        let room = self.connections.room();
        let connection = &mut self.connections[at];
        connection.waits_for = WaitsFor::Bytes;
        // A client that waits for room must have something to wait with: only its own replies wake it, and only a
        // pending receive notices the end of its client.
        if connection.inbox.unread().is_empty() {
            return false;
        }
        if !connection.takes_more(room) {
            connection.waits_for = WaitsFor::Room;
            return false;
        }
        let (used, parsed) = match connection.reader.read(connection.inbox.unread()) {
            Ok(read) => read,
            Err(violation) => {
                self.lose(at, &violation.to_string());
                return false;
            }
        };
        match parsed {
            Parsed::More => return false,
            Parsed::Refused(request, payload, errno) => {
                connection.inbox.used(used);
                connection.reading = NextBytes::Refused(request, payload, errno);
                self.watch();
            }
            Parsed::Request(request, payload) => {
                if !self.takes_memory(at, &request) {
                    self.connections[at].waits_for = WaitsFor::Room;
                    return false;
                }
                self.connections[at].inbox.used(used);
                self.begin(at, request, payload);
            }
        }
        true
    }

    fn take_on(&mut self, work: Work) -> u32 {
        let connection = &mut self.connections[work.connection];
        connection.outstanding += 1;
        connection.questions += work.asks_for_extents();
        self.tenants[connection.tenant].outstanding += 1;
        self.requests.insert(work)
    }

    fn begin(&mut self, at: usize, request: Request, payload: u32) {
        if request.command == Command::Disconnect {
            self.leave(at);
            return;
        }
        let long = payload as usize >= STRAIGHT;
        self.connections[at].habit = if long { Habit::LongWrites } else { Habit::Any };
        let mut work = Work::new(at, request, self.now);
        work.span = self.span(self.connections[at].tenant, &request);
        let number = self.take_on(work);
        match request.command {
            Command::Read => {
                self.cut(number, Op::Read);
                self.submit_work(number);
            }
            Command::Write(_) => {
                self.cut(number, Op::Write);
                let piece = self.requests[number as usize].first.expect("a request has a length");
                debug_assert_eq!(u64::from(payload), request.length);
                let filled = (request.offset - self.requests[number as usize].span.0) as usize;
                self.connections[at].reading = NextBytes::Data { work: number, piece, filled };
                self.watch();
            }
            Command::Flush => self.flush(number),
            Command::Trim(_) | Command::WriteZeroes { .. } => self.begin_change(number),
            Command::Cache => self.begin_segments(number),
            Command::BlockStatus { .. } => self.ask_extents(number),
            Command::Disconnect | Command::Unknown(_) => unreachable!("the reader refuses it"),
        }
    }

    /// Divides a work into pieces, each with its buffer.
    fn cut(&mut self, number: u32, op: Op) {
        let (offset, end) = self.requests[number as usize].span;
        let length = end - offset;
        let connection = &mut self.connections[self.requests[number as usize].connection];
        let tenant = connection.tenant;
        connection.held += length;
        self.requests[number as usize].holds = length;
        let mut done = 0;
        while done < length {
            let count = (length - done).min(self.largest_piece as u64);
            let buffer = self.tenants[tenant].pool.take(count as usize);
            let start = self.tenants[tenant].sector(offset + done);
            let sectors = (count / SECTOR) as u32;
            self.requests.add(
                &mut self.segments,
                number,
                Piece { work: number, tenant, next: None, op, start, sectors, buffer },
            );
            done += count;
        }
    }

    /// Data of a write arrive.
    fn data(&mut self, at: usize, work: u32, piece: u32, filled: usize) -> bool {
        let wanted = self.wanted(work, &self.segments[piece as usize]);
        let connection = &mut self.connections[at];
        let here = &mut self.segments[piece as usize];
        let (end, unread) = (wanted, connection.inbox.unread());
        if unread.is_empty() || connection.filling.is_some() {
            return false;
        }
        let buffer = here.buffer.as_mut().expect("a piece has its buffer until it is issued");
        let count = unread.len().min(end - filled);
        buffer.bytes_mut()[filled..filled + count].copy_from_slice(&unread[..count]);
        connection.inbox.used(count);
        self.data_arrived(at, work, piece, filled + count);
        true
    }

    /// How far the client's data extends in a piece of a write \[bytes\].
    fn wanted(&self, work: u32, piece: &Piece) -> usize {
        let Request { offset, length, .. } = self.requests[work as usize].request;
        let left = offset + length - self.tenants[piece.tenant].offset(piece.start);
        piece.length().min(left as usize)
    }

    /// This much of a piece's data has arrived; with the last of a work's, it is submitted.
    fn data_arrived(&mut self, at: usize, work: u32, piece: u32, filled: usize) {
        let here = &self.segments[piece as usize];
        self.connections[at].reading = match (filled == self.wanted(work, here), here.next) {
            (false, _) => NextBytes::Data { work, piece, filled },
            (true, Some(next)) => NextBytes::Data { work, piece: next, filled: 0 },
            (true, None) => NextBytes::Header,
        };
        if self.connections[at].reading == NextBytes::Header {
            self.begin_change(work);
        }
    }

    /// Skips the data of a refused request, then answers it.
    fn skip(&mut self, at: usize, request: Request, left: u32, errno: Errno) -> bool {
        let connection = &mut self.connections[at];
        let count = connection.inbox.unread().len().min(left as usize);
        connection.inbox.used(count);
        let left = left - count as u32;
        connection.reading = NextBytes::Refused(request, left, errno);
        if left > 0 {
            return count > 0;
        }
        connection.reading = NextBytes::Header;
        let number = self.take_on(Work { error: Some(errno), ..Work::new(at, request, self.now) });
        self.ready(number);
        true
    }

    /// A flush covers what was replied to; if that is already stable, there is nothing to do.
    fn flush(&mut self, number: u32) {
        let tenant = self.connections[self.requests[number as usize].connection].tenant;
        if self.tenants[tenant].stability.is_settled() {
            self.ready(number);
            return;
        }
        let start = self.tenants[tenant].base;
        let piece = Piece { work: number, tenant, next: None, op: Op::Flush, start, sectors: 0, buffer: None };
        let piece = self.requests.add(&mut self.segments, number, piece);
        // Caps do not delay it, but others' shares may.
        self.tenants[tenant].held_flushes.push(piece);
        self.release_flushes(tenant);
        self.hold_up(tenant);
    }

    /// Receives more, if there is a reason to.
    pub(super) fn receive_more(&mut self, at: usize) {
        let connection = &mut self.connections[at];
        if !connection.is_heard() || connection.waits_for == WaitsFor::Room || connection.receives() {
            return;
        }
        let wanted = match connection.reading {
            NextBytes::Data { work, piece, filled } => {
                Some((piece, filled, self.wanted(work, &self.segments[piece as usize])))
            }
            _ => None,
        };
        let connection = &mut self.connections[at];
        if let Some((piece, filled, to)) = wanted.filter(|(_, filled, to)| to - filled >= STRAIGHT) {
            let piece_here = &mut self.segments[piece as usize];
            let fill = Fill { from: filled, to, until: Until::Full };
            let buffer = piece_here.buffer.take().expect("a piece has its buffer until it is issued");
            connection.filling = Some(piece);
            let io = Io::Receive(connection.socket.clone(), buffer, fill);
            self.engine.submit(Token::Receive(at).pack(), io);
        } else if let Some((buffer, from)) = connection.inbox.lend() {
            let header = connection.reader.header_length();
            let to = match (connection.reading, connection.habit) {
                (NextBytes::Header, Habit::LongWrites) if from < header => header,
                _ => buffer.capacity(),
            };
            let fill = Fill { from, to, until: Until::Anything };
            let io = Io::Receive(connection.socket.clone(), buffer, fill);
            self.engine.submit(Token::Receive(at).pack(), io);
        }
    }
}
