//! BFQ, budget fair queueing, as of 6.1 and later: each process has a queue, and queues get shares of the disk's
//! throughput by their weights, one budget of sectors at a time.
//!
//! In layers, each of which knows only those above it in this list:
//!
//! | layer | what it is |
//! |---|---|
//! | `ids`, `links`, `timeouts`, `priority`, `rules`, `tunables` | numbers, lists, times, weights, eras, knobs |
//! | `hierarchy/` | B-WF2Q+ with groups, by itself: entities, service trees, weights; it knows no elevator |
//! | `device/` | knowledge of the device: peak rate, NCQ, budgets |
//! | `state/` | the state of queues and processes |
//! | `decide/` | decisions: pure functions of small views |
//! | `data` | the whole state of BFQ in one place (`bfq_data`) |
//! | `steps/` | the steps of a request's life |
//! | `elevator` | the contract's calls, each a step or two |
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | says what is known of a process, and which queues it uses? | `state/context`, `steps/{prepare,get_queue,exit}` |
//! | says what a queue is? | `state/{queue,sharing,slice,birth}` |
//! | orders classes and levels? | `elevators/ioprio`, `priority` |
//! | orders queues, and lets virtual time pass? | `hierarchy/{entity,service_tree,wf2q}` |
//! | lets groups share? | `hierarchy/{groups,path,pending}`, `steps/moving` |
//! | says how much a slice may serve, and what that costs? | `device/known`, `decide/feedback`, `steps/budget` |
//! | keeps the disk for a queue, or gives it to another? | `decide/select`, `steps/{select,expire}`, `decide/pace` |
//! | idles? | `state/idling`, `steps/{idling,timer,symmetry}`, `hierarchy/weights` |
//! | says how many tags a process may use? | `hierarchy/allowance`, `steps/limit` |
//! | injects other requests meanwhile? | `state/{injection,waking}`, `steps/{injection,waker}` |
//! | raises weights, and excludes queues from raising? | `state/{raising,burst}`, `steps/raising` |
//! | merges and splits queues? | `state/positions`, `steps/{cooperator,merge,split}` |
//! | chooses among a queue's requests? | `elevators/next_request`, `steps/next_request` |
//! | handles a request, a queue becoming busy, or a completion? | `steps/{arrival,idle_busy_switch,busy,completion}` |
//! | learns about queues and the device? | `state/habits`, `steps/{habits,device}`, `device/{peak_rate,ncq}` |
//! | defines the timeouts? | `timeouts` |
//! | says which era has what? | [`rules`], `presets` |
//!
//! `README.md` in this folder gives the overview and draws the states.

mod check;
mod data;
mod decide;
mod device;
mod elevator;
mod hierarchy;
mod ids;
mod links;
mod presets;
mod priority;
pub mod rules;
mod state;
mod steps;
mod timeouts;
mod tunables;

pub use data::Bfq;
pub use presets::ENTRY;
pub use tunables::BfqTunables;
