//! `dd if=/dev/zero of=file`: a writer whose pages are written back as fast as request slots allow.
//!
//! **Model** Memory is filled faster than any disk writes, so there is always more to write back: bios of `bio` bytes
//! in order, limited only by request slots. The file system breaks the stream: after each `run` bytes of data there is
//! a block of its own (ext2's indirect block, one per 4 MiB), so that the next request does not continue the one
//! before. With `runs = "drawn"` each run's length is drawn evenly between nothing and twice `run`, like the free
//! extents of a file system in use.
//! **Left out** the dirty limit, its threads, and the writing of the indirect blocks themselves.

use blksched::Instant;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::parameter::{Parameter, ParameterKind};
use super::stepper::{Io, Step, Stepper, Steps};
use super::{Launch, Program, ProgramProcess};

/// The longest run of data without a break \[sectors\]: a bio's length has 32 bits.
const LARGEST_RUN: u64 = u32::MAX as u64;

pub(super) const PROGRAM: Program = Program {
    name: "dd",
    about: "writes one large file from memory: a backlog of write-back that only request slots hold back",
    source: "Andrew Morton, 2002-09-26, \"Re: [PATCH] deadline io scheduler\"",
    parameters: &[
        Parameter { name: "size", kind: ParameterKind::Bytes, default: "4000MiB", doc: "how much it writes" },
        Parameter { name: "at", kind: ParameterKind::Place, default: "5%", doc: "where its file lies" },
        Parameter { name: "bio", kind: ParameterKind::Bytes, default: "64KiB", doc: "what is submitted at a time" },
        Parameter {
            name: "run",
            kind: ParameterKind::Bytes,
            default: "4MiB",
            doc: "its file has a gap after this much data",
        },
        Parameter {
            name: "runs",
            kind: ParameterKind::Word(&["even", "drawn"]),
            default: "even",
            doc: "whether the data between gaps is always `run`, or drawn between 0 and twice that",
        },
        Parameter { name: "gap", kind: ParameterKind::Bytes, default: "4KiB", doc: "length of such a gap" },
    ],
    processes,
};

fn processes(launch: &Launch<'_>) -> Result<Vec<ProgramProcess>, String> {
    let sectors = |name| launch.settings.sectors(name);
    let (size, run) = (sectors("size"), launch.settings.sectors_within("run", 8..=LARGEST_RUN)?);
    let drawn = launch.settings.word("runs") == "drawn";
    // Twice as many breaks as expected never occur.
    let breaks = if drawn { (size / run).saturating_mul(2).saturating_add(16) } else { size / run };
    let at = launch.room("at", size.saturating_add(breaks.saturating_mul(sectors("gap"))))?;
    let bio = launch.settings.sectors_within("bio", 8..=run)? as u32;
    let mut runs = if drawn { Runs::Drawn(run, launch.random(0, 0)) } else { Runs::Even(run) };
    let left_of_run = runs.next();
    let steps = Backlog { at, left: size, bio, runs, left_of_run, gap: sectors("gap") };
    let source = Stepper::new(launch.submitter(0), launch.at, steps);
    Ok(vec![ProgramProcess::new(launch.name.to_owned(), Box::new(source))])
}

/// The length of each run without a break \[sectors\].
enum Runs {
    Even(u64),
    /// Their mean.
    Drawn(u64, Pcg64Mcg),
}

impl Runs {
    fn next(&mut self) -> u64 {
        match self {
            Runs::Even(run) => *run,
            // Whole blocks of 4 KiB, at least one.
            Runs::Drawn(mean, random) => random.random_range(1..=(*mean / 8).max(1) * 2) * 8,
        }
    }
}

/// What is still to be written, in sectors.
struct Backlog {
    at: u64,
    left: u64,
    bio: u32,
    runs: Runs,
    left_of_run: u64,
    gap: u64,
}

impl Steps for Backlog {
    fn step(&mut self, _now: Instant) -> Step {
        if self.left == 0 {
            // The second time nothing is in flight.
            return if core::mem::replace(&mut self.bio, 0) > 0 { Step::Await(0) } else { Step::Exit };
        }
        if self.left_of_run == 0 {
            self.at += self.gap;
            self.left_of_run = self.runs.next();
        }
        let sectors = u64::from(self.bio).min(self.left_of_run).min(self.left);
        let io = Io::write(self.at, sectors as u32);
        self.at += sectors;
        self.left -= sectors;
        self.left_of_run -= sectors;
        Step::Start(io)
    }
}

#[cfg(test)]
mod tests {
    use blksched::Sector;

    use super::*;

    #[test]
    fn the_stream_is_contiguous_but_for_a_block_after_each_run() {
        let mut backlog = Backlog { at: 800, left: 40, bio: 16, runs: Runs::Even(24), left_of_run: 24, gap: 8 };
        let mut ios = Vec::new();
        while let Step::Start(io) = backlog.step(Instant::ZERO) {
            ios.push((io.start, io.sectors));
        }
        assert_eq!(ios, [(Sector(800), 16), (Sector(816), 8), (Sector(832), 16)]);
        assert_eq!(backlog.step(Instant::ZERO), Step::Exit);
    }

    #[test]
    fn drawn_runs_differ_and_have_the_mean_that_was_asked_for() {
        let settings = super::super::Settings::of(&PROGRAM, [("runs", "drawn")]).unwrap();
        let launch = Launch::new("dd", &settings, 1 << 30);
        let mut runs = Runs::Drawn(8192, launch.random(0, 0));
        let drawn: Vec<u64> = (0..4000).map(|_| runs.next()).collect();
        let mean = drawn.iter().sum::<u64>() / 4000;
        assert!((7900..8500).contains(&mean), "{mean}");
        assert!(drawn.iter().any(|&run| run < 1000) && drawn.iter().any(|&run| run > 15_000));
        assert!(drawn.iter().all(|run| run % 8 == 0 && (8..=16_384).contains(run)));
    }
}
