//! Reading files of a directory one after the other: dependent reads, each of which must end before the next is known.
//!
//! **Model** A directory has a block of names, then inodes (one block for `inodes` files), then its files, one behind
//! the other in the order in which they are read. Reading it is: the names, and for each file its inode's block (if it
//! was not read with an earlier one) and its data: a first window of `first` bytes, then windows of `ahead` bytes.
//! Between two reads the process thinks.
//! **Origin** ext2's layout; the windows are those of 2.5 (MEMORY: the first is half of the largest, 128 KiB).

use core::ops::Range;

use blksched::{Instant, Span};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::Launch;
use super::parameter::{Parameter, ParameterKind};
use super::stepper::{Io, Step, Steps};

/// A block of the file system \[512-byte sectors\].
pub(super) const BLOCK: u64 = 8;
/// The most files of a directory: its reads are held in memory.
const MOST_FILES: u32 = 1 << 20;

/// How many files share a block of inodes.
pub(super) const INODES: Parameter =
    Parameter { name: "inodes", kind: ParameterKind::Count, default: "32", doc: "inodes in a block: 128 bytes each" };
/// The gap between a directory's inodes and its files.
pub(super) const AWAY: Parameter = Parameter {
    name: "away",
    kind: ParameterKind::Bytes,
    default: "1MiB",
    doc: "how far the data lies from the inodes",
};

/// The upper end of the files' sizes.
pub(super) const fn largest(default: &'static str) -> Parameter {
    Parameter {
        name: "largest",
        kind: ParameterKind::Bytes,
        default,
        doc: "the largest file; sizes are spread evenly over the orders of magnitude between",
    }
}

/// The parameters of every program that reads trees, apart from those of its own.
macro_rules! tree_parameters {
    ($files:literal, $smallest:literal, $largest:literal, $think:literal; $($own:expr),* $(,)?) => {
        &[
            $($own,)*
            Parameter { name: "files", kind: ParameterKind::Count, default: $files, doc: "files in a directory" },
            Parameter { name: "smallest", kind: ParameterKind::Bytes, default: $smallest, doc: "the smallest file" },
            $crate::programs::tree::largest($largest),
            $crate::programs::tree::INODES,
            $crate::programs::tree::AWAY,
            Parameter {
                name: "first",
                kind: ParameterKind::Bytes,
                default: "64KiB",
                doc: "readahead: the first window of a file",
            },
            Parameter {
                name: "ahead",
                kind: ParameterKind::Bytes,
                default: "128KiB",
                doc: "readahead: every later window",
            },
            Parameter { name: "think", kind: ParameterKind::Time, default: $think, doc: "pause between two reads" },
        ]
    };
}
pub(super) use tree_parameters;

/// The shape of directories, in sectors.
#[derive(Clone, Debug)]
pub(super) struct DirectoryShape {
    files: u64,
    sizes: Range<f64>,
    inodes: u64,
    away: u64,
    first: u64,
    ahead: u64,
    think: Span,
}

impl DirectoryShape {
    /// From a launch of a program with [`tree_parameters`].
    pub(super) fn of(launch: &Launch<'_>) -> Result<DirectoryShape, String> {
        let settings = launch.settings;
        let (smallest, largest) = (settings.sectors("smallest"), settings.sectors("largest"));
        if !(1..=largest).contains(&smallest) {
            return Err("`smallest` is larger than `largest`, or nothing".to_owned());
        }
        let windows = settings.sectors("first").min(settings.sectors("ahead"));
        if windows < BLOCK || settings.sectors("first").max(settings.sectors("ahead")) > 1 << 20 {
            return Err("`first` and `ahead` must be at least 4KiB and at most 512MiB".to_owned());
        }
        Ok(DirectoryShape {
            files: u64::from(settings.some("files", MOST_FILES)?),
            sizes: libm::log(smallest as f64)..libm::log(largest as f64),
            inodes: u64::from(settings.some("inodes", MOST_FILES)?),
            away: settings.sectors("away"),
            first: settings.sectors("first"),
            ahead: settings.sectors("ahead"),
            think: settings.span("think"),
        })
    }

    /// The largest that a directory can be \[sectors\].
    pub(super) fn most(&self) -> u64 {
        let largest = (libm::exp(self.sizes.end) as u64).next_multiple_of(BLOCK);
        let data = self.files.saturating_mul(largest + BLOCK);
        data.saturating_add(BLOCK + self.away + self.files.div_ceil(self.inodes) * BLOCK)
    }

    /// A file's size \[sectors, whole blocks\].
    fn size(&self, random: &mut Pcg64Mcg) -> u64 {
        let part: f64 = random.random();
        let size = libm::exp(self.sizes.start + part * (self.sizes.end - self.sizes.start));
        (size as u64).max(1).next_multiple_of(BLOCK)
    }

    /// The reads of one directory at `at`.
    fn reads(&self, at: u64, random: &mut Pcg64Mcg) -> Vec<Io> {
        let block = |start| Io::read(start, BLOCK as u32);
        let mut reads = vec![block(at)];
        let mut data = at + BLOCK + self.files.div_ceil(self.inodes) * BLOCK + self.away;
        for file in 0..self.files {
            if file % self.inodes == 0 {
                reads.push(block(at + BLOCK + file / self.inodes * BLOCK));
            }
            let end = data + self.size(random);
            let mut window = self.first;
            while data < end {
                let sectors = window.min(end - data);
                reads.push(Io::read(data, sectors as u32));
                data += sectors;
                window = self.ahead;
            }
        }
        reads
    }
}

/// Where a reader finds its directories.
pub(super) trait Places: Send {
    /// The place of the next one; `None` after the last.
    fn next(&mut self, random: &mut Pcg64Mcg) -> Option<u64>;
}

/// Reads directory after directory.
pub(super) struct Walk<P> {
    shape: DirectoryShape,
    places: P,
    random: Pcg64Mcg,
    /// The reads of this directory, the next one last.
    reads: Vec<Io>,
    state: WalkState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WalkState {
    Reads,
    Waits,
    Thinks,
}

impl<P: Places> Walk<P> {
    pub(super) fn new(shape: DirectoryShape, places: P, random: Pcg64Mcg) -> Walk<P> {
        Walk { shape, places, random, reads: Vec::new(), state: WalkState::Reads }
    }

    fn next_read(&mut self) -> Option<Io> {
        if self.reads.is_empty() {
            let at = self.places.next(&mut self.random)?;
            self.reads = self.shape.reads(at, &mut self.random);
            self.reads.reverse();
        }
        self.reads.pop()
    }
}

impl<P: Places> Steps for Walk<P> {
    fn step(&mut self, _now: Instant) -> Step {
        match self.state {
            WalkState::Reads => {
                let Some(io) = self.next_read() else { return Step::Exit };
                self.state = WalkState::Waits;
                Step::Start(io)
            }
            WalkState::Waits => {
                self.state = WalkState::Thinks;
                Step::Await(0)
            }
            WalkState::Thinks => {
                self.state = WalkState::Reads;
                Step::Think(self.shape.think)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn shape() -> DirectoryShape {
        let sizes = libm::log(300.0)..libm::log(300.0);
        DirectoryShape { files: 3, sizes, inodes: 2, away: 80, first: 128, ahead: 256, think: Span::ZERO }
    }

    #[test]
    fn a_directory_is_names_then_inodes_and_files_in_windows() {
        let reads = shape().reads(1000, &mut Pcg64Mcg::seed_from_u64(1));
        let seen: Vec<(u64, u32)> = reads.iter().map(|io| (io.start.0, io.sectors)).collect();
        let data = 1000 + 8 + 16 + 80;
        let file = |nth: u64| [(data + nth * 304, 128), (data + nth * 304 + 128, 176)];
        let expected = [&[(1000, 8), (1008, 8)][..], &file(0), &file(1), &[(1016, 8)], &file(2)].concat();
        assert_eq!(seen, expected);
        assert!(data + 3 * 304 <= 1000 + shape().most());
    }
}
