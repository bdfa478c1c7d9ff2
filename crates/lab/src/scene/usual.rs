//! The schedulers that are compared unless others are named.

use blksched::Catalogue;
use blksched_workloads::Plan;

/// Those that a present kernel offers, the given default first, then historical ones if they are wanted; behind the
/// default its own smaller changes, and those with controllers that the load's groups call for. (Only those in the
/// catalogue.)
pub fn usual(catalogue: &Catalogue, default: &str, plan: &Plan, historical: bool) -> Vec<String> {
    let is_known = |name: &&str| catalogue.entries().iter().any(|entry| entry.name == *name);
    let old = HISTORICAL.into_iter().filter(|_| historical);
    let others = USUAL.into_iter().filter(|name| *name != default).chain(old);
    let mut names: Vec<String> = std::iter::once(default).chain(others).filter(is_known).map(str::to_owned).collect();
    names.splice(1..1, smaller_changes(default, plan));
    names.splice(1..1, by_groups(plan).into_iter().filter(|name| catalogue.parse(name).is_ok()));
    names
}

/// Changes of the default that are smaller than another scheduler, and may be all that another one's gain comes from:
/// mq-deadline without batches, and no throttling of write-back, which BFQ switches off.
fn smaller_changes(default: &str, plan: &Plan) -> Vec<String> {
    let batches = (default == "mq-deadline").then(|| format!("{default}:fifo_batch=1"));
    let writes_back = plan.jobs.iter().any(|job| job.is_buffered && job.character.writes);
    let throttled = writes_back.then(|| format!("{default}:wbt_lat_usec=0"));
    batches.into_iter().chain(throttled).collect()
}

const USUAL: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
const HISTORICAL: [&str; 2] = ["deadline", "cfq"];

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

#[cfg(test)]
mod tests {
    use super::*;
    use blksched_workloads::fio::JobFile;

    #[test]
    fn the_defaults_own_smaller_changes_are_tried_where_they_can_change_something() {
        let usual = |default: &str, job: &str, historical: bool| {
            let plan = JobFile::parse(&format!("[a]\nsize=1m\n{job}\n"), "a.fio").unwrap().plan(1 << 30).unwrap();
            usual(&Catalogue::builtin(), default, &plan, historical).join(" ")
        };
        assert_eq!(
            usual("mq-deadline", "rw=read\ndirect=1", false),
            "mq-deadline mq-deadline:fifo_batch=1 none kyber bfq"
        );
        assert_eq!(
            usual("mq-deadline", "rw=write", false),
            "mq-deadline mq-deadline:fifo_batch=1 mq-deadline:wbt_lat_usec=0 none kyber bfq"
        );
        assert_eq!(usual("none", "rw=write", false), "none none:wbt_lat_usec=0 mq-deadline kyber bfq");
        assert_eq!(usual("none", "rw=write\ndirect=1", true), "none mq-deadline kyber bfq deadline cfq");
    }
}
