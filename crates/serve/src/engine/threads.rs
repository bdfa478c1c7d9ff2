//! The engine for kernels without io_uring: sockets by `poll`, files by a few threads.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};

use super::workers::Workers;
use super::{Engine, EngineEvent, HURRIED, Io};

/// How many file operations run at once.
const WORKERS: usize = 8;
/// The most vectors of one `sendmsg`.
const MOST_VECTORS: usize = 1024;

/// An operation that waits for a socket.
struct Pending {
    token: u64,
    io: Io,
    /// How much of it is sent \[bytes\].
    sent: usize,
}

/// `poll` and a few threads.
pub struct Threads {
    workers: Workers,
    pending: Vec<Pending>,
    /// Receives without data that end.
    hurried: Vec<Pending>,
}

impl Threads {
    /// An engine with its threads.
    ///
    /// # Errors
    /// If there can be no more threads or files.
    pub fn new() -> io::Result<Threads> {
        Ok(Threads { workers: Workers::new(WORKERS)?, pending: Vec::new(), hurried: Vec::new() })
    }

    /// Tries everything that waits for a socket.
    fn try_sockets(&mut self, ready: impl Fn(usize) -> bool, events: &mut Vec<EngineEvent>) {
        let mut at = 0;
        let mut nth = 0;
        while at < self.pending.len() {
            match if ready(nth) { attempt(&mut self.pending[at]) } else { None } {
                Some(result) => {
                    let Pending { token, io, .. } = self.pending.remove(at);
                    events.push(EngineEvent { token, io, result });
                }
                None => at += 1,
            }
            nth += 1;
        }
    }
}

impl Engine for Threads {
    fn submit(&mut self, token: u64, io: Io) {
        match io {
            Io::Poll(_) | Io::Hangup(_) | Io::Receive(..) | Io::Send(..) => {
                self.pending.push(Pending { token, io, sent: 0 })
            }
            _ => self.workers.give(token, io),
        }
    }

    fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<EngineEvent>) -> io::Result<()> {
        let before = events.len();
        let nothing = |Pending { token, io, .. }: Pending| EngineEvent { token, io, result: Err(HURRIED) };
        events.extend(self.hurried.drain(..).map(nothing));
        self.workers.harvest(events);
        // Most sends complete at once; the rest must be waited for.
        let is_send: Vec<bool> = self.pending.iter().map(|pending| matches!(pending.io, Io::Send(..))).collect();
        self.try_sockets(|nth| is_send[nth], events);
        let timeout = if events.len() > before { Some(Duration::ZERO) } else { timeout };
        let ready = self.poll(timeout)?;
        self.try_sockets(|nth| ready[nth], events);
        self.workers.harvest(events);
        Ok(())
    }

    fn hurry(&mut self, token: u64) {
        let is_it = |pending: &Pending| pending.token == token && matches!(pending.io, Io::Receive(..));
        self.hurried.extend(self.pending.extract_if(.., |pending| is_it(pending)));
    }

    fn unsent(&self, socket: &OwnedFd) -> Option<u32> {
        super::uring::unsent(socket)
    }

    fn name(&self) -> &'static str {
        "threads"
    }
}

impl Threads {
    /// Which of the pending operations can continue.
    fn poll(&self, timeout: Option<Duration>) -> io::Result<Vec<bool>> {
        let mut fds: Vec<PollFd<'_>> = self.pending.iter().map(|pending| watch(&pending.io)).collect();
        fds.push(PollFd::new(self.workers.wakeup(), PollFlags::IN));
        let timespec = timeout
            .map(|timeout| Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) });
        match poll(&mut fds, timespec.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        if ready.pop() == Some(true) {
            self.workers.hush();
        }
        Ok(ready)
    }
}

fn watch(io: &Io) -> PollFd<'_> {
    match io {
        Io::Send(socket, _) => PollFd::new(socket, PollFlags::OUT),
        Io::Poll(file) | Io::Receive(file, ..) => PollFd::new(file, PollFlags::IN),
        // What poll reports without being asked: a hangup.
        Io::Hangup(socket) => PollFd::new(socket, PollFlags::empty()),
        Io::Read(file, ..) | Io::Write(file, ..) | Io::Sync(file) | Io::Allocate(file, ..) | Io::Extents(file, ..) => {
            PollFd::new(file, PollFlags::empty())
        }
    }
}

/// Tries without blocking; `None` if it must wait on.
fn attempt(pending: &mut Pending) -> Option<Result<usize, i32>> {
    let tried = match &mut pending.io {
        Io::Poll(_) | Io::Hangup(_) => Ok(0),
        Io::Receive(socket, buffer, fill) => {
            let free = &mut buffer.bytes_mut()[fill.from..fill.to];
            recv(socket.as_fd(), free, RecvFlags::DONTWAIT).map(|(count, _)| count)
        }
        Io::Send(socket, tx) => {
            let rest: Vec<IoSlice<'_>> = tx.rest(pending.sent).take(MOST_VECTORS).map(IoSlice::new).collect();
            let how = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match sendmsg(socket.as_fd(), &rest, &mut SendAncillaryBuffer::default(), how) {
                Ok(count) => {
                    pending.sent += count;
                    if pending.sent < tx.len() {
                        return None;
                    }
                    Ok(pending.sent)
                }
                Err(error) => Err(error),
            }
        }
        _ => Err(Errno::INVAL),
    };
    match tried {
        Err(Errno::AGAIN | Errno::INTR) => None,
        tried => Some(tried.map_err(|error| error.raw_os_error())),
    }
}
