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
    /// Whether I/O was only counted: then the figures of a stream with a name are a control group's.
    pub is_counted: bool,
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
    /// guard has ended, or that did not meet the same load, is not; nor is one by which groups were held back so that
    /// less was done for one of them: what it waits for before it submits is in no latency.
    fn better(&self) -> Option<&LiveArm> {
        let is_out = |arm: usize| {
            matches!(self.sat.finish, Finish::Guarded(_, guarded) if guarded == arm)
                || self.sat.verdict.drift.iter().any(|one| one.arm == arm && !one.may_be_the_settings())
                || self.arms[arm].holds_back() && report::did_less(self.sat, self.arms, arm).is_some()
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
        // Control groups are named after services and users: their names are never sent.
        let mut groups = groups_of(self.arms);
        let mut names: Vec<&str> = Vec::new();
        for name in self.sat.verdict.contrasts.iter().filter_map(|one| one.stream.0.as_deref()) {
            let known = if self.is_counted { &mut groups } else { &mut names };
            if !known.contains(&name) {
                known.push(name);
            }
        }
        let nth = |all: &[&str], name: &str| all.iter().position(|one| *one == name);
        let name = |process: &str| match (self.is_counted, with_names) {
            (true, _) => nth(&groups, process).map_or("another group".to_owned(), |nth| format!("group-{}", nth + 1)),
            (false, true) => process.to_owned(),
            (false, false) => {
                nth(&names, process).map_or("another process".to_owned(), |nth| format!("process {}", nth + 1))
            }
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
            "seen": if self.is_counted { "counted" } else { "traced" },
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

/// The control groups that the settings name.
fn groups_of(arms: &[LiveArm]) -> Vec<&str> {
    let mut groups: Vec<&str> = Vec::new();
    for (place, _) in arms.iter().flat_map(LiveArm::groups) {
        let Place::Group { group, .. } = place else { continue };
        if !group.is_empty() && !groups.contains(&group.as_str()) {
            groups.push(group);
        }
    }
    groups
}

/// The settings without the names of control groups, which are those of services and users.
fn without_names(arms: &[LiveArm]) -> Vec<String> {
    let groups = groups_of(arms);
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
    use blksched::Span;
    use blksched_lab::live::{LiveKind, LiveVerdict, RATE, Stream};
    use blksched_measure::Paired;

    use super::*;

    #[test]
    fn a_report_for_others_names_no_groups() {
        let arms = ["none", "none:io.cost.qos=enable=1:system.slice/acme.service/io.max=rbps=9:b/io.weight=2", "bfq"];
        let arms = arms.map(|arm| LiveArm::parse(arm).unwrap());
        let shared = without_names(&arms);
        assert_eq!(shared, ["none", "none:io.cost.qos=enable=1:group-1/io.max=rbps=9:group-2/io.weight=2", "bfq"]);
    }

    fn contrast(stream: Stream, figure: &'static str, ratio: f64, p: f64) -> LiveContrast {
        let paired = Paired { count: 9, ratio, low: ratio * 0.9, high: ratio * 1.1, p };
        LiveContrast { arm: 1, stream, figure, base: 10.0, here: 10.0 * ratio, paired, p }
    }

    /// What a trial of these arms says whose second has a p99 of a half, and this rate.
    fn halved(second: &str, rate: f64, is_counted: bool) -> (Option<String>, String, Value) {
        let arms = ["none", second].map(|arm| LiveArm::parse(arm).unwrap());
        let reads = (None, LiveKind::Read);
        let main = contrast(reads.clone(), "p99 ms", 0.5, 0.001);
        let of_group = contrast((Some("acme.slice".to_owned()), LiveKind::Read), "KiB/s", 1.0, 1.0);
        let verdict = LiveVerdict {
            blocks: 9,
            main: vec![main.clone()],
            contrasts: vec![main, contrast(reads.clone(), "KiB/s", rate, 0.001), of_group],
            drift: vec![contrast(reads, RATE, rate, 0.001)],
            ..LiveVerdict::default()
        };
        let sat = Sitting { finish: Finish::Whole, verdict, left_out: 0, restored: Ok(()) };
        let plan =
            blksched_lab::live::plan(2, Span::from_secs(10), Span::from_secs(200), Span::from_secs(2), 1).unwrap();
        let report =
            TrialReport { disk: "sda", arms: &arms, plan: &plan, sat: &sat, lost: 0, is_counted, foretold: None };
        let better = report.better().map(ToString::to_string);
        (better, report::sentences(&arms, &sat, 0).join(" "), report.shared(&Machine::default(), &[], true))
    }

    #[test]
    fn latencies_that_are_better_because_groups_were_held_back_prove_nothing_better() {
        let capped = "none:web/io.max=rbps=1000000";
        let (better, said, _) = halved(capped, 0.7, false);
        assert_eq!(better, None, "{said}");
        assert!(said.contains("less was done (I/Os per s of all read -30 %)") && said.contains("no latency says"));
        let (better, said, _) = halved(capped, 1.2, false);
        assert!(better.as_deref() == Some(capped) && !said.contains("less was done"), "{said}");
        // A scheduler may give the one and take from the other.
        let (better, said, _) = halved("bfq", 0.7, false);
        assert!(
            better.as_deref() == Some("bfq") && said.contains("less was done") && !said.contains("no latency says"),
            "{said}"
        );
    }

    #[test]
    fn a_report_for_others_names_no_group_of_which_i_o_was_counted() {
        let (.., shared) = halved("none:web/io.max=rbps=1000000", 1.0, true);
        let text = shared.to_string();
        assert!(!text.contains("acme") && !text.contains("web"), "{text}");
        assert_eq!(
            (shared["figures"][2]["process"].as_str(), shared["seen"].as_str()),
            (Some("group-2"), Some("counted"))
        );
        let (.., shared) = halved("none", 1.0, false);
        assert_eq!(shared["figures"][2]["process"].as_str(), Some("acme.slice"), "a process, with --share-processes");
    }
}
