//! Requests that do not cover whole blocks, although the back end accepts only these: clients may address any byte.
//!
//! **Rule** A read is enlarged, and answered with the requested part. A TRIM is made smaller, since it is a hint. A
//! write or a write-zeroes first reads the blocks at its edges; meanwhile no other change of the export is in flight,
//! so that of two writes to one block neither is lost. Changes that wait for this, and those after them, begin in the
//! order of their arrival. Nothing is read beyond the end of an export.

use blksched::Op;
use blksched_nbd::{Command, Errno, Request};

use super::Shard;
use super::changes::HoldMode;
use super::work::{ChangeStage, Piece, Work};
use crate::backend::SECTOR;
use crate::connection::ConnectionPhase;
use crate::tenant::Tenant;

impl Shard {
    /// The blocks of a tenant that a request gets, as offsets: those around it, or those within it.
    pub(super) fn span(&self, tenant: usize, request: &Request) -> (u64, u64) {
        let block = u64::from(self.tenants[tenant].backend.block);
        let Request { offset, length, command, .. } = *request;
        let end = offset.saturating_add(length);
        match command {
            Command::Trim(_) | Command::WriteZeroes { .. } => {
                let from = offset.next_multiple_of(block);
                (from, (end - end % block).max(from))
            }
            _ => (offset - offset % block, end.next_multiple_of(block)),
        }
    }

    /// The blocks that a change only partly overwrites, as offsets.
    fn edges(&self, number: u32) -> [Option<u64>; 2] {
        let (tenant, Request { offset, length, command, .. }) = self.of(number);
        if matches!(command, Command::Trim(_)) {
            return [None; 2];
        }
        let Tenant { backend, export, .. } = &self.tenants[tenant];
        let (block, end) = (u64::from(backend.block), offset + length);
        let (first, last) = (offset - offset % block, end - end % block);
        // A write to the export's end overwrites all of its last block; but zeroes are written by whole blocks
        // otherwise.
        let to_the_end = end == export.size && matches!(command, Command::Write(_));
        let front = (first < offset).then_some(first);
        let back = (last < end && !to_the_end).then_some(last).filter(|&last| Some(last) != front);
        [front, back]
    }

    fn of(&self, number: u32) -> (usize, Request) {
        let Work { connection, request, .. } = &self.requests[number as usize];
        (self.connections[*connection].tenant, *request)
    }

    /// Begins a change.
    pub(super) fn begin_change(&mut self, number: u32) {
        let (tenant, _) = self.of(number);
        if self.tenants[tenant].changes.has_waiting() || !self.may_change(number) {
            self.tenants[tenant].changes.wait(number);
        }
    }

    /// Begins it if possible.
    fn may_change(&mut self, number: u32) -> bool {
        let (tenant, edges) = (self.of(number).0, self.edges(number));
        let access = if edges == [None; 2] { HoldMode::Shared } else { HoldMode::Exclusive };
        if !self.tenants[tenant].changes.begin(access) {
            return false;
        }
        match edges {
            _ if self.nobody_waits(number) => {
                let work = &mut self.requests[number as usize];
                (work.stage, work.error) = (ChangeStage::Body, Some(Errno::Io));
                self.ready(number);
            }
            [None, None] => self.begin_body(number),
            edges => self.read_edges(number, edges),
        }
        true
    }

    /// Whether its client has gone.
    fn nobody_waits(&self, number: u32) -> bool {
        self.connections[self.requests[number as usize].connection].phase == ConnectionPhase::Gone
    }

    /// A change has ended: others may begin, before the turn ends.
    pub(super) fn end_change(&mut self, number: u32) {
        if self.requests[number as usize].stage != ChangeStage::Asked {
            let (tenant, _) = self.of(number);
            let changes = &mut self.tenants[tenant].changes;
            changes.end();
            if changes.has_waiting() {
                self.changed.push(tenant);
            }
        }
    }

    /// Begins those that waited.
    pub(super) fn let_changes_begin(&mut self) {
        while let Some(tenant) = self.changed.pop() {
            while let Some(number) = self.tenants[tenant].changes.first_waiting() {
                if !self.may_change(number) {
                    break;
                }
                self.tenants[tenant].changes.first_has_begun();
            }
        }
    }

    /// Everything except its edges.
    fn begin_body(&mut self, number: u32) {
        self.requests[number as usize].stage = ChangeStage::Body;
        match self.of(number).1.command {
            Command::Write(_) => {
                let count = self.segments.of(&self.requests[number as usize]).count() as u32;
                self.requests[number as usize].left = count;
                self.blank_behind_the_end(number);
                self.submit_work(number);
            }
            _ => self.begin_segments(number),
        }
    }

    /// What a block has after the end of its export is zero.
    fn blank_behind_the_end(&mut self, number: u32) {
        let Work { last, connection, span, .. } = self.requests[number as usize];
        let tenant = &self.tenants[self.connections[connection].tenant];
        let Some(last) = last.filter(|_| span.1 > tenant.export.size) else { return };
        let piece = &mut self.segments[last as usize];
        let from = (tenant.export.size - tenant.offset(piece.start)) as usize;
        let to = piece.length();
        if let Some(data) = &mut piece.buffer {
            data.bytes_mut()[from..to].fill(0);
        }
    }

    fn read_edges(&mut self, number: u32, edges: [Option<u64>; 2]) {
        let (tenant, _) = self.of(number);
        let block = self.tenants[tenant].backend.block;
        let sectors = block / SECTOR as u32;
        let pieces = edges.map(|edge| {
            let edge = edge?;
            let buffer = Some(self.tenants[tenant].pool.take_anyway(block as usize));
            let start = self.tenants[tenant].sector(edge);
            let piece = Piece { work: number, tenant, next: None, op: Op::Read, start, sectors, buffer };
            Some(self.segments.insert(piece))
        });
        let work = &mut self.requests[number as usize];
        (work.stage, work.edges) = (ChangeStage::Edges, pieces);
        self.submit_edges(number);
    }

    fn submit_edges(&mut self, number: u32) {
        let edges = self.requests[number as usize].edges;
        self.requests[number as usize].left = edges.iter().flatten().count() as u32;
        edges.into_iter().flatten().for_each(|piece| self.submit_piece(piece));
    }

    /// Its edges are read, or written; true if it continues.
    pub(super) fn edges_done(&mut self, number: u32) -> bool {
        let Work { stage, edges, error, .. } = &self.requests[number as usize];
        let (stage, edges, failed) = (*stage, *edges, error.is_some());
        if edges == [None; 2] || stage == ChangeStage::Body {
            return false;
        }
        let is_write = matches!(self.of(number).1.command, Command::Write(_));
        if stage == ChangeStage::Edges && !failed {
            edges.into_iter().flatten().for_each(|piece| match is_write {
                true => self.keep_edge(number, piece),
                false => self.clear_edge(number, piece),
            });
            if !is_write {
                self.requests[number as usize].stage = ChangeStage::EdgesBack;
                self.submit_edges(number);
                return true;
            }
        }
        self.requests[number as usize].edges = [None; 2];
        for piece in edges.into_iter().flatten() {
            let Piece { buffer, tenant, .. } = self.segments.remove(piece as usize);
            buffer.into_iter().for_each(|buffer| self.tenants[tenant].pool.give(buffer));
        }
        if !failed {
            self.begin_body(number);
        }
        !failed
    }

    /// Copies what a write leaves of a block to where the rest of that block will be written.
    fn keep_edge(&mut self, number: u32, edge: u32) {
        let (tenant, Request { offset, length, .. }) = self.of(number);
        let start = self.segments[edge as usize].start;
        let Some(kept) = self.segments[edge as usize].buffer.take() else { return };
        let (at, block) = (self.tenants[tenant].offset(start), u64::from(self.tenants[tenant].backend.block));
        let holds = |piece: &Piece| piece.start <= start && start.0 < piece.start.0 + u64::from(piece.sectors);
        let into =
            self.segments.of(&self.requests[number as usize]).find(|&piece| holds(&self.segments[piece as usize]));
        if let Some(into) = into {
            let begins = self.tenants[tenant].offset(self.segments[into as usize].start);
            let sides = [(at, offset.min(at + block)), ((offset + length).max(at), at + block)];
            for (from, to) in sides.into_iter().filter(|(from, to)| from < to) {
                if let Some(data) = &mut self.segments[into as usize].buffer {
                    let place = (from - begins) as usize..(to - begins) as usize;
                    data.bytes_mut()[place].copy_from_slice(&kept.bytes()[(from - at) as usize..(to - at) as usize]);
                }
            }
        }
        self.tenants[tenant].pool.give(kept);
    }

    /// Clears the part of a block that must be zero, and marks the block as to be written.
    fn clear_edge(&mut self, number: u32, edge: u32) {
        let (tenant, Request { offset, length, .. }) = self.of(number);
        let block = u64::from(self.tenants[tenant].backend.block);
        let at = self.tenants[tenant].offset(self.segments[edge as usize].start);
        let (from, to) = (offset.max(at), (offset + length).min(at + block));
        let piece = &mut self.segments[edge as usize];
        piece.op = Op::Write;
        if let Some(data) = &mut piece.buffer {
            data.bytes_mut()[(from - at) as usize..(to - at) as usize].fill(0);
        }
    }
}
