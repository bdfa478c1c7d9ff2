//! Hierarchical fair queueing: which of the queues in groups gets the next service, so that each gets its share.
//!
//! This is B-WF2Q+ with groups, by itself: it knows queues by their numbers, their weights and what they have been
//! served, and nothing of requests, processes, devices, or of why a queue wants service. It is told when one does
//! ([`Hierarchy::activate_queue`]), when one wants none ([`Hierarchy::deactivate_queue`]) and what one has had
//! ([`Hierarchy::serve_entity`]); it answers which is next ([`Hierarchy::descend`]).
//!
//! **In the kernel** `bfq_sched_data`, and what `bfq-wf2q.c` and the groups of `bfq-cgroup.c` are about.

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
