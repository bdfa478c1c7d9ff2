//! Relations between processes: those that one ends when it exits, those it keeps in step with, those of its group.

use std::collections::BTreeMap;
use std::sync::Arc;

use blksched::{Group, GroupId, SubmitterId};

use crate::cpus::CpuSet;
use crate::fio::files::JobClone;
use crate::fio::process::{EndsProcesses, FlowPlan, Script};
use crate::fio::settings::{ExitWhat, GroupFile, GroupFileWrite};
use crate::plan::{GroupPlan, JobPlan};

/// Tells every process which others it needs to know. `jobs[i]` and `scripts[i]` belong to `clones[i]`.
pub(super) fn acquaint(clones: &[JobClone<'_>], jobs: &[JobPlan], scripts: &mut [Script]) {
    let groups = gathered(jobs.iter().map(|job| (u64::from(job.group), job.submitter)));
    let behind = |script: &Script| (u64::from(script.behind), script.submitter);
    let batches = gathered(scripts.iter().map(behind));
    let all: Arc<[SubmitterId]> = jobs.iter().map(|job| job.submitter).collect();
    let flow_of = |clone: &JobClone<'_>| clone.job.settings.pace.flow.map(|_| clone.job.settings.pace.flow_id);
    let flows = clones.iter().zip(jobs).filter_map(|(clone, job)| Some((flow_of(clone)?, job.submitter)));
    let flows = gathered(flows);
    for ((clone, job), script) in clones.iter().zip(jobs).zip(scripts) {
        let s = &clone.job.settings;
        let at_exit = s.ending.exitall.then(|| match s.ending.exit_what {
            ExitWhat::Group => groups[&u64::from(job.group)].clone(),
            ExitWhat::Stonewall => batches[&u64::from(script.behind)].clone(),
            ExitWhat::All => all.clone(),
        });
        script.ends = EndsProcesses { at_exit, at_error: s.ending.exitall_on_error.then(|| all.clone()) };
        let plan =
            |(weight, id): (u64, u64)| FlowPlan { weight, sleep: s.pace.flow_sleep, members: flows[&id].clone() };
        script.flow = s.pace.flow.zip(flow_of(clone)).map(plan);
    }
}

/// Puts processes into their control groups; a parent comes before its children. The last weight given for a group
/// applies, and the last text for each file, of which [`BY_KEY`] keep the keys that a later text does not name.
/// `cpuset.cpus` of a group holds for those below it, too.
pub(super) fn group(clones: &[JobClone<'_>], jobs: &mut [JobPlan]) -> Vec<GroupPlan> {
    let mut groups: Vec<GroupPlan> = Vec::new();
    let mut sets: Vec<(GroupId, CpuSet)> = Vec::new();
    for (clone, job) in clones.iter().zip(jobs.iter_mut()) {
        let said = &clone.job.settings.ending.cgroup;
        if let Some(name) = said.name.as_ref() {
            job.cgroup = number(&mut groups, name);
            let group = &mut groups[job.cgroup.0 as usize - 1];
            group.weight = said.weight.unwrap_or(group.weight);
        }
        for GroupFile { group, file, text: written, when } in &said.files {
            let Some(name) = group.as_ref().or(said.name.as_ref()) else { continue };
            let of = number(&mut groups, name);
            if file == GroupFile::CPUS {
                sets.retain(|(known, _)| *known != of);
                sets.extend(CpuSet::parse(&written.replace(' ', ",")).map(|set| (of, set)));
                continue;
            }
            let group = &mut groups[of.0 as usize - 1];
            let files = match when {
                GroupFileWrite::Always => &mut group.files,
                GroupFileWrite::IfAsked => &mut group.files_if_asked,
            };
            let known = files.iter().position(|(known, _)| known == file).map(|at| files.remove(at).1);
            let text = known.filter(|_| BY_KEY.contains(&file.as_str())).map(|known| of_both(&known, written));
            files.push((file.clone(), text.unwrap_or_else(|| written.clone())));
        }
    }
    for job in jobs {
        let mut above = job.cgroup;
        while let Some(group) = (above.0 as usize).checked_sub(1).map(|at| &groups[at]) {
            let set = sets.iter().find(|(of, _)| *of == above);
            job.cpus_allowed = set.map_or(job.cpus_allowed, |(_, set)| job.cpus_allowed.within(*set));
            above = group.parent;
        }
    }
    groups
}

/// Files to which keys are written one by one: each holds until it is written again.
const BY_KEY: [&str; 3] = ["io.max", "io.cost.model", "io.cost.qos"];

/// What holds after both texts were written to a file of keys.
fn of_both(before: &str, text: &str) -> String {
    let key = |word: &str| word.split_once('=').map(|(key, _)| key.to_owned());
    let kept = before.split_ascii_whitespace().filter(|word| {
        // A device's number, which comes first and has no key, is said by the later text if at all.
        key(word).is_some_and(|own| text.split_ascii_whitespace().all(|other| key(other).as_ref() != Some(&own)))
    });
    let (device, keys): (Vec<&str>, Vec<&str>) = text.split_ascii_whitespace().partition(|word| key(word).is_none());
    device.into_iter().chain(kept).chain(keys).collect::<Vec<_>>().join(" ")
}

/// The number of the group at `path`, which is created with all its ancestors.
fn number(groups: &mut Vec<GroupPlan>, path: &str) -> GroupId {
    if let Some(at) = groups.iter().position(|group| group.name == path) {
        return GroupId(at as u32 + 1);
    }
    let parent = path.rsplit_once('/').map_or(GroupId::ROOT, |(above, _)| number(groups, above));
    let weight = Group::default().weight;
    groups.push(GroupPlan { name: path.to_owned(), parent, weight, files: Vec::new(), files_if_asked: Vec::new() });
    GroupId(groups.len() as u32)
}

fn gathered(keyed: impl Iterator<Item = (u64, SubmitterId)>) -> BTreeMap<u64, Arc<[SubmitterId]>> {
    let mut members: BTreeMap<u64, Vec<SubmitterId>> = BTreeMap::new();
    for (key, submitter) in keyed {
        members.entry(key).or_default().push(submitter);
    }
    members.into_iter().map(|(key, members)| (key, members.into())).collect()
}
