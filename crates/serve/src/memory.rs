//! The back end in memory: a sparse array of bytes; parts that were never written take no room and read as zeroes.

use blksched_nbd::reply::{Extent, ExtentState};

/// The unit of allocation \[bytes\].
const CHUNK: usize = 64 << 10;

/// The largest disk in memory: its table then takes 64 MiB \[bytes\].
pub const LARGEST: u64 = 256 << 30;

/// What happens to the storage of zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterZeroes {
    /// It is freed.
    GivenBack,
    /// It is kept, or allocated, so that a later write finds it.
    Kept,
}

/// A disk in memory.
pub struct Memory {
    chunks: Vec<Option<Box<[u8]>>>,
}

impl Memory {
    /// An empty disk of `size` bytes.
    pub fn new(size: u64) -> Memory {
        Memory { chunks: (0..size.div_ceil(CHUNK as u64)).map(|_| None).collect() }
    }

    /// Changes its size; what is beyond is lost.
    pub fn resize(&mut self, size: u64) {
        self.chunks.resize_with(size.div_ceil(CHUNK as u64) as usize, || None);
        // A part of the last one may be used again later.
        let kept = size % CHUNK as u64;
        if kept > 0
            && let Some(Some(last)) = self.chunks.last_mut()
        {
            last[kept as usize..].fill(0);
        }
    }

    /// Reads at `offset`.
    pub fn read(&self, offset: u64, into: &mut [u8]) {
        let mut done = 0;
        while done < into.len() {
            let (chunk, from, count) = place(offset + done as u64, into.len() - done);
            let target = &mut into[done..done + count];
            match self.chunks.get(chunk).and_then(Option::as_deref) {
                Some(bytes) => target.copy_from_slice(&bytes[from..from + count]),
                None => target.fill(0),
            }
            done += count;
        }
    }

    /// Writes at `offset`.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let (chunk, from, count) = place(offset + done as u64, bytes.len() - done);
            let target = self.chunks[chunk].get_or_insert_with(|| vec![0; CHUNK].into_boxed_slice());
            target[from..from + count].copy_from_slice(&bytes[done..done + count]);
            done += count;
        }
    }

    /// Makes a range read as zeroes; chunks that are completely covered may be freed.
    pub fn zero(&mut self, offset: u64, length: u64, kept: AfterZeroes) {
        let mut done = 0;
        while done < length {
            let (chunk, from, count) = place(offset + done, usize::try_from(length - done).unwrap_or(usize::MAX));
            match (&mut self.chunks[chunk], kept) {
                (whole, AfterZeroes::GivenBack) if count == CHUNK => *whole = None,
                (Some(bytes), _) => bytes[from..from + count].fill(0),
                (none, AfterZeroes::Kept) => *none = Some(vec![0; CHUNK].into_boxed_slice()),
                (None, AfterZeroes::GivenBack) => {}
            }
            done += count as u64;
        }
    }

    /// The extents of a range, at most `most`.
    pub fn extents(&self, offset: u64, length: u64, most: usize) -> Vec<Extent> {
        let mut extents: Vec<Extent> = Vec::new();
        let mut done = 0;
        while done < length {
            let (chunk, _, count) = place(offset + done, usize::try_from(length - done).unwrap_or(usize::MAX));
            let state = if self.chunks[chunk].is_some() { ExtentState::Data } else { ExtentState::Hole };
            let full = extents.len() == most;
            match extents.last_mut() {
                Some(last) if last.state == state => last.length += count as u64,
                _ if full => break,
                _ => extents.push(Extent { length: count as u64, state }),
            }
            done += count as u64;
        }
        extents
    }
}

/// The chunk, the offset in it, and how much of `left` bytes is in it.
fn place(offset: u64, left: usize) -> (usize, usize, usize) {
    let from = (offset % CHUNK as u64) as usize;
    ((offset / CHUNK as u64) as usize, from, left.min(CHUNK - from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_across_chunks_and_the_rest_is_zero() {
        let mut memory = Memory::new(4 * CHUNK as u64);
        let bytes: Vec<u8> = (0..CHUNK + 100).map(|at| at as u8 | 1).collect();
        memory.write(CHUNK as u64 - 50, &bytes);
        let mut back = vec![7; CHUNK + 200];
        memory.read(CHUNK as u64 - 100, &mut back);
        assert_eq!(back[..50], [0; 50]);
        assert_eq!(back[50..CHUNK + 150], bytes[..]);
        assert_eq!(back[CHUNK + 150..], [0; 50]);
    }

    #[test]
    fn zeroes_give_whole_chunks_back() {
        let mut memory = Memory::new(4 * CHUNK as u64);
        memory.write(0, &vec![1; 4 * CHUNK]);
        memory.zero(100, 2 * CHUNK as u64, AfterZeroes::GivenBack);
        let chunk = CHUNK as u64;
        let hole = Extent { length: chunk, state: ExtentState::Hole };
        let data = |length| Extent { length, state: ExtentState::Data };
        assert_eq!(memory.extents(0, 4 * chunk, 9), [data(chunk), hole, data(2 * chunk)]);
        assert_eq!(memory.extents(0, 4 * chunk, 1), [data(chunk)]);
        let mut back = [1; 200];
        memory.read(2 * chunk, &mut back);
        assert_eq!(back, [[0; 100], [1; 100]].concat()[..]);
        memory.zero(chunk, chunk, AfterZeroes::Kept);
        assert_eq!(memory.extents(0, 4 * chunk, 9), [data(4 * chunk)], "zeroes that keep their place are no hole");
    }
}
