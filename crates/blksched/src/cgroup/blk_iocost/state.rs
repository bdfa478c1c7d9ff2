//! io.cost's state on one device: its configuration, each group's account, the device's clock, and statistics of
//! completed requests.
//!
//! **In the kernel** `struct ioc`, `struct ioc_gq`, `struct ioc_now`.
//! **Origin** docs/behaviour/cgroup-io.md#k.

#![doc(alias = "ioc")]
#![doc(alias = "ioc_gq")]
#![doc(alias = "ioc_now")]

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::model::{Class, Coefficients, CostFigures};
use super::qos::{Margins, Qos};
use super::units::VTIME_PER_US;
use super::weights::Tree;
use crate::request::{GroupId, PerDir};
use crate::time::{Jiffies, Tick};

/// Which of the two sums that overflow 32 bits in every kernel so far do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflows {
    /// Both, as in kernels: a group that used all of its time asks for nothing next, and the step back of a heavy group
    /// (weights above 2621) is any number.
    #[default]
    Kernel,
    /// Neither: what the formulas mean.
    None,
}

/// Which kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// 6.1: a changed class leaves the lasting rate as it is.
    V6_1,
    /// 6.12 and later: it resets that too; the most a rate may be is rounded up.
    #[default]
    V6_12,
}

/// io.cost on one device, as it is configured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Ticks per second.
    pub jiffies: Jiffies,
    /// What the device is taken for, unless a user says otherwise.
    pub class: Class,
    /// What a user wrote to `io.cost.model`.
    pub model: Option<CostFigures>,
    /// What a user wrote to `io.cost.qos`.
    pub qos: Option<Qos>,
    /// As in kernels, or as meant.
    pub overflows: Overflows,
    /// Which kernel.
    pub era: Era,
}

/// A task's number; the caller numbers them.
pub type CostTask = u32;

/// What becomes of a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes, and has cost its group this much virtual time.
    Go {
        /// 0: it was free.
        cost: u64,
    },
    /// Its task sleeps.
    Sleep,
    /// It goes on credit.
    Debt,
}

/// A task that wakes, and what its bio has cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// Which.
    pub task: CostTask,
    /// Virtual time.
    pub cost: u64,
}

/// A group's own state.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// How far it has come, in virtual time; all differences are modulo 2^64.
    pub(super) vtime: u64,
    /// What of it has completed.
    pub(super) done: u64,
    /// What it has been charged since the last look, at its full price.
    pub(super) usage: u64,
    /// Where its last bio ended \[sectors\].
    pub(super) cursor: u64,
    /// Tasks that wait, with the full price of their bios.
    pub(super) waiting: VecDeque<(CostTask, u64)>,
    /// What it owes, at its full price.
    pub(super) debt: u64,
    /// How long its tasks are delayed \[us\], and when that was said \[us\].
    pub(super) delay: u64,
    pub(super) delay_at: u64,
    /// Its margin when its share last changed.
    pub(super) saved_margin: i64,
    /// When it was activated \[us\].
    pub(super) active_since: u64,
    /// The period in which it last sent anything.
    pub(super) stamp: u64,
    /// When its wait is over, by its own timer \[ns\].
    pub(super) wakes_at: Option<u64>,
}

impl Account {
    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// What completed requests say about the device, in one period.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeriodLatencies {
    pub(super) requests: u64,
    pub(super) missed: u64,
    /// Their wait for slots \[ns\].
    pub(super) waited: u64,
}

/// The clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct VrateClock {
    /// The lasting rate.
    pub(super) base: u64,
    /// The rate of this period, which makes up for `err`.
    pub(super) rate: u64,
    pub(super) busy: i32,
    pub(super) err: i64,
    /// When the period began \[us\], and at which virtual time.
    pub(super) period_us: u64,
    pub(super) period_vtime: u64,
    pub(super) too_fast_since: Option<u64>,
    pub(super) too_slow_since: Option<u64>,
}

impl Default for VrateClock {
    fn default() -> VrateClock {
        VrateClock {
            base: VTIME_PER_US,
            rate: VTIME_PER_US,
            busy: 0,
            err: 0,
            period_us: 0,
            period_vtime: 0,
            too_fast_since: None,
            too_slow_since: None,
        }
    }
}

impl VrateClock {
    pub(super) fn vnow(&self, us: u64) -> u64 {
        self.period_vtime.wrapping_add(us.wrapping_sub(self.period_us).wrapping_mul(self.rate))
    }
}

/// How much the device was used since debts were last looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forgiveness {
    pub(super) since: u64,
    pub(super) used: u64,
    pub(super) remainder: u64,
}

impl Forgiveness {
    /// The count begins: the first group is active, or the last debtor has paid.
    pub(super) fn from(us: u64) -> Forgiveness {
        Forgiveness { since: us, ..Forgiveness::default() }
    }
}

/// io.cost on one device.
#[derive(Clone, Debug)]
pub struct IoCost {
    pub(super) config: Config,
    pub(super) class: Class,
    pub(super) coefficients: Coefficients,
    pub(super) qos: Qos,
    pub(super) period_us: u64,
    pub(super) margins: Margins,
    pub(super) tree: Tree,
    pub(super) accounts: Vec<Account>,
    /// Active groups, the one activated last first.
    pub(super) active: Vec<GroupId>,
    pub(super) pace: VrateClock,
    pub(super) latencies: PerDir<PeriodLatencies>,
    pub(super) forgiveness: Forgiveness,
    /// When the period ends, if one runs.
    pub(super) period_ends: Option<Tick>,
    pub(super) period: u64,
}

/// The moment of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) ns: u64,
    pub(super) us: u64,
    /// The device's virtual time.
    pub(super) vnow: u64,
}

/// Is the margin of this moment remembered?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Save {
    Yes,
    No,
}
