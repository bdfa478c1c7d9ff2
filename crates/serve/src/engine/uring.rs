//! The io_uring engine: submit and wait in one system call. With `ublk/ring.rs` and `vhost/guarded.rs` the only file of
//! the project with `unsafe` code.
//!
//! Why it is sound: the kernel is given addresses of memory that an [`RingEntry`] owns (buffers, headers, io vectors,
//! all on the heap, so that they stay while the entry moves). An entry leaves `entries` only when its completion has
//! come, so nothing is freed, read or written here while the kernel may use it. An engine that is dropped with
//! operations in flight leaks them on purpose. Memory that is registered with the ring stays until the ring has let go
//! of it (`registered`).
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use io_uring::types::{Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, opcode, squeue};
use slab::Slab;

use super::registered::{MOST, Registered};
use super::workers::Workers;
use super::{Allocation, Engine, EngineEvent, Io, Stable, TransferPart, Until};
use crate::tx_queue::TxQueue;

/// The token of the engine's own poll; no other's, since those count from 0.
const ASIDE: u64 = u64::MAX;

/// What the kernel gets besides buffers: a message and its vectors. Boxed, because the kernel keeps its address.
struct MessageVectors {
    message: libc::msghdr,
    vectors: Vec<libc::iovec>,
}

/// MessageVectors keeps its box, since the next message takes it over.
#[allow(clippy::vec_box)]
type Idle = Vec<Box<MessageVectors>>;

/// One operation in flight.
struct RingEntry {
    token: u64,
    io: Io,
    message: Option<Box<MessageVectors>>,
}

/// An io_uring and its operations in flight.
pub struct Uring {
    ring: IoUring,
    entries: Slab<RingEntry>,
    /// MessageVectors to use again.
    idle: Idle,
    /// The registered buffers; `None` if the kernel does not support them.
    registered: Option<Registered>,
    used: BufferUse,
    /// For operations that the ring does not have.
    aside: Workers,
}

/// Statistics of transfers.
#[derive(Clone, Copy, Debug, Default)]
struct BufferUse {
    /// Transfers with a registered buffer.
    fixed: u64,
    /// Other transfers.
    plain: u64,
}

// SAFETY: `MessageVectors` points into memory that the same entry owns; nothing here is tied to a thread. (The ring is
// made by the thread that uses it: `SINGLE_ISSUER`.)
unsafe impl Send for Uring {}

impl Uring {
    /// A ring with room for `operations` to be submitted at once, if this kernel has the required features.
    ///
    /// # Errors
    /// If there is no io_uring, or it lacks an operation.
    pub fn new(operations: u32) -> io::Result<Uring> {
        let entries = operations.clamp(64, 4096).next_power_of_two();
        // Completions wait until they are asked for (6.1), or at least interrupt no thread (5.19).
        let lazy = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries);
        let ring = lazy.or_else(|_| IoUring::builder().setup_coop_taskrun().build(entries));
        let ring = ring.or_else(|_| IoUring::new(entries))?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        let needed = [
            opcode::PollAdd::CODE,
            opcode::AsyncCancel::CODE,
            opcode::Recv::CODE,
            opcode::SendMsg::CODE,
            opcode::Read::CODE,
            opcode::Write::CODE,
            opcode::Readv::CODE,
            opcode::Writev::CODE,
            opcode::Fsync::CODE,
            opcode::Fallocate::CODE,
        ];
        if !ring.params().is_feature_ext_arg() || needed.iter().any(|&code| !probe.is_supported(code)) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "io_uring needs Linux 5.11 or later"));
        }
        let registered = has_fixed(&ring, &probe).map(|()| Registered::new(MOST));
        let registered = registered.inspect_err(|error| tracing::info!(%error, "no registered buffers here")).ok();
        let (entries, idle, used, aside) = (Slab::new(), Vec::new(), BufferUse::default(), Workers::new(1)?);
        let mut uring = Uring { ring, entries, idle, registered, used, aside };
        uring.listen_aside();
        Ok(uring)
    }

    /// Polls for what the threads have completed.
    fn listen_aside(&mut self) {
        let wakeup = self.aside.wakeup().clone();
        self.submit(ASIDE, Io::Poll(wakeup));
    }

    /// Registers the buffer of a transfer of one part, if the kernel accepts it; returns its index.
    fn register(&mut self, io: &mut Io) -> Option<u16> {
        let (Io::Read(_, _, parts) | Io::Write(_, _, parts, _)) = io else { return None };
        let mut index = None;
        if let ([part], Some(registered)) = (&mut parts[..], &mut self.registered) {
            let submitter = self.ring.submitter();
            index = registered.index_of(&mut part.buffer, |index, bytes| {
                let base = if bytes.is_empty() { core::ptr::null_mut() } else { bytes.as_mut_ptr().cast() };
                let vector = libc::iovec { iov_base: base, iov_len: bytes.len() };
                // SAFETY: `Registered` keeps memory until it has been replaced here by none.
                unsafe { submitter.register_buffers_update(u32::from(index), &[vector], None) }
            });
        }
        match index {
            Some(_) => self.used.fixed += 1,
            None => self.used.plain += 1,
        }
        index
    }

    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: what the entry points to is owned by `self.entries` until its completion.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            // The queue is full: submit its entries. An error shows again in `wait`.
            if self.ring.submit().is_err() {
                std::thread::yield_now();
            }
        }
    }

    fn collect(&mut self, events: &mut Vec<EngineEvent>) {
        let mut heard = false;
        for completion in self.ring.completion() {
            let Some(RingEntry { token, io, message }) = self.entries.try_remove(completion.user_data() as usize)
            else {
                continue;
            };
            self.idle.extend(message);
            let result = completion.result();
            let result = if result < 0 { Err(-result) } else { Ok(result as usize) };
            match token {
                ASIDE => heard = true,
                _ => events.push(EngineEvent { token, io, result }),
            }
        }
        if heard {
            self.aside.hush();
            self.aside.harvest(events);
            self.listen_aside();
        }
    }
}

impl Engine for Uring {
    fn submit(&mut self, token: u64, mut io: Io) {
        if matches!(io, Io::Extents(..)) {
            return self.aside.give(token, io);
        }
        let index = self.register(&mut io);
        let slot = self.entries.insert(RingEntry { token, io, message: None });
        let idle = &mut self.idle;
        let entry = describe(&mut self.entries[slot], index, || idle.pop());
        self.push(&entry.user_data(slot as u64));
    }

    fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<EngineEvent>) -> io::Result<()> {
        let waited = match timeout {
            None => self.ring.submit_and_wait(1),
            Some(timeout) => {
                let timespec = Timespec::from(timeout);
                self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timespec))
            }
        };
        self.collect(events);
        match waited {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // Time is up; a signal arrived; completions must be collected first.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }

    fn hurry(&mut self, token: u64) {
        let is_it = |entry: &RingEntry| entry.token == token && matches!(entry.io, Io::Receive(..));
        let Some((slot, _)) = self.entries.iter().find(|(_, entry)| is_it(entry)) else { return };
        self.push(&opcode::AsyncCancel::new(slot as u64).build().user_data(ASIDE));
    }

    fn unsent(&self, socket: &OwnedFd) -> Option<u32> {
        unsent(socket)
    }

    fn name(&self) -> &'static str {
        "io_uring"
    }

    fn stat(&self) -> String {
        let buffers = self.registered.as_ref().map_or(0, Registered::taken);
        format!("registered_buffers={buffers} fixed_ios={} plain_ios={}", self.used.fixed, self.used.plain)
    }
}

/// How much of what was sent on a socket its peer has not taken \[bytes\] (SIOCOUTQ).
pub fn unsent(socket: &OwnedFd) -> Option<u32> {
    let mut count: libc::c_int = 0;
    // SAFETY: the kernel writes one `int` to `count`, which lives on.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut count) };
    if result == 0 { u32::try_from(count).ok() } else { None }
}

/// Whether this kernel has changeable tables of registered buffers (5.19). If so, this ring gets one.
fn has_fixed(ring: &IoUring, probe: &Probe) -> io::Result<()> {
    let needed = [opcode::ReadFixed::CODE, opcode::WriteFixed::CODE];
    if needed.iter().any(|&code| !probe.is_supported(code)) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    ring.submitter().register_buffers_sparse(u32::from(MOST))
}

impl Drop for Uring {
    fn drop(&mut self) {
        // The kernel may still use their memory.
        let entries = core::mem::take(&mut self.entries).into_iter().map(|(_, entry)| entry);
        entries.filter(|entry| !matches!(entry.io, Io::Poll(_) | Io::Hangup(_))).for_each(core::mem::forget);
    }
}

/// The operation in the form for the kernel, a transfer with the registered buffer `index` if there is one. It points
/// only into what `entry` owns on the heap.
fn describe(
    entry: &mut RingEntry,
    index: Option<u16>,
    spare: impl FnOnce() -> Option<Box<MessageVectors>>,
) -> squeue::Entry {
    let fd = |file: &OwnedFd| Fd(file.as_raw_fd());
    match &mut entry.io {
        Io::Poll(file) => opcode::PollAdd::new(fd(file), libc::POLLIN as u32).build(),
        Io::Hangup(file) => opcode::PollAdd::new(fd(file), 0).build(),
        Io::Receive(file, buffer, fill) => {
            let free = &mut buffer.bytes_mut()[fill.from..fill.to];
            let all = if fill.until == Until::Full { libc::MSG_WAITALL } else { 0 };
            opcode::Recv::new(fd(file), free.as_mut_ptr(), free.len() as u32).flags(all).build()
        }
        Io::Send(file, tx) => {
            let message = entry.message.insert(with_vectors(spare, |vectors| gather(tx, vectors)));
            let all = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
            opcode::SendMsg::new(fd(file), &raw const message.message).flags(all as u32).build()
        }
        Io::Read(file, offset, parts) => match &mut parts[..] {
            [TransferPart { buffer, length, .. }] => {
                let (start, length) = (buffer.bytes_mut().as_mut_ptr(), *length as u32);
                match index {
                    Some(index) => opcode::ReadFixed::new(fd(file), start, length, index).offset(*offset).build(),
                    None => opcode::Read::new(fd(file), start, length).offset(*offset).build(),
                }
            }
            parts => {
                let message = entry.message.insert(with_vectors(spare, |vectors| scatter(parts, vectors)));
                opcode::Readv::new(fd(file), message.vectors.as_ptr(), message.vectors.len() as u32)
                    .offset(*offset)
                    .build()
            }
        },
        Io::Write(file, offset, parts, stable) => {
            let sync = if *stable == Stable::Now { libc::RWF_DSYNC } else { 0 };
            if let [TransferPart { buffer, length, .. }] = &parts[..] {
                let (start, length) = (buffer.bytes().as_ptr(), *length as u32);
                return match index {
                    Some(index) => {
                        opcode::WriteFixed::new(fd(file), start, length, index).offset(*offset).rw_flags(sync).build()
                    }
                    None => opcode::Write::new(fd(file), start, length).offset(*offset).rw_flags(sync).build(),
                };
            }
            let message = entry.message.insert(with_vectors(spare, |vectors| scatter(parts, vectors)));
            opcode::Writev::new(fd(file), message.vectors.as_ptr(), message.vectors.len() as u32)
                .offset(*offset)
                .rw_flags(sync)
                .build()
        }
        Io::Sync(file) => opcode::Fsync::new(fd(file)).flags(FsyncFlags::DATASYNC).build(),
        Io::Allocate(file, what, offset, length) => {
            let mode = libc::FALLOC_FL_KEEP_SIZE
                | match what {
                    Allocation::Punch => libc::FALLOC_FL_PUNCH_HOLE,
                    Allocation::Zero => libc::FALLOC_FL_ZERO_RANGE,
                };
            opcode::Fallocate::new(fd(file), *length).offset(*offset).mode(mode).build()
        }
        Io::Extents(..) => unreachable!("no operation of the ring"),
    }
}

/// MessageVectors whose message names its vectors.
fn with_vectors(
    spare: impl FnOnce() -> Option<Box<MessageVectors>>,
    fill: impl FnOnce(&mut Vec<libc::iovec>),
) -> Box<MessageVectors> {
    let mut message = spare().unwrap_or_else(|| {
        // SAFETY: a message of zeroes is a message without address, vectors and control data.
        Box::new(MessageVectors { message: unsafe { core::mem::zeroed() }, vectors: Vec::new() })
    });
    message.vectors.clear();
    fill(&mut message.vectors);
    message.message.msg_iov = message.vectors.as_mut_ptr();
    message.message.msg_iovlen = message.vectors.len() as _;
    message
}

fn gather(tx: &TxQueue, vectors: &mut Vec<libc::iovec>) {
    let vector = |bytes: &[u8]| libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    vectors.extend(tx.rest(0).map(vector));
}

fn scatter(parts: &mut [TransferPart], vectors: &mut Vec<libc::iovec>) {
    vectors.extend(parts.iter_mut().map(|part| {
        let bytes = &mut part.buffer.bytes_mut()[..part.length];
        libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }
    }));
}
