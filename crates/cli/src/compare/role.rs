//! What a job is for, inferred from how it works: what is better for it follows from that.
//!
//! **Rule** Background: of the idle class, of low weight or priority, or named like a backup. Latency-bound: of the
//! real-time class or a high priority, paced (a rate, think time), or somebody waits for each read or sync (depth 1,
//! at random, or with syncs). Bulk: everything else, which is deep or in order. The first that holds counts.

use blksched::Class;
use blksched_workloads::fio::Order;
use blksched_workloads::{JobPlan, Plan};

/// What counts for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// How long its reads and syncs take.
    Latency,
    /// How much it gets done.
    Bulk,
    /// Nothing, as long as it is not starved.
    Background,
}

/// A background job below this part of what it has under the default counts after all.
pub(crate) const FLOOR: f64 = 0.1;

/// Names of what nobody waits for.
const BACKGROUND: [&str; 8] = ["backup", "scrub", "batch", "background", "archive", "rsync", "resync", "rebuild"];
/// Weights and levels that nobody said.
const USUAL_WEIGHT: u32 = 100;
const USUAL_LEVEL: u8 = 4;

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Latency => "latency-bound",
            Role::Bulk => "bulk",
            Role::Background => "background",
        }
    }

    /// The role of the processes of one row, and why.
    pub(crate) fn of(plan: &Plan, members: &[usize]) -> (Role, &'static str) {
        let job = &plan.jobs[members[0]];
        let weight =
            (job.cgroup.0 as usize).checked_sub(1).and_then(|nth| plan.groups.get(nth)).map(|group| group.weight);
        let best_effort = job.priority.class == Class::BestEffort;
        let name = job.name.to_lowercase();
        let named = |word: &&str| name.contains(*word);
        let deep = job.depth > 1;
        let in_order = job.manner.order == Some(Order::Sequential);
        let known = job.manner.order.is_some();
        match job {
            JobPlan { priority, .. } if priority.class == Class::Idle => (Role::Background, "idle class"),
            _ if weight.is_some_and(|weight| weight < USUAL_WEIGHT) => (Role::Background, "low weight"),
            _ if best_effort && job.priority.level > USUAL_LEVEL => (Role::Background, "low priority"),
            _ if BACKGROUND.iter().any(named) => (Role::Background, "its name"),
            JobPlan { priority, .. } if priority.class == Class::RealTime => (Role::Latency, "real-time class"),
            _ if weight.is_some_and(|weight| weight > USUAL_WEIGHT) => (Role::Latency, "high weight"),
            _ if best_effort && job.priority.level < USUAL_LEVEL => (Role::Latency, "high priority"),
            _ if job.manner.paced => (Role::Latency, "paced"),
            _ if job.manner.syncs && !deep => (Role::Latency, "it waits for its syncs"),
            _ if known && !deep && !in_order && job.manner.reads => (Role::Latency, "it waits for each read"),
            _ if known && !deep && !in_order && !job.is_buffered => (Role::Latency, "it waits for each write"),
            _ if !known => (Role::Bulk, "a program or a trace"),
            _ if deep => (Role::Bulk, "many in flight"),
            _ if in_order => (Role::Bulk, "in order"),
            _ => (Role::Bulk, "memory takes its writes"),
        }
    }
}
