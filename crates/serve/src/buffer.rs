//! Buffers: aligned memory for the disk's data, taken from a pool with a ceiling.
//!
//! **Rule** Sizes are powers of two from one page to [`LARGEST`]. A returned buffer is kept for the next request of
//! that size. When the ceiling is reached, kept buffers of other sizes are freed first; if that does not help, the pool
//! is exhausted, and the caller must wait until a buffer is returned.

use std::sync::{Arc, Mutex, PoisonError};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The alignment that O_DIRECT wants of any disk \[bytes\].
pub const PAGE: usize = 4096;
/// The largest buffer \[bytes\].
pub const LARGEST: usize = 1 << 20;
const CLASSES: usize = (LARGEST / PAGE).ilog2() as usize + 1;

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(4096))]
struct MemoryPage([u8; PAGE]);

/// A piece of aligned memory with one owner. Its address stays while it moves.
pub struct Buffer {
    pages: Box<[MemoryPage]>,
    registration: Option<Registration>,
}

/// That a ring knows a buffer: its index in the ring's table, and where its memory goes when it is dropped.
pub struct Registration {
    /// The index.
    pub index: u16,
    /// The ring's.
    pub retired: Arc<Retired>,
}

/// Memory that a ring knew and that is not used any more, by its index. It must stay until the kernel has let go of it.
#[derive(Default)]
pub struct Retired(Mutex<Vec<(u16, BufferMemory)>>);

/// The memory of a buffer that is gone.
pub struct BufferMemory(#[allow(dead_code, reason = "kept for its address alone")] Box<[MemoryPage]>);

impl Retired {
    /// What has come since it was last asked.
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

    /// How much it holds \[bytes\].
    pub fn capacity(&self) -> usize {
        self.pages.len() * PAGE
    }

    /// Its memory.
    pub fn bytes(&self) -> &[u8] {
        self.pages.as_bytes()
    }

    /// Its memory, to write to.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.pages.as_mut_bytes()
    }

    /// Which ring knows it, and as what.
    pub fn registration(&self) -> Option<&Registration> {
        self.registration.as_ref()
    }

    /// A ring knows it from now on.
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

/// Buffers, taken and given back.
pub struct Pool {
    kept: [Vec<Buffer>; CLASSES],
    /// What exists, taken or kept \[bytes\].
    existing: usize,
    /// What is taken \[bytes\].
    taken: usize,
    /// What may exist \[bytes\].
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

    /// As [`Pool::take`], beyond the ceiling if need be: for what cannot wait.
    pub fn take_anyway(&mut self, length: usize) -> Buffer {
        self.take(length).unwrap_or_else(|| self.make(class(length)))
    }

    /// What may exist \[bytes\].
    pub fn ceiling(&self) -> usize {
        self.ceiling
    }

    /// A buffer that no pool knows.
    pub fn apart(length: usize) -> Buffer {
        Buffer::of(1 << class(length))
    }

    /// Give a buffer back.
    pub fn give(&mut self, buffer: Buffer) {
        self.taken -= buffer.capacity();
        self.kept[class(buffer.capacity())].push(buffer);
    }

    /// Could a buffer of `length` bytes be taken, `count` times?
    pub fn can_take(&self, length: usize, count: usize) -> bool {
        // What is kept makes room for it, of whatever size it is.
        self.taken + count * (PAGE << class(length)) <= self.ceiling
    }

    /// What `length` bytes in pieces of this size take \[bytes\].
    pub fn needed(piece: usize, length: usize) -> usize {
        length.div_ceil(piece) * (PAGE << class(piece))
    }

    /// What is taken \[bytes\].
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// What could still be taken \[bytes\].
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
