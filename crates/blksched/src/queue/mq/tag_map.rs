//! The map of tags: bits in words, a hint where to search, and bits that were freed but not yet cleared.
//!
//! **Rule** A search begins at the hint's word and takes the lowest bit that is not taken; each word is examined once,
//! and its freed bits become free only when it appears to be full. A shallow search may use a few bits only, and wraps
//! within the word. With round-robin order a search begins exactly at the hint's bit, and the hint always advances.
//! **Origin** docs/behaviour/blk-mq-6.x.md#t, recorded from 6.1.192 and 6.12.117 (`tags-6.1`, `tags-6.12`).
//! **In the kernel** `sbitmap`, `sbitmap_get`, `sbitmap_get_shallow`, `sbitmap_deferred_clear`, `alloc_hint`,
//! `sbitmap_queue_clear`, `__sbitmap_get_word`, `sbitmap_find_bit`, `round_robin`.

#![doc(alias = "sbitmap")]
#![doc(alias = "sbitmap_get")]

use alloc::vec::Vec;
use core::ops::Range;

use super::TagOrder;

/// How deep a search may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum SearchDepth {
    /// Every bit.
    All,
    /// This many of each word (6.1).
    PerWord(u32),
    /// This many of the whole map (since 6.12).
    OfAll(u32),
}

#[derive(Clone, Copy, Debug, Default)]
struct TagWord {
    taken: u64,
    /// Of the taken bits: those given back, but not yet cleared.
    freed: u64,
    /// The bits below the depth.
    usable: u64,
}

impl TagWord {
    /// The free bits among these. If none is free, bits that were given back are cleared first.
    #[inline(always)]
    fn free_within(&mut self, bits: u64) -> u64 {
        let free = !self.taken & bits;
        if free != 0 {
            return free;
        }
        self.clear_freed();
        !self.taken & bits
    }

    /// Whether one of these bits is free or was given back. If not, the word looks full, and other bits that were given
    /// back are cleared.
    #[inline(always)]
    fn has_room(&mut self, bits: u64) -> bool {
        let has = (!self.taken | self.freed) & bits != 0;
        if !has && self.freed != 0 {
            self.clear_freed();
        }
        has
    }

    #[inline(always)]
    fn clear_freed(&mut self) {
        self.taken &= !core::mem::take(&mut self.freed);
    }
}

/// The tags that are taken.
#[derive(Clone, Debug)]
pub struct TagMap {
    order: TagOrder,
    depth: u32,
    /// The bits of a word, as a power of two, and the mask of a tag's position in its word; fixed when the map is made.
    shift: u32,
    low: u32,
    /// A search that begins below this tag may take the lowest bit of its word: below the depth, unless tags go round.
    near: u32,
    /// The words in use come first; a map that shrank keeps the others as they were.
    words: Vec<TagWord>,
    hint: u32,
    /// One entry per kind of recent search: BFQ has one for reads, one for writes, and others while it raises.
    full: [FullWords; 4],
    /// The number of times that tags were given back, or that their number changed.
    changes: u64,
    /// The number of changes after which a search last found its first word full.
    passed: u64,
}

/// Words in which a search found no tag. They remain so until a tag is given back, and the same search from the same
/// place continues after them: otherwise a map of many words would be searched for each tag that is taken.
#[derive(Clone, Copy, Debug)]
struct FullWords {
    changes: u64,
    hint: u32,
    search: SearchDepth,
    count: u32,
}

impl FullWords {
    const NONE: FullWords = FullWords { changes: u64::MAX, hint: 0, search: SearchDepth::All, count: 0 };
}

impl TagMap {
    /// A map of `depth` free tags.
    ///
    /// # Panics
    /// If that is 0.
    pub fn new(order: TagOrder, depth: u32) -> TagMap {
        assert!(depth > 0, "a map of no tags");
        let mut map = TagMap {
            order,
            depth,
            shift: word_shift(depth),
            low: (1 << word_shift(depth)) - 1,
            near: 0,
            words: Vec::new(),
            hint: 0,
            full: [FullWords::NONE; 4],
            changes: 0,
            passed: u64::MAX,
        };
        map.words.resize(map.word_count(), TagWord::default());
        map.know_usable();
        map
    }

    /// The number of tags.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The number of bits in a word.
    pub fn bits_per_word(&self) -> u32 {
        1 << self.shift
    }

    /// The number of words in use.
    pub fn word_count(&self) -> usize {
        self.depth.div_ceil(1 << self.shift) as usize
    }

    /// The place where the next search begins.
    pub fn hint(&self) -> u32 {
        self.hint
    }

    /// The number of tags in use below the present depth.
    pub fn in_use(&self) -> u32 {
        (0..self.word_count()).map(|w| self.used_bits(w)).sum()
    }

    fn used_bits(&self, w: usize) -> u32 {
        let TagWord { taken, freed, .. } = self.words[w];
        (taken & !freed & mask(self.bits(w))).count_ones()
    }

    /// Takes a tag, if the search finds one.
    #[inline]
    pub fn take(&mut self, search: SearchDepth) -> Option<u32> {
        self.take_near_hint(search).or_else(|| self.take_anywhere(search))
    }

    /// The usual case of [`TagMap::take`]: there is no limit, and the word where the search begins has a free tag.
    #[inline(always)]
    pub(super) fn take_near_hint(&mut self, search: SearchDepth) -> Option<u32> {
        match search {
            // A search without a limit takes the lowest free bit of the word.
            SearchDepth::All => self.take_of_hints_word(u64::MAX, |free, _| free),
            SearchDepth::PerWord(limit) if limit >= self.bits_per_word() => self.take_of_hints_word(u64::MAX, ahead_of),
            SearchDepth::OfAll(limit) if limit >= self.depth => self.take_of_hints_word(u64::MAX, ahead_of),
            SearchDepth::PerWord(_) | SearchDepth::OfAll(_) => None,
        }
    }

    /// The lowest bit that `among` leaves of the first word's free bits in `within`; `among` is called with these bits
    /// and the position at which the search begins.
    #[inline(always)]
    fn take_of_hints_word(&mut self, within: u64, among: impl FnOnce(u64, u32) -> u64) -> Option<u32> {
        let hint = self.hint;
        if hint >= self.near {
            return None;
        }
        let w = (hint >> self.shift) as usize;
        let word = self.words.get_mut(w)?;
        let free = word.free_within(word.usable & within);
        if free == 0 {
            return None;
        }
        let from = hint & self.low;
        let bit = among(free, from).trailing_zeros();
        word.taken |= 1 << bit;
        let tag = hint - from + bit;
        if tag == hint {
            self.hint = self.after(tag);
        }
        Some(tag)
    }

    #[inline(never)]
    fn take_anywhere(&mut self, search: SearchDepth) -> Option<u32> {
        if search != SearchDepth::All && self.hint < self.near && self.passed != self.changes {
            let within = mask(self.usable((self.hint >> self.shift) as usize, search));
            if within != 0
                && let Some(tag) = self.take_of_hints_word(within, ahead_of)
            {
                return Some(tag);
            }
        }
        self.scan(search).0
    }

    /// The first free tag after the hint, and the number of words examined.
    #[inline(always)]
    fn scan(&mut self, search: SearchDepth) -> (Option<u32>, u32) {
        let hint = self.valid_hint();
        let count = self.word_count();
        let first = (hint >> self.shift) as usize;
        let place = self.place_of(search);
        let known = self.full[place];
        let is_known = known.changes == self.changes && known.hint == hint && known.search == search;
        let skipped = if is_known { known.count } else { 0 };
        let found = self.take_of_first(search, first, skipped).or_else(|| {
            let begin = first + skipped.max(1) as usize;
            let parts = self.parts(search);
            let found = self.with_room(begin..count, &parts);
            let (w, within) = found.or_else(|| self.with_room(begin.saturating_sub(count)..first, &parts))?;
            let bit = self.words[w].free_within(within).trailing_zeros();
            Some((w, bit))
        });
        let Some((w, bit)) = found else {
            self.hint = 0;
            return (None, count as u32 - skipped);
        };
        self.words[w].taken |= 1 << bit;
        let full = (if w >= first { w - first } else { w + count - first }) as u32;
        self.full[place] = FullWords { changes: self.changes, hint, search, count: full };
        if full > 0 {
            self.passed = self.changes;
        }
        let tag = ((w as u32) << self.shift) + bit;
        self.move_hint(tag);
        (Some(tag), full - skipped + 1)
    }

    /// A bit of the word where the search begins, unless the word is known to be full.
    fn take_of_first(&mut self, search: SearchDepth, w: usize, skipped: u32) -> Option<(usize, u32)> {
        if skipped > 0 {
            return None;
        }
        let within = mask(self.usable(w, search));
        if within == 0 {
            return None;
        }
        let (from, word) = (self.hint & self.low, &mut self.words[w]);
        let free = match (search, self.order) {
            (SearchDepth::All, TagOrder::Lowest) => word.free_within(within),
            // It does not wrap.
            (SearchDepth::All, TagOrder::RoundRobin) => word.free_within(within & (u64::MAX << from)),
            (SearchDepth::PerWord(_) | SearchDepth::OfAll(_), _) => ahead_of(word.free_within(within), from),
        };
        (free != 0).then(|| (w, free.trailing_zeros()))
    }

    /// The first of these words with a bit for the search, and the bits that the search may use. A word in which it
    /// may use none is skipped, and bits that were given back there stay uncleared.
    #[inline(always)]
    fn with_room(&mut self, words: Range<usize>, parts: &[(usize, u64); 3]) -> Option<(usize, u64)> {
        let mut from = words.start;
        for &(end, within) in parts {
            let end = end.min(words.end);
            if from < end {
                if within != 0
                    && let Some(at) = self.words[from..end].iter_mut().position(|word| word.has_room(within))
                {
                    return Some((from + at, within));
                }
                from = end;
            }
        }
        None
    }

    /// The place that remembers, or may remember, the full words of this kind of search.
    fn place_of(&self, search: SearchDepth) -> usize {
        let same = self.full.iter().position(|full| full.search == search);
        let stale = || self.full.iter().position(|full| full.changes != self.changes);
        same.or_else(stale).unwrap_or(0)
    }

    /// The result of [`TagMap::usable`] for all words with one division: the words before each of these have these
    /// bits for the search.
    fn parts(&self, search: SearchDepth) -> [(usize, u64); 3] {
        let (bits, whole_words, count) = (self.bits_per_word(), (self.depth >> self.shift) as usize, self.word_count());
        let (whole, rest) = match search {
            SearchDepth::All => (bits, 0),
            SearchDepth::PerWord(limit) => (bits.min(limit), 0),
            SearchDepth::OfAll(limit) if limit >= self.depth => (bits, 0),
            SearchDepth::OfAll(limit) => {
                let share = u64::from(bits) * u64::from(limit);
                ((share / u64::from(self.depth)) as u32, share % u64::from(self.depth))
            }
        };
        // The remainder of the division goes to the first words.
        let more = ((rest >> self.shift) as usize).min(whole_words);
        let last = if whole_words < count { self.usable(whole_words, search) } else { 0 };
        [(more, mask((whole + 1).min(bits))), (whole_words, mask(whole)), (count, mask(last))]
    }

    /// Takes up to `want` tags at once: of the first word with that much room after its first free bit, those that are
    /// free. Never falls back to one.
    pub fn take_many(&mut self, want: u32) -> Vec<u32> {
        let hint = self.valid_hint();
        let mut w = (hint >> self.shift) as usize;
        let count = self.word_count();
        for _ in 0..count {
            self.words[w].clear_freed();
            let bits = self.bits(w);
            let taken = self.words[w].taken;
            let first = (!taken).trailing_zeros();
            if taken != mask(bits - 1) && first + want <= bits {
                let wanted = mask(want) << first;
                self.words[w].taken |= wanted;
                let base = (w as u32) << self.shift;
                self.move_hint(base + first + want - 1);
                return (first..first + want).filter(|&bit| taken >> bit & 1 == 0).map(|bit| base + bit).collect();
            }
            w = (w + 1) % count;
        }
        Vec::new()
    }

    /// Gives back one tag; [`TagMap::hint_at`] sets the hint afterwards, once waiting tasks have been woken.
    ///
    /// # Panics
    /// If it was not taken.
    #[inline]
    pub fn give_back(&mut self, tag: u32) {
        let (w, bit) = self.place(tag);
        let word = &mut self.words[w];
        assert!(word.taken & !word.freed & bit != 0, "tag {tag} is given back but was not taken");
        word.freed |= bit;
        self.changes += 1;
    }

    /// Gives back one of several tags at a time: it is free at once.
    ///
    /// # Panics
    /// If it was not taken.
    pub fn give_back_cleared(&mut self, tag: u32) {
        let (w, bit) = self.place(tag);
        let word = &mut self.words[w];
        assert!(word.taken & !word.freed & bit != 0, "tag {tag} is given back but was not taken");
        word.taken &= !bit;
        self.changes += 1;
    }

    /// The next search begins at the tag just given back, unless tags are allocated in turn or it is beyond the depth.
    #[inline]
    pub fn hint_at(&mut self, tag: u32) {
        if tag < self.near {
            self.hint = tag;
        }
    }

    /// Changes the number of tags; words keep their size.
    ///
    /// # Panics
    /// If that is 0.
    pub fn resize(&mut self, depth: u32) {
        assert!(depth > 0, "a map of no tags");
        for w in 0..self.word_count() {
            self.words[w].clear_freed();
        }
        (self.depth, self.changes) = (depth, self.changes + 1);
        let count = self.word_count().max(self.words.len());
        self.words.resize(count, TagWord::default());
        self.know_usable();
    }

    fn know_usable(&mut self) {
        self.near = if self.order == TagOrder::Lowest { self.depth } else { 0 };
        for w in 0..self.words.len() {
            self.words[w].usable = if w < self.word_count() { mask(self.bits(w)) } else { 0 };
        }
    }

    #[inline(always)]
    fn place(&self, tag: u32) -> (usize, u64) {
        ((tag >> self.shift) as usize, 1 << (tag & self.low))
    }

    /// A hint beyond a map that shrank starts anew (in a kernel, anywhere).
    fn valid_hint(&mut self) -> u32 {
        if self.hint >= self.depth {
            self.hint = 0;
        }
        self.hint
    }

    #[inline]
    fn move_hint(&mut self, tag: u32) {
        if tag == self.hint || self.order == TagOrder::RoundRobin {
            self.hint = self.after(tag);
        }
    }

    /// Where the next search begins after one that took this tag in its first word.
    #[inline(always)]
    fn after(&self, tag: u32) -> u32 {
        if tag + 1 >= self.depth - 1 { 0 } else { tag + 1 }
    }

    /// The number of bits of word `w`; the last may be shorter.
    #[inline]
    fn bits(&self, w: usize) -> u32 {
        (self.depth - ((w as u32) << self.shift)).min(self.bits_per_word())
    }

    /// The number of bits of word `w` that this search may use.
    fn usable(&self, w: usize, search: SearchDepth) -> u32 {
        let bits = self.bits(w);
        match search {
            SearchDepth::All => bits,
            SearchDepth::PerWord(limit) => bits.min(limit),
            SearchDepth::OfAll(limit) if limit >= self.depth => bits,
            SearchDepth::OfAll(limit) => {
                let share = u64::from(bits) * u64::from(limit);
                let (whole, rest) = (share / u64::from(self.depth), share % u64::from(self.depth));
                (whole as u32 + u32::from(rest >= (w as u64 + 1) * u64::from(bits))).min(bits)
            }
        }
    }
}

/// Words of 64 bits, halved until there are at least four of them.
pub(crate) fn word_shift(depth: u32) -> u32 {
    let mut shift = 6;
    while depth >= 4 && shift > 0 && 4 << shift > depth {
        shift -= 1;
    }
    shift
}

/// The bits of `free` from this one on; all of them if there are none.
#[inline(always)]
fn ahead_of(free: u64, from: u32) -> u64 {
    let ahead = free & (u64::MAX << from);
    if ahead == 0 { free } else { ahead }
}

#[inline]
fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(order: TagOrder, depth: u32) -> TagMap {
        TagMap::new(order, depth)
    }

    #[test]
    fn words_are_halved_until_there_are_four() {
        let bits = [(256, 64), (64, 16), (62, 8), (32, 8), (31, 4), (8, 2), (4, 1), (3, 64)];
        for (depth, expected) in bits {
            assert_eq!(map(TagOrder::Lowest, depth).bits_per_word(), expected, "{depth}");
        }
    }

    #[test]
    fn every_tag_is_handed_out_once_whatever_the_order() {
        for order in [TagOrder::Lowest, TagOrder::RoundRobin] {
            for depth in [1, 2, 3, 4, 31, 32, 256] {
                let mut map = map(order, depth);
                // A round-robin search that began after the first free bit of its word begins again at the hint 0.
                let mut tags: Vec<_> = (0..2 * depth).filter_map(|_| map.take(SearchDepth::All)).collect();
                tags.sort_unstable();
                assert_eq!(tags, (0..depth).collect::<Vec<_>>(), "{order:?}");
                assert_eq!(map.in_use(), depth);
            }
        }
    }

    #[test]
    fn sata_hands_its_tags_out_in_turn() {
        let mut map = map(TagOrder::RoundRobin, 32);
        for expected in 0..5 {
            assert_eq!(map.take(SearchDepth::All), Some(expected));
            map.give_back(expected);
            map.hint_at(expected);
        }
    }

    #[test]
    fn several_at_once_come_from_one_word() {
        let mut map = map(TagOrder::Lowest, 16);
        assert_eq!(map.take_many(3), [0, 1, 2]);
        assert_eq!(map.take_many(3), [4, 5, 6], "the first word has one free bit left");
        assert!(map.take_many(5).is_empty(), "no word has this many");
    }

    /// The tags are the same as with a search that remembers nothing.
    #[test]
    fn what_is_remembered_of_full_words_changes_no_tag() {
        let mut state = 1_u64;
        let mut below = |limit: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32 % limit
        };
        for (order, depth) in [(TagOrder::Lowest, 700), (TagOrder::RoundRobin, 700), (TagOrder::Lowest, 31)] {
            let mut known = map(order, depth);
            let mut anew = known.clone();
            let mut taken = Vec::new();
            for _ in 0..40_000 {
                let search = match below(4) {
                    0 => SearchDepth::All,
                    1 => SearchDepth::PerWord(1 + below(3)),
                    _ => SearchDepth::OfAll(depth / 8),
                };
                match below(20) {
                    0 => {
                        let depth = depth - depth / 3 * below(2);
                        known.resize(depth);
                        anew.resize(depth);
                    }
                    1..9 if !taken.is_empty() => {
                        let tag = taken.swap_remove(below(taken.len() as u32) as usize);
                        let (cleared, hinted) = (below(2) == 0, below(2) == 0);
                        for map in [&mut known, &mut anew] {
                            if cleared {
                                map.give_back_cleared(tag)
                            } else {
                                map.give_back(tag)
                            }
                            if hinted {
                                map.hint_at(tag);
                            }
                        }
                    }
                    9 => {
                        let (many, same) = (known.take_many(3), anew.take_many(3));
                        assert_eq!(many, same);
                        taken.extend(many);
                    }
                    _ => {
                        anew.changes += 1;
                        let tag = known.take(search);
                        assert_eq!(tag, anew.take(search), "{order:?} {search:?}");
                        taken.extend(tag);
                    }
                };
                assert_eq!(known.hint(), anew.hint());
            }
        }
    }

    /// A word in which the search may use no bit is not full for it.
    #[test]
    fn what_was_given_back_stays_uncleared_in_a_word_that_a_search_passes_by() {
        let mut map = map(TagOrder::Lowest, 64);
        assert_eq!((0..64).filter_map(|_| map.take(SearchDepth::All)).count(), 64);
        map.give_back(33);
        map.hint_at(33);
        // This depth allows one bit of the first word.
        assert_eq!(map.take(SearchDepth::OfAll(1)), None);
        map.give_back(34);
        map.hint_at(34);
        assert_eq!(map.take(SearchDepth::OfAll(48)), Some(34), "33 is cleared with it, and the search begins at 34");
    }

    /// BFQ's limit in a large map is shallow, and its first words are soon full.
    #[test]
    fn a_map_that_fills_is_looked_through_once() {
        let mut map = map(TagOrder::Lowest, 1 << 16);
        let (mut tags, mut looked_at) = (0, 0);
        loop {
            // Two kinds of search alternate until one finds nothing more.
            let limit = if tags < 1 << 14 && tags % 2 == 0 { 1 << 14 } else { 1 << 15 };
            let (tag, words) = map.scan(SearchDepth::OfAll(limit));
            looked_at += words;
            let Some(_) = tag else { break };
            tags += 1;
        }
        assert_eq!(tags, 1 << 15);
        assert!(looked_at <= tags + 4 * map.word_count() as u32, "{looked_at} words for {tags} tags");
    }
}
