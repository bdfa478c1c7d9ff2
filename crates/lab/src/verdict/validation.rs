//! What a prediction was validated against: the disk's model against its sources, and earlier predictions on such disks
//! against recorded runs.

use blksched_disks::sheet::{Truth, truth};
use blksched_simulate::reality::so_far::{self, SoFar};

use crate::scene::Stage;

/// What a verdict was validated against.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Validation {
    /// The disk's model beside its data sheet, and beside response-time traces.
    pub model: Truth,
    /// What was found on this very disk, in words; `None` if nothing is known.
    pub here: Option<String>,
    /// How far recorded runs on disks of this kind were predicted, disk by disk and kernel by kernel.
    pub predictions: Vec<SoFar>,
    /// The same in words.
    so_far: String,
}

impl Validation {
    /// Of predictions on this stage's disk; measures the bare model's figures.
    pub fn of(stage: &Stage) -> Validation {
        let kind = so_far::kind(&stage.disk.model);
        Validation {
            model: truth(&stage.disk),
            here: stage.validated.clone(),
            predictions: so_far::all().into_iter().filter(|one| one.kind == kind).collect(),
            so_far: so_far::sentence(&stage.disk.model, &stage.plan),
        }
    }

    /// The same in one line, for those who want to know what to do.
    pub fn brief(&self) -> String {
        let off = self.model.off().map(|off| format!("by up to {off} from its data sheet"));
        let drive = self.model.worst_against_a_drive();
        let drive = drive.map(|off| format!("by {off} (mean of the worst kind of load) from a measured drive"));
        let both: Vec<String> = off.into_iter().chain(drive).collect();
        match both.is_empty() {
            true => self.so_far.clone(),
            false => format!("{} The model is off {}.", self.so_far, both.join(", and ")),
        }
    }

    /// How far predictions were right: on this very disk, if that is known, and on such disks.
    pub fn sentences(&self) -> Vec<String> {
        sentences(self.here.as_deref(), &self.so_far)
    }
}

/// How far predictions on a stage's disk were right, without its model's figures.
pub fn predictions(stage: &Stage) -> Vec<String> {
    sentences(stage.validated.as_deref(), &so_far::sentence(&stage.disk.model, &stage.plan))
}

fn sentences(here: Option<&str>, so_far: &str) -> Vec<String> {
    let here = here.map(|here| here[..1].to_uppercase() + &here[1..] + ".");
    here.into_iter().chain([format!("{} (docs/reality.md).", so_far.trim_end_matches('.'))]).collect()
}
