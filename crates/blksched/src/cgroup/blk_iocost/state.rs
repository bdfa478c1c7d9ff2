//! io.cost's state on one device: its configuration, each group's account, the device's clock, and statistics of
//! completed requests.
//!
//! **In the kernel** `struct ioc`, `struct ioc_gq`, `struct ioc_now`.
//! **Origin** docs/behaviour/cgroup-io.md#k.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::model::{Class, Coefficients, CostFigures};
use super::qos::{Margins, Qos};
use super::units::VTIME_PER_US;
use super::weights::Tree;
use crate::request::{GroupId, PerDir};
use crate::time::{Instant, Jiffies, Tick};

/// Which of the two sums that overflow 32 bits in every kernel so far do overflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Overflows {
    /// Both, as in kernels: a group that used all of its time asks for nothing next, and a heavy group (weight above
    /// 2621) takes back an arbitrary amount.
    #[default]
    Kernel,
    /// Neither: the formulas' intended results.
    None,
}

/// The kernel's version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Era {
    /// 6.1: a changed class leaves the base rate unchanged.
    V6_1,
    /// 6.12 and later: it resets that too, and the maximum rate is rounded up.
    #[default]
    V6_12,
}

/// The configuration of io.cost on one device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Ticks per second.
    pub jiffies: Jiffies,
    /// The device's class, unless a user sets its parameters.
    pub class: Class,
    /// What a user wrote to `io.cost.model`.
    pub model: Option<CostFigures>,
    /// What a user wrote to `io.cost.qos`.
    pub qos: Option<Qos>,
    /// Whether sums overflow as in kernels.
    pub overflows: Overflows,
    /// The kernel's version.
    pub era: Era,
}

/// A task's number; the caller numbers them.
pub type CostTask = u32;

/// The result for a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Verdict {
    /// It continues, and has cost its group this much virtual time.
    Go {
        /// 0 if it was free.
        cost: u64,
    },
    /// Its task sleeps.
    Sleep,
    /// It continues on credit.
    Debt,
}

/// A woken task, and the cost of its bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// The task.
    pub task: CostTask,
    /// The cost in virtual time.
    pub cost: u64,
}

/// A group's own state.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// Its virtual time; all differences are modulo 2^64.
    pub(super) vtime: u64,
    /// The part of it that has completed.
    pub(super) done: u64,
    /// What it has been charged since the last examination, at its full price.
    pub(super) usage: u64,
    /// The end of its last bio \[sectors\].
    pub(super) cursor: u64,
    /// Waiting tasks, with the full price of their bios.
    pub(super) waiting: VecDeque<(CostTask, u64)>,
    /// Its debt, at the full price.
    pub(super) debt: u64,
    /// The delay of its tasks \[us\], and when it was computed \[us\].
    pub(super) delay: u64,
    pub(super) delay_at: u64,
    /// Its margin when its share last changed.
    pub(super) saved_margin: i64,
    /// When it was activated \[us\].
    pub(super) active_since: u64,
    /// The period in which it last sent a bio.
    pub(super) stamp: u64,
    /// When its own timer fires \[ns\].
    pub(super) wakes_at: Option<u64>,
}

impl Account {
    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// What completed requests show about the device, in one period.
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
    /// The base rate.
    pub(super) base: u64,
    /// The rate of this period, which compensates for `err`.
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

/// The use of the device since debts were last examined.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forgiveness {
    pub(super) since: u64,
    pub(super) used: u64,
    pub(super) remainder: u64,
}

impl Forgiveness {
    /// Begins the count: the first group is active, or the last debtor has paid.
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
    /// Active groups; the one activated last comes first.
    pub(super) active: Vec<GroupId>,
    pub(super) pace: VrateClock,
    pub(super) latencies: PerDir<PeriodLatencies>,
    pub(super) forgiveness: Forgiveness,
    /// When the period ends, if one is running.
    pub(super) period_ends: Option<Tick>,
    pub(super) period: u64,
    /// When shares follow the weights.
    pub(super) shares: SharesFollow,
}

/// When groups' shares follow their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SharesFollow {
    /// With every change.
    #[default]
    AtOnce,
    /// At the next commit: at the end of a period, which has two; what forgiven debts change after the second is seen
    /// at the next period's first.
    AtCommits,
}

/// The time of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) ns: u64,
    pub(super) us: u64,
    /// The device's virtual time.
    pub(super) vnow: u64,
}

/// Whether the present margin is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Save {
    Yes,
    No,
}

impl IoCost {
    pub(super) fn now(&self, now: Instant) -> Now {
        let (ns, us) = (now.as_ns(), now.as_ns() / 1000);
        Now { ns, us, vnow: self.pace.vnow(us) }
    }

    /// The first nanosecond of a tick.
    pub(super) fn moment_of(&self, tick: Tick) -> u64 {
        let at = self.config.jiffies.instant(tick);
        at.as_ns() + u64::from(self.config.jiffies.tick(at) < tick)
    }

    pub(super) fn account(&mut self, id: GroupId) -> &mut Account {
        &mut self.accounts[id.0 as usize]
    }

    /// Sets a group's weights, and remembers its present margin if asked to. Shares follow at once, but at the end of a
    /// period at the next commit.
    pub(super) fn set_weights(&mut self, now: Now, id: GroupId, active: u64, inuse: u64, save: Save) {
        if save == Save::Yes {
            let account = self.account(id);
            account.saved_margin = now.vnow.wrapping_sub(account.vtime) as i64;
        }
        self.tree.set(id, active, inuse);
        if self.shares == SharesFollow::AtOnce {
            self.commit();
        }
    }

    pub(super) fn commit(&mut self) {
        self.active.iter().for_each(|&id| self.tree.refresh(id));
    }

    /// Recomputes the device's class, model and targets, and what follows from them.
    pub(super) fn refresh_parameters(&mut self) {
        let defaults = self.class.defaults();
        self.coefficients = Coefficients::of_model(&self.config.model.unwrap_or(defaults.model));
        self.qos = self.config.qos.unwrap_or(defaults.qos);
        self.period_us = self.qos.period_us();
        self.refresh_margins();
    }

    pub(super) fn refresh_margins(&mut self) {
        self.margins = Margins::of(self.period_us, self.pace.base);
    }
}
