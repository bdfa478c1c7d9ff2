//! A job's settings about its results: latencies, percentiles, logs.

use blksched::Span;

/// How much is reported of one kind of latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// False after `disable_…`.
    pub measured: bool,
    /// `…_percentiles`.
    pub percentiles: bool,
}

/// `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unified {
    /// Reads, writes and trims separately.
    #[default]
    Apart,
    /// Only together.
    Mixed,
    /// Separately and together.
    Both,
}

/// The value of an averaged log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogValue {
    /// Its mean over the window.
    #[default]
    Mean,
    /// Its greatest (`log_max_value`).
    Greatest,
}

/// How logs of several processes are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogNames {
    /// With the process's number.
    #[default]
    PerProcess,
    /// Without it (`per_job_logs=0`): the last log stays.
    Shared,
}

/// The log options. An empty prefix stands for the job's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logs {
    /// `write_bw_log`.
    pub bw: Option<String>,
    /// `write_lat_log`: submission, completion and whole latency.
    pub lat: Option<String>,
    /// `write_iops_log`.
    pub iops: Option<String>,
    /// `log_avg_msec`; zero for an entry for each I/O.
    pub window: Span,
    /// `log_max_value`.
    pub value: LogValue,
    /// `log_offset`: an additional column.
    pub offset: bool,
    /// `log_prio`: the priority, instead of whether it is the highest.
    pub prio: bool,
    /// `per_job_logs`.
    pub names: LogNames,
}

impl Logs {
    /// Whether any log is asked for.
    pub fn any(&self) -> bool {
        self.bw.is_some() || self.lat.is_some() || self.iops.is_some()
    }
}

/// All report options.
#[derive(Clone, Debug, PartialEq)]
pub struct Reporting {
    /// What is before this does not count (`ramp_time`).
    pub ramp: Span,
    /// Submission latency.
    pub slat: Latency,
    /// Completion latency.
    pub clat: Latency,
    /// Both together.
    pub lat: Latency,
    /// Whether bandwidth and I/Os per second are sampled (not after `disable_bw_measurement`).
    pub samples: bool,
    /// `latency_target`, `latency_window` and `latency_percentile` \[%\].
    pub latency_target: (Span, Span, f64),
    /// `percentile_list` \[%\], ascending; fio's own if empty.
    pub percentiles: Vec<f64>,
    /// `unified_rw_reporting`.
    pub unified: Unified,
    /// Whether errors are counted instead of ending the job (`continue_on_error`).
    pub counts_errors: bool,
    /// Whether latencies are also reported by priority (jobs with `cmdprio_…`).
    pub by_priority: bool,
    /// False after `stats=0`: the job has no row in a report.
    pub shown: bool,
    /// The log options.
    pub logs: Logs,
}

impl Default for Reporting {
    /// fio's defaults.
    fn default() -> Reporting {
        Reporting {
            ramp: Span::ZERO,
            slat: Latency { measured: true, percentiles: false },
            clat: Latency { measured: true, percentiles: true },
            lat: Latency { measured: true, percentiles: false },
            samples: true,
            latency_target: (Span::ZERO, Span::ZERO, 100.0),
            percentiles: Vec::new(),
            unified: Unified::Apart,
            counts_errors: false,
            by_priority: false,
            shown: true,
            logs: Logs::default(),
        }
    }
}
