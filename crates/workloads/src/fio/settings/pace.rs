//! A job's settings about its pace: think time, rates, the limits at which it gives up, and flows.

use blksched::Span;

use crate::fio::ddir::PerDdir;

/// When rated I/O arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateProcess {
    /// Evenly.
    #[default]
    Linear,
    /// At random, independently of each other.
    Poisson,
}

/// What `thinktime_blocks` counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ThinksAfter {
    /// Completed I/Os: it thinks when nothing is in flight.
    #[default]
    Completion,
    /// Submitted I/Os: it thinks while they are in flight.
    Submission,
}

/// After a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AfterThinking {
    /// A rated job catches up with its rate.
    #[default]
    CatchesUp,
    /// It continues at its rate.
    GoesOn,
}

/// The fields carry the names of fio's options.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PaceSettings {
    pub thinktime: Span,
    pub thinktime_blocks: Option<u64>,
    pub thinks_after: ThinksAfter,
    pub thinktime_iotime: Span,
    pub after_thinking: AfterThinking,
    /// \[bytes/s\]
    pub rate: PerDdir<Option<u64>>,
    /// \[1/s\]
    pub rate_iops: PerDdir<Option<u64>>,
    pub rate_process: RateProcess,
    /// \[bytes/s\]
    pub rate_min: PerDdir<Option<u64>>,
    /// \[1/s\]
    pub rate_iops_min: PerDdir<Option<u64>>,
    pub rate_cycle: Span,
    pub max_latency: Option<Span>,
    pub latency_target: Option<Span>,
    pub latency_window: Span,
    /// \[%\]
    pub latency_percentile: f64,
    pub latency_run: bool,
    /// The weight; `None` if it is not in a flow.
    pub flow: Option<u64>,
    pub flow_id: u64,
    pub flow_sleep: Span,
}

impl Default for PaceSettings {
    fn default() -> PaceSettings {
        PaceSettings {
            thinktime: Span::ZERO,
            thinktime_blocks: None,
            thinks_after: ThinksAfter::default(),
            thinktime_iotime: Span::ZERO,
            after_thinking: AfterThinking::default(),
            rate: PerDdir::default(),
            rate_iops: PerDdir::default(),
            rate_process: RateProcess::default(),
            rate_min: PerDdir::default(),
            rate_iops_min: PerDdir::default(),
            rate_cycle: Span::from_secs(1),
            max_latency: None,
            latency_target: None,
            latency_window: Span::ZERO,
            latency_percentile: 100.0,
            latency_run: false,
            flow: None,
            flow_id: 0,
            flow_sleep: Span::ZERO,
        }
    }
}
