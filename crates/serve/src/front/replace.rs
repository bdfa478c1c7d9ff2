//! How a front ends, and how another begins where it was: sockets and clients that are handed over.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;

use blksched_nbd::Session;

use super::{Control, Front};
use crate::ServeError;
use crate::access::may_open;
use crate::assemble::{Place, Running};
use crate::config::ServerConfig;
use crate::connection::{Way, Who};
use crate::hand_over::{self, HandedClient, Role};
use crate::listen::Door;
use crate::orders::{Client, Order};

impl Front {
    /// A client of the server before this one. What it was told of its export then is what it goes by.
    pub(super) fn go_on_with(&mut self, handed: HandedClient, config: &ServerConfig) {
        let HandedClient { export, framing, allocation, peer, ahead, socket } = handed;
        let uid = rustix::net::sockopt::socket_peercred(&socket).ok().map(|peer| peer.uid.as_raw());
        let found = self.serving.find(&export).filter(|_| may_open(&config.rules, uid, &[], &export));
        let Some(at) = found else {
            tracing::warn!(peer, export, "turned away: this server has no such export for it");
            return;
        };
        let number = self.came.fetch_add(1, Ordering::Relaxed) + 1;
        let who = Who { number, peer: peer.into(), way: Way::Direct };
        let place = self.serving.places[at];
        let session = Session { export: place.tenant, framing, allocation };
        self.serving.shards[place.shard].control.order(Order::Attach(Client { who, socket, session, ahead }));
    }

    /// Another server takes this one's place: it gets the sockets, and this one ends.
    pub(super) fn hand_over_doors(&mut self, at: usize) {
        let asker = self.askers.remove(at);
        let of_doors = |role, doors: &'_ [Door]| -> Vec<_> {
            let named = doors.iter().filter_map(|door| Some((door.address()?, door)));
            named.map(|(address, door)| (role, address, door.fd().try_clone_to_owned())).collect()
        };
        let mut sockets = of_doors(Role::Nbd, &self.doors);
        sockets.extend(of_doors(Role::Metrics, &self.metrics));
        if let Some(Control { listener, path: Some(path) }) = &self.control {
            sockets.push((Role::Control, hand_over::of_path(path), listener.as_fd().try_clone_to_owned()));
        }
        let (peer, (socket, ..)) = (asker.peer.clone(), asker.into_rest());
        let held: Vec<_> = sockets.into_iter().filter_map(|(role, name, fd)| Some((role, name, fd.ok()?))).collect();
        let lent: Vec<_> = held.iter().map(|(role, name, fd)| (*role, name.clone(), fd.as_fd())).collect();
        if let Err(error) = hand_over::give(&socket, &lent) {
            tracing::warn!(%peer, %error, "the sockets could not be handed over: this server goes on");
            return;
        }
        tracing::info!(%peer, sockets = lent.len(), "another server takes over");
        self.doors.iter_mut().chain(&mut self.metrics).for_each(Door::leave);
        self.control.iter_mut().for_each(|control| control.path = None);
        self.heir = Some(socket);
    }

    /// No more clients; what is under way is served.
    pub(super) fn stop(&mut self) -> Result<(), ServeError> {
        self.doors.clear();
        self.control = None;
        self.metrics.clear();
        self.vhost.clear();
        self.guests.clear();
        self.askers.clear();
        let shards: Vec<Running> = self.serving.shards.drain(..).collect();
        let mut parted = Vec::new();
        for (at, shard) in shards.iter().enumerate() {
            if self.heir.is_none() {
                shard.control.order(Order::Stop);
                continue;
            }
            let (sender, clients) = channel();
            shard.control.order(Order::HandOver(sender));
            parted.push((at, clients));
        }
        for Running { name, thread, .. } in shards {
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err(ServeError::Config(format!("disk {name}: its thread panicked"))))?;
        }
        parted.into_iter().for_each(|(shard, clients)| self.pass_on(shard, clients.try_iter().flatten()));
        Ok(())
    }

    /// What clients of a disk were is told to the server that goes on with them.
    fn pass_on(&self, shard: usize, clients: impl Iterator<Item = Client>) {
        let Some(heir) = &self.heir else { return };
        for Client { who, socket, session, ahead } in clients {
            let here = |place: &Place| place.shard == shard && place.tenant == session.export;
            let Some(export) = self.serving.places.iter().position(here) else { continue };
            let export = self.serving.exports[export].name.clone();
            let (framing, allocation, peer) = (session.framing, session.allocation, who.peer.to_string());
            let handed = HandedClient { export, framing, allocation, peer, ahead, socket };
            if let Err(error) = hand_over::pass(heir, &handed) {
                tracing::warn!(client = who.number, peer = %who.peer, %error, "could not be handed over");
            }
        }
    }
}
