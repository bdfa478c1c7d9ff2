//! io.cost among the queue's policies.
//!
//! Not modelled: the delay of a debtor's tasks on their way back to user space ([`IoCost::delay`]); processes here have
//! no such way, and debt arises from metadata alone.
//!
//! **Origin** docs/behaviour/cgroup-io.md#k.
//! **In the kernel** `ioc_rqos_ops`, `ioc_rqos_throttle`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Key, key};
use crate::cgroup::blk_iocost::{Config, Ended, IoCost, Verdict, Woken};
use crate::cgroup::files::Written;
use crate::group::Group;
use crate::queue::mq::Task;
use crate::queue::rq_qos::{QosCx, RqQos, Throttled};
use crate::request::{Bio, GroupId, Op, RequestId, Table};
use crate::time::Instant;

/// What a bio has paid, and when it first asked for a slot.
#[derive(Clone, Copy, Debug)]
struct Paid {
    cost: u64,
    asked: Instant,
}

/// A request's bios and times.
#[derive(Clone, Debug, Default)]
struct Charged {
    bios: Vec<(GroupId, u64)>,
    asked: Instant,
    started: Instant,
}

/// io.cost on a queue.
#[derive(Debug)]
pub struct IoCostPolicy {
    cost: IoCost,
    /// The values written to `io.weight`.
    weights: BTreeMap<GroupId, u32>,
    groups: BTreeMap<GroupId, Group>,
    /// Bios that have paid and do not have a request yet.
    paid: BTreeMap<Key, Paid>,
    /// Tasks that were woken, and the cost of their bios.
    granted: BTreeMap<Task, u64>,
    charged: Table<Charged>,
    woken: Vec<Woken>,
    state: QosSwitch,
    rates: Rates,
}

/// How fast the clock has run: at most so many moments, of which every second is dropped when there are more.
#[derive(Clone, Debug)]
struct Rates {
    /// Moments, and the rate from then on \[of a million\].
    since: Vec<(Instant, u64)>,
    /// How many changes make a moment, and how many have come since the last.
    every: u32,
    changes: u32,
    /// The latest change, be it a moment that is kept or not.
    latest: Option<(Instant, u64)>,
}

impl Rates {
    const MOST: usize = 256;

    fn note(&mut self, now: Instant, rate: u64) {
        if self.latest.is_some_and(|(_, last)| last == rate) {
            return;
        }
        self.latest = Some((now, rate));
        self.changes += 1;
        if self.changes < self.every {
            return;
        }
        self.changes = 0;
        self.since.push((now, rate));
        if self.since.len() > Rates::MOST {
            let mut nth = 0;
            self.since.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.every *= 2;
        }
    }

    /// The moments that are kept, and the latest change even if too few have come since the last of them.
    fn all(&self) -> impl Iterator<Item = (Instant, u64)> {
        let latest = self.latest.filter(|latest| self.since.last() != Some(latest));
        self.since.iter().copied().chain(latest)
    }
}

/// `enable=` of `io.cost.qos`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QosSwitch {
    On,
    Off,
}

impl IoCostPolicy {
    /// As configured.
    pub fn new(config: Config) -> IoCostPolicy {
        IoCostPolicy {
            cost: IoCost::new(config),
            weights: BTreeMap::new(),
            groups: BTreeMap::new(),
            paid: BTreeMap::new(),
            granted: BTreeMap::new(),
            charged: Table::new(),
            woken: Vec::new(),
            state: QosSwitch::On,
            rates: Rates { since: Vec::new(), every: 1, changes: 0, latest: None },
        }
    }

    /// Passes on the tasks that io.cost has woken.
    fn wake(&mut self, cx: &mut QosCx<'_>) {
        for Woken { task, cost } in self.woken.drain(..) {
            self.granted.insert(Task(task), cost);
            cx.woke().push(Task(task));
        }
    }

    fn announce(&mut self, now: Instant, id: GroupId) {
        let Some(group) = self.groups.get(&id) else { return };
        let weight = self.weights.get(&id).copied().unwrap_or(group.weight);
        self.cost.set_group(now, id, group.parent, weight);
    }
}

impl RqQos for IoCostPolicy {
    fn name(&self) -> &'static str {
        "io.cost"
    }

    fn throttle(&mut self, cx: &mut QosCx<'_>, task: Task, bio: &Bio) -> Throttled {
        if self.state == QosSwitch::Off {
            return Throttled::Go;
        }
        let verdict = self.cost.throttle(cx.now, task.0, bio, &mut self.woken);
        let cost = match verdict {
            Verdict::Go { cost } => Some(cost),
            Verdict::Debt => Some(0),
            // Its own arrival may have woken it.
            Verdict::Sleep => {
                let at = self.woken.iter().position(|woken| woken.task == task.0);
                at.map(|at| self.woken.remove(at).cost)
            }
        };
        self.wake(cx);
        let Some(cost) = cost else { return Throttled::Sleep };
        self.paid.insert(key(bio), Paid { cost, asked: cx.now });
        Throttled::Go
    }

    fn resumed(&mut self, cx: &mut QosCx<'_>, task: Task, bio: &Bio) {
        let cost = self.granted.remove(&task).unwrap_or(0);
        self.paid.insert(key(bio), Paid { cost, asked: cx.now });
    }

    fn merged(&mut self, cx: &mut QosCx<'_>, into: RequestId, bio: &Bio) {
        if self.state == QosSwitch::Off {
            return;
        }
        let is_back = cx.rq(into).end() == bio.end();
        let was_charged = self.charged.row(into).bios.first().is_some_and(|(_, cost)| *cost > 0);
        let cost = self.cost.merged(cx.now, bio, is_back, was_charged);
        self.charged.row(into).bios.push((bio.group, cost));
    }

    fn track(&mut self, cx: &mut QosCx<'_>, rq: RequestId, bio: &Bio) {
        let paid = self.paid.remove(&key(bio)).unwrap_or(Paid { cost: 0, asked: cx.now });
        let charged = self.charged.row(rq);
        charged.bios.clear();
        charged.bios.push((bio.group, paid.cost));
        (charged.asked, charged.started) = (paid.asked, cx.now);
    }

    fn done(&mut self, cx: &mut QosCx<'_>, rq: RequestId) {
        let charged = self.charged.row(rq);
        let (asked, started) = (charged.asked, charged.started);
        let mut bios = core::mem::take(&mut charged.bios);
        let was_tracked = !bios.is_empty();
        bios.drain(..).for_each(|(group, cost)| self.cost.bio_done(group, cost));
        self.charged.row(rq).bios = bios;
        let request = cx.rq(rq);
        if was_tracked && matches!(request.op, Op::Read | Op::Write) {
            let ended = Ended { dir: request.dir(), sectors: request.sectors, asked, started };
            self.cost.request_done(cx.now, ended);
        }
    }

    fn absorbed(&mut self, _cx: &mut QosCx<'_>, into: RequestId, victim: RequestId) {
        let bios = core::mem::take(&mut self.charged.row(victim).bios);
        self.charged.row(into).bios.extend(bios);
    }

    fn group(&mut self, cx: &mut QosCx<'_>, id: GroupId, group: Group) {
        self.groups.insert(id, group);
        self.announce(cx.now, id);
    }

    fn ungroup(&mut self, cx: &mut QosCx<'_>, id: GroupId) {
        self.groups.remove(&id);
        self.weights.remove(&id);
        self.cost.remove_group(cx.now, id, &mut self.woken);
        self.wake(cx);
    }

    fn written(&mut self, cx: &mut QosCx<'_>, id: GroupId, written: &Written) -> bool {
        match written {
            Written::Weight(weight) => {
                self.weights.insert(id, *weight);
                self.announce(cx.now, id);
            }
            Written::CostQos(change) => {
                self.cost.change_qos(change);
                match change.enable {
                    Some(true) => self.state = QosSwitch::On,
                    Some(false) => {
                        self.state = QosSwitch::Off;
                        self.cost.release_all(&mut self.woken);
                        self.wake(cx);
                    }
                    None => {}
                }
            }
            Written::CostModel(model) => self.cost.set_model(*model),
            Written::CostRate(ppm) => {
                self.cost.set_rate(*ppm);
                if !self.rates.since.is_empty() {
                    self.rates.note(cx.now, self.cost.rate());
                }
            }
            _ => return false,
        }
        true
    }

    fn deadline(&self) -> Option<Instant> {
        self.cost.deadline()
    }

    fn clock_rates(&self) -> Option<Vec<(Instant, f64)>> {
        Some(self.rates.all().map(|(since, ppm)| (since, ppm as f64 / 1e6)).collect())
    }

    fn elapse(&mut self, cx: &mut QosCx<'_>) {
        if self.rates.since.is_empty() {
            self.rates.note(Instant::ZERO, self.cost.rate());
        }
        self.cost.elapse(cx.now, &mut self.woken);
        self.rates.note(cx.now, self.cost.rate());
        self.wake(cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rate_is_told_with_its_own_time_after_many_changes() {
        let mut rates = Rates { since: Vec::new(), every: 1, changes: 0, latest: None };
        for ms in 0..1500 {
            rates.note(Instant::from_ns(ms * 1_000_000), ms);
            let all: Vec<_> = rates.all().collect();
            assert_eq!(all.last(), Some(&(Instant::from_ns(ms * 1_000_000), ms)));
            assert!(all.len() <= Rates::MOST + 1 && all.is_sorted_by(|a, b| a.0 < b.0), "{ms}");
            assert!(all.iter().all(|(since, rate)| since.as_ns() == rate * 1_000_000), "{ms}");
        }
        let before: Vec<_> = rates.all().collect();
        rates.note(Instant::from_ns(9_000_000_000), 1499);
        assert_eq!(rates.all().collect::<Vec<_>>(), before, "the same rate is no change");
    }
}
