//! CFQ, completely fair queueing, 2.6.31 to 4.20: each process has a queue, and queues have turns at the disk.
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | says what is known of a process, and which queues it uses? | `context` |
//! | says what a queue is? | `queue` |
//! | ranks classes and levels, and lifts who must not be waited for? | `priority` |
//! | orders queues? | `service_tree` |
//! | shares time between kinds of load? | `workload` |
//! | says what a group is, and shares the disk between groups? | `groups`, `vdisktime`, `charge`, `isolation` |
//! | says how long a turn is? | `slice` |
//! | keeps the disk for a queue, or gives it to another? | `select` |
//! | lets a request go, and how many at a time? | `dispatch`, `depth`, `async_ramp` |
//! | chooses among a queue's requests? | `next_request`, `fifo` |
//! | idles? | `idle`, `group_idle` |
//! | knows who pauses for how long? | `think` |
//! | finds who reads close by, and makes queues one? | `cooperator`, `merge_split` |
//! | lets a request go first? | `preempt` |
//! | meets a new request, or one that comes back? | `arrival`, `completion` |
//! | finds out whether the disk queues? | `ncq` |
//! | counts time? | `clock` |
//! | estimates think time and seeks? | [`estimate`](crate::estimate) |
//! | says what can be switched, and which era has what? | `mechanisms`, `presets` |
//!
//! `README.md` in this folder tells the story and draws the states.

mod arrival;
mod async_ramp;
mod charge;
mod clock;
mod completion;
mod context;
mod cooperator;
mod depth;
mod dispatch;
mod elevator;
mod fifo;
mod group_idle;
mod groups;
mod idle;
mod isolation;
mod mechanisms;
mod merge_split;
mod ncq;
mod next_request;
mod preempt;
mod presets;
mod priority;
mod qid;
mod queue;
mod select;
mod service_tree;
mod slice;
mod state;
mod think;
mod tunables;
mod vdisktime;
mod workload;

pub use arrival::{Alias, WhileIdling};
pub use async_ramp::{AsyncDepth, Ramp, remaining_slice, since_sync};
pub use charge::Charge;
pub use clock::Clock;
pub use context::WriteBack;
pub use cooperator::{Cooperation, Seeks};
pub use depth::Depth;
pub use fifo::Fifo;
pub use groups::Grouping;
pub use idle::Idling;
pub use mechanisms::Mechanisms;
pub use ncq::Ncq;
pub use next_request::NextRequest;
pub use preempt::Preemption;
pub use presets::ENTRY;
pub use priority::Boost;
pub use service_tree::Trees;
pub use slice::{Residual, scaled};
pub use state::Cfq;
pub use think::Think;
pub use tunables::CfqTunables;
