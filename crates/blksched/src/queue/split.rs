//! Splitting: a bio longer than the device's limit becomes several requests, and completes with the last of them.
//!
//! **Origin** since blk-mq docs/behaviour/blk-mq-6.x.md#p.1.
//! **In the kernel** `bio_split`, `blk_queue_split`, `bio_split_rw`, `bio_split_to_limits`, `__blk_queue_split`,
//! `blk_bio_segment_split`.

use crate::request::{Bio, SplitId};

/// The part of a split bio that something is.
#[derive(Clone, Copy, Debug)]
pub(super) struct SplitPiece {
    /// The bio to which it belongs, if that was split.
    pub(super) of: Option<SplitId>,
    /// Whether it is the last.
    pub(super) last: bool,
}

impl SplitPiece {
    /// Of a bio that was not split: all of it.
    pub(super) const WHOLE: SplitPiece = SplitPiece { of: None, last: true };
}

/// The pieces of `bio`, in order, none longer than `max_sectors`.
pub(super) fn pieces(bio: Bio, max_sectors: u32) -> impl Iterator<Item = Bio> {
    (0..bio.sectors.div_ceil(max_sectors).max(1)).map(move |nth| {
        let offset = nth * max_sectors;
        Bio { start: bio.start + offset, sectors: (bio.sectors - offset).min(max_sectors), ..bio }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sector, SubmitterId};

    #[test]
    fn the_pieces_cover_the_bio_without_gap_or_overlap() {
        let bio = Bio::read(1, SubmitterId(0), Sector(100), 2500);
        let cut: Vec<(u64, u32)> = pieces(bio, 1024).map(|b| (b.start.0, b.sectors)).collect();
        assert_eq!(cut, [(100, 1024), (1124, 1024), (2148, 452)]);
        assert_eq!(pieces(Bio { sectors: 8, ..bio }, 1024).count(), 1);
    }
}
