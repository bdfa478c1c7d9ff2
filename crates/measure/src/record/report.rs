//! A job's choice of results: their starting time, latencies, percentiles.

use blksched::Span;

use super::log::LogPlan;
use crate::histogram::FIO_PERCENTILES;

/// How much is reported of one kind of latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Nothing (fio's `disable_…`): all zeros.
    Nothing,
    /// Least, greatest, mean, deviation.
    #[default]
    Summary,
    /// The summary and percentiles.
    Percentiles,
}

/// Whether reads, writes and trims are reported separately (fio's `unified_rw_reporting`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unified {
    /// Each by itself.
    #[default]
    Apart,
    /// Only together, as `mixed`.
    Mixed,
    /// Each, and also `mixed`.
    Both,
}

/// Whether an error ends the job (fio's `continue_on_error`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The first error ends the job.
    #[default]
    Ends,
    /// Errors are counted.
    Counts,
}

/// Whether completion latencies are also reported by I/O priority, as fio does for jobs with `cmdprio_…`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priorities {
    /// Together.
    #[default]
    Together,
    /// Each also by itself.
    Apart,
}

/// What a job wants reported; by default fio's.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportWishes {
    /// Nothing counts before this much of the job has passed. A job that ends earlier is reported in full, as by fio
    /// (observed).
    pub ramp: Span,
    /// Submission latency.
    pub slat: Shown,
    /// Completion latency.
    pub clat: Shown,
    /// Both together.
    pub lat: Shown,
    /// Samples of bandwidth and I/Os per second.
    pub samples: Shown,
    /// Which percentiles \[%\], ascending.
    pub percentiles: Vec<f64>,
    /// Its logs.
    pub log: Option<LogPlan>,
    /// Directions separately or together.
    pub unified: Unified,
    /// Priorities together or separately.
    pub priorities: Priorities,
    /// The effect of an error.
    pub on_error: OnError,
    /// The job's text about itself.
    pub description: Option<String>,
    /// fio's `latency_target`, `latency_window` and `latency_percentile`, as given.
    pub latency_target: (Span, Span, f64),
}

impl Default for ReportWishes {
    fn default() -> ReportWishes {
        ReportWishes {
            ramp: Span::ZERO,
            slat: Shown::Summary,
            clat: Shown::Percentiles,
            lat: Shown::Summary,
            samples: Shown::Summary,
            percentiles: FIO_PERCENTILES.to_vec(),
            log: None,
            unified: Unified::Apart,
            priorities: Priorities::Together,
            on_error: OnError::Ends,
            description: None,
            latency_target: (Span::ZERO, Span::ZERO, 100.0),
        }
    }
}
