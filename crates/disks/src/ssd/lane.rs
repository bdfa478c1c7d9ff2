//! **What for**: a part of the disk that serves one command after the other (a die, a channel, the interface), and how
//! long a command waited there for others.
//!
//! **Rule**: first come, first served, without gaps. A wait behind another page of the same command is the command's
//! own work; any other wait is foreign. Time that a command's critical path waited for other commands is not its
//! service.

use blksched::{Instant, Span};

/// The number of no command.
const NOBODY: u32 = u32::MAX;

/// A command in progress, and how long it has waited for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) op: u32,
    pub(super) foreign: Span,
}

/// A resource that serves one at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct SerialLane {
    free: Instant,
    last: Path,
}

impl Default for SerialLane {
    fn default() -> SerialLane {
        SerialLane { free: Instant::ZERO, last: Path { op: NOBODY, foreign: Span::ZERO } }
    }
}

impl SerialLane {
    /// When it is free.
    pub(super) fn free(&self) -> Instant {
        self.free
    }

    /// Occupies it for `span`, from `at` at the earliest; returns when that begins, and the path so far.
    #[inline]
    pub(super) fn occupy(&mut self, at: Instant, span: Span, path: Path) -> (Instant, Path) {
        let begin = at.max(self.free);
        let foreign = match self.free > at {
            true if self.last.op == path.op => self.last.foreign,
            true => path.foreign + self.free.since(at),
            false => path.foreign,
        };
        self.free = begin + span;
        self.last = Path { foreign, ..path };
        (begin, self.last)
    }

    /// Keeps it closed until `until`, for no command.
    pub(super) fn close(&mut self, until: Instant) {
        if until > self.free {
            *self = SerialLane { free: until, ..SerialLane::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Span = Span::from_us;

    #[test]
    fn waiting_for_oneself_is_work_and_waiting_for_others_is_not() {
        let mut lane = SerialLane::default();
        let path = |op| Path { op, foreign: Span::ZERO };
        let at = Instant::from_ns(1_000);
        assert_eq!(lane.occupy(at, US(10), path(1)), (at, path(1)));
        assert_eq!(lane.occupy(at, US(10), path(1)), (at + US(10), path(1)));
        assert_eq!(lane.occupy(at, US(10), path(2)), (at + US(20), Path { op: 2, foreign: US(20) }));
        assert_eq!(lane.occupy(at, US(10), path(2)), (at + US(30), Path { op: 2, foreign: US(20) }));
    }
}
