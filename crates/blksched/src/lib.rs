//! Linux's disk I/O schedulers ("elevators"), outside the kernel, as pure state machines.
//!
//! # The contract
//!
//! *First let expired deadlines elapse; then make one change; then, unless the queue is plugged or the device is full,
//! call `dispatch` until it no longer returns `Issue`.* Its last answer says why the disk is left idle; `deadline` says
//! when the elevator next wants to be called. There is no clock, no I/O and no callback inside.
//!
//! There are four rules. [`BlockQueue`] keeps them all, so that a driver cannot break them:
//!
//! 1. Before every call, each expired deadline elapses: earliest first, at its own time, before any other event of that
//!    instant.
//! 2. `dispatch` is called only after a change or an elapsed deadline, never to poll. An elevator must handle *any*
//!    number of changes between two dispatches.
//! 3. The answer is `Dispatch::Empty` if nothing is queued; otherwise `Dispatch::Idle` if a deadline can change the
//!    answer; otherwise `Dispatch::Wait`.
//! 4. [`Reason`]s are complete: a deadline armed, re-armed (even to the same moment) or cancelled, a run requested, and
//!    every decision. The listener changes nothing.
//!
//! # A driver's loop
//!
//! ```
//! use blksched::{Bio, Catalogue, Instant, Limits, Next, Outcome, Sector, SubmitterId};
//!
//! let mut queue = Catalogue::builtin().build("deadline@2.6.33").unwrap().queue(Limits::default(), 1);
//! let now = Instant::ZERO;
//! queue.submit_burst(now, &[Bio::read(1, SubmitterId(7), Sector(4096), 8)]);
//! while let Next::Issue(command) = queue.next(now) {
//!     // … the device works, and answers once for each command: the token goes with the answer …
//!     queue.complete(now, command, Outcome::Ok);
//! }
//! assert_eq!(queue.deliveries().count(), 1);
//! ```
//!
//! Mistakes do not compile, panic with a reason, or become visible: a command is a token that completion consumes
//! ([`InFlight`]), a burst ends by itself ([`Burst`]), and bios held by a plug are reported with the time of their
//! release ([`Next::Plugged`]).
//!
//! An embedder needs the names at the root; the types of reasons for a listener are in [`reasons`], and further
//! settings of a queue are in [`surroundings`].
//!
//! # Features
//!
//! * `elevator-author` (off): the items for writing an elevator (`author`) or a policy (`surroundings::rq_qos`), the
//!   elevators' and the controllers' own modules, the insides of tags and throttling, the tables of releases, structs
//!   that can be built field by field (`Bio`, [`Limits`], [`QueueConfig`]; without the feature a value is made and its
//!   fields are set), and enums that can be matched without `_`. These items follow the elevators' needs and may change
//!   with any release. Without the feature a new kernel, reason or answer breaks nobody.
//!
//! The library needs an allocator but no `std`. A panic in it names a mistake of its driver.
//!
//! Complete embedders: `examples/embed.rs` (minimal), `threads.rs` (threads, weights, cancellation, errors) and
//! `tokio_server.rs`. For an elevator of your own see `your_own.rs` in the examples of the command line.

#![cfg_attr(not(test), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings))))]

extern crate alloc;

/// The page of crates.io: what it shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod answer;
mod catalogue;
#[cfg(feature = "elevator-author")]
#[cfg_attr(docsrs, doc(cfg(feature = "elevator-author")))]
pub mod cgroup;
#[cfg(not(feature = "elevator-author"))]
#[allow(dead_code, unused_imports, reason = "simulators use the rest")]
mod cgroup;
mod elevator;
#[cfg(feature = "elevator-author")]
#[cfg_attr(docsrs, doc(cfg(feature = "elevator-author")))]
pub mod elevators;
#[cfg(not(feature = "elevator-author"))]
#[allow(dead_code, unused_imports, reason = "authors of elevators use the rest")]
mod elevators;
mod entry;
#[cfg(feature = "elevator-author")]
#[cfg_attr(docsrs, doc(cfg(feature = "elevator-author")))]
pub mod estimate;
#[cfg(not(feature = "elevator-author"))]
#[allow(dead_code, unused_imports, reason = "authors of elevators use the rest")]
mod estimate;
mod explain;
mod facts;
pub mod group;
#[cfg(feature = "elevator-author")]
#[cfg_attr(docsrs, doc(cfg(feature = "elevator-author")))]
pub mod index;
#[cfg(not(feature = "elevator-author"))]
#[allow(dead_code, unused_imports, reason = "authors of elevators use the rest")]
mod index;
mod kernel;
#[cfg(feature = "elevator-author")]
#[cfg_attr(docsrs, doc(cfg(feature = "elevator-author")))]
pub mod mechanism;
#[cfg(not(feature = "elevator-author"))]
#[allow(dead_code, unused_imports, reason = "authors of elevators use the rest")]
mod mechanism;
mod nearest;
mod queue;
mod request;
mod time;
pub mod tunables;

// What an embedder needs; the rest is in modules: `author`, `reasons`, `surroundings`, `text`, `tunables`, …
pub use catalogue::{Built, Catalogue, Choice};
pub use explain::{Listener, Reason};
pub use group::{Group, GroupError};
pub use kernel::Kernel;
pub use queue::{
    BlockQueue, Burst, Cancelled, Delivery, Limits, Next, Outcome, Plugging, QueueConfig, Slots, Submitted,
};
pub use request::{
    Bio, Class, Command, Dir, Durability, FlightKey, GroupId, Hints, InFlight, NotInFlight, Op, Priority, Sector,
    SubmitterId, Tag,
};
pub use time::{Instant, Span};

#[cfg(not(feature = "elevator-author"))]
pub(crate) use {mechanism::mechanism, tunables::tunables};

/// What the author of an elevator needs: the trait, its arguments and answers, and its entry in the catalogue.
#[cfg(feature = "elevator-author")]
#[cfg_attr(docsrs, doc(cfg(feature = "elevator-author")))]
pub mod author {
    pub use crate::catalogue::{Ahead, Bound, Entry, Home, Mechanism, Preset, Variant, Wait};
    pub use crate::elevator::{
        Admission, Admits, Cx, DeviceFacts, Dispatch, Elevator, Grouped, IdleFor, Insert, Lookup, Merges, Neighbours,
        Run, Tuned,
    };
    pub use crate::index;
    pub use crate::kernel::Kernels;
    pub use crate::mechanism::Way;
    pub use crate::queue::merge::{self, Merging};
    pub use crate::request::{PerDir, PerWaiter, Request, RequestId, Requests, Stage, Table, Waiter};
    pub use crate::time::{Jiffies, Tick};
}

/// The types of reasons, as a [`Listener`] receives them.
pub mod reasons {
    pub use crate::elevator::IdleFor;
    pub use crate::explain::{
        BatchEnd, BatchStart, Charged, ClassTurn, DepthChange, DepthRule, Domain, DomainTurn, End, HeldBack, Index,
        Injected, Latency, LatencyStatus, NoListener, NotIdled, Preempt, Raised, RaisingEnd, ServiceType, SliceEnd,
        SliceStart, Unplug, WaitEnd,
    };
    pub use crate::request::{RequestId, Waiter};
}

/// Further settings of a queue's surroundings beside [`Limits`]: slots, tags, the device's driver, throttling.
///
/// With `elevator-author` also what it takes to write a policy (`rq_qos`), and the insides of tags and of writeback
/// throttling.
pub mod surroundings {
    pub use crate::cgroup::blk_iocost::Overflows;
    #[cfg(feature = "elevator-author")]
    #[cfg_attr(docsrs, doc(cfg(feature = "elevator-author")))]
    pub use crate::cgroup::blk_ioprio::PrioClass;
    pub use crate::cgroup::blk_throttle::Era as IoMaxEra;
    pub use crate::cgroup::files::FileError;
    #[cfg(feature = "elevator-author")]
    #[cfg_attr(docsrs, doc(cfg(feature = "elevator-author")))]
    pub use crate::cgroup::files::{CostQos, Ctrl, MaxKey, QosKey, Written};
    #[cfg(feature = "elevator-author")]
    #[cfg_attr(docsrs, doc(cfg(feature = "elevator-author")))]
    pub use crate::queue::rq_qos;
    pub use crate::queue::{DispatchAhead, Driver, FlushCommand, GroupFileError, ListedBio, Pool, WakeRule, Wakes};
    #[cfg(feature = "elevator-author")]
    pub use crate::queue::{mq, wbt};
    pub use crate::request::Request;

    /// Tags, as [`Slots`](crate::Slots) names them, and the tasks that sleep for one.
    #[cfg(not(feature = "elevator-author"))]
    pub mod mq {
        pub use crate::queue::mq::{MqEra, TagOrder, Task};
    }

    /// Writeback throttling, to be given to [`BlockQueue::add_policy`](crate::BlockQueue::add_policy).
    #[cfg(not(feature = "elevator-author"))]
    pub mod wbt {
        pub use crate::queue::wbt::{Config, Switch, Throttle};
    }
}

/// Errors in text that people write.
pub mod text {
    pub use crate::catalogue::SpecError;
    /// What the tools print of kernels' and distributions' releases.
    #[cfg(feature = "elevator-author")]
    #[cfg_attr(docsrs, doc(cfg(feature = "elevator-author")))]
    pub use crate::catalogue::{ALIKE, Alike, DISTRIBUTIONS, Distribution, Known};
    pub use crate::kernel::KernelError;
    #[cfg(feature = "elevator-author")]
    #[cfg_attr(docsrs, doc(cfg(feature = "elevator-author")))]
    pub use crate::nearest::nearest;
    pub use crate::time::SpanError;
}
