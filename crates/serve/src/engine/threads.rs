//! The engine for kernels without io_uring: sockets by `poll`, files by a few threads.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{FallocateFlags, fallocate, fdatasync};
use rustix::io::{Errno, ReadWriteFlags, preadv, pwritev2};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};

use super::{Allocation, Engine, Event, Io, Part, Stable};

/// How many files are worked on at a time.
const WORKERS: usize = 8;
/// What one `sendmsg` takes.
const MOST_VECTORS: usize = 1024;

/// Work for the threads, and what they have done.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(u64, Io)>,
    done: Vec<Event>,
    closing: bool,
}

/// Something that waits for a socket.
struct Pending {
    token: u64,
    io: Io,
    /// How much of it is sent \[bytes\].
    sent: usize,
}

/// `poll` and a few threads.
pub struct Threads {
    shared: Arc<Shared>,
    /// Rises when a thread has done something.
    bell: Arc<OwnedFd>,
    pending: Vec<Pending>,
    workers: Vec<JoinHandle<()>>,
}

impl Threads {
    /// An engine with its threads.
    ///
    /// # Errors
    /// If there can be no more threads or files.
    pub fn new() -> io::Result<Threads> {
        let shared = Arc::new(Shared::default());
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let mut engine = Threads { shared, bell, pending: Vec::new(), workers: Vec::new() };
        for nth in 0..WORKERS {
            let (shared, bell) = (engine.shared.clone(), engine.bell.clone());
            let name = format!("disk-{nth}");
            engine.workers.push(thread::Builder::new().name(name).spawn(move || labour(&shared, &bell))?);
        }
        Ok(engine)
    }

    /// What the threads have done.
    fn harvest(&mut self, events: &mut Vec<Event>) {
        events.append(&mut lock(&self.shared).done);
    }

    /// Try everything that waits for a socket.
    fn try_sockets(&mut self, ready: impl Fn(usize) -> bool, events: &mut Vec<Event>) {
        let mut at = 0;
        let mut nth = 0;
        while at < self.pending.len() {
            match if ready(nth) { attempt(&mut self.pending[at]) } else { None } {
                Some(result) => {
                    let Pending { token, io, .. } = self.pending.remove(at);
                    events.push(Event { token, io, result });
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
            Io::Poll(_) | Io::Receive(..) | Io::Send(..) => self.pending.push(Pending { token, io, sent: 0 }),
            _ => {
                lock(&self.shared).waiting.push_back((token, io));
                self.shared.work.notify_one();
            }
        }
    }

    fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        let before = events.len();
        self.harvest(events);
        // Most sends go through at once; what is then left must be waited for.
        let is_send: Vec<bool> = self.pending.iter().map(|pending| matches!(pending.io, Io::Send(..))).collect();
        self.try_sockets(|nth| is_send[nth], events);
        let timeout = if events.len() > before { Some(Duration::ZERO) } else { timeout };
        let ready = self.poll(timeout)?;
        self.try_sockets(|nth| ready[nth], events);
        self.harvest(events);
        Ok(())
    }

    fn name(&self) -> &'static str {
        "threads"
    }
}

impl Threads {
    /// Which of the pending can go on.
    fn poll(&self, timeout: Option<Duration>) -> io::Result<Vec<bool>> {
        let mut fds: Vec<PollFd<'_>> = self.pending.iter().map(|pending| watch(&pending.io)).collect();
        fds.push(PollFd::new(&self.bell, PollFlags::IN));
        let timespec = timeout
            .map(|timeout| Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) });
        match poll(&mut fds, timespec.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        if ready.pop() == Some(true) {
            let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        }
        Ok(ready)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        lock(&self.shared).closing = true;
        self.shared.work.notify_all();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

/// A thread that panicked held nothing half-changed.
fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, State> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch(io: &Io) -> PollFd<'_> {
    match io {
        Io::Send(socket, _) => PollFd::new(socket, PollFlags::OUT),
        Io::Poll(file) | Io::Receive(file, ..) => PollFd::new(file, PollFlags::IN),
        Io::Read(file, ..) | Io::Write(file, ..) | Io::Sync(file) | Io::Allocate(file, ..) => {
            PollFd::new(file, PollFlags::empty())
        }
    }
}

/// Try without blocking; `None` if it must wait on.
fn attempt(pending: &mut Pending) -> Option<Result<usize, i32>> {
    let tried = match &mut pending.io {
        Io::Poll(_) => Ok(0),
        Io::Receive(socket, buffer, from) => {
            recv(socket.as_fd(), &mut buffer.bytes_mut()[*from..], RecvFlags::DONTWAIT).map(|(count, _)| count)
        }
        Io::Send(socket, mail) => {
            let rest: Vec<IoSlice<'_>> = mail.rest(pending.sent).take(MOST_VECTORS).map(IoSlice::new).collect();
            let how = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match sendmsg(socket.as_fd(), &rest, &mut SendAncillaryBuffer::default(), how) {
                Ok(count) => {
                    pending.sent += count;
                    if pending.sent < mail.len() {
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

/// A thread's life.
fn labour(shared: &Shared, bell: &OwnedFd) {
    loop {
        let mut state = lock(shared);
        let (token, mut io) = loop {
            if let Some(next) = state.waiting.pop_front() {
                break next;
            }
            if state.closing {
                return;
            }
            state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        let result = work(&mut io).map_err(|error| error.raw_os_error());
        lock(shared).done.push(Event { token, io, result });
        let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
    }
}

fn work(io: &mut Io) -> Result<usize, Errno> {
    match io {
        Io::Read(file, offset, parts) => preadv(file.as_fd(), &mut slices_mut(parts), *offset),
        Io::Write(file, offset, parts, stable) => {
            let slices: Vec<IoSlice<'_>> =
                parts.iter().map(|part| IoSlice::new(&part.buffer.bytes()[..part.length])).collect();
            let how = if *stable == Stable::Now { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
            pwritev2(file.as_fd(), &slices, *offset, how)
        }
        Io::Sync(file) => fdatasync(file.as_fd()).map(|()| 0),
        Io::Allocate(file, what, offset, length) => {
            let how = match what {
                Allocation::Punch => FallocateFlags::PUNCH_HOLE,
                Allocation::Zero => FallocateFlags::ZERO_RANGE,
            };
            fallocate(file.as_fd(), how | FallocateFlags::KEEP_SIZE, *offset, *length).map(|()| 0)
        }
        Io::Poll(_) | Io::Receive(..) | Io::Send(..) => Err(Errno::INVAL),
    }
}

fn slices_mut(parts: &mut [Part]) -> Vec<IoSliceMut<'_>> {
    parts.iter_mut().map(|part| IoSliceMut::new(&mut part.buffer.bytes_mut()[..part.length])).collect()
}
