//! A job's role, inferred from its behaviour; the role determines which figures should improve.
//!
//! **Rule** Background: in the idle class, with a low weight or priority, or named like a backup. Latency-bound: in the
//! real-time class, with a high weight or priority, paced (a rate, think time), its process waits for each read or
//! sync (depth 1, at random, or with syncs), or its I/Os come at recorded moments, so that nothing else can change.
//! Bulk: everything else, that is, deep or sequential jobs. The first that applies counts. A weight has a meaning only
//! relative to the siblings': it is low if it is at most a quarter of the greatest of them, and high if it is the
//! greatest and another is at most half of it; jobs in no group count as one group of weight 100.

use blksched::{Class, Group, GroupId};
use blksched_workloads::fio::OffsetOrder;
use blksched_workloads::{JobPlan, Plan, Syncs};

/// What counts for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// How long its reads and syncs take.
    Latency,
    /// How much it gets done.
    Bulk,
    /// Nothing, unless it is starved.
    Background,
}

/// A background job that falls below this part of its throughput under the default counts after all.
pub const FLOOR: f64 = 0.1;

/// Names of jobs that no user waits for.
const BACKGROUND: [&str; 8] = ["backup", "scrub", "batch", "background", "archive", "rsync", "resync", "rebuild"];
/// The default level.
const USUAL_LEVEL: u8 = 4;

/// What a group's weight says about the jobs in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    Low,
    Usual,
    High,
}

/// The weight beside its siblings', and its ancestors' beside theirs: low if that comes to at most a quarter of the
/// greatest.
fn weight(plan: &Plan, group: GroupId) -> Weight {
    let (mut part, mut stands_out) = (1.0, false);
    let mut at = group;
    while let Some(own) = (at.0 as usize).checked_sub(1).and_then(|nth| plan.groups.get(nth)) {
        let siblings = plan.groups.iter().filter(|other| other.parent == own.parent).map(|other| other.weight);
        let is_loose = own.parent == GroupId::ROOT && plan.jobs.iter().any(|job| job.cgroup == GroupId::ROOT);
        let loose = is_loose.then(|| Group::default().weight);
        let (least, greatest) = siblings.chain(loose).fold((u32::MAX, 0), |(l, g), w| (l.min(w), g.max(w)));
        part *= f64::from(own.weight) / f64::from(greatest);
        stands_out |= greatest >= 2 * least;
        at = own.parent;
    }
    match part {
        part if part <= 0.25 => Weight::Low,
        part if part >= 1.0 && stands_out => Weight::High,
        _ => Weight::Usual,
    }
}

impl Role {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Role::Latency => "latency-bound",
            Role::Bulk => "bulk",
            Role::Background => "background",
        }
    }

    /// The role of the processes of one row, and why.
    pub fn of(plan: &Plan, members: &[usize]) -> (Role, &'static str) {
        let job = &plan.jobs[members[0]];
        let weight = weight(plan, job.cgroup);
        let best_effort = job.priority.class == Class::BestEffort;
        let name = job.name.to_lowercase();
        let named = |word: &&str| name.contains(*word);
        let deep = job.depth > 1;
        let in_order = job.character.order == Some(OffsetOrder::Sequential);
        let known = job.character.order.is_some();
        match job {
            JobPlan { priority, .. } if priority.class == Class::Idle => (Role::Background, "idle class"),
            _ if weight == Weight::Low => (Role::Background, "low weight"),
            _ if best_effort && job.priority.level > USUAL_LEVEL => (Role::Background, "low priority"),
            _ if BACKGROUND.iter().any(named) => (Role::Background, "its name"),
            JobPlan { priority, .. } if priority.class == Class::RealTime => (Role::Latency, "real-time class"),
            _ if weight == Weight::High => (Role::Latency, "high weight"),
            _ if best_effort && job.priority.level < USUAL_LEVEL => (Role::Latency, "high priority"),
            _ if job.character.paced => (Role::Latency, "paced"),
            _ if job.character.syncs != Syncs::Never && !deep => (Role::Latency, "it waits for its syncs"),
            _ if known && !deep && !in_order && job.character.reads => (Role::Latency, "it waits for each read"),
            _ if known && !deep && !in_order && !job.is_buffered => (Role::Latency, "it waits for each write"),
            _ if plan.at_recorded_moments()[members[0]] => (Role::Latency, "its I/Os come at recorded moments"),
            _ if !known => (Role::Bulk, "a program or a trace"),
            _ if deep => (Role::Bulk, "many in flight"),
            _ if in_order => (Role::Bulk, "in order"),
            _ => (Role::Bulk, "memory takes its writes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blksched_workloads::fio::JobFile;

    /// The roles of jobs that all read sequentially with eight in flight, in these groups with these weights.
    fn roles(groups: &[(&str, u32)]) -> Vec<&'static str> {
        let mut text = "[global]\nrw=read\niodepth=8\nioengine=libaio\ndirect=1\nsize=1m\n".to_owned();
        for (nth, (group, weight)) in groups.iter().enumerate() {
            let own = format!("cgroup={group}\ncgroup_weight={weight}\n");
            text += &format!("[job{nth}]\n{}", if group.is_empty() { "" } else { &own });
        }
        let plan = JobFile::parse(&text, "a.fio").expect("it is read").plan(1 << 30).expect("it fits");
        (0..groups.len()).map(|job| Role::of(&plan, &[job]).0.name()).collect()
    }

    #[test]
    fn a_weight_says_something_beside_others_alone() {
        let (high, usual, low) = ("latency-bound", "bulk", "background");
        assert_eq!(roles(&[("web", 1000), ("db", 1000), ("build", 400), ("restore", 100)]), [high, high, usual, low]);
        assert_eq!(roles(&[("a", 500), ("b", 500)]), [usual, usual], "fio's own default for both");
        assert_eq!(roles(&[("a", 300), ("b", 100)]), [high, usual]);
        assert_eq!(roles(&[("a", 1000)]), [usual], "no other to be held against");
        assert_eq!(roles(&[("a", 10), ("", 0)]), [low, usual], "in no group: one of weight 100");
        // A group inside a group of low weight has low weight itself.
        assert_eq!(roles(&[("a/b", 800), ("a", 20), ("c", 100)]), [low, low, high]);
    }
}
