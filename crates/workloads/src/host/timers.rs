//! When calls and the flusher continue without a completion: after the processor's part, after a writer's pause, and
//! at the next look for old files.
//!
//! **Rule** what is due at one moment continues in the order in which it began to wait.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use blksched::Instant;

use super::op::OpId;

/// DueCalls by the time at which they continue, and among those of one time in the order in which they came.
type DueCalls = BinaryHeap<Reverse<(Instant, u64, OpId)>>;

/// What waits for a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    /// DueCalls that only wait for the processor.
    returning: DueCalls,
    /// Writers that sleep for what they owe.
    pauses: DueCalls,
    /// How many have come.
    begun: u64,
    /// The next check of the age of dirty files.
    age_check: Option<Instant>,
}

impl Timers {
    /// Whether nothing waits.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.returning.is_empty() && self.age_check.is_none() && self.pauses.is_empty()
    }

    /// The first time at which a call continues.
    pub fn next_call(&self) -> Option<Instant> {
        let first = |calls: &DueCalls| calls.peek().map(|Reverse((at, ..))| *at);
        [first(&self.returning), first(&self.pauses)].into_iter().flatten().min()
    }

    /// The call returns then.
    pub fn return_at(&mut self, at: Instant, op: OpId) {
        self.begun += 1;
        self.returning.push(Reverse((at, self.begun, op)));
    }

    /// The writer sleeps until then.
    pub fn pause_until(&mut self, at: Instant, op: OpId) {
        self.begun += 1;
        self.pauses.push(Reverse((at, self.begun, op)));
    }

    /// The next call that returns by now.
    pub fn take_returning(&mut self, now: Instant) -> Option<OpId> {
        take(&mut self.returning, now)
    }

    /// The next writer whose pause ends by now.
    pub fn take_paused(&mut self, now: Instant) -> Option<OpId> {
        take(&mut self.pauses, now)
    }

    /// When files are next searched for old ones, if that is due at all.
    pub fn age_check(&self) -> Option<Instant> {
        self.age_check
    }

    /// They are next searched then.
    pub fn set_age_check(&mut self, at: Option<Instant>) {
        self.age_check = at;
    }
}

fn take(calls: &mut DueCalls, now: Instant) -> Option<OpId> {
    let &Reverse((at, _, op)) = calls.peek()?;
    (at <= now).then(|| {
        calls.pop();
        op
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_at_one_moment_continues_in_the_order_in_which_it_came() {
        let mut timers = Timers::default();
        let (early, late) = (Instant::from_ns(1), Instant::from_ns(2));
        for (at, op) in [(late, 1), (early, 9), (late, 0)] {
            timers.return_at(at, op);
        }
        timers.pause_until(early, 5);
        assert_eq!(timers.next_call(), Some(early));
        let order = |timers: &mut Timers, now| std::iter::from_fn(|| timers.take_returning(now)).collect::<Vec<_>>();
        assert_eq!(order(&mut timers, early), [9]);
        assert_eq!(order(&mut timers, late), [1, 0]);
        assert_eq!((timers.is_idle(), timers.take_paused(late), timers.is_idle()), (false, Some(5), true));
    }
}
