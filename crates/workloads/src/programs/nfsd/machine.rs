//! The machine around the server's threads: the client, the wire, the CPUs and the memory. It reads nothing itself.

use std::collections::{BTreeMap, VecDeque};

use blksched::{Instant, Span, SubmitterId};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::cache::{Cache, Keeping, Looked};
use super::{END, Launch, PageRun};
use crate::Delivered;
use crate::host::PAGE_SECTORS;
use crate::programs::stepper::{Step, Steps};

/// What happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NfsdEvent {
    /// The client's next read arrives.
    Asked,
    /// A thread looks for its data.
    Looks(u32),
    /// A thread's reply is ready to be sent.
    Replies(u32),
    /// A reply has reached the client.
    Landed,
}

/// A thread's read: pages of the file.
#[derive(Clone, Debug)]
struct ThreadRead {
    wanted: core::ops::Range<u64>,
    /// The page it waits for.
    waits_for: Option<u64>,
}

pub(super) struct NfsServer {
    first: SubmitterId,
    /// The file's first page, from the beginning of the disk.
    at: u64,
    pages: u64,
    /// The pages of one read.
    rsize: u64,
    window: u64,
    /// How long a reply takes to be sent.
    wire: Span,
    latency: Span,
    cpu: Span,
    jitter: Span,
    /// A thread stalls once in this many times.
    stall_every: u64,
    stall: Span,
    cache: Cache,
    random: Pcg64Mcg,
    events: BTreeMap<(Instant, u64), NfsdEvent>,
    serial: u64,
    /// The page that the client asks for next.
    next_page: u64,
    /// Replies that have not reached the client.
    in_flight: u64,
    /// Reads that no thread has taken.
    queue: VecDeque<core::ops::Range<u64>>,
    idle: VecDeque<u32>,
    jobs: Vec<Option<ThreadRead>>,
    /// When each CPU is free.
    cpus: Vec<Instant>,
    wire_free: Instant,
    /// Pages that have arrived from the disk.
    arrived: Vec<PageRun>,
    to_tell: VecDeque<(SubmitterId, u64)>,
    started: bool,
    ended: bool,
}

impl NfsServer {
    pub fn of(launch: &Launch<'_>, threads: u32) -> Result<NfsServer, String> {
        let settings = launch.settings;
        let pages = settings.sectors_within("size", 1..=launch.disk_sectors)?.div_ceil(PAGE_SECTORS);
        let rsize = settings.sectors_within("rsize", 1..=256 * PAGE_SECTORS)?.div_ceil(PAGE_SECTORS);
        let at = launch.room("at", pages * PAGE_SECTORS)? / PAGE_SECTORS;
        let read_ahead_kb =
            u32::try_from(settings.count("read_ahead_kb")).map_err(|_| "`read_ahead_kb` is too large")?;
        let keeping = match settings.word("readahead") {
            "copied" => Keeping::Copied,
            _ => Keeping::Shared,
        };
        Ok(NfsServer {
            first: launch.first,
            at,
            pages,
            rsize,
            window: u64::from(settings.some("window", 1 << 16)?),
            wire: settings.span("wire") * rsize / 256,
            latency: settings.span("latency"),
            cpu: settings.span("cpu"),
            jitter: settings.span("jitter"),
            stall_every: settings.count("stall_every"),
            stall: settings.span("stall"),
            cache: Cache::new(pages, read_ahead_kb, keeping, threads),
            random: launch.random(threads, 0),
            events: BTreeMap::new(),
            serial: 0,
            next_page: 0,
            in_flight: 0,
            queue: VecDeque::new(),
            idle: (0..threads).collect(),
            jobs: vec![None; threads as usize],
            cpus: vec![launch.at; settings.some("cpus", 1024)? as usize],
            wire_free: launch.at,
            arrived: Vec::new(),
            to_tell: VecDeque::new(),
            started: false,
            ended: false,
        })
    }

    fn at(&mut self, when: Instant, event: NfsdEvent) {
        self.serial += 1;
        self.events.insert((when, self.serial), event);
    }

    /// The client continues, as far as its window allows.
    fn ask(&mut self, now: Instant) {
        while self.in_flight < self.window && self.next_page < self.pages {
            let end = (self.next_page + self.rsize).min(self.pages);
            self.queue.push_back(self.next_page..end);
            self.next_page = end;
            self.in_flight += 1;
            self.at(now + self.latency, NfsdEvent::Asked);
        }
    }

    fn happen(&mut self, now: Instant, event: NfsdEvent) {
        match event {
            NfsdEvent::Asked => self.take(now),
            NfsdEvent::Looks(thread) => self.look(now, thread),
            NfsdEvent::Replies(thread) => {
                self.wire_free = self.wire_free.max(now) + self.wire;
                self.at(self.wire_free, NfsdEvent::Landed);
                self.idle.push_back(thread);
                self.take(now);
            }
            NfsdEvent::Landed => {
                self.in_flight -= 1;
                self.ask(now);
                self.ended = self.in_flight == 0 && self.next_page == self.pages;
            }
        }
    }

    /// Idle threads take what has arrived, the one that has been idle longest first.
    fn take(&mut self, now: Instant) {
        while !self.idle.is_empty() && self.come_in(now) > 0 {
            let (Some(thread), Some(wanted)) = (self.idle.pop_front(), self.queue.pop_front()) else { return };
            self.jobs[thread as usize] = Some(ThreadRead { wanted, waits_for: None });
            let delay = self.delay();
            self.at(now + delay, NfsdEvent::Looks(thread));
        }
    }

    /// How long a thread needs until it looks for its data.
    fn delay(&mut self) -> Span {
        let ns = -libm::log(1.0 - self.random.random::<f64>()) * self.jitter.as_ns() as f64;
        let stalls = self.stall_every > 0 && self.random.random_range(0..self.stall_every) == 0;
        Span::from_ns(ns as u64) + if stalls { self.stall } else { Span::ZERO }
    }

    /// Reads in the queue that have arrived.
    fn come_in(&self, now: Instant) -> usize {
        let flying = self.events.range((now, u64::MAX)..).filter(|(_, event)| **event == NfsdEvent::Asked).count();
        self.queue.len().saturating_sub(flying)
    }

    fn look(&mut self, now: Instant, thread: u32) {
        let Some(job) = &mut self.jobs[thread as usize] else { return };
        let mut reads = Vec::new();
        match self.cache.look(thread, job.wanted.clone(), &mut reads) {
            Looked::Present => {
                self.jobs[thread as usize] = None;
                let cpu = self.cpus.iter_mut().min().expect("a CPU");
                *cpu = (*cpu).max(now) + self.cpu;
                let ready = *cpu;
                self.at(ready, NfsdEvent::Replies(thread));
            }
            Looked::Waits(page) => job.waits_for = Some(page),
        }
        let to = SubmitterId(self.first.0 + thread);
        let piece = |read: core::ops::Range<u64>| PageRun { page: self.at + read.start, pages: read.end - read.start };
        self.to_tell.extend(reads.into_iter().map(|read| (to, piece(read).word())));
    }

    /// Pages have arrived: the threads that wait for one of them look again.
    fn arrive(&mut self, now: Instant, piece: PageRun) {
        let pages = piece.page - self.at..piece.page - self.at + piece.pages;
        self.cache.arrived(pages.clone());
        for thread in 0..self.jobs.len() {
            if self.jobs[thread].as_ref().and_then(|job| job.waits_for).is_some_and(|page| pages.contains(&page)) {
                self.look(now, thread as u32);
            }
        }
    }
}

impl Steps for NfsServer {
    fn step(&mut self, now: Instant) -> Step {
        if !core::mem::replace(&mut self.started, true) {
            self.ask(now);
        }
        while let Some(piece) = self.arrived.pop() {
            self.arrive(now, piece);
        }
        while let Some(first) = self.events.first_entry().filter(|first| first.key().0 <= now) {
            let event = first.remove();
            self.happen(now, event);
        }
        if let Some((thread, word)) = self.to_tell.pop_front() {
            return Step::Tell(thread, word);
        }
        if self.ended {
            // Each thread is told, then it ends too.
            if self.jobs.pop().is_some() {
                return Step::Tell(SubmitterId(self.first.0 + self.jobs.len() as u32), END);
            }
            return Step::Exit;
        }
        self.events.first_key_value().map_or(Step::Listen, |((at, _), _)| Step::ListenUntil(*at))
    }

    fn hear(&mut self, what: Delivered) {
        if let Delivered::Told { word, .. } = what {
            self.arrived.push(PageRun::of(word));
        }
    }
}
