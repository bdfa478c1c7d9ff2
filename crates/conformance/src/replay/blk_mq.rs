//! Replays the decisions of a real kernel's slots and throttles (`blk-mq-transcript/1`) through the state machines of
//! the block queue. Every event carries its inputs and its result.

use std::path::Path;

use blksched::Kernel;
use blksched::surroundings::mq::{MqEra, Task};
use blksched_traces::blk_mq_transcript::{self as file, CaseKind, Common, RecordedEvent};

use super::{Divergence, ReplayError, Report};

mod iocost;
mod tags;
mod wbt;

/// Replays one file.
pub(super) fn replay(path: &Path) -> Result<Report, ReplayError> {
    match file::kind(path)? {
        CaseKind::Iocost => {
            let case = file::iocost::IocostCase::open(path)?;
            let mut cost = iocost::ReplayedIocost::of(&case);
            let starts = cost.check_start(&case.header);
            Ok(report(&case.common, "iocost", &case.events, starts, |event| cost.step(event)))
        }
        CaseKind::Tags => {
            let case = file::tags::TagsCase::open(path)?;
            let mut set = tags::ReplayedTags::of(&case, era(&case.common, path)?);
            let starts = set.check_start(&case.header);
            Ok(report(&case.common, "tags", &case.events, starts, |event| set.step(event)))
        }
        CaseKind::Wbt => {
            let case = file::wbt::WbtCase::open(path)?;
            let mut throttle = wbt::ReplayedWbt::of(&case, era(&case.common, path)?);
            let starts = throttle.check_start(&case.header);
            Ok(report(&case.common, "wbt", &case.events, starts, |event| throttle.step(event)))
        }
    }
}

/// The era whose rules were recorded.
fn era(common: &Common, path: &Path) -> Result<MqEra, ReplayError> {
    let kernel: Result<Kernel, _> = common.kernel.parse();
    let kernel = kernel.map_err(|error| ReplayError::Header { path: path.to_owned(), message: error.to_string() })?;
    Ok(MqEra::of(kernel))
}

/// Replays the events in order, up to the first that differs.
fn report<E>(
    common: &Common,
    what: &str,
    events: &[RecordedEvent<E>],
    starts: Result<(), String>,
    mut step: impl FnMut(&E) -> Result<(), String>,
) -> Report {
    let mut report = Report {
        scheduler: what.to_owned(),
        kernel: common.kernel.clone(),
        elevator: format!("blk-mq's {what}"),
        events: 0,
        shape_sensitive: false,
        divergence: None,
    };
    if let Err(what) = starts {
        report.divergence = Some(Divergence { line: 1, what, before: Vec::new() });
        return report;
    }
    for (nth, recorded) in events.iter().enumerate() {
        if let Err(what) = step(&recorded.event) {
            let before = events[nth.saturating_sub(20)..=nth].iter().map(|recorded| recorded.text.clone()).collect();
            report.divergence = Some(Divergence { line: nth + 2, what, before });
            break;
        }
        report.events += 1;
    }
    report
}

/// Checks that the recorded and the actual value are equal; otherwise says what differs.
fn same<T: PartialEq + core::fmt::Debug>(what: &str, recorded: &T, here: &T) -> Result<(), String> {
    if recorded == here { Ok(()) } else { Err(format!("{what}: recorded {recorded:?}, here {here:?}")) }
}

fn woken(recorded: &[u32], here: &[Task]) -> Result<(), String> {
    let here: Vec<u32> = here.iter().map(|task| task.0).collect();
    same("woken", &recorded, &&here[..])
}
