//! The decision whether to wait for a process, put together from [`breaking`], [`close`] and the histories.
//!
//! **Rule** It is made before a batch of reads continues, with the request that would be next, and for every request
//! that arrives while the disk waits.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#a.3, #a.8.
//! **In the kernel** `as_can_anticipate`, `antic_expire`.

use super::anticipate::{Awaited, Phase};
use super::breaking::{self, AtHand, Expectation, Sight};
use super::close::{self, ClosenessInputs};
use super::history::HistoryUpdate;
use super::process::{Life, ProcessId};
use super::scheduler::Anticipatory;
use crate::elevator::{Cx, Run};
use crate::explain::{Reason, WaitEnd};
use crate::request::{RequestId, Waiter};
use crate::time::Tick;

impl Anticipatory {
    /// Whether it is better to leave the disk idle than to take `candidate`.
    pub(super) fn should_wait(&mut self, cx: &mut Cx<'_>, candidate: Option<RequestId>) -> bool {
        let Some(awaited) = self.anticipation.awaited else { return false };
        if self.anticipation.phase == Phase::Finished {
            return false;
        }
        let why = self.reason_not_to_wait(cx, awaited, candidate);
        if let Some(why) = why {
            cx.explain(Reason::WaitEnds { submitter: awaited.submitter, why });
        }
        why.is_none()
    }

    fn reason_not_to_wait(&mut self, cx: &Cx<'_>, awaited: Awaited, rq: Option<RequestId>) -> Option<WaitEnd> {
        let (now, antic_expire) = (self.tick(cx), self.antic_expire());
        let process = self.processes[awaited.process];
        let sight = Sight {
            at_hand: self.at_hand(cx, awaited.process, rq),
            waited: self.anticipation.finished_at.map(|at| now - at),
            antic_expire,
            on_their_way: process.on_their_way(),
        };
        let at_once = breaking::at_once(sight);
        if at_once == Some(WaitEnd::CloseEnough) {
            self.succeed(cx, awaited.process, rq);
        }
        if at_once.is_some() {
            return at_once;
        }
        let has_exited = process.life == Life::Exited;
        if has_exited && process.history.is_new() {
            // It exited before its think time was known, which makes new processes less worth waiting for.
            self.exits.left();
        }
        breaking::by_experience(Expectation {
            has_exited,
            think: process.history.think(),
            newcomers_think: self.newcomers.think(),
            exits: self.exits,
            antic_expire,
        })
    }

    fn at_hand(&self, cx: &Cx<'_>, process: ProcessId, rq: Option<RequestId>) -> AtHand {
        match rq {
            Some(rq) if self.owner[rq] == process => AtHand::ItsOwn,
            Some(rq) if cx.rq(rq).waiter == Waiter::Sync && self.is_close(cx, process, rq) => AtHand::Close,
            _ => AtHand::Nothing,
        }
    }

    fn is_close(&self, cx: &Cx<'_>, process: ProcessId, rq: RequestId) -> bool {
        let place = ClosenessInputs {
            arm: self.arm[self.batch.class],
            waited: self.anticipation.waited(self.tick(cx)),
            antic_expire: self.antic_expire(),
            seek_mean: self.processes[process].history.seek().unwrap_or(self.newcomers.seek()),
        };
        close::is_close(place, cx.rq(rq).start, self.jiffies)
    }

    /// Counts another process's read, which continues where `process` stopped, as that process's own.
    fn succeed(&mut self, cx: &Cx<'_>, process: ProcessId, rq: Option<RequestId>) {
        if self.processes[process].life == Life::Exited {
            if self.processes[process].history.is_new() {
                self.exits.left();
            }
            self.exits.succeeded();
        }
        if let Some(rq) = rq {
            self.learn(cx, process, rq);
        }
    }

    pub(super) fn learn(&mut self, cx: &Cx<'_>, process: ProcessId, rq: RequestId) {
        let now = self.tick(cx);
        let update = self.processes[process].learn(now, cx.rq(rq), self.jiffies, &mut self.newcomers);
        if update == HistoryUpdate::Stayed {
            self.exits.stayed();
        }
    }

    pub(super) fn end_wait(&mut self, cx: &mut Cx<'_>, why: WaitEnd) -> Run {
        if let Some(Awaited { submitter, .. }) = self.anticipation.awaited.filter(|_| self.anticipation.is_waiting()) {
            cx.explain(Reason::WaitEnds { submitter, why });
        }
        self.anticipation.stop(cx)
    }

    /// Ends the wait if `rq`, which has just been queued, makes it pointless.
    pub(super) fn look_at_new(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let Some(awaited) = self.anticipation.awaited.filter(|_| self.anticipation.is_waiting()) else {
            return Run::No;
        };
        let why = self.reason_not_to_wait(cx, awaited, Some(rq));
        why.map_or(Run::No, |why| self.end_wait(cx, why))
    }

    /// Notes the end of a request of `process`: it completed, or another absorbed it.
    pub(super) fn part(&mut self, now: Tick, class: Waiter, process: ProcessId) {
        if class == Waiter::Sync {
            self.processes[process].completed_at = Some(now);
        }
        self.processes.release(process);
    }
}
