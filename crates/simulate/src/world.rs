//! The world connects all parts: it owns them, moves values between them, and is the only place that knows the time.
//!
//! **Order of one moment** Deadlines of queue and elevator (the queue sees to that by itself); the commands that the
//! drive fetches from its submission queues, if it has any; completions of the disk,
//! each followed by a run of the queue and only then by the notification of its submitter, as an interrupt handler
//! starts the next request before the process it woke runs; the host's timers and returning calls; sources, in the
//! order in which they requested the moment; and last the processors that have finished a piece of work choose the
//! next.

use std::collections::VecDeque;

use blksched::author::{Request, RequestId};
use blksched::surroundings::mq::Task;
use blksched::{
    BlockQueue, Delivery, InFlight, Instant, Limits, Listener, Next, Op, Outcome, Priority, Sector, SubmitterId, Tag,
};
use blksched_disks::{Disk, Finished, Stint};
use blksched_workloads::host::fs::FileSystem;
use blksched_workloads::host::{Host, HostKnobs, MemoryDevice, Pages, WriteBack};
use blksched_workloads::{Delivered, Emission, PlannedFile, Source, Trouble, UNCOUNTED};

use crate::disk_number::DiskNumber;
use crate::hash::TraceHash;
use crate::story::{Happening, IoId};
use crate::wakes::Wakes;

mod below;
mod burst;
mod commands;
mod delays;
mod device;
mod flight;
mod kblockd;
mod known;
mod mail;
mod memory;
mod observer;
mod races;
mod stack;
mod still;
mod submission_queues;
mod work;
mod workers;

use device::{Device, DiskSpan};
use flight::{Flight, Flights, Owner};
use mail::{DeliveryQueue, Letter};
pub use observer::Observer;
pub use races::RaceOdds;
use races::Races;
use stack::Stack;
pub use still::StandsStill;
use still::{MOST_STEPS, STEPS_PER_SOURCE};
use work::{CpuWork, Labour};
use workers::Workers;

/// The constant properties of a source.
#[derive(Clone, Copy, Debug)]
struct SourceProperties {
    submitter: SubmitterId,
    sleeps_for_slots: bool,
    takes_completions: bool,
}

/// Workloads, queue and disk at one moment of virtual time.
pub struct World<L: Listener, O: Observer> {
    now: Instant,
    /// The disk that it turns to.
    here: Box<Device<L>>,
    /// All others.
    elsewhere: Vec<Box<Device<L>>>,
    /// Where each disk lies in the common space of sectors, by its number; empty if there is one only.
    spans: Vec<DiskSpan>,
    /// Where the disk that each source used last begins.
    last_used: Vec<Option<Sector>>,
    /// Stacked devices, if there are any.
    stack: Option<Box<Stack>>,
    sources: Vec<Box<dyn Source>>,
    properties: Vec<SourceProperties>,
    host: Host,
    /// Sources that sleep for a request slot.
    asleep: Vec<bool>,
    /// The tasks that sleep in place of each source that never sleeps itself.
    workers: Vec<Workers>,
    processors: u32,
    wakes: Wakes,
    /// Sources that want to be told of others' exits.
    awaiting: Vec<usize>,
    /// Sources that also depend on what happens on other disks.
    joint: Vec<usize>,
    /// Notifications and wake-ups on their way, if processes have delays.
    mail: DeliveryQueue,
    races: Option<Races>,
    /// The host's processors, if I/O costs them anything.
    labour: Option<Box<Labour>>,
    /// The earliest time at which each source may be told of its I/O: not before its last notification.
    heard: Vec<Instant>,
    /// Direct writes are not marked as synchronous.
    direct_in_background: bool,
    /// The number of steps at the present moment.
    steps: u64,
    /// How many sources have not exited.
    alive: usize,
    /// The source of each submitter.
    submitters: Vec<(SubmitterId, usize)>,
    flights: Flights,
    /// For each source, the complete I/Os that it has not taken: their own tags, and their places.
    untaken: Vec<VecDeque<(Tag, u32)>>,
    emissions: Vec<Emission>,
    deliveries: Vec<Delivery>,
    observer: O,
    /// Reports to the listener what the disk's medium does.
    tells_work: Option<fn(&mut L, &Stint)>,
    stints: Vec<Stint>,
    hash: TraceHash,
}

impl<L: Listener, O: Observer> World<L, O> {
    /// A world at its beginning.
    pub fn new(queue: BlockQueue<L>, disk: Box<dyn Disk>, sources: Vec<Box<dyn Source>>, observer: O) -> World<L, O> {
        let mut submitters: Vec<_> = sources.iter().enumerate().map(|(i, source)| (source.submitter(), i)).collect();
        submitters.sort();
        let mut wakes = Wakes::new(sources.len());
        for (index, source) in sources.iter().enumerate() {
            wakes.set(index, source.next());
        }
        let unused = SubmitterId(submitters.last().map_or(0, |(last, _)| last.0.saturating_add(1)));
        let alive = sources.len();
        let properties_of = |source: &dyn Source| SourceProperties {
            submitter: source.submitter(),
            sleeps_for_slots: source.sleeps_for_slots(),
            takes_completions: source.takes_completions(),
        };
        let properties = sources.iter().map(|source| properties_of(&**source)).collect();
        let joint = (0..sources.len()).filter(|&source| sources[source].hangs_on_other_disks()).collect();
        let awaiting = (0..sources.len()).filter(|&source| sources[source].awaits_exits()).collect();
        World {
            alive,
            awaiting,
            joint,
            now: Instant::ZERO,
            here: Device::new(DiskNumber::FIRST, queue, disk),
            elsewhere: Vec::new(),
            spans: Vec::new(),
            last_used: vec![None; alive],
            stack: None,
            host: Host::new(HostKnobs::default(), WriteBack::Stops, unused, Limits::default().max_sectors),
            asleep: vec![false; sources.len()],
            workers: sources.iter().map(|_| Workers::default()).collect(),
            processors: crate::cpu::HostCpus::USUAL,
            heard: vec![Instant::ZERO; sources.len()],
            sources,
            properties,
            wakes,
            mail: DeliveryQueue::default(),
            races: None,
            labour: None,
            direct_in_background: false,
            steps: 0,
            submitters,
            flights: Flights::default(),
            untaken: vec![VecDeque::new(); alive],
            emissions: Vec::new(),
            deliveries: Vec::new(),
            observer,
            tells_work: None,
            stints: Vec::new(),
            hash: TraceHash::default(),
        }
    }

    /// The same with other parameters of the host and another kernel's write-back, for requests of at most
    /// `max_sectors` \[512-byte sectors\].
    pub fn with_host(mut self, knobs: HostKnobs, write_back: WriteBack, max_sectors: u32) -> World<L, O> {
        self.host = Host::new(knobs, write_back, self.host.flusher(), max_sectors);
        self
    }

    /// The same where the pages in memory are of these devices.
    pub fn with_memory_of(mut self, devices: &[MemoryDevice]) -> World<L, O> {
        self.host = self.host.on_several(devices);
        self
    }

    /// The same, where nothing has been written in these pages.
    pub fn with_blank(mut self, blank: &[Pages]) -> World<L, O> {
        blank.iter().for_each(|pages| self.host.add_blank(pages.clone()));
        self
    }

    /// The same with a file system below the host's files, whose threads have the numbers behind the flusher's.
    pub fn with_files(mut self, fs: FileSystem, files: &[PlannedFile]) -> World<L, O> {
        let flusher = self.host.flusher().0;
        self.host = self.host.with_file_system(fs, SubmitterId(flusher + 1), SubmitterId(flusher + 2));
        for file in files {
            self.host.add_next_file(file.pages.clone(), file.known());
        }
        self
    }

    /// The same, where `tell` reports to the queue's listener what the disk's medium does, and for which process.
    pub fn with_work_hook(mut self, tell: fn(&mut L, &Stint)) -> World<L, O> {
        self.everywhere(|world| world.here.disk.watch());
        self.tells_work = Some(tell);
        self
    }

    /// The same under a kernel that treats processes' own writes as write-back: they are not marked as synchronous.
    pub fn with_direct_writes_in_background(mut self, yes: bool) -> World<L, O> {
        self.direct_in_background = yes;
        self
    }

    /// Runs until every source has exited and has its last completion, or nothing more happens, or `end` has come. The
    /// world then stands at that time; no process waits for what the disk still has to write out of its cache.
    ///
    /// # Errors
    /// If time stands still: there are always more steps, and none of them takes any time.
    pub fn run_until(&mut self, end: Instant) -> Result<(), StandsStill> {
        while !self.is_finished() {
            match self.upcoming() {
                Some(now) if now <= end => {
                    if now > self.now {
                        self.steps = 0;
                    }
                    self.now = now;
                }
                Some(_) => {
                    self.now = end;
                    break;
                }
                None => break,
            }
            self.moment()?;
        }
        Ok(())
    }

    /// The next time at which anything happens.
    #[inline]
    pub fn upcoming(&mut self) -> Option<Instant> {
        let host = self.host.next().unwrap_or(Instant::NEVER);
        let mut first = self.wakes.next().min(self.here.upcoming()).min(self.mail.next()).min(host);
        if !self.is_lone() {
            first = first.min(self.elsewhere_upcoming());
        }
        (first < Instant::NEVER).then(|| first.max(self.now))
    }

    /// Something has happened on another disk: sources that depend on it may have another next time.
    pub fn look_again(&mut self) {
        for nth in 0..self.joint.len() {
            self.set_wake(self.joint[nth]);
        }
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Whether every source has exited and nothing is queued.
    pub fn is_finished(&self) -> bool {
        self.alive == 0 && self.is_idle()
    }

    /// What has gone wrong with source number `source` so far.
    pub fn trouble(&self, source: usize) -> Trouble {
        self.sources[source].trouble()
    }

    /// The queue, to inspect or to change between two steps.
    pub fn queue(&mut self) -> &mut BlockQueue<L> {
        &mut self.here.queue
    }

    /// The disk, to inspect.
    pub fn disk(&self) -> &dyn Disk {
        &**self.here.disk
    }

    /// The host's memory, to inspect.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// A hash of everything that the disk was asked to do and did.
    pub fn hash(&self) -> TraceHash {
        self.hash
    }

    /// The observer, to inspect.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Does everything that happens now.
    fn moment(&mut self) -> Result<(), StandsStill> {
        if self.is_lone() {
            self.device_moment()?;
        } else {
            for disk in 0..self.disks() {
                let home = self.turn_to(DiskNumber(disk));
                let done = self.device_moment();
                self.turn_to(home);
                done?;
            }
        }
        while let Some(letter) = self.mail.take(self.now) {
            self.deliver(letter);
            self.step()?;
        }
        if self.stack.is_some() {
            self.stack_moment();
            self.obey_host();
            self.run_touched();
        }
        if self.host.next().is_some_and(|next| next <= self.now) {
            self.host.elapse(self.now);
            if self.obey_host() {
                self.run_queue();
            }
        }
        while let Some(index) = self.wakes.take(self.now) {
            self.take_turn(index);
            self.step()?;
        }
        self.choose_tasks();
        self.step()
    }

    /// Counts a step at this moment; too many are an error.
    fn step(&mut self) -> Result<(), StandsStill> {
        self.steps += 1;
        let most = MOST_STEPS + STEPS_PER_SOURCE * self.sources.len() as u64;
        if self.steps < most { Ok(()) } else { Err(StandsStill { at: self.now, steps: self.steps }) }
    }

    fn deliver(&mut self, letter: Letter) {
        match letter {
            Letter::Run(disk, task) => {
                let home = self.turn_to(disk);
                self.here.queue.run_task(self.now, Task(task));
                self.run_queue();
                self.turn_to(home);
            }
            Letter::Worker(disk) => {
                let home = self.turn_to(disk);
                self.here.workers_called -= 1;
                self.run_worker();
                self.turn_to(home);
            }
            Letter::Done(place) => match (&self.labour, self.flights[place].owner) {
                (Some(_), Owner::Source(source)) => self.toil(CpuWork::Hear { source, place }),
                _ => {
                    self.end_io(place);
                    if self.obey_host() {
                        self.run_queue();
                    }
                }
            },
            Letter::Worked(cpu) => self.worked(cpu),
        }
    }

    /// Lets the queue send what it wants to send, and then others that were given something.
    fn run_queue(&mut self) {
        self.run_here();
        if !self.is_lone() {
            self.run_touched();
        }
    }

    fn run_here(&mut self) {
        loop {
            while let Next::Issue(command) = self.here.queue.next(self.now) {
                self.start(command);
            }
            self.hand_out(None);
            let is_left = self.here.queue.needs_worker() && self.here.workers_called == 0;
            if is_left {
                // No task comes between the one that left it to the worker and the worker.
                self.here.queue.run_worker(self.now);
            }
            if !self.obey_host() && !is_left {
                break;
            }
        }
    }

    fn start(&mut self, token: InFlight) {
        let command = token.command();
        let index = command.rq.index();
        if index >= self.here.issued.len() {
            self.here.issued.resize_with(index + 1, || (Instant::ZERO, None));
        }
        self.here.issued[index] = (self.now, Some(token));
        if let Some(labour) = &mut self.labour {
            labour.issued(self.here.number, command.rq, command.submitter);
        }
        self.hash.issued(self.now, &command);
        if self.here.number == DiskNumber::FIRST {
            self.observer.issued(&command);
        }
        self.tells_start(command);
        self.hand_to_disk(command);
    }

    /// Passes what the disk has reported of its medium's work to the listener that keeps the reasons.
    fn tell_work(&mut self) {
        let Some(tell) = self.tells_work else { return };
        self.here.disk.stints(&mut self.stints);
        let listener = self.here.queue.listener_mut();
        self.stints.drain(..).for_each(|stint| tell(listener, &stint));
    }

    /// The disk is done with a request.
    fn finished(&mut self, finished: Finished) {
        let rq = finished.rq;
        if self.here.submission.is_some() {
            self.fetch_commands();
        }
        let outcome = match finished.outcome {
            blksched_disks::CommandOutcome::Ok => Outcome::Ok,
            blksched_disks::CommandOutcome::Failed(_) => Outcome::Failed,
        };
        self.hash.completed(self.now, rq.index());
        self.here.completions += 1;
        self.here.in_disk += self.now.since(self.here.issued[rq.index()].0);
        self.tells(|| Happening::Served { rq, service: finished.service });
        match &self.labour {
            Some(_) => self.toil(CpuWork::Complete { disk: self.here.number, rq, outcome }),
            None => self.complete(rq, outcome),
        }
    }

    /// The host has noticed it.
    fn complete(&mut self, rq: RequestId, outcome: Outcome) {
        let Request { queued_at, .. } = self.here.queue.requests()[rq];
        let (issued_at, ref mut token) = self.here.issued[rq.index()];
        let token = token.take().unwrap_or_else(|| unreachable!("the disk has {rq:?}"));
        self.here.queue.complete(self.now, token, outcome);
        // The submitters of this request are told after the queue has run.
        self.deliveries.extend(self.here.queue.deliveries());
        let mine = self.deliveries.len();
        if !self.calls_worker() {
            if self.here.queue.needs_worker() {
                self.here.queue.run_worker(self.now);
            }
            while let Next::Issue(command) = self.here.queue.next(self.now) {
                self.start(command);
            }
        }
        self.hand_out(Some((mine, queued_at, issued_at)));
        if self.obey_host() {
            self.run_queue();
        }
    }

    /// Tells the sources. The first `mine` deliveries belong to a request queued and issued at these times.
    #[inline(always)]
    fn hand_out(&mut self, request: Option<(usize, Instant, Instant)>) {
        self.deliveries.extend(self.here.queue.deliveries());
        if !self.deliveries.is_empty() {
            self.hand_out_all(request.unwrap_or((0, self.now, self.now)));
        }
    }

    #[inline(never)]
    fn hand_out_all(&mut self, (mine, queued_at, issued_at): (usize, Instant, Instant)) {
        // Usually a request carries one bio, and no submitter waits for a slot.
        if let (1, [Delivery::Done { tag, outcome }], None) = (mine, &self.deliveries[..], &self.races) {
            let (place, failed) = (tag.0 as u32, *outcome == Outcome::Failed);
            self.deliveries.clear();
            let flight = &mut self.flights[place];
            (flight.queued_at, flight.issued_at, flight.failed) = (queued_at, issued_at, failed);
            return self.end_io(place);
        }
        let mut deliveries = core::mem::take(&mut self.deliveries);
        let lap = self.lap(&deliveries);
        let mut woken = false;
        for (nth, &delivery) in deliveries.iter().enumerate() {
            match delivery {
                Delivery::Done { tag, outcome } => {
                    let flight = &mut self.flights[tag.0 as u32];
                    flight.failed = outcome == Outcome::Failed;
                    (flight.queued_at, flight.issued_at) =
                        if nth < mine { (queued_at, issued_at) } else { (self.now, self.now) };
                    match (lap, flight.owner) {
                        (Some(lap), Owner::Source(source)) => {
                            let heard = &mut self.heard[source as usize];
                            *heard = (*heard).max(self.now + lap.owner);
                            self.mail.post(*heard, Letter::Done(tag.0 as u32));
                        }
                        // Whoever waits for a page is a process that is told, too.
                        (Some(lap), Owner::Host) => {
                            self.mail.post(self.now + lap.owner, Letter::Done(tag.0 as u32));
                        }
                        _ => self.end_io(tag.0 as u32),
                    }
                }
                Delivery::Awake(submitter) => self.wake(submitter),
                Delivery::Runnable(task) => {
                    let delay = self.until_it_runs(lap, core::mem::replace(&mut woken, true));
                    self.mail.post(self.now + delay, Letter::Run(self.here.number, task.0));
                }
            }
        }
        deliveries.clear();
        self.deliveries = deliveries;
    }

    /// Tells an I/O's owner that it is complete.
    fn end_io(&mut self, place: u32) {
        if self.host.file_system().is_some() && self.is_held_by_files(place) {
            return;
        }
        self.tells(|| Happening::Landed { io: IoId(place.into()) });
        let flight = &mut self.flights[place];
        flight.finished_at = self.now;
        let Flight { owner, tag, failed, issued_at, .. } = *flight;
        let source = match owner {
            Owner::Source(source) => source as usize,
            Owner::Host => {
                self.flights.release(place);
                return self.host.completed(self.now, tag, failed, issued_at);
            }
            Owner::Part(_) => return self.part_landed(place),
        };
        let SourceProperties { submitter, takes_completions, .. } = self.properties[source];
        if takes_completions {
            self.untaken[source].push_back((tag, place));
        } else {
            let done = self.flights.release(place).completion(submitter);
            if tag != UNCOUNTED {
                self.observer.completed(self.now, source, &done);
            }
        }
        let next = self.sources[source].done(self.now, tag, failed);
        self.next_turn(source, next);
    }

    /// Whether a process's own I/O is a direct write that the file system is not done with.
    fn is_held_by_files(&mut self, place: u32) -> bool {
        let is_own = matches!(self.flights[place].owner, Owner::Source(_));
        let held = is_own && self.host.landed(self.now, Tag(place.into()));
        if held && self.obey_host() {
            self.run_queue();
        }
        held
    }

    fn tell(&mut self, source: usize, what: Delivered) {
        self.sources[source].delivered(self.now, what);
        self.set_wake(source);
    }

    /// Source number `index` submits something; returns the world's name for it.
    fn begin_io(&mut self, index: usize, tag: Tag, what: (Op, Sector, u64), priority: Priority) -> Tag {
        let (op, start, bytes) = what;
        if tag != UNCOUNTED {
            self.observer.submitted(self.now, index, op, bytes);
        }
        let owner = Owner::Source(index as u32);
        let start = if self.is_lone() { start } else { self.on_disk(start) };
        self.flights.insert(Flight::new(owner, tag, (op, start, bytes), priority, self.now))
    }

    fn pass_on(&mut self, index: usize, to: SubmitterId, word: u64) {
        let from = self.properties[index].submitter;
        let at = self.submitters.binary_search_by_key(&to, |&(id, _)| id);
        let at = at.unwrap_or_else(|_| panic!("{from:?} tells {to:?} something, who does not exist"));
        self.tell(self.submitters[at].1, Delivered::Told { from, word });
    }

    fn exit(&mut self, index: usize) {
        let submitter = self.properties[index].submitter;
        self.alive -= 1;
        if self.alive == 0 {
            self.host.stop();
        }
        let now = self.now;
        self.everywhere(|world| world.here.queue.forget(now, submitter));
        self.observer.exited(self.now, index);
        let mut awaiting = core::mem::take(&mut self.awaiting);
        awaiting.retain(|&other| {
            self.tell(other, Delivered::Exited(submitter));
            self.sources[other].awaits_exits()
        });
        self.awaiting = awaiting;
    }
}
