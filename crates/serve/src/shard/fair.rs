//! Between the tenants' caps and the queue: which tenant is next ([`Turns`]), if shares are kept by time; with
//! [`Shares::ByScheduler`] everything passes directly and the scheduler's groups share the disk.

use blksched::author::RequestId;
use blksched::{Op, Span};

use super::Shard;
use super::flights::Payer;
use super::work::Piece;
use crate::backend::SECTOR;
use crate::config::Shares;
use crate::turns::{Choice, CostKind, DataExtent};

/// The tenant that asks for a flush pays for at least this much \[bytes\].
const BLOCK: u64 = 4096;

fn part_of(time: Span, part: u128, total: u128) -> Span {
    Span::from_ns(u64::try_from(u128::from(time.as_ns()) * part / total.max(1)).unwrap_or(u64::MAX))
}

impl Shard {
    /// Queues a piece that its caps admit.
    pub(super) fn offer(&mut self, piece: u32, tenant: usize) {
        match self.setting.shares {
            Shares::ByTime => self.turns.add(self.now, tenant, piece, self.kind(piece)),
            Shares::ByScheduler => self.enter(piece, tenant),
        }
    }

    /// The queue is done with a piece.
    pub(super) fn piece_ended(&mut self, piece: u32) {
        let tenant = self.segments.tenant_of(piece);
        self.turns.end(self.now, tenant, self.kind(piece));
    }

    fn kind(&self, piece: u32) -> CostKind {
        if self.segments[piece as usize].op == Op::Flush { CostKind::Flush } else { CostKind::Data }
    }

    fn enter(&mut self, piece: u32, tenant: usize) {
        if self.kind(piece) == CostKind::Flush {
            self.flights.expect_flush(piece);
        }
        self.enqueue(piece, tenant);
    }

    /// Serves the next tenant: its first piece goes to the queue, with adjacent ones after it, which merge. True if
    /// anything went.
    pub(super) fn take_turns(&mut self) -> bool {
        self.turn_at = None;
        if self.setting.shares == Shares::ByScheduler {
            return false;
        }
        let outstanding = self.queue.queue().requests().len();
        let tenant = match self.turns.choose(self.now, outstanding, self.depth as usize) {
            Choice::Serve(tenant) => tenant,
            Choice::Wait(until) => {
                self.turn_at = Some(until);
                return false;
            }
            Choice::Nobody => return false,
        };
        let mut last: Option<(Op, u64, usize)> = None;
        while let Some(number) = self.turns.first(tenant) {
            let Piece { op, start, .. } = self.segments[number as usize];
            let length = self.segments[number as usize].length();
            let before = last.map_or(0, |(_, _, before)| before);
            let follows = last.is_none_or(|(own, end, _)| own == op && op != Op::Flush && end == start.0);
            if !follows || (before > 0 && before + length > self.largest_piece) {
                break;
            }
            last = Some((op, start.0 + u64::from(self.segments[number as usize].sectors), before + length));
            let place = DataExtent { start: start.0, sectors: u64::from(self.segments[number as usize].sectors) };
            self.turns.begin(tenant, self.kind(number), place);
            self.enter(number, tenant);
        }
        true
    }

    /// Which tenants pay for a flush that begins now: those whose writes the device has not made stable, by bytes, and
    /// the one that asks, for at least a block. With the page cache only the asker's own data is written.
    pub(super) fn flush_payers(&mut self, flushes: &[u32]) -> Vec<Payer> {
        let mut payers: Vec<Payer> = Vec::new();
        for (tenant, one) in self.tenants.iter_mut().enumerate() {
            let asks = flushes.iter().filter(|&&piece| self.segments[piece as usize].tenant == tenant).count() as u32;
            let own = if one.backend.keeps_what_is_read() { 0 } else { core::mem::take(&mut one.unflushed) };
            let bytes = if asks > 0 { own.max(BLOCK) } else { own };
            if bytes > 0 {
                payers.push(Payer { tenant, asks, bytes });
            }
        }
        payers
    }

    /// The device is done with a flush.
    pub(super) fn charge_flush(&mut self, payers: &[Payer], flushes: &[u32], took: Span) {
        let total: u64 = payers.iter().map(|payer| payer.bytes).sum();
        for &piece in flushes {
            let tenant = self.segments[piece as usize].tenant;
            let Some(payer) = payers.iter().find(|payer| payer.tenant == tenant) else { continue };
            let (part, total) = (u128::from(payer.bytes), u128::from(total) * u128::from(payer.asks.max(1)));
            let work = &self.requests[self.segments[piece as usize].work as usize];
            self.connections[work.connection].used.in_device += part_of(took, part, total);
        }
        for &Payer { tenant, asks, bytes } in payers {
            let part = part_of(took, u128::from(bytes), u128::from(total));
            let used = &mut self.tenants[tenant].used;
            used.in_device += part;
            if asks > 0 {
                used.longest_flush = used.longest_flush.max(took);
            }
            self.turns.charge(tenant, CostKind::Flush, asks, part);
        }
    }

    /// The device is done with a request: its time is charged to the tenants whose data it moved, in proportion. All
    /// of it, and no more: a request may be a part of one piece, whose other parts are other requests.
    pub(super) fn charge(&mut self, rq: RequestId, took: Span) {
        let queue = self.queue.queue();
        let total = queue.tags(rq).map(|tag| u128::from(self.segments[tag.0 as usize].sectors)).sum();
        let writes = queue.requests()[rq].op == Op::Write;
        let (works, connections) = (&self.requests, &mut self.connections);
        // A client exists until its last piece is over.
        let mut of_its_client = |piece: &Piece| {
            let part = part_of(took, u128::from(piece.sectors), total);
            connections[works[piece.work as usize].connection].used.in_device += part;
        };
        let mut tags = queue.tags(rq).map(|tag| &self.segments[tag.0 as usize]).peekable();
        while let Some(first @ Piece { tenant, sectors, .. }) = tags.next() {
            of_its_client(first);
            let (mut count, mut sectors) = (1, u128::from(*sectors));
            while let Some(more) = tags.next_if(|next| next.tenant == *tenant) {
                of_its_client(more);
                (count, sectors) = (count + 1, sectors + u128::from(more.sectors));
            }
            let part = part_of(took, sectors, total);
            self.tenants[*tenant].used.in_device += part;
            let own = sectors.min(u128::from(queue.requests()[rq].sectors));
            self.tenants[*tenant].unflushed += if writes { own as u64 * SECTOR } else { 0 };
            self.turns.charge(*tenant, CostKind::Data, count, part);
        }
    }
}
