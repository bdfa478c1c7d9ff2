//! Clients that another server goes on with: theirs is an end like that of a stop, but for their sockets; and until
//! that one says that it has begun, it can be undone.
//!
//! **Rule** What a client has begun to say is heard to its end, and all that it has asked is answered. Then it is
//! quiet: what came in behind is not looked at, and nothing is received. When all are quiet, what they wrote is made
//! stable, and they are told to the front. From then on the shard serves no client, until the front says which server
//! goes on: the other server ([`Order::Leave`](crate::orders::Order)), and this one forgets them, their sockets open;
//! or this one, and each is where it was. Whose bytes come by way of something in this process (TLS, a guest's rings)
//! is quiet too, and is told to connect again if it is the other one.

use std::sync::mpsc::Sender;

use blksched_nbd::Session;

use super::{Ending, How, Shard, Token};
use crate::connection::{Connection, ConnectionPhase, NextBytes, Transport};
use crate::orders::Client;

impl Shard {
    /// Read no more of it than what it has begun.
    pub(super) fn part(&mut self, at: usize) {
        let connection = &mut self.connections[at];
        if connection.phase != ConnectionPhase::Open {
            return self.leave(at);
        }
        connection.phase = ConnectionPhase::Parting;
        if connection.reading == NextBytes::Header && connection.receives() {
            self.engine.hurry(Token::Receive(at).pack());
        }
        self.leave_line(at);
        self.attend(at);
    }

    /// Nothing of it is under way.
    pub(super) fn parts(&mut self, at: usize) {
        self.connections[at].phase = ConnectionPhase::Parted;
    }

    /// Are all of them quiet?
    pub(super) fn all_have_parted(&self) -> bool {
        self.connections.iter().all(|(_, connection)| connection.phase == ConnectionPhase::Parted)
    }

    /// What they had written is stable: this is who they are. A client that has not come to an end by now is cut off.
    pub(super) fn give(&mut self, heir: &Sender<Vec<Client>>) {
        for at in self.connection_numbers() {
            if matches!(self.connections[at].phase, ConnectionPhase::Open | ConnectionPhase::Parting) {
                self.lose(at, "another server takes over, and it was in the middle of a request or a reply");
                self.cancel(at);
            }
        }
        let here = self.connections.iter().map(|(_, connection)| connection);
        let quiet = here.filter(|one| one.phase == ConnectionPhase::Parted && one.who.way == Transport::Direct);
        let clients = quiet.filter_map(|connection| {
            let Connection { who, reader, inbox, tenant, .. } = connection;
            let session = Session { export: *tenant, framing: reader.framing(), allocation: reader.allocation() };
            // The same socket under another number.
            let socket = connection.socket.try_clone().ok()?;
            Some(Client { who: who.clone(), socket, session, ahead: inbox.unread().to_vec() })
        });
        let clients = clients.collect();
        self.lent = true;
        // Who asked has gone: then the order to go on, or to end, has come already.
        let _ = heir.send(clients);
    }

    /// The other server has not begun: all clients are served again.
    pub(super) fn go_on(&mut self) {
        self.lent = false;
        if matches!(self.ending, Some(Ending { how: How::HandOver(_), .. })) {
            self.ending = None;
        }
        for at in self.connection_numbers() {
            let connection = &mut self.connections[at];
            if matches!(connection.phase, ConnectionPhase::Parting | ConnectionPhase::Parted) {
                connection.phase = ConnectionPhase::Open;
                connection.heard_at = self.now;
                self.attend(at);
            }
        }
    }

    /// The other server has begun: its clients are not ours to touch.
    pub(super) fn leave_them(&mut self) {
        for at in self.connection_numbers() {
            let connection = &self.connections[at];
            if connection.phase == ConnectionPhase::Parted && connection.who.way == Transport::Direct {
                let gone = self.connections.remove(at);
                self.tenants[gone.tenant].connections -= 1;
                self.queue.forget(self.now, gone.submitter);
            }
        }
        self.stop(How::Over);
    }
}
