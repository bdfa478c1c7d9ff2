//! The models that may be a recorded disk's.

use std::collections::BTreeMap;

use blksched_disks::probe::TraceFit;
use blksched_disks::{DiskSpec, load_changed};
use blksched_lab::advise::{ModelFrom, ModelOffered};
use blksched_lab::guess::{Bus, Facts, nearest};
use blksched_lab::scene::Word;
use blksched_lab::{Error, Files};
use blksched_simulate::recording::Named;
use blksched_traces::machine::Device;

use crate::disk::fit_trace_files;
use crate::failure::Failure;
use crate::input::OnDisk;

/// What the model that is fitted to the recording is called.
pub(super) const FITTED: &str = "fitted-to-this-recording";
/// A preset for each class, where nothing says of which a disk is.
const CLASSES: [&str; 3] = ["hdd-7200", "sata-ssd", "nvme-ssd"];

/// The files of this machine, and the model that is fitted to the recording, which is in no file.
pub(super) struct WithFitted {
    pub(super) inner: OnDisk,
    pub(super) fitted: Option<TraceFit>,
    /// Every model is at least as long as the recorded disk \[sectors\].
    pub(super) least: u64,
}

impl Files for WithFitted {
    fn expanded(&self, names: &[String]) -> Result<Vec<String>, Error> {
        self.inner.expanded(names)
    }

    fn word(&self, name: &str, typed: bool) -> Result<Word, Error> {
        self.inner.word(name, typed)
    }

    fn text(&self, name: &str) -> Result<String, String> {
        self.inner.text(name)
    }

    fn open(&self, trace: &str) -> Result<Vec<Named>, String> {
        self.inner.open(trace)
    }

    fn disk(&self, name: &str) -> Result<DiskSpec, Error> {
        let fitted = self.fitted.as_ref().filter(|_| name == FITTED);
        let spec = fitted.map_or_else(|| self.inner.disk(name), |fit| Ok(fit.spec.clone()))?;
        if spec.build(0).facts().sectors >= self.least {
            return Ok(spec);
        }
        let longer = match fitted {
            Some(fit) => fit.of_length(self.least),
            None => load_changed(name, &[("capacity".to_owned(), format!("{}B", self.least * 512))]),
        };
        longer.map_err(Error::Disk)
    }

    fn device(&self, name: &str) -> Option<Facts> {
        self.inner.device(name)
    }

    fn validated(&self, disk: &str) -> Option<String> {
        self.inner.validated(disk)
    }

    fn variables(&self) -> BTreeMap<String, String> {
        self.inner.variables()
    }

    fn trace_memory(&self) -> u64 {
        self.inner.trace_memory()
    }
}

/// What the recording's header says of its one disk.
pub(super) fn recorded_device(name: &str, files: &OnDisk) -> Result<Option<Device>, Failure> {
    let Word::Trace(trace) = files.word(name, false)? else {
        return Err(Failure::Input(format!(
            "{name}: not a recording: expected a trace, as `blksched record` makes them"
        )));
    };
    let (stream, _) = trace.stream(files)?;
    let devices = stream.machine().map(|machine| &machine.devices);
    Ok(devices.filter(|devices| devices.len() == 1).and_then(|devices| devices.values().next().cloned()))
}

/// The preset that is nearest to what is known of the disk; one for each class if that is too little.
pub(super) fn of_class(device: Option<&Device>, here: Option<Facts>) -> Vec<ModelOffered> {
    let offered = |name: &str, why: String| ModelOffered { name: name.to_owned(), from: ModelFrom::Class(why) };
    let recorded = device.map(Facts::of_recorded);
    // Of this machine's own disk the kernel says more than a header has.
    let Some(facts) = here.or(recorded) else {
        let why = || "the recording does not say what the disk is".to_owned();
        return CLASSES.map(|name| offered(name, why())).to_vec();
    };
    if facts.bus.as_ref().is_some_and(|bus| bus.value == Bus::Virtio) {
        let why = || "a virtual disk does not show what is behind it".to_owned();
        return CLASSES.map(|name| offered(&format!("virtio:{name}"), why())).to_vec();
    }
    match nearest(&facts) {
        Ok((name, assumed)) => vec![offered(name, assumed.join("; "))],
        Err(why) => CLASSES.map(|name| offered(name, why.clone())).to_vec(),
    }
}

/// How long a disk is that holds what was recorded, and as long as the recording says \[sectors\]. A little more: a
/// model has whole tracks, or whole blocks of flash.
pub(super) fn least_length(device: Option<&Device>, reach: u64) -> u64 {
    let said = device.and_then(|device| device.word("size")?.parse::<u64>().ok()).unwrap_or(0);
    let least = said.max(reach);
    least + least / 100
}

/// The model that fits the recording's commands, and what is known of its error on those it was not fitted to.
pub(super) fn fitted(name: &str) -> Result<(TraceFit, String), Failure> {
    let fit = fit_trace_files(name)?;
    let held_back = fit.held_back.as_ref().map_or_else(
        || "fitted to all of it".to_owned(),
        |part| {
            let (is, ours) = (part.measured_mean / 1e6, part.predicted_mean / 1e6);
            format!("on the third that it was not fitted to: mean {is:.3}ms, by the model {ours:.3}ms")
        },
    );
    Ok((fit, held_back))
}
