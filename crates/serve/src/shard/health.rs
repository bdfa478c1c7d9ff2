//! Failed syncs and other errors of the device: whom they concern, and how the operator learns of them.
//!
//! **Rule** When a device loses its cache, it loses what all its exports have written, and only one of them is told:
//! the one that asked. So a failed sync breaks every export of that file or device, partitions of one disk included:
//! every later flush of theirs fails, and every write that must be stable, since no later success can say that what was
//! answered before is still there.

use blksched::{Instant, Op};

use super::Shard;
use super::flights::Flight;
use super::work::Work;
use crate::backend::{Place, Through};
use crate::health::{LastError, named};
use crate::pulse::Awaits;
use crate::tenant::TenantLife;

impl Shard {
    /// A sync of this tenant's back end has failed.
    pub(super) fn sync_failed(&mut self, at: usize, code: i32) {
        self.note_error(at, code, "sync");
        self.lost(&self.tenants[at].backend.place(), code, Some(at));
    }

    /// What this place had in its cache may be lost: breaks its exports, and the one that was told.
    pub(super) fn lost(&mut self, place: &Place, code: i32, told: Option<usize>) {
        let now = self.now;
        for (number, tenant) in self.tenants.iter_mut().enumerate() {
            let is_there = told == Some(number) || place.is_the_place_of(&tenant.backend);
            if !is_there || tenant.life == TenantLife::Gone || tenant.stability.broken {
                continue;
            }
            tenant.stability.broken = true;
            tenant.health.broken = Some(now);
            tenant.health.last_error.get_or_insert(LastError { at: now, code, what: "sync" });
            tracing::error!(
                export = tenant.export.name,
                error = %named(code),
                "a sync failed: writes that were answered may be lost, and every further flush of this export fails; \
                 check the disk and the data, then restart the server, or remove the export and add it again"
            );
        }
    }

    /// Remembers an error of the device for the operator.
    pub(super) fn note_error(&mut self, at: usize, code: i32, what: &'static str) {
        self.tenants[at].health.last_error = Some(LastError { at: self.now, code, what });
    }

    /// Whether a work promises that data is stable although its export is broken.
    pub(super) fn promises_too_much(&self, work: &Work) -> bool {
        let tenant = self.connections[work.connection].tenant;
        self.tenants[tenant].stability.broken && work.promises()
    }

    /// What the end of this shard waits for.
    pub(super) fn awaits(&self) -> Awaits {
        let makes_stable = |flight: &Flight| flight.command.op == Op::Flush || flight.command.fua;
        match self.outside.given == self.outside.back {
            true => Awaits::Clients,
            false if self.flights.iter().any(|flight| flight.left > 0 && makes_stable(flight)) => self.awaits_sync(),
            false => Awaits::Operations,
        }
    }

    /// The same, while it makes data stable.
    pub(super) fn awaits_sync(&self) -> Awaits {
        let mut here = self.tenants.iter().filter(|tenant| tenant.life != TenantLife::Gone);
        let own = here.all(|tenant| tenant.backend.through == Through::Flag);
        if own { Awaits::Sync } else { Awaits::Operations }
    }

    /// Since when each tenant's oldest command has been in the device.
    pub(super) fn oldest_commands(&self) -> Vec<Option<Instant>> {
        let mut oldest: Vec<Option<Instant>> = vec![None; self.tenants.len()];
        for flight in self.flights.iter() {
            let tags = self.queue.queue().tags(flight.command.rq).map(|tag| tag.0 as u32);
            for piece in tags.chain(flight.flushes.iter().copied()) {
                // The queue's own flushes have no piece.
                let Some(piece) = self.segments.get(piece as usize) else { continue };
                let own = &mut oldest[piece.tenant];
                *own = Some(own.map_or(flight.since, |since| since.min(flight.since)));
            }
        }
        oldest
    }

    /// The text of a tenant's `health`.
    pub(super) fn health_of(&self, at: usize) -> String {
        self.tenants[at].health.shown(self.now, self.oldest_commands()[at])
    }
}
