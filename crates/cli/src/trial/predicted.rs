//! What was predicted of a disk, kept for the trial that proves it, and what trials made of predictions.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use blksched_lab::Compared;
use blksched_lab::live::{Foretold, LiveArm, LiveContrast, Sitting, setting};
use blksched_simulate::reality::so_far;
use blksched_traces::machine::Device;
use serde_json::{Value, json};

use crate::state::folder as state_folder;

/// A prediction about a disk of this machine.
pub(crate) struct Prediction {
    /// When it was made \[s since 1970\].
    at: u64,
    /// The model that it rests on.
    model: String,
    /// The class of the model's disk.
    class: String,
    /// What tells the disk from others.
    identity: String,
    /// The setting against which it was predicted.
    base: String,
    figures: Vec<Foretold>,
}

/// A figure predicted and measured.
pub(super) struct Proven<'a> {
    /// What was predicted.
    pub foretold: &'a Foretold,
    /// What was measured.
    pub measured: &'a LiveContrast,
}

/// What tells a disk from others of its name: a name may be another disk's after a restart, or on another machine.
fn identity(device: &Device) -> String {
    ["model", "size", "path"].map(|word| device.word(word).unwrap_or("-").replace(char::is_whitespace, "_")).join(" ")
}

/// The same of the disk that has this name here and now; `None` if there is none.
pub(crate) fn identity_here(name: &str) -> Option<String> {
    let machine = crate::record::machine::read("/".as_ref(), &[name.to_owned()]).ok()?;
    machine.devices.values().next().map(identity)
}

/// Keeps what a comparison of this recorded disk predicts, in place of what was predicted of it before, if it is a disk
/// of this machine.
///
/// # Errors
/// Why there is no place for it.
pub(crate) fn keep(device: &Device, compared: &Compared) -> Result<(), String> {
    let Some(name) = device.word("name") else { return Ok(()) };
    let Some(base) = compared.measured.first().map(|base| setting(base)) else { return Ok(()) };
    let identity = identity(device);
    if identity_here(name).is_none_or(|here| here != identity) {
        return Ok(());
    }
    let figure = |one: &Foretold| {
        let Foretold { setting, process, figure, ratio } = one;
        json!({ "setting": setting, "process": process, "figure": figure, "ratio": ratio })
    };
    let value = json!({
        "schema": "blksched/predicted/1",
        "at": UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_secs()),
        "model": compared.comparison.scene.disk,
        "class": so_far::kind(&compared.stage.disk.model),
        "identity": identity,
        "base": base,
        "figures": Foretold::all(compared).iter().map(figure).collect::<Vec<_>>(),
    });
    let file = file(name).ok_or("the prediction is not kept for a trial: neither XDG_STATE_HOME nor HOME is set")?;
    let kept = || -> std::io::Result<()> {
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        // Whole or not at all.
        let half = file.with_extension("half");
        fs::write(&half, format!("{value:#}\n"))?;
        fs::rename(&half, &file)
    };
    kept().map_err(|error| format!("the prediction is not kept for a trial: {}: {error}", file.display()))
}

/// What was predicted of a disk last, if anything was, and it is still the same disk.
pub(super) fn of(disk: &str) -> Option<Prediction> {
    let prediction = read(&fs::read_to_string(file(disk)?).ok()?)?;
    identity_here(disk).is_some_and(|here| here == prediction.identity).then_some(prediction)
}

fn file(disk: &str) -> Option<PathBuf> {
    let plain: String = disk.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    Some(state_folder()?.join("predicted").join(format!("{plain}.json")))
}

fn read(text: &str) -> Option<Prediction> {
    let value: Value = serde_json::from_str(text).ok()?;
    let word = |key: &str| value[key].as_str().map(str::to_owned);
    let figure = |one: &Value| {
        Some(Foretold {
            setting: one["setting"].as_str()?.to_owned(),
            process: one["process"].as_str().map(str::to_owned),
            figure: one["figure"].as_str()?.to_owned(),
            ratio: one["ratio"].as_f64()?,
        })
    };
    Some(Prediction {
        at: value["at"].as_u64()?,
        model: word("model")?,
        class: word("class")?,
        identity: word("identity")?,
        base: word("base")?,
        figures: value["figures"].as_array()?.iter().filter_map(figure).collect(),
    })
}

impl Prediction {
    /// The class of its model's disk.
    pub(super) fn class(&self) -> &str {
        &self.class
    }

    /// Its model; a file of the user's is only that.
    pub(super) fn model_word(&self) -> &str {
        if blksched_disks::builtin(&self.model).is_ok() { &self.model } else { "a file" }
    }

    /// Whether it was predicted against the trial's first arm; the scheduler in use keeps its knobs.
    pub(super) fn is_against(&self, first: &LiveArm) -> bool {
        let scheduler = self.base.split(':').next().unwrap_or_default();
        self.base == first.to_string() || first.settings.is_empty() && first.scheduler == scheduler
    }

    /// The figures that a trial has measured of what was predicted.
    pub(super) fn beside<'a>(&'a self, arms: &[LiveArm], sat: &'a Sitting) -> Vec<Proven<'a>> {
        if arms.first().is_none_or(|first| !self.is_against(first)) {
            return Vec::new();
        }
        let of = |measured: &'a LiveContrast| {
            let setting = arms.get(measured.arm)?.to_string();
            let foretold = self.figures.iter().find(|one| one.is_of(measured, &setting))?;
            Some(Proven { foretold, measured })
        };
        sat.verdict.contrasts.iter().filter_map(of).collect()
    }

    /// What was predicted of all reads under this setting, in words; `None` if nothing was.
    pub(super) fn of_setting(&self, setting: &str) -> Option<String> {
        let of_all = self.figures.iter().filter(|one| one.setting == setting && one.process.is_none());
        let said: Vec<String> = of_all
            .map(|one| format!("{} of reads times {:.2}", one.figure.trim_end_matches(" ms"), one.ratio))
            .collect();
        (!said.is_empty()).then(|| said.join(", "))
    }

    /// What it rests on, in words.
    pub(super) fn origin(&self) -> String {
        let days = UNIX_EPOCH.elapsed().map_or(0, |now| now.as_secs().saturating_sub(self.at)) / 86_400;
        let when = match days {
            0 => "today".to_owned(),
            1 => "yesterday".to_owned(),
            days => format!("{days} days ago"),
        };
        format!("Predicted {when} from a recording, by the model {}", self.model)
    }

    /// Adds these figures to the record of predictions so far.
    ///
    /// # Errors
    /// Why they are not remembered.
    pub(super) fn remember(&self, disk: &str, proven: &[Proven<'_>]) -> Result<(), String> {
        let Some(folder) = state_folder().filter(|_| !proven.is_empty()) else { return Ok(()) };
        let file = folder.join("trials.jsonl");
        let line = json!({
            "disk": disk, "identity": self.identity, "model": self.model, "class": self.class,
            "figures": proven.iter().map(Proven::json).collect::<Vec<_>>(),
        });
        let kept = || -> std::io::Result<()> {
            fs::create_dir_all(&folder)?;
            writeln!(OpenOptions::new().create(true).append(true).open(&file)?, "{line}")
        };
        kept().map_err(|error| format!("not remembered: {}: {error}", file.display()))
    }
}

impl Proven<'_> {
    /// Whether the measured interval contains what was predicted.
    pub(super) fn is_within(&self) -> bool {
        (self.measured.paired.low..=self.measured.paired.high).contains(&self.foretold.ratio)
    }

    /// Whether both say that it becomes longer, or both shorter, or that nothing is proven.
    pub(super) fn is_of_one_direction(&self) -> Option<bool> {
        let measured = self.measured;
        measured.is_proven().then_some(is_right(self.foretold.ratio, measured.paired.ratio))
    }

    /// For machines.
    pub(super) fn json(&self) -> Value {
        self.named(&|process| process.to_owned())
    }

    /// For machines, with other names of the processes.
    pub(super) fn named(&self, name: &dyn Fn(&str) -> String) -> Value {
        let paired = &self.measured.paired;
        let process = self.foretold.process.as_deref().map(name);
        json!({
            "setting": self.foretold.setting, "process": process, "figure": self.foretold.figure,
            "predicted_ratio": self.foretold.ratio, "measured_ratio": paired.ratio,
            "ci95": [paired.low, paired.high], "proven": self.measured.is_proven(), "within": self.is_within(),
        })
    }
}

/// A predicted change that is smaller is none [part of the figure].
const NO_CHANGE: f64 = 0.05;

/// Whether a proven change was predicted in its direction.
fn is_right(predicted: f64, measured: f64) -> bool {
    predicted.ln().abs() >= NO_CHANGE && (predicted > 1.0) == (measured > 1.0)
}

/// How right predictions have been in trials on this machine, in a sentence; `None` before the first.
pub(crate) fn so_far_here(class: &str) -> Option<String> {
    said(&fs::read_to_string(state_folder()?.join("trials.jsonl")).ok()?, class)
}

fn said(lines: &str, class: &str) -> Option<String> {
    let lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let (mut trials, mut proven, mut right) = (0, 0, 0);
    for line in lines.filter(|line| line["class"] == class) {
        trials += 1;
        // One figure of each setting: all of a trial's hang together.
        let is_main = |one: &&Value| one["process"].is_null() && one["figure"] == "mean ms" && one["proven"] == true;
        for one in line["figures"].as_array().into_iter().flatten().filter(is_main) {
            let (Some(predicted), Some(measured)) = (one["predicted_ratio"].as_f64(), one["measured_ratio"].as_f64())
            else {
                continue;
            };
            proven += 1;
            right += u32::from(is_right(predicted, measured));
        }
    }
    let many = if trials == 1 { "one trial".to_owned() } else { format!("{trials} trials") };
    (trials > 0).then(|| {
        format!(
            "in {many} on this machine ({class}) {right} of {proven} proven differences in the mean of all reads were \
             predicted in their direction"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_so_far_are_counted_by_class_and_direction() {
        let line = |class: &str, predicted: f64, measured: f64, proven: bool| {
            let figure = json!({
                "process": null, "figure": "mean ms", "predicted_ratio": predicted, "measured_ratio": measured,
                "proven": proven,
            });
            json!({ "class": class, "figures": [figure] }).to_string()
        };
        let lines = [
            line("SSD", 0.5, 0.7, true),
            line("SSD", 0.5, 1.7, true),
            line("SSD", 0.5, 1.7, false),
            // Predicted not to change.
            line("SSD", 0.99, 0.7, true),
            line("disk", 0.5, 0.6, true),
            "broken".to_owned(),
        ];
        let text = lines.join("\n");
        let expected = "in 4 trials on this machine (SSD) 1 of 3 proven differences in the mean of all reads \
                        were predicted in their direction";
        assert_eq!(said(&text, "SSD").as_deref(), Some(expected));
        assert_eq!(said(&text, "tape"), None);
    }

    #[test]
    fn what_was_kept_is_read_and_damage_is_nothing() {
        let kept = r#"{"at": 5, "model": "sata-ssd", "class": "SSD", "identity": "a b c", "base": "none", "figures": [
            {"setting": "bfq", "process": "db", "figure": "p99 ms", "ratio": 0.25}, {"setting": 3}]}"#;
        let read = |text: &str| super::read(text).map(|prediction| (prediction.model, prediction.figures));
        let figure = Foretold {
            setting: "bfq".to_owned(),
            process: Some("db".to_owned()),
            figure: "p99 ms".to_owned(),
            ratio: 0.25,
        };
        assert_eq!(read(kept), Some(("sata-ssd".to_owned(), vec![figure])));
        assert_eq!((read("{}"), read(""), read(&kept[..40])), (None, None, None));
    }
}
