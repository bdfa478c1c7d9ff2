//! **What for**: the mapping of an array's sectors to members.
//!
//! **Rule**: data is distributed in chunks; a stripe is one chunk of every member. Level 5 puts parity on the last
//! member first and then on the one before, with the stripe's data beginning behind the parity ("left-symmetric", what
//! Linux does by default: MEMORY); level 6 has a second one behind the first. Level 10 stripes over pairs.

use crate::Level;

/// The arithmetic of an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) level: Level,
    pub(super) members: u32,
    pub(super) chunk: u64,
    /// The used part of each member \[512-byte sectors\].
    member_sectors: u64,
    /// The number of failed members.
    pub(super) failed: u32,
    /// The member that is being rebuilt, and its progress: its sectors from here on hold nothing yet.
    pub(super) rebuilding: Option<(u32, u64)>,
}

/// The unit of a member in the stripe cache, over which parity is computed \[512-byte sectors\].
pub(super) const PAGE: u64 = 8;

/// A part of a command inside one chunk: the stripe's data chunk, and the place on the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkPart {
    pub(super) stripe: u64,
    pub(super) column: u32,
    /// First sector and the sector after the last, within the chunk.
    pub(super) low: u64,
    pub(super) high: u64,
}

impl Layout {
    pub(super) fn new(level: Level, members: u32, chunk: u64, smallest: u64) -> Layout {
        let member_sectors = if level == Level::Raid1 { smallest } else { smallest / chunk * chunk };
        // A mirror is one chunk.
        let chunk = if level == Level::Raid1 { smallest } else { chunk };
        Layout { level, members, chunk, member_sectors, failed: 0, rebuilding: None }
    }

    /// The same with one more member lost, and replaced by one that holds this part of its data.
    pub(super) fn rebuilding(self, percent: u32) -> Layout {
        let member = match self.level {
            Level::Raid10 => self.members - 1 - 2 * self.failed,
            _ => self.members - 1 - self.failed,
        };
        let done = self.member_sectors / 100 * u64::from(percent) / PAGE * PAGE;
        Layout { rebuilding: Some((member, done)), ..self }
    }

    /// The same with this many failed members.
    pub(super) fn without(self, failed: u32) -> Layout {
        Layout { failed, ..self }
    }

    /// Whether this member has failed. The last ones have; of pairs of mirrors the second of each, from the last pair
    /// on.
    pub(super) fn has_failed(&self, member: u32) -> bool {
        match self.level {
            Level::Raid10 => member % 2 == 1 && member / 2 >= self.members / 2 - self.failed,
            _ => member >= self.members - self.failed,
        }
    }

    /// Whether a member's sectors up to `end` cannot be read, because it has failed or is not rebuilt that far.
    pub(super) fn lacks(&self, member: u32, end: u64) -> bool {
        self.has_failed(member) || self.rebuilding.is_some_and(|(new, done)| new == member && done < end)
    }

    /// The used part of each member \[512-byte sectors\].
    pub(super) fn member_sectors(&self) -> u64 {
        self.member_sectors
    }

    /// Data chunks in a stripe.
    pub(super) fn columns(&self) -> u32 {
        match self.level {
            Level::Raid0 => self.members,
            Level::Raid1 => 1,
            Level::Raid5 => self.members - 1,
            Level::Raid6 => self.members - 2,
            Level::Raid10 => self.members / 2,
        }
    }

    /// Parity chunks in a stripe.
    pub(super) fn parities(&self) -> u32 {
        match self.level {
            Level::Raid0 | Level::Raid1 | Level::Raid10 => 0,
            Level::Raid5 => 1,
            Level::Raid6 => 2,
        }
    }

    /// The number of members with the same data.
    pub(super) fn mirrors(&self) -> u32 {
        match self.level {
            Level::Raid1 => self.members,
            Level::Raid10 => 2,
            Level::Raid0 | Level::Raid5 | Level::Raid6 => 1,
        }
    }

    /// The capacity.
    pub(super) fn sectors(&self) -> u64 {
        self.member_sectors * u64::from(self.columns())
    }

    /// The parts of `start..end`, chunk by chunk.
    pub(super) fn parts(self, start: u64, end: u64) -> impl Iterator<Item = ChunkPart> {
        let mut at = start;
        core::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let (chunk, low) = (at / self.chunk, at % self.chunk);
            let high = self.chunk.min(low + (end - at));
            at += high - low;
            let columns = u64::from(self.columns());
            Some(ChunkPart { stripe: chunk / columns, column: (chunk % columns) as u32, low, high })
        })
    }

    /// The member with a data chunk; the first of several mirrors, which are neighbours.
    pub(super) fn data(&self, stripe: u64, column: u32) -> u32 {
        match self.level {
            Level::Raid0 | Level::Raid1 => column,
            Level::Raid10 => 2 * column,
            Level::Raid5 | Level::Raid6 => (self.parity(stripe, 0) + self.parities() + column) % self.members,
        }
    }

    /// The member with a parity chunk.
    pub(super) fn parity(&self, stripe: u64, which: u32) -> u32 {
        let first = self.members - 1 - (stripe % u64::from(self.members)) as u32;
        (first + which) % self.members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_gives_each_sector_a_place_of_its_own() {
        for (level, members, columns) in [
            (Level::Raid0, 3, 3),
            (Level::Raid1, 2, 1),
            (Level::Raid5, 4, 3),
            (Level::Raid6, 5, 3),
            (Level::Raid10, 4, 2),
        ] {
            let layout = Layout::new(level, members, 8, 80);
            assert_eq!(layout.sectors(), 80 * columns, "{level:?}");
            let mut places: Vec<(u32, u64)> = Vec::new();
            for part in layout.parts(0, layout.sectors()) {
                let member = layout.data(part.stripe, part.column);
                assert!((0..layout.parities()).all(|which| layout.parity(part.stripe, which) != member), "{level:?}");
                places.extend((part.low..part.high).map(|low| (member, part.stripe * layout.chunk + low)));
            }
            let count = places.len() as u64;
            places.sort_unstable();
            places.dedup();
            assert_eq!((places.len() as u64, count), (layout.sectors(), layout.sectors()), "{level:?}");
            assert!(places.iter().all(|(member, sector)| *member < members && *sector < 80));
        }
    }

    #[test]
    fn a_command_is_cut_at_chunks_and_a_last_piece_of_a_member_is_left() {
        let layout = Layout::new(Level::Raid0, 2, 8, 21);
        assert_eq!(layout.sectors(), 32);
        let parts: Vec<(u64, u32, u64, u64)> =
            layout.parts(6, 18).map(|part| (part.stripe, part.column, part.low, part.high)).collect();
        assert_eq!(parts, [(0, 0, 6, 8), (0, 1, 0, 8), (1, 0, 0, 2)]);
    }
}
