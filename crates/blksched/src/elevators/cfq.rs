//! CFQ, completely fair queueing, 2.6.31 to 4.20: each process has a queue, and queues get slices of the disk's time.
//!
//! In layers, each of which knows only those above it in this list:
//!
//! | layer | what it is |
//! |---|---|
//! | `ids`, `rules`, `tunables` | numbers, what differs between eras, knobs |
//! | `state/` | the state of queues, processes, groups and trees |
//! | `decide/` | decisions: pure functions of small views |
//! | `data` | the whole state of CFQ in one place (`cfq_data`) |
//! | `steps/` | the steps of a request's life |
//! | `elevator` | the contract's calls, each a step or two |
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | says what is known of a process, and which queues it uses? | `state/process`, `steps/prepare`, `steps/release` |
//! | says what a queue is, and where it is in its slice? | `state/queue`, `state/slice` |
//! | orders classes and levels, and boosts queues with metadata? | `elevators/ioprio`, `decide/boost` |
//! | orders queues? | `state/service_trees`, `steps/service_tree` |
//! | shares time between kinds of load? | `state/workload`, `steps/workload` |
//! | says what a group is, and shares the disk? | `state/{groups,group_tree,vdisktime}`, `steps/{groups,isolation}` |
//! | says how long a slice is, and what it costs? | `decide/slice_length`, `decide/charge`, `steps/{slice,charge}` |
//! | keeps the disk for a queue, or gives it to another? | `decide/select`, `steps/select` |
//! | dispatches a request, and how many at a time? | `steps/dispatch`, `decide/{depth,async_ramp,async_share}` |
//! | chooses among a queue's requests? | `elevators/next_request`, `steps/fifo` |
//! | idles? | `state/active`, `decide/idle_window`, `steps/{idle,group_idle,timer}` |
//! | knows each process's think time? | `state/think` |
//! | finds cooperators, and merges queues? | `state/{positions,cooperation}`, `steps/{cooperator,merge_split}` |
//! | preempts? | `decide/preempt`, `steps/preempt` |
//! | handles a new request, or a completion? | `steps/arrival`, `steps/completion` |
//! | finds out whether the disk queues? | `state/ncq` |
//! | counts time? | `state/clock` |
//! | estimates think time and seeks? | [`estimate`](crate::estimate) |
//! | says what can be switched, and which era has what? | [`rules`], `presets` |
//!
//! `README.md` in this folder follows the path of a request and draws the states.

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
