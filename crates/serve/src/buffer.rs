//! Buffers: aligned memory for the disk's data, taken from a pool with a ceiling.
//!
//! **Rule** Sizes are powers of two from one page to [`LARGEST`]. A returned buffer is kept for the next request of
//! that size. When the ceiling is reached, kept buffers of other sizes are freed first; if that does not help, the pool
//! is exhausted, and the caller must wait until a buffer is returned. Kept buffers that were not used between two
//! sweeps are freed. Pools with a [`Budget`] share its limit too, and keep nothing near it. But a pool of which nothing
//! is taken may always take [`LEAST`], and one such pool at a time more, so that no export waits for others for ever.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The alignment that suffices for O_DIRECT on any disk \[bytes\].
pub const PAGE: usize = 4096;
/// The largest buffer \[bytes\].
pub const LARGEST: usize = 1 << 20;
/// What a pool may take beyond its budget, if it has nothing \[bytes\].
pub const LEAST: usize = LARGEST;
const CLASSES: usize = (LARGEST / PAGE).ilog2() as usize + 1;

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(4096))]
struct MemoryPage([u8; PAGE]);

/// A piece of aligned memory with one owner. Its address does not change when it is moved.
pub struct Buffer {
    pages: Box<[MemoryPage]>,
    registration: Option<Registration>,
}

/// A buffer's registration with a ring: its index in the ring's table, and where its memory goes when it is dropped.
pub struct Registration {
    /// The index.
    pub index: u16,
    /// The ring's list.
    pub retired: Arc<Retired>,
}

/// Memory that a ring had registered and that is no longer used, by its index. It must stay until the kernel has
/// released it.
#[derive(Default)]
pub struct Retired(Mutex<Vec<(u16, BufferMemory)>>);

/// The memory of a dropped buffer.
pub struct BufferMemory(#[allow(dead_code, reason = "kept for its address alone")] Box<[MemoryPage]>);

impl Retired {
    /// Takes what has been added since the last call.
    pub fn take(&self) -> Vec<(u16, BufferMemory)> {
        core::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, index: u16, memory: BufferMemory) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((index, memory));
    }
}

impl Buffer {
    fn of(pages: usize) -> Buffer {
        Buffer { pages: vec![MemoryPage([0; PAGE]); pages].into_boxed_slice(), registration: None }
    }

    /// Its capacity \[bytes\].
    pub fn capacity(&self) -> usize {
        self.pages.len() * PAGE
    }

    /// Its memory.
    pub fn bytes(&self) -> &[u8] {
        self.pages.as_bytes()
    }

    /// Its memory, for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.pages.as_mut_bytes()
    }

    /// Its registration with a ring.
    pub fn registration(&self) -> Option<&Registration> {
        self.registration.as_ref()
    }

    /// Marks it as registered with a ring.
    pub fn register(&mut self, registration: Registration) {
        assert!(self.registration.is_none(), "a buffer has one ring");
        self.registration = Some(registration);
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(Registration { index, retired }) = self.registration.take() {
            retired.put(index, BufferMemory(core::mem::take(&mut self.pages)));
        }
    }
}

/// A limit for several pools, on different threads.
pub struct Budget {
    limit: usize,
    used: AtomicUsize,
    /// Whether a pool has more than the least although there was no room for it.
    exceeded: AtomicBool,
}

impl Budget {
    /// A limit of all buffers of its pools \[bytes\].
    pub fn new(limit: usize) -> Budget {
        Budget { limit, used: AtomicUsize::new(0), exceeded: AtomicBool::new(false) }
    }

    fn has(&self, bytes: usize) -> bool {
        self.used.load(Ordering::Relaxed).saturating_add(bytes) <= self.limit
    }
}

/// Buffers, taken and returned.
pub struct Pool {
    kept: [Vec<Buffer>; CLASSES],
    /// The fewest that were kept since the last sweep.
    least: [usize; CLASSES],
    budget: Option<Arc<Budget>>,
    /// Whether it is the one that exceeds the budget.
    exceeds: bool,
    /// The memory of all buffers, taken or kept \[bytes\].
    existing: usize,
    /// The memory of taken buffers \[bytes\].
    taken: usize,
    /// The limit of all buffers \[bytes\].
    ceiling: usize,
}

impl Pool {
    /// A pool that never holds more than `ceiling` bytes.
    pub fn new(ceiling: usize) -> Pool {
        let kept = core::array::from_fn(|_| Vec::new());
        Pool { kept, least: [0; CLASSES], budget: None, exceeds: false, existing: 0, taken: 0, ceiling }
    }

    /// From now on it also keeps to a limit that it shares.
    pub fn share(&mut self, budget: Arc<Budget>) {
        budget.used.fetch_add(self.existing, Ordering::Relaxed);
        self.budget = Some(budget);
    }

    fn freed(&mut self, bytes: usize) {
        self.existing -= bytes;
        self.budget.iter().for_each(|budget| _ = budget.used.fetch_sub(bytes, Ordering::Relaxed));
    }

    /// Frees what was not used since the last sweep; returns how much that is \[bytes\].
    pub fn sweep(&mut self) -> usize {
        let mut bytes = 0;
        for (class, kept) in self.kept.iter_mut().enumerate() {
            // The last returned are used first, so the first ones were idle.
            bytes += kept.drain(..self.least[class]).map(|buffer| buffer.capacity()).sum::<usize>();
            self.least[class] = kept.len();
        }
        self.freed(bytes);
        self.exceeds_no_more();
        bytes
    }

    /// Whether it keeps any buffer.
    pub fn keeps_some(&self) -> bool {
        self.existing > self.taken
    }

    /// A buffer of at least `length` bytes, of any content; `None` if the ceiling is reached.
    ///
    /// # Panics
    /// If `length` is more than [`LARGEST`].
    pub fn take(&mut self, length: usize) -> Option<Buffer> {
        let class = class(length);
        let size = PAGE << class;
        if let Some(buffer) = self.kept[class].pop() {
            self.least[class] = self.least[class].min(self.kept[class].len());
            self.taken += size;
            return Some(buffer);
        }
        while self.existing + size > self.ceiling {
            // Large ones first: they make the most room.
            let other = self.kept.iter_mut().rev().find(|kept| !kept.is_empty())?;
            let bytes = other.pop().map_or(0, |buffer| buffer.capacity());
            self.freed(bytes);
        }
        Some(self.make(class))
    }

    fn make(&mut self, class: usize) -> Buffer {
        self.existing += PAGE << class;
        self.budget.iter().for_each(|budget| _ = budget.used.fetch_add(PAGE << class, Ordering::Relaxed));
        self.taken += PAGE << class;
        Buffer::of(1 << class)
    }

    /// Like [`Pool::take`], but may exceed the ceiling, for what cannot wait.
    pub fn take_anyway(&mut self, length: usize) -> Buffer {
        self.take(length).unwrap_or_else(|| self.make(class(length)))
    }

    /// The limit of all buffers \[bytes\].
    pub fn ceiling(&self) -> usize {
        self.ceiling
    }

    /// A buffer outside of any pool.
    pub fn apart(length: usize) -> Buffer {
        Buffer::of(1 << class(length))
    }

    /// Returns a buffer.
    pub fn give(&mut self, buffer: Buffer) {
        self.taken -= buffer.capacity();
        if self.budget.as_ref().is_some_and(|budget| !budget.has(LARGEST)) {
            // Others need it.
            self.freed(buffer.capacity());
        } else {
            self.kept[class(buffer.capacity())].push(buffer);
        }
        self.exceeds_no_more();
    }

    fn exceeds_no_more(&mut self) {
        if self.exceeds && self.taken == 0 {
            self.exceeds = false;
            self.budget.iter().for_each(|budget| budget.exceeded.store(false, Ordering::Relaxed));
        }
    }

    /// Whether it may take them, now: like [`can_take`](Pool::can_take), or as the one that exceeds the budget.
    pub fn may_take(&mut self, length: usize, count: usize) -> bool {
        if self.can_take(length, count) {
            return true;
        }
        let fits = count * (PAGE << class(length)) <= self.ceiling;
        if self.taken > 0 || !fits {
            return false;
        }
        let is_the_one = |budget: &Arc<Budget>| !budget.exceeded.swap(true, Ordering::Relaxed);
        self.exceeds = self.exceeds || self.budget.as_ref().is_some_and(is_the_one);
        self.exceeds
    }

    /// Whether a buffer of `length` bytes could be taken, `count` times.
    pub fn can_take(&self, length: usize, count: usize) -> bool {
        // Kept buffers of any size make room for it.
        let wanted = count * (PAGE << class(length));
        let more = wanted.saturating_sub(self.existing - self.taken);
        let shared = self.budget.as_ref().is_none_or(|budget| budget.has(more));
        self.taken + wanted <= self.ceiling && (shared || (self.taken == 0 && wanted <= LEAST))
    }

    /// The memory that `length` bytes in pieces of this size need \[bytes\].
    pub fn needed(piece: usize, length: usize) -> usize {
        length.div_ceil(piece) * (PAGE << class(piece))
    }

    /// The memory of taken buffers \[bytes\].
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// How much can still be taken \[bytes\].
    pub fn free(&self) -> usize {
        self.ceiling.saturating_sub(self.taken)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.freed(self.existing);
        self.taken = 0;
        self.exceeds_no_more();
    }
}

/// The class of buffers that hold `length` bytes.
fn class(length: usize) -> usize {
    assert!(length <= LARGEST, "a buffer of {length} bytes");
    length.div_ceil(PAGE).max(1).next_power_of_two().ilog2() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_aligned_and_large_enough() {
        let mut pool = Pool::new(LARGEST * 2);
        for length in [1, 512, PAGE, PAGE + 1, LARGEST] {
            let buffer = pool.take(length).unwrap();
            assert!(buffer.capacity() >= length && buffer.capacity() < 2 * length.max(PAGE));
            assert_eq!(buffer.bytes().as_ptr() as usize % PAGE, 0);
            pool.give(buffer);
        }
    }

    #[test]
    fn the_ceiling_holds_and_idle_buffers_make_room() {
        let mut pool = Pool::new(4 * PAGE);
        let small: Vec<Buffer> = (0..4).map(|_| pool.take(PAGE).unwrap()).collect();
        assert!(pool.take(1).is_none());
        assert!(!pool.can_take(1, 1));
        small.into_iter().for_each(|buffer| pool.give(buffer));
        assert!(pool.can_take(4 * PAGE, 1) && !pool.can_take(4 * PAGE, 2));
        assert!(pool.take(4 * PAGE).is_some(), "idle small ones make room for a large one");
        assert!(pool.take(1).is_none());
    }

    #[test]
    fn what_idles_between_two_sweeps_is_freed_and_what_is_used_is_kept() {
        let mut pool = Pool::new(LARGEST * 4);
        let all: Vec<Buffer> = (0..3).map(|_| pool.take(LARGEST).unwrap()).collect();
        all.into_iter().for_each(|buffer| pool.give(buffer));
        assert_eq!(pool.sweep(), 0, "they were used a moment ago");
        let one = pool.take(LARGEST).unwrap();
        pool.give(one);
        assert_eq!(pool.sweep(), 2 * LARGEST, "one of three was used");
        assert!(pool.keeps_some());
        assert_eq!((pool.sweep(), pool.keeps_some(), pool.sweep()), (LARGEST, false, 0));
    }

    #[test]
    fn pools_share_a_budget_but_for_the_least() {
        let budget = Arc::new(Budget::new(4 * LARGEST));
        let mut pools = [(); 2].map(|()| Pool::new(4 * LARGEST));
        pools.iter_mut().for_each(|pool| pool.share(budget.clone()));
        let held: Vec<Buffer> = (0..3).map(|_| pools[0].take(LARGEST).unwrap()).collect();
        assert!(pools[1].can_take(LARGEST, 1) && !pools[1].can_take(LARGEST, 2));
        let fourth = pools[1].take(LARGEST).unwrap();
        assert!(!pools[0].can_take(PAGE, 1) && !pools[1].can_take(PAGE, 1));
        let mut empty = Pool::new(4 * LARGEST);
        empty.share(budget.clone());
        assert!(empty.can_take(LEAST, 1) && !empty.can_take(LEAST, 2), "who has nothing may have the least");
        pools[1].give(fourth);
        assert!(!pools[1].keeps_some() && pools[0].can_take(LARGEST, 1), "near the limit nothing is kept");
        held.into_iter().take(2).for_each(|buffer| pools[0].give(buffer));
        assert!(pools[0].keeps_some(), "and far from it, it is");
        drop((empty, pools));
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn one_pool_at_a_time_may_exceed_the_budget_for_a_large_request() {
        let budget = Arc::new(Budget::new(LARGEST));
        let mut pools = [(); 3].map(|()| Pool::new(4 * LARGEST));
        pools.iter_mut().for_each(|pool| pool.share(budget.clone()));
        let held = pools[0].take(LARGEST).unwrap();
        assert!(!pools[0].may_take(LARGEST, 2), "it has something, and can wait for it");
        assert!(!pools[1].may_take(LARGEST, 5), "more than its own limit");
        assert!(pools[1].may_take(LARGEST, 4));
        let large: Vec<Buffer> = (0..4).map(|_| pools[1].take(LARGEST).unwrap()).collect();
        assert!(!pools[2].may_take(LARGEST, 2) && pools[2].may_take(LARGEST, 1), "another waits, but for the least");
        large.into_iter().for_each(|buffer| pools[1].give(buffer));
        assert!(pools[2].may_take(LARGEST, 2), "its turn");
        assert!(!pools[1].may_take(LARGEST, 2));
        // It did not take any, and the next look finds that.
        pools[2].sweep();
        assert!(pools[1].may_take(LARGEST, 2));
        pools[0].give(held);
    }
}
