//! The dirty pool: how much may be dirty in memory before it must go to the disk.
//!
//! **Rule** with *d* bytes dirty and *w* in flight to the disk: above `background`, *d* is written in the background. A
//! writer that would bring *d* + *w* above `limit` sleeps; all sleepers wake together when *d* + *w* is at most `limit`
//! − `hysteresis`. As long as anyone sleeps, everything is written.
//! **Origin** `Documentation/admin-guide/sysctl/vm.rst` for the two limits. The hysteresis is ours: 2.4 to 2.6.36 let a
//! throttled writer wait until a given amount had been written or a congestion ended; later kernels slow writers down
//! smoothly from half way between the limits, which is not modelled.
//! **Shown by** the `gitk` experiment: if writers wake one at a time, the disk's writes are never queued together; FIT
//! 2 MiB.

/// The limits \[bytes\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyLimits {
    /// More than this is written in the background.
    pub background: u64,
    /// Writers sleep here.
    pub limit: u64,
    /// How far below `limit` they wake.
    pub hysteresis: u64,
}

/// The amount of dirty memory, the amount being written, and the sleepers (`W`) that wait for it.
///
/// ```
/// use blksched_workloads::host::{DirtyLimits, DirtyPool};
///
/// let mut pool = DirtyPool::new(DirtyLimits { background: 4096, limit: 16_384, hysteresis: 8192 });
/// pool.dirtied(16_384);
/// assert!(!pool.has_room(4096) && pool.wants_writeback());
/// pool.sleep("a writer");
/// pool.submitted(8192);
/// pool.written(4096);
/// assert!(pool.wake().is_empty(), "not yet");
/// pool.written(4096);
/// assert_eq!(pool.wake(), ["a writer"]);
/// ```
#[derive(Clone, Debug)]
pub struct DirtyPool<W> {
    limits: DirtyLimits,
    dirty: u64,
    writeback: u64,
    most: u64,
    sleepers: Vec<W>,
}

impl<W> DirtyPool<W> {
    /// An empty pool. As in Linux, a background limit that is not below the limit is set to half of it.
    pub fn new(limits: DirtyLimits) -> DirtyPool<W> {
        let background = if limits.background >= limits.limit { limits.limit / 2 } else { limits.background };
        let limits = DirtyLimits { background, ..limits };
        DirtyPool { limits, dirty: 0, writeback: 0, most: 0, sleepers: Vec::new() }
    }

    /// Whether another `bytes` may be dirtied. An empty pool takes any amount.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.total() == 0 || self.total() + bytes <= self.limits.limit
    }

    /// Clean memory became dirty.
    pub fn dirtied(&mut self, bytes: u64) {
        self.dirty += bytes;
        self.most = self.most.max(self.total());
    }

    /// Dirty memory is being written to the disk.
    ///
    /// # Panics
    /// If this much is not dirty.
    pub fn submitted(&mut self, bytes: u64) {
        assert!(bytes <= self.dirty, "{bytes} bytes written back of {} dirty ones", self.dirty);
        self.dirty -= bytes;
        self.writeback += bytes;
    }

    /// This much will never be written.
    ///
    /// # Panics
    /// If this much is not dirty.
    pub fn dropped(&mut self, bytes: u64) {
        assert!(bytes <= self.dirty, "{bytes} bytes dropped of {} dirty ones", self.dirty);
        self.dirty -= bytes;
    }

    /// It has been written.
    ///
    /// # Panics
    /// If this much was not being written.
    pub fn written(&mut self, bytes: u64) {
        assert!(bytes <= self.writeback, "{bytes} bytes arrived of {} in flight", self.writeback);
        self.writeback -= bytes;
    }

    /// There was no room for this writer, which sleeps.
    pub fn sleep(&mut self, who: W) {
        self.sleepers.push(who);
    }

    /// The sleepers that wake now, in the order in which they fell asleep: all or none.
    pub fn wake(&mut self) -> Vec<W> {
        let wakes = self.total() <= self.limits.limit.saturating_sub(self.limits.hysteresis);
        if wakes { core::mem::take(&mut self.sleepers) } else { Vec::new() }
    }

    /// Whether dirty memory should be written although no process asked for it.
    pub fn wants_writeback(&self) -> bool {
        self.dirty > self.limits.background || (!self.sleepers.is_empty() && self.dirty > 0)
    }

    /// Whether any writer sleeps for room.
    pub fn anyone_sleeps(&self) -> bool {
        !self.sleepers.is_empty()
    }

    /// Dirty and not being written yet \[bytes\].
    pub fn dirty(&self) -> u64 {
        self.dirty
    }

    /// Being written \[bytes\].
    pub fn writeback(&self) -> u64 {
        self.writeback
    }

    /// Both \[bytes\].
    pub fn total(&self) -> u64 {
        self.dirty + self.writeback
    }

    /// The most that both together have been \[bytes\].
    pub fn most(&self) -> u64 {
        self.most
    }

    /// As given, with the background limit corrected.
    pub fn limits(&self) -> DirtyLimits {
        self.limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(background: u64, limit: u64, hysteresis: u64) -> DirtyPool<u32> {
        DirtyPool::new(DirtyLimits { background, limit, hysteresis })
    }

    #[test]
    fn background_writing_begins_above_the_limit_not_at_it() {
        let mut pool = pool(10, 20, 2);
        pool.dirtied(10);
        assert!(!pool.wants_writeback());
        pool.dirtied(1);
        assert!(pool.wants_writeback());
        pool.submitted(1);
        assert!(!pool.wants_writeback());
    }

    #[test]
    fn sleepers_wake_together_below_the_hysteresis_in_their_order() {
        let mut pool = pool(10, 20, 5);
        pool.dirtied(20);
        (1..=3).for_each(|who| pool.sleep(who));
        pool.submitted(20);
        for _ in 0..4 {
            pool.written(1);
            assert_eq!(pool.wake(), []);
        }
        pool.written(1);
        assert_eq!(pool.wake(), [1, 2, 3]);
        assert!(!pool.anyone_sleeps());
    }

    #[test]
    fn while_anyone_sleeps_the_background_limit_does_not_hold_writing_up() {
        let mut pool = pool(19, 20, 15);
        pool.dirtied(20);
        pool.sleep(1);
        pool.submitted(5);
        pool.written(5);
        assert!(pool.wants_writeback(), "15 dirty, below the background limit, and someone waits for 5");
    }

    #[test]
    fn an_empty_pool_takes_any_write_and_wakes_anyone() {
        let mut pool = pool(1, 2, 100);
        assert!(pool.has_room(1_000));
        pool.sleep(7);
        assert_eq!(pool.wake(), [7], "a hysteresis above the limit means empty");
    }

    #[test]
    fn a_background_limit_above_the_limit_is_half_of_it() {
        assert_eq!(pool(50, 20, 0).limits().background, 10);
    }
}
