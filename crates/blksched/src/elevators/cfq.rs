//! CFQ, completely fair queueing, 2.6.31 to 4.20: each process has a queue, and queues have turns at the disk.
//!
//! In layers, each of which knows only those above it in this list:
//!
//! | layer | what it is |
//! |---|---|
//! | `ids`, `rules`, `tunables` | numbers, what differs between eras, knobs |
//! | `state/` | what is remembered of queues, processes, groups and trees |
//! | `decide/` | decisions: pure functions of small views |
//! | `data` | CFQ whole: its state in one place (`cfq_data`) |
//! | `steps/` | what a request's life does to it |
//! | `elevator` | the contract's calls, each a step or two |
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | says what is known of a process, and which queues it uses? | `state/process`, `steps/prepare`, `steps/release` |
//! | says what a queue is, and where it is in its turn? | `state/queue`, `state/slice` |
//! | orders classes and levels, and lifts what must not be waited for? | `elevators/ioprio`, `decide/boost` |
//! | orders queues? | `state/service_trees`, `steps/service_tree` |
//! | shares time between kinds of load? | `state/workload`, `steps/workload` |
//! | says what a group is, and shares the disk? | `state/{groups,group_tree,vdisktime}`, `steps/{groups,isolation}` |
//! | says how long a turn is, and what it costs? | `decide/slice_length`, `decide/charge`, `steps/slice` |
//! | keeps the disk for a queue, or gives it to another? | `decide/select`, `steps/select` |
//! | lets a request go, and how many at a time? | `steps/dispatch`, `decide/{depth,async_ramp,async_share}` |
//! | chooses among a queue's requests? | `elevators/next_request`, `steps/fifo` |
//! | idles? | `decide/idle_window`, `steps/{idle,group_idle,timer}` |
//! | knows how long each process thinks? | `state/think` |
//! | finds cooperators, makes queues one? | `state/{positions,cooperation}`, `steps/{cooperator,merge_split}` |
//! | lets a request go first? | `decide/preempt`, `steps/preempt` |
//! | meets a new request, or one that comes back? | `steps/arrival`, `steps/completion` |
//! | finds out whether the disk queues? | `state/ncq` |
//! | counts time? | `state/clock` |
//! | estimates think time and seeks? | [`estimate`](crate::estimate) |
//! | says what can be switched, and which era has what? | [`rules`], `presets` |
//!
//! `README.md` in this folder tells a request's trip as a story and draws the states.

mod check;
mod data;
mod decide;
mod elevator;
mod ids;
mod presets;
pub mod rules;
mod state;
mod steps;
mod tunables;

pub use data::Cfq;
pub use decide::async_ramp::{Ramp, remaining_slice, since_sync};
pub use decide::slice_length::scaled;
pub use presets::ENTRY;
pub use tunables::CfqTunables;
