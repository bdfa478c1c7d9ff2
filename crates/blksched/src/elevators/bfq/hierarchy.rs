//! Hierarchical fair queueing: which of the queues in groups gets the next service, so that each gets its share.
//!
//! This is B-WF2Q+ with groups, by itself: it knows queues by their numbers, weights and received service, and nothing
//! of requests, processes, devices, or of why a queue wants service. It is told when a queue is activated
//! ([`Hierarchy::activate_queue`]), deactivated ([`Hierarchy::deactivate_queue`]) and served
//! ([`Hierarchy::serve_entity`]); it says which queue is next ([`Hierarchy::descend`]).
//!
//! **In the kernel** `bfq_sched_data`, and the subject of `bfq-wf2q.c` and of the groups in `bfq-cgroup.c`.

pub(crate) mod allowance;
pub(crate) mod entity;
pub(crate) mod groups;
pub(crate) mod path;
pub(crate) mod pending;
pub(crate) mod service_tree;
pub(crate) mod weights;
pub(crate) mod wf2q;

pub(crate) use sched_data::Hierarchy;

mod sched_data;
