//! The front: one thread that accepts clients, leads their handshakes, hands them to their export's shard, answers
//! `blksched ctl`, and hears signals and the end of the captive command.

use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use blksched_nbd::{Session, Uri};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use slab::Slab;

use crate::ServeError;
use crate::access::may_open;
use crate::assemble::{House, Running};
use crate::captive::Captive;
use crate::config::ServerConfig;
use crate::control;
use crate::handshaking::{End, Guest, Next};
use crate::listen::{Door, Knock, bind_unix};
use crate::orders::{Client, Order};

/// Clients that may be in their handshakes at a time.
const MOST_GUESTS: usize = 256;

/// The front thread's own.
pub struct Front {
    house: House,
    doors: Vec<Door>,
    control: Option<Control>,
    guests: Slab<Guest>,
    /// Something is to be read when a signal has come or the command has ended.
    bell: UnixStream,
    captive: Option<Captive>,
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
    Door(usize),
    Control,
    Guest(usize),
}

impl Front {
    /// Open the doors, and run the captive command.
    ///
    /// # Errors
    /// If a socket cannot be opened.
    pub fn open(config: &ServerConfig, house: House, say: &mut dyn FnMut(&str)) -> Result<Front, ServeError> {
        let (bell, ring) = UnixStream::pair().map_err(ServeError::system("making a pair of sockets"))?;
        let heard = ServeError::system("listening for signals");
        let signals = [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT];
        let register = |signal| ring.try_clone().and_then(|end| signal_hook::low_level::pipe::register(signal, end));
        signals.iter().try_for_each(|&signal| register(signal).map(drop)).map_err(heard)?;
        let mut doors = Vec::new();
        for listen in &config.listen {
            doors.extend(Door::open(listen)?);
        }
        let control = config.control.clone().map(open_control).transpose()?;
        let names = || house.exports.iter().map(|export| export.name.as_str());
        let uris: Vec<Uri> = names().filter_map(|name| doors.first()?.uri(name)).collect();
        for (export, uri) in house.exports.iter().zip(&uris) {
            say(&format!("{uri}  ({} bytes)", export.size));
        }
        let path = control.as_ref().and_then(|control| control.path.to_str());
        let captive = config.run.as_ref().map(|command| Captive::run(command, &uris, path, ring));
        let captive = captive.transpose().map_err(ServeError::system("running the command"))?;
        Ok(Front { house, doors, control, guests: Slab::new(), bell, captive })
    }

    /// Until a signal comes, or the captive command ends; answers the exit code.
    ///
    /// # Errors
    /// If a shard has failed.
    pub fn run(mut self, config: &ServerConfig, say: &mut dyn FnMut(&str)) -> Result<u8, ServeError> {
        let exit = loop {
            for ready in self.wait()? {
                match ready {
                    Ready::Bell => {}
                    Ready::Door(at) => self.open_door(at, config),
                    Ready::Control => self.open_control(config),
                    Ready::Guest(at) => self.serve_guest(at, config),
                }
            }
            self.guests.retain(|_, guest| guest.by > Instant::now());
            if let Some(exit) = self.is_over()? {
                break exit;
            }
        };
        if exit.is_none() {
            say("stopping: what is under way is served");
        }
        self.stop()?;
        Ok(exit.unwrap_or(0))
    }

    fn wait(&self) -> Result<Vec<Ready>, ServeError> {
        let mut who = vec![Ready::Bell];
        let mut fds = vec![PollFd::new(&self.bell, PollFlags::IN)];
        for (at, door) in self.doors.iter().enumerate().filter(|_| self.guests.len() < MOST_GUESTS) {
            who.push(Ready::Door(at));
            fds.push(PollFd::from_borrowed_fd(door.fd(), PollFlags::IN));
        }
        if let Some(control) = self.control.as_ref().filter(|_| self.guests.len() < MOST_GUESTS) {
            who.push(Ready::Control);
            fds.push(PollFd::new(&control.listener, PollFlags::IN));
        }
        for (at, guest) in &self.guests {
            who.push(Ready::Guest(at));
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
        match self.doors[at].accept() {
            Ok(Some(Knock { socket, uid })) => {
                let guest = self.guests.insert(Guest::nbd(socket, uid, by));
                self.serve_guest(guest, config);
            }
            Ok(None) => {}
            Err(error) => {
                // Out of files: whoever holds them lets go sooner or later.
                tracing::warn!(%error, "a client could not come in");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    fn open_control(&mut self, config: &ServerConfig) {
        let Some(control) = &self.control else { return };
        let by = Instant::now() + Duration::from_nanos(config.patience.as_ns());
        if let Ok((stream, _)) = control.listener.accept()
            && let Ok(Knock { socket, uid }) = Knock::unix(stream)
            && may_ask(uid, rustix::process::geteuid().as_raw())
        {
            self.guests.insert(Guest::control(socket, uid, by));
        }
    }

    fn serve_guest(&mut self, at: usize, config: &ServerConfig) {
        let Some(guest) = self.guests.get_mut(at) else { return };
        let exports = &self.house.exports;
        let (rules, uid) = (&config.rules, guest.uid);
        let may = |export: usize| may_open(rules, uid, &exports[export].name);
        match guest.go_on(exports, &may) {
            Next::Wait => {}
            Next::Ends(End::Close) => drop(self.guests.remove(at)),
            Next::Ends(End::Enter(session)) => self.hand_over(at, session),
            Next::Asks(question) => {
                guest.answer(&control::answer(&question, &self.house.shards));
                if guest.go_on(exports, &may) == Next::Ends(End::Close) {
                    self.guests.remove(at);
                }
            }
        }
    }

    /// A client goes to the shard of its export. Engines wait for sockets themselves, so these may block.
    fn hand_over(&mut self, at: usize, session: Session) {
        let (socket, ahead) = self.guests.remove(at).into_rest();
        let place = self.house.places[session.export];
        if rustix::io::ioctl_fionbio(&socket, false).is_ok() {
            let session = Session { export: place.tenant, ..session };
            self.house.shards[place.shard].desk.order(Order::Attach(Client { socket, session, ahead }));
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
        self.guests.clear();
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
