//! The schedulers that are compared unless others are named.

use blksched::Catalogue;
use blksched_workloads::Plan;

/// Those that a present kernel offers, the given default first, then historical ones; and behind the default those with
/// controllers that the load's groups call for. (Only those in the catalogue.)
pub fn usual(catalogue: &Catalogue, default: &str, plan: &Plan) -> Vec<String> {
    let is_known = |name: &&str| catalogue.entries().iter().any(|entry| entry.name == *name);
    let others = USUAL.into_iter().filter(|name| *name != default);
    let mut names: Vec<String> = std::iter::once(default).chain(others).filter(is_known).map(str::to_owned).collect();
    names.splice(1..1, by_groups(plan).into_iter().filter(|name| catalogue.parse(name).is_ok()));
    names
}

const USUAL: [&str; 6] = ["none", "mq-deadline", "kyber", "bfq", "deadline", "cfq"];

/// Where a load uses control groups: the controller that goes by their weights.
pub const BY_WEIGHT: &str = "none+io.cost";
/// Those that a job file has settings for, each in front of its usual scheduler.
pub const BY_FILE: [&str; 3] = ["none+io.max", "none+io.latency", "mq-deadline+io.prio.class"];

/// The schedulers with controllers in front that a load's groups call for.
pub fn by_groups(plan: &Plan) -> Vec<String> {
    let files = || plan.groups.iter().flat_map(|group| &group.files_if_asked);
    let asked = |name: &&str| files().any(|(file, _)| name.split_once('+').is_some_and(|(_, asked)| asked == file));
    let weight = (!plan.groups.is_empty()).then_some(BY_WEIGHT);
    weight.into_iter().chain(BY_FILE.into_iter().filter(asked)).map(str::to_owned).collect()
}
