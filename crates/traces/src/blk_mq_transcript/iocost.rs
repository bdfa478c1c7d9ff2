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
    /// Whether it is rotational.
    pub rotational: bool,
    /// The number of requests it accepts.
    pub queue_depth: u32,
    /// Its initial class.
    pub auto: DeviceClass,
    /// `io.cost.qos`, if it was written.
    pub qos: Option<Qos>,
    /// `io.cost.model`, if it was written.
    pub model: Option<CostModel>,
    /// The resulting coefficients, in virtual time.
    pub coef: Coefficients,
    /// The length of a period.
    pub period_us: u64,
    /// All groups; parents precede their children; 0 is the root.
    pub groups: Vec<IocostGroup>,
}

/// The class that a device is assumed to be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum DeviceClass {
    /// A rotating disk.
    #[serde(rename = "hdd")]
    Hdd,
    /// An SSD that takes one command at a time.
    #[serde(rename = "ssd-qd1")]
    SsdDepth1,
    /// An SSD.
    #[serde(rename = "ssd")]
    Ssd,
    /// A fast SSD.
    #[serde(rename = "ssd-fast")]
    SsdFast,
}

/// `io.cost.qos`: percentiles and rates in millionths, latencies in µs.
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
    /// -1 for the root.
    pub parent: i64,
    /// `io.weight`.
    pub weight: u32,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct IocostEvent {
    /// The time \[ns\].
    pub t: u64,
    /// The event.
    #[serde(flatten)]
    pub what: IocostHappening,
    /// The state of the group concerned, afterwards.
    pub g: Option<GroupState>,
    /// The jiffy for which the period timer was armed.
    pub timer_at: Option<u64>,
    /// The groups' own timers that were armed: group and `t`.
    #[serde(default)]
    pub wait_timer: Vec<(u32, u64)>,
}

/// A task and the cost of its bio.
pub type Woken = (u32, u64);

/// What happened to a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BioFate {
    /// It was issued.
    Go,
    /// Its task sleeps.
    Sleep,
    /// It was issued on credit.
    Debt,
}

/// What happened: inputs, and the outputs that belong to their kind.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "ev", rename_all = "snake_case")]
pub enum IocostHappening {
    /// A task submits a bio that did not merge.
    Bio {
        /// The task.
        task: u32,
        /// The group.
        group: u32,
        /// The operation.
        op: OpLetter,
        /// The first sector.
        sector: u64,
        /// The number of sectors.
        sectors: u32,
        /// 1 if it must not wait.
        meta: u8,
        /// The result.
        result: BioFate,
        /// Its cost; none if it sleeps.
        cost: Option<u64>,
        /// The other tasks that were woken.
        woke: Vec<Woken>,
    },
    /// A woken task continues.
    Run {},
    /// A request ended.
    Done {
        /// The group.
        group: u32,
        /// The operation.
        op: OpLetter,
        /// The number of sectors.
        sectors: u32,
        /// Its cost.
        cost: u64,
        /// When its slot was requested \[ns\].
        asked: u64,
        /// When it got the slot \[ns\].
        started: u64,
    },
    /// A group's own timer fired.
    WaitExpired {
        /// The group.
        group: u32,
        /// The task that was woken.
        woke: Vec<Woken>,
    },
    /// A period ended.
    Period(Box<Period>),
    /// `io.weight` was written.
    Weight {
        /// The group.
        group: u32,
        /// The new weight.
        weight: u32,
    },
    /// The end of the case.
    End {},
}

/// The end of a period.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Period {
    /// The task that was woken.
    pub woke: Vec<Woken>,
    /// The base rate.
    pub base_vrate: u64,
    /// The rate of the next period.
    pub vrate: u64,
    /// Busy level.
    pub busy: i32,
    /// The excess or deficit of virtual time given out.
    pub err: i64,
    /// Whether another period runs.
    pub running: bool,
    /// The class that the device is assumed to be of.
    pub auto: DeviceClass,
    /// The length of the next period.
    pub period_us: u64,
    /// Every active group, in the order of their numbers.
    pub groups: Vec<GroupState>,
}

/// The state of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)]
pub struct GroupState {
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
