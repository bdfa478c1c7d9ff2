//! Cancellation for disconnected clients: their requests that have not reached the scheduler are dropped.
//!
//! **Rule** Each socket is watched for a disconnect. When the client has gone (not when it has only closed its sending
//! side), pieces that wait for caps, for their share or for the time of their flush end at once; those that the
//! scheduler or the device has are completed without an answer. So at most `depth` requests are served in vain.

use blksched::Outcome;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Shard, Token};
use crate::connection::Watch;
use crate::engine::Io;

impl Shard {
    /// Asks to be told when the client has gone.
    pub(super) fn watch_socket(&mut self, at: usize) {
        let connection = &mut self.connections[at];
        connection.watch = Watch::InFlight;
        self.engine.submit(Token::Hangup(at).pack(), Io::Hangup(connection.socket.clone()));
    }

    /// It has gone, or has shut down one direction.
    pub(super) fn hung_up(&mut self, at: usize) {
        // One that belongs to another server is watched until this one ends.
        let Some(connection) = self.connections.get_mut(at) else { return };
        connection.watch = Watch::Over;
        self.connections.mark_dirty(at);
        if has_gone(&self.connections[at].socket) {
            self.hang_up(at);
            self.cancel(at);
        }
    }

    /// Cancels what waits here.
    pub(super) fn cancel(&mut self, at: usize) {
        let tenant = self.connections[at].tenant;
        let (works, pieces) = (&self.requests, &self.segments);
        let is_its_own = |piece: u32| works[pieces[piece as usize].work as usize].connection == at;
        let mut taken = self.turns.take_back(tenant, is_its_own);
        let tenant = &mut self.tenants[tenant];
        taken.extend(tenant.gate.iter().copied().filter(|&piece| is_its_own(piece)));
        tenant.gate.retain(|&piece| !is_its_own(piece));
        taken.extend(tenant.held_flushes.extract_if(.., |piece| is_its_own(*piece)));
        tenant.used.cancelled += taken.len() as u64;
        for piece in taken {
            self.piece_done(piece, Outcome::Failed);
        }
    }
}

pub(super) fn has_gone(socket: &std::os::fd::OwnedFd) -> bool {
    let mut fds = [PollFd::new(socket, PollFlags::empty())];
    let polled = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    polled.is_ok() && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}
