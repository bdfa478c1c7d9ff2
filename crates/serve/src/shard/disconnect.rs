//! A client that sends no more, is sent away, or has gone.

use rustix::net::Shutdown;

use super::Shard;
use crate::AUDIT;
use crate::connection::{Connection, ConnectionPhase, NextBytes};
use crate::log_limit;

impl Shard {
    /// The client sends no more.
    pub(super) fn stop_reading(&mut self, at: usize) {
        if matches!(
            self.connections[at].phase,
            ConnectionPhase::Open | ConnectionPhase::Quiescing | ConnectionPhase::Quiet
        ) {
            self.connections[at].phase = ConnectionPhase::Leaving;
        }
        self.leave_line(at);
        self.abandon_data(at);
    }

    /// Reads no more of it, and answers what is in flight.
    pub(super) fn leave(&mut self, at: usize) {
        self.stop_reading(at);
        let connection = &self.connections[at];
        if connection.receives() {
            // Nothing more comes in: the pending receive ends.
            let _ = rustix::net::shutdown(&connection.socket, Shutdown::Read);
        }
        self.connections.mark_dirty(at);
    }

    /// It has violated the protocol, which ends a connection.
    pub(super) fn lose(&mut self, at: usize, why: &str) {
        let Connection { who, tenant, .. } = &self.connections[at];
        let export = &self.tenants[*tenant].export.name;
        if log_limit::admits(&who.peer) {
            tracing::warn!(target: AUDIT, client = who.number, peer = %who.peer, export, why, "cut off");
        }
        self.hang_up(at);
    }

    /// It cannot be talked to any more.
    pub(super) fn hang_up(&mut self, at: usize) {
        let connection = &mut self.connections[at];
        connection.phase = ConnectionPhase::Gone;
        let _ = rustix::net::shutdown(&connection.socket, Shutdown::Both);
        self.leave_line(at);
        self.abandon_data(at);
        self.connections.mark_dirty(at);
    }

    /// A write whose data will not come.
    pub(super) fn abandon_data(&mut self, at: usize) {
        let connection = &self.connections[at];
        // The engine's receive into it must end first.
        if let (NextBytes::Data { work, .. }, None) = (connection.reading, connection.filling) {
            self.connections[at].reading = NextBytes::Header;
            self.dissolve(work);
        }
    }

    /// It no longer waits; the one after it is looked after.
    pub(super) fn leave_line(&mut self, at: usize) {
        let tenant = self.connections[at].tenant;
        self.connections[at].waits_since = None;
        let line = &mut self.tenants[tenant].line;
        if let Some(place) = line.iter().position(|&one| one == at) {
            line.remove(place);
            self.tenants[tenant].line.front().copied().into_iter().for_each(|next| self.connections.mark_dirty(next));
        }
    }
}
