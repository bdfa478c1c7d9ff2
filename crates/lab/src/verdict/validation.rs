//! What a prediction was validated against: the disk's model against its sources, and earlier predictions on such disks
//! against recorded runs.

use blksched_disks::DiskSpec;
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
            so_far: so_far::sentence(&stage.disk.model),
        }
    }

    /// How far predictions were right: on this very disk, if that is known, and on such disks.
    pub fn sentences(&self) -> Vec<String> {
        sentences(self.here.as_deref(), &self.so_far)
    }
}

/// How far predictions on a stage's disk were right, without its model's figures.
pub fn predictions(stage: &Stage) -> Vec<String> {
    sentences(stage.validated.as_deref(), &so_far::sentence(&stage.disk.model))
}

/// How well recorded runs on such a disk were predicted.
pub fn of_such(disk: &DiskSpec) -> String {
    with_source(&so_far::sentence(&disk.model))
}

fn with_source(so_far: &str) -> String {
    format!("{so_far} (docs/reality.md)")
}

fn sentences(here: Option<&str>, so_far: &str) -> Vec<String> {
    let here = here.map(|here| here[..1].to_uppercase() + &here[1..] + ".");
    here.into_iter().chain([format!("Such predictions so far: {}.", with_source(so_far))]).collect()
}
