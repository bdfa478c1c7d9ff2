//! Whether a queue seeks: its seek history, and whether a first request counts.
//!
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c5.
//! **In the kernel** `CFQQ_SEEKY`, `seek_mean`.

use crate::elevators::cfq::rules::{FirstSeek, Seeks};
use crate::elevators::cfq::state::process::Process;
use crate::elevators::cfq::state::queue::CfqQueue;
use crate::estimate::SeekDistance;
use crate::request::Sector;

/// Whether a process or a queue seeks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seekiness {
    pub(crate) is_seeky: bool,
    /// Whether it is seeky and there are enough samples to be sure.
    pub(crate) is_surely: bool,
}

/// The seekiness of a queue that this process uses.
#[inline]
pub(crate) fn seekiness(rule: Seeks, queue: &CfqQueue, process: Option<&Process>) -> Seekiness {
    let mean = match (rule, process) {
        (Seeks::History, _) => {
            let is_seeky = queue.history.is_seeky();
            return Seekiness { is_seeky, is_surely: is_seeky };
        }
        (Seeks::PerProcess, Some(process)) => process.seeks(),
        (Seeks::PerProcess, None) | (Seeks::PerQueue, _) => queue.seeks,
    };
    Seekiness { is_seeky: mean.is_seeky(), is_surely: mean.is_surely_seeky() }
}

impl FirstSeek {
    pub(crate) fn add(self, seeks: &mut SeekDistance, start: Sector) {
        match self {
            FirstSeek::None => seeks.add(start),
            FirstSeek::FromZero => seeks.add_first_too(start),
        }
    }
}
