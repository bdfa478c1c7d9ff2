//! The segments of the look-ahead's buffer: which hold a sector, and which has not been used for longest.
//!
//! Usually none holds it. So a coarse test of all segments, several at a time, precedes the exact test of each; and the
//! order of use is a list through the segments.

/// Consecutive sectors in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) first: u64,
    /// The first sector not in it.
    pub(super) end: u64,
}

impl Segment {
    /// No disk has this many sectors.
    pub(super) const EMPTY: Segment = Segment { first: u64::MAX / 2, end: u64::MAX / 2 };

    /// Whether a read at `start` begins in it or directly after it.
    #[inline]
    pub(super) fn continues_at(&self, start: u64) -> bool {
        start.wrapping_sub(self.first) <= self.end - self.first
    }

    /// The last `sectors` of it, as a ring keeps them.
    #[inline]
    pub(super) fn cut_to(self, sectors: u64) -> Segment {
        Segment { first: self.first.max(self.end.saturating_sub(sectors)), ..self }
    }
}

/// Coarse positions are below this.
const COARSE_BITS: u32 = 30;
/// The coarse position of an empty segment.
const NOWHERE: i32 = i32::MAX;

/// All segments.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    all: Vec<Segment>,
    /// The coarse beginning and end of each; padded with empty ones to a multiple of eight.
    firsts: Vec<i32>,
    ends: Vec<i32>,
    shift: u32,
    /// The segments before and after each in the order of use; the last entry is the list's two ends.
    links: Vec<(u32, u32)>,
    /// Which have been used.
    used: Vec<bool>,
}

impl Segments {
    /// `count` empty segments of a disk with this many sectors.
    pub(super) fn new(count: u32, disk_sectors: u64) -> Segments {
        let all = vec![Segment::EMPTY; count as usize];
        let coarse = vec![NOWHERE; all.len().next_multiple_of(8)];
        let ring = count + 1;
        Segments {
            firsts: coarse.clone(),
            ends: coarse,
            shift: (u64::BITS - disk_sectors.leading_zeros()).saturating_sub(COARSE_BITS),
            links: (0..ring).map(|at| ((at + ring - 1) % ring, (at + 1) % ring)).collect(),
            used: vec![false; all.len()],
            all,
        }
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Segment {
        self.all[index]
    }

    /// Sets what it holds.
    #[inline]
    pub(super) fn set(&mut self, index: usize, segment: Segment) {
        self.all[index] = segment;
        self.firsts[index] = self.coarse(segment.first);
        self.ends[index] = self.coarse(segment.end);
    }

    /// Empties it, as if it had never been used.
    pub(super) fn forget(&mut self, index: usize) {
        (self.all[index], self.used[index]) = (Segment::EMPTY, false);
        (self.firsts[index], self.ends[index]) = (NOWHERE, NOWHERE);
        self.unlink(index as u32);
        // Among those that were never used, the first is the oldest.
        let mut behind = self.links[self.all.len()].1;
        while (behind as usize) < index && !self.used[behind as usize] {
            behind = self.links[behind as usize].1;
        }
        self.link_before(behind, index as u32);
    }

    /// Marks it as used now.
    #[inline]
    pub(super) fn touch(&mut self, index: usize) {
        self.used[index] = true;
        self.unlink(index as u32);
        self.link_before(self.all.len() as u32, index as u32);
    }

    /// The least recently used one.
    #[inline]
    pub(super) fn oldest(&self) -> usize {
        self.links[self.all.len()].1 as usize
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Among those that `start..end` begins in or continues, one that holds all of it, or else the one that reaches
    /// furthest.
    #[inline]
    pub(super) fn of(&self, start: u64, end: u64) -> Option<usize> {
        if self.may_touch(start, start) { self.search(start, end) } else { None }
    }

    /// False if no segment can touch `start..=end`.
    #[inline]
    pub(super) fn may_touch(&self, start: u64, end: u64) -> bool {
        let (from, to) = ((start >> self.shift) as i32, (end >> self.shift) as i32);
        // Negative if they are outside.
        let outside = |(&first, &end): (&i32, &i32)| to.wrapping_sub(first) | end.wrapping_sub(from);
        self.firsts.iter().zip(&self.ends).map(outside).fold(-1, |all, one| all & one) >= 0
    }

    fn search(&self, start: u64, end: u64) -> Option<usize> {
        let mut furthest: Option<(usize, u64)> = None;
        for (index, segment) in self.all.iter().enumerate() {
            if segment.continues_at(start) {
                if end <= segment.end {
                    return Some(index);
                }
                if furthest.is_none_or(|(_, reached)| reached < segment.end) {
                    furthest = Some((index, segment.end));
                }
            }
        }
        furthest.map(|(index, _)| index)
    }

    #[inline]
    fn coarse(&self, sector: u64) -> i32 {
        i32::try_from(sector >> self.shift).unwrap_or(NOWHERE)
    }

    #[inline]
    fn unlink(&mut self, index: u32) {
        let (before, behind) = self.links[index as usize];
        self.links[before as usize].1 = behind;
        self.links[behind as usize].0 = before;
    }

    #[inline]
    fn link_before(&mut self, behind: u32, index: u32) {
        let before = self.links[behind as usize].0;
        self.links[index as usize] = (before, behind);
        self.links[before as usize].1 = index;
        self.links[behind as usize].0 = index;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdd::tests_support::TestRandom;

    /// The simplest implementation: all are checked, with the number of its last use for each.
    struct Plain {
        all: Vec<(Segment, u64)>,
        uses: u64,
    }

    impl Plain {
        fn of(&self, start: u64, end: u64) -> Option<usize> {
            let holding = |(segment, _): &(Segment, u64)| segment.continues_at(start);
            let whole = self.all.iter().position(|one| holding(one) && end <= one.0.end);
            let reach = |index: &usize| (self.all[*index].0.end, core::cmp::Reverse(*index));
            whole.or_else(|| (0..self.all.len()).filter(|&index| holding(&self.all[index])).max_by_key(reach))
        }

        fn oldest(&self) -> usize {
            (0..self.all.len()).min_by_key(|&index| self.all[index].1).unwrap()
        }
    }

    #[test]
    fn the_coarse_look_and_the_list_answer_as_the_plain_way_does() {
        for (count, sectors) in [(1, 1 << 20), (7, 1 << 28), (16, 1 << 40)] {
            let mut random = TestRandom(u64::from(count));
            let mut segments = Segments::new(count, sectors);
            let mut plain = Plain { all: vec![(Segment::EMPTY, 0); count as usize], uses: 0 };
            let mut found = 0;
            for _ in 0..20_000 {
                // Many near each other, and at the disk's two ends.
                let near = random.below(400);
                let start = [near, sectors - 1000 + near, random.below(sectors - 8)][random.below(3) as usize];
                let of = segments.of(start, start + 8);
                assert_eq!(of, plain.of(start, start + 8));
                found += u64::from(of.is_some());
                let index = random.below(count.into()) as usize;
                match random.below(4) {
                    0 => {
                        segments.forget(index);
                        plain.all[index] = (Segment::EMPTY, 0);
                    }
                    _ => {
                        let index = of.unwrap_or(segments.oldest());
                        let segment = Segment { first: start, end: start + 8 + random.below(100) };
                        segments.set(index, segment);
                        segments.touch(index);
                        plain.uses += 1;
                        plain.all[index] = (segment, plain.uses);
                    }
                }
                assert_eq!(segments.oldest(), plain.oldest());
            }
            assert!(found > 200, "{found}");
        }
    }
}
