//! **What for**: the position of a sector.
//!
//! **Rule**: pages are distributed round-robin over the dies, channels first, so that adjacent pages are read in
//! parallel over different channels. A sector's die never changes: the disk's freedom to write elsewhere is not
//! modelled, only that it can write anywhere without positioning.

use crate::FlashSpec;

/// Which die holds which page.
#[derive(Clone, Copy, Debug)]
pub(super) struct DieLayout {
    page_sectors: u64,
    page_shift: u32,
    channels: u32,
    dies: u32,
}

/// A part of a command inside one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PagePart {
    pub(super) die: u32,
    pub(super) start: u64,
    pub(super) sectors: u32,
}

impl DieLayout {
    pub(super) fn new(flash: &FlashSpec) -> DieLayout {
        assert!(flash.page_sectors.is_power_of_two(), "the loader refuses other pages");
        DieLayout {
            page_sectors: flash.page_sectors,
            page_shift: flash.page_sectors.trailing_zeros(),
            channels: flash.channels,
            dies: flash.channels * flash.dies,
        }
    }

    /// The number of dies of all channels.
    pub(super) fn dies(&self) -> u32 {
        self.dies
    }

    /// The channel that leads to a die.
    pub(super) fn channel(&self, die: u32) -> usize {
        (die % self.channels) as usize
    }

    /// The parts of `start..start + sectors`, page by page.
    #[inline]
    pub(super) fn parts(self, start: u64, sectors: u32) -> impl Iterator<Item = PagePart> {
        let (mut at, end) = (start, start + u64::from(sectors));
        core::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let page = at >> self.page_shift;
            let until = end.min((page << self.page_shift) + self.page_sectors);
            let part = PagePart { die: (page % u64::from(self.dies)) as u32, start: at, sectors: (until - at) as u32 };
            at = until;
            Some(part)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssd::tests_support::ssd_spec;

    #[test]
    fn neighbouring_pages_lie_on_different_channels_and_a_round_comes_back() {
        let mut flash = ssd_spec("sata-ssd-ideal").flash;
        (flash.channels, flash.dies, flash.page_sectors) = (4, 2, 32);
        let layout = DieLayout::new(&flash);
        let parts: Vec<PagePart> = layout.parts(16, 16 + 8 * 32).collect();
        assert_eq!(parts.len(), 9);
        assert_eq!(parts[0], PagePart { die: 0, start: 16, sectors: 16 });
        assert_eq!(parts[8], PagePart { die: 0, start: 256, sectors: 32 });
        let channels: Vec<usize> = parts[..5].iter().map(|part| layout.channel(part.die)).collect();
        assert_eq!(channels, [0, 1, 2, 3, 0]);
        assert_eq!(parts.iter().map(|part| part.sectors).sum::<u32>(), 16 + 256);
    }
}
