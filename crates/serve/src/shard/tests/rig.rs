//! A shard without sockets and disks: its engine is the test, which decides what arrives, what completes and when.

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use blksched::reasons::NoListener;
use blksched::{GroupId, Limits as QueueLimits, QueueConfig, Sector};
use blksched_nbd::reply::{Extent, ExtentState};
use blksched_nbd::{Chunk, Command, Errno, Framing, Persist, ReplyReader, Request, Session};

use super::super::*;
use crate::backend::{Backend, BackendKind, Store, Through};
use crate::config::{Access, Caching, ExportConfig, ExportSource, Locking, Share, Shares};
use crate::connection::{Transport, Who};
use crate::orders::{Client, ControlHandle};
use crate::policies::{Setting, WrittenFiles};

/// The operations that the shard has begun, and those that the test has completed.
#[derive(Default)]
pub struct FakeState {
    pub begun: Vec<(u64, Io)>,
    pub ended: Vec<EngineEvent>,
    /// How much of what was sent the clients have not taken.
    pub unsent: u32,
}

pub struct Fake(Arc<Mutex<FakeState>>);

impl Engine for Fake {
    fn submit(&mut self, token: u64, io: Io) {
        self.0.lock().unwrap().begun.push((token, io));
    }

    fn wait(&mut self, _timeout: Option<Duration>, events: &mut Vec<EngineEvent>) -> io::Result<()> {
        events.append(&mut self.0.lock().unwrap().ended);
        Ok(())
    }

    fn unsent(&self, _socket: &OwnedFd) -> Option<u32> {
        Some(self.0.lock().unwrap().unsent)
    }

    fn name(&self) -> &'static str {
        "test"
    }
}

pub struct Rig {
    pub shard: Shard,
    pub fake: Arc<Mutex<FakeState>>,
    pub control: ControlHandle,
    pub clients: Vec<Peer>,
    /// Nobody hangs up, and invariants are checked elsewhere: for many tenants.
    pub quick: bool,
}

/// A generator of numbers that depend on nothing but its seed (xorshift).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A client as the test sees it.
pub struct Peer {
    pub fd: i32,
    pub framing: Framing,
    /// Bytes of replies that were not parsed yet.
    pub replies: Vec<u8>,
    pub other_end: Option<UnixStream>,
}

pub fn tenant(number: usize, memory: usize) -> Tenant {
    let name = if number < 26 { char::from(b'a' + number as u8).to_string() } else { format!("t{number}") };
    let config = ExportConfig {
        name,
        source: ExportSource::Memory(1 << 30),
        disk: None,
        description: String::new(),
        access: Access::ReadWrite,
        locking: Locking::Off,
        share: Share::default(),
        files: WrittenFiles::default(),
    };
    let file = Arc::new(std::fs::File::open("/dev/null").unwrap().into());
    let store = Store::File(file, 0);
    let backend = Backend {
        store,
        size: 1 << 30,
        whole: 1 << 30,
        block: 512,
        rotational: false,
        kind: BackendKind::Device,
        caching: Caching::PageCache,
        identity: None,
        through: Through::Flag,
        disk: "test".to_owned(),
    };
    Tenant::new(&config, backend, Sector(number as u64 * (4 << 20)), GroupId(number as u32 + 1), memory)
}

impl Rig {
    pub fn new(elevator: &str, depth: u32) -> Rig {
        Rig::with_memory(elevator, depth, 64 << 20)
    }

    pub fn with_memory(elevator: &str, depth: u32, memory: usize) -> Rig {
        Rig::of(elevator, depth, 2, memory, false)
    }

    pub fn of(elevator: &str, depth: u32, tenants: usize, memory: usize, rotational: bool) -> Rig {
        let setting = Setting { shares: Shares::ByScheduler, sleeps: false, cost: false };
        Rig::on(elevator, depth, tenants, memory, rotational, setting)
    }

    /// The same on a queue with this setting.
    pub fn on(elevator: &str, depth: u32, tenants: usize, memory: usize, rotational: bool, setting: Setting) -> Rig {
        let catalogue = Catalogue::builtin();
        let elevator = catalogue.parse(elevator).unwrap();
        let limits = QueueLimits { volatile_cache: true, fua: true, rotational, ..QueueLimits::default() };
        let slots = if setting.sleeps { setting.slots(256) } else { QueueConfig::default().slots };
        let config = QueueConfig { limits, depth, slots, ..QueueConfig::default() };
        let fake = Arc::new(Mutex::new(FakeState::default()));
        let (control, orders, wakeup) = ControlHandle::new().unwrap();
        let shard = Shard::new(Parts {
            queue: LoggedQueue::new(config, &elevator, NoListener, None),
            elevator,
            catalogue,
            depth,
            tenants: (0..tenants).map(|number| tenant(number, memory)).collect(),
            setting,
            engine: Box::new(Fake(fake.clone())),
            model: None,
            largest_piece: 512 << 10,
            trace: None,
            orders,
            wakeup,
            patience: Span::from_secs(10),
            pulse: Arc::default(),
        });
        Rig { shard, fake, control, clients: Vec::new(), quick: false }
    }

    pub fn turn(&mut self) {
        self.shard.turn().unwrap();
        if self.quick {
            return;
        }
        while self.hang_ups() {
            self.shard.turn().unwrap();
        }
        self.shard.queue.queue().check();
    }

    /// Reports sockets that have hung up; false if none has.
    fn hang_ups(&mut self) -> bool {
        let mut fake = self.fake.lock().unwrap();
        let hung_up = |io: &Io| matches!(io, Io::Hangup(socket) if crate::shard::cancel::has_gone(socket));
        let Some(at) = fake.begun.iter().position(|(_, io)| hung_up(io)) else { return false };
        let (token, io) = fake.begun.remove(at);
        fake.ended.push(EngineEvent { token, io, result: Ok(0) });
        true
    }

    /// One turn, without checking invariants.
    pub fn step(&mut self) {
        self.shard.turn().unwrap();
    }

    /// The length of the first operation in flight of this kind.
    pub fn first_of(&self, is: impl Fn(&Io) -> bool) -> Option<usize> {
        self.fake.lock().unwrap().begun.iter().find(|(_, io)| is(io)).map(|(_, io)| length_of(io))
    }

    /// Completes the first operation that `is` one of these.
    pub fn end(&mut self, result: Result<usize, i32>, is: impl Fn(&Io) -> bool) -> bool {
        let mut fake = self.fake.lock().unwrap();
        let Some(at) = fake.begun.iter().position(|(_, io)| is(io)) else { return false };
        let (token, mut io) = fake.begun.remove(at);
        tell_extents(&mut io);
        fill(&mut io);
        fake.ended.push(EngineEvent { token, io, result });
        drop(fake);
        self.turn();
        true
    }

    pub fn order(&mut self, order: Order) {
        self.control.order(order);
        assert!(self.end(Ok(0), |io| matches!(io, Io::Poll(_))));
    }

    /// A client of tenant `tenant`; returns its number.
    pub fn client(&mut self, tenant: usize) -> usize {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let fd = ours.as_raw_fd();
        let framing = Framing::Structured;
        let session = Session { export: tenant, framing, allocation: true };
        let who = Who { number: self.clients.len() as u64 + 1, peer: "test".into(), way: Transport::Direct };
        self.order(Order::Attach(Client {
            who,
            socket: Arc::new(ours.into()),
            session,
            ahead: Vec::new(),
            place: None,
        }));
        self.clients.push(Peer { fd, framing, replies: Vec::new(), other_end: Some(theirs) });
        self.clients.len() - 1
    }

    /// Bytes of a client arrive, as far as the shard receives any.
    pub fn send(&mut self, client: usize, mut bytes: &[u8]) -> usize {
        let fd = self.clients[client].fd;
        let mut sent = 0;
        while !bytes.is_empty() {
            let mut fake = self.fake.lock().unwrap();
            let is_it = |io: &Io| matches!(io, Io::Receive(socket, ..) if socket.as_raw_fd() == fd);
            let Some(at) = fake.begun.iter().position(|(_, io)| is_it(io)) else { break };
            let (token, mut io) = fake.begun.remove(at);
            let Io::Receive(_, buffer, fill) = &mut io else { unreachable!() };
            let free = &mut buffer.bytes_mut()[fill.from..fill.to];
            let count = free.len().min(bytes.len());
            free[..count].copy_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            sent += count;
            fake.ended.push(EngineEvent { token, io, result: Ok(count) });
            drop(fake);
            self.turn();
        }
        sent
    }

    pub fn ask(&mut self, client: usize, cookie: u64, command: Command, offset: u64, length: u64) {
        let bytes = self.request(client, cookie, command, offset, length);
        assert_eq!(self.send(client, &bytes), bytes.len());
    }

    pub fn request(&self, client: usize, cookie: u64, command: Command, offset: u64, length: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        Request { cookie, command, offset, length }.encode(self.clients[client].framing, &mut bytes);
        if matches!(command, Command::Write(_)) {
            bytes.resize(bytes.len() + length as usize, cookie as u8);
        }
        bytes
    }

    /// A client has gone: nothing more arrives, and it takes nothing more.
    pub fn vanish(&mut self, client: usize) {
        let fd = self.clients[client].fd;
        self.end(Ok(0), |io| matches!(io, Io::Receive(socket, ..) if socket.as_raw_fd() == fd));
        while self.end(Err(32), |io| matches!(io, Io::Send(socket, _) if socket.as_raw_fd() == fd)) {}
    }

    /// Delivers everything that is sent; returns what each client was told since the last call.
    pub fn told(&mut self, client: usize) -> Vec<(u64, Option<Errno>)> {
        loop {
            let mut fake = self.fake.lock().unwrap();
            let Some(at) = fake.begun.iter().position(|(_, io)| matches!(io, Io::Send(..))) else { break };
            let (token, io) = fake.begun.remove(at);
            let Io::Send(socket, tx) = &io else { unreachable!() };
            let (fd, length) = (socket.as_raw_fd(), tx.len());
            let peer = self.clients.iter_mut().rfind(|peer| peer.fd == fd).unwrap();
            tx.rest(0).for_each(|bytes| peer.replies.extend_from_slice(bytes));
            fake.ended.push(EngineEvent { token, io, result: Ok(length) });
            drop(fake);
            self.turn();
        }
        let peer = &mut self.clients[client];
        let reader = ReplyReader::new(peer.framing);
        let mut told = Vec::new();
        let mut at = 0;
        while let Some((used, cookie, chunk)) = reader.read(&peer.replies[at..], |_| Some(1 << 30)).unwrap() {
            let (data, errno) = match chunk {
                Chunk::Data { length, .. } => (length as usize, None),
                Chunk::Done(errno) => (0, errno),
                Chunk::Extents { .. } | Chunk::Hole { .. } => (0, None),
                other => panic!("{other:?}"),
            };
            at += used + data;
            told.push((cookie, errno));
        }
        peer.replies.drain(..at);
        told
    }

    /// Completes every operation on a back end, however many follow.
    pub fn let_disk_work(&mut self) {
        loop {
            let length = {
                let fake = self.fake.lock().unwrap();
                let Some((_, io)) = fake.begun.iter().find(|(_, io)| is_disk(io)) else { return };
                length_of(io)
            };
            self.end(Ok(length), is_disk);
        }
    }

    /// Lets the disk work until nothing is left, including deadlines.
    pub fn drain(&mut self) {
        while !self.shard.queue.queue().requests().is_empty() {
            self.let_disk_work();
            std::thread::sleep(Duration::from_millis(1));
            self.turn();
        }
    }

    /// The number of operations in flight of this kind.
    pub fn outstanding(&self, is: impl Fn(&Io) -> bool) -> usize {
        self.fake.lock().unwrap().begun.iter().filter(|(_, io)| is(io)).count()
    }
}

/// Data that is read is not a hole.
fn fill(io: &mut Io) {
    if let Io::Read(_, _, parts) = io {
        parts.iter_mut().for_each(|part| part.buffer.bytes_mut()[0] = 1);
    }
}

/// In this file system everything is data.
pub fn tell_extents(io: &mut Io) {
    if let Io::Extents(_, question, extents) = io {
        extents.push(Extent { length: question.length, state: ExtentState::Data });
    }
}

pub fn is_write(io: &Io) -> bool {
    matches!(io, Io::Write(..))
}

pub fn is_sync(io: &Io) -> bool {
    matches!(io, Io::Sync(_))
}

pub fn is_disk(io: &Io) -> bool {
    !matches!(io, Io::Poll(_) | Io::Hangup(_) | Io::Receive(..) | Io::Send(..))
}

pub fn length_of(io: &Io) -> usize {
    match io {
        Io::Read(_, _, parts) | Io::Write(_, _, parts, _) => parts.iter().map(|part| part.length).sum(),
        _ => 0,
    }
}

pub const WRITE: Command = Command::Write(Persist::Lazily);
pub const STABLE: Command = Command::Write(Persist::First);

/// A tenant whose start-up flush is done.
pub fn settled(elevator: &str, depth: u32) -> Rig {
    let mut rig = Rig::new(elevator, depth);
    for tenant in &mut rig.shard.tenants {
        tenant.stability.unsynced = false;
    }
    rig
}
