//! **What for**: a part of a drive's cells that take one bit each, quickly, and are emptied into the others later.
//!
//! **Rule**: a program takes `program` while its die's part of `size` has room. A die that has programmed nothing for
//! `idle` folds: it moves what it holds into cells of several bits, as fast as it reads and programs those. If a
//! program finds no room, it goes to the cells of several bits at their speed (`direct`), or as much as it needs is
//! folded first (`fold`).
//!
//! **Origin**: data sheets name the size and both rates (Samsung's TurboWrite, 2013, and every consumer drive since);
//! what a drive does when it is full differs, and reviews measure it: to a third of the rate (`direct`), or far below
//! the cells' own (`fold`).
//!
//! **Limits**: every die has an equal part; the size does not depend on how full the drive is; reads do not meet what a
//! die folds when idle (it stops for them), nor are cells of one bit read faster.
//!
//! **Costs when wrong**: a burst of writes would be as slow as a full drive, or a long stream as fast as a burst.

use blksched::{Instant, Span};

use crate::{SlcSpec, SlcWhenFull};

/// The part of each die.
#[derive(Clone, Debug)]
pub(super) struct Slc {
    spec: SlcSpec,
    /// A die's part \[512-byte sectors\].
    room: u64,
    /// What a die folds at a time \[512-byte sectors\], and reading it.
    at_once: u64,
    read: Span,
    dies: Vec<SlcDie>,
}

/// What one die holds, and when its last program ended.
#[derive(Clone, Copy, Debug)]
struct SlcDie {
    held: u64,
    ended: Instant,
}

impl Slc {
    /// Of so many dies, which read and program `at_once` sectors at a time; reading takes `read`.
    pub(super) fn new(spec: &SlcSpec, dies: u32, at_once: u64, read: Span) -> Slc {
        let room = spec.size_sectors / u64::from(dies);
        let held = if spec.is_full { room } else { 0 };
        let die = SlcDie { held, ended: Instant::ZERO };
        Slc { spec: *spec, room, at_once, read, dies: vec![die; dies as usize] }
    }

    /// What programming `sectors` from `at` on takes, if the cells of several bits would take `usual`.
    pub(super) fn time(&mut self, index: u32, at: Instant, sectors: u32, usual: Span) -> Span {
        let fold = self.read + usual;
        let die = &mut self.dies[index as usize];
        let idle = at.since(die.ended).saturating_sub(self.spec.idle).as_ns();
        let folded = (idle / fold.as_ns().max(1)).saturating_mul(self.at_once);
        die.held = die.held.saturating_sub(folded);
        let has_room = die.held + u64::from(sectors) <= self.room;
        let time = match (has_room, self.spec.when_full) {
            (true, _) => self.spec.program,
            (false, SlcWhenFull::Direct) => usual,
            (false, SlcWhenFull::Fold) => self.spec.program + fold,
        };
        if has_room {
            die.held += u64::from(sectors);
        }
        time
    }

    /// A die is done with a program, its transfer and what it collected for it, at `at`.
    pub(super) fn ended(&mut self, index: u32, at: Instant) {
        self.dies[index as usize].ended = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Span = Span::from_us;
    const USUAL: Span = Span::from_us(500);

    /// One die's part is four programs.
    fn slc(when_full: SlcWhenFull, is_full: bool) -> (Slc, u32) {
        let spec = SlcSpec { size_sectors: 8 * 32, program: US(100), idle: Span::from_ms(5), when_full, is_full };
        (Slc::new(&spec, 2, 32, US(50)), 32)
    }

    #[test]
    fn a_die_is_fast_until_its_part_is_full_and_after_a_pause_that_it_folds_in() {
        let (mut slc, sectors) = slc(SlcWhenFull::Direct, false);
        let mut at = Instant::ZERO;
        let mut next = |pause: Span, slc: &mut Slc| {
            at += pause;
            let time = slc.time(0, at, sectors, USUAL);
            at += time;
            slc.ended(0, at);
            time
        };
        let burst: Vec<Span> = (0..6).map(|_| next(Span::ZERO, &mut slc)).collect();
        assert_eq!(burst, [US(100), US(100), US(100), US(100), USUAL, USUAL]);
        assert_eq!(next(Span::from_ms(5), &mut slc), USUAL, "it has just begun to fold");
        // Two are moved in 1.1 ms: there is room for two.
        let after: Vec<Span> = [US(6_100), US(0), US(0)].into_iter().map(|pause| next(pause, &mut slc)).collect();
        assert_eq!(after, [US(100), US(100), USUAL]);
        assert_eq!(slc.time(1, at, sectors, USUAL), US(100), "the other die has its own");
    }

    #[test]
    fn a_full_one_that_must_fold_is_slower_than_the_cells_below() {
        let (mut slc, sectors) = slc(SlcWhenFull::Fold, true);
        assert_eq!(slc.time(0, Instant::ZERO, sectors, USUAL), US(650));
        assert_eq!(slc.time(0, Instant::ZERO + US(650), sectors, USUAL), US(650));
    }
}
