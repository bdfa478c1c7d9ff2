//! A shard without sockets and disks: its engine is the test, which decides what comes in, what ends and when.

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use blksched::{GroupId, Limits as QueueLimits, QueueConfig, Sector, Silence};
use blksched_nbd::{Chunk, Command, Errno, Framing, Holes, Persist, ReplyReader, Request, Session, Speed};

use super::*;
use crate::backend::{Backend, Store};
use crate::config::{Access, ExportConfig, Share, Source};
use crate::engine::{Allocation, Stable};
use crate::orders::{Client, Desk, Question};

/// What the shard has begun, and what the test says has ended.
#[derive(Default)]
struct Hand {
    begun: Vec<(u64, Io)>,
    ended: Vec<Event>,
}

struct Fake(Arc<Mutex<Hand>>);

impl Engine for Fake {
    fn submit(&mut self, token: u64, io: Io) {
        self.0.lock().unwrap().begun.push((token, io));
    }

    fn wait(&mut self, _timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        events.append(&mut self.0.lock().unwrap().ended);
        Ok(())
    }

    fn name(&self) -> &'static str {
        "test"
    }
}

struct Rig {
    shard: Shard,
    hand: Arc<Mutex<Hand>>,
    desk: Desk,
    clients: Vec<Peer>,
}

/// A client as the test sees it.
struct Peer {
    fd: i32,
    framing: Framing,
    /// Bytes of the replies that were not read yet.
    replies: Vec<u8>,
    _other_end: UnixStream,
}

fn tenant(number: usize, memory: usize) -> Tenant {
    let name = ["a", "b", "c"][number];
    let config = ExportConfig {
        name: name.to_owned(),
        source: Source::Memory(1 << 30),
        disk: None,
        description: String::new(),
        access: Access::ReadWrite,
        share: Share::default(),
    };
    let file = Arc::new(std::fs::File::open("/dev/null").unwrap().into());
    let store = Store::File(file, 0);
    let backend = Backend { store, size: 1 << 30, block: 512, rotational: false, disk: "test".to_owned() };
    Tenant::new(&config, backend, Sector(number as u64 * (4 << 20)), GroupId(number as u32 + 1), memory)
}

impl Rig {
    fn new(elevator: &str, depth: u32) -> Rig {
        Rig::with_memory(elevator, depth, 64 << 20)
    }

    fn with_memory(elevator: &str, depth: u32, memory: usize) -> Rig {
        let catalogue = Catalogue::builtin();
        let elevator = catalogue.parse(elevator).unwrap();
        let limits = QueueLimits { volatile_cache: true, fua: true, ..QueueLimits::default() };
        let config = QueueConfig { limits, depth, ..QueueConfig::default() };
        let hand = Arc::new(Mutex::new(Hand::default()));
        let (desk, orders, bell) = Desk::new().unwrap();
        let shard = Shard::new(Parts {
            queue: LoggedQueue::new(config, &elevator, Silence, None),
            elevator,
            catalogue,
            tenants: vec![tenant(0, memory), tenant(1, memory)],
            engine: Box::new(Fake(hand.clone())),
            model: None,
            largest_piece: 512 << 10,
            trace: None,
            orders,
            bell,
            patience: Span::from_secs(10),
        });
        Rig { shard, hand, desk, clients: Vec::new() }
    }

    fn turn(&mut self) {
        self.shard.turn().unwrap();
        self.shard.queue.queue().check();
    }

    /// End the first operation that `is` one of these.
    fn end(&mut self, result: Result<usize, i32>, is: impl Fn(&Io) -> bool) -> bool {
        let mut hand = self.hand.lock().unwrap();
        let Some(at) = hand.begun.iter().position(|(_, io)| is(io)) else { return false };
        let (token, io) = hand.begun.remove(at);
        hand.ended.push(Event { token, io, result });
        drop(hand);
        self.turn();
        true
    }

    fn order(&mut self, order: Order) {
        self.desk.order(order);
        assert!(self.end(Ok(0), |io| matches!(io, Io::Poll(_))));
    }

    /// A client of tenant `tenant`; answers its number.
    fn client(&mut self, tenant: usize) -> usize {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let fd = ours.as_raw_fd();
        let framing = Framing::Structured;
        let session = Session { export: tenant, framing, allocation: true };
        self.order(Order::Attach(Client { socket: ours.into(), session, ahead: Vec::new() }));
        self.clients.push(Peer { fd, framing, replies: Vec::new(), _other_end: theirs });
        self.clients.len() - 1
    }

    /// Bytes of a client come in, as far as the shard receives any.
    fn send(&mut self, client: usize, mut bytes: &[u8]) -> usize {
        let fd = self.clients[client].fd;
        let mut sent = 0;
        while !bytes.is_empty() {
            let mut hand = self.hand.lock().unwrap();
            let is_it = |io: &Io| matches!(io, Io::Receive(socket, ..) if socket.as_raw_fd() == fd);
            let Some(at) = hand.begun.iter().position(|(_, io)| is_it(io)) else { break };
            let (token, mut io) = hand.begun.remove(at);
            let Io::Receive(_, buffer, from) = &mut io else { unreachable!() };
            let free = &mut buffer.bytes_mut()[*from..];
            let count = free.len().min(bytes.len());
            free[..count].copy_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            sent += count;
            hand.ended.push(Event { token, io, result: Ok(count) });
            drop(hand);
            self.turn();
        }
        sent
    }

    fn ask(&mut self, client: usize, cookie: u64, command: Command, offset: u64, length: u64) {
        let bytes = self.request(client, cookie, command, offset, length);
        assert_eq!(self.send(client, &bytes), bytes.len());
    }

    fn request(&self, client: usize, cookie: u64, command: Command, offset: u64, length: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        Request { cookie, command, offset, length }.encode(self.clients[client].framing, &mut bytes);
        if matches!(command, Command::Write(_)) {
            bytes.resize(bytes.len() + length as usize, cookie as u8);
        }
        bytes
    }

    /// Everything that is sent arrives; what each client was told since the last call.
    fn told(&mut self, client: usize) -> Vec<(u64, Option<Errno>)> {
        loop {
            let mut hand = self.hand.lock().unwrap();
            let Some(at) = hand.begun.iter().position(|(_, io)| matches!(io, Io::Send(..))) else { break };
            let (token, io) = hand.begun.remove(at);
            let Io::Send(socket, mail) = &io else { unreachable!() };
            let (fd, length) = (socket.as_raw_fd(), mail.len());
            let peer = self.clients.iter_mut().rfind(|peer| peer.fd == fd).unwrap();
            mail.rest(0).for_each(|bytes| peer.replies.extend_from_slice(bytes));
            hand.ended.push(Event { token, io, result: Ok(length) });
            drop(hand);
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
                other => panic!("{other:?}"),
            };
            at += used + data;
            told.push((cookie, errno));
        }
        peer.replies.drain(..at);
        told
    }

    /// End every operation on a back end, however many follow.
    fn let_disk_work(&mut self) {
        loop {
            let length = {
                let hand = self.hand.lock().unwrap();
                let Some((_, io)) = hand.begun.iter().find(|(_, io)| is_disk(io)) else { return };
                length_of(io)
            };
            self.end(Ok(length), is_disk);
        }
    }

    /// Operations under way of this kind.
    fn under_way(&self, is: impl Fn(&Io) -> bool) -> usize {
        self.hand.lock().unwrap().begun.iter().filter(|(_, io)| is(io)).count()
    }
}

fn is_write(io: &Io) -> bool {
    matches!(io, Io::Write(..))
}

fn is_sync(io: &Io) -> bool {
    matches!(io, Io::Sync(_))
}

fn is_disk(io: &Io) -> bool {
    !matches!(io, Io::Poll(_) | Io::Receive(..) | Io::Send(..))
}

fn length_of(io: &Io) -> usize {
    match io {
        Io::Read(_, _, parts) | Io::Write(_, _, parts, _) => parts.iter().map(|part| part.length).sum(),
        _ => 0,
    }
}

const WRITE: Command = Command::Write(Persist::Lazily);
const STABLE: Command = Command::Write(Persist::First);

/// A tenant whose start-up flush is done.
fn settled(elevator: &str, depth: u32) -> Rig {
    let mut rig = Rig::new(elevator, depth);
    for tenant in &mut rig.shard.tenants {
        tenant.stability.unsynced = false;
    }
    rig
}

#[test]
fn a_flush_covers_what_other_connections_were_told() {
    let mut rig = settled("noop", 4);
    let (writer, flusher) = (rig.client(0), rig.client(0));
    rig.ask(writer, 1, WRITE, 0, 4096);
    assert!(rig.end(Ok(4096), is_write));
    assert_eq!(rig.told(writer), [(1, None)]);
    rig.ask(flusher, 2, Command::Flush, 0, 0);
    assert_eq!(rig.told(flusher), [], "nothing is stable yet");
    assert!(rig.end(Ok(0), is_sync));
    assert_eq!(rig.told(flusher), [(2, None)]);
}

#[test]
fn a_flush_is_not_answered_by_a_sync_that_began_before_it() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    rig.ask(client, 1, WRITE, 0, 4096);
    rig.end(Ok(4096), is_write);
    rig.ask(client, 2, Command::Flush, 0, 0);
    // Another write is acknowledged while the first sync is under way.
    rig.ask(client, 3, WRITE, 8192, 4096);
    rig.end(Ok(4096), is_write);
    assert_eq!(rig.told(client), [(1, None), (3, None)]);
    rig.ask(client, 4, Command::Flush, 0, 0);
    rig.end(Ok(0), is_sync);
    assert_eq!(rig.told(client), [(2, None)]);
    assert!(rig.end(Ok(0), is_sync), "the second flush has a sync of its own");
    assert_eq!(rig.told(client), [(4, None)]);
}

#[test]
fn a_flush_waits_for_a_sync_under_way_even_if_nothing_was_written_since() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    rig.ask(client, 1, WRITE, 0, 4096);
    rig.end(Ok(4096), is_write);
    rig.ask(client, 2, Command::Flush, 0, 0);
    rig.ask(client, 3, Command::Flush, 0, 0);
    assert_eq!(rig.told(client), [(1, None)]);
    rig.let_disk_work();
    assert_eq!(rig.told(client), [(2, None), (3, None)]);
}

#[test]
fn a_flush_with_nothing_to_make_stable_needs_no_sync() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    rig.ask(client, 1, Command::Flush, 0, 0);
    assert_eq!(rig.under_way(is_sync), 0);
    assert_eq!(rig.told(client), [(1, None)]);
    // But what an earlier server left unsynced does need one.
    let mut fresh = Rig::new("noop", 4);
    let client = fresh.client(0);
    fresh.ask(client, 1, Command::Flush, 0, 0);
    assert_eq!(fresh.under_way(is_sync), 1);
}

#[test]
fn flushes_of_several_clients_and_tenants_coalesce() {
    let mut rig = settled("noop", 1);
    let clients = [rig.client(0), rig.client(0), rig.client(1)];
    for (cookie, client) in (1..).zip(clients) {
        rig.ask(client, cookie, WRITE, 0, 4096);
        rig.let_disk_work();
    }
    // The device is busy: the flushes meet behind a read.
    rig.ask(clients[0], 10, Command::Read, 0, 512);
    for (cookie, client) in (11..).zip(clients) {
        rig.ask(client, cookie, Command::Flush, 0, 0);
    }
    assert!(rig.end(Ok(512), |io| matches!(io, Io::Read(..))));
    assert_eq!(rig.under_way(is_sync), 2, "one sync per file for three flushes");
    rig.let_disk_work();
    for (cookie, client) in (11..).zip(clients) {
        assert_eq!(rig.told(client).last(), Some(&(cookie, None)));
    }
}

#[test]
fn a_tenant_that_flushes_in_a_loop_waits_while_others_want_the_disk() {
    let mut rig = settled("noop", 1);
    let (flusher, other) = (rig.client(0), rig.client(1));
    let flush = |rig: &mut Rig, cookie: u64| {
        rig.shard.tenants[0].stability.unsynced = true;
        rig.ask(flusher, cookie, Command::Flush, 0, 0);
    };
    // Alone: one after the other, without a pause.
    for cookie in 1..4 {
        flush(&mut rig, cookie);
        assert!(rig.end(Ok(0), is_sync));
    }
    flush(&mut rig, 4);
    rig.ask(other, 5, Command::Read, 0, 512);
    std::thread::sleep(Duration::from_millis(50));
    assert!(rig.end(Ok(0), is_sync));
    let until = rig.shard.tenants[0].flushes_from;
    assert!(until >= rig.shard.now + Span::from_ms(25), "as long as the flush took, at equal weights");
    flush(&mut rig, 6);
    assert_eq!((rig.shard.wished.len(), rig.under_way(is_sync)), (0, 0), "the read is under way, the flush waits");
    rig.let_disk_work();
    rig.turn();
    rig.told(other);
    rig.turn();
    assert_eq!(rig.under_way(is_sync), 1, "nobody else wants the disk any more");
    rig.let_disk_work();
    assert_eq!(rig.told(flusher).last(), Some(&(6, None)));
}

#[test]
fn a_sync_that_failed_is_never_forgotten_and_hits_nobody_else() {
    let mut rig = settled("noop", 4);
    let (unlucky, lucky) = (rig.client(0), rig.client(1));
    for client in [unlucky, lucky] {
        rig.ask(client, 1, WRITE, 0, 4096);
        rig.let_disk_work();
    }
    rig.ask(unlucky, 2, Command::Flush, 0, 0);
    assert!(rig.end(Err(5), is_sync));
    rig.ask(lucky, 2, Command::Flush, 0, 0);
    rig.ask(unlucky, 3, Command::Flush, 0, 0);
    rig.let_disk_work();
    assert_eq!(rig.told(lucky), [(1, None), (2, None)]);
    assert_eq!(rig.told(unlucky), [(1, None), (2, Some(Errno::Io)), (3, Some(Errno::Io))]);
}

#[test]
fn a_write_that_must_be_stable_is_written_through() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    rig.ask(client, 1, STABLE, 0, 4096);
    assert_eq!(rig.under_way(|io| matches!(io, Io::Write(_, _, _, Stable::Now))), 1);
    rig.let_disk_work();
    assert_eq!(rig.told(client), [(1, None)]);
    // Zeroes that must be stable are followed by a sync.
    let zeroes = Command::WriteZeroes { persist: Persist::First, holes: Holes::Refused, speed: Speed::Any };
    rig.ask(client, 2, zeroes, 0, 4096);
    assert!(rig.end(Ok(0), |io| matches!(io, Io::Allocate(_, Allocation::Zero, ..))));
    assert_eq!((rig.under_way(is_sync), rig.told(client)), (1, vec![]));
    rig.let_disk_work();
    assert_eq!(rig.told(client), [(2, None)]);
}

#[test]
fn what_the_back_end_says_reaches_the_client_and_is_counted() {
    for (code, errno) in [(5, Errno::Io), (28, Errno::NoSpc), (122, Errno::NoSpc), (61, Errno::Io), (12, Errno::NoMem)]
    {
        let mut rig = settled("mq-deadline", 4);
        let client = rig.client(0);
        rig.ask(client, 1, WRITE, 0, 4096);
        rig.end(Err(code), is_write);
        assert_eq!(rig.told(client), [(1, Some(errno))]);
        assert_eq!(rig.shard.tenants[0].used.errors, 1);
        // A transient error: the next one passes.
        rig.ask(client, 2, WRITE, 0, 4096);
        rig.let_disk_work();
        assert_eq!(rig.told(client), [(2, None)]);
    }
}

#[test]
fn a_short_write_is_tried_once_more_and_is_then_a_full_disk() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    rig.ask(client, 1, WRITE, 0, 8192);
    rig.end(Ok(4096), is_write);
    assert_eq!((rig.told(client), rig.under_way(is_write)), (vec![], 1));
    rig.end(Ok(4096), is_write);
    assert_eq!(rig.told(client), [(1, Some(Errno::NoSpc))]);
}

#[test]
fn zeroes_where_no_file_system_helps_are_written_as_data() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    let zeroes = |speed| Command::WriteZeroes { persist: Persist::Lazily, holes: Holes::Allowed, speed };
    let unsupported = rustix::io::Errno::OPNOTSUPP.raw_os_error();
    for (cookie, speed) in [(1, Speed::Any), (2, Speed::Fast)] {
        rig.ask(client, cookie, zeroes(speed), 4096, 4096);
        assert!(rig.end(Err(unsupported), |io| matches!(io, Io::Allocate(_, Allocation::Punch, ..))));
        assert!(rig.end(Err(unsupported), |io| matches!(io, Io::Allocate(_, Allocation::Zero, ..))));
    }
    rig.let_disk_work();
    let mut told = rig.told(client);
    told.sort_by_key(|&(cookie, _)| cookie);
    assert_eq!(told, [(1, None), (2, Some(Errno::NotSup))]);
    rig.ask(client, 3, Command::Trim(Persist::Lazily), 0, 4096);
    rig.end(Err(unsupported), is_disk);
    assert_eq!(rig.told(client), [(3, None)], "a trim is a hint");
}

#[test]
fn the_device_never_has_more_than_the_depth() {
    for elevator in ["noop", "mq-deadline", "deadline@2.6.33"] {
        let mut rig = settled(elevator, 3);
        let client = rig.client(0);
        let bytes: Vec<u8> = (0..40).flat_map(|n| rig.request(client, n, Command::Read, n * 1_000_448, 4096)).collect();
        rig.send(client, &bytes);
        let mut done = 0;
        while rig.under_way(is_disk) > 0 {
            assert!(rig.under_way(is_disk) <= 3);
            rig.end(Ok(4096), is_disk);
            done += 1;
        }
        assert_eq!((done, rig.told(client).len()), (40, 40));
    }
}

#[test]
fn requests_that_arrive_together_merge_and_are_answered_apart() {
    let mut rig = settled("deadline@2.6.33", 1);
    let client = rig.client(0);
    let bytes: Vec<u8> = (0..5).flat_map(|n| rig.request(client, n, WRITE, n * 4096, 4096)).collect();
    rig.send(client, &bytes);
    // The first went at once or the five are one: either way no more than two operations.
    let before = rig.under_way(is_write);
    rig.let_disk_work();
    assert_eq!(before, 1);
    assert_eq!(rig.told(client).len(), 5);
    assert_eq!(rig.shard.tenants[0].used.writes, 5);
}

#[test]
fn switching_the_scheduler_under_load_loses_nothing() {
    let names: Vec<String> = Catalogue::builtin().entries().iter().map(|entry| entry.name.to_owned()).collect();
    let mut rig = settled("noop", 2);
    let client = rig.client(0);
    let mut expected = Vec::new();
    for (round, name) in (0..).zip(names.iter().cycle().take(3 * names.len())) {
        for n in 0..10 {
            let cookie = round * 10 + n;
            let command = if n % 3 == 0 { WRITE } else { Command::Read };
            rig.ask(client, cookie, command, (cookie * 7919 % 2000) * 512, 512);
            expected.push(cookie);
        }
        let (answer, heard) = std::sync::mpsc::channel();
        rig.order(Order::Ask(Question::Set("queue/scheduler".to_owned(), name.clone()), answer));
        assert_eq!(heard.recv().unwrap(), Ok(String::new()));
        rig.end(Ok(512), is_disk);
    }
    rig.drain();
    let mut told: Vec<u64> = rig.told(client).into_iter().map(|(cookie, errno)| (cookie, errno).0).collect();
    told.sort_unstable();
    assert_eq!(told, expected);
}

impl Rig {
    /// Let the disk work until nothing is left, deadlines included.
    fn drain(&mut self) {
        while !self.shard.queue.queue().requests().is_empty() {
            self.let_disk_work();
            std::thread::sleep(Duration::from_millis(1));
            self.turn();
        }
    }
}

#[test]
fn a_client_that_takes_no_replies_is_not_read_from_for_ever() {
    let memory = 40 << 20;
    let mut rig = Rig::with_memory("noop", 8, memory);
    let client = rig.client(0);
    let read = rig.request(client, 1, Command::Read, 0, 256 << 10);
    let flood = read.repeat(5000);
    let mut taken = 0;
    // Nothing that is sent arrives; the disk works on.
    loop {
        let count = rig.send(client, &flood[taken..]);
        taken += count;
        rig.let_disk_work();
        if count == 0 {
            break;
        }
    }
    assert!(taken < flood.len(), "it was read to the end");
    // And when it takes them after all, it goes on.
    let mut told = 0;
    while told < 5000 {
        taken += rig.send(client, &flood[taken..]);
        rig.let_disk_work();
        let more = rig.told(client).len();
        let c = &rig.shard.connections[0];
        assert!(more > 0, "stuck at {told}: {:?} {} {:?} {}", c.phase, c.under_way, c.reading, c.inbox.unread().len());
        told += more;
    }
    assert_eq!(taken, flood.len());
}

#[test]
fn a_client_that_stops_in_the_middle_of_its_data_stops_nobody_else() {
    let mut rig = Rig::with_memory("noop", 8, 40 << 20);
    let (stalled, other) = (rig.client(0), rig.client(1));
    let write = rig.request(stalled, 1, WRITE, 0, 32 << 20);
    rig.send(stalled, &write[..100_000]);
    rig.ask(other, 2, Command::Read, 0, 4096);
    rig.let_disk_work();
    assert_eq!(rig.told(other), [(2, None)]);
    // It goes: its data were never written, its memory is free.
    let fd = rig.clients[stalled].fd;
    rig.end(Ok(0), |io| matches!(io, Io::Receive(socket, ..) if socket.as_raw_fd() == fd));
    assert_eq!(rig.under_way(is_write), 0);
    let again = rig.client(0);
    rig.ask(again, 3, WRITE, 0, 32 << 20);
    rig.let_disk_work();
    assert_eq!(rig.told(again), [(3, None)]);
}

#[test]
fn a_client_that_vanishes_leaves_nothing_behind() {
    let mut rig = settled("noop", 1);
    let (gone, other) = (rig.client(0), rig.client(1));
    for cookie in 0..20 {
        rig.ask(gone, cookie, WRITE, cookie * 8192, 4096);
    }
    let fd = rig.clients[gone].fd;
    rig.end(Ok(0), |io| matches!(io, Io::Receive(socket, ..) if socket.as_raw_fd() == fd));
    rig.ask(other, 1, Command::Read, 0, 512);
    rig.let_disk_work();
    assert_eq!(rig.told(other), [(1, None)]);
    rig.told(gone);
    assert_eq!((rig.shard.connections.len(), rig.shard.works.len(), rig.shard.pieces.len()), (1, 0, 0));
    assert_eq!(rig.shard.tenants[0].connections, 0);
}

#[test]
fn garbage_closes_its_own_connection_only() {
    let mut rig = settled("noop", 4);
    let (bad, good) = (rig.client(0), rig.client(0));
    rig.send(bad, &[0xff; 64]);
    rig.ask(good, 1, Command::Read, 0, 4096);
    rig.let_disk_work();
    assert_eq!(rig.told(good), [(1, None)]);
    assert_eq!(rig.shard.connections.len(), 1);
}

#[test]
fn caps_hold_reads_back_and_flushes_not() {
    let mut rig = settled("noop", 32);
    let client = rig.client(0);
    rig.shard.answer(&Question::Set("tenants/a/iops".to_owned(), "10".to_owned())).unwrap();
    rig.shard.answer(&Question::Set("tenants/a/burst_ops".to_owned(), "3".to_owned())).unwrap();
    for cookie in 0..8 {
        rig.ask(client, cookie, Command::Read, cookie << 20, 4096);
    }
    assert!(rig.under_way(is_disk) < 8, "a burst of three at ten a second");
    rig.ask(client, 100, Command::Flush, 0, 0);
    assert_eq!(rig.told(client), [(100, None)]);
    while rig.shard.tenants[0].used.reads < 8 {
        rig.let_disk_work();
        rig.told(client);
        std::thread::sleep(Duration::from_millis(1));
        rig.turn();
    }
}

#[test]
fn a_stop_serves_what_is_under_way_and_reads_no_more() {
    let mut rig = settled("noop", 1);
    let client = rig.client(0);
    for cookie in 0..5 {
        rig.ask(client, cookie, WRITE, cookie * 8192, 4096);
    }
    rig.order(Order::Stop);
    assert!(!rig.shard.is_over());
    rig.let_disk_work();
    assert_eq!(rig.told(client).len(), 5);
    let fd = rig.clients[client].fd;
    rig.end(Ok(0), |io| matches!(io, Io::Receive(socket, ..) if socket.as_raw_fd() == fd));
    assert!(rig.shard.is_over());
}

#[test]
fn names_are_those_of_sysfs_and_mistakes_are_told() {
    let mut rig = settled("mq-deadline", 4);
    let get = |rig: &mut Rig, name: &str| rig.shard.answer(&Question::Get(name.to_owned()));
    let set =
        |rig: &mut Rig, name: &str, value: &str| rig.shard.answer(&Question::Set(name.to_owned(), value.to_owned()));
    assert!(get(&mut rig, "queue/scheduler").unwrap().contains("[mq-deadline]"));
    assert_eq!(get(&mut rig, "queue/iosched/read_expire"), Ok("500".to_owned()));
    set(&mut rig, "queue/iosched/read_expire", "100").unwrap();
    assert_eq!(get(&mut rig, "queue/iosched/read_expire"), Ok("100".to_owned()));
    set(&mut rig, "tenants/a/weight", "300").unwrap();
    assert_eq!(rig.shard.queue.queue().groups().get(GroupId(1)).unwrap().weight, 300);
    assert!(set(&mut rig, "tenants/a/weight", "0").unwrap_err().contains("1..=10000"));
    assert!(set(&mut rig, "tenants/a/wieght", "1").unwrap_err().contains("tenants/a/weight"));
    assert!(set(&mut rig, "queue/depth", "1").unwrap_err().contains("read only"));
    assert!(set(&mut rig, "queue/scheduler", "mq-deadlin").unwrap_err().contains("mq-deadline"));
    let all = rig.shard.answer(&Question::List("tenants/b".to_owned())).unwrap();
    assert_eq!(all.lines().count(), 8, "{all}");
}
