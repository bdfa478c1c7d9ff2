//! Pages: the unit in which memory holds the disk.
//!
//! **Rule** a page is 4096 bytes, that is 8 sectors; page *n* of the disk begins at sector 8*n*. Files begin at whole
//! pages, so no page belongs to two files.

use core::ops::Range;

use blksched::Sector;

/// The size of a page \[bytes\].
pub const PAGE_BYTES: u64 = 4096;

/// The size of a page \[512-byte sectors\].
pub const PAGE_SECTORS: u64 = PAGE_BYTES / 512;

/// Pages by number, from the beginning of the disk or of a file.
pub type Pages = Range<u64>;

/// The pages that `sectors` sectors from `start` on touch.
pub fn pages_of(start: Sector, sectors: u64) -> Pages {
    start.0 / PAGE_SECTORS..(start.0 + sectors).div_ceil(PAGE_SECTORS)
}

/// A part of the disk, to the byte: what a `read` or `write` transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// Where it begins \[bytes\].
    pub start: u64,
    /// Its length \[bytes\].
    pub bytes: u64,
}

impl ByteRange {
    /// Whole sectors.
    pub fn of_sectors(start: Sector, sectors: u32) -> ByteRange {
        ByteRange { start: start.0 * 512, bytes: u64::from(sectors) * 512 }
    }

    /// The pages that it touches.
    pub fn pages(self) -> Pages {
        self.start / PAGE_BYTES..(self.start + self.bytes).div_ceil(PAGE_BYTES)
    }

    /// Whether the whole page is in it.
    pub fn covers(self, page: u64) -> bool {
        self.start <= page * PAGE_BYTES && (page + 1) * PAGE_BYTES <= self.start + self.bytes
    }
}

/// The number of pages.
pub(super) fn count(pages: &Pages) -> u64 {
    pages.end.saturating_sub(pages.start)
}

/// The pages in both.
pub(super) fn common(a: &Pages, b: &Pages) -> Pages {
    a.start.max(b.start)..a.end.min(b.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_touches_every_page_that_it_begins() {
        assert_eq!(pages_of(Sector(0), 8), 0..1);
        assert_eq!(pages_of(Sector(7), 2), 0..2);
        assert_eq!(pages_of(Sector(16), 1), 2..3);
        let etcd = ByteRange { start: 2300, bytes: 2300 };
        assert_eq!((etcd.pages(), etcd.covers(0)), (0..2, false));
        let whole = ByteRange { start: 1, bytes: 2 * PAGE_BYTES - 1 };
        assert_eq!((whole.pages(), whole.covers(0), whole.covers(1)), (0..2, false, true));
    }
}
