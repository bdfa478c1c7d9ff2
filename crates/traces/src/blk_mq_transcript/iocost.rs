//! Kind `iocost`: the costs of bios to their groups, sleeping and waking tasks, and the changes of shares and of the
//! device's clock.

use serde::Deserialize;

use crate::elevator_transcript::OpLetter;

/// A case of this kind.
pub type IocostCase = super::Case<IocostHeader, IocostEvent>;

/// The device and its groups.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct IocostHeader {
    /// Ticks per second.
    pub hz: u32,
    /// The clock at `t` = 0 \[ns\].
    pub ktime0: u64,
    /// Does it turn?
    pub rotational: bool,
    /// How many requests it takes.
    pub queue_depth: u32,
    /// What it is taken for at first.
    pub auto: DeviceClass,
    /// `io.cost.qos`, if it was written.
    pub qos: Option<Qos>,
    /// `io.cost.model`, if it was written.
    pub model: Option<CostModel>,
    /// What follows from it, in virtual time.
    pub coef: Coefficients,
    /// How long a period is.
    pub period_us: u64,
    /// All groups, a parent ahead of its children; 0 is the root.
    pub groups: Vec<IocostGroup>,
}

/// What a device is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum DeviceClass {
    /// It turns.
    #[serde(rename = "hdd")]
    Hdd,
    /// One command at a time.
    #[serde(rename = "ssd-qd1")]
    SsdDepth1,
    /// An SSD.
    #[serde(rename = "ssd")]
    Ssd,
    /// A fast one.
    #[serde(rename = "ssd-fast")]
    SsdFast,
}

/// `io.cost.qos`: percentiles of a million, latencies in µs, rates of a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)]
pub struct Qos {
    pub rppm: u64,
    pub rlat: u64,
    pub wppm: u64,
    pub wlat: u64,
    pub min_ppm: u64,
    pub max_ppm: u64,
}

/// `io.cost.model`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)]
pub struct CostModel {
    pub rbps: u64,
    pub rseqiops: u64,
    pub rrandiops: u64,
    pub wbps: u64,
    pub wseqiops: u64,
    pub wrandiops: u64,
}

/// Prices in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)]
pub struct Coefficients {
    pub rpage: u64,
    pub rseq: u64,
    pub rrand: u64,
    pub wpage: u64,
    pub wseq: u64,
    pub wrand: u64,
}

/// A group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct IocostGroup {
    /// Its number.
    pub id: u32,
    /// -1 of the root.
    pub parent: i64,
    /// `io.weight`.
    pub weight: u32,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct IocostEvent {
    /// When \[ns\].
    pub t: u64,
    /// What.
    #[serde(flatten)]
    pub what: IocostHappening,
    /// The group that it is about, afterwards.
    pub g: Option<Standing>,
    /// The period timer was armed for this jiffy.
    pub timer_at: Option<u64>,
    /// Groups' own timers that were armed: group and `t`.
    #[serde(default)]
    pub wait_timer: Vec<(u32, u64)>,
}

/// A task and what its bio cost.
pub type Woken = (u32, u64);

/// What became of a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BioFate {
    /// It went.
    Go,
    /// Its task sleeps.
    Sleep,
    /// It went on credit.
    Debt,
}

/// What happened: inputs, and the outputs that belong to their kind.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "ev", rename_all = "snake_case")]
pub enum IocostHappening {
    /// A task brings a bio that did not merge.
    Bio {
        /// The task.
        task: u32,
        /// Whose.
        group: u32,
        /// What.
        op: OpLetter,
        /// Where.
        sector: u64,
        /// How much.
        sectors: u32,
        /// 1: it must not wait.
        meta: u8,
        /// What became of it.
        result: BioFate,
        /// What it cost; nothing of one that sleeps.
        cost: Option<u64>,
        /// Others that were woken.
        woke: Vec<Woken>,
    },
    /// A woken task runs on.
    Run {},
    /// A request ended.
    Done {
        /// Whose.
        group: u32,
        /// What.
        op: OpLetter,
        /// How much.
        sectors: u32,
        /// What it had cost.
        cost: u64,
        /// When a slot was asked for \[ns\].
        asked: u64,
        /// When it had one \[ns\].
        started: u64,
    },
    /// A group's own timer fired.
    WaitExpired {
        /// Whose.
        group: u32,
        /// The task that was woken.
        woke: Vec<Woken>,
    },
    /// A period ended.
    Period(Box<Period>),
    /// `io.weight` was written.
    Weight {
        /// Of which group.
        group: u32,
        /// What.
        weight: u32,
    },
    /// The case is over.
    End {},
}

/// The end of a period.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Period {
    /// The task that was woken.
    pub woke: Vec<Woken>,
    /// The lasting rate.
    pub base_vrate: u64,
    /// That of the next period.
    pub vrate: u64,
    /// Busy level.
    pub busy: i32,
    /// Virtual time given out too much or too little.
    pub err: i64,
    /// Does another period run?
    pub running: bool,
    /// What the device is taken for.
    pub auto: DeviceClass,
    /// How long the next period is.
    pub period_us: u64,
    /// Every active group, in the order of their numbers.
    pub groups: Vec<Standing>,
}

/// How a group stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)]
pub struct Standing {
    pub id: u32,
    pub active: u64,
    pub inuse: u64,
    pub hwa: u64,
    pub hwi: u64,
    pub budget: i64,
    pub debt: u64,
    pub delay: u64,
    pub inflight: i64,
}
