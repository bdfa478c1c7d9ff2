//! A server's recording (`serve --record`): the handling of each I/O by its queue, and the reasons.
//!
//! The log has every call and answer; the reasons come from repeating the calls. For the device it has the times of
//! issue and completion of each command, so a command's own service is the time after the previous completion.

use std::fs::File;
use std::io::{BufRead, BufReader};

use blksched::{Catalogue, Instant};
use blksched_lab::Scene;
use blksched_lab::scene::BY_DEVICE;
use blksched_lab::why::names::Names;
use blksched_simulate::story::{StoriesAsked, Storyteller};
use blksched_traces::call_log::{CallLog, FORMAT};

use super::arguments::ExplainArguments;
use super::watch::{Outputs, observed};
use crate::failure::Failure;
use crate::replayed::{replay, unknown_disk};

/// What a recording says about itself.
pub(super) struct ServerRecord {
    pub(super) elevator: String,
    pub(super) end: Instant,
}

/// The only workload, if it is a server's recording.
pub(super) fn recording(jobs: &[String]) -> Option<&str> {
    let [file] = jobs else { return None };
    let mut first = String::new();
    // The format's name is at the beginning of the first line, which is short.
    let unpacked = blksched_traces::unpack::unpacked(File::open(file).ok()?).ok()?;
    let mut reader = BufReader::new(std::io::Read::take(unpacked, 4096));
    reader.read_line(&mut first).ok()?;
    first.contains(FORMAT).then_some(file.as_str())
}

/// An option about simulation, which a recording does not need.
pub(super) fn superfluous(arguments: &ExplainArguments) -> Option<&'static str> {
    let scene = &arguments.scene.scene();
    let usual = Scene::of("", BY_DEVICE, 1);
    let said = [
        (arguments.elevator.is_some(), "--elevator"),
        (scene.disk != usual.disk, "--disk"),
        (scene.tails != usual.tails, "--tails"),
        (scene.seed != usual.seed, "--seed"),
        (scene.time.is_some(), "--time"),
        (scene.starts != usual.starts, "--starts"),
        (!scene.set.is_empty(), "--set"),
        (scene.depth.is_some(), "--depth"),
        (scene.nr_requests.is_some(), "--nr-requests"),
        (scene.max_sectors_kb.is_some(), "--max-sectors-kb"),
        (scene.attached.is_some(), "--attached"),
        (scene.wbt_lat_usec.is_some(), "--wbt-lat-usec"),
        (scene.host != usual.host, "--host"),
        (scene.fs != usual.fs, "--fs"),
        (scene.vary.is_some(), "--vary"),
        (arguments.scene.parse_only, "--parse-only"),
        (arguments.remedies, "--remedies"),
    ];
    said.into_iter().find_map(|(said, option)| said.then_some(option))
}

/// The log, and the names of its submitters.
pub(super) fn read(file: &str) -> Result<(CallLog, Names), Failure> {
    let log = CallLog::open(file.as_ref()).map_err(|error| Failure::Input(format!("{file}: {error}")))?;
    let most = log.records.iter().filter_map(|record| match &record.call {
        blksched_traces::call_log::Call::Submit(bio) => Some(bio.submitter),
        _ => None,
    });
    // Submitters count from 0 without gaps, but a damaged file may contain any number.
    let most = most.max().unwrap_or(0).min(1 << 20);
    Ok((log, Names::numbered(most)))
}

/// Makes the calls again, observed by the story teller and the collector.
pub(super) fn explain(
    file: &str,
    log: &CallLog,
    names: &Names,
    outputs: &Outputs,
    asked: StoriesAsked,
    catalogue: &Catalogue,
) -> Result<(ServerRecord, Storyteller), Failure> {
    observed(unknown_disk(asked), names, outputs, |onlooker| {
        let end = replay(file, log, onlooker, catalogue)?;
        Ok((ServerRecord { elevator: log.header.elevator.clone(), end }, end))
    })
}
