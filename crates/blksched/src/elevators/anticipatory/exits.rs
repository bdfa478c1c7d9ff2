//! How often an awaited process did not return, and how often another process continued in its place.
//!
//! **Rule** Two moving averages, where 256 means always: `leave`, that a process exits after its first read (increased
//! when a process without a think time yet is waited for in vain or has exited; lowered by each process's second read),
//! and `alone`, that no other process reads close to where an exited process left off (a cooperator, such as the next
//! program of a shell script, lowers it).
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#a.4, #a.7, #a.8.
//! **In the kernel** `exit_prob`, `exit_no_coop`.

/// Moving averages over processes; 256: always.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Exits {
    leave: u32,
    alone: u32,
}

const HALF: u32 = 128;

fn more(average: u32) -> u32 {
    (7 * average + 256) / 8
}

fn less(average: u32) -> u32 {
    7 * average / 8
}

impl Exits {
    /// Before any process has exited.
    pub(super) const NONE: Exits = Exits { leave: 0, alone: 0 };

    /// Notes that a process exited, or was waited for in vain, before its second read.
    pub(super) fn left(&mut self) {
        self.leave = more(self.leave);
    }

    /// Notes that a process sent its second read.
    pub(super) fn stayed(&mut self) {
        self.leave = less(self.leave);
    }

    /// Notes that no other process continued where an exited one stopped.
    pub(super) fn left_alone(&mut self) {
        self.alone = more(self.alone);
    }

    /// Notes that another process continued where an exited one stopped.
    pub(super) fn succeeded(&mut self) {
        self.alone = less(self.alone);
    }

    /// Whether it is more likely than not that no other process continues where an exited one stopped.
    pub(super) fn leave_nobody(self) -> bool {
        self.alone > HALF
    }

    /// Whether it is more likely than not that a new process exits and no other continues.
    pub(super) fn are_likely(self) -> bool {
        self.leave * self.alone > HALF * 256
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_processes_that_leave_nobody_are_enough_to_expect_it() {
        let mut exits = Exits::default();
        let mut times = 0;
        while !exits.leave_nobody() {
            exits.left_alone();
            times += 1;
        }
        assert_eq!(times, 6);
        exits.succeeded();
        assert!(!exits.leave_nobody());
    }

    #[test]
    fn a_new_process_is_not_waited_for_once_most_leave_after_one_read_and_leave_nobody() {
        let mut exits = Exits::default();
        for _ in 0..40 {
            exits.left();
        }
        assert!(!exits.are_likely(), "they exit, but another process may go on");
        for _ in 0..40 {
            exits.left_alone();
        }
        assert!(exits.are_likely());
        for _ in 0..8 {
            exits.stayed();
        }
        assert!(!exits.are_likely());
    }
}
