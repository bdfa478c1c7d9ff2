//! Clients that are handed over to another server: this works like a stop, except for their sockets; and it can be
//! undone until that server says that it has begun.
//!
//! **Rule** A message that a client has begun is received to its end, and all its requests are answered. Then the
//! client is quiet: bytes after that are not parsed, and nothing more is received. When all are quiet, their writes are
//! made stable, and they are reported to the front end. From then on the shard serves no client, until the front end
//! says which server continues. If it is the other one ([`Order::Leave`](crate::orders::Order)), this one forgets the
//! clients, with their sockets open; if it is this one, each client continues where it was. A client with TLS is handed
//! over as the socket between the shard and the thread that carries its bytes, which goes on in this process. A guest
//! becomes quiet too, and must reconnect if the other server continues.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use blksched_nbd::Session;

use super::{Ending, How, Shard, Token};
use crate::connection::{Connection, ConnectionPhase, NextBytes};
use crate::orders::Client;

impl Shard {
    /// Reads no more of it than what it has begun.
    pub(super) fn quiesce(&mut self, at: usize) {
        let connection = &mut self.connections[at];
        if connection.phase != ConnectionPhase::Open {
            return self.leave(at);
        }
        connection.phase = ConnectionPhase::Quiescing;
        if connection.reading == NextBytes::Header && connection.receives() {
            self.engine.hurry(Token::Receive(at).pack());
        }
        self.leave_line(at);
        self.connections.mark_dirty(at);
    }

    /// Nothing of it is in flight.
    pub(super) fn became_quiet(&mut self, at: usize) {
        self.connections[at].phase = ConnectionPhase::Quiet;
    }

    /// What they had written is stable: passes them on. A client that has not finished by now is disconnected.
    pub(super) fn hand_over(&mut self, heir: &Sender<Vec<Client>>) {
        for at in self.connections.numbers() {
            if matches!(self.connections[at].phase, ConnectionPhase::Open | ConnectionPhase::Quiescing) {
                self.lose(at, "another server takes over, and it was in the middle of a request or a reply");
                self.cancel(at);
            }
            // The next server would not know, and would call its flushes done.
            if self.tenants[self.connections[at].tenant].stability.broken {
                self.lose(at, "another server takes over, and a sync of its export has failed");
            }
        }
        let here = self.connections.iter().map(|(_, connection)| connection);
        let quiet = here.filter(|one| one.phase == ConnectionPhase::Quiet && one.who.way.can_be_handed_over());
        let clients = quiet.filter_map(|connection| {
            let Connection { who, reader, inbox, tenant, .. } = connection;
            let session = Session { export: *tenant, framing: reader.framing(), allocation: reader.allocation() };
            // The same socket under another number.
            let socket = connection.socket.try_clone().ok()?;
            Some(Client {
                who: who.clone(),
                socket: Arc::new(socket),
                session,
                ahead: inbox.unread().to_vec(),
                place: None,
            })
        });
        let clients = clients.collect();
        self.lent = true;
        // If the caller has gone, then the order to continue, or to end, has already come.
        let _ = heir.send(clients);
    }

    /// The other server has not begun: all clients are served again.
    pub(super) fn go_on(&mut self) {
        self.lent = false;
        if matches!(self.ending, Some(Ending { how: How::HandOver(_), .. })) {
            self.ending = None;
        }
        for at in self.connections.numbers() {
            let connection = &mut self.connections[at];
            if matches!(connection.phase, ConnectionPhase::Quiescing | ConnectionPhase::Quiet) {
                connection.phase = ConnectionPhase::Open;
                connection.heard_at = self.now;
                self.connections.mark_dirty(at);
            }
        }
    }

    /// The other server has begun: its clients are not ours to touch.
    pub(super) fn leave_handed_over(&mut self) {
        for at in self.connections.numbers() {
            let connection = &self.connections[at];
            if connection.phase == ConnectionPhase::Quiet && connection.who.way.can_be_handed_over() {
                let gone = self.connections.remove(at);
                self.tenants[gone.tenant].connections -= 1;
                self.queue.forget(self.now, gone.submitter);
            }
        }
        self.stop(How::Over);
    }

    /// Stops reading requests; those in flight are answered.
    pub(super) fn stop(&mut self, how: How) {
        let (by, parts) = (self.now + self.patience, matches!(how, How::HandOver(_)));
        self.ending = Some(Ending { by, how });
        self.look = Some(self.now);
        for at in self.connections.numbers() {
            match parts {
                true => self.quiesce(at),
                false => self.leave(at),
            }
        }
    }
}
