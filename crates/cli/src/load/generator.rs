//! A lean load generator: one thread, many connections, as little work per request as possible. It works with any NBD
//! server.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool};
use std::time::{Duration, Instant};

use blksched::Span;
use blksched_measure::Histogram;
use blksched_nbd::{Chunk, Command, Opened, Persist, ReplyReader, Request, Uri};
use blksched_serve::client::{Entered, enter};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::time::{ClockId, clock_gettime};

/// How much is received at a time \[bytes\].
const CHUNK: usize = 256 << 10;

/// What to ask.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// The job that is called; `{}` in the export's name stands for the connection's number, from 0.
    pub uri: Uri,
    /// In which order.
    pub order: LoadOrder,
    /// Of 100 requests this many read, the others write.
    pub reads: u32,
    /// How large a request is \[bytes\].
    pub block: u32,
    /// How many requests of a connection are in flight.
    pub depth: u32,
    /// How many connections.
    pub clients: u32,
    /// For how long.
    pub time: Span,
    /// Of the random numbers.
    pub seed: u64,
}

/// The order of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadOrder {
    /// Anywhere.
    Random,
    /// One after the other, each connection from a place of its own.
    Sequential,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// Requests that were answered well.
    pub requests: u64,
    /// Requests that were answered with an error.
    pub errors: u64,
    /// How long it took.
    pub elapsed: Span,
    /// How long requests took.
    pub latency: Histogram,
    /// Our own processor time.
    pub own_cpu: Span,
    /// Why it ended before its time, if it did.
    pub cut_short: Option<String>,
}

/// One connection.
struct LoadClient {
    socket: OwnedFd,
    opened: Opened,
    reader: ReplyReader,
    input: Vec<u8>,
    /// Bytes of data to be dropped.
    skip: usize,
    output: Vec<u8>,
    sent: usize,
    /// When each request in flight was made, by its cookie, and how much it reads.
    slots: Vec<LoadSlot>,
    free: Vec<u32>,
    next: u64,
    numbers: u64,
}

#[derive(Clone, Copy)]
struct LoadSlot {
    since: Instant,
    reads: u64,
}

/// Ask until time is up.
///
/// # Errors
/// If the server cannot be reached or refuses. What ends it later is said in the report.
pub fn load(plan: &LoadPlan) -> Result<LoadReport, String> {
    let mut clients = (0..plan.clients).map(|nth| LoadClient::open(plan, nth)).collect::<Result<Vec<_>, _>>()?;
    let mut report = LoadReport {
        requests: 0,
        errors: 0,
        elapsed: Span::ZERO,
        latency: Histogram::new(),
        own_cpu: Span::ZERO,
        cut_short: None,
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let register = signal_hook::flag::register(signal, stop.clone());
        register.map_err(|error| format!("listening for signals: {error}"))?;
    }
    let (began, cpu) = (Instant::now(), own_cpu());
    let end = began + Duration::from_nanos(plan.time.as_ns());
    while Instant::now() < end && report.cut_short.is_none() {
        if stop.load(atomic::Ordering::Relaxed) {
            report.cut_short = Some("told to stop".to_owned());
        }
        let round = go_round(plan, &mut clients, &mut report);
        report.cut_short = report.cut_short.or(round.err());
    }
    report.elapsed = Span::from_ns(began.elapsed().as_nanos() as u64);
    report.own_cpu = own_cpu().saturating_sub(cpu);
    Ok(report)
}

fn go_round(plan: &LoadPlan, clients: &mut [LoadClient], report: &mut LoadReport) -> Result<(), String> {
    for client in &mut *clients {
        client.fill(plan);
        client.send()?;
    }
    wait(clients)?;
    clients.iter_mut().try_for_each(|client| client.receive(report))
}

fn own_cpu() -> Span {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Span::from_ns(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

fn wait(clients: &[LoadClient]) -> Result<(), String> {
    let events = |client: &LoadClient| match client.output.is_empty() {
        true => PollFlags::IN,
        false => PollFlags::IN | PollFlags::OUT,
    };
    let mut fds: Vec<PollFd<'_>> = clients.iter().map(|client| PollFd::new(&client.socket, events(client))).collect();
    let longest = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    match poll(&mut fds, Some(&longest)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(io::Error::from(error).to_string()),
    }
}

impl LoadClient {
    fn open(plan: &LoadPlan, nth: u32) -> Result<LoadClient, String> {
        let said = |error: io::Error| format!("{}: {error}", plan.uri);
        let export = plan.uri.export.replace("{}", &nth.to_string());
        let Entered { socket, opened, ahead: input } = enter(&Uri { export, ..plan.uri.clone() })?;
        rustix::io::ioctl_fionbio(&socket, true).map_err(|error| said(error.into()))?;
        let blocks = opened.export.size / u64::from(plan.block);
        if blocks == 0 {
            return Err(format!("{}: smaller than a request", plan.uri));
        }
        let slot = LoadSlot { since: Instant::now(), reads: 0 };
        let number = u64::from(nth);
        Ok(LoadClient {
            socket,
            reader: ReplyReader::new(opened.framing),
            opened,
            input,
            skip: 0,
            output: Vec::new(),
            sent: 0,
            slots: vec![slot; plan.depth as usize],
            free: (0..plan.depth).collect(),
            next: blocks * number / u64::from(plan.clients),
            numbers: (plan.seed + number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        })
    }

    /// As many requests as may be in flight.
    fn fill(&mut self, plan: &LoadPlan) {
        if !self.output.is_empty() || self.free.is_empty() {
            return;
        }
        let blocks = self.opened.export.size / u64::from(plan.block);
        let length = u64::from(plan.block);
        let since = Instant::now();
        while let Some(slot) = self.free.pop() {
            let block = match plan.order {
                LoadOrder::Random => self.number() % blocks,
                LoadOrder::Sequential => {
                    self.next = (self.next + 1) % blocks;
                    self.next
                }
            };
            let reads = self.number() % 100 < u64::from(plan.reads);
            let command = if reads { Command::Read } else { Command::Write(Persist::Lazily) };
            self.slots[slot as usize] = LoadSlot { since, reads: if reads { length } else { 0 } };
            let request = Request { cookie: u64::from(slot), command, offset: block * length, length };
            request.encode(self.opened.framing, &mut self.output);
            if !reads {
                self.output.resize(self.output.len() + plan.block as usize, slot as u8);
            }
        }
    }

    fn number(&mut self) -> u64 {
        self.numbers ^= self.numbers << 13;
        self.numbers ^= self.numbers >> 7;
        self.numbers ^= self.numbers << 17;
        self.numbers >> 11
    }

    fn send(&mut self) -> Result<(), String> {
        while self.sent < self.output.len() {
            match send(self.socket.as_fd(), &self.output[self.sent..], SendFlags::NOSIGNAL) {
                Ok(count) => self.sent += count,
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(error) => return Err(io::Error::from(error).to_string()),
            }
        }
        self.output.clear();
        self.sent = 0;
        Ok(())
    }

    fn receive(&mut self, report: &mut LoadReport) -> Result<(), String> {
        let before = self.input.len();
        self.input.resize(before + CHUNK, 0);
        let count = match recv(self.socket.as_fd(), &mut self.input[before..], RecvFlags::empty()) {
            Ok((0, _)) => return Err("the server closed the connection".to_owned()),
            Ok((count, _)) => count,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(error) => return Err(io::Error::from(error).to_string()),
        };
        self.input.truncate(before + count);
        if count > 0 { self.understand(report) } else { Ok(()) }
    }

    fn understand(&mut self, report: &mut LoadReport) -> Result<(), String> {
        let now = Instant::now();
        let mut at = 0;
        loop {
            let skipped = self.skip.min(self.input.len() - at);
            at += skipped;
            self.skip -= skipped;
            let slots = &self.slots;
            let asked = |cookie: u64| slots.get(usize::try_from(cookie).ok()?).map(|slot| slot.reads);
            let Some((used, cookie, chunk)) =
                self.reader.read(&self.input[at..], asked).map_err(|error| error.to_string())?
            else {
                break;
            };
            at += used;
            let (last, failed) = match chunk {
                Chunk::Done(errno) => (true, errno.is_some()),
                Chunk::Data { length, last, .. } => {
                    self.skip = length as usize;
                    (last, false)
                }
                Chunk::Hole { last, .. } | Chunk::Extents { last, .. } => (last, false),
                Chunk::Error(_) => (false, true),
            };
            report.errors += u64::from(failed);
            if last {
                report.requests += u64::from(!failed);
                let took = now.saturating_duration_since(self.slots[cookie as usize].since);
                report.latency.record(Span::from_ns(took.as_nanos() as u64));
                self.free.push(cookie as u32);
            }
        }
        self.input.drain(..at);
        Ok(())
    }
}
