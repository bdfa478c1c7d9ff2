//! Kind `wbt`: the writes held back, woken tasks, and the changes of the limits.

use serde::Deserialize;

use crate::elevator_transcript::OpLetter;

/// A case of this kind.
pub type WbtCase = super::Case<WbtHeader, WbtEvent>;

/// The disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct WbtHeader {
    /// Ticks per second.
    pub hz: u32,
    /// The clock at `t` = 0 \[ns\].
    pub ktime0: u64,
    /// The number of requests it accepts.
    pub queue_depth: u32,
    /// Whether it acknowledges writes early.
    pub write_cache: bool,
    /// The latency target of reads \[ns\].
    pub min_lat: u64,
    /// Limits in force at the start.
    pub limits: WbtLimits,
    /// How long before the start a writer waited for dirty memory \[ms\].
    pub dirty_wait_before_ms: u64,
}

/// Limits in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct WbtLimits {
    /// The present step.
    pub step: i32,
    /// The limit of tasks that sync.
    pub max: u32,
    /// The limit of write-back.
    pub normal: u32,
    /// The limit of background write-back.
    pub background: u32,
    /// Whether they cannot grow further.
    pub at_max: bool,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WbtEvent {
    /// The time \[ns\].
    pub t: u64,
    /// The event.
    #[serde(flatten)]
    pub what: WbtHappening,
    /// The jiffy for which the timer was armed.
    pub timer_at: Option<u64>,
    /// The counted bios afterwards.
    pub inflight: Option<[u32; 3]>,
    /// `t` of the read that is watched, or -1.
    pub sync_issue: Option<i64>,
}

/// Whether a task may continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WbtFate {
    /// It may continue.
    Go,
    /// It sleeps.
    Sleep,
}

/// The result of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Reads were fast enough.
    Ok,
    /// There were too few samples.
    Unknown,
    /// There were only writes.
    OnlyWrites,
    /// Reads took too long.
    Exceeded,
}

/// A word of a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BioWord {
    /// Synchronous: a process waits for it.
    Sync,
    /// More may come soon.
    Idle,
    /// From the periodic flusher.
    Background,
    /// Metadata.
    Meta,
    /// Marked with priority (REQ_PRIO).
    Prio,
    /// Swap.
    Swap,
    /// The thread reclaims memory.
    Reclaim,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "ev", rename_all = "snake_case")]
pub enum WbtHappening {
    /// A task submits a bio.
    Throttle {
        /// The task.
        task: u32,
        /// The operation.
        op: OpLetter,
        /// Its words.
        #[serde(rename = "flags")]
        words: Vec<BioWord>,
        /// Whether it may continue.
        result: WbtFate,
    },
    /// A woken task continues.
    Resume {
        /// The task.
        task: u32,
    },
    /// A bio became a request, of the kind of the task's last bio.
    Track {
        /// The request.
        rq: u32,
        /// The task.
        task: u32,
    },
    /// A request was issued to the driver.
    Issue {
        /// The request.
        rq: u32,
    },
    /// A request ended.
    Done {
        /// The request.
        rq: u32,
        /// The tasks that were woken, in order.
        woke: Vec<u32>,
    },
    /// The window ended.
    Timer {
        /// Its result.
        status: Status,
        /// The limits afterwards.
        limits: WbtLimits,
        /// The length of the window \[ns\].
        window: u64,
        /// The number of consecutive windows with too few samples.
        unknown: u32,
        /// The tasks that were woken, in order.
        woke: Vec<u32>,
    },
    /// A writer waited for dirty memory.
    DirtyWait {},
    /// The latency target is changed.
    SetLatency {
        /// The new target \[ns\].
        ns: u64,
        /// The limits afterwards.
        limits: WbtLimits,
        /// The tasks that were woken, in order.
        woke: Vec<u32>,
    },
    /// The queue depth is changed.
    SetDepth {
        /// The new depth.
        depth: u32,
        /// The limits afterwards.
        limits: WbtLimits,
        /// The tasks that were woken, in order.
        woke: Vec<u32>,
    },
    /// An elevator that schedules writes was attached (off) or removed (on).
    Default {
        /// Whether throttling is on.
        on: bool,
        /// The limits afterwards.
        limits: WbtLimits,
        /// The tasks that were woken, in order.
        woke: Vec<u32>,
    },
    /// The last line.
    End {},
}
