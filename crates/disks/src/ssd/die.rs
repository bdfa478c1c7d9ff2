//! **What for**: a die, which does one read or program at a time, and the handling of a read during a program.
//!
//! **Rule**: reads go before programs that have not begun, `patience` of them at most, so that writes end too. A read
//! that finds a program running waits for its end (`wait`), or interrupts it for `cost` (`suspend`, also `patience`
//! times at most), or passes it (`off`). Where a program is done in pulses (`pulse`), it can be interrupted only at the
//! end of one (Wu and He, "Reducing SSD read latency via NAND flash program and erase suspension", FAST 2012). A
//! program takes several pending pieces at once. It begins when there is enough for it, or at once if a command waits
//! for it.
//!
//! **Costs when wrong**: without interference, reads beside writes would be as fast as alone, which is true of no such
//! disk.

use std::collections::VecDeque;

use blksched::{Instant, Span, SubmitterId};

use super::lane::{Path, SerialLane};
use super::on_way::WriteManner;
use crate::{Interference, InterferenceSpec};

/// The purpose of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum For {
    /// The buffer, which took the data in this epoch.
    Buffer { epoch: u64 },
    /// A command that waits.
    Command { op: u32 },
}

/// A part of a page, to be programmed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProgramPiece {
    pub(super) start: u64,
    pub(super) sectors: u32,
    pub(super) manner: WriteManner,
    pub(super) submitter: SubmitterId,
    pub(super) queued: Instant,
    pub(super) to: For,
}

/// One die.
#[derive(Clone, Debug)]
pub(super) struct Die {
    rule: InterferenceSpec,
    reads: SerialLane,
    /// When the running program ends.
    program: Option<Instant>,
    /// How many reads have gone before a program since the last one began.
    passed: u32,
    pending: VecDeque<ProgramPiece>,
    pending_sectors: u32,
    waited_for: u32,
    running: Vec<ProgramPiece>,
    /// The path of the last program.
    pub(super) last: Path,
    /// When the disk will look at this die next.
    pub(super) armed: Instant,
}

impl Die {
    pub(super) fn new(rule: InterferenceSpec) -> Die {
        Die {
            rule,
            reads: SerialLane::default(),
            program: None,
            passed: 0,
            pending: VecDeque::new(),
            pending_sectors: 0,
            waited_for: 0,
            running: Vec::new(),
            last: Path { op: u32::MAX, foreign: Span::ZERO },
            armed: Instant::NEVER,
        }
    }

    /// Reads a page at `at`, which takes `read`; returns when it has been sensed, and the path so far.
    #[inline]
    pub(super) fn read(&mut self, at: Instant, read: Span, path: Path) -> (Instant, Path) {
        self.passed = self.passed.saturating_add(1);
        match (self.program, self.rule.state) {
            (Some(end), Interference::Suspend { cost }) if end > at + cost && self.passed <= self.rule.patience => {
                let free = self.reads.free().max(at);
                let lead = if free == at { cost + self.until_pulse_ends(end, at) } else { Span::ZERO };
                let (begin, path) = self.reads.occupy(at, lead + read, path);
                self.program = Some(end + lead + read);
                (begin + lead + read, Path { foreign: path.foreign + lead, ..path })
            }
            (program, state) => {
                if let Some(end) = program.filter(|_| state != Interference::Off) {
                    self.reads.close(end);
                }
                let (begin, path) = self.reads.occupy(at, read, path);
                (begin + read, path)
            }
        }
    }

    /// How long the pulse that runs at `at` still takes, of a program that ends at `end`.
    fn until_pulse_ends(&self, end: Instant, at: Instant) -> Span {
        match self.rule.pulse.as_ns() {
            0 => Span::ZERO,
            pulse => Span::from_ns(end.since(at).as_ns() % pulse),
        }
    }

    /// Adds something to be programmed.
    pub(super) fn push(&mut self, piece: ProgramPiece) {
        self.pending_sectors += piece.sectors;
        self.waited_for += u32::from(matches!(piece.to, For::Command { .. }));
        self.pending.push_back(piece);
    }

    /// Whether a program should begin, given that it takes `enough` sectors, or any if a command waits.
    #[inline]
    pub(super) fn is_due(&self, enough: u64, urgent: bool) -> bool {
        let some = self.waited_for > 0 || urgent;
        self.program.is_none() && self.pending_sectors > 0 && (some || u64::from(self.pending_sectors) >= enough)
    }

    /// Whether so many reads have gone before it that a program is next.
    pub(super) fn has_waited_enough(&self) -> bool {
        self.passed >= self.rule.patience
    }

    /// When a program can begin, at `at` at the earliest.
    pub(super) fn free_for_program(&self, at: Instant) -> Instant {
        if self.rule.state == Interference::Off { at } else { at.max(self.reads.free()) }
    }

    /// Takes pieces for one program of at most `most` sectors, or one piece; they are then [`Die::running`].
    pub(super) fn take(&mut self, most: u64) -> u32 {
        debug_assert!(self.running.is_empty(), "one program at a time");
        let mut sectors = 0;
        while let Some(&piece) = self.pending.front() {
            if sectors > 0 && u64::from(sectors + piece.sectors) > most {
                break;
            }
            sectors += piece.sectors;
            self.waited_for -= u32::from(matches!(piece.to, For::Command { .. }));
            self.running.push(piece);
            self.pending.pop_front();
        }
        self.pending_sectors -= sectors;
        sectors
    }

    /// What is being programmed.
    pub(super) fn running(&self) -> &[ProgramPiece] {
        &self.running
    }

    /// The program that was taken ends at `end`.
    pub(super) fn begin(&mut self, end: Instant, last: Path) {
        (self.program, self.passed, self.last) = (Some(end), 0, last);
    }

    /// When the running program ends; a read may have postponed it.
    pub(super) fn program_end(&self) -> Option<Instant> {
        self.program
    }

    /// The program has ended; its pieces move to `ended`.
    pub(super) fn end(&mut self, ended: &mut Vec<ProgramPiece>) {
        self.program = None;
        ended.append(&mut self.running);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Span = Span::from_us(50);
    const NEW: Path = Path { op: 1, foreign: Span::ZERO };

    fn programming(state: Interference, patience: u32) -> Die {
        let mut die = Die::new(InterferenceSpec { state, patience, pulse: Span::ZERO });
        die.begin(Instant::ZERO + Span::from_us(700), NEW);
        die
    }

    fn us(us: u64) -> Instant {
        Instant::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_read_behind_a_program_waits_or_suspends_or_passes() {
        let read = |state| programming(state, 4).read(us(100), READ, NEW);
        assert_eq!(read(Interference::Wait), (us(750), Path { foreign: Span::from_us(600), ..NEW }));
        let cost = Span::from_us(20);
        assert_eq!(read(Interference::Suspend { cost }), (us(170), Path { foreign: cost, ..NEW }));
        assert_eq!(read(Interference::Off), (us(150), NEW));
    }

    #[test]
    fn a_program_in_pulses_is_suspended_at_the_end_of_one() {
        let mut die = programming(Interference::Suspend { cost: Span::from_us(20) }, 2);
        die.rule.pulse = Span::from_us(90);
        // 600 us are left: six pulses, and two thirds of one that has begun.
        assert_eq!(die.read(us(100), READ, NEW).0, us(100 + 60 + 20 + 50));
        assert_eq!(die.program_end(), Some(us(700 + 60 + 20 + 50)));
        // The next read finds it suspended.
        assert_eq!(die.read(us(200), READ, NEW).0, us(230 + 50));
    }

    #[test]
    fn a_suspended_program_ends_later_and_is_suspended_so_often_only() {
        let mut die = programming(Interference::Suspend { cost: Span::from_us(20) }, 2);
        assert_eq!(die.read(us(100), READ, NEW).0, us(170));
        assert_eq!(die.read(us(100), READ, NEW).0, us(220));
        assert_eq!(die.program_end(), Some(us(820)));
        assert_eq!(die.read(us(300), READ, NEW).0, us(870));
        assert_eq!(die.program_end(), Some(us(820)));
    }
}
