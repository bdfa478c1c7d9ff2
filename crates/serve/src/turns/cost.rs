//! What a command usually costs, and how much of an unusual one is charged.
//!
//! **Rule** A tenant pays for its commands by measured time, but for none more than half as much again as its commands
//! usually cost; the rest is a debt that its next commands pay in the same way. The debt is at most [`DEBT`] usual
//! commands, and what is beyond is nobody's. So a stall of the disk, which is not the fault of the tenant whose command
//! happened to be in it, delays that tenant's next commands by a few turns and not by the stall's length times the
//! number of tenants; while what costs much again and again raises the usual cost, and is paid in full.
//!
//! **Why these figures** The usual cost is a mean over [`MEMORY`] commands that no single one raises by more than half.
//! So after a stall a command is charged 1.5 × 1.5 = 2.25 usual ones at most, and with one turn of its own before, the
//! tenant waits for less than the three commands of every tenant that are promised. A cost that recurs at least every
//! 16 commands is learned whatever its size, as half of the mean times 32 is 16 of its commands.

use blksched::Span;

/// The usual cost is the mean of this many.
const MEMORY: u64 = 32;
/// The largest debt, in usual commands.
const DEBT: u64 = 8;

/// What a command is taken to cost before any was done. Any value keeps one tenant from being served alone meanwhile.
const UNKNOWN: Span = Span::from_ms(1);

/// The cost of one kind of command of a tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    usual: Span,
    /// How many were seen, up to [`MEMORY`].
    seen: u64,
    debt: Span,
}

impl Cost {
    /// What one usually costs.
    pub fn usual(&self) -> Span {
        self.usual
    }

    /// Until one is done, one costs about as much as elsewhere: a guess, so that what is in flight counts.
    pub fn guess(&mut self, elsewhere: Span) {
        if self.seen == 0 {
            self.usual = if elsewhere == Span::ZERO { UNKNOWN } else { elsewhere };
        }
    }

    /// These commands (or none, if they were others' and this is a part of them) took so long: returns what is charged
    /// now. `others` is what one usually costs elsewhere, for a tenant that has done nothing yet.
    pub fn charge(&mut self, commands: u32, took: Span, others: Span) -> Span {
        let commands = u64::from(commands.max(1));
        let each = took / commands;
        if self.seen == 0 {
            // The very first one of a disk may be a stall as well as any other, but nothing tells.
            let first = if others == Span::ZERO { each } else { each.min(half_more(others)) };
            (self.usual, self.seen) = (first, 1);
            return first * commands;
        }
        let owed = self.debt + took;
        let paid = owed.min(half_more(self.usual) * commands);
        self.debt = (owed - paid).min(self.usual * DEBT);
        self.learn(each);
        paid
    }

    fn learn(&mut self, each: Span) {
        self.seen = (self.seen + 1).min(MEMORY);
        let (old, new) = (self.usual.as_ns(), each.as_ns());
        let moved = if new >= old { old + (new - old) / self.seen } else { old - (old - new) / self.seen };
        self.usual = Span::from_ns(moved).min(half_more(self.usual).max(Span::from_ns(1)));
    }
}

fn half_more(usual: Span) -> Span {
    usual + usual / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_ms(1);

    /// What is charged for commands that take these times, after some of 2 ms.
    fn charged(took: impl IntoIterator<Item = Span>) -> Vec<Span> {
        let mut cost = Cost::default();
        (0..40).for_each(|_| assert_eq!(cost.charge(1, MS * 2, Span::ZERO), MS * 2));
        took.into_iter().map(|took| cost.charge(1, took, Span::ZERO)).collect()
    }

    #[test]
    fn of_a_stall_a_few_commands_are_charged_however_long_it_was() {
        for stall in [MS * 50, MS * 500, Span::from_secs(60)] {
            let paid = charged([stall].into_iter().chain([MS * 2; 100]));
            assert_eq!(paid[0], MS * 3);
            let most = paid.iter().max().unwrap().as_ns();
            assert!(most <= 2_250_000 * 2, "{most} ns at most, for commands of 2 ms");
            let beyond = paid.iter().map(|paid| paid.as_ns() as i64 - 2_000_000).sum::<i64>();
            assert!((0..=20_000_000).contains(&beyond), "{beyond} ns were charged beyond what commands cost");
            assert_eq!(paid[99], MS * 2, "it is over");
        }
    }

    #[test]
    fn what_recurs_is_paid_in_full() {
        // One of ten takes a hundred times as long as the others.
        let took = |nth: usize| if nth.is_multiple_of(10) { MS * 100 } else { MS };
        let paid = charged((0..1000).map(took));
        let (paid, real) = (paid[500..].iter().copied(), (500..1000).map(took));
        let sum = |all: &mut dyn Iterator<Item = Span>| all.map(Span::as_ns).sum::<u64>() as f64;
        let part = sum(&mut paid.into_iter()) / sum(&mut real.into_iter());
        assert!((0.9..1.02).contains(&part), "{part}");
    }

    #[test]
    fn dearer_commands_are_soon_charged_as_such() {
        let paid = charged([MS * 20; 200]);
        let free = paid.iter().map(|paid| 20_000_000 - paid.as_ns() as i64).sum::<i64>();
        assert!((0..200_000_000).contains(&free), "{free} ns of 4 s were not charged");
        assert_eq!(paid[199], MS * 20, "and the debt is paid");
    }

    #[test]
    fn many_commands_at_once_are_charged_as_many() {
        let mut cost = Cost::default();
        assert_eq!(cost.charge(4, MS * 8, Span::ZERO), MS * 8);
        assert_eq!(cost.usual(), MS * 2);
        assert_eq!(cost.charge(4, MS * 400, Span::ZERO), MS * 12, "half as much again as four");
        let mut fresh = Cost::default();
        assert_eq!(fresh.charge(1, MS * 500, MS * 2), MS * 3, "its first one met a stall");
    }
}
