//! One queue's path to the shard and back: a socket with NBD, like any client's, and the requests in flight there.
//!
//! **Rule** The queue's thread writes requests and may wait; another thread reads replies, and never waits for the
//! first. No more requests are taken from a queue than it has entries. Every accepted request ends: with the shard's
//! answer or, if the shard no longer answers, with an error.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use blksched_nbd::{Command, Framing, Request, Session};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use slab::Slab;
use vhost_user_backend::{VringMutex, VringT};
use virtio_bindings::virtio_blk::{VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_OK};
use virtio_queue::{QueueOwnedT, QueueT};
use vm_memory::{Bytes, GuestAddress};

use super::ask::{Ask, Guest, GuestRange, GuestWish, gather, scatter};
use super::guarded::Tables;
use super::{GuestTarget, lock};
use crate::answers::{Answers, Asked};
use crate::connection::Who;
use crate::orders::{Client, Order};

/// How much is received at once \[bytes\].
const CHUNK: usize = 256 << 10;
/// Requests are sent together, up to this much \[bytes\].
const BATCH: usize = 1 << 20;
/// The length of a disk's name \[bytes\].
const NAME: usize = 20;
/// How long the monitor waits at most for requests in flight when it stops a queue.
const DRAIN: Duration = Duration::from_secs(30);

/// The path of one queue's requests.
pub struct QueueLane {
    socket: OwnedFd,
    outstanding: Mutex<Outstanding>,
    fewer: Condvar,
    /// The disk's name, for guests that ask.
    name: String,
}

struct Outstanding {
    asks: Slab<Pending>,
    shard: ShardState,
}

/// Whether the shard still answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShardState {
    Answers,
    Gone,
}

/// A request that is not answered.
struct Pending {
    head: u16,
    memory: Guest,
    into: Vec<GuestRange>,
    status: GuestAddress,
    /// Where the read begins on the disk, and its length \[bytes\].
    offset: u64,
    length: u64,
    outcome: u32,
}

/// The queue whose answers arrive, with its requests in flight.
struct Heard<'a> {
    outstanding: &'a mut Outstanding,
    ring: &'a VringMutex,
    /// The memory of the last one that was finished.
    memory: Option<Guest>,
}

/// Returns a chain to the guest, in memory that was checked: the ring's own may be newer.
fn add_used(ring: &VringMutex, memory: &Guest, head: u16, length: u32) {
    let _ = ring.get_mut().get_queue_mut().add_used(&**memory, head, length);
}

impl QueueLane {
    /// Connects a client to the shard, whose answers a thread reads.
    ///
    /// # Errors
    /// If there can be no more sockets or threads.
    pub fn open(
        target: &GuestTarget,
        who: Who,
        ring: VringMutex,
        tables: Arc<Tables>,
    ) -> std::io::Result<Arc<QueueLane>> {
        let (inside, shards) = UnixStream::pair()?;
        let name = target.export.name.clone();
        let lane = Arc::new(QueueLane {
            socket: inside.into(),
            outstanding: Mutex::new(Outstanding { asks: Slab::new(), shard: ShardState::Answers }),
            fewer: Condvar::new(),
            name,
        });
        let number = who.number;
        let session = Session { export: target.tenant, framing: Framing::Extended, allocation: false };
        target.control.order(Order::Attach(Client {
            who,
            socket: Arc::new(shards.into()),
            session,
            ahead: Vec::new(),
            place: None,
        }));
        let own = lane.clone();
        std::thread::Builder::new().name(format!("vhost-answers-{number}")).spawn(move || {
            own.hear(&ring);
            // Until now it has written to that memory.
            drop(tables);
        })?;
        Ok(lane)
    }

    /// Whether the shard no longer answers.
    pub fn is_over(&self) -> bool {
        lock(&self.outstanding).shard == ShardState::Gone
    }

    /// Sends no more: what waits is cancelled, and the rest fails.
    pub fn close(&self) {
        let _ = shutdown(&self.socket, Shutdown::Both);
    }

    /// Waits until everything that was taken is answered.
    pub fn drain(&self) {
        let outstanding = lock(&self.outstanding);
        let waited = self.fewer.wait_timeout_while(outstanding, DRAIN, |outstanding| !outstanding.asks.is_empty());
        if waited.is_ok_and(|(_, timeout)| timeout.timed_out()) {
            tracing::warn!(export = self.name, "vhost-user: a queue was stopped with requests in flight");
        }
    }

    /// Takes everything that is in the queue now.
    pub fn take_in(&self, ring: &VringMutex, memory: &Guest, parse: impl Fn(Chain) -> Option<Ask>) {
        let mut out = Vec::new();
        loop {
            let _ = ring.get_mut().get_queue_mut().disable_notification(&**memory);
            let mut taken = 0;
            while let Some((head, cookie, ask)) = self.take_one(ring, memory, &mut out, &parse) {
                taken += 1;
                self.begin(ring, head, cookie, ask, &mut out);
                if out.len() >= BATCH {
                    self.send(&mut out);
                }
            }
            self.send(&mut out);
            // A guest that lies about the amount would be asked for ever.
            let more = ring.get_mut().get_queue_mut().enable_notification(&**memory).unwrap_or(false);
            if !more || taken == 0 {
                return;
            }
        }
    }

    /// The next chain; what was taken before is sent before this waits for a place.
    fn take_one(
        &self,
        ring: &VringMutex,
        memory: &Guest,
        out: &mut Vec<u8>,
        parse: &impl Fn(Chain) -> Option<Ask>,
    ) -> Option<(u16, usize, Option<Ask>)> {
        let most = usize::from(ring.get_ref().get_queue().size());
        let full = |outstanding: &mut Outstanding| outstanding.asks.len() >= most;
        let mut outstanding = lock(&self.outstanding);
        if full(&mut outstanding) {
            drop(outstanding);
            self.send(out);
            let waited = self.fewer.wait_while(lock(&self.outstanding), full);
            outstanding = waited.unwrap_or_else(PoisonError::into_inner);
        }
        // The ring's lock always comes second. The thread that stops the queue waits for it, and then for what was
        // taken.
        let mut state = ring.get_mut();
        let chain = state.get_queue_mut().iter(memory.clone()).ok()?.next()?;
        let head = chain.head_index();
        let ask = parse(chain);
        let (into, status) = ask.as_ref().map_or((Vec::new(), GuestAddress(0)), |ask| (ask.into.clone(), ask.status));
        let pending =
            Pending { head, memory: memory.clone(), into, status, offset: 0, length: 0, outcome: VIRTIO_BLK_S_OK };
        Some((head, outstanding.asks.insert(pending), ask))
    }

    /// Sends a request to the shard, or answers at once.
    fn begin(&self, ring: &VringMutex, head: u16, cookie: usize, ask: Option<Ask>, out: &mut Vec<u8>) {
        let Some(Ask { wish, .. }) = ask else {
            // There is no place for a status.
            let Pending { memory, .. } = lock(&self.outstanding).asks.remove(cookie);
            add_used(ring, &memory, head, 0);
            self.tell(ring, Some(&memory));
            return;
        };
        let mut outstanding = lock(&self.outstanding);
        let pending = &mut outstanding.asks[cookie];
        let outcome = match wish {
            GuestWish::Cannot(status) => u32::from(status),
            GuestWish::Name => {
                let mut name = self.name.clone().into_bytes();
                name.resize(NAME, 0);
                pending.length = NAME as u64;
                scatter(&pending.into, &pending.memory, 0, &name).map_or(VIRTIO_BLK_S_IOERR, |()| VIRTIO_BLK_S_OK)
            }
            GuestWish::Disk(command, offset, length, from) => {
                (pending.offset, pending.length) = (offset, if command == Command::Read { length } else { 0 });
                let before = out.len();
                Request { cookie: cookie as u64, command, offset, length }.encode(Framing::Extended, out);
                let gathered = gather(&from, &pending.memory, out);
                match (gathered, outstanding.shard) {
                    (Ok(()), ShardState::Answers) => return,
                    _ => out.truncate(before),
                }
                VIRTIO_BLK_S_IOERR
            }
        };
        outstanding.asks[cookie].outcome = outcome;
        let memory = outstanding.finish(ring, cookie);
        drop(outstanding);
        self.tell(ring, memory.as_ref());
    }

    fn send(&self, out: &mut Vec<u8>) {
        let mut sent = 0;
        while sent < out.len() {
            match send(self.socket.as_fd(), &out[sent..], SendFlags::NOSIGNAL) {
                Ok(count) => sent += count,
                Err(rustix::io::Errno::INTR) => {}
                // The thread that reads answers notices it too.
                Err(_) => break,
            }
        }
        out.clear();
    }

    /// Notifies the guest, if it wants to be notified; it says so in this memory.
    fn tell(&self, ring: &VringMutex, memory: Option<&Guest>) {
        let wants = |memory: &Guest| ring.get_mut().get_queue_mut().needs_notification(&**memory).unwrap_or(true);
        if memory.is_some_and(wants) {
            let _ = ring.signal_used_queue();
        }
        self.fewer.notify_all();
    }

    /// Reads answers, until there are no more.
    fn hear(&self, ring: &VringMutex) {
        let (mut chunk, mut answers) = (vec![0; CHUNK], Answers::new(Framing::Extended));
        loop {
            let count = match recv(self.socket.as_fd(), &mut chunk[..], RecvFlags::empty()) {
                Ok((0, _)) => break,
                Ok((count, _)) => count,
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => break,
            };
            let mut outstanding = lock(&self.outstanding);
            let mut heard = Heard { outstanding: &mut outstanding, ring, memory: None };
            let parsed = answers.parse(&chunk[..count], &mut heard);
            let memory = heard.memory;
            drop(outstanding);
            if let Err(error) = parsed {
                tracing::error!(export = self.name, %error, "vhost-user: the shard's answer");
                break;
            }
            self.tell(ring, memory.as_ref());
        }
        let mut outstanding = lock(&self.outstanding);
        outstanding.shard = ShardState::Gone;
        let mut memory = None;
        for cookie in outstanding.asks.iter().map(|(cookie, _)| cookie).collect::<Vec<_>>() {
            outstanding.asks[cookie].outcome = VIRTIO_BLK_S_IOERR;
            memory = outstanding.finish(ring, cookie).or(memory);
        }
        drop(outstanding);
        self.tell(ring, memory.as_ref());
    }
}

/// A chain of descriptors of a guest.
pub type Chain = virtio_queue::DescriptorChain<Guest>;

impl Outstanding {
    /// Writes the status, and returns the chain; the result is the memory that it was in.
    fn finish(&mut self, ring: &VringMutex, cookie: usize) -> Option<Guest> {
        let pending = self.asks.try_remove(cookie)?;
        let _ = pending.memory.write_obj(pending.outcome as u8, pending.status);
        add_used(ring, &pending.memory, pending.head, pending.length as u32 + 1);
        Some(pending.memory)
    }
}

impl Heard<'_> {
    fn pending(&self, cookie: u64) -> Option<&Pending> {
        self.outstanding.asks.get(usize::try_from(cookie).ok()?)
    }
}

impl Asked for Heard<'_> {
    fn reads(&self, cookie: u64) -> Option<u64> {
        self.pending(cookie).map(|pending| pending.length)
    }

    fn begins(&self, cookie: u64) -> u64 {
        self.pending(cookie).map_or(0, |pending| pending.offset)
    }

    fn fill(&mut self, cookie: u64, at: u64, bytes: &[u8]) {
        let Some(pending) = self.pending(cookie) else { return };
        if scatter(&pending.into, &pending.memory, at, bytes).is_err() {
            self.fails(cookie, libc::EIO);
        }
    }

    /// A guest's disk has only one error.
    fn fails(&mut self, cookie: u64, _errno: i32) {
        if let Some(pending) = self.outstanding.asks.get_mut(cookie as usize) {
            pending.outcome = VIRTIO_BLK_S_IOERR;
        }
    }

    fn finish(&mut self, cookie: u64) {
        let finished = self.outstanding.finish(self.ring, cookie as usize);
        self.memory = finished.or(self.memory.take());
    }
}
