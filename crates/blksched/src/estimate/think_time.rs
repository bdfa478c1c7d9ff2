//! How long a process thinks between a completion and its next request.
//!
//! **Rule** The mean of `min(now − last completion, 2·idle)`, in the era's unit of time: a single long think time
//! counts at most as twice the idle time.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c5.
//! **In the kernel** `ttime`, `cfq_update_io_thinktime`, `as_update_thinktime`.

use super::Decaying;

/// A process's think time \[ticks\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThinkTime(Decaying);

impl ThinkTime {
    /// Adds the time between a completion and the next request; `idle` is how long a disk would wait for that.
    pub fn add(&mut self, elapsed: u64, idle: u64) {
        self.0.add(elapsed.min(2 * idle));
    }

    /// The mean, if there are enough samples for it to be valid.
    pub fn valid_mean(self) -> Option<u64> {
        self.0.is_valid().then(|| self.0.mean(128))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_night_counts_as_two_idle_times() {
        let mut think = ThinkTime::default();
        (0..4).for_each(|_| think.add(30_000_000, 8));
        assert_eq!(think.valid_mean(), Some(16 + 1));
    }
}
