//! The completion path: operations completed by the device become completions of the queue, and those complete works.

use std::sync::Arc;

use blksched::author::RequestId;
use blksched::{Op, Outcome};
use blksched_nbd::{Command as Asked, Errno, Speed};
use rustix::io::Errno as Os;

use super::auto_depth::{CommandSort, Like};
use super::flights::{Flight, Modelled, Suspect};
use super::{Shard, flush};
use crate::backend::Store;
use crate::engine::{Allocation, EngineEvent, Io, Stable, TransferPart};
use crate::turns::CostKind;

/// What became of a transfer.
enum Tried {
    /// It is being done once more.
    Again,
    /// It is over, with or without an error.
    Ended(Io, Option<Errno>),
}

impl Shard {
    /// An operation on a back end has completed.
    pub(super) fn disk_did(&mut self, number: u32, event: EngineEvent) {
        let rq = RequestId::from_index(number);
        if let Some(flight) = self.flights.get_mut(rq) {
            flight.left -= 1;
        }
        let EngineEvent { io, result, .. } = event;
        match io {
            Io::Read(..) | Io::Write(..) => self.transferred(rq, io, result),
            Io::Allocate(file, what, offset, length) => {
                self.allocated(rq, Io::Allocate(file, what, offset, length), what, result);
            }
            Io::Sync(file) => {
                let failed = result.err();
                match self.flights.get(rq).map(|flight| flight.command.op) {
                    Some(Op::Flush) => self.synced(rq, &file, failed),
                    _ => self.synced_after(rq, failed),
                }
            }
            Io::Poll(_) | Io::Hangup(_) | Io::Receive(..) | Io::Send(..) | Io::Extents(..) => {
                unreachable!("no disk does that")
            }
        }
        self.complete_if_done(rq);
    }

    fn transferred(&mut self, rq: RequestId, io: Io, result: Result<usize, i32>) {
        let (Io::Read(_, _, parts) | Io::Write(_, _, parts, _)) = &io else { return };
        let expected: usize = parts.iter().map(|part| part.length).sum();
        let again = match result {
            Ok(count) => count < expected,
            Err(code) => [Os::INTR, Os::AGAIN].map(Os::raw_os_error).contains(&code),
        };
        let writes = matches!(io, Io::Write(..));
        let tried = self.flights.get_mut(rq).map_or(1, |flight| core::mem::replace(&mut flight.tried, 1));
        if again && tried == 0 {
            // Tries once more: the error of what was short then gives the reason.
            self.give_engine(rq, io);
            return;
        }
        let failed = match result {
            Ok(count) if count == expected => None,
            // Nothing more fits, or the file has become shorter than its export.
            Ok(_) => Some(if writes { Errno::NoSpc } else { Errno::Io }),
            Err(code) => Some(Errno::from_os(code)),
        };
        let through = matches!(io, Io::Write(_, _, _, Stable::Now));
        let (io, failed) = match self.suspect(rq, io, failed) {
            Tried::Again => return,
            Tried::Ended(io, failed) => (io, failed),
        };
        self.flights.fail(rq, failed);
        let (Io::Read(_, _, parts) | Io::Write(_, _, parts, _)) = io else { return };
        if writes && (!through || failed.is_some()) {
            // One request may contain neighbouring ranges of one file that belong to several tenants.
            for part in &parts {
                let tenant = self.segments.tenant_of(part.piece);
                self.tenants[tenant].stability.unsynced = true;
            }
        }
        self.back_to_pieces(parts);
        if writes && !through && failed.is_none() {
            self.sync_after(rq);
        }
    }

    /// A write that was to be stable has failed: was it the write, or the flush with which the device may have lost its
    /// cache? The same write without that promise tells.
    fn suspect(&mut self, rq: RequestId, io: Io, failed: Option<Errno>) -> Tried {
        let Some(flight) = self.flights.get_mut(rq) else { return Tried::Ended(io, failed) };
        match io {
            Io::Write(file, at, parts, Stable::Now) if failed == Some(Errno::Io) => {
                flight.suspect = Suspect::Flush;
                self.give_engine(rq, Io::Write(file, at, parts, Stable::Later));
                Tried::Again
            }
            Io::Write(_, _, ref parts, Stable::Later) if flight.suspect == Suspect::Flush => {
                flight.suspect = Suspect::Nothing;
                if failed.is_none() {
                    let tenants: Vec<usize> = parts.iter().map(|part| self.segments.tenant_of(part.piece)).collect();
                    tenants.into_iter().for_each(|at| self.sync_failed(at, Os::IO.raw_os_error()));
                }
                Tried::Ended(io, failed.or(Some(Errno::Io)))
            }
            io => Tried::Ended(io, failed),
        }
    }

    /// Data stays with its pieces until these are answered: a write may have to be repeated.
    pub(super) fn back_to_pieces(&mut self, mut parts: Vec<TransferPart>) {
        for TransferPart { piece: number, buffer, .. } in parts.drain(..) {
            let tenant = self.segments.tenant_of(number);
            let piece = &mut self.segments[number as usize];
            match piece.op {
                Op::Read | Op::Write => piece.buffer = Some(buffer),
                // Zeroes of a longer request: its next range has others.
                _ => self.tenants[tenant].pool.give(buffer),
            }
        }
        self.idle_parts.push(parts);
    }

    fn allocated(&mut self, rq: RequestId, io: Io, what: Allocation, result: Result<usize, i32>) {
        let piece = self.piece_of(rq);
        let tenant = self.segments.tenant_of(piece);
        self.tenants[tenant].stability.unsynced = true;
        let Err(code) = result else {
            self.sync_after(rq);
            return;
        };
        let unknown = [Os::OPNOTSUPP, Os::NOSYS, Os::INVAL].map(Os::raw_os_error).contains(&code);
        match (unknown, self.asked(piece), what) {
            (false, ..) => self.flights.fail(rq, Some(Errno::from_os(code))),
            // A hint that is not supported here.
            (true, Asked::Trim(_), _) => {}
            (true, Asked::WriteZeroes { .. }, Allocation::Punch) => {
                let Io::Allocate(file, _, offset, length) = io else { return };
                self.give_engine(rq, Io::Allocate(file, Allocation::Zero, offset, length));
            }
            (true, Asked::WriteZeroes { speed: Speed::Fast, .. }, _) => self.flights.fail(rq, Some(Errno::NotSup)),
            _ => {
                if let Some(flight) = self.flights.get(rq) {
                    self.write_zeroes(flight.command.command());
                }
            }
        }
    }

    /// A back end is stable, or it is not known to be and never will be.
    fn synced(&mut self, rq: RequestId, file: &Arc<std::os::fd::OwnedFd>, failed: Option<i32>) {
        let is_it = |store: &Store| matches!(store, Store::File(own, _) if Arc::ptr_eq(own, file));
        let Some(at) = self.tenants.iter().position(|tenant| is_it(&tenant.backend.store)) else { return };
        self.tenants[at].stability.syncing -= 1;
        if let Some(code) = failed {
            self.sync_failed(at, code);
        }
        let failed = failed.map(Errno::from_os);
        let Some(flight) = self.flights.get(rq) else { return };
        let took = self.now.since(flight.since);
        let usual = self.turns.usual(at, CostKind::Flush);
        let pause = flush::pause(took, usual, self.tenants[at].share.weight, self.rivals(at));
        self.tenants[at].flushes_from = self.now + pause;
        let Some(flight) = self.flights.get(rq) else { return };
        for number in flight.flushes.clone() {
            if failed.is_some() && self.segments.tenant_of(number) == at {
                // The others' flushes did not fail: the queue need not know.
                self.requests[self.segments[number as usize].work as usize].error = failed;
            }
        }
    }

    /// The sync after a change that must be stable is over. If it failed, it may have consumed the only report of what
    /// else was lost.
    fn synced_after(&mut self, rq: RequestId, failed: Option<i32>) {
        self.flights.fail(rq, failed.map(Errno::from_os));
        if let Some(code) = failed {
            self.sync_failed(self.segments.tenant_of(self.piece_of(rq)), code);
        }
    }

    /// A piece failed by itself.
    pub(super) fn blame(&mut self, piece: u32, errno: Errno) {
        let tenant = self.segments.tenant_of(piece);
        self.tenants[tenant].used.errors += 1;
        let what = match self.segments[piece as usize].op {
            Op::Read => "read",
            Op::Write => "write",
            _ => "discard",
        };
        self.note_error(tenant, errno.code() as i32, what);
        self.requests[self.segments[piece as usize].work as usize].error.get_or_insert(errno);
    }

    /// Completes what the disk model has done by now.
    pub(super) fn finish_modelled(&mut self) {
        while let Some(finished) = self.model.as_mut().and_then(|model| model.finish(self.now)) {
            if finished.outcome != blksched_disks::CommandOutcome::Ok {
                self.flights.fail(finished.rq, Some(Errno::Io));
                self.model_lost_its_cache(finished.rq);
            }
            if let Some(flight) = self.flights.get_mut(finished.rq) {
                flight.modelled = Modelled::Through;
            }
            self.complete_if_done(finished.rq);
        }
    }

    /// If it was a flush that failed, then all tenants of a modelled disk have lost what was in its cache.
    fn model_lost_its_cache(&mut self, rq: RequestId) {
        if self.flights.get(rq).is_some_and(|flight| flight.command.op == Op::Flush) {
            (0..self.tenants.len()).for_each(|at| self.sync_failed(at, Os::IO.raw_os_error()));
        }
    }

    pub(super) fn complete_if_done(&mut self, rq: RequestId) {
        let over = |flight: &Flight| flight.left == 0 && flight.modelled == Modelled::Through;
        // In memory without a model, each try is over at once.
        while self.flights.get(rq).is_some_and(over) {
            if self.is_settled(rq) {
                self.done.push_back(rq);
                return;
            }
        }
    }

    /// Tells the queue that the device is done with a command.
    pub(super) fn complete(&mut self, rq: RequestId) {
        let Some(flight) = self.flights.take(rq) else { return };
        let outcome = if flight.error.is_some() { Outcome::Failed } else { Outcome::Ok };
        let took = self.device_time.end(self.now, flight.mark);
        self.learn_depth(&flight);
        match flight.command.op {
            Op::Flush => self.charge_flush(&flight.payers, &flight.flushes, took),
            _ => self.charge(rq, took),
        }
        let error = flight.error.map_or(0, |errno| errno.code() as u16);
        self.recording.completed(self.now, &self.queue.queue().requests()[rq], error);
        self.queue.complete(self.now, flight.command, outcome);
    }

    /// What a command says of the disk's depth.
    fn learn_depth(&mut self, flight: &Flight) {
        let Some(auto) = &mut self.auto_depth else { return };
        let kind = match flight.command.op {
            Op::Read => CommandSort::Read,
            Op::Write => CommandSort::Write,
            Op::Discard | Op::WriteZeroes => CommandSort::Discard,
            _ => return,
        };
        if flight.error.is_some() {
            return;
        }
        let took = self.now.since(flight.since);
        let like = Like::of(kind, flight.command.sectors);
        // One that others have joined was not alone.
        let joined = self.device_time.begun() > flight.nth;
        let in_flight = flight.in_flight.max(1 + u32::from(joined));
        auto.done(self.now, like, took, in_flight, self.turns.somebody_waits());
        self.depth = auto.depth();
    }
}
