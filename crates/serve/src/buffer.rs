//! Buffers: aligned memory for the disk's data, taken from a pool with a ceiling.
//!
//! **Rule** Sizes are powers of two from one page to [`LARGEST`]. A returned buffer is kept for the next request of
//! that size. When the ceiling is reached, kept buffers of other sizes are freed first; if that does not help, the pool
//! is exhausted, and the caller must wait until a buffer is returned.

use std::sync::{Arc, Mutex, PoisonError};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The alignment that suffices for O_DIRECT on any disk \[bytes\].
pub const PAGE: usize = 4096;
/// The largest buffer \[bytes\].
pub const LARGEST: usize = 1 << 20;
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

/// Buffers, taken and returned.
pub struct Pool {
    kept: [Vec<Buffer>; CLASSES],
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
        Pool { kept: core::array::from_fn(|_| Vec::new()), existing: 0, taken: 0, ceiling }
    }

    /// A buffer of at least `length` bytes, of any content; `None` if the ceiling is reached.
    ///
    /// # Panics
    /// If `length` is more than [`LARGEST`].
    pub fn take(&mut self, length: usize) -> Option<Buffer> {
        let class = class(length);
        let size = PAGE << class;
        if let Some(buffer) = self.kept[class].pop() {
            self.taken += size;
            return Some(buffer);
        }
        while self.existing + size > self.ceiling {
            // Large ones first: they make the most room.
            let other = self.kept.iter_mut().rev().find(|kept| !kept.is_empty())?;
            self.existing -= other.pop().map_or(0, |buffer| buffer.capacity());
        }
        Some(self.make(class))
    }

    fn make(&mut self, class: usize) -> Buffer {
        self.existing += PAGE << class;
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
        self.kept[class(buffer.capacity())].push(buffer);
    }

    /// Whether a buffer of `length` bytes could be taken, `count` times.
    pub fn can_take(&self, length: usize, count: usize) -> bool {
        // Kept buffers of any size make room for it.
        self.taken + count * (PAGE << class(length)) <= self.ceiling
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
}
