//! The events of world and queue, as one stream in their order.

use std::cell::RefCell;
use std::rc::Rc;

use blksched::author::RequestId;
use blksched::{Bio, Command, Instant, Listener, Op, Reason, Sector, Submitted, SubmitterId};
use blksched_disks::{Activity, Stint, StintWork};
use blksched_measure::{Reasons, WorksFor};
use blksched_workloads::host::HostCall;

use crate::disk_number::DiskNumber;

/// The world's name for an I/O in flight; reused after it has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IoId(pub u64);

/// Which way an I/O takes.
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
    /// Which way it takes.
    pub kind: IoRoute,
    /// The process that submits it.
    pub by: SubmitterId,
    /// The operation.
    pub op: Op,
    /// Its first sector.
    pub start: Sector,
    /// Its length \[512-byte sectors\].
    pub sectors: u64,
    /// Whether it needs a flush of the disk's cache, before it or after it.
    pub is_durable: bool,
    /// Whether it is a file system's metadata, its log among them: others than its submitter may wait for it.
    pub is_metadata: bool,
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
            is_metadata: bio.hints.meta,
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
            sectors: call.bytes().div_ceil(512),
            is_durable: false,
            is_metadata: false,
        }
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Happening {
    /// An I/O begins.
    Began(Begun),
    /// A stacked device makes this I/O a part of another.
    Parted {
        /// The part.
        part: IoId,
        /// The other.
        of: IoId,
    },
    /// Its process's processor has finished submitting it.
    Reached {
        /// The I/O.
        io: IoId,
    },
    /// Its bio enters the block queue.
    Entered {
        /// The bio; its tag is the I/O's name.
        bio: Bio,
    },
    /// What the queue did with it at once.
    Taken {
        /// The I/O.
        io: IoId,
        /// What became of it.
        became: Submitted,
    },
    /// The queue gives a reason.
    Heard(Reason),
    /// A request that the device is just given carries this I/O, or a part of it.
    Carried {
        /// The request.
        rq: RequestId,
        /// The I/O.
        io: IoId,
    },
    /// The device is given this command; what it carries was reported before.
    Started {
        /// The command.
        command: Command,
    },
    /// The device is done with a request; the queue learns of it now, or once a processor has handled the interrupt.
    Served {
        /// The request.
        rq: RequestId,
        /// The request's own part of the disk's work.
        service: Activity,
    },
    /// A part of the disk works for a process.
    Works {
        /// Which part, for which process, and when; this may be in the future.
        stint: Stint,
    },
    /// From now on, what is said of the queue and of the disk is of this disk.
    Turned {
        /// Its number.
        disk: DiskNumber,
    },
    /// An I/O is complete, and its owner has been told.
    Landed {
        /// The I/O.
        io: IoId,
    },
}

/// Observes a run.
pub trait Onlooker {
    /// `what` happens at `at`.
    fn sees(&mut self, at: Instant, what: &Happening);
}

/// An observer of both queue and world.
pub type SharedOnlooker = Rc<RefCell<dyn Onlooker>>;

/// Passes the queue's reasons to the usual statistics and to an observer.
#[derive(Clone)]
pub struct ReasonTee {
    pub(crate) reasons: Reasons,
    pub(crate) onlooker: SharedOnlooker,
}

impl Listener for ReasonTee {
    fn on_event(&mut self, at: Instant, reason: Reason) {
        self.reasons.on_event(at, reason);
        self.onlooker.borrow_mut().sees(at, &Happening::Heard(reason));
    }
}

/// Several observers, called in turn.
pub struct Together(pub Vec<SharedOnlooker>);

impl Onlooker for Together {
    fn sees(&mut self, at: Instant, what: &Happening) {
        self.0.iter().for_each(|onlooker| onlooker.borrow_mut().sees(at, what));
    }
}

/// Receives the queue's reasons and the disk's work, and keeps the usual statistics.
pub(crate) trait Hears: Listener + AsRef<Reasons> {
    /// A part of the disk works for a process.
    fn works(&mut self, stint: &Stint);
}

/// Adds what the disk's medium does to the reasons.
pub(crate) fn works(reasons: &mut Reasons, stint: &Stint) {
    let work = match stint.work {
        StintWork::Command(rq) => WorksFor::Request(rq),
        StintWork::Cached(submitter) => WorksFor::Cached(submitter),
        StintWork::Upkeep => WorksFor::Upkeep,
    };
    reasons.works(stint.from, stint.until, work);
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
