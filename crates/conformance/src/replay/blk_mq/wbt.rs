//! Writeback throttling.

use std::collections::BTreeMap;

use blksched::author::{Jiffies, RequestId};
use blksched::surroundings::mq::{MqEra, Task};
use blksched::surroundings::wbt::{Config, Kind, Throttle, Throttled, WindowVerdict};
use blksched::{Instant, Op, Span};
use blksched_traces::blk_mq_transcript::wbt::{
    BioWord, Status, WbtCase, WbtEvent, WbtFate, WbtHappening, WbtHeader, WbtLimits,
};
use blksched_traces::elevator_transcript::OpLetter;

use super::{same, woken};

pub(super) struct ReplayedWbt {
    throttle: Throttle,
    jiffies: Jiffies,
    ktime0: u64,
    /// The kind of each task's last bio.
    kinds: BTreeMap<u32, Kind>,
}

impl ReplayedWbt {
    pub(super) fn of(case: &WbtCase, era: MqEra) -> ReplayedWbt {
        let WbtHeader { hz, ktime0, queue_depth, write_cache, min_lat, dirty_wait_before_ms, .. } = case.header;
        let (target, born) = (Span::from_ns(min_lat), Instant::from_ns(ktime0));
        let hz = hz.max(1);
        let mut throttle = Throttle::new(Config { era, hz, target, queue_depth, write_cache, born });
        let before = Span::from_ms(dirty_wait_before_ms).as_ns();
        throttle.dirty_wait(Instant::from_ns(ktime0.saturating_sub(before)));
        ReplayedWbt { throttle, jiffies: Jiffies::new(hz), ktime0, kinds: BTreeMap::new() }
    }

    pub(super) fn check_start(&self, header: &WbtHeader) -> Result<(), String> {
        same("limits", &header.limits, &self.limits())
    }

    pub(super) fn step(&mut self, event: &WbtEvent) -> Result<(), String> {
        let now = Instant::from_ns(self.ktime0 + event.t);
        let before = self.throttle.deadline();
        if before.is_some_and(|due| due < now) {
            return Err(format!("the window has ended at {} here, which is not recorded", before.unwrap_or_default()));
        }
        let mut woke = Vec::new();
        match &event.what {
            WbtHappening::Throttle { task, op, words, result } => {
                let kind = kind(*op, words);
                self.kinds.insert(*task, kind);
                let here = match self.throttle.throttle(now, Task(*task), kind) {
                    Throttled::Go => WbtFate::Go,
                    Throttled::Sleep => WbtFate::Sleep,
                };
                same("result", result, &here)?;
            }
            WbtHappening::Resume { .. } => self.throttle.resumed(now),
            WbtHappening::Track { rq, task } => {
                let kind = *self.kinds.get(task).ok_or("a request of a task that brought nothing")?;
                self.throttle.track(RequestId::from_index(*rq), kind);
            }
            WbtHappening::Issue { rq } => self.throttle.issued(now, RequestId::from_index(*rq)),
            WbtHappening::Done { rq, woke: recorded } => {
                self.throttle.done(now, RequestId::from_index(*rq), &mut woke);
                woken(recorded, &woke)?;
            }
            WbtHappening::Timer { status, limits, window, unknown, woke: recorded } => {
                same("due", &Some(now), &before)?;
                same("status", status, &status_of(self.throttle.elapse(now, &mut woke)))?;
                woken(recorded, &woke)?;
                same("limits", limits, &self.limits())?;
                same("window", &(Span::from_ns(*window), *unknown), &self.throttle.window())?;
            }
            WbtHappening::DirtyWait {} => self.throttle.dirty_wait(now),
            other => self.switch(now, other)?,
        }
        self.check_state(event, before)
    }

    fn switch(&mut self, now: Instant, what: &WbtHappening) -> Result<(), String> {
        let mut woke = Vec::new();
        let (limits, recorded) = match what {
            WbtHappening::SetLatency { ns, limits, woke: recorded } => {
                self.throttle.set_target(now, Span::from_ns(*ns), &mut woke);
                (limits, recorded)
            }
            WbtHappening::SetDepth { depth, limits, woke: recorded } => {
                self.throttle.set_depth(now, *depth, &mut woke);
                (limits, recorded)
            }
            WbtHappening::Default { on, limits, woke: recorded } => {
                if *on {
                    self.throttle.enable_default()
                } else {
                    self.throttle.disable_default()
                }
                (limits, recorded)
            }
            _ => return Ok(()),
        };
        woken(recorded, &woke)?;
        same("limits", limits, &self.limits())
    }

    fn check_state(&self, event: &WbtEvent, before: Option<Instant>) -> Result<(), String> {
        let after = self.throttle.deadline();
        let armed = after.filter(|_| after != before || matches!(event.what, WbtHappening::Timer { .. }));
        same("timer_at", &event.timer_at, &armed.map(|at| self.jiffies.tick(at)))?;
        if let Some(inflight) = event.inflight {
            same("inflight", &inflight, &self.throttle.inflight())?;
        }
        let watched = self.throttle.sync_issue().map_or(-1, |since| (since.as_ns() - self.ktime0) as i64);
        event.sync_issue.map_or(Ok(()), |recorded| same("sync_issue", &recorded, &watched))
    }

    fn limits(&self) -> WbtLimits {
        let (step, limits, at_max) = self.throttle.limits();
        WbtLimits { step, max: limits.max, normal: limits.normal, background: limits.background, at_max }
    }
}

fn kind(op: OpLetter, words: &[BioWord]) -> Kind {
    let has = |word| words.contains(&word);
    let op = match op {
        OpLetter::R => Op::Read,
        OpLetter::W => Op::Write,
        OpLetter::D => Op::Discard,
        OpLetter::Z => Op::WriteZeroes,
    };
    Kind {
        op,
        sync: has(BioWord::Sync),
        idle: has(BioWord::Idle),
        background: has(BioWord::Background),
        meta: has(BioWord::Meta) || has(BioWord::Prio),
        swap: has(BioWord::Swap),
        reclaim: has(BioWord::Reclaim),
    }
}

fn status_of(verdict: WindowVerdict) -> Status {
    match verdict {
        WindowVerdict::Ok => Status::Ok,
        WindowVerdict::Unknown => Status::Unknown,
        WindowVerdict::OnlyWrites => Status::OnlyWrites,
        WindowVerdict::Exceeded => Status::Exceeded,
    }
}
