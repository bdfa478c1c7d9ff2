//! Clients that another server goes on with: theirs is an end like that of a stop, but for their sockets.
//!
//! **Rule** What a client has begun to say is heard to its end, and all that it has asked is answered. Then its socket
//! is the other server's, with what came in behind and was not looked at. Whose bytes come by way of something in this
//! process (TLS, a guest's rings) is told to connect again.

use std::sync::mpsc::Sender;

use blksched_nbd::Session;

use super::{How, Shard, Token};
use crate::connection::{Connection, Phase, Reading, Way};
use crate::orders::Client;

/// Clients that are another server's from now on, and who takes them there.
pub struct Parted {
    /// Who waits for them.
    pub heir: Sender<Vec<Client>>,
    /// Those that are done here.
    pub clients: Vec<Client>,
}

impl Parted {
    /// What they had written is stable.
    pub fn give(self) {
        let _ = self.heir.send(self.clients);
    }
}

impl Shard {
    /// Read no more of it than what it has begun.
    pub(super) fn part(&mut self, at: usize) {
        let connection = &mut self.connections[at];
        if connection.who.way == Way::Within || connection.phase != Phase::Open {
            return self.leave(at);
        }
        connection.phase = Phase::Parting;
        if connection.reading == Reading::Header && connection.receives() {
            self.engine.hurry(Token::Receive(at).pack());
        }
        self.leave_line(at);
        self.attend(at);
    }

    /// It is done here.
    pub(super) fn parts(&mut self, at: usize) {
        let connection = &self.connections[at];
        // It is watched to the end of this process, so that it is the same socket under another number.
        let Ok(socket) = connection.socket.try_clone() else { return self.hang_up(at) };
        let Connection { who, reader, inbox, tenant, submitter, .. } = connection;
        let (who, tenant, submitter) = (who.clone(), *tenant, *submitter);
        let session = Session { export: tenant, framing: reader.framing(), allocation: reader.allocation() };
        let client = Client { who, socket, session, ahead: inbox.unread().to_vec() };
        self.connections.remove(at);
        self.tenants[tenant].connections -= 1;
        self.queue.forget(self.now, submitter);
        if let Some(super::Ending { how: How::HandOver(parted), .. }) = &mut self.ending {
            parted.clients.push(client);
        }
    }
}
