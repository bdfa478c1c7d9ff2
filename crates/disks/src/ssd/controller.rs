//! **What for**: the controller, which takes one command after the other and looks each up in its map.
//!
//! **Rule**: a command costs `command` before its data moves; the next may begin `interval` later, or, where the file
//! says so, as long as the map takes for a command of this direction, sequential or random. A command is sequential if
//! it begins where one of the last [`STREAMS`] of its direction ended. The controller is shared by all: a read behind
//! deep writes waits for them, which is also what `io.cost`'s linear model assumes.
//!
//! **Costs when wrong**: with one figure for all, a drive that does 80,000 reads per second would do as many writes.

use blksched::{Command, Instant, Op, Span};

use super::lane::{Path, SerialLane};
use crate::SsdOverheadSpec;

/// How many streams of one direction the controller distinguishes.
const STREAMS: usize = 8;

/// No disk has this many sectors.
const NOWHERE: u64 = u64::MAX;

/// Decoder and map.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    spec: SsdOverheadSpec,
    lane: SerialLane,
    /// Where the last commands ended, for reads and writes.
    reads: Streams,
    writes: Streams,
}

/// Where the last commands of one direction ended.
#[derive(Clone, Copy, Debug)]
struct Streams {
    ends: [u64; STREAMS],
    oldest: usize,
}

impl Streams {
    const NONE: Streams = Streams { ends: [NOWHERE; STREAMS], oldest: 0 };

    /// Whether a command over `start..end` continues one of them.
    fn continues(&mut self, start: u64, end: u64) -> bool {
        if let Some(known) = self.ends.iter_mut().find(|known| **known == start) {
            *known = end;
            return true;
        }
        self.ends[self.oldest] = end;
        self.oldest = (self.oldest + 1) % STREAMS;
        false
    }
}

impl Controller {
    pub(super) fn new(spec: SsdOverheadSpec) -> Controller {
        Controller { spec, lane: SerialLane::default(), reads: Streams::NONE, writes: Streams::NONE }
    }

    /// Takes a command that arrives at `now`: returns when its data can move, and how long it waited for others.
    pub(super) fn take(&mut self, now: Instant, command: &Command, path: Path) -> (Instant, Span) {
        let interval = self.interval(command);
        let (begin, _) = self.lane.occupy(now, interval, path);
        (begin + self.spec.command, begin.since(now))
    }

    /// When it takes the next command.
    pub(super) fn free(&self) -> Instant {
        self.lane.free()
    }

    fn interval(&mut self, command: &Command) -> Span {
        let SsdOverheadSpec { interval, map, .. } = self.spec;
        let (start, end) = (command.start.0, command.start.0.saturating_add(command.sectors.into()));
        let ours = match command.op {
            Op::Read if self.reads.continues(start, end) => map.sequential_read,
            Op::Read => map.random_read,
            Op::Write if self.writes.continues(start, end) => map.sequential_write,
            Op::Write => map.random_write,
            Op::Flush | Op::Discard | Op::WriteZeroes => None,
        };
        ours.unwrap_or(interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_streams_are_known_and_the_one_unused_longest_is_forgotten() {
        let mut streams = Streams::NONE;
        for stream in 0..STREAMS as u64 {
            assert!(!streams.continues(stream * 1_000, stream * 1_000 + 8));
        }
        for stream in 0..STREAMS as u64 {
            assert!(streams.continues(stream * 1_000 + 8, stream * 1_000 + 16));
        }
        assert!(!streams.continues(500_000, 500_008) && !streams.continues(16, 24));
    }
}
