//! A control group under an `io.max`, and the same run with more of it or without.

use std::sync::Arc;

use blksched::GroupId;
use blksched_simulate::Trial;
use blksched_workloads::Plan;

const FILE: &str = "io.max";

/// A group that has a cap of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Capped {
    /// Its place among the plan's groups.
    nth: usize,
}

impl Capped {
    /// All of a plan.
    pub(super) fn all(plan: &Plan) -> impl Iterator<Item = Capped> {
        (0..plan.groups.len()).filter_map(|nth| Capped::own(plan, nth))
    }

    /// The cap that holds this group: its own, or that of the nearest group above it.
    pub(super) fn above(plan: &Plan, group: GroupId) -> Option<Capped> {
        let mut group = group;
        loop {
            let nth = (group.0 as usize).checked_sub(1)?;
            if let Some(own) = Capped::own(plan, nth) {
                return Some(own);
            }
            group = plan.groups.get(nth)?.parent;
        }
    }

    fn own(plan: &Plan, nth: usize) -> Option<Capped> {
        plan.groups.get(nth)?.files.iter().any(|(name, _)| name == FILE).then_some(Capped { nth })
    }

    /// The group's path.
    pub(super) fn name(self, plan: &Plan) -> &str {
        &plan.groups[self.nth].name
    }

    /// The cap as it was written, line by line.
    pub(super) fn text(self, plan: &Plan) -> String {
        let lines = plan.groups[self.nth].files.iter().filter(|(name, _)| name == FILE);
        lines.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The trial without this cap.
    pub(super) fn lifted(self, trial: &Trial) -> Trial {
        let mut plan = (*trial.plan).clone();
        plan.groups[self.nth].files.retain(|(name, _)| name != FILE);
        Trial { plan: Arc::new(plan), ..trial.clone() }
    }

    /// The trial with four times as much, in each line; `None` if the cap has no number.
    pub(super) fn raised(self, trial: &Trial) -> Option<(String, Trial)> {
        let plan = self.with_more(&trial.plan)?;
        Some((self.text(&plan), Trial { plan: Arc::new(plan), ..trial.clone() }))
    }

    fn with_more(self, plan: &Plan) -> Option<Plan> {
        let mut plan = plan.clone();
        let mut is_raised = false;
        for (_, text) in plan.groups[self.nth].files.iter_mut().filter(|(name, _)| name == FILE) {
            if let Some(more) = raised(text) {
                (*text, is_raised) = (more, true);
            }
        }
        is_raised.then_some(plan)
    }
}

/// Four times each number; `None` if there is none.
fn raised(text: &str) -> Option<String> {
    let word = |word: &str| {
        let (key, value) = word.split_once('=')?;
        let (value, unit) = match value.strip_suffix('%') {
            Some(percent) => (percent, "%"),
            None => (value, ""),
        };
        Some(format!("{key}={}{unit}", value.parse::<u64>().ok()?.checked_mul(4)?))
    };
    let words = text.split_ascii_whitespace();
    let found = words.clone().any(|one| word(one).is_some());
    found.then(|| words.map(|one| word(one).unwrap_or_else(|| one.to_owned())).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use blksched_workloads::fio::JobFile;

    #[test]
    fn each_number_of_a_cap_is_four_times_as_much() {
        assert_eq!(raised("wbps=100 riops=max wiops=5"), Some("wbps=400 riops=max wiops=20".to_owned()));
        assert_eq!(raised("wbps=25%"), Some("wbps=100%".to_owned()));
        assert_eq!((raised("wbps=max"), raised("")), (None, None));
    }

    #[test]
    fn each_line_of_a_cap_is_raised() {
        let job = "[a]\nrw=write\nsize=1m\ncgroup=pod\n; blksched: cgroup_files=io.max: 8:0 wbps=9\n";
        let mut plan = JobFile::parse(job, "a").unwrap().plan(1 << 24).unwrap();
        let capped = Capped::all(&plan).next().expect("pod has a cap");
        plan.groups[0].files.extend(["wiops=5", "wbps=max"].map(|text| (FILE.to_owned(), text.to_owned())));
        let more = capped.with_more(&plan).expect("there are numbers");
        assert_eq!(capped.text(&more), "8:0 wbps=36, wiops=20, wbps=max");
        plan.groups[0].files.retain(|(_, text)| text.ends_with("max"));
        assert!(capped.with_more(&plan).is_none());
    }

    #[test]
    fn a_group_without_a_cap_is_under_the_one_above_it() {
        let job = "[a]\nrw=read\nsize=1m\ncgroup=pod/inner\n; blksched: cgroup_files=pod/io.max: rbps=9\n";
        let plan = JobFile::parse(job, "a").unwrap().plan(1 << 24).unwrap();
        let capped = Capped::above(&plan, plan.jobs[0].cgroup).expect("pod has a cap");
        assert_eq!((capped.name(&plan), &*capped.text(&plan)), ("pod", "rbps=9"));
        assert_eq!(Capped::all(&plan).collect::<Vec<_>>(), [capped]);
        assert_eq!(Capped::above(&plan, GroupId::ROOT), None);
    }
}
