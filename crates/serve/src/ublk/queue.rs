//! One queue of a block device: a thread with a ring, where the driver's requests arrive, and a socket with NBD, like
//! any client's, through which they are sent to the shard.
//!
//! **Rule** A tag is at the driver, waits here, or has been sent; its number is the request's cookie. A write's data is
//! fetched from the driver when there is room to send it, and a read's data is given to it as it arrives. Every
//! accepted request ends: with the shard's answer or, if the shard no longer answers, with an error. The thread ends
//! when the driver has taken back every tag.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use blksched_nbd::{Command, Framing, Request, Session};
use rustix::io::{Errno, pread, pwrite};
use rustix::net::{Shutdown, shutdown};

use super::abi::{self, Tell, UblkRequest};
use super::ring::{Ended, QueueRing};
use crate::answers::{Answers, Asked};
use crate::connection::{Transport, Who};
use crate::orders::{Client, Order};
use crate::vhost::{Numbers, ShownTarget, lock};

/// Requests are sent together, up to about this much \[bytes\].
const BATCH: usize = 1 << 20;

/// The arguments of a queue's thread.
pub struct Begin {
    /// The character device.
    pub device: Arc<OwnedFd>,
    /// The device's number.
    pub id: u32,
    /// Its own number.
    pub queue: u16,
    /// How many tags it has.
    pub depth: u16,
    /// Where requests go.
    pub shown: ShownTarget,
    /// The counter of clients.
    pub numbers: Numbers,
}

/// Where a tag is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TagPlace {
    Driver,
    Here,
    Asked,
    Gone,
}

/// One tag, and its request.
#[derive(Clone, Copy, Debug)]
struct Tag {
    place: TagPlace,
    wanted: UblkRequest,
    /// The Linux error with which it fails.
    failed: Option<i32>,
}

/// All tags, and what is reported to the driver about them.
struct Tags {
    tags: Vec<Tag>,
    ring: QueueRing,
    device: Arc<OwnedFd>,
    queue: u16,
}

/// A connection to the shard.
struct ShardConnection {
    socket: Arc<OwnedFd>,
    answers: Answers,
}

/// One queue.
struct UblkQueue {
    begin: Begin,
    tags: Tags,
    lane: Option<ShardConnection>,
    /// Tags whose requests were not sent yet, the oldest first.
    waiting: VecDeque<u16>,
    /// What is to be sent next.
    out: Vec<u8>,
}

/// Runs a queue; `ready` is told when the driver has its tags, or why it cannot.
pub fn live(begin: Begin, ready: &Sender<Result<(), String>>) {
    let (id, queue) = (begin.id, begin.queue);
    let mut queue_life = match UblkQueue::new(begin) {
        Ok(made) => made,
        Err(error) => {
            let _ = ready.send(Err(format!("queue {queue} of ublk device {id}: {error}")));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    if let Err(error) = queue_life.run() {
        tracing::error!(device = id, queue, %error, "ublk: a queue has ended");
    }
    queue_life.close();
}

impl UblkQueue {
    fn new(begin: Begin) -> std::io::Result<UblkQueue> {
        let (device, queue, depth) = (begin.device.clone(), begin.queue, begin.depth);
        let ring = QueueRing::new(device.clone(), queue, depth)?;
        let wanted = UblkRequest { command: None, offset: 0, length: 0 };
        let tag = Tag { place: TagPlace::Driver, wanted, failed: None };
        let mut tags = Tags { tags: vec![tag; usize::from(depth)], ring, device, queue };
        (0..depth).for_each(|tag| tags.ring.tell(Tell::Fetch, tag, 0));
        tags.ring.submit()?;
        Ok(UblkQueue { begin, tags, lane: None, waiting: VecDeque::new(), out: Vec::new() })
    }

    fn run(&mut self) -> std::io::Result<()> {
        let mut ended = Vec::new();
        while self.tags.tags.iter().any(|tag| tag.place != TagPlace::Gone) {
            self.tags.ring.wait(&mut ended)?;
            for one in ended.drain(..) {
                match one {
                    Ended::Tag(tag, result) => self.hear_of(tag, result),
                    Ended::Received(result) => self.received(result),
                    Ended::Sent(result) => self.sent(result),
                }
            }
            self.ask();
        }
        Ok(())
    }

    /// The driver gives a tag, or takes it back for ever.
    fn hear_of(&mut self, tag: u16, result: Result<(), i32>) {
        let Some(own) = self.tags.tags.get_mut(usize::from(tag)) else { return };
        if let Err(errno) = result {
            // ENODEV is the requested end.
            if errno != libc::ENODEV {
                tracing::warn!(device = self.begin.id, queue = self.begin.queue, tag, errno, "ublk: a tag is lost");
            }
            own.place = TagPlace::Gone;
            return;
        }
        let wanted = abi::wanted(&self.tags.ring.description(tag));
        *own = Tag { place: TagPlace::Here, wanted, failed: None };
        match wanted.command {
            Some(_) => self.waiting.push_back(tag),
            None => {
                own.failed = Some(libc::EOPNOTSUPP);
                self.tags.finish(u64::from(tag));
            }
        }
    }

    fn received(&mut self, result: Result<usize, i32>) {
        let Some(lane) = &mut self.lane else { return };
        match result {
            Ok(count) if count > 0 => {
                let inbox = self.tags.ring.take_inbox();
                let parsed = lane.answers.parse(&inbox[..count], &mut self.tags);
                self.tags.ring.give_inbox(inbox);
                if let Err(error) = parsed {
                    tracing::error!(device = self.begin.id, %error, "ublk: the shard's answer");
                    return self.lose();
                }
                self.tags.ring.receive(&lane.socket);
            }
            Err(libc::EINTR | libc::EAGAIN) => self.tags.ring.receive(&lane.socket),
            _ => self.lose(),
        }
    }

    fn sent(&mut self, result: Result<usize, i32>) {
        let Some((mut what, from)) = self.tags.ring.sent() else { return };
        let Some(lane) = &self.lane else { return };
        match result {
            Ok(count) if from + count < what.len() => self.tags.ring.send(&lane.socket, what, from + count),
            Err(libc::EINTR | libc::EAGAIN) => self.tags.ring.send(&lane.socket, what, from),
            // Its memory is reused for the next.
            Ok(_) if self.out.is_empty() => {
                what.clear();
                self.out = what;
            }
            // An error shows when answers are received.
            _ => {}
        }
    }

    /// The shard no longer answers.
    fn lose(&mut self) {
        self.out.clear();
        if let Some(lane) = self.lane.take() {
            let _ = shutdown(&lane.socket, Shutdown::Both);
        }
        for tag in 0..self.begin.depth {
            if self.tags.tags[usize::from(tag)].place == TagPlace::Asked {
                self.tags.fails(u64::from(tag), libc::EIO);
                self.tags.finish(u64::from(tag));
            }
        }
    }

    /// Sends what waits, as far as there is room.
    fn ask(&mut self) {
        if self.waiting.is_empty() && self.out.is_empty() {
            return;
        }
        if self.lane.is_none() && !self.tags.ring.is_busy() {
            self.open();
        }
        let Some(lane) = &self.lane else {
            if !self.tags.ring.is_busy() {
                for tag in std::mem::take(&mut self.waiting) {
                    self.tags.fails(u64::from(tag), libc::EIO);
                    self.tags.finish(u64::from(tag));
                }
            }
            return;
        };
        while self.out.len() < BATCH
            && let Some(tag) = self.waiting.pop_front()
        {
            self.tags.encode(tag, &mut self.out);
        }
        if self.tags.ring.is_sending() || self.out.is_empty() {
            return;
        }
        let what = std::mem::take(&mut self.out);
        self.tags.ring.send(&lane.socket, what, 0);
    }

    /// Connects to the shard, if there is such an export.
    fn open(&mut self) {
        let Some(target) = lock(&self.begin.shown).clone() else { return };
        let pair = UnixStream::pair();
        let Ok((inside, shards)) = pair.inspect_err(|error| tracing::warn!(%error, "ublk: no socket")) else { return };
        let number = self.begin.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        let peer = format!("ublk:{},queue={}", self.begin.id, self.begin.queue).into();
        let session = Session { export: target.tenant, framing: Framing::Extended, allocation: false };
        let who = Who { number, peer, way: Transport::Within };
        target.control.order(Order::Attach(Client {
            who,
            socket: Arc::new(shards.into()),
            session,
            ahead: Vec::new(),
            place: None,
        }));
        let lane = ShardConnection { socket: Arc::new(inside.into()), answers: Answers::new(Framing::Extended) };
        self.tags.ring.receive(&lane.socket);
        self.lane = Some(lane);
    }

    /// Ends it: the kernel must release what it was given.
    fn close(mut self) {
        self.lose();
        let mut ended = Vec::new();
        while self.tags.ring.is_busy() && self.tags.ring.wait(&mut ended).is_ok() {
            if ended.drain(..).any(|one| matches!(one, Ended::Sent(_))) {
                self.tags.ring.sent();
            }
        }
    }
}

impl Tags {
    fn tag(&mut self, cookie: u64) -> Option<&mut Tag> {
        self.tags
            .get_mut(usize::try_from(cookie).ok()?)
            .filter(|tag| matches!(tag.place, TagPlace::Here | TagPlace::Asked))
    }

    /// A tag's request in NBD's format.
    fn encode(&mut self, tag: u16, out: &mut Vec<u8>) {
        let (queue, before) = (self.queue, out.len());
        let own = &mut self.tags[usize::from(tag)];
        let UblkRequest { command: Some(command), offset, length } = own.wanted else { return };
        own.place = TagPlace::Asked;
        Request { cookie: u64::from(tag), command, offset, length }.encode(Framing::Extended, out);
        if !matches!(command, Command::Write(_)) {
            return;
        }
        let start = out.len();
        out.resize(start + length as usize, 0);
        let mut at = 0;
        while at < length {
            match pread(&self.device, &mut out[start + at as usize..], abi::data_at(queue, tag, at)) {
                Ok(count) if count > 0 => at += count as u64,
                Err(Errno::INTR) => {}
                _ => {
                    out.truncate(before);
                    own.failed = Some(libc::EIO);
                    return self.finish(u64::from(tag));
                }
            }
        }
    }
}

impl Asked for Tags {
    fn reads(&self, cookie: u64) -> Option<u64> {
        let tag = self.tags.get(usize::try_from(cookie).ok()?).filter(|tag| tag.place == TagPlace::Asked)?;
        Some(if tag.wanted.command == Some(Command::Read) { tag.wanted.length } else { 0 })
    }

    fn begins(&self, cookie: u64) -> u64 {
        self.tags.get(cookie as usize).map_or(0, |tag| tag.wanted.offset)
    }

    fn fill(&mut self, cookie: u64, at: u64, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let to = abi::data_at(self.queue, cookie as u16, at + done as u64);
            match pwrite(&self.device, &bytes[done..], to) {
                Ok(count) if count > 0 => done += count,
                Err(Errno::INTR) => {}
                _ => return self.fails(cookie, libc::EIO),
            }
        }
    }

    fn fails(&mut self, cookie: u64, errno: i32) {
        if let Some(tag) = self.tag(cookie) {
            tag.failed = tag.failed.or(Some(errno));
        }
    }

    /// Returns it to the driver.
    fn finish(&mut self, cookie: u64) {
        let Some(tag) = self.tag(cookie) else { return };
        tag.place = TagPlace::Driver;
        let done = match (tag.failed, tag.wanted.command) {
            (Some(errno), _) => -errno,
            (None, Some(Command::Read | Command::Write(_))) => tag.wanted.length as i32,
            (None, _) => 0,
        };
        self.ring.tell(Tell::Done, cookie as u16, done);
    }
}
