//! Requests that the device returned: they are dispatched first.
//!
//! **Rule** Until 6.6 they are first of their class, when it is that class's turn and if they are old enough; since
//! 6.12 they are first of all, and the direction continues after them. The newest is first. No batch is begun or
//! continued.
//! **Origin** docs/behaviour/elevators-6.12-6.18.md#m4; that a returned request counts as queued `expire` before its
//! return is MEMORY of 6.1. No recording has one.
//! **In the kernel** `BLK_MQ_INSERT_AT_HEAD`, `at_head`.

use alloc::collections::VecDeque;

use super::ageing::Age;
use super::class::PerClass;
use crate::elevators::ioprio::IoprioClass;
use crate::mechanism;
use crate::request::RequestId;

mechanism! {
    /// where requests go that the device returned
    pub(super) enum AtHead = "at_head" {
        /// to the head of their class, dispatched when it is that class's turn: 6.1 and 6.6
        Class = "class",
        /// ahead of ageing and classes: 6.12 and later
        Queue = "queue",
    }
}

/// The requests that the device returned.
#[derive(Debug)]
pub(super) struct HandedBack {
    rule: AtHead,
    /// Each with the tick at which it counts as queued.
    of_class: PerClass<VecDeque<(RequestId, i64)>>,
    of_all: VecDeque<RequestId>,
    /// How many requests are in all lists.
    len: u32,
}

impl HandedBack {
    pub(super) fn new(rule: AtHead) -> HandedBack {
        HandedBack { rule, of_class: PerClass::from_fn(VecDeque::new), of_all: VecDeque::new(), len: 0 }
    }

    pub(super) fn push(&mut self, class: IoprioClass, rq: RequestId, queued: i64) {
        self.len += 1;
        match self.rule {
            AtHead::Class => self.of_class[class].push_front((rq, queued)),
            AtHead::Queue => self.of_all.push_front(rq),
        }
    }

    /// The request that precedes everything else, if any.
    pub(super) fn pop(&mut self) -> Option<RequestId> {
        let popped = self.of_all.pop_front();
        self.len -= u32::from(popped.is_some());
        popped
    }

    /// Whether there are any.
    #[inline(always)]
    pub(super) fn has_any(&self) -> bool {
        self.len > 0
    }

    /// Whether this class has any.
    #[inline(always)]
    pub(super) fn has_of_class(&self, class: IoprioClass) -> bool {
        self.has_any() && !self.of_class[class].is_empty()
    }

    /// The first of this class, if it has any: `Some(None)` if that one is too young.
    pub(super) fn pop_of_class(&mut self, class: IoprioClass, age: Age) -> Option<Option<(RequestId, i64)>> {
        let &(_, queued) = self.of_class[class].front()?;
        if !age.admits(queued) {
            return Some(None);
        }
        self.len -= 1;
        Some(self.of_class[class].pop_front())
    }

    /// The number of requests in all lists.
    pub(super) fn len(&self) -> u32 {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_goes_first_and_within_a_class_only_when_that_is_asked() {
        let [one, two] = [1, 2].map(RequestId::from_index);
        let mut all = HandedBack::new(AtHead::Queue);
        all.push(IoprioClass::Idle, one, 0);
        all.push(IoprioClass::RealTime, two, 0);
        assert_eq!((all.pop(), all.pop(), all.pop()), (Some(two), Some(one), None));
        let mut classes = HandedBack::new(AtHead::Class);
        classes.push(IoprioClass::Idle, one, 7);
        assert_eq!((classes.pop(), classes.pop_of_class(IoprioClass::RealTime, Age::QueuedBy(7))), (None, None));
        assert_eq!(classes.pop_of_class(IoprioClass::Idle, Age::QueuedBy(6)), Some(None));
        assert_eq!(classes.pop_of_class(IoprioClass::Idle, Age::QueuedBy(7)), Some(Some((one, 7))));
        assert_eq!(classes.len(), 0);
    }
}
