//! **What for**: garbage collection, which makes writes slow once the free blocks are used up.
//!
//! **Rule**: the first `after` bytes of written data find free blocks and cost nothing more. After that a block must be
//! reclaimed for every block written: one whose pages are `valid` percent still valid frees the rest, so a random page
//! that is programmed owes `valid / (100 - valid)` page copies (a read and a program each) on its die, and one erase
//! for each `block * (100 - valid) / 100` of them. A write that continues the one before leaves wholly stale blocks
//! behind: it owes the erase only. A discard returns free blocks.
//!
//! **Costs when wrong**: write bursts look as fast as a fresh disk for ever.

use blksched::Span;

use super::on_way::WriteManner;
use crate::{CollectionSpec, FlashSpec};

/// The state of all dies' free blocks.
#[derive(Clone, Debug)]
pub(super) struct Collection {
    after_sectors: u64,
    /// Sectors that can be written before blocks must be reclaimed.
    clean_sectors: u64,
    page_sectors: u64,
    block_sectors: u64,
    valid_percent: u64,
    copy: Span,
    erase: Span,
    dies: Vec<Debt>,
}

/// A die's debt.
#[derive(Clone, Copy, Debug, Default)]
struct Debt {
    /// Copies \[sectors / (100 - valid)\].
    copies: u64,
    /// Erases \[sectors reclaimed * 100\].
    erases: u64,
}

impl Collection {
    pub(super) fn new(spec: &CollectionSpec, flash: &FlashSpec) -> Collection {
        Collection {
            after_sectors: spec.after_sectors,
            clean_sectors: spec.after_sectors,
            page_sectors: flash.program_sectors,
            block_sectors: spec.block_sectors,
            valid_percent: u64::from(spec.valid_percent),
            copy: flash.read + flash.program,
            erase: spec.erase,
            dies: vec![Debt::default(); (flash.channels * flash.dies) as usize],
        }
    }

    /// `sectors` have been programmed on `die`: returns how long it collects now.
    pub(super) fn programmed(&mut self, die: usize, sectors: u32, manner: WriteManner) -> Span {
        let sectors = u64::from(sectors);
        if self.clean_sectors >= sectors {
            self.clean_sectors -= sectors;
            return Span::ZERO;
        }
        let debt = &mut self.dies[die];
        let stale_percent = match manner {
            WriteManner::Sequential => 100,
            WriteManner::Random => {
                debt.copies += sectors * self.valid_percent;
                100 - self.valid_percent
            }
        };
        debt.erases += sectors * 10_000 / stale_percent;
        let copy = self.page_sectors * (100 - self.valid_percent);
        let copies = debt.copies / copy;
        debt.copies %= copy;
        let erases = debt.erases / (self.block_sectors * 100);
        debt.erases %= self.block_sectors * 100;
        self.copy * copies + self.erase * erases
    }

    /// `sectors` are no longer needed.
    pub(super) fn discarded(&mut self, sectors: u32) {
        self.clean_sectors = (self.clean_sectors + u64::from(sectors)).min(self.after_sectors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssd::tests_support::ssd_spec;

    fn collection(after_sectors: u64, valid_percent: u32) -> (Collection, FlashSpec) {
        let flash = ssd_spec("sata-ssd-ideal").flash;
        let (block_sectors, erase) = (flash.program_sectors * 100, Span::from_ms(3));
        (Collection::new(&CollectionSpec { after_sectors, block_sectors, valid_percent, erase }, &flash), flash)
    }

    fn spent(collection: &mut Collection, flash: &FlashSpec, programs: u32, manner: WriteManner) -> Span {
        let sectors = flash.program_sectors as u32;
        (0..programs).map(|_| collection.programmed(0, sectors, manner)).fold(Span::ZERO, |sum, span| sum + span)
    }

    #[test]
    fn random_pages_owe_their_blocks_valid_pages_and_erases() {
        let (mut collection, flash) = collection(0, 75);
        // Each page written owes three copies, and 100 of them four erases.
        let all = spent(&mut collection, &flash, 100, WriteManner::Random);
        assert_eq!(all, (flash.read + flash.program) * 300 + Span::from_ms(3) * 4);
    }

    #[test]
    fn sequential_pages_owe_an_erase_per_block_and_no_copies() {
        let (mut collection, flash) = collection(0, 75);
        assert_eq!(spent(&mut collection, &flash, 200, WriteManner::Sequential), Span::from_ms(3) * 2);
    }

    #[test]
    fn free_blocks_cost_nothing_and_a_discard_gives_them_back() {
        let sectors = ssd_spec("sata-ssd-ideal").flash.program_sectors;
        let (mut collection, flash) = collection(sectors * 50, 50);
        assert_eq!(spent(&mut collection, &flash, 50, WriteManner::Random), Span::ZERO);
        assert!(spent(&mut collection, &flash, 50, WriteManner::Random) > Span::ZERO);
        collection.discarded(sectors as u32 * 20);
        assert_eq!(spent(&mut collection, &flash, 20, WriteManner::Random), Span::ZERO);
        collection.discarded(u32::MAX);
        assert_eq!(collection.clean_sectors, collection.after_sectors);
    }
}
