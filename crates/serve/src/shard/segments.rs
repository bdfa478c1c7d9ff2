//! Long requests that move no client data (TRIM, WRITE_ZEROES, CACHE): they are done in sections, each of which is
//! queued like any other bio.
//!
//! **Rule** One piece serves all sections of a request, one after the other, so that the longest request holds no more
//! memory than a short one. Each section is one command and takes a turn of its own, as any other command does; but the
//! tenant's caps admit up to [`ADMITTED`] at once. CACHE reads into one buffer; its effect is the data left in the page
//! cache.

use blksched::Op;
use blksched_nbd::{Command, Request};

use super::Shard;
use super::work::{Piece, Work};
use crate::backend::SECTOR;
use crate::connection::ConnectionPhase;

/// How much of a discard caps admit at once \[bytes\].
const ADMITTED: u64 = 64 << 20;

impl Shard {
    /// How much of its tenant's memory a request needs before it is accepted \[bytes\].
    pub(super) fn memory_for(&self, tenant: usize, request: &Request) -> u64 {
        match request.command {
            // At most one block more on either side.
            Command::Read | Command::Write(_) => self.around(tenant, request),
            Command::Cache => self.around(tenant, request).min(self.largest_piece as u64),
            _ => 0,
        }
    }

    /// The size of the blocks that a request touches \[bytes\].
    fn around(&self, tenant: usize, request: &Request) -> u64 {
        let (from, to) = self.span(tenant, request);
        to - from
    }

    /// Begins the first range of a long request.
    pub(super) fn begin_segments(&mut self, number: u32) {
        let Work { connection, request, .. } = self.requests[number as usize];
        let tenant = self.connections[connection].tenant;
        let holds = self.memory_for(tenant, &request);
        let (op, buffer) = match holds {
            0 => (Op::Discard, None),
            _ => (Op::Read, self.tenants[tenant].pool.take(holds as usize)),
        };
        self.connections[connection].held += holds;
        self.requests[number as usize].holds = holds;
        let start = self.tenants[tenant].base;
        self.requests.add(
            &mut self.segments,
            number,
            Piece { work: number, tenant, next: None, op, start, sectors: 0, buffer },
        );
        // It is counted when its first range is submitted, as for the later ones.
        self.requests[number as usize].left = 0;
        if !self.next_segment(number) {
            self.ready(number);
        }
    }

    /// Begins the next range, if there is one and it is wanted.
    pub(super) fn next_segment(&mut self, number: u32) -> bool {
        let work = &mut self.requests[number as usize];
        let (from, to) = work.span;
        let goes_on = work.covered < to - from && self.connections[work.connection].phase != ConnectionPhase::Gone;
        let Some(first) = work.first.filter(|_| goes_on) else { return false };
        let piece = &mut self.segments[first as usize];
        let count = (to - from - work.covered).min(self.largest_piece as u64);
        let tenant = piece.tenant;
        piece.start = self.tenants[tenant].sector(from + work.covered);
        piece.sectors = (count / SECTOR) as u32;
        let admitted = piece.op == Op::Discard && !work.covered.is_multiple_of(ADMITTED);
        work.covered += count;
        work.left += 1;
        match admitted {
            true => self.offer(first, tenant),
            false => self.submit_piece(first),
        }
        true
    }

    /// What a piece costs at its tenant's caps \[bytes\]: of a discard, as much as is then admitted.
    pub(super) fn at_caps(&self, piece: u32) -> u64 {
        let Piece { work, op, sectors, .. } = self.segments[piece as usize];
        let (length, work) = (u64::from(sectors) * SECTOR, &self.requests[work as usize]);
        match op {
            Op::Discard => (work.span.1 - work.span.0 + length - work.covered).min(ADMITTED),
            _ => length,
        }
    }
}
