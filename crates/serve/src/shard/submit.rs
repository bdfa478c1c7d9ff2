//! Between a client's request and the queue: its pieces go to the caps, to the turns and to the queue, and come back.
//!
//! **Rule** A request whose pieces are all done either goes on (with its next section, or with what its edges were read
//! for) or is ready: its client is answered before the turn ends.

use blksched::{Delivery, Outcome, Submitted};
use blksched_nbd::Errno;

use super::Shard;
use super::work::ChangeStage;
use crate::tenant::Tenant;

impl Shard {
    /// Sends all pieces of a work to the queue, or lets them wait for its tenant's caps.
    pub(super) fn submit_work(&mut self, number: u32) {
        let mut next = self.requests[number as usize].first;
        while let Some(piece) = next {
            next = self.segments[piece as usize].next;
            self.submit_piece(piece);
        }
    }

    pub(super) fn submit_piece(&mut self, piece: u32) {
        let tenant = self.segments.tenant_of(piece);
        self.tenants[tenant].gate.push_back(piece);
        self.open_gate(tenant);
        self.hold_up(tenant);
    }

    /// A tenant whose pieces or flushes must wait is checked every turn.
    pub(super) fn hold_up(&mut self, tenant: usize) {
        if self.tenants[tenant].is_held_up() && !self.held_up.contains(&tenant) {
            self.held_up.push(tenant);
        }
    }

    /// Admits what the caps allow.
    pub(super) fn open_gate(&mut self, tenant: usize) {
        while let Some(&piece) = self.tenants[tenant].gate.front() {
            let (now, bytes) = (self.now, self.at_caps(piece));
            let Tenant { gate, caps, .. } = &mut self.tenants[tenant];
            if !caps.admit(now, bytes) {
                return;
            }
            gate.pop_front();
            self.offer(piece, tenant);
        }
    }

    pub(super) fn enqueue(&mut self, number: u32, tenant: usize) {
        let piece = &self.segments[number as usize];
        let work = &self.requests[piece.work as usize];
        let Tenant { group, share, .. } = self.tenants[tenant];
        let submitter = self.connections[work.connection].submitter;
        let bio = piece.bio(number, submitter, group, share.priority, work.persist());
        let submitted = self.queue.submit(self.now, bio);
        self.recording.submitted(self.now, &bio, submitted);
        if submitted == Submitted::Done {
            self.hand_out();
        }
    }

    /// Handles works whose bios have come back.
    pub(super) fn hand_out(&mut self) {
        let mut deliveries = core::mem::take(&mut self.deliveries);
        deliveries.extend(self.queue.deliveries(self.now));
        for delivery in deliveries.drain(..) {
            if let Delivery::Done { tag, outcome } = delivery {
                self.piece_ended(tag.0 as u32);
                self.piece_done(tag.0 as u32, outcome);
            }
        }
        self.deliveries = deliveries;
    }

    /// A bio is complete.
    pub(super) fn piece_done(&mut self, number: u32, outcome: Outcome) {
        let of = self.segments[number as usize].work;
        let work = &mut self.requests[of as usize];
        work.left -= 1;
        if outcome == Outcome::Failed {
            work.error.get_or_insert(Errno::Io);
        }
        if work.left > 0 {
            return;
        }
        if matches!(work.stage, ChangeStage::Edges | ChangeStage::EdgesBack) && self.edges_done(of) {
            return;
        }
        let work = &self.requests[of as usize];
        let segmented = work.covered > 0 && work.error.is_none();
        if !(segmented && self.next_segment(of)) {
            self.ready(of);
        }
    }

    /// A work is done: its client is answered before the turn ends.
    pub(super) fn ready(&mut self, number: u32) {
        self.end_change(number);
        if self.promises_too_much(&self.requests[number as usize]) {
            self.requests[number as usize].error.get_or_insert(Errno::Io);
        }
        let at = self.requests[number as usize].connection;
        self.connections[at].ready.push_back(number);
        self.connections.mark_dirty(at);
    }

    /// A work is over: what it held is returned.
    pub(super) fn dissolve(&mut self, number: u32) {
        let work = self.requests.remove(number as usize);
        let connection = &mut self.connections[work.connection];
        connection.outstanding -= 1;
        connection.questions -= work.asks_for_extents();
        connection.held -= work.holds;
        let tenant = connection.tenant;
        self.tenants[tenant].outstanding -= 1;
        let mut next = work.first;
        while let Some(piece) = next {
            let piece = self.segments.remove(piece as usize);
            next = piece.next;
            if let Some(buffer) = piece.buffer {
                self.tenants[tenant].pool.give(buffer);
            }
        }
    }
}
