//! io.cost.

use blksched::author::Jiffies;
use blksched::cgroup::blk_iocost::qos::{Qos, Target};
use blksched::cgroup::blk_iocost::{
    Class, Config, CostFigures, Ended, Era, Figures, IoCost, Overflows, Verdict, Woken,
};
use blksched::{Bio, Dir, GroupId, Hints, Instant, Op, Sector, SubmitterId};
use blksched_traces::blk_mq_transcript::iocost::{
    self as file, BioFate, Coefficients, IocostCase, IocostEvent, IocostHappening, IocostHeader, Period,
};
use blksched_traces::elevator_transcript::OpLetter;

use super::same;

pub(super) struct ReplayedIocost {
    cost: IoCost,
    ktime0: u64,
    parents: Vec<GroupId>,
}

impl ReplayedIocost {
    pub(super) fn of(case: &IocostCase) -> ReplayedIocost {
        let IocostHeader { hz, ktime0, auto, qos, model, groups, .. } = &case.header;
        let era = if case.common.kernel.starts_with("6.1.") { Era::V6_1 } else { Era::V6_12 };
        let config = Config {
            jiffies: Jiffies::new((*hz).max(1)),
            class: class(*auto),
            model: model.map(|m| CostFigures {
                read: Figures { bps: m.rbps, seqiops: m.rseqiops, randiops: m.rrandiops },
                write: Figures { bps: m.wbps, seqiops: m.wseqiops, randiops: m.wrandiops },
            }),
            qos: qos.map(|q| Qos {
                read: Target { percentile_ppm: q.rppm, latency_us: q.rlat },
                write: Target { percentile_ppm: q.wppm, latency_us: q.wlat },
                min_ppm: q.min_ppm,
                max_ppm: q.max_ppm,
            }),
            overflows: Overflows::Kernel,
            era,
        };
        let mut replayed = ReplayedIocost { cost: IoCost::new(config), ktime0: *ktime0, parents: Vec::new() };
        for group in groups {
            let parent = GroupId(u32::try_from(group.parent).unwrap_or(0));
            let index = group.id as usize;
            if replayed.parents.len() <= index {
                replayed.parents.resize(index + 1, GroupId::ROOT);
            }
            replayed.parents[index] = parent;
            replayed.cost.set_group(Instant::from_ns(*ktime0), GroupId(group.id), parent, group.weight);
        }
        replayed
    }

    pub(super) fn check_start(&self, header: &IocostHeader) -> Result<(), String> {
        let Coefficients { rpage, rseq, rrand, wpage, wseq, wrand } = header.coef;
        same("coefficients", &[rpage, rseq, rrand, wpage, wseq, wrand], &self.cost.coefficients())?;
        same("period", &header.period_us, &self.cost.clock().period_us)
    }

    fn instant(&self, t: u64) -> Instant {
        Instant::from_ns(self.ktime0 + t)
    }

    pub(super) fn step(&mut self, event: &IocostEvent) -> Result<(), String> {
        let now = self.instant(event.t);
        if let Some(due) = self.cost.deadline().filter(|&due| due < now) {
            return Err(format!("a timer fires at {due} here, which is not recorded"));
        }
        let before = self.cost.period_ends();
        let mut here = Vec::new();
        match &event.what {
            IocostHappening::Bio { task, woke, result, cost, .. } => {
                let verdict = self.cost.throttle(now, *task, &bio(&event.what)?, &mut here);
                let verdict = match verdict {
                    Verdict::Go { cost } => (BioFate::Go, Some(cost)),
                    Verdict::Sleep => (BioFate::Sleep, None),
                    Verdict::Debt => (BioFate::Debt, Some(0)),
                };
                same("result", &(*result, *cost), &verdict)?;
                same("woken", woke, &woken(&here))?;
            }
            IocostHappening::Done { group, op, sectors, cost, asked, started } => {
                let (asked, started) = (self.instant(*asked), self.instant(*started));
                let dir = if *op == OpLetter::R { Dir::Read } else { Dir::Write };
                self.cost.bio_done(GroupId(*group), *cost);
                self.cost.request_done(now, Ended { dir, sectors: *sectors, asked, started });
            }
            IocostHappening::WaitExpired { group, woke } => {
                same("the wait's end", &Some(now), &self.cost.wakes_at(GroupId(*group)))?;
                self.cost.wait_is_over(now, GroupId(*group), &mut here);
                same("woken", woke, &woken(&here))?;
            }
            IocostHappening::Period(period) => {
                let due = self.cost.deadline();
                self.cost.end_period(now, &mut here);
                same("the period's end", &Some(now), &due)?;
                self.check_period(now, period, &here)?;
            }
            IocostHappening::Weight { group, weight } => {
                let parent = self.parents.get(*group as usize).copied().unwrap_or(GroupId::ROOT);
                self.cost.set_group(now, GroupId(*group), parent, *weight);
            }
            IocostHappening::Run {} | IocostHappening::End {} => {}
        }
        self.check_timers(event, before)?;
        event.g.as_ref().map_or(Ok(()), |recorded| same("the group", recorded, &self.group_state(now, recorded.id)))
    }

    fn check_timers(&self, event: &IocostEvent, before: Option<u64>) -> Result<(), String> {
        let armed =
            self.cost.period_ends().filter(|_| matches!(event.what, IocostHappening::Period(_)) || before.is_none());
        same("the period's timer", &event.timer_at, &armed)?;
        for (group, t) in &event.wait_timer {
            let is_last = event.wait_timer.iter().rfind(|(other, _)| other == group) == Some(&(*group, *t));
            if is_last {
                same("a group's timer", &Some(self.instant(*t)), &self.cost.wakes_at(GroupId(*group)))?;
            }
        }
        Ok(())
    }

    fn check_period(&self, now: Instant, recorded: &Period, here: &[Woken]) -> Result<(), String> {
        same("woken", &recorded.woke, &woken(here))?;
        let clock = self.cost.clock();
        same("busy level", &recorded.busy, &clock.busy)?;
        same("base vrate", &recorded.base_vrate, &clock.base_vrate)?;
        same("vrate", &recorded.vrate, &clock.vrate)?;
        same("error", &recorded.err, &clock.err)?;
        same("running", &recorded.running, &clock.running)?;
        same("class", &class(recorded.auto), &clock.class)?;
        same("period", &recorded.period_us, &clock.period_us)?;
        let groups: Vec<_> = self.cost.active_groups().into_iter().map(|id| self.group_state(now, id.0)).collect();
        same("groups", &recorded.groups, &groups)
    }

    fn group_state(&self, now: Instant, id: u32) -> file::GroupState {
        let group_state = self.cost.group_state(now, GroupId(id));
        file::GroupState {
            id,
            active: group_state.active,
            inuse: group_state.inuse,
            hwa: group_state.hwa,
            hwi: group_state.hwi,
            budget: group_state.budget,
            debt: group_state.debt,
            delay: group_state.delay,
            inflight: group_state.inflight,
        }
    }
}

fn woken(here: &[Woken]) -> Vec<file::Woken> {
    here.iter().map(|woken| (woken.task, woken.cost)).collect()
}

fn class(recorded: file::DeviceClass) -> Class {
    match recorded {
        file::DeviceClass::Hdd => Class::Hdd,
        file::DeviceClass::SsdDepth1 => Class::SsdDepth1,
        file::DeviceClass::Ssd => Class::Ssd,
        file::DeviceClass::SsdFast => Class::SsdFast,
    }
}

fn bio(what: &IocostHappening) -> Result<Bio, String> {
    let IocostHappening::Bio { group, op, sector, sectors, meta, .. } = what else { return Err("no bio".to_owned()) };
    if *sectors == 0 || *sector > u64::MAX / 2 {
        return Err(format!("{sectors} sectors at {sector} are no stretch of a disk"));
    }
    let op = match op {
        OpLetter::R => Op::Read,
        OpLetter::W => Op::Write,
        OpLetter::D => Op::Discard,
        OpLetter::Z => Op::WriteZeroes,
    };
    let hints = Hints { meta: *meta == 1, ..Hints::default() };
    Ok(Bio { op, group: GroupId(*group), hints, ..Bio::read(0, SubmitterId(0), Sector(*sector), *sectors) })
}
