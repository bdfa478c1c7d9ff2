//! fio's own JSON: a run printed as `fio --output-format=json` prints one, same keys, same order, same units.
//!
//! Keys, their order and units were read off the output of fio 3.33 (Debian 12), of which the tests keep a recording;
//! meanings are those of fio's manual ("JSON output"). Values that a simulation does not have (processor time, context
//! switches, page faults, the date) are 0.

mod job;
mod parts;
mod print;
mod read;
mod work;

pub use job::{FioJob, Sync};
pub use parts::{DiskUtil, LatencySummary, Pairs, Percentiled, Steps};
pub use read::{FioResult, FioRow, FioSide};
pub use work::{FioDirection, Prio};

use serde::Serialize;

use crate::record::{JobRecord, Work as Kind};

/// The version of fio whose format this is.
pub const FORMAT: &str = "fio-3.33";

/// fio's whole output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Output {
    /// The version of the format, and the program that printed it.
    #[serde(rename = "fio version")]
    pub version: String,
    /// Seconds since 1970: always 0, as a run has no date.
    pub timestamp: u64,
    /// The same in milliseconds.
    pub timestamp_ms: u64,
    /// The same in words.
    pub time: String,
    /// Options of the job file's `[global]` section, as written.
    #[serde(rename = "global options", skip_serializing_if = "Pairs::is_empty")]
    pub global_options: Pairs<String>,
    /// One per job, or per group if the records were merged.
    pub jobs: Vec<FioJob>,
    /// One per disk; fio leaves it out if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disk_util: Vec<DiskUtil>,
}

impl Output {
    /// The output for these jobs, each with the options of its own section as written.
    pub fn new(
        global_options: Vec<(String, String)>,
        jobs: &[(JobRecord, Vec<(String, String)>)],
        disk_util: Vec<DiskUtil>,
    ) -> Output {
        let of_group = |group: u32, kind: Kind| -> f64 {
            let members = jobs.iter().filter(|(record, _)| record.job.group == group);
            members.map(|(record, _)| record.bandwidth(kind)).sum()
        };
        let job = |(record, options): &(JobRecord, Vec<(String, String)>)| {
            FioJob::new(record, options.clone(), |kind| of_group(record.job.group, kind))
        };
        Output {
            version: format!("{FORMAT}, printed by blksched {}", env!("CARGO_PKG_VERSION")),
            timestamp: 0,
            timestamp_ms: 0,
            time: "Thu Jan  1 00:00:00 1970".to_owned(),
            global_options: Pairs(global_options),
            jobs: jobs.iter().map(job).collect(),
            disk_util,
        }
    }

    /// The output in fio's layout: `"key" : value`, two blanks per level, six decimal places. Ends in a newline.
    pub fn print(&self) -> String {
        print::like_fio(self)
    }
}
