//! The front: one thread that accepts clients, leads their handshakes, hands them to their export's shard, answers
//! `blksched ctl`, and hears signals and the end of the captive command.

use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use blksched_nbd::{Session, Uri};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use slab::Slab;

use crate::ServeError;
use crate::access::may_open;
use crate::assemble::{Running, Serving};
use crate::captive::Captive;
use crate::config::ServerConfig;
use crate::connection::Who;
use crate::control;
use crate::handshaking::{End, HandshakingClient, Next};
use crate::listen::{Door, NewClient, bind_unix};
use crate::metrics;
use crate::notify::{State, notify};
use crate::orders::{Client, Leave, Order, Question};
use crate::reload::{Changes, Reload, changes};
use crate::tls::{self, Tls};
use crate::vhost;

/// Clients that may be in their handshakes at a time.
const MOST_GUESTS: usize = 256;
/// Questions of `blksched ctl` at a time: they have a room of their own, so that no client keeps them out.
const MOST_ASKERS: usize = 64;
/// How many are let in at a door before others are looked after.
const AT_ONCE: usize = 64;

/// The front thread's own.
pub struct Front {
    house: Serving,
    doors: Vec<Door>,
    control: Option<Control>,
    metrics: Vec<Door>,
    vhost: Vec<vhost::Door>,
    guests: Slab<HandshakingClient>,
    askers: Slab<HandshakingClient>,
    /// How many clients have ever come.
    came: vhost::Numbers,
    /// Something is to be read when a signal has come or the command has ended.
    bell: UnixStream,
    captive: Option<Captive>,
    tls: Option<Tls>,
    /// Something is to be read when a SIGHUP has come.
    reload: UnixStream,
}

/// The control socket; removed at the end.
struct Control {
    listener: UnixListener,
    path: PathBuf,
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Who is ready.
#[derive(Clone, Copy, Debug)]
enum Ready {
    Bell,
    Reload,
    Door(usize),
    Control,
    Metrics(usize),
    HandshakingClient(usize),
    Asker(usize),
}

impl Front {
    /// Open the doors, and run the captive command.
    ///
    /// # Errors
    /// If a socket cannot be opened.
    pub fn open(config: &ServerConfig, house: Serving, say: &mut dyn FnMut(&str)) -> Result<Front, ServeError> {
        let (bell, ring) = UnixStream::pair().map_err(ServeError::system("making a pair of sockets"))?;
        let heard = ServeError::system("listening for signals");
        let signals = [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT];
        let register = |signal| ring.try_clone().and_then(|end| signal_hook::low_level::pipe::register(signal, end));
        signals.iter().try_for_each(|&signal| register(signal).map(drop)).map_err(heard)?;
        let (reload, hangs_up) = UnixStream::pair().map_err(ServeError::system("making a pair of sockets"))?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGHUP, hangs_up)
            .map_err(ServeError::system("listening for signals"))?;
        let mut doors = Vec::new();
        for listen in &config.listen {
            doors.extend(Door::open(listen)?);
        }
        let control = config.control.clone().map(open_control).transpose()?;
        let metrics = config.metrics.as_ref().map_or(Ok(Vec::new()), Door::open)?;
        let names = || house.exports.iter().map(|export| export.name.as_str());
        let tls = config.tls.as_ref().map(Tls::open).transpose()?;
        let first = || doors.first().map(|door| (door, door.tls(tls.is_some())));
        let uris: Vec<Uri> = names().filter_map(|name| first().and_then(|(door, tls)| door.uri(name, tls))).collect();
        for (export, uri) in house.exports.iter().zip(&uris) {
            say(&format!("{uri}  ({} bytes)", export.size));
        }
        let came = vhost::Numbers::default();
        let open = |(export, path): &(String, PathBuf)| vhost::Door::open(path, export, &house, &came);
        let vhost = config.vhost.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        vhost.iter().for_each(|door| say(&door.says()));
        let path = control.as_ref().and_then(|control| control.path.to_str());
        let captive = config.run.as_ref().map(|command| Captive::run(command, &uris, path, ring));
        let captive = captive.transpose().map_err(ServeError::system("running the command"))?;
        Ok(Front {
            house,
            doors,
            control,
            metrics,
            vhost,
            guests: Slab::new(),
            askers: Slab::new(),
            came,
            bell,
            captive,
            tls,
            reload,
        })
    }

    /// Until a signal comes, or the captive command ends; answers the exit code.
    ///
    /// # Errors
    /// If a shard has failed.
    pub fn run(mut self, mut config: ServerConfig, say: &mut dyn FnMut(&str)) -> Result<u8, ServeError> {
        notify(State::Ready);
        let exit = loop {
            for ready in self.wait()? {
                match ready {
                    Ready::Bell => {}
                    Ready::Reload => self.reload(&mut config),
                    Ready::Door(at) => self.open_door(at, &config),
                    Ready::Control => self.open_control(&config),
                    Ready::Metrics(at) => self.open_metrics(at, &config),
                    Ready::HandshakingClient(at) => self.serve_guest(at, &config),
                    Ready::Asker(at) => self.serve_asker(at, &mut config),
                }
            }
            let now = Instant::now();
            self.guests.retain(|_, guest| guest.by > now);
            self.askers.retain(|_, asker| asker.by > now);
            if let Some(exit) = self.is_over()? {
                break exit;
            }
        };
        notify(State::Stopping);
        if exit.is_none() {
            say("stopping: what is under way is served");
        }
        self.stop()?;
        Ok(exit.unwrap_or(0))
    }

    fn wait(&self) -> Result<Vec<Ready>, ServeError> {
        let mut who = vec![Ready::Bell, Ready::Reload];
        let mut fds = vec![PollFd::new(&self.bell, PollFlags::IN), PollFd::new(&self.reload, PollFlags::IN)];
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
            let events = if guest.sends() { PollFlags::OUT } else { PollFlags::IN };
            fds.push(PollFd::new(&guest.socket, events));
        }
        // A thread that has failed rings no bell: it is looked for now and then.
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
                Ok(Some(knock)) => {
                    make_room(&mut self.guests, MOST_GUESTS);
                    let tls = self.doors[at].tls(self.tls.is_some());
                    let guest = self.guests.insert(HandshakingClient::nbd(knock, by, tls));
                    self.serve_guest(guest, config);
                }
                Ok(None) => return,
                Err(error) => {
                    // Out of files: whoever holds them lets go sooner or later.
                    tracing::warn!(%error, "a client could not come in");
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
            && let Ok(knock) = NewClient::unix(stream)
            && may_ask(knock.uid, rustix::process::geteuid().as_raw())
        {
            make_room(&mut self.askers, MOST_ASKERS);
            self.askers.insert(HandshakingClient::control(knock, by));
        }
    }

    fn open_metrics(&mut self, at: usize, config: &ServerConfig) {
        let by = Instant::now() + Duration::from_nanos(config.patience.as_ns());
        if let Ok(Some(knock)) = self.metrics[at].accept() {
            make_room(&mut self.askers, MOST_ASKERS);
            self.askers.insert(HandshakingClient::metrics(knock, by));
        }
    }

    /// A SIGHUP (a terminal that closes sends one too) ends nothing: the configuration is read again.
    fn reload(&mut self, config: &mut ServerConfig) {
        let _ = rustix::net::recv(self.reload.as_fd(), &mut [0; 64], rustix::net::RecvFlags::DONTWAIT);
        let Some(Reload(again)) = &config.reload else {
            tracing::info!("SIGHUP: there is no configuration file to read again");
            return;
        };
        notify(State::Reloading);
        match again() {
            Err(why) => tracing::error!(why, "reload: nothing is changed"),
            Ok(new) => self.change(config, new),
        }
        notify(State::Ready);
    }

    /// What can be changed is; the rest is told.
    fn change(&mut self, config: &mut ServerConfig, new: ServerConfig) {
        let Changes { now, come, go, later } = changes(config, &new);
        for name in &go {
            let question = Question::Remove(name.clone(), Leave::IfUnused);
            self.house.change(&question, config);
        }
        for export in &come {
            match self.house.add(export.clone(), config) {
                Ok(said) => tracing::info!(export = export.name, said, "reload: added"),
                Err(why) => tracing::error!(export = export.name, why, "reload: not added"),
            }
        }
        for (export, question) in &now {
            let place = self.house.find(export).map(|at| self.house.places[at]);
            let Some(shard) = place.map(|place| &self.house.shards[place.shard]) else { continue };
            match control::of_shard(shard, question.clone()) {
                Ok(_) => tracing::info!(?question, "reload: changed"),
                Err(why) => tracing::error!(?question, why, "reload: not changed"),
            }
        }
        for what in &later {
            tracing::warn!(what, "reload: takes a restart");
        }
        let (changed, came, went) = (now.len(), come.len(), go.len());
        tracing::info!(changed, came, went, after_restart = later.len(), "reload: done");
        self.vhost.iter().for_each(|door| door.show(&self.house));
        for export in &mut config.exports {
            if let Some(again) = new.exports.iter().find(|again| again.name == export.name) {
                export.share = again.share;
            }
        }
    }

    fn serve_asker(&mut self, at: usize, config: &mut ServerConfig) {
        let Some(asker) = self.askers.get_mut(at) else { return };
        let mut next = asker.go_on(&[], &|_| false, None);
        if let Next::Asks(question) = &next {
            let house = &mut self.house;
            asker.answer(&match asker.wants_figures() {
                true => metrics::http(question, || control::figures(&house.shards)),
                false => control::answer(question, house, config),
            });
            next = asker.go_on(&[], &|_| false, None);
            self.vhost.iter().for_each(|door| door.show(&self.house));
        }
        if let Next::Ends(_) = next {
            self.askers.remove(at);
        }
    }

    fn serve_guest(&mut self, at: usize, config: &ServerConfig) {
        let Some(guest) = self.guests.get_mut(at) else { return };
        let (exports, open) = (&self.house.exports, &self.house.open);
        let (rules, uid, names) = (&config.rules, guest.uid, guest.names());
        let may = |export: usize| open[export] && may_open(rules, uid, &names, &exports[export].name);
        match guest.go_on(exports, &may, self.tls.as_ref()) {
            Next::Wait | Next::Asks(_) => {}
            Next::Ends(End::Close) => drop(self.guests.remove(at)),
            Next::Ends(End::Enter(session)) => self.hand_over(at, session),
        }
    }

    /// A client goes to the shard of its export. Engines wait for sockets themselves, so these may block.
    fn hand_over(&mut self, at: usize, session: Session) {
        let guest = self.guests.remove(at);
        let number = self.came.fetch_add(1, Ordering::Relaxed) + 1;
        let names = guest.names();
        let peer = match names.first() {
            Some(name) => format!("{},cert={name}", guest.peer).into(),
            None => guest.peer.clone(),
        };
        let who = Who { number, peer };
        let (socket, ahead, secure) = guest.into_rest();
        let socket = match secure {
            None => Ok(socket),
            Some(session) => tls::carry(*session, socket, number),
        };
        let place = self.house.places[session.export];
        if let Ok(socket) = socket
            && rustix::io::ioctl_fionbio(&socket, false).is_ok()
        {
            let session = Session { export: place.tenant, ..session };
            self.house.shards[place.shard].desk.order(Order::Attach(Client { who, socket, session, ahead }));
        }
    }

    /// Has somebody said that it is enough? With the exit code, if there is one.
    fn is_over(&mut self) -> Result<Option<Option<u8>>, ServeError> {
        if let Some(code) = self.captive.as_mut().and_then(Captive::ended) {
            return Ok(Some(Some(code)));
        }
        if self.house.shards.iter().any(|shard| shard.thread.is_finished()) {
            self.stop()?;
            return Err(ServeError::Config("a disk's thread has ended".to_owned()));
        }
        let mut byte = [0];
        let read = rustix::net::recv(self.bell.as_fd(), &mut byte, rustix::net::RecvFlags::DONTWAIT);
        Ok(read.is_ok_and(|(count, _)| count > 0).then_some(None))
    }

    /// No more clients; what is under way is served.
    fn stop(&mut self) -> Result<(), ServeError> {
        self.doors.clear();
        self.control = None;
        self.metrics.clear();
        self.vhost.clear();
        self.guests.clear();
        self.askers.clear();
        let shards: Vec<Running> = self.house.shards.drain(..).collect();
        for shard in &shards {
            shard.desk.order(Order::Stop);
        }
        for Running { name, thread, .. } in shards {
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err(ServeError::Config(format!("disk {name}: its thread panicked"))))?;
        }
        Ok(())
    }
}

/// There is room for one more: of too many, who has said nothing goes first, and of those who has been here longest.
fn make_room(guests: &mut Slab<HandshakingClient>, most: usize) {
    if guests.len() < most {
        return;
    }
    let oldest = guests.iter().min_by_key(|(_, guest)| (guest.heard_at, guest.came_at)).map(|(at, _)| at);
    if let Some(at) = oldest {
        let HandshakingClient { peer, .. } = guests.remove(at);
        tracing::debug!(%peer, "dropped before its handshake was over: others came");
    }
}

/// Only the server's user and root may ask. The socket's mode says so too, but only from a moment after it was made.
fn may_ask(uid: Option<u32>, ours: u32) -> bool {
    uid.is_some_and(|uid| uid == ours || uid == 0)
}

fn open_control(path: PathBuf) -> Result<Control, ServeError> {
    let failed = || ServeError::system(path.display().to_string());
    let listener = bind_unix(&path).map_err(failed())?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(failed())?;
    Ok(Control { listener, path })
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
