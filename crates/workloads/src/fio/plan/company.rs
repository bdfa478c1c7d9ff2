//! Who knows whom: whom a process ends when it exits, with whom it goes in step, and in whose group it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use blksched::{Group, GroupId, SubmitterId};

use super::Scripted;
use crate::fio::files::Clone;
use crate::fio::process::{Ends, FlowPlan};
use crate::fio::settings::ExitWhat;
use crate::plan::JobPlan;

/// Tells every process whom it needs to know. `jobs[i]` and `scripts[i]` are `clones[i]`.
pub(super) fn acquaint(clones: &[Clone<'_>], jobs: &[JobPlan], scripts: &mut [Scripted]) {
    let groups = gathered(jobs.iter().map(|job| (u64::from(job.group), job.submitter)));
    let behind = |scripted: &Scripted| (u64::from(scripted.script.behind), scripted.script.submitter);
    let batches = gathered(scripts.iter().map(behind));
    let all: Arc<[SubmitterId]> = jobs.iter().map(|job| job.submitter).collect();
    let flow_of = |clone: &Clone<'_>| clone.job.settings.pace.flow.map(|_| clone.job.settings.pace.flow_id);
    let flows = clones.iter().zip(jobs).filter_map(|(clone, job)| Some((flow_of(clone)?, job.submitter)));
    let flows = gathered(flows);
    for ((clone, job), Scripted { script, .. }) in clones.iter().zip(jobs).zip(scripts) {
        let s = &clone.job.settings;
        let at_exit = s.ending.exitall.then(|| match s.ending.exit_what {
            ExitWhat::Group => groups[&u64::from(job.group)].clone(),
            ExitWhat::Stonewall => batches[&u64::from(script.behind)].clone(),
            ExitWhat::All => all.clone(),
        });
        script.ends = Ends { at_exit, at_error: s.ending.exitall_on_error.then(|| all.clone()) };
        let plan =
            |(weight, id): (u64, u64)| FlowPlan { weight, sleep: s.pace.flow_sleep, members: flows[&id].clone() };
        script.flow = s.pace.flow.zip(flow_of(clone)).map(plan);
    }
}

/// Puts processes into their control groups; answers name and weight of each. The last weight said of a group holds.
pub(super) fn group(clones: &[Clone<'_>], jobs: &mut [JobPlan]) -> Vec<(String, u32)> {
    let mut groups: Vec<(String, u32)> = Vec::new();
    for (clone, job) in clones.iter().zip(jobs) {
        let said = &clone.job.settings.ending.cgroup;
        let Some(name) = said.name.as_ref() else { continue };
        let number = groups.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            groups.push((name.clone(), Group::default().weight));
            groups.len() - 1
        });
        groups[number].1 = said.weight.unwrap_or(groups[number].1);
        job.cgroup = GroupId(number as u32 + 1);
    }
    groups
}

fn gathered(keyed: impl Iterator<Item = (u64, SubmitterId)>) -> BTreeMap<u64, Arc<[SubmitterId]>> {
    let mut members: BTreeMap<u64, Vec<SubmitterId>> = BTreeMap::new();
    for (key, submitter) in keyed {
        members.entry(key).or_default().push(submitter);
    }
    members.into_iter().map(|(key, members)| (key, members.into())).collect()
}
