//! `cp -a DIRECTORY NEW` (or of one file), and `write-and-fsync`: writes go through the host's page cache.
//!
//! **Model** One call at a time, of `block` bytes, as cp makes them. A directory consists of inodes (one block for
//! `inodes` files), followed at the distance `away` by its files, one after the other; the copy has the same layout at
//! `to`. For each file: its inode's block is read (if it was not with an earlier one), then its data, a block at a
//! time, each written before the next is read; then the copy's inode is written. With `from = "zeros"` nothing is read.
//! Reads have readahead within their file; the copy's blocks are one file to the flusher, which goes through them in
//! order. At the end, unless `sync = "no"`, everything written is brought to the disk, and the process waits for that.
//! **Left out** names, bitmaps and journals; what another process has in memory.

use blksched::{GroupId, Instant, Priority, Sector, SubmitterId, Tag};
use rand::RngExt;

use super::parameter::{Parameter, ParameterKind};
use super::tree::{AWAY, BLOCK, INODES, largest};
use super::{Launch, Program, ProgramProcess};
use crate::host::{Advice, ByteRange, CallWork, HostCall, OpenFile, Stable};
use crate::{Delivered, Emission, Source};

pub(super) const PROGRAM: Program = Program {
    name: "cp",
    about: "copies files through the page cache, or writes zeros through it, and then syncs",
    source: "Andrew Morton, 2003-02-20, \"IO scheduler benchmarking\"",
    parameters: &[
        Parameter { name: "at", kind: ParameterKind::Place, default: "10%", doc: "where the original lies" },
        Parameter { name: "to", kind: ParameterKind::Place, default: "20%", doc: "where the copy goes" },
        Parameter {
            name: "from",
            kind: ParameterKind::Word(&["file", "zeros"]),
            default: "file",
            doc: "what is written: a copy of the file, or zeros",
        },
        Parameter { name: "files", kind: ParameterKind::Count, default: "1", doc: "number of files" },
        Parameter { name: "smallest", kind: ParameterKind::Bytes, default: "100MiB", doc: "the smallest file" },
        largest("100MiB"),
        INODES,
        AWAY,
        Parameter {
            name: "block",
            kind: ParameterKind::Bytes,
            default: "4KiB",
            doc: "what is read and written at a time",
        },
        Parameter {
            name: "sync",
            kind: ParameterKind::Word(&["yes", "no"]),
            default: "yes",
            doc: "whether it syncs at the end",
        },
    ],
    processes,
};

fn processes(launch: &Launch<'_>) -> Result<Vec<ProgramProcess>, String> {
    let settings = launch.settings;
    let (smallest, largest) = (settings.sectors("smallest"), settings.sectors("largest"));
    if !(1..=largest).contains(&smallest) {
        return Err("`smallest` is larger than `largest`, or nothing".to_owned());
    }
    let files = u64::from(settings.some("files", 1 << 20)?);
    let inodes = u64::from(settings.some("inodes", 1 << 20)?);
    let (low, high) = (libm::log(smallest as f64), libm::log(largest as f64));
    let mut random = launch.random(0, 0);
    let mut size = || {
        let part: f64 = random.random();
        (libm::exp(low + part * (high - low)).round() as u64).max(1).next_multiple_of(BLOCK)
    };
    let sizes: Vec<u64> = (0..files).map(|_| size()).collect();
    let data = files.div_ceil(inodes) * BLOCK + settings.sectors("away").next_multiple_of(BLOCK);
    let whole = data + sizes.iter().sum::<u64>();
    let (at, to) = (launch.room("at", whole)?, launch.room("to", whole)?);
    let reads = settings.word("from") == "file";
    if reads && at.abs_diff(to) < whole {
        return Err("`at` and `to` are nearer than a copy is long: they would overlap".to_owned());
    }
    let mut source = Copying {
        submitter: launch.submitter(0),
        copy: file(to, whole),
        original: at,
        sizes,
        inodes,
        data,
        block: settings.sectors_within("block", BLOCK..=1 << 16)? / BLOCK * BLOCK,
        reads,
        syncs: settings.word("sync") == "yes",
        nth: 0,
        place: 0,
        offset: 0,
        step: CpCall::Inode,
        state: CpState::Ready(launch.at),
    };
    source.step = source.first_step();
    Ok(vec![ProgramProcess::new(launch.name.to_owned(), Box::new(source))])
}

fn file(start: u64, sectors: u64) -> OpenFile {
    OpenFile { start: Sector(start), sectors, advice: Advice::Normal }
}

/// Its next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CpCall {
    /// Read the block of this file's inode.
    Inode,
    Read,
    Write,
    /// Write the copy's inode.
    NewInode,
    Sync,
    Exit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CpState {
    Ready(Instant),
    Calls,
    Finished,
}

/// The state of copying. All places and lengths are in sectors.
struct Copying {
    submitter: SubmitterId,
    copy: OpenFile,
    original: u64,
    sizes: Vec<u64>,
    inodes: u64,
    /// The distance from the beginning to the files' data.
    data: u64,
    block: u64,
    reads: bool,
    syncs: bool,
    /// The current file, its place after `data`, and how much of it is written.
    nth: usize,
    place: u64,
    offset: u64,
    step: CpCall,
    state: CpState,
}

impl Copying {
    /// The first call for the next file.
    fn first_step(&self) -> CpCall {
        match self.reads {
            _ if self.nth == self.sizes.len() && self.syncs => CpCall::Sync,
            _ if self.nth == self.sizes.len() => CpCall::Exit,
            true if (self.nth as u64).is_multiple_of(self.inodes) => CpCall::Inode,
            true => CpCall::Read,
            false => CpCall::Write,
        }
    }

    fn inode(&self) -> u64 {
        self.nth as u64 / self.inodes * BLOCK
    }

    /// The length of the next piece.
    fn piece(&self) -> u64 {
        self.block.min(self.sizes[self.nth] - self.offset)
    }

    fn call(&mut self) -> Option<(OpenFile, CallWork)> {
        let (start, block) = (self.copy.start.0, BLOCK as u32);
        let write = |start: u64, sectors| CallWork::Write(ByteRange::of_sectors(Sector(start), sectors), Stable::Later);
        Some(match self.step {
            CpCall::Inode => {
                let start = self.original + self.inode();
                (file(start, BLOCK), CallWork::Read(ByteRange::of_sectors(Sector(start), block)))
            }
            CpCall::Read => {
                let first = self.original + self.data + self.place;
                let start = Sector(first + self.offset);
                (file(first, self.sizes[self.nth]), CallWork::Read(ByteRange::of_sectors(start, self.piece() as u32)))
            }
            CpCall::Write => {
                let start = start + self.data + self.place + self.offset;
                (self.copy, write(start, self.piece() as u32))
            }
            CpCall::NewInode => (self.copy, write(start + self.inode(), block)),
            CpCall::Sync => (self.copy, CallWork::Sync),
            CpCall::Exit => return None,
        })
    }

    /// The call has returned.
    fn go_on(&mut self) {
        self.step = match self.step {
            CpCall::Inode => CpCall::Read,
            CpCall::Read => CpCall::Write,
            CpCall::Write => {
                self.offset += self.piece();
                match self.sizes[self.nth] - self.offset {
                    0 => CpCall::NewInode,
                    _ if self.reads => CpCall::Read,
                    _ => CpCall::Write,
                }
            }
            CpCall::NewInode => {
                self.place += self.sizes[self.nth];
                (self.nth, self.offset) = (self.nth + 1, 0);
                self.first_step()
            }
            CpCall::Sync | CpCall::Exit => CpCall::Exit,
        };
    }
}

impl Source for Copying {
    fn next(&self) -> Option<Instant> {
        match self.state {
            CpState::Ready(at) => Some(at),
            CpState::Calls | CpState::Finished => None,
        }
    }

    fn emit(&mut self, now: Instant, out: &mut Vec<Emission>) {
        if self.next().is_none_or(|at| at > now) {
            return;
        }
        match self.call() {
            Some((file, work)) => {
                let (tag, priority, group) = (Tag(0), Priority::default(), GroupId::default());
                out.push(Emission::Call(HostCall { tag, submitter: self.submitter, priority, group, file, work }));
                self.state = CpState::Calls;
            }
            None => {
                out.push(Emission::Exit);
                self.state = CpState::Finished;
            }
        }
    }

    fn delivered(&mut self, now: Instant, what: Delivered) {
        if let (Delivered::Done { .. }, CpState::Calls) = (what, self.state) {
            self.go_on();
            self.state = CpState::Ready(now);
        }
    }

    fn asleep(&mut self) {}

    fn is_finished(&self) -> bool {
        self.state == CpState::Finished
    }

    fn submitter(&self) -> SubmitterId {
        self.submitter
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::PAGE_BYTES;
    use crate::programs::Settings;

    /// Its calls, as letters with places and lengths [blocks], relative to original and copy.
    fn calls(said: &[(&str, &str)]) -> Vec<(char, u64, u64)> {
        let settings = Settings::of(&PROGRAM, said.iter().copied()).unwrap_or_else(|e| panic!("{e}"));
        let mut source = PROGRAM.start(&Launch::new("cp", &settings, 1 << 24)).expect("it fits").remove(0).source;
        let (mut log, mut out) = (Vec::new(), Vec::new());
        while let Some(now) = source.next() {
            source.emit(now, &mut out);
            for emission in out.drain(..) {
                let Emission::Call(call) = emission else { continue };
                log.push(match call.work {
                    CallWork::Read(range) => ('r', range.start / PAGE_BYTES, range.bytes / PAGE_BYTES),
                    CallWork::Write(range, _) => ('w', range.start / PAGE_BYTES, range.bytes / PAGE_BYTES),
                    _ => ('s', call.file.start.0 / 8, call.file.sectors / 8),
                });
                source.delivered(now, Delivered::Done { tag: call.tag, failed: false });
            }
        }
        assert!(source.is_finished());
        log
    }

    const TWO: [(&str, &str); 6] =
        [("at", "0%"), ("to", "400MiB"), ("files", "2"), ("smallest", "8KiB"), ("largest", "8KiB"), ("away", "4KiB")];

    #[test]
    fn each_block_is_written_before_the_next_is_read_and_all_is_synced_at_last() {
        let to = 400 * 256;
        let file = |nth: u64| {
            let (from, into) = (2 + 2 * nth, to + 2 + 2 * nth);
            [('r', from, 1), ('w', into, 1), ('r', from + 1, 1), ('w', into + 1, 1), ('w', to, 1)]
        };
        let expected = [&[('r', 0, 1)][..], &file(0), &file(1), &[('s', to, 6)]].concat();
        assert_eq!(calls(&TWO), expected);
    }

    #[test]
    fn zeros_are_not_read_and_a_copy_over_its_original_is_refused() {
        let zeros = calls(&[&TWO[..], &[("from", "zeros"), ("sync", "no")]].concat());
        assert!(zeros.iter().all(|(what, ..)| *what == 'w') && zeros.len() == 6, "{zeros:?}");
        let settings = Settings::of(&PROGRAM, [("to", "10%")]).expect("a place");
        let refused = PROGRAM.start(&Launch::new("cp", &settings, 1 << 24)).err().expect("they overlap");
        assert!(refused.contains("overlap"), "{refused}");
    }
}
