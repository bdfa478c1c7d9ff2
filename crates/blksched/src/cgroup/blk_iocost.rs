//! io.cost: the cost of an I/O by a model of the device, charged to groups in inverse proportion to their weights.
//!
//! Every I/O costs virtual time; a device gives out one second of it per second, times *vrate*. A group whose clock is
//! ahead of the device's waits. Its rules, by file:
//!
//! | rule | file |
//! |---|---|
//! | the cost of a bio | `price` |
//! | a device's model, unless a user sets one | `model` |
//! | the device's targets (`io.cost.qos`) | `qos` |
//! | shares from weights, along the tree | `weights` |
//! | whether a bio passes or its task sleeps | `throttle` |
//! | waking tasks when there is budget | `kick` |
//! | bios that cannot wait pass on credit, and delay their group | `debt` |
//! | the evaluation at the end of a period | `period` |
//! | how much of its share a group needs, and giving the rest to others | `usage`, `transfer` |
//! | the rate of the device's clock | `vrate` |
//!
//! **Origin** docs/behaviour/cgroup-io.md#k; every recording of `iocost-6.1` replays.
//! **In the kernel** `ioc_rqos_throttle`, `ioc_rqos_done`, `ioc_rqos_merge`, `calc_size_vtime_cost`,
//! `ioc_rqos_done_bio`.

#![doc(alias = "ioc_rqos_throttle")]
#![doc(alias = "ioc_rqos_done")]

use alloc::vec;
use alloc::vec::Vec;

use crate::cgroup::files::CostQos;
use crate::group::WEIGHTS;
use crate::request::{Dir, GroupId, PerDir};
use crate::time::{Instant, Span, Tick};

mod debt;
mod kick;
pub mod model;
mod period;
mod price;
pub mod qos;
mod state;
mod throttle;
mod transfer;
pub mod units;
mod usage;
mod vrate;
mod weights;

pub use model::{Class, CostFigures, Figures};
pub use qos::Qos;
pub use state::{Config, CostTask, Era, IoCost, Overflows, Verdict, Woken};
pub use units::{VTIME_PER_S, VTIME_PER_US, WHOLE};

use model::Coefficients;
use state::{Account, Forgiveness, Now, Save, SharesFollow, VrateClock};
use weights::Tree;

/// A request that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Read or write.
    pub dir: Dir,
    /// Its length.
    pub sectors: u32,
    /// When it first asked for a slot.
    pub asked: Instant,
    /// When it got the slot.
    pub started: Instant,
}

impl IoCost {
    /// Before any group has sent anything.
    pub fn new(config: Config) -> IoCost {
        let mut cost = IoCost {
            config,
            class: config.class,
            coefficients: Coefficients::default(),
            qos: Qos::default(),
            period_us: 0,
            margins: qos::Margins::default(),
            tree: Tree::default(),
            accounts: vec![Account::default()],
            active: Vec::new(),
            pace: VrateClock::default(),
            latencies: PerDir::default(),
            forgiveness: Forgiveness::default(),
            period_ends: None,
            period: 0,
            shares: SharesFollow::AtOnce,
        };
        cost.refresh_parameters();
        cost
    }

    /// Creates a group, or changes its weight.
    pub fn set_group(&mut self, now: Instant, id: GroupId, parent: GroupId, weight: u32) {
        assert!(WEIGHTS.contains(&weight), "a weight of {weight}");
        if self.accounts.len() <= id.0 as usize {
            self.accounts.resize(id.0 as usize + 1, Account::default());
        }
        let moment = self.now(now);
        let weight = u64::from(weight) * WHOLE;
        if self.tree.make(id, parent, weight) {
            self.accounts[id.0 as usize] = Account { vtime: moment.vnow, done: moment.vnow, ..Account::default() };
        } else if self.tree.weight(id) != weight {
            self.reweigh(moment, id, weight);
        }
    }

    fn reweigh(&mut self, now: Now, id: GroupId, weight: u64) {
        if self.tree.active(id) > 0 && id != GroupId::ROOT {
            let inuse = self.tree.inuse(id);
            self.set_weights(now, id, weight, inuse, Save::Yes);
        }
        self.tree.set_weight(id, weight);
    }

    /// Writes `io.cost.qos`.
    pub fn change_qos(&mut self, change: &CostQos) {
        self.config.qos = change.change(self.qos, self.config.qos);
        self.refresh_parameters();
    }

    /// Writes `io.cost.model`; `None`: the kernel's own.
    pub fn set_model(&mut self, model: Option<CostFigures>) {
        self.config.model = model;
        self.refresh_parameters();
    }

    /// The clock runs at this rate from now on, as if earlier settings had left it so \[of a million\].
    pub fn set_rate(&mut self, ppm: u64) {
        let base = (ppm * VTIME_PER_US / qos::MILLION).max(1);
        (self.pace.base, self.pace.rate) = (base, base);
        self.refresh_margins();
    }

    /// The clock's base rate \[of a million\].
    pub fn rate(&self) -> u64 {
        self.pace.base * qos::MILLION / VTIME_PER_US
    }

    /// io.cost is disabled: all waiting tasks continue.
    pub fn release_all(&mut self, woken: &mut Vec<Woken>) {
        for account in &mut self.accounts {
            woken.extend(account.waiting.drain(..).map(|(task, _)| Woken { task, cost: 0 }));
            account.wakes_at = None;
        }
    }

    /// A group is removed: the tasks that wait in it continue.
    pub fn remove_group(&mut self, now: Instant, id: GroupId, woken: &mut Vec<Woken>) {
        let account = self.account(id);
        woken.extend(account.waiting.drain(..).map(|(task, _)| Woken { task, cost: 0 }));
        if let Some(at) = self.active.iter().position(|&active| active == id) {
            let moment = self.now(now);
            self.set_weights(moment, id, 0, 0, Save::No);
            self.active.remove(at);
        }
        self.tree.remove(id);
        if let Some(account) = self.accounts.get_mut(id.0 as usize) {
            *account = Account::default();
        }
    }

    /// A bio has ended: `cost` is what it was charged.
    pub fn bio_done(&mut self, group: GroupId, cost: u64) {
        let account = &mut self.accounts[group.0 as usize];
        account.done = account.done.wrapping_add(cost);
    }

    /// A request has ended.
    pub fn request_done(&mut self, now: Instant, ended: Ended) {
        let page = self.coefficients.of(ended.dir).page;
        let took = now.since(ended.asked).as_ns();
        let size = u64::from(ended.sectors / 8) * page / (VTIME_PER_S / 1_000_000_000);
        let latency = Span::from_us(self.qos.of(ended.dir).latency_us).as_ns();
        let latencies = &mut self.latencies[ended.dir];
        latencies.requests += 1;
        latencies.missed += u64::from(took > size && took - size > latency);
        latencies.waited += ended.started.since(ended.asked).as_ns();
    }

    /// When it next must be called.
    pub fn deadline(&self) -> Option<Instant> {
        let waits = self.active.iter().filter_map(|id| self.accounts[id.0 as usize].wakes_at);
        waits.chain(self.period_ends.map(|tick| self.moment_of(tick))).min().map(Instant::from_ns)
    }

    /// Handles timers that are due: first the end of a period, then groups in the order of their numbers.
    pub fn elapse(&mut self, now: Instant, woken: &mut Vec<Woken>) {
        if self.period_ends.is_some_and(|tick| self.moment_of(tick) <= now.as_ns()) {
            self.end_period(now, woken);
        }
        for id in (0..self.accounts.len() as u32).map(GroupId) {
            if self.accounts[id.0 as usize].wakes_at.is_some_and(|at| at <= now.as_ns()) {
                self.wait_is_over(now, id, woken);
            }
        }
    }

    /// Handles a group's own timer.
    pub fn wait_is_over(&mut self, now: Instant, id: GroupId, woken: &mut Vec<Woken>) {
        let moment = self.now(now);
        self.accounts[id.0 as usize].wakes_at = None;
        let pays = self.accounts[id.0 as usize].debt > 0;
        self.kick(moment, id, pays, woken);
    }

    /// The delay of a group's tasks on their return to user space.
    pub fn delay(&self, id: GroupId) -> Span {
        Span::from_us(self.accounts.get(id.0 as usize).map_or(0, |account| account.delay))
    }
}

/// The state of a group, as recordings show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupState {
    /// Its weight while it is active.
    pub active: u64,
    /// The part of it that it claims.
    pub inuse: u64,
    /// Its share by weight.
    pub hwa: u64,
    /// Its share after donations.
    pub hwi: u64,
    /// The distance of its virtual time behind the device's.
    pub budget: i64,
    /// Its debt.
    pub debt: u64,
    /// Its delay \[us\].
    pub delay: u64,
    /// The cost of its bios in flight, in virtual time.
    pub inflight: i64,
}

/// The state of the device's clock, as recordings show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceClock {
    /// The base rate: virtual time per microsecond.
    pub base_vrate: u64,
    /// The rate of this period.
    pub vrate: u64,
    /// For how many periods the device has been too slow (above 0) or idle (below 0).
    pub busy: i32,
    /// Virtual time given out in excess or too little.
    pub err: i64,
    /// Whether a period is running.
    pub running: bool,
    /// The device's class.
    pub class: Class,
    /// The length of a period.
    pub period_us: u64,
}

impl IoCost {
    /// The state of a group.
    pub fn group_state(&self, now: Instant, id: GroupId) -> GroupState {
        let (vnow, account) = (self.now(now).vnow, &self.accounts[id.0 as usize]);
        GroupState {
            active: self.tree.active(id),
            inuse: self.tree.inuse(id),
            hwa: self.tree.hwa(id),
            hwi: self.tree.hwi(id),
            budget: vnow.wrapping_sub(account.vtime) as i64,
            debt: account.debt,
            delay: account.delay,
            inflight: account.vtime.wrapping_sub(account.done) as i64,
        }
    }

    /// The state of the device's clock.
    pub fn clock(&self) -> DeviceClock {
        let VrateClock { base, rate, busy, err, .. } = self.pace;
        let (running, class) = (self.period_ends.is_some(), self.class);
        DeviceClock { base_vrate: base, vrate: rate, busy, err, running, class, period_us: self.period_us }
    }

    /// The active groups, in the order of their numbers.
    pub fn active_groups(&self) -> Vec<GroupId> {
        let mut active = self.active.clone();
        active.sort();
        active
    }

    /// The tick at which the period ends.
    pub fn period_ends(&self) -> Option<Tick> {
        self.period_ends
    }

    /// When a group's own timer fires.
    pub fn wakes_at(&self, id: GroupId) -> Option<Instant> {
        self.accounts[id.0 as usize].wakes_at.map(Instant::from_ns)
    }

    /// The values of `Coefficients`: page, sequential and random I/O, for reads and for writes.
    pub fn coefficients(&self) -> [u64; 6] {
        let PerDir { read, write } = PerDir::from_fn(|dir| *self.coefficients.of(dir));
        [read.page, read.sequential, read.random, write.page, write.sequential, write.random]
    }
}
