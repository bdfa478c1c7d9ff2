//! Memory is granted in the order of requests, and never so much to one client that others get none.
//!
//! **Rule** A request is accepted only with all the memory that it needs, so that no request waits for another. A
//! client that holds nothing and finds no room enters a queue; while any client is queued, no other client of the
//! tenant gets memory. A client that holds memory gets more only if as much remains free as it then holds; otherwise it
//! waits, without a place in the queue, until it holds nothing.

use blksched_nbd::Request;

use super::Shard;
use crate::connection::Connection;
use crate::tenant::Tenant;

impl Shard {
    /// Whether this request may have its memory now. If not, its connection waits.
    pub(super) fn takes_memory(&mut self, at: usize, request: &Request) -> bool {
        let Connection { tenant, held, .. } = self.connections[at];
        let needed = self.memory_for(tenant, request);
        if needed == 0 {
            return true;
        }
        let Tenant { pool, line, .. } = &mut self.tenants[tenant];
        let its_turn = line.front().is_none_or(|&first| first == at);
        let leaves_enough = held == 0 || held + needed <= pool.free() as u64;
        let (length, count) = match needed as usize {
            length if length <= self.largest_piece => (length, 1),
            length => (self.largest_piece, length.div_ceil(self.largest_piece)),
        };
        if its_turn && leaves_enough && pool.may_take(length, count) {
            line.pop_front();
            self.connections[at].waits_since = None;
            return true;
        }
        if held == 0 && !line.contains(&at) {
            line.push_back(at);
        }
        self.connections[at].waits_since.get_or_insert(self.now);
        self.connections.starve(at);
        self.watch();
        false
    }
}
