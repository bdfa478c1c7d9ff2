//! **What for**: how long a program takes: the pages of a cell are programmed one after the other, and differ.
//!
//! **Rule**: a die goes through the list of `[pages] programs` in turn, from a place that the disk's seed gives, and
//! begins again. Without a list every program takes `flash.program`.
//!
//! **Origin**: the lower page of a cell of several bits is programmed in a fraction of the time of the upper one, which
//! must be placed between the levels that are there (Grupp et al., "Characterizing flash memory: anomalies,
//! observations, and applications", MICRO 2009: 0.3 ms and 1 to 2 ms in MLC). A block's pages are programmed in order.
//!
//! **Costs when wrong**: a read behind a program waits for a time that is uniform up to one program; beside few writes
//! p95 is then too long, beside many too short.

use blksched::Span;

use crate::draw::fixed_by;

/// The programs of every die.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    usual: Span,
    /// What they take in turn; empty if each takes the usual time.
    times: Vec<Span>,
    /// The place in the list, for each die; empty without one.
    next: Vec<u8>,
}

impl Programs {
    pub(super) fn new(usual: Span, times: Vec<Span>, dies: u32, seed: u64) -> Programs {
        let steps = times.len() as u64;
        let place = |die| (fixed_by(seed ^ 0x7072_6f67, die) % steps) as u8;
        let next = if steps > 0 { (0..u64::from(dies)).map(place).collect() } else { Vec::new() };
        Programs { usual, times, next }
    }

    /// What the next program of a die takes.
    #[inline]
    pub(super) fn time(&mut self, die: u32) -> Span {
        let Some(next) = self.next.get_mut(die as usize) else { return self.usual };
        let time = self.times[usize::from(*next)];
        *next = (*next + 1) % self.times.len() as u8;
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Span = Span::from_us;

    #[test]
    fn a_die_goes_through_the_list_in_turn_and_dies_begin_at_different_places() {
        let mut programs = Programs::new(US(1_000), vec![US(300), US(2_000)], 64, 5);
        let first: Vec<Span> = (0..64).map(|die| programs.time(die)).collect();
        let second: Vec<Span> = (0..64).map(|die| programs.time(die)).collect();
        let short = first.iter().filter(|time| **time == US(300)).count();
        assert!((16..48).contains(&short), "{short}");
        assert!(first.iter().zip(&second).all(|(one, other)| *one + *other == US(2_300)));
        assert_eq!((0..64).map(|die| programs.time(die)).collect::<Vec<_>>(), first);
        assert_eq!(Programs::new(US(1_000), Vec::new(), 64, 5).time(3), US(1_000));
    }
}
