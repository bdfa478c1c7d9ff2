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
    /// How many requests it takes.
    pub queue_depth: u32,
    /// Does it acknowledge writes early?
    pub write_cache: bool,
    /// A read may take so long \[ns\].
    pub min_lat: u64,
    /// Limits in force at the start.
    pub limits: WbtLimits,
    /// A writer waited for dirty memory so long \[ms\] before the start.
    pub dirty_wait_before_ms: u64,
}

/// Limits in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct WbtLimits {
    /// The step they stand at.
    pub step: i32,
    /// Of tasks that sync.
    pub max: u32,
    /// Of write-back.
    pub normal: u32,
    /// In the background.
    pub background: u32,
    /// Can they grow no further?
    pub at_max: bool,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WbtEvent {
    /// When \[ns\].
    pub t: u64,
    /// What.
    #[serde(flatten)]
    pub what: WbtHappening,
    /// The timer was armed for this jiffy.
    pub timer_at: Option<u64>,
    /// Counted bios afterwards.
    pub inflight: Option<[u32; 3]>,
    /// `t` of the read that is watched, or -1.
    pub sync_issue: Option<i64>,
}

/// May it go on?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WbtFate {
    /// It may.
    Go,
    /// It sleeps.
    Sleep,
}

/// What a window came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Reads were fast enough.
    Ok,
    /// It told nothing.
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
    /// Of the periodic flusher.
    Background,
    /// Metadata.
    Meta,
    /// Of a preference.
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
    /// A task brings a bio.
    Throttle {
        /// The task.
        task: u32,
        /// What.
        op: OpLetter,
        /// Its words.
        #[serde(rename = "flags")]
        words: Vec<BioWord>,
        /// May it go on?
        result: WbtFate,
    },
    /// A woken task runs on.
    Resume {
        /// The task.
        task: u32,
    },
    /// A bio became a request, of the kind that the task brought last.
    Track {
        /// Which.
        rq: u32,
        /// Whose.
        task: u32,
    },
    /// The driver has it.
    Issue {
        /// Which.
        rq: u32,
    },
    /// It ended.
    Done {
        /// Which.
        rq: u32,
        /// The tasks that were woken, in order.
        woke: Vec<u32>,
    },
    /// The window ended.
    Timer {
        /// What it came to.
        status: Status,
        /// Limits afterwards.
        limits: WbtLimits,
        /// The length of the window \[ns\].
        window: u64,
        /// How many in a row told nothing.
        unknown: u32,
        /// The tasks that were woken, in order.
        woke: Vec<u32>,
    },
    /// A writer waited for dirty memory.
    DirtyWait {},
    /// Another target \[ns\].
    SetLatency {
        /// Which.
        ns: u64,
        /// Limits afterwards.
        limits: WbtLimits,
        /// The tasks that were woken, in order.
        woke: Vec<u32>,
    },
    /// Another queue depth.
    SetDepth {
        /// Which.
        depth: u32,
        /// Limits afterwards.
        limits: WbtLimits,
        /// The tasks that were woken, in order.
        woke: Vec<u32>,
    },
    /// An elevator that schedules writes came (off) or left (on).
    Default {
        /// Which.
        on: bool,
        /// Limits afterwards.
        limits: WbtLimits,
        /// The tasks that were woken, in order.
        woke: Vec<u32>,
    },
    /// The last line.
    End {},
}
