//! The buffers that are registered with the ring, and their indices in its table.
//!
//! **Rule** A buffer is registered when it first makes a transfer alone, and stays so while it exists. A pool keeps its
//! buffers, so in the long run nothing more is registered or unregistered. The memory of a registered buffer that is
//! dropped is kept here until the kernel has released it, which happens before the next buffer is registered. If the
//! kernel accepts no more buffers (RLIMIT_MEMLOCK, a full table), transfers pass memory addresses as usual.

use std::io;
use std::sync::Arc;

use crate::buffer::{Buffer, Registration, Retired};

/// The most buffers of one table (MEMORY: what Linux allows since 5.13).
pub const MOST: u16 = 1 << 14;

/// The ring's table of registered buffers.
pub struct Registered {
    /// Indices that are free, the lowest last.
    vacant: Vec<u16>,
    retired: Arc<Retired>,
    limit: RegisterLimit,
    /// The number of indices.
    size: u16,
}

/// Whether the kernel accepts more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegisterLimit {
    Open,
    /// Not before it has released something.
    Reached,
}

impl Registered {
    /// A table of `size` indices, all of them free.
    pub fn new(size: u16) -> Registered {
        Registered { vacant: (0..size).rev().collect(), retired: Arc::default(), limit: RegisterLimit::Open, size }
    }

    /// How many indices are taken.
    pub fn taken(&self) -> usize {
        usize::from(self.size) - self.vacant.len()
    }

    /// The index of a buffer, which is registered if it is not yet and can be. `update` tells the kernel what is at an
    /// index from now on; empty for nothing.
    pub fn index_of(
        &mut self,
        buffer: &mut Buffer,
        mut update: impl FnMut(u16, &mut [u8]) -> io::Result<()>,
    ) -> Option<u16> {
        if let Some(known) = buffer.registration() {
            // A buffer registered with another ring cannot be used here.
            return Arc::ptr_eq(&known.retired, &self.retired).then_some(known.index);
        }
        self.let_go(&mut update);
        if self.limit == RegisterLimit::Reached {
            return None;
        }
        let index = self.vacant.pop()?;
        if let Err(error) = update(index, buffer.bytes_mut()) {
            tracing::info!(%error, buffers = self.taken() - 1, "no more buffers can be registered (RLIMIT_MEMLOCK?)");
            self.vacant.push(index);
            self.limit = RegisterLimit::Reached;
            return None;
        }
        buffer.register(Registration { index, retired: self.retired.clone() });
        Some(index)
    }

    /// Makes the kernel release what was dropped; then its memory can be freed.
    fn let_go(&mut self, update: &mut impl FnMut(u16, &mut [u8]) -> io::Result<()>) {
        for (index, memory) in self.retired.take() {
            match update(index, &mut []) {
                Ok(()) => {
                    self.vacant.push(index);
                    self.limit = RegisterLimit::Open;
                }
                // It may still be registered: it stays for ever.
                Err(_) => core::mem::forget(memory),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::{PAGE, Pool};

    /// A kernel that registers at most `most` buffers.
    struct Kernel {
        known: Vec<(u16, usize)>,
        most: usize,
    }

    impl Kernel {
        fn update(&mut self, index: u16, bytes: &mut [u8]) -> io::Result<()> {
            if bytes.is_empty() {
                self.known.retain(|&(known, _)| known != index);
                return Ok(());
            }
            if self.known.len() == self.most {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            self.known.push((index, bytes.as_ptr() as usize));
            Ok(())
        }
    }

    fn rig(most: usize) -> (Registered, Kernel, Pool) {
        (Registered::new(4), Kernel { known: Vec::new(), most }, Pool::new(16 * PAGE))
    }

    #[test]
    fn a_buffer_is_registered_once_and_keeps_its_index_while_it_moves() {
        let (mut table, mut kernel, mut pool) = rig(9);
        let mut buffer = pool.take(PAGE).unwrap();
        let index = table.index_of(&mut buffer, |at, bytes| kernel.update(at, bytes)).unwrap();
        pool.give(buffer);
        let mut again = pool.take(PAGE).unwrap();
        assert_eq!(table.index_of(&mut again, |_, _| panic!("it is known")), Some(index));
        assert_eq!(kernel.known, [(index, again.bytes().as_ptr() as usize)]);
    }

    #[test]
    fn another_ring_does_not_take_it_for_its_own() {
        let (mut table, mut kernel, mut pool) = rig(9);
        let mut buffer = pool.take(PAGE).unwrap();
        table.index_of(&mut buffer, |at, bytes| kernel.update(at, bytes)).unwrap();
        assert_eq!(Registered::new(4).index_of(&mut buffer, |_, _| panic!("it has a ring")), None);
    }

    #[test]
    fn a_dropped_buffer_leaves_its_memory_until_the_kernel_has_let_go_of_it() {
        let (mut table, mut kernel, mut pool) = rig(9);
        let mut first = pool.take(PAGE).unwrap();
        let index = table.index_of(&mut first, |at, bytes| kernel.update(at, bytes)).unwrap();
        let address = first.bytes().as_ptr() as usize;
        drop(first);
        assert_eq!(kernel.known, [(index, address)], "the kernel still knows it");
        // If its memory were free already, this could be it.
        let mut second = pool.take(PAGE).unwrap();
        assert_ne!(second.bytes().as_ptr() as usize, address);
        table.index_of(&mut second, |at, bytes| kernel.update(at, bytes)).unwrap();
        assert_eq!(kernel.known, [(index, second.bytes().as_ptr() as usize)]);
        assert_eq!(table.taken(), 1);
    }

    #[test]
    fn beyond_what_the_kernel_takes_buffers_are_not_registered_until_there_is_room() {
        let (mut table, mut kernel, mut pool) = rig(2);
        let mut buffers: Vec<Buffer> = (0..3).map(|_| pool.take(PAGE).unwrap()).collect();
        let index = |table: &mut Registered, kernel: &mut Kernel, buffer: &mut Buffer| {
            table.index_of(buffer, |at, bytes| kernel.update(at, bytes))
        };
        let known: Vec<bool> =
            buffers.iter_mut().map(|buffer| index(&mut table, &mut kernel, buffer).is_some()).collect();
        assert_eq!(known, [true, true, false]);
        assert_eq!(table.index_of(&mut buffers[2], |_, _| panic!("asked again for nothing")), None);
        buffers.remove(0);
        assert!(index(&mut table, &mut kernel, &mut buffers[1]).is_some(), "room again");
    }
}
