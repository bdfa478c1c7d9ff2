//! Threads for blocking calls: files where there is no io_uring, and calls for which io_uring has no operation.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{FallocateFlags, fallocate, fdatasync};
use rustix::io::{Errno, ReadWriteFlags, preadv, pwritev2};

use super::{Allocation, EngineEvent, Io, Stable, TransferPart};
use crate::backend::file_extents;

/// Work for the threads, and completed work.
#[derive(Default)]
struct Shared {
    state: Mutex<WorkersState>,
    work: Condvar,
}

#[derive(Default)]
struct WorkersState {
    waiting: VecDeque<(u64, Io)>,
    done: Vec<EngineEvent>,
    closing: bool,
}

/// Some threads, each with one operation at a time.
pub struct Workers {
    shared: Arc<Shared>,
    /// An eventfd that is signalled when a thread has completed something.
    wakeup: Arc<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// This many threads.
    ///
    /// # Errors
    /// If there can be no more threads or files.
    pub fn new(count: usize) -> io::Result<Workers> {
        let wakeup = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let mut workers = Workers { shared: Arc::default(), wakeup, threads: Vec::new() };
        for nth in 0..count {
            let (shared, wakeup) = (workers.shared.clone(), workers.wakeup.clone());
            let name = format!("disk-{nth}");
            workers.threads.push(thread::Builder::new().name(name).spawn(move || work_loop(&shared, &wakeup))?);
        }
        Ok(workers)
    }

    /// Becomes readable when something has completed.
    pub fn wakeup(&self) -> &Arc<OwnedFd> {
        &self.wakeup
    }

    /// Gives the threads an operation on a file.
    pub fn give(&self, token: u64, io: Io) {
        lock(&self.shared).waiting.push_back((token, io));
        self.shared.work.notify_one();
    }

    /// Takes what they have completed.
    pub fn harvest(&self, events: &mut Vec<EngineEvent>) {
        events.append(&mut lock(&self.shared).done);
    }

    /// Resets the wake-up.
    pub fn hush(&self) {
        let _ = rustix::io::read(&self.wakeup, &mut [0; 8]);
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        lock(&self.shared).closing = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A thread that panicked left nothing half changed.
fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, WorkersState> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The loop of a thread.
fn work_loop(shared: &Shared, wakeup: &OwnedFd) {
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
        lock(shared).done.push(EngineEvent { token, io, result });
        let _ = rustix::io::write(wakeup, &1u64.to_ne_bytes());
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
        Io::Extents(file, question, extents) => {
            *extents = file_extents(file, question.start, question.length, question.most);
            Ok(0)
        }
        Io::Poll(_) | Io::Hangup(_) | Io::Receive(..) | Io::Send(..) => Err(Errno::INVAL),
    }
}

fn slices_mut(parts: &mut [TransferPart]) -> Vec<IoSliceMut<'_>> {
    parts.iter_mut().map(|part| IoSliceMut::new(&mut part.buffer.bytes_mut()[..part.length])).collect()
}
