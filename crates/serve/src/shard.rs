//! A shard: one thread that owns one disk, its clients' sockets, and the block queue between them.
//!
//! **One iteration** Wait for the engine; handle all completed operations (`receive`, `finish`); let time pass (caps,
//! the disk model, the elevator's deadline); let the queue issue requests (`issue`); send and receive on every
//! connection that needs it (`reply`). Nothing else does I/O, and only this loop reads the clock.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use blksched::{Catalogue, Choice, Delivery, InFlight, Instant, Next, Span};
use blksched_disks::Disk;
use blksched_traces::calls::LoggedQueue;

use crate::backend::Place;
use crate::engine::{Engine, EngineEvent, Io, TransferPart};
use crate::memory_back;
use crate::orders::{Client, Order};
use crate::policies::{Setting, WrittenFiles};
use crate::pulse::Pulse;
use crate::record::BlktraceFile;
use crate::tenant::Tenant;
use crate::turns::Turns;

mod admission;
mod auto_depth;
mod cancel;
mod changes;
mod clock;
mod connections;
mod device_time;
mod disconnect;
mod exports;
mod extents;
mod fair;
mod files;
mod finish;
mod flights;
mod flush;
mod handover;
mod health;
mod issue;
mod knobs;
mod metrics;
mod receive;
mod recording;
mod reply;
mod retry;
mod segments;
mod stall;
mod submit;
mod unaligned;
mod work;

use auto_depth::AutoDepth;
pub(crate) use changes::Changes;
use clock::Clock;
use connections::Connections;
use device_time::DeviceTime;
use flights::Flights;
use recording::Recording;
pub(crate) use work::{Piece, Work};
use work::{Requests, Segments};

/// One disk, its tenants and their clients.
pub struct Shard {
    pub(crate) queue: LoggedQueue,
    pub(crate) tenants: Vec<Tenant>,
    pub(crate) elevator: Choice,
    catalogue: Catalogue,
    clock: Clock,
    now: Instant,
    engine: Box<dyn Engine>,
    events: Vec<EngineEvent>,
    connections: Connections,
    requests: Requests,
    segments: Segments,
    /// What keeps the tenants' shares, and which files can be written.
    setting: Setting,
    /// The texts written to the disk's `io.cost.qos` and `io.cost.model`.
    files: WrittenFiles,
    turns: Turns,
    /// The latest time of the next tenant's turn, if the disk waits for the present one.
    turn_at: Option<Instant>,
    device_time: DeviceTime,
    /// The depth of the device; the queue would allow more.
    depth: u32,
    /// Finds the depth; `None` if it is fixed.
    auto_depth: Option<AutoDepth>,
    flights: Flights,
    deliveries: Vec<Delivery>,
    /// Lists for reuse.
    idle_parts: Vec<Vec<TransferPart>>,
    /// A simulated disk in front of the back ends.
    model: Option<Box<dyn Disk>>,
    /// Completed requests that needed no engine.
    done: VecDeque<blksched::author::RequestId>,
    /// Tenants with changes that waited and may now begin.
    changed: Vec<usize>,
    /// Tenants of which something waits for caps, or for its time.
    held_up: Vec<usize>,
    /// When to check for stalled clients; `None` if none can have stalled.
    look: Option<Instant>,
    largest_piece: usize,
    /// When to free memory that idles.
    sweep: Option<Instant>,
    recording: Recording,
    /// Tenants being removed, and the caller that waits for it.
    removals: Vec<(usize, std::sync::mpsc::Sender<Result<String, String>>)>,
    orders: Receiver<Order>,
    wakeup: Arc<OwnedFd>,
    ending: Option<Ending>,
    /// Reports of syncs that failed while an export was being removed.
    losses: (Sender<Loss>, Receiver<Loss>),
    /// Another server has its clients and its files, until one of the two continues with them.
    lent: bool,
    patience: Span,
    outside: Outside,
    pulse: Arc<Pulse>,
}

/// Operations of the disk that the engine has.
#[derive(Clone, Copy, Debug, Default)]
struct Outside {
    /// How many it was ever given.
    given: u64,
    /// How many of them have come back.
    back: u64,
}

/// A place that may have lost its cache, and the error's number.
type Loss = (Place, i32);

/// Memory that was not used for this long is given back.
const IDLE: Span = Span::from_secs(2);
/// A thread that ends turns at least so often, so that it is known to be alive.
const ENDS: Span = Span::from_ms(200);

/// The end of a shard.
struct Ending {
    /// Clients that are not done by then are disconnected.
    by: Instant,
    /// What happens to the others.
    how: How,
}

/// What happens to clients when a shard ends.
enum How {
    /// They must reconnect.
    Over,
    /// Another server continues with them.
    HandOver(std::sync::mpsc::Sender<Vec<Client>>),
}

/// The purpose of an operation of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Wakeup,
    Receive(usize),
    Send(usize),
    Disk(u32),
    Extents(u32),
    Hangup(usize),
}

impl Token {
    fn pack(self) -> u64 {
        match self {
            Token::Wakeup => 0,
            Token::Receive(at) => 1 | (at as u64) << 3,
            Token::Send(at) => 2 | (at as u64) << 3,
            Token::Disk(rq) => 3 | u64::from(rq) << 3,
            Token::Extents(work) => 4 | u64::from(work) << 3,
            Token::Hangup(at) => 5 | (at as u64) << 3,
        }
    }

    fn unpack(token: u64) -> Token {
        let number = token >> 3;
        match token & 7 {
            0 => Token::Wakeup,
            1 => Token::Receive(number as usize),
            2 => Token::Send(number as usize),
            3 => Token::Disk(number as u32),
            4 => Token::Extents(number as u32),
            _ => Token::Hangup(number as usize),
        }
    }
}

/// The parts of a shard.
pub(crate) struct Parts {
    pub(crate) queue: LoggedQueue,
    pub(crate) elevator: Choice,
    pub(crate) catalogue: Catalogue,
    pub(crate) depth: u32,
    pub(crate) tenants: Vec<Tenant>,
    pub(crate) setting: Setting,
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) model: Option<Box<dyn Disk>>,
    pub(crate) largest_piece: usize,
    pub(crate) trace: Option<BlktraceFile>,
    pub(crate) orders: Receiver<Order>,
    pub(crate) wakeup: Arc<OwnedFd>,
    pub(crate) patience: Span,
    pub(crate) pulse: Arc<Pulse>,
}

impl Shard {
    pub(crate) fn new(parts: Parts) -> Shard {
        let Parts { queue, elevator, catalogue, tenants, setting, engine, model, .. } = parts;
        let Parts { depth, largest_piece, trace, orders, wakeup, patience, pulse, .. } = parts;
        let config = queue.header().queue;
        let mut shard = Shard {
            queue,
            tenants,
            elevator,
            catalogue,
            clock: Clock::start(),
            setting,
            files: WrittenFiles::default(),
            turns: Turns::new(config.rotational),
            turn_at: None,
            device_time: DeviceTime::default(),
            depth,
            auto_depth: None,
            now: Instant::ZERO,
            engine,
            events: Vec::new(),
            connections: Connections::default(),
            requests: Requests::default(),
            segments: Segments::default(),
            flights: Flights::default(),
            deliveries: Vec::new(),
            idle_parts: Vec::new(),
            model,
            done: VecDeque::new(),
            changed: Vec::new(),
            held_up: Vec::new(),
            look: None,
            sweep: None,
            largest_piece,
            recording: Recording::new(trace),
            removals: Vec::new(),
            losses: channel(),
            orders,
            wakeup,
            ending: None,
            lent: false,
            patience,
            outside: Outside::default(),
            pulse,
        };
        for at in 0..shard.tenants.len() {
            shard.tell_weight(at);
        }
        shard.listen_for_orders();
        shard
    }

    /// Sets knobs of the elevator.
    pub(crate) fn set_knobs(&mut self, knobs: &[(String, i64)]) -> Result<(), String> {
        knobs.iter().try_for_each(|(knob, raw)| self.queue.set(self.now, knob, *raw).map_err(|e| e.to_string()))
    }

    /// Serves until told to stop and all clients have gone.
    ///
    /// # Errors
    /// If the engine fails.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        loop {
            while !self.is_over() {
                self.turn()?;
            }
            self.sync_everything(|file| rustix::fs::fdatasync(file))?;
            // What is left is its thread's own: giving back a large export's memory takes its time.
            self.pulse.beat(self.outside.back, self.awaits_sync());
            match self.ending.take() {
                Some(Ending { how: How::HandOver(heir), .. }) => self.hand_over(&heir),
                _ => return Ok(()),
            }
        }
    }

    fn turn(&mut self) -> io::Result<()> {
        let timeout = self.timeout();
        let mut events = core::mem::take(&mut self.events);
        self.engine.wait(timeout, &mut events)?;
        self.now = self.clock.now().max(self.now);
        self.device_time.look_up(self.now);
        if !events.is_empty() {
            self.sweep.get_or_insert(self.now + IDLE);
        }
        for event in events.drain(..) {
            self.handle(event);
        }
        self.events = events;
        self.let_time_pass();
        self.run_queue();
        self.look_after_connections();
        // Freed memory admits requests that waited for it.
        self.run_queue();
        if !self.removals.is_empty() {
            self.end_removals();
        }
        if self.ending.is_some() {
            self.pulse.beat(self.outside.back, self.awaits());
        }
        Ok(())
    }

    /// The longest time to wait.
    fn timeout(&mut self) -> Option<Duration> {
        if !self.done.is_empty() || self.connections.are_dirty() || !self.changed.is_empty() {
            return Some(Duration::ZERO);
        }
        let now = self.now;
        let tenants = &mut self.tenants;
        let held_up = self.held_up.iter().filter_map(|&at| tenants[at].goes_on(now)).min();
        let model = self.model.as_ref().and_then(|model| model.next());
        let ending = self.ending.as_ref().map(|ending| ending.by.min(now + ENDS));
        // While the device is busy, the thread looks up now and then, to know its own lateness from the device's.
        let beat = self.device_time.is_busy().then_some(self.now + device_time::BEAT);
        let wakes = [self.queue.deadline(), held_up, model, self.look, self.turn_at, ending, beat, self.sweep];
        let next = wakes.into_iter().flatten().min()?;
        Some(Duration::from_nanos(next.since(self.clock.now()).as_ns()))
    }

    fn handle(&mut self, event: EngineEvent) {
        let token = Token::unpack(event.token);
        self.outside.back += u64::from(matches!(token, Token::Disk(_) | Token::Extents(_)));
        match token {
            Token::Wakeup => self.carry_out_orders(),
            Token::Receive(at) => self.received(at, event),
            Token::Send(at) => self.sent(at, event),
            Token::Disk(rq) => self.disk_did(rq, event),
            Token::Extents(work) => self.extents_known(work, event),
            Token::Hangup(at) => self.hung_up(at),
        }
    }

    fn let_time_pass(&mut self) {
        for at in core::mem::take(&mut self.held_up) {
            self.open_gate(at);
            self.release_flushes(at);
            self.hold_up(at);
        }
        self.finish_modelled();
        if self.queue.deadline().is_some_and(|deadline| deadline <= self.now) {
            self.queue.elapse(self.now);
        }
        self.cut_off_the_stalled();
        if self.sweep.is_some_and(|sweep| sweep <= self.now) {
            let freed = self.tenants.iter_mut().map(|tenant| tenant.pool.sweep()).sum();
            let keeps = self.tenants.iter().any(|tenant| tenant.pool.keeps_some());
            self.sweep = keeps.then_some(self.now + IDLE);
            memory_back::freed(freed);
        }
    }

    /// Returns completed requests, and lets the queue send what it wants to send.
    fn run_queue(&mut self) {
        loop {
            if !self.done.is_empty() {
                while let Some(rq) = self.done.pop_front() {
                    self.complete(rq);
                }
                self.hand_out();
            }
            self.let_changes_begin();
            match self.next_command() {
                Some(command) => self.start(command),
                _ if self.take_turns() || !self.done.is_empty() => {}
                _ => return,
            }
        }
    }

    /// The queue's next command, if the device may have more.
    fn next_command(&mut self) -> Option<InFlight> {
        let in_flight = self.queue.queue().in_flight();
        // What is lent is not ours to write.
        if self.lent {
            return None;
        }
        // A queue that is full by its own count may still look ahead.
        if in_flight >= self.depth && in_flight < self.queue.header().queue.depth {
            return None;
        }
        match self.queue.next(self.now) {
            Next::Issue(command) => Some(command),
            _ => None,
        }
    }

    fn listen_for_orders(&mut self) {
        self.engine.submit(Token::Wakeup.pack(), Io::Poll(self.wakeup.clone()));
    }

    fn carry_out_orders(&mut self) {
        let _ = rustix::io::read(&self.wakeup, &mut [0; 8]);
        while let Ok((place, code)) = self.losses.1.try_recv() {
            self.lost(&place, code, None);
        }
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Attach(client) => self.attach(client),
                Order::Ask(question, answer) => {
                    // The caller has gone: drop the answer.
                    let _ = answer.send(self.answer(&question));
                }
                Order::Copy(answer) => drop(answer.send(Box::new(self.figures()))),
                Order::Change(change, answer) => self.change(change, answer),
                Order::Stop => self.stop(How::Over),
                Order::HandOver(heir) => self.stop(How::HandOver(heir)),
                Order::GoOn => self.go_on(),
                Order::Leave => self.leave_handed_over(),
            }
        }
        self.listen_for_orders();
    }

    fn is_over(&self) -> bool {
        let Some(Ending { by, .. }) = &self.ending else { return false };
        let idle = self.connections.all_are_quiet() && (self.lent || self.queue.queue().requests().is_empty());
        // The device completes what it has, since its memory is lent.
        idle || (self.now >= *by && self.queue.queue().in_flight() == 0)
    }

    /// At the end, makes everything that was acknowledged stable. What cannot be is logged, and is the error; the
    /// others are made stable nevertheless.
    fn sync_everything(&mut self, mut sync: impl FnMut(&OwnedFd) -> rustix::io::Result<()>) -> io::Result<()> {
        let mut all = Ok(());
        for at in 0..self.tenants.len() {
            let tenant = &self.tenants[at];
            if let crate::backend::Store::File(file, _) = &tenant.backend.store
                && tenant.stability.unsynced
                && !tenant.is_read_only()
            {
                self.outside.given += 1;
                self.pulse.beat(self.outside.back, self.awaits_sync());
                let synced = sync(file);
                // One that comes back is a sign of life, however many are left.
                self.outside.back += 1;
                match synced {
                    // What a next server writes is its own to make stable.
                    Ok(()) => self.tenants[at].stability.unsynced = false,
                    Err(error) => {
                        self.sync_failed(at, error.raw_os_error());
                        all = all.and(Err(error.into()));
                    }
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests;
