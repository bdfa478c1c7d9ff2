//! Linux's disk I/O schedulers ("elevators"), outside the kernel, as pure state machines.
//!
//! # The contract
//!
//! *Let what is due happen; change one thing; then, unless the queue is plugged or the device is full, call `dispatch`
//! until it no longer says `Issue`.* Its last answer says why the disk is left alone; `deadline` says when the elevator
//! next wants to be told the time. No clock, no I/O, no callback inside.
//!
//! Four rules, all kept by [`BlockQueue`], so that a driver cannot break them:
//!
//! 1. Before every call, each deadline that has come elapses: earliest first, at its own time, ahead of anything else
//!    of that instant.
//! 2. `dispatch` is called only after a change or an elapsed deadline, never to poll. It must be right with *any*
//!    number of changes between two dispatches.
//! 3. [`Dispatch::Empty`] when nothing is queued; else [`Dispatch::Idle`] when a deadline can change the answer; else
//!    [`Dispatch::Wait`].
//! 4. [`Reason`]s are complete: armed, re-armed (even to the same moment), cancelled, wished a run, and every decision.
//!    The listener changes nothing.
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
//! What one would do wrong does not compile, panics with the reason, or shows: a command is a token that is used up
//! ([`InFlight`]), a burst ends by itself ([`Burst`]), and what a plug holds is said with the moment by which it goes
//! ([`Next::Plugged`]).
//!
//! Whole embedders: `examples/embed.rs` (minimal), `threads.rs` (threads, weights, cancellation, errors) and
//! `tokio_server.rs`. An elevator of your own: `your_own.rs` beside the command line.

#![doc(test(attr(deny(warnings))))]

mod answer;
mod catalogue;
pub mod cgroup;
mod elevator;
pub mod elevators;
mod entry;
pub mod estimate;
mod explain;
mod file_names;
pub mod group;
pub mod index;
mod kernel;
pub mod mechanism;
mod nearest;
mod queue;
mod request;
mod time;
pub mod tunables;
mod utf8;

pub use catalogue::{
    ALIKE, Ahead, Alike, Bound, Built, Catalogue, Choice, Entry, Home, Mechanism, Preset, SpecError, Variant, Wait,
};
pub use elevator::{Admission, Cx, DeviceFacts, Dispatch, Elevator, IdleFor, Insert, Lookup, Neighbours, Run};
pub use explain::{
    BatchEnd, BatchStart, Charged, ClassTurn, DepthChange, DepthRule, Domain, DomainTurn, End, HeldBack, Index,
    Injected, Latency, Listener, NoListener, NotIdled, Preempt, Raised, RaisingEnd, Reason, ServiceType, SliceEnd,
    SliceStart, Unplug, WaitEnd,
};
pub use file_names::{name_of_path, path_of_name, shown_name};
pub use group::{Group, GroupError, Groups};
pub use kernel::{Kernel, KernelError, Kernels};
pub use nearest::nearest;
pub use queue::{
    BlockQueue, Burst, Cancelled, Delivery, DispatchAhead, Driver, FlushCommand, GroupFileError, Kept, Limits, Next,
    Outcome, Plugging, Pool, QueueConfig, Slots, Submitted, WakeRule, Wakes, merge, mq, rq_qos, wbt,
};
pub use request::{
    Bio, Class, Command, Dir, Durability, FlightKey, GroupId, Hints, InFlight, NotInFlight, Op, PerDir, PerWaiter,
    Priority, Request, RequestId, Requests, Sector, Stage, SubmitterId, Table, Tag, Waiter,
};
pub use time::{Instant, Jiffies, Span, SpanError, Tick};
pub use tunables::{Knob, KnobError, KnobValue, Setting, Tunables, Unit};
pub use utf8::{NotUtf8, utf8};
