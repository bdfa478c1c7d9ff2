//! tiobench: many threads, each with a file of its own, that write at random and then read at random.
//!
//! **Model** Each thread writes `writes` blocks, then reads `reads`. A write only makes a page dirty; but all threads
//! together may have `dirty` bytes unwritten, and a thread that has its share of them writes back itself, one block for
//! each that it dirties, taking whichever block is first (as `balance_dirty_pages` of 2.5 did: MEMORY), so blocks of
//! any file. Reads are of its own file, and waited for.
//! **Left out** the sequential phases: their requests merge at once, and no order is searched for them.

use blksched::Instant;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::parameter::{Parameter, ParameterKind};
use super::stepper::{Io, Step, Stepper, Steps};
use super::{Launch, Program, ProgramProcess};

pub(super) const PROGRAM: Program = Program {
    name: "tiobench",
    about: "many threads with a file each: random writes held back by a dirty limit, then random reads",
    source: "Jens Axboe, 2002-11-01, \"rbtree scores\"",
    parameters: &[
        Parameter { name: "threads", kind: ParameterKind::Count, default: "128", doc: "how many threads" },
        Parameter { name: "at", kind: ParameterKind::Place, default: "1%", doc: "where the first file lies" },
        Parameter { name: "file", kind: ParameterKind::Bytes, default: "8MiB", doc: "how large each thread's file is" },
        Parameter { name: "apart", kind: ParameterKind::Bytes, default: "8MiB", doc: "distance between two files" },
        Parameter {
            name: "block",
            kind: ParameterKind::Bytes,
            default: "4KiB",
            doc: "what is written or read at a time",
        },
        Parameter { name: "writes", kind: ParameterKind::Count, default: "100", doc: "writes of each thread" },
        Parameter { name: "reads", kind: ParameterKind::Count, default: "100", doc: "reads of each thread" },
        Parameter {
            name: "dirty",
            kind: ParameterKind::Bytes,
            default: "200MiB",
            doc: "dirty data that all threads together may have",
        },
    ],
    processes,
};

fn processes(launch: &Launch<'_>) -> Result<Vec<ProgramProcess>, String> {
    let settings = launch.settings;
    let threads = settings.some("threads", 10_000)?;
    let (file, apart, block) = (settings.sectors("file"), settings.sectors("apart"), settings.sectors("block"));
    if !(1..=file).contains(&block) || block > u64::from(u32::MAX) {
        return Err("`block` is larger than `file`, or nothing".to_owned());
    }
    let at = launch.room("at", u64::from(threads - 1) * apart + file)?;
    let share = settings.sectors("dirty") / block / u64::from(threads);
    let process = |nth: u32| {
        let steps = Thread {
            first: at,
            apart,
            files: u64::from(threads),
            own: u64::from(nth),
            blocks: file / block,
            block: block as u32,
            writes: settings.count("writes"),
            reads: settings.count("reads"),
            share: u32::try_from(share.max(1)).unwrap_or(u32::MAX),
            waits: false,
            random: launch.random(nth, 0),
        };
        let source = Box::new(Stepper::new(launch.submitter(nth), launch.at, steps));
        ProgramProcess::new(launch.process_name(nth, threads), source)
    };
    Ok((0..threads).map(process).collect())
}

/// One thread.
struct Thread {
    /// Where the first file begins.
    first: u64,
    apart: u64,
    files: u64,
    /// The number of its own file.
    own: u64,
    /// The number of blocks of a file.
    blocks: u64,
    /// \[512-byte sectors\]
    block: u32,
    writes: u64,
    reads: u64,
    /// How many of its writes may be dirty.
    share: u32,
    /// It must wait before its next I/O.
    waits: bool,
    random: Pcg64Mcg,
}

impl Thread {
    fn anywhere_in(&mut self, file: u64) -> u64 {
        self.first + file * self.apart + self.random.random_range(0..self.blocks) * u64::from(self.block)
    }
}

impl Steps for Thread {
    fn step(&mut self, _now: Instant) -> Step {
        if core::mem::take(&mut self.waits) {
            return Step::Await(if self.writes > 0 { self.share - 1 } else { 0 });
        }
        self.waits = true;
        if self.writes > 0 {
            self.writes -= 1;
            let file = self.random.random_range(0..self.files);
            return Step::Start(Io::write(self.anywhere_in(file), self.block));
        }
        if self.reads > 0 {
            self.reads -= 1;
            return Step::Start(Io::read(self.anywhere_in(self.own), self.block));
        }
        Step::Exit
    }
}

#[cfg(test)]
mod tests {
    use blksched::Dir;
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_thread_writes_up_to_its_share_then_waits_for_all_and_reads_one_by_one() {
        let random = Pcg64Mcg::seed_from_u64(1);
        let mut thread = Thread {
            first: 0,
            apart: 72,
            files: 1,
            own: 0,
            blocks: 9,
            block: 8,
            writes: 2,
            reads: 1,
            share: 5,
            waits: false,
            random,
        };
        let mut seen = String::new();
        loop {
            match thread.step(Instant::ZERO) {
                Step::Start(io) => seen += if io.dir == Dir::Write { "w" } else { "r" },
                Step::Await(most) => seen += &most.to_string(),
                Step::Exit => break,
                other => unreachable!("it neither thinks nor listens: {other:?}"),
            }
        }
        assert_eq!(seen, "w4w0r0");
    }
}
