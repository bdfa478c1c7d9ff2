//! How a front end ends and another continues in its place: handing over sockets and clients.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use blksched_nbd::Session;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Control, Front};
use crate::access::may_open;
use crate::assemble::{Running, ServedAt};
use crate::config::ServerConfig;
use crate::connection::{Transport, Who};
use crate::hand_over::{self, HandedClient, SocketRole};
use crate::handshaking::HandshakingClient;
use crate::listen::{Door, peer_of};
use crate::orders::{Client, Order};
use crate::origin;
use crate::tls;
use crate::{AUDIT, ServeError};

/// How long the next server may take to open what it needs. Clients wait meanwhile.
const BEGINS: Duration = Duration::from_secs(20);
/// How long clients with TLS may go on through a server that was replaced.
const CARRIES: Duration = Duration::from_secs(3600);
/// How often it is checked whether they have left.
const CARRY_LOOK: Duration = Duration::from_millis(200);
/// How often it is checked.
pub(super) const LOOK: Duration = Duration::from_millis(10);

impl Front {
    /// Resumes a client of the previous server, with the export as it was described then.
    pub(super) fn go_on_with(&mut self, handed: HandedClient, config: &ServerConfig) {
        let HandedClient { export, framing, allocation, peer, carried, ahead, socket } = handed;
        // The other end of the socket of one that is carried is a server's, and its user says nothing.
        let uid = peer_of(&socket).filter(|_| !carried);
        let (uid, names) = (uid.map(|peer| peer.uid()), origin::certificate(&peer));
        let found = self.serving.find(&export).filter(|_| may_open(&config.rules, uid, &names, &export));
        let Some(at) = found else {
            tracing::warn!(target: AUDIT, peer, export, "turned away: this server has no such export for it");
            return;
        };
        let number = self.came.fetch_add(1, Ordering::Relaxed) + 1;
        let way = if carried { Transport::Carried } else { Transport::Direct };
        let who = Who { number, peer: peer.into(), way };
        let served = self.serving.places[at];
        let session = Session { export: served.tenant, framing, allocation };
        // It was admitted by the previous server, so it is counted even if there are too many.
        let place = self.origins.take(origin::of(&who.peer));
        let client = Client { who, socket, session, ahead, place };
        self.serving.shards[served.shard].control.order(Order::Attach(client));
    }

    /// Another server wants to take this one's place: it gets the sockets.
    pub(super) fn hand_over_doors(&mut self, at: usize) {
        let asker = self.askers.remove(at);
        if !self.ublk.is_empty() {
            return refuse(asker);
        }
        let of_doors = |role, doors: &'_ [Door]| -> Vec<_> {
            let named = doors.iter().filter_map(|door| Some((door.address()?, door)));
            named.map(|(address, door)| (role, address, door.fd().try_clone_to_owned())).collect()
        };
        let mut sockets = of_doors(SocketRole::Nbd, &self.doors);
        sockets.extend(of_doors(SocketRole::Metrics, &self.metrics));
        if let Some(Control { listener, path: Some(path) }) = &self.control {
            sockets.push((SocketRole::Control, hand_over::of_path(path), listener.as_fd().try_clone_to_owned()));
        }
        let (peer, (socket, ..)) = (asker.peer.clone(), asker.into_rest());
        let held: Vec<_> = sockets.into_iter().filter_map(|(role, name, fd)| Some((role, name, fd.ok()?))).collect();
        let lent: Vec<_> = held.iter().map(|(role, name, fd)| (*role, name.clone(), fd.as_fd())).collect();
        if let Err(error) = hand_over::give(&socket, &lent) {
            tracing::warn!(%peer, %error, "the sockets could not be handed over: this server continues");
            return;
        }
        tracing::info!(target: AUDIT, %peer, sockets = lent.len(), "another server takes over");
        self.heir = Some(socket);
    }

    /// Hands over everything else to the server that has the sockets. True if it has begun, and this server has nothing
    /// left but clients that cannot be handed over; false if it has not, and this one continues.
    ///
    /// # Errors
    /// If this one cannot continue, because another server has its files.
    pub(super) fn replaced_by(&mut self, heir: OwnedFd) -> Result<bool, ServeError> {
        let mut heard = Vec::new();
        // The next one opens sockets of its own at these places.
        self.vhost.iter().for_each(|endpoint| endpoint.step_aside());
        let quiet = self.quieten(&heir, &mut heard);
        let mut begun = false;
        if let Some(clients) = quiet
            && hand_over::has_begun(&heir, &mut heard).is_some()
        {
            self.serving.claims.let_go();
            begun = self.pass_on(&heir, clients) && await_its_beginning(&heir, &mut heard) && hand_over::yours(&heir);
        }
        if begun {
            self.doors.iter_mut().chain(&mut self.metrics).for_each(Door::leave);
            self.control.iter_mut().for_each(|control| control.path = None);
            return Ok(true);
        }
        tracing::warn!("the server that was to take over did not start: this one continues");
        hand_over::mine(heir);
        self.take_files_back()?;
        self.vhost.iter().for_each(|endpoint| endpoint.come_back());
        self.serving.shards.iter().for_each(|shard| shard.control.order(Order::GoOn));
        Ok(false)
    }

    /// Tells all shards to stop serving; returns the clients of each. `None` if the next server has ended meanwhile, or
    /// a shard has.
    fn quieten(&self, heir: &OwnedFd, heard: &mut Vec<u8>) -> Option<Vec<Vec<Client>>> {
        let ask = |shard: &Running| {
            let (sender, clients) = channel();
            shard.control.order(Order::HandOver(sender));
            clients
        };
        let asked: Vec<Receiver<Vec<Client>>> = self.serving.shards.iter().map(ask).collect();
        let await_one = |clients: Receiver<Vec<Client>>| loop {
            match clients.recv_timeout(LOOK) {
                Ok(clients) => return Some(clients),
                Err(RecvTimeoutError::Timeout) => _ = hand_over::has_begun(heir, heard)?,
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        };
        asked.into_iter().map(await_one).collect()
    }

    /// Passes the clients of each disk to the server that will continue with them; false if it is gone.
    fn pass_on(&self, heir: &OwnedFd, clients: Vec<Vec<Client>>) -> bool {
        let all =
            clients.into_iter().enumerate().flat_map(|(shard, those)| those.into_iter().map(move |one| (shard, one)));
        for (shard, Client { who, socket, session, ahead, .. }) in all {
            let here = |place: &ServedAt| place.shard == shard && place.tenant == session.export;
            let Some(export) = self.serving.places.iter().position(here) else { continue };
            let export = self.serving.exports[export].name.clone();
            let (framing, allocation, peer) = (session.framing, session.allocation, who.peer.to_string());
            let carried = who.way == Transport::Carried;
            let handed = HandedClient { export, framing, allocation, peer, carried, ahead, socket };
            if let Err(error) = hand_over::pass(heir, &handed) {
                tracing::warn!(client = who.number, peer = %who.peer, %error, "could not be handed over");
                return false;
            }
        }
        hand_over::end(heir).is_ok()
    }

    /// Clients with TLS go on at the next server through this process, which does nothing else any more: until they
    /// leave, it is told to end, or [`CARRIES`] has passed.
    pub(super) fn carry_on(&self) {
        let told = |look: Duration| {
            let look = Timespec { tv_sec: 0, tv_nsec: look.subsec_nanos().into() };
            poll(&mut [PollFd::new(&self.wakeup, PollFlags::IN)], Some(&look)).is_ok_and(|ready| ready > 0)
        };
        carry(Instant::now, tls::carried, told);
    }

    /// The server that was to get our files releases them when it ends, or is told that it was too late.
    fn take_files_back(&self) -> Result<(), ServeError> {
        let until = Instant::now() + BEGINS;
        loop {
            match self.serving.claims.take_back() {
                Ok(()) => return Ok(()),
                Err(why) if Instant::now() >= until => return Err(ServeError::Config(why)),
                Err(_) => std::thread::sleep(LOOK),
            }
        }
    }
}

/// Block devices end with their server: file systems mounted on them would fail.
fn refuse(asker: HandshakingClient) {
    tracing::warn!(peer = %asker.peer, "another server wants to take over, impossible with block devices (--ublk)");
    let (socket, ..) = asker.into_rest();
    let _ = rustix::io::ioctl_fionbio(&socket, false);
    let _ = rustix::io::write(&socket, b"error\nit has block devices (--ublk), which cannot be handed over\n");
}

/// Why a server that was replaced carries no more clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CarryEnd {
    /// There are none.
    AllLeft,
    /// It was told to end.
    Told,
    /// The last ones have had [`CARRIES`].
    TimeIsUp,
}

/// Waits while there are clients with TLS, asking the time, how many there are, and whether it was told to end, each
/// time for at most so long.
fn carry(now: impl Fn() -> Instant, clients: impl Fn() -> usize, mut told: impl FnMut(Duration) -> bool) -> CarryEnd {
    let until = now() + CARRIES;
    if clients() > 0 {
        let (clients, at_most_s) = (clients(), CARRIES.as_secs());
        tracing::info!(clients, at_most_s, "clients with TLS go on through this process until they leave");
    }
    while clients() > 0 {
        if now() >= until {
            tracing::warn!(clients = clients(), "clients with TLS are cut off: they must reconnect");
            return CarryEnd::TimeIsUp;
        }
        if told(CARRY_LOOK) {
            tracing::info!(clients = clients(), "told to end: clients with TLS must reconnect");
            return CarryEnd::Told;
        }
    }
    CarryEnd::AllLeft
}

/// It was given everything: whether it begins.
fn await_its_beginning(heir: &OwnedFd, heard: &mut Vec<u8>) -> bool {
    let until = Instant::now() + BEGINS;
    loop {
        match hand_over::has_begun(heir, heard) {
            Some(true) => return true,
            Some(false) if Instant::now() < until => std::thread::sleep(LOOK),
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Carries until it ends; what happens is told by the time that has passed. Returns why it ended, and when.
    fn carried(clients: impl Fn(Duration) -> usize, told: impl Fn(Duration) -> bool) -> (CarryEnd, Duration) {
        let (begin, passed) = (Instant::now(), Cell::new(Duration::ZERO));
        let looks = |look| {
            passed.set(passed.get() + look);
            told(passed.get())
        };
        let end = carry(|| begin + passed.get(), || clients(passed.get()), looks);
        (end, passed.get())
    }

    #[test]
    fn clients_with_tls_are_carried_for_an_hour_at_most() {
        let hour = Duration::from_secs(3600);
        assert_eq!(carried(|_| 3, |_| false), (CarryEnd::TimeIsUp, hour));
        let last = hour - CARRY_LOOK;
        let leaves = |passed| usize::from(passed < last);
        assert_eq!(carried(leaves, |_| false), (CarryEnd::AllLeft, last), "the last one leaves just before");
        assert_eq!(carried(|_| 0, |_| panic!("nobody to wait for")), (CarryEnd::AllLeft, Duration::ZERO));
        let at_ten = Duration::from_secs(600);
        assert_eq!(carried(|_| 1, |passed| passed >= at_ten), (CarryEnd::Told, at_ten));
    }
}
