//! The front end: one thread that accepts clients, performs their handshakes, hands them to their export's shard,
//! answers `blksched ctl`, and handles signals and the end of the captive command.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use blksched_nbd::{Session, Uri};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use slab::Slab;

use crate::access::may_open;
use crate::assemble::Serving;
use crate::captive::{self, Captive};
use crate::config::ServerConfig;
use crate::connection::{Transport, Who};
use crate::ending::Wakeups;
use crate::hand_over::{Inherited, SocketRole};
use crate::handshaking::{End, HandshakingClient, Next};
use crate::listen::{Door, NewClient, bind_unix};
use crate::log_limit;
use crate::notify::{ServerState, notify};
use crate::orders::{Client, Order};
use crate::origin::{self, Places};
use crate::tls::{self, Tls};
use crate::{AUDIT, ServeError};
use crate::{ublk, vhost};

/// The most clients in their handshakes at a time.
const MOST_GUESTS: usize = 256;
/// The most questions of `blksched ctl` at a time: they have a limit of their own, so that clients cannot keep them
/// out.
const MOST_ASKERS: usize = 64;
/// How many clients of each disk the metrics show: the busiest ones.
const CLIENTS_SHOWN: usize = 32;
/// How many are accepted at one socket before others are looked after.
const AT_ONCE: usize = 64;

mod elsewhere;
mod questions;
mod reload;
mod replace;
mod shaking;
mod stopping;

use elsewhere::{Elsewhere, Renewed};
use shaking::Shaking;

/// The state of the front thread.
pub struct Front {
    serving: Serving,
    doors: Vec<Door>,
    control: Option<Control>,
    metrics: Vec<Door>,
    vhost: Vec<vhost::Endpoint>,
    ublk: Vec<ublk::BlockDevice>,
    guests: Slab<HandshakingClient>,
    askers: Slab<HandshakingClient>,
    /// What is done on other threads.
    elsewhere: Elsewhere,
    /// TLS handshakes; `None` without TLS.
    shaking: Option<Shaking>,
    /// A configuration that was read, until exports that must go before it have gone; at the latest until then.
    pending: Option<(Box<Renewed>, Instant)>,
    /// Whether a configuration is being read, and whether another SIGHUP has come meanwhile.
    reading: Reading,
    /// The connections of each origin.
    origins: Places,
    /// How many clients have ever come.
    came: vhost::Numbers,
    /// Becomes readable when a signal has arrived or the command has ended.
    wakeup: UnixStream,
    captive: Option<Captive>,
    tls: Option<Tls>,
    /// Becomes readable when a SIGHUP has arrived.
    reload: UnixStream,
    /// How long disks may take to end.
    patience: Duration,
    /// Its other end, where signals are not ours.
    _quiet: Option<UnixStream>,
    /// The server that has our sockets, and wants the rest.
    heir: Option<OwnedFd>,
    /// Whether it has everything.
    replaced: bool,
}

/// The control socket; removed at the end.
struct Control {
    listener: UnixListener,
    /// `None` if it belongs to the next server.
    path: Option<PathBuf>,
}

impl Drop for Control {
    fn drop(&mut self) {
        self.path.iter().for_each(|path| drop(std::fs::remove_file(path)));
    }
}

/// Whether the configuration is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Idle,
    Once,
    /// And again after that.
    Again,
}

/// What is ready.
#[derive(Clone, Copy, Debug)]
enum Ready {
    Wakeup,
    Reload,
    Told,
    Door(usize),
    Control,
    Metrics(usize),
    HandshakingClient(usize),
    Asker(usize),
}

impl Front {
    /// Opens the sockets, and runs the captive command. If another server has handed over, this one begins here.
    ///
    /// # Errors
    /// If a socket cannot be opened, or that other server continues.
    pub fn open(
        config: &ServerConfig,
        mut inherited: Inherited,
        serving: Serving,
        say: &mut dyn FnMut(&str),
    ) -> Result<Front, ServeError> {
        let heard = ServeError::system("listening for what ends the server");
        let Wakeups { end: wakeup, ring, reload, quiet } = config.ending.wakeups().map_err(heard)?;
        let came = vhost::Numbers::default();
        let OpenedDoors { doors, metrics, control, tls, mut vhost, mut ublk } =
            OpenedDoors::open(config, &mut inherited, &serving)?;
        vhost.iter_mut().try_for_each(|endpoint| endpoint.begin(&came))?;
        ublk.iter_mut().try_for_each(|device| device.begin(&came))?;
        let clients = inherited.close();
        let names = || serving.exports.iter().map(|export| export.name.as_str());
        let first = || doors.first().map(|door| (door, door.tls(tls.is_some())));
        let uris: Vec<Uri> = names().filter_map(|name| first().and_then(|(door, tls)| door.uri(name, tls))).collect();
        for (export, uri) in serving.exports.iter().zip(&uris) {
            say(&format!("{uri}  ({} bytes)", export.size));
        }
        vhost.iter().for_each(|endpoint| say(&endpoint.says()));
        ublk.iter().for_each(|device| say(&device.says()));
        let path = control.as_ref().and_then(|control| control.path.as_ref()?.to_str());
        let devices: Vec<_> = ublk.iter().map(ublk::BlockDevice::path).collect();
        let shown = captive::Shown { uris: &uris, devices: &devices, control: path };
        let captive = config.run.as_ref().map(|command| Captive::run(command, &shown, ring));
        let captive = captive.transpose().map_err(ServeError::system("running the command"))?;
        let elsewhere = Elsewhere::new()?;
        let shaking = tls.as_ref().map(|_| Shaking::start(&elsewhere.speaker)).transpose()?;
        let mut front = Front {
            serving,
            doors,
            control,
            metrics,
            vhost,
            ublk,
            guests: Slab::new(),
            askers: Slab::new(),
            elsewhere,
            shaking,
            pending: None,
            reading: Reading::Idle,
            origins: Places::of_this_process(),
            came,
            wakeup,
            captive,
            tls,
            reload,
            patience: config.stop_patience(),
            _quiet: quiet,
            heir: None,
            replaced: false,
        };
        clients.into_iter().for_each(|client| front.go_on_with(client, config));
        Ok(front)
    }

    /// Runs until a signal arrives, or the captive command ends; returns the exit code.
    ///
    /// # Errors
    /// If a shard has failed.
    pub fn run(mut self, mut config: ServerConfig, say: &mut dyn FnMut(&str)) -> Result<u8, ServeError> {
        notify(ServerState::Ready);
        let exit = loop {
            for ready in self.wait()? {
                match ready {
                    Ready::Wakeup => {}
                    Ready::Reload => self.reload(&mut config),
                    Ready::Told => self.hear(&mut config),
                    Ready::Door(at) => self.open_door(at, &config),
                    Ready::Control => self.open_control(&config),
                    Ready::Metrics(at) => self.open_metrics(at, &config),
                    Ready::HandshakingClient(at) => self.serve_guest(at, &config),
                    Ready::Asker(at) => self.serve_asker(at, &mut config),
                }
                if self.heir.is_some() {
                    // A client that connects now may be for the next server.
                    break;
                }
            }
            let now = Instant::now();
            self.guests.retain(|_, guest| guest.by > now);
            self.askers.retain(|_, asker| asker.by > now);
            self.answer_the_patient(now);
            self.go_on_changing(&mut config);
            log_limit::report();
            if let Some(exit) = self.is_over()? {
                break exit;
            }
        };
        notify(ServerState::Stopping);
        if exit.is_none() {
            say("stopping: requests in flight are served");
        }
        let stopped = self.stop();
        log_limit::report_at_last();
        if self.replaced {
            // Clients with TLS that stay are served whatever a disk here did at the end.
            self.carry_on();
        }
        stopped?;
        Ok(exit.unwrap_or(0))
    }

    fn wait(&self) -> Result<Vec<Ready>, ServeError> {
        let mut who = vec![Ready::Wakeup, Ready::Reload, Ready::Told];
        let own = [&self.wakeup, &self.reload, &self.elsewhere.bell];
        let mut fds: Vec<PollFd<'_>> = own.into_iter().map(|own| PollFd::new(own, PollFlags::IN)).collect();
        for (at, door) in self.doors.iter().enumerate() {
            who.push(Ready::Door(at));
            fds.push(PollFd::from_borrowed_fd(door.fd(), PollFlags::IN));
        }
        for (at, door) in self.metrics.iter().enumerate() {
            who.push(Ready::Metrics(at));
            fds.push(PollFd::from_borrowed_fd(door.fd(), PollFlags::IN));
        }
        if let Some(control) = &self.control {
            who.push(Ready::Control);
            fds.push(PollFd::new(&control.listener, PollFlags::IN));
        }
        let guests = self.guests.iter().map(|(at, guest)| (Ready::HandshakingClient(at), guest));
        for (ready, guest) in guests.chain(self.askers.iter().map(|(at, asker)| (Ready::Asker(at), asker))) {
            who.push(ready);
            let events = match guest.asked_at {
                // It may have closed its sending side already: only its end matters.
                Some(_) => PollFlags::empty(),
                None if guest.sends() => PollFlags::OUT,
                None => PollFlags::IN,
            };
            fds.push(PollFd::new(&guest.socket, events));
        }
        // A failed thread wakes no other, so it is checked now and then.
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        match poll(&mut fds, Some(&second)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(ServeError::system("waiting for clients")(error.into())),
        }
        Ok(who.into_iter().zip(fds).filter(|(_, fd)| !fd.revents().is_empty()).map(|(who, _)| who).collect())
    }

    fn open_door(&mut self, at: usize, config: &ServerConfig) {
        let by = Instant::now() + Duration::from_nanos(config.patience.as_ns());
        for _ in 0..AT_ONCE {
            match self.doors[at].accept() {
                Ok(Some(accepted)) => {
                    make_room(&mut self.guests, MOST_GUESTS);
                    let tls = self.doors[at].tls(self.tls.is_some());
                    let guest = self.guests.insert(HandshakingClient::nbd(accepted, by, tls));
                    self.serve_guest(guest, config);
                }
                Ok(None) => return,
                Err(error) => {
                    // Out of files: some are closed sooner or later.
                    tracing::warn!(%error, "a client could not connect");
                    std::thread::sleep(Duration::from_millis(10));
                    return;
                }
            }
        }
    }

    fn open_control(&mut self, config: &ServerConfig) {
        let Some(control) = &self.control else { return };
        let by = Instant::now() + Duration::from_nanos(config.patience.as_ns());
        if let Ok((stream, _)) = control.listener.accept()
            && let Ok(accepted) = NewClient::unix(stream)
            && may_ask(accepted.uid, rustix::process::geteuid().as_raw())
        {
            make_room(&mut self.askers, MOST_ASKERS);
            self.askers.insert(HandshakingClient::control(accepted, by));
        }
    }

    fn open_metrics(&mut self, at: usize, config: &ServerConfig) {
        let by = Instant::now() + Duration::from_nanos(config.patience.as_ns());
        if let Ok(Some(accepted)) = self.metrics[at].accept() {
            make_room(&mut self.askers, MOST_ASKERS);
            self.askers.insert(HandshakingClient::metrics(accepted, by));
        }
    }

    /// Exports may have been added, removed or resized.
    fn show_exports(&self) {
        self.vhost.iter().for_each(|endpoint| endpoint.show(&self.serving));
        self.ublk.iter().for_each(|device| device.show(&self.serving));
    }

    fn serve_guest(&mut self, at: usize, config: &ServerConfig) {
        let Some(guest) = self.guests.get_mut(at) else { return };
        let (exports, open) = (&self.serving.exports, &self.serving.open);
        let (rules, uid, names) = (&config.rules, guest.uid, guest.names());
        let may = |export: usize| open[export] && may_open(rules, uid, &names, &exports[export].name);
        let next = guest.go_on(exports, &may, self.tls.as_ref());
        self.proceed(at, next);
    }

    fn proceed(&mut self, at: usize, next: Next) {
        match next {
            Next::Wait | Next::Asks(_) => {}
            Next::Shakes => {
                let guest = self.guests.remove(at);
                let gone = self.shaking.as_ref().and_then(|shaking| shaking.push(guest));
                if let Some(HandshakingClient { peer, .. }) = gone {
                    tracing::debug!(%peer, "dropped in its TLS handshake, to make room for others");
                }
            }
            Next::Ends(End::Close) => drop(self.guests.remove(at)),
            Next::Ends(End::Enter(session)) => self.hand_over(at, session),
        }
    }

    /// A client's TLS handshake went on elsewhere.
    fn shaken(&mut self, mut guest: HandshakingClient, read: Result<bool, ()>, config: &ServerConfig) {
        make_room(&mut self.guests, MOST_GUESTS);
        let (exports, open) = (&self.serving.exports, &self.serving.open);
        let (rules, uid, names) = (&config.rules, guest.uid, guest.names());
        let may = |export: usize| open[export] && may_open(rules, uid, &names, &exports[export].name);
        let next = guest.after(read, exports, &may, self.tls.as_ref());
        let at = self.guests.insert(guest);
        self.proceed(at, next);
    }

    /// Passes a client to the shard of its export. Engines wait for sockets themselves, so these may block.
    fn hand_over(&mut self, at: usize, session: Session) {
        let guest = self.guests.remove(at);
        let number = self.came.fetch_add(1, Ordering::Relaxed) + 1;
        let names = guest.names();
        let peer = match names.first() {
            Some(name) => format!("{},cert={name}", guest.peer).into(),
            None => guest.peer.clone(),
        };
        let (socket, ahead, secure) = guest.into_rest();
        let way = if secure.is_none() { Transport::Direct } else { Transport::Carried };
        let who = Who { number, peer, way };
        let served = self.serving.places[session.export];
        let Some(place) = self.origins.take(origin::of(&who.peer)) else {
            if log_limit::admits(&who.peer) {
                let (most, peer) = (self.origins.most(), &who.peer);
                tracing::warn!(target: AUDIT, client = number, %peer, most, "turned away: its origin has too many");
            }
            return;
        };
        let socket = match secure {
            None => Ok(socket),
            Some(session) => tls::carry(*session, socket, number),
        };
        if let Ok(socket) = socket
            && rustix::io::ioctl_fionbio(&socket, false).is_ok()
        {
            let session = Session { export: served.tenant, ..session };
            let client = Client { who, socket: Arc::new(socket), session, ahead, place: Some(place) };
            self.serving.shards[served.shard].control.order(Order::Attach(client));
        }
    }

    /// Whether it was told to end, with the exit code, if there is one.
    fn is_over(&mut self) -> Result<Option<Option<u8>>, ServeError> {
        if let Some(code) = self.captive.as_mut().and_then(Captive::ended) {
            return Ok(Some(Some(code)));
        }
        if let Some(heir) = self.heir.take()
            && self.replaced_by(heir)?
        {
            self.replaced = true;
            return Ok(Some(None));
        }
        if self.serving.shards.iter().any(|shard| shard.thread.is_finished()) {
            self.stop()?;
            return Err(ServeError::Config("a disk's thread has ended".to_owned()));
        }
        let mut byte = [0];
        let read = rustix::net::recv(self.wakeup.as_fd(), &mut byte, rustix::net::RecvFlags::DONTWAIT);
        Ok(read.is_ok_and(|(count, _)| count > 0).then_some(None))
    }
}

/// Makes room for one more: see [`origin::displaced`]. At the control socket, where all are one user's, the oldest goes
/// that has said nothing.
fn make_room(guests: &mut Slab<HandshakingClient>, most: usize) {
    if guests.len() < most {
        return;
    }
    let silent = guests.iter().any(|(_, guest)| guest.heard_at.is_none());
    let considered = guests.iter().filter(|(_, guest)| !guest.is_asker() || !silent || guest.heard_at.is_none());
    let displaced = origin::displaced(considered.map(|(at, guest)| (at, guest.origin.clone(), guest.came_at)));
    if let Some(at) = displaced {
        let HandshakingClient { peer, .. } = guests.remove(at);
        tracing::debug!(%peer, "dropped before its handshake was over, to make room for others");
    }
}

/// Only the server's user and root may ask. The socket's mode also enforces that, but only from a moment after its
/// creation.
fn may_ask(uid: Option<u32>, ours: u32) -> bool {
    uid.is_some_and(|uid| uid == ours || uid == 0)
}

/// The listening sockets, and what they need.
#[derive(Default)]
struct OpenedDoors {
    doors: Vec<Door>,
    metrics: Vec<Door>,
    control: Option<Control>,
    tls: Option<Tls>,
    vhost: Vec<vhost::Endpoint>,
    ublk: Vec<ublk::BlockDevice>,
}

impl OpenedDoors {
    /// Opens all of it. What was handed over stays the other server's if anything cannot be opened.
    fn open(config: &ServerConfig, inherited: &mut Inherited, serving: &Serving) -> Result<OpenedDoors, ServeError> {
        let mut opened = OpenedDoors::default();
        let done = opened.open_all(config, inherited, serving).and_then(|()| inherited.begin());
        if let Err(error) = done {
            if inherited.is_of_another() {
                opened.doors.iter_mut().chain(&mut opened.metrics).for_each(Door::leave);
                opened.control.iter_mut().for_each(|control| control.path = None);
            }
            return Err(error);
        }
        Ok(opened)
    }

    fn open_all(
        &mut self,
        config: &ServerConfig,
        inherited: &mut Inherited,
        serving: &Serving,
    ) -> Result<(), ServeError> {
        self.tls = config.tls.as_ref().map(Tls::open).transpose()?;
        for listen in &config.listen {
            self.doors.extend(Door::open(listen, SocketRole::Nbd, inherited)?);
        }
        self.control = config.control.clone().map(|path| open_control(path, inherited)).transpose()?;
        let metrics = config.metrics.as_ref().map(|listen| Door::open(listen, SocketRole::Metrics, inherited));
        self.metrics = metrics.transpose()?.unwrap_or_default();
        for (export, path) in &config.vhost {
            self.vhost.push(vhost::Endpoint::open(path, export, serving)?);
        }
        if !config.ublk.is_empty() {
            ublk::tell_of_left();
        }
        for device in &config.ublk {
            self.ublk.push(ublk::BlockDevice::open(device, serving)?);
        }
        Ok(())
    }
}

fn open_control(path: PathBuf, inherited: &mut Inherited) -> Result<Control, ServeError> {
    let failed = || ServeError::system(path.display().to_string());
    let listener = inherited.unix(SocketRole::Control, &path).map_or_else(|| bind_unix(&path), Ok).map_err(failed())?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(failed())?;
    Ok(Control { listener, path: Some(path) })
}

#[cfg(test)]
mod tests {
    use super::may_ask;

    #[test]
    fn another_user_or_one_that_is_not_known_may_not_ask() {
        assert!(may_ask(Some(1000), 1000) && may_ask(Some(0), 1000));
        assert!(!may_ask(Some(1001), 1000) && !may_ask(None, 1000) && !may_ask(Some(1000), 0));
    }
}
