//! Writeback throttling.

use std::collections::BTreeMap;

use blksched::author::{Jiffies, RequestId};
use blksched::surroundings::mq::{MqEra, Task};
use blksched::surroundings::wbt::{Config, Kind, Throttle, Throttled, Verdict};
use blksched::{Instant, Op, Span};
use blksched_traces::blk_mq_transcript::wbt::{Case, Event, Header, Limits, Outcome, Status, What, Word};
use blksched_traces::elevator_transcript::OpLetter;

use super::{same, woken};

pub(super) struct ReplayedWbt {
    throttle: Throttle,
    jiffies: Jiffies,
    ktime0: u64,
    /// What each task brought last.
    kinds: BTreeMap<u32, Kind>,
}

impl ReplayedWbt {
    pub(super) fn of(case: &Case, era: MqEra) -> ReplayedWbt {
        let Header { hz, ktime0, queue_depth, write_cache, min_lat, dirty_wait_before_ms, .. } = case.header;
        let (target, born) = (Span::from_ns(min_lat), Instant::from_ns(ktime0));
        let hz = hz.max(1);
        let mut throttle = Throttle::new(Config { era, hz, target, queue_depth, write_cache, born });
        let before = Span::from_ms(dirty_wait_before_ms).as_ns();
        throttle.dirty_wait(Instant::from_ns(ktime0.saturating_sub(before)));
        ReplayedWbt { throttle, jiffies: Jiffies::new(hz), ktime0, kinds: BTreeMap::new() }
    }

    pub(super) fn check_start(&self, header: &Header) -> Result<(), String> {
        same("limits", &header.limits, &self.limits())
    }

    pub(super) fn step(&mut self, event: &Event) -> Result<(), String> {
        let now = Instant::from_ns(self.ktime0 + event.t);
        let before = self.throttle.deadline();
        if before.is_some_and(|due| due < now) {
            return Err(format!("the window has ended at {} here, which is not recorded", before.unwrap_or_default()));
        }
        let mut woke = Vec::new();
        match &event.what {
            What::Throttle { task, op, words, result } => {
                let kind = kind(*op, words);
                self.kinds.insert(*task, kind);
                let here = match self.throttle.throttle(now, Task(*task), kind) {
                    Throttled::Go => Outcome::Go,
                    Throttled::Sleep => Outcome::Sleep,
                };
                same("result", result, &here)?;
            }
            What::Resume { .. } => self.throttle.resumed(now),
            What::Track { rq, task } => {
                let kind = *self.kinds.get(task).ok_or("a request of a task that brought nothing")?;
                self.throttle.track(RequestId::from_index(*rq), kind);
            }
            What::Issue { rq } => self.throttle.issued(now, RequestId::from_index(*rq)),
            What::Done { rq, woke: recorded } => {
                self.throttle.done(now, RequestId::from_index(*rq), &mut woke);
                woken(recorded, &woke)?;
            }
            What::Timer { status, limits, window, unknown, woke: recorded } => {
                same("due", &Some(now), &before)?;
                same("status", status, &status_of(self.throttle.elapse(now, &mut woke)))?;
                woken(recorded, &woke)?;
                same("limits", limits, &self.limits())?;
                same("window", &(Span::from_ns(*window), *unknown), &self.throttle.window())?;
            }
            What::DirtyWait {} => self.throttle.dirty_wait(now),
            other => self.switch(now, other)?,
        }
        self.check_state(event, before)
    }

    fn switch(&mut self, now: Instant, what: &What) -> Result<(), String> {
        let mut woke = Vec::new();
        let (limits, recorded) = match what {
            What::SetLatency { ns, limits, woke: recorded } => {
                self.throttle.set_target(now, Span::from_ns(*ns), &mut woke);
                (limits, recorded)
            }
            What::SetDepth { depth, limits, woke: recorded } => {
                self.throttle.set_depth(now, *depth, &mut woke);
                (limits, recorded)
            }
            What::Default { on, limits, woke: recorded } => {
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

    fn check_state(&self, event: &Event, before: Option<Instant>) -> Result<(), String> {
        let after = self.throttle.deadline();
        let armed = after.filter(|_| after != before || matches!(event.what, What::Timer { .. }));
        same("timer_at", &event.timer_at, &armed.map(|at| self.jiffies.tick(at)))?;
        if let Some(inflight) = event.inflight {
            same("inflight", &inflight, &self.throttle.inflight())?;
        }
        let watched = self.throttle.sync_issue().map_or(-1, |since| (since.as_ns() - self.ktime0) as i64);
        event.sync_issue.map_or(Ok(()), |recorded| same("sync_issue", &recorded, &watched))
    }

    fn limits(&self) -> Limits {
        let (step, limits, at_max) = self.throttle.limits();
        Limits { step, max: limits.max, normal: limits.normal, background: limits.background, at_max }
    }
}

fn kind(op: OpLetter, words: &[Word]) -> Kind {
    let has = |word| words.contains(&word);
    let op = match op {
        OpLetter::R => Op::Read,
        OpLetter::W => Op::Write,
        OpLetter::D => Op::Discard,
        OpLetter::Z => Op::WriteZeroes,
    };
    Kind {
        op,
        sync: has(Word::Sync),
        idle: has(Word::Idle),
        background: has(Word::Background),
        meta: has(Word::Meta) || has(Word::Prio),
        swap: has(Word::Swap),
        reclaim: has(Word::Reclaim),
    }
}

fn status_of(verdict: Verdict) -> Status {
    match verdict {
        Verdict::Ok => Status::Ok,
        Verdict::Unknown => Status::Unknown,
        Verdict::OnlyWrites => Status::OnlyWrites,
        Verdict::Exceeded => Status::Exceeded,
    }
}
