//! A copy of a shard's counters, and what its clients wait for.

use std::collections::BTreeMap;

use super::Shard;
use crate::figures::{ClientFigures, ShardFigures, TenantFigures};
use crate::tenant::{Tenant, TenantLife};

impl Shard {
    /// A copy of all counters.
    pub(super) fn figures(&self) -> ShardFigures {
        let oldest = self.oldest_commands();
        let here = |(_, tenant): &(usize, &Tenant)| tenant.life != TenantLife::Gone;
        let mut starved = vec![0; self.tenants.len()];
        let mut clients: Vec<Vec<ClientFigures>> = self.tenants.iter().map(|_| Vec::new()).collect();
        let waits = self.waits_of_clients();
        for (at, connection) in &self.connections {
            let memory = usize::from(connection.waits_since.is_some());
            starved[connection.tenant] += memory;
            let [caps, turn, flush] = waits.get(&at).copied().unwrap_or_default();
            clients[connection.tenant].push(ClientFigures {
                slot: at + 1,
                who: connection.who.clone(),
                used: connection.used,
                outstanding: connection.outstanding,
                held: connection.held,
                waits: [("caps", caps), ("turn", turn), ("flush", flush), ("memory", memory)],
            });
        }
        let each = self.tenants.iter().enumerate().filter(here).map(|(at, tenant)| {
            let (state, since) = tenant.health.state(self.now, oldest[at]);
            TenantFigures {
                name: tenant.export.name.clone(),
                used: tenant.used,
                clients: tenant.connections,
                outstanding: tenant.outstanding,
                weight: tenant.share.weight,
                memory: tenant.pool.taken(),
                memory_limit: tenant.pool.ceiling(),
                waits: [
                    ("caps", tenant.gate.len()),
                    ("turn", self.turns.waiting(at).len()),
                    ("flush", tenant.held_flushes.len()),
                    ("memory", starved[at]),
                ],
                state,
                state_for: self.now.since(since),
                connections: core::mem::take(&mut clients[at]),
            }
        });
        let tenants = each.collect();
        ShardFigures { in_flight: self.queue.queue().in_flight(), depth: self.depth, tenants }
    }

    /// What a tenant waits for: bios for its caps and for their turn, flushes for their time, clients for memory.
    pub(super) fn waits_of(&self, at: usize) -> [(&'static str, usize); 4] {
        let tenant = &self.tenants[at];
        let memory = self.connections.iter().filter(|(_, one)| one.tenant == at && one.waits_since.is_some()).count();
        [
            ("caps", tenant.gate.len()),
            ("turn", self.turns.waiting(at).len()),
            ("flush", tenant.held_flushes.len()),
            ("memory", memory),
        ]
    }

    /// How many of each client's pieces wait for caps, for their turn and for a flush's time.
    fn waits_of_clients(&self) -> BTreeMap<usize, [usize; 3]> {
        let mut waits: BTreeMap<usize, [usize; 3]> = BTreeMap::new();
        let whose = |piece: u32| self.requests[self.segments[piece as usize].work as usize].connection;
        for (at, Tenant { gate, held_flushes, .. }) in self.tenants.iter().enumerate() {
            gate.iter().for_each(|&piece| waits.entry(whose(piece)).or_default()[0] += 1);
            self.turns.waiting(at).for_each(|piece| waits.entry(whose(piece)).or_default()[1] += 1);
            held_flushes.iter().for_each(|&piece| waits.entry(whose(piece)).or_default()[2] += 1);
        }
        waits
    }
}
