//! Who knows whom: whom a process ends when it exits, and with whom it goes in step.

use std::collections::BTreeMap;
use std::sync::Arc;

use blksched::SubmitterId;

use super::JobPlan;
use crate::fio::files::Clone;
use crate::fio::process::{Ends, FlowPlan};
use crate::fio::settings::ExitWhat;

/// Tells every process whom it needs to know. `jobs[i]` is `clones[i]`.
pub(super) fn acquaint(clones: &[Clone<'_>], jobs: &mut [JobPlan]) {
    let groups = gathered(jobs, |job| u64::from(job.group));
    let batches = gathered(jobs, |job| u64::from(job.script.behind));
    let all: Arc<[SubmitterId]> = jobs.iter().map(|job| job.submitter).collect();
    let flow_of = |clone: &Clone<'_>| clone.job.settings.pace.flow.map(|_| clone.job.settings.pace.flow_id);
    let mut flows: BTreeMap<u64, Vec<SubmitterId>> = BTreeMap::new();
    for (clone, job) in clones.iter().zip(&*jobs) {
        if let Some(id) = flow_of(clone) {
            flows.entry(id).or_default().push(job.submitter);
        }
    }
    let flows: BTreeMap<u64, Arc<[SubmitterId]>> =
        flows.into_iter().map(|(id, members)| (id, members.into())).collect();
    for (clone, job) in clones.iter().zip(jobs) {
        let (s, script) = (&clone.job.settings, &mut job.script);
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

fn gathered(jobs: &[JobPlan], key: impl Fn(&JobPlan) -> u64) -> BTreeMap<u64, Arc<[SubmitterId]>> {
    let mut members: BTreeMap<u64, Vec<SubmitterId>> = BTreeMap::new();
    for job in jobs {
        members.entry(key(job)).or_default().push(job.submitter);
    }
    members.into_iter().map(|(key, members)| (key, members.into())).collect()
}
