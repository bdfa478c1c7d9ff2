//! What a queue is to its close cooperators.
//!
//! **Rule** If cooperators are served out of order (2.6.31, 2.6.32), a queue that was served so is not again until it
//! has had a regular slice. If they merge (2.6.33), a queue is shared until its processes no longer read side by side.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c9 and #c33.9.
//! **In the kernel** `cfq_mark_cfqq_coop`, `cfq_cfqq_coop`, `cfq_mark_cfqq_split_coop`, `cfq_cfqq_coop_preempt`.

#![doc(alias = "cfq_mark_cfqq_coop")]
#![doc(alias = "cfq_cfqq_coop")]
#![doc(alias = "cfq_mark_cfqq_split_coop")]
#![doc(alias = "cfq_cfqq_coop_preempt")]

/// What a queue is to its close cooperators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cooperation {
    /// It has one process, and its slices come in order.
    Alone,
    /// It was served out of turn.
    Jumped,
    /// It preempted as a cooperator: that it did so is remembered one slice longer.
    Preempted,
    /// Several processes have come together in it.
    Shared,
    /// They no longer read side by side: each gets its own again at its next request.
    Splitting,
}

impl Cooperation {
    /// It has cooperated since its last slice in order, or does.
    pub(crate) fn is_on(self) -> bool {
        self != Cooperation::Alone
    }

    /// It is served out of turn.
    pub(crate) fn jump(&mut self) {
        if *self == Cooperation::Alone {
            *self = Cooperation::Jumped;
        }
    }

    /// It preempts as a cooperator.
    pub(crate) fn preempt(&mut self) {
        // Only a user who mixes eras has shared queues that preempt so.
        if *self != Cooperation::Splitting {
            *self = Cooperation::Preempted;
        }
    }

    /// Its slice begins: in order, or out of it.
    pub(crate) fn begin_slice(&mut self, in_order: bool) {
        *self = match *self {
            Cooperation::Preempted => Cooperation::Jumped,
            Cooperation::Jumped | Cooperation::Shared | Cooperation::Splitting if in_order => Cooperation::Alone,
            same => same,
        };
    }

    /// A process comes into it from another queue.
    pub(crate) fn share(&mut self) {
        if *self == Cooperation::Alone {
            *self = Cooperation::Shared;
        }
    }

    /// Its processes seek, so they no longer read side by side.
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
