//! The events of world and queue, as one stream in their order.

use std::cell::RefCell;
use std::rc::Rc;

use blksched::author::RequestId;
use blksched::{Bio, Command, Instant, Listener, Op, Reason, Sector, Submitted, SubmitterId};
use blksched_disks::{Activity, Stint};
use blksched_measure::Reasons;
use blksched_workloads::host::HostCall;

use crate::trial::works;

/// The world's name for an I/O under way; used again once it has landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IoId(pub u64);

/// Which way an I/O goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoRoute {
    /// A process's own bio: direct I/O.
    Direct,
    /// A process's call on the host's memory.
    Call,
    /// A bio of the host's memory: for a call, read ahead, or write-back.
    Transfer,
}

/// An I/O at its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The world's name for it.
    pub io: IoId,
    /// Which way it goes.
    pub kind: IoRoute,
    /// The process that asks.
    pub by: SubmitterId,
    /// For what.
    pub op: Op,
    /// Where it begins.
    pub start: Sector,
    /// How long it is \[512-byte sectors\].
    pub sectors: u64,
    /// It needs a flush of the disk's cache, before it or behind it.
    pub is_durable: bool,
}

impl Begun {
    /// A process's own bio.
    pub fn direct(bio: &Bio) -> Begun {
        Begun {
            io: IoId(bio.tag.0),
            kind: IoRoute::Direct,
            by: bio.submitter,
            op: bio.op,
            start: bio.start,
            sectors: u64::from(bio.sectors),
            is_durable: bio.op == Op::Flush || !bio.durability.is_volatile(),
        }
    }

    /// A bio of the host's.
    pub fn transfer(bio: &Bio) -> Begun {
        Begun { kind: IoRoute::Transfer, ..Begun::direct(bio) }
    }

    /// A process's call.
    pub fn call(call: &HostCall) -> Begun {
        Begun {
            io: IoId(call.tag.0),
            kind: IoRoute::Call,
            by: call.submitter,
            op: call.op(),
            start: call.start(),
            sectors: call.bytes() / 512,
            is_durable: false,
        }
    }
}

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Happening {
    /// An I/O begins.
    Began(Begun),
    /// Its process's processor has done what submitting it costs.
    Reached {
        /// Which.
        io: IoId,
    },
    /// Its bio enters the block queue.
    Entered {
        /// The bio; its tag is the I/O's name.
        bio: Bio,
    },
    /// What the queue made of it there and then.
    Taken {
        /// Which.
        io: IoId,
        /// What became of it.
        became: Submitted,
    },
    /// The queue says why something happened.
    Heard(Reason),
    /// A request that the device is just given carries this I/O, or a part of it.
    Carried {
        /// The request.
        rq: RequestId,
        /// Which.
        io: IoId,
    },
    /// The device is given this; what it carries was said before.
    Started {
        /// What.
        command: Command,
    },
    /// The device is done with a request; the queue hears of it now, or once a processor has handled the interrupt.
    Served {
        /// The request.
        rq: RequestId,
        /// Its own part of the disk's work.
        service: Activity,
    },
    /// A part of the disk works for somebody.
    Works {
        /// Which, for whom, from when until when; it may lie ahead.
        stint: Stint,
    },
    /// An I/O is complete, and its owner has heard of it.
    Landed {
        /// Which.
        io: IoId,
    },
}

/// Looks on at a run.
pub trait Onlooker {
    /// `what` happens at `at`.
    fn sees(&mut self, at: Instant, what: &Happening);
}

/// Looks on at queue and world at once.
pub type SharedOnlooker = Rc<RefCell<dyn Onlooker>>;

/// Hears the queue's reasons for the usual books and for an onlooker.
pub struct ReasonTee {
    pub(crate) reasons: Reasons,
    pub(crate) onlooker: SharedOnlooker,
}

impl Listener for ReasonTee {
    fn hear(&mut self, at: Instant, reason: Reason) {
        self.reasons.hear(at, reason);
        self.onlooker.borrow_mut().sees(at, &Happening::Heard(reason));
    }
}

/// Several look on, each in its turn.
pub struct Together(pub Vec<SharedOnlooker>);

impl Onlooker for Together {
    fn sees(&mut self, at: Instant, what: &Happening) {
        self.0.iter().for_each(|onlooker| onlooker.borrow_mut().sees(at, what));
    }
}

/// Hears the queue's reasons and what the disk works for, and keeps the usual books.
pub(crate) trait Hears: Listener + AsRef<Reasons> {
    /// A part of the disk works for somebody.
    fn works(&mut self, stint: &Stint);
}

impl Hears for Reasons {
    fn works(&mut self, stint: &Stint) {
        works(self, stint);
    }
}

impl Hears for ReasonTee {
    fn works(&mut self, stint: &Stint) {
        works(&mut self.reasons, stint);
        self.onlooker.borrow_mut().sees(stint.from, &Happening::Works { stint: *stint });
    }
}

impl AsRef<Reasons> for ReasonTee {
    fn as_ref(&self) -> &Reasons {
        &self.reasons
    }
}
