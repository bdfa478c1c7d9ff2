//! **What for**: the work of a stacked device where a host's processors have to do it: who does which piece, and what
//! comes of it. The host says when a piece is done ([`Volume::toiled`](super::Volume::toiled)).
//!
//! **Rule**: the same workers, thread and order as without processors (`crypt.rs`, `parity.rs`), but nothing ends by
//! the clock alone. A worker or the thread that slept asks for a processor `hop` less the host's switch after it was
//! called, so that on an idle processor it works `hop` after the call. One that has more to do does not sleep between.
//! The thread takes what waits for it, sends it piece by piece, and looks again; its plug is open for each such round.
//! **Origin** as `crypt.rs`; that the thread looks again before it sleeps is MEMORY.
//! **Left out** The processor time of parity itself and of mapping.

use std::collections::{BTreeMap, VecDeque};

use blksched::{Instant, Sector, Span, SubmitterId, Tag};

use super::Below;
use super::crypt::{CryptSpec, CryptWork, Slot};

/// Who does a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doer {
    /// A worker of dm-crypt's workqueue, by its number from 0.
    Worker(u32),
    /// The device's thread.
    Thread,
    /// Whoever is at it: the interrupt that ends a read.
    Here,
    /// Who submits the bio.
    Submitter(SubmitterId),
}

/// A piece of work for a processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Toil {
    /// Who does it.
    pub doer: Doer,
    /// How long it works on data.
    pub takes: Span,
    /// It slept until now.
    pub woken: bool,
    /// The member to which it then submits, and where.
    pub submits: Option<(u32, Sector)>,
    /// The bio that is then complete, and whose process is woken.
    pub completes: Option<Tag>,
    /// For [`Volume::toiled`](super::Volume::toiled).
    pub task: ToilTask,
}

/// What a piece of work was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToilTask {
    /// A bio's data is encrypted or decrypted.
    Crypted {
        /// The bio's number in the device.
        slot: u32,
        /// The worker that did it.
        worker: Option<u32>,
    },
    /// The thread is there.
    Comes,
    /// The thread sends the next part.
    Sends,
}

/// What a device wants of its host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wish {
    /// A piece of work is to be done.
    Toil(Toil),
    /// The thread's plug opens.
    Unplug,
}

/// The data of a bio that is to be worked on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crypting {
    pub slot: Slot,
    pub takes: Span,
    pub completes: Option<Tag>,
}

impl Crypting {
    fn toil(self, doer: Doer, woken: bool) -> Wish {
        let worker = if let Doer::Worker(worker) = doer { Some(worker) } else { None };
        let Crypting { slot, takes, completes } = self;
        Wish::Toil(Toil { doer, takes, woken, submits: None, completes, task: ToilTask::Crypted { slot, worker } })
    }
}

/// Workers and thread on a host's processors.
#[derive(Clone, Debug)]
pub(super) struct Hosted {
    delay: Span,
    idle: Vec<u32>,
    waiting: VecDeque<Crypting>,
    /// Workers that were woken, and when they ask for a processor: in that order, as all take as long.
    woken: VecDeque<(Instant, u32, Crypting)>,
    /// Encrypted writes, by their sectors.
    sorted: BTreeMap<(u64, u64), Slot>,
    order: u64,
    thread_comes: Option<Instant>,
    thread_is_awake: bool,
    held: VecDeque<Below>,
    wishes: VecDeque<Wish>,
}

impl Hosted {
    /// With so many workers, who wake up within `hop`, of which a processor's `switch` is a part.
    pub fn new(workers: u32, hop: Span, switch: Span) -> Hosted {
        Hosted {
            delay: Span::from_ns(hop.as_ns().saturating_sub(switch.as_ns())),
            idle: (0..workers.max(1)).rev().collect(),
            waiting: VecDeque::new(),
            woken: VecDeque::new(),
            sorted: BTreeMap::new(),
            order: 0,
            thread_comes: None,
            thread_is_awake: false,
            held: VecDeque::new(),
            wishes: VecDeque::new(),
        }
    }

    pub fn wish(&mut self) -> Option<Wish> {
        self.wishes.pop_front()
    }

    /// Data is to be worked on.
    pub fn work(&mut self, now: Instant, spec: &CryptSpec, work: CryptWork, by: SubmitterId, crypting: Crypting) {
        let (queued, doer) = match work {
            CryptWork::Encrypt => (spec.write_workqueue, Doer::Submitter(by)),
            CryptWork::Decrypt => (spec.read_workqueue, Doer::Here),
        };
        if !queued {
            self.wishes.push_back(crypting.toil(doer, false));
        } else if let Some(worker) = self.idle.pop() {
            self.woken.push_back((now + self.delay, worker, crypting));
        } else {
            self.waiting.push_back(crypting);
        }
    }

    /// This worker is done with its piece.
    pub fn worked(&mut self, worker: u32) {
        match self.waiting.pop_front() {
            Some(crypting) => self.wishes.push_back(crypting.toil(Doer::Worker(worker), false)),
            None => self.idle.push(worker),
        }
    }

    /// An encrypted write that begins at this sector is for the thread.
    pub fn sort(&mut self, now: Instant, sector: u64, slot: Slot) {
        self.order += 1;
        self.sorted.insert((sector, self.order), slot);
        self.call_thread(now);
    }

    /// All writes that wait for the thread.
    pub fn take_sorted(&mut self) -> impl Iterator<Item = Slot> + use<> {
        core::mem::take(&mut self.sorted).into_values()
    }

    /// There is something to do for the thread.
    pub fn call_thread(&mut self, now: Instant) {
        if !self.thread_is_awake {
            self.thread_comes = self.thread_comes.or(Some(now + self.delay));
        }
    }

    /// When [`Hosted::elapse`] is due.
    pub fn next(&self) -> Option<Instant> {
        self.woken.front().map(|(at, ..)| *at).into_iter().chain(self.thread_comes).min()
    }

    /// Who was called asks for a processor.
    pub fn elapse(&mut self, now: Instant) {
        while let Some((_, worker, crypting)) = self.woken.pop_front_if(|(at, ..)| *at <= now) {
            self.wishes.push_back(crypting.toil(Doer::Worker(worker), true));
        }
        if self.thread_comes.is_some_and(|comes| comes <= now) {
            (self.thread_comes, self.thread_is_awake) = (None, true);
            self.thread(ToilTask::Comes, true, None);
        }
    }

    /// The next part goes out, and what is complete before the one behind it.
    pub fn send(&mut self, out: &mut Vec<Below>) {
        out.extend(self.held.pop_front());
        self.complete(out);
    }

    /// The thread has more to send, or its round is over.
    pub fn goes_on(&mut self, more: &mut Vec<Below>, out: &mut Vec<Below>) -> bool {
        self.held.extend(more.drain(..));
        self.complete(out);
        let Some(Below::Submit { member, bio }) = self.held.front() else { return false };
        let submits = Some((*member, bio.start));
        self.thread(ToilTask::Sends, false, submits);
        true
    }

    pub fn unplug(&mut self) {
        self.wishes.push_back(Wish::Unplug);
    }

    pub fn thread_sleeps(&mut self) {
        self.thread_is_awake = false;
    }

    fn complete(&mut self, out: &mut Vec<Below>) {
        while let Some(done) = self.held.pop_front_if(|below| matches!(below, Below::Complete { .. })) {
            out.push(done);
        }
    }

    fn thread(&mut self, task: ToilTask, woken: bool, submits: Option<(u32, Sector)>) {
        let toil = Toil { doer: Doer::Thread, takes: Span::ZERO, woken, submits, completes: None, task };
        self.wishes.push_back(Wish::Toil(toil));
    }
}
