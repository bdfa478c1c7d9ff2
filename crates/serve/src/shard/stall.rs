//! A client that stops in the middle of its data, or reads no replies, holds memory that others need: it is
//! disconnected.
//!
//! **Rule** While a client is in the middle of its data, or waits for memory, all clients are checked every second, and
//! four times per second while one waits. A client that has sent none of its data for [`STALL`], or has read no reply
//! for that long while others wait, is disconnected. Once the first waiting client has waited for [`CROWDED`], the
//! clients that hold most of the memory and have read nothing for that long are disconnected, until half of the memory
//! is free. A client that reads its replies, however slowly, is kept. At the end of the server a client that has read
//! no reply for [`ENDS`] is disconnected: it must reconnect anyway.

use blksched::{Instant, Span};

use super::{Ending, How, Shard, Token};
use crate::connection::{Connection, ConnectionPhase, NextBytes};

/// How long a client may stall.
const STALL: Span = Span::from_secs(30);
/// How long others wait for memory before a client may not stall any longer.
const CROWDED: Span = Span::from_ms(500);
/// How long a client may read nothing when the server ends.
const ENDS: Span = Span::from_secs(1);
/// How often to check for stalled clients.
const LOOK: Span = Span::from_secs(1);
/// How often while others wait.
const SOON: Span = Span::from_ms(250);
/// How long a receive may wait for the last byte before it is asked how far it is.
const QUIET: Span = Span::from_secs(5);

impl Shard {
    /// From now on a client may stall.
    pub(super) fn watch(&mut self) {
        let next = self.now + if self.somebody_waits() { SOON } else { LOOK };
        self.look = Some(self.look.map_or(next, |look| look.min(next)));
    }

    fn somebody_waits(&self) -> bool {
        self.connections.are_starved()
    }

    /// Disconnects the clients that have stalled.
    pub(super) fn cut_off_the_stalled(&mut self) {
        if self.look.is_none_or(|look| look > self.now) {
            return;
        }
        self.look = None;
        let others_wait = self.somebody_waits();
        let mid_data = |(_, connection): (_, &Connection)| {
            connection.phase == ConnectionPhase::Open && connection.reading != NextBytes::Header
        };
        if others_wait || self.connections.iter().any(mid_data) {
            self.watch();
        }
        self.see_progress();
        self.leave_the_stalled();
        let stalled = self.connections.iter().filter(|(_, connection)| has_stalled(connection, self.now, others_wait));
        for at in stalled.map(|(at, _)| at).collect::<Vec<_>>() {
            self.lose(at, "it has stopped in the middle of a request or a reply");
        }
        for tenant in 0..self.tenants.len() {
            self.make_room(tenant);
        }
    }

    /// At the end, disconnects the clients that take nothing.
    fn leave_the_stalled(&mut self) {
        if !matches!(self.ending, Some(Ending { how: How::Over, .. })) {
            return;
        }
        self.look = Some(self.now + SOON);
        let leaves = |one: &Connection| one.phase == ConnectionPhase::Leaving && takes_nothing(one, self.now, ENDS);
        let stalled = self.connections.iter().filter(|(_, connection)| leaves(connection)).map(|(at, _)| at);
        for at in stalled.collect::<Vec<_>>() {
            self.lose(at, "it accepts no replies, and the server ends");
        }
    }

    /// Notes which clients have taken something since the last check, and which have sent some of what is received as a
    /// whole.
    fn see_progress(&mut self) {
        for (at, connection) in &mut self.connections {
            if connection.tx.is_none() {
                let unsent = self.engine.unsent(&connection.socket);
                if unsent != connection.unsent {
                    (connection.unsent, connection.taken_at) = (unsent, self.now);
                }
            }
            if connection.filling.is_some() && self.now.since(connection.heard_at) >= QUIET {
                self.engine.hurry(Token::Receive(at).pack());
            }
        }
    }

    /// Clients that wait in vain get the memory of those that take nothing.
    fn make_room(&mut self, tenant: usize) {
        let waits =
            |at: &usize| self.connections[*at].waits_since.is_some_and(|since| self.now.since(since) >= CROWDED);
        if !self.tenants[tenant].line.front().is_some_and(waits) {
            return;
        }
        let idle = |connection: &Connection| takes_nothing(connection, self.now, CROWDED);
        let here = self
            .connections
            .iter()
            .filter(|(_, one)| one.tenant == tenant && one.phase != ConnectionPhase::Gone && idle(one));
        let mut idle: Vec<(u64, usize)> = here.map(|(at, connection)| (connection.held, at)).collect();
        idle.sort_unstable_by(|a, b| b.cmp(a));
        let mut wanted = self.tenants[tenant].pool.ceiling() as u64 / 2;
        for (held, at) in idle {
            if wanted == 0 {
                return;
            }
            wanted = wanted.saturating_sub(held);
            self.lose(at, "it accepts no replies, and others wait for the memory");
        }
    }
}

fn takes_nothing(connection: &Connection, now: Instant, so_long: Span) -> bool {
    connection.tx.is_none() && now.since(connection.taken_at) >= so_long
}

fn has_stalled(connection: &Connection, now: Instant, others_wait: bool) -> bool {
    let sends_nothing = connection.reading != NextBytes::Header && now.since(connection.heard_at) >= STALL;
    connection.phase == ConnectionPhase::Open
        && (sends_nothing || (others_wait && takes_nothing(connection, now, STALL)))
}
