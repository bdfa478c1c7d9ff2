//! A trial's end: as text, for programs, as a file for the system, and as a report for others.

use std::fs;
use std::path::Path;

use blksched_lab::live::{Finish, LiveArm, LiveContrast, LivePlan, Place, Sitting};
use blksched_traces::machine::Machine;
use serde_json::{Map, Value, json};

use super::predicted::{Prediction, Proven};
use super::{TrialArguments, report};
use crate::compare::emit::{self, EmitTarget};
use crate::failure::Failure;
use crate::output;

/// A trial that has ended.
pub(super) struct TrialReport<'a> {
    pub disk: &'a str,
    pub arms: &'a [LiveArm],
    pub plan: &'a LivePlan,
    pub sat: &'a Sitting,
    /// Events of the tracer that were lost.
    pub lost: u64,
    pub foretold: Option<&'a Prediction>,
}

/// Words of a disk that tell nothing of whose it is.
const SHARED: [&str; 11] = [
    "model",
    "rotational",
    "hw_queues",
    "queue_depth",
    "nr_requests",
    "max_sectors_kb",
    "write_cache",
    "wbt_lat_usec",
    "scheduler",
    "schedulers",
    "size",
];

impl TrialReport<'_> {
    /// Prints it, writes what was asked for, and adds to the record of predictions so far.
    pub fn write(&self, arguments: &TrialArguments, devices: &Machine) -> Result<(), Failure> {
        let proven = self.foretold.map(|foretold| foretold.beside(self.arms, self.sat)).unwrap_or_default();
        if let Some(Err(why)) = self.foretold.map(|foretold| foretold.remember(self.disk, &proven)) {
            output::warn(&format!("note: {why}"));
        }
        if let Some(share) = &arguments.share {
            let text = format!("{:#}\n", self.shared(devices, &proven, arguments.share_processes));
            save(share, &text)?;
            output::warn(&format!("{} can be sent to others: read it first, it is short", share.display()));
        }
        let text = match (arguments.json, arguments.emit) {
            (true, _) => format!("{:#}\n", self.json(&proven)),
            (false, Some(what)) => {
                let default = if devices.devices.values().any(has_several_queues) { "none" } else { "mq-deadline" };
                // An array's members are of one kind, and the file is for the first.
                let first = self.disk.split(',').next().unwrap_or(self.disk);
                let target = EmitTarget::of_disk(first, default)?;
                emit::of_trial(what, &self.evidence(), self.better(), &target)
            }
            (false, None) => report::text(self),
        };
        Ok(output::print(&text)?)
    }

    /// What speaks for the setting, and everything that was proven against it.
    fn evidence(&self) -> Vec<String> {
        let mut lines = report::sentences(self.arms, self.sat, self.lost);
        let main = &self.sat.verdict.main;
        let others = self.sat.verdict.contrasts.iter().filter(|one| one.is_proven() && !main.contains(one));
        lines.extend(others.map(|one| report::sentence(one, self.arms, self.sat.verdict.blocks)));
        lines
    }

    /// The setting that is proven to be better in the main figure, the best of several; `None` if none is. One that a
    /// guard has ended, or that did not meet the same load, is not.
    fn better(&self) -> Option<&LiveArm> {
        let is_out = |arm: usize| {
            matches!(self.sat.finish, Finish::Guarded(_, guarded) if guarded == arm)
                || self.sat.verdict.drift.iter().any(|one| one.arm == arm && !one.may_be_the_settings())
        };
        let main =
            self.sat.verdict.main.iter().filter(|one| one.is_proven() && one.paired.ratio < 1.0 && !is_out(one.arm));
        let best = main.min_by(|a, b| a.paired.ratio.total_cmp(&b.paired.ratio))?;
        self.arms.get(best.arm)
    }

    /// For programs: `blksched/trial/1`.
    fn json(&self, proven: &[Proven<'_>]) -> Value {
        let name = |process: &str| process.to_owned();
        let arms: Vec<String> = self.arms.iter().map(ToString::to_string).collect();
        let mut value = self.figures(&arms, proven, &name);
        value["schema"] = json!("blksched/trial/1");
        value["disk"] = json!(self.disk);
        value["restored"] = json!(self.sat.restored.as_ref().err().map_or("yes", String::as_str));
        value
    }

    /// What others may see: `blksched/trial-report/1`.
    fn shared(&self, devices: &Machine, proven: &[Proven<'_>], with_names: bool) -> Value {
        let mut names: Vec<String> = Vec::new();
        for one in &self.sat.verdict.contrasts {
            let task = one.stream.0.iter().filter(|task| !names.contains(task));
            names.extend(task.cloned().collect::<Vec<_>>());
        }
        let name = |process: &str| match (with_names, names.iter().position(|name| name == process)) {
            (false, Some(nth)) => format!("process {}", nth + 1),
            (false, None) => "another process".to_owned(),
            (true, _) => process.to_owned(),
        };
        let mut value = self.figures(&without_names(self.arms), proven, &name);
        let words = devices.devices.values().next().map(|device| &device.words);
        let words = words.into_iter().flatten().filter(|(word, _)| SHARED.contains(&word.as_str()));
        let words: Map<String, Value> = words.map(|(word, said)| (word.clone(), json!(said))).collect();
        value["schema"] = json!("blksched/trial-report/1");
        value["kernel"] = json!(devices.kernel.split('-').next());
        value["disk"] = Value::Object(words);
        value
    }

    /// The figures, with the settings as `arms` calls them and the processes as `name` does.
    fn figures(&self, arms: &[String], proven: &[Proven<'_>], name: &dyn Fn(&str) -> String) -> Value {
        let verdict = &self.sat.verdict;
        let figure = |one: &LiveContrast| {
            json!({
                "setting": arms[one.arm], "process": one.stream.0.as_deref().map(name), "kind": one.stream.1.name(),
                "figure": one.figure, "first": one.base, "here": one.here, "ratio": one.paired.ratio,
                "ci95": [one.paired.low, one.paired.high], "p": one.p, "proven": one.is_proven(),
            })
        };
        // Of all settings together.
        let over_time = |one: &LiveContrast| {
            let mut value = figure(one);
            value.as_object_mut().map(|value| value.remove("setting"));
            value
        };
        let foretold = self.foretold.filter(|_| !proven.is_empty()).map(|foretold| {
            let figures: Vec<Value> = proven.iter().map(|one| one.named(name)).collect();
            json!({ "model": foretold.model_word(), "class": foretold.class(), "figures": figures })
        });
        let better = self.better().and_then(|better| self.arms.iter().position(|arm| arm == better));
        let better = better.map(|nth| &arms[nth]);
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "settings": arms,
            "period_ns": self.plan.every.as_ns(),
            "settling_ns": self.plan.settle.as_ns(),
            "ended": report::kind_of_end(&self.sat.finish),
            "blocks": verdict.blocks,
            "blocks_left_out": self.sat.left_out,
            "events_lost": self.lost,
            "main": verdict.main.iter().map(figure).collect::<Vec<_>>(),
            "figures": verdict.contrasts.iter().map(figure).collect::<Vec<_>>(),
            "drift": verdict.drift.iter().map(figure).collect::<Vec<_>>(),
            "drift_over_time": verdict.over_time.iter().map(over_time).collect::<Vec<_>>(),
            "better": better,
            "predicted": foretold,
        })
    }
}

/// The settings without the names of control groups, which are those of services and users.
fn without_names(arms: &[LiveArm]) -> Vec<String> {
    let mut groups: Vec<&str> = Vec::new();
    for (place, _) in arms.iter().flat_map(LiveArm::groups) {
        let Place::Group { group, .. } = place else { continue };
        if !group.is_empty() && !groups.contains(&group.as_str()) {
            groups.push(group);
        }
    }
    let number = |name: &str| groups.iter().position(|own| *own == name).map(|nth| format!("group-{}", nth + 1));
    let renamed = |(place, value): &(Place, String)| match place {
        Place::Group { group, file } if !group.is_empty() => {
            let group = number(group).unwrap_or_default();
            (Place::Group { group, file: file.clone() }, value.clone())
        }
        _ => (place.clone(), value.clone()),
    };
    let anonymous = |arm: &LiveArm| {
        let settings = arm.settings.iter().map(renamed).collect();
        LiveArm { scheduler: arm.scheduler.clone(), settings }.to_string()
    };
    arms.iter().map(anonymous).collect()
}

fn has_several_queues(device: &blksched_traces::machine::Device) -> bool {
    device.number("hw_queues").is_some_and(|queues| queues > 1)
}

fn save(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|error| Failure::Outside(format!("{}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_for_others_names_no_groups() {
        let arms = ["none", "none:io.cost.qos=enable=1:system.slice/acme.service/io.max=rbps=9:b/io.weight=2", "bfq"];
        let arms = arms.map(|arm| LiveArm::parse(arm).unwrap());
        let shared = without_names(&arms);
        assert_eq!(shared, ["none", "none:io.cost.qos=enable=1:group-1/io.max=rbps=9:group-2/io.weight=2", "bfq"]);
    }
}
