//! A queue's relation to its close cooperators.
//!
//! **Rule** If cooperators are served out of order (2.6.31, 2.6.32), a queue that was served out of order must have a
//! regular slice before it can be again. If they merge (2.6.33), a queue is shared until its processes no longer read
//! side by side.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c9 and #c33.9.
//! **In the kernel** `cfq_mark_cfqq_coop`, `cfq_cfqq_coop`, `cfq_mark_cfqq_split_coop`, `cfq_cfqq_coop_preempt`,
//! `coop`.

/// A queue's relation to its close cooperators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cooperation {
    /// It has one process, and its slices begin in order.
    Alone,
    /// It was served out of order.
    Jumped,
    /// It preempted as a cooperator, which is remembered for one slice more.
    Preempted,
    /// Several processes share it.
    Shared,
    /// They no longer read side by side: each gets its own queue again at its next request.
    Splitting,
}

impl Cooperation {
    /// Whether it cooperates, or has cooperated since its last slice in order.
    pub(crate) fn is_on(self) -> bool {
        self != Cooperation::Alone
    }

    /// Notes that it is served out of order.
    pub(crate) fn jump(&mut self) {
        if *self == Cooperation::Alone {
            *self = Cooperation::Jumped;
        }
    }

    /// Notes that it preempts as a cooperator.
    pub(crate) fn preempt(&mut self) {
        // Shared queues that preempt in this way exist only if a user mixes eras.
        if *self != Cooperation::Splitting {
            *self = Cooperation::Preempted;
        }
    }

    /// Notes that its slice begins, in order or not.
    pub(crate) fn begin_slice(&mut self, in_order: bool) {
        *self = match *self {
            Cooperation::Preempted => Cooperation::Jumped,
            Cooperation::Jumped | Cooperation::Shared | Cooperation::Splitting if in_order => Cooperation::Alone,
            same => same,
        };
    }

    /// Notes that a process of another queue has joined it.
    pub(crate) fn share(&mut self) {
        if *self == Cooperation::Alone {
            *self = Cooperation::Shared;
        }
    }

    /// Notes that the queue seeks: its processes no longer read side by side.
    pub(crate) fn split(&mut self) {
        if self.is_on() {
            *self = Cooperation::Splitting;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_counts_until_a_turn_in_order_and_one_by_preempting_a_turn_longer() {
        let mut queue = Cooperation::Alone;
        queue.jump();
        queue.begin_slice(false);
        assert_eq!(queue, Cooperation::Jumped);
        queue.preempt();
        queue.begin_slice(true);
        assert_eq!(queue, Cooperation::Jumped);
        queue.begin_slice(true);
        assert_eq!(queue, Cooperation::Alone);
    }

    #[test]
    fn only_a_queue_that_is_shared_splits() {
        let mut queue = Cooperation::Alone;
        queue.split();
        assert_eq!(queue, Cooperation::Alone);
        queue.share();
        queue.split();
        queue.share();
        assert_eq!(queue, Cooperation::Splitting);
    }
}
