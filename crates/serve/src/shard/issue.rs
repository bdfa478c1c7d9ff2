//! The issue path: a command of the queue becomes I/O on a back end.

use blksched::author::RequestId;
use blksched::{Command, InFlight, Op, Span};
use blksched_nbd::{Command as Asked, Errno, Holes};

use super::Piece;
use super::flights::{Flight, Modelled, Suspect, Tries};
use super::{Shard, Token};
use crate::backend::Store;
use crate::engine::{Allocation, Io, TransferPart};
use crate::memory::AfterZeroes;
use crate::tenant::Tenant;

/// How often a file that is written is checked: it may have been truncated. What is written between that and the next
/// check makes it longer again; so may what the kernel already had, however often it were checked.
const LOOK: Span = Span::from_ms(4);

impl Shard {
    /// Sends a command to the device.
    pub(super) fn start(&mut self, token: InFlight) {
        let command = token.command();
        self.recording.issued(self.now, &command);
        let modelled = self.give_model(command);
        let flushes = if command.op == Op::Flush { self.flights.take_flushes() } else { Vec::new() };
        let (since, mark) = (self.now, self.device_time.begin(self.now));
        let (tries, payers) = (Tries::Whole, if flushes.is_empty() { Vec::new() } else { self.flush_payers(&flushes) });
        let flight = Flight {
            command: token,
            since,
            mark,
            in_flight: self.device_time.in_flight(),
            nth: self.device_time.begun(),
            left: 0,
            modelled,
            error: None,
            tried: 0,
            suspect: Suspect::Nothing,
            tries,
            flushes,
            payers,
        };
        self.flights.begin(command.rq, flight);
        match command.op {
            Op::Read | Op::Write => self.transfer(command, None),
            // Zeroes to be written are sent as data, so that they merge; see `receive`.
            Op::WriteZeroes => unreachable!("no client's command becomes {command:?}"),
            Op::Discard => self.discard(command),
            Op::Flush => self.sync(command.rq),
        }
        self.complete_if_done(command.rq);
    }

    /// Also starts it in the disk model, if there is one.
    pub(super) fn give_model(&mut self, command: Command) -> Modelled {
        let Some(model) = &mut self.model else { return Modelled::Through };
        model.start(self.now, command);
        Modelled::Busy
    }

    /// Reads or writes the pieces of a command, which are adjacent, or only one of them.
    pub(super) fn transfer(&mut self, command: Command, only: Option<u32>) {
        let mut parts = self.idle_parts.pop().unwrap_or_default();
        let numbers = self.queue.queue().tags(command.rq).map(|tag| tag.0 as u32);
        for number in numbers.filter(|&number| only.is_none_or(|only| only == number)) {
            let piece = &mut self.segments[number as usize];
            let length = piece.length();
            let buffer = piece.buffer.take().expect("a piece has its buffer until it is issued");
            parts.push(TransferPart { piece: number, buffer, length });
        }
        if let Some(part) = parts.last_mut() {
            // A file that ends within a block still ends there.
            let Piece { tenant, start, .. } = self.segments[part.piece as usize];
            let end = self.tenants[tenant].offset(start) + part.length as u64;
            part.length -= end.saturating_sub(self.tenants[tenant].export.size) as usize;
        }
        let tenant = self.segments.tenant_of(parts[0].piece);
        if command.op == Op::Write && !self.is_whole(tenant) {
            // A write would extend the file again, with zeroes instead of its old data.
            self.flights.fail(command.rq, Some(Errno::Io));
            self.back_to_pieces(parts);
            return;
        }
        let offset = self.tenants[tenant].offset(command.start);
        let stable = self.tenants[tenant].backend.stable(command.fua);
        match &mut self.tenants[tenant].backend.store {
            Store::File(file, base) => {
                let (file, at) = (file.clone(), *base + offset);
                let io = match command.op {
                    Op::Read => Io::Read(file, at, parts),
                    _ => Io::Write(file, at, parts, stable),
                };
                self.give_engine(command.rq, io);
            }
            Store::Memory(memory) => {
                let mut at = offset;
                for TransferPart { buffer, length, .. } in &mut parts {
                    match command.op {
                        Op::Read => memory.read(at, &mut buffer.bytes_mut()[..*length]),
                        _ => memory.write(at, &buffer.bytes()[..*length]),
                    }
                    at += *length as u64;
                }
                self.back_to_pieces(parts);
            }
        }
    }

    /// Whether a tenant's file is as long as its export, as of the last check, which is repeated when due.
    fn is_whole(&mut self, tenant: usize) -> bool {
        let Tenant { backend, whole, .. } = &mut self.tenants[tenant];
        if !whole.1 || self.now.since(whole.0) >= LOOK {
            *whole = (self.now, backend.is_whole());
        }
        whole.1
    }

    /// Discards a range, or makes it zero.
    fn discard(&mut self, command: Command) {
        let piece = self.piece_of(command.rq);
        let tenant = self.segments.tenant_of(piece);
        let offset = self.tenants[tenant].offset(command.start);
        let length = u64::from(command.sectors) * crate::backend::SECTOR;
        let what = match self.asked(piece) {
            Asked::WriteZeroes { holes: Holes::Refused, .. } => Allocation::Zero,
            _ => Allocation::Punch,
        };
        match &mut self.tenants[tenant].backend.store {
            Store::File(file, base) => {
                let io = Io::Allocate(file.clone(), what, *base + offset, length);
                self.give_engine(command.rq, io);
            }
            Store::Memory(memory) => {
                let kept = if what == Allocation::Zero { AfterZeroes::Kept } else { AfterZeroes::GivenBack };
                memory.zero(offset, length, kept);
            }
        }
    }

    /// Writes zeroes as data.
    pub(super) fn write_zeroes(&mut self, command: Command) {
        let piece = self.piece_of(command.rq);
        let tenant = self.segments.tenant_of(piece);
        let length = command.sectors as usize * crate::backend::SECTOR as usize;
        let offset = self.tenants[tenant].offset(command.start);
        let tenant = &mut self.tenants[tenant];
        let Store::File(file, base) = &tenant.backend.store else { return };
        let (file, at) = (file.clone(), *base + offset);
        let mut buffer = tenant.pool.take_anyway(length);
        buffer.bytes_mut()[..length].fill(0);
        let stable = tenant.backend.stable(command.fua);
        let parts = vec![TransferPart { piece, buffer, length }];
        self.give_engine(command.rq, Io::Write(file, at, parts, stable));
    }

    /// Makes everything stable that the flushes of this command cover: each back end once.
    fn sync(&mut self, rq: RequestId) {
        let Some(flight) = self.flights.get(rq) else { return };
        let mut tenants: Vec<usize> = flight.flushes.iter().map(|&piece| self.segments.tenant_of(piece)).collect();
        tenants.sort_unstable();
        tenants.dedup();
        for at in tenants {
            let Tenant { stability, backend, .. } = &mut self.tenants[at];
            stability.unsynced = stability.broken;
            if let Store::File(file, _) = &backend.store {
                stability.syncing += 1;
                let io = Io::Sync(file.clone());
                self.give_engine(rq, io);
            }
        }
    }

    /// The change must be stable before the reply, which needs a sync of its own.
    pub(super) fn sync_after(&mut self, rq: RequestId) {
        if !self.flights.get(rq).is_some_and(|flight| flight.command.fua) {
            return;
        }
        let tenant = self.segments.tenant_of(self.piece_of(rq));
        let Store::File(file, _) = &self.tenants[tenant].backend.store else { return };
        let io = Io::Sync(file.clone());
        self.give_engine(rq, io);
    }

    pub(super) fn give_engine(&mut self, rq: RequestId, io: Io) {
        if let Some(flight) = self.flights.get_mut(rq) {
            flight.left += 1;
        }
        self.outside.given += 1;
        self.engine.submit(Token::Disk(rq.index() as u32).pack(), io);
    }

    /// The piece of a command that never merges.
    pub(super) fn piece_of(&self, rq: RequestId) -> u32 {
        self.queue.queue().tags(rq).next().map_or(0, |tag| tag.0 as u32)
    }

    pub(super) fn asked(&self, piece: u32) -> Asked {
        self.requests[self.segments[piece as usize].work as usize].request.command
    }
}
