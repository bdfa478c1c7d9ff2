//! Tokens, by number: a bitmap in words, allocated as in the kernel's `sbitmap`.
//!
//! **Rule** A hint says in which word to begin; the lowest free bit of a word is taken. A freed bit becomes available
//! only when its word has run out: then all freed bits of the word are reclaimed at once. Words are tried cyclically.
//! If the bit taken is the hint, the hint is advanced by one, or reset to 0 at the last bit but one; freeing a bit
//! makes it the hint; if no bit is found, the hint is 0. A word has 64 bits, halved until there are at least four
//! words. A smaller depth uses fewer words and bits, and tokens in use beyond them no longer count. In 4.19 words have
//! 64 bits, a freed bit is free at once, and a search begins at the hint's bit and wraps within its word: the token
//! freed last is normally the next one taken.
//! **Origin** docs/behaviour/elevators-6.1.md#kyber "Tokens"; docs/behaviour/elevators-4.19-5.15.md#k1. The kernel's
//! first hint is random; here it is 0, as recorded.
//! **Costs when wrong** A plain count of requests in flight gives the same decisions, except when the depth shrinks
//! below the number of tokens in use: then a few more than the depth may be in use, depending on their numbers.
//! **In the kernel** `domain_tokens`, `kyber_get_domain_token`, `sbitmap_queue`, `kyber_domain_wake`, `domain_wait`,
//! `rq_get_domain_token`, `rq_clear_domain_token`.

use alloc::vec;
use alloc::vec::Vec;

use crate::mechanism;

mechanism! {
    /// when a token that was given back can be taken
    pub(super) enum Freed = "tokens" {
        /// at once: 4.19
        AtOnce = "at_once",
        /// when its word has run out: 5.10 and later
        Later = "later",
    }
}

/// A domain's tokens.
#[derive(Clone, Debug)]
pub(super) struct Tokens {
    depth: u32,
    /// The number initially and at most.
    most: u32,
    freed: Freed,
    /// The number of bits per word, as a power of two.
    shift: u32,
    hint: u32,
    words: Vec<TokenWord>,
}

#[derive(Clone, Copy, Debug, Default)]
struct TokenWord {
    taken: u64,
    /// Those of the taken bits that are freed but not yet reclaimed.
    given_back: u64,
}

impl TokenWord {
    /// Reclaims all freed bits. True if there were any.
    fn reclaim(&mut self) -> bool {
        let any = self.given_back != 0;
        self.taken &= !self.given_back;
        self.given_back = 0;
        any
    }

    /// Takes the lowest free of the first `usable` bits.
    fn take(&mut self, usable: u32) -> Option<u32> {
        loop {
            let bit = self.taken.trailing_ones();
            if bit < usable {
                self.taken |= 1 << bit;
                return Some(bit);
            }
            if !self.reclaim() {
                return None;
            }
        }
    }
}

impl Tokens {
    /// Creates `depth` tokens, none of them taken; `depth` is also the maximum.
    pub(super) fn new(depth: u32, freed: Freed) -> Tokens {
        let mut shift = 6;
        // 4.19 makes a larger map first.
        while freed == Freed::Later && shift > 0 && 4 << shift > depth {
            shift -= 1;
        }
        let words = vec![TokenWord::default(); depth.div_ceil(1 << shift) as usize];
        Tokens { depth, most: depth, freed, shift, hint: 0, words }
    }

    /// The number of tokens initially and at most.
    pub(super) fn most(&self) -> u32 {
        self.most
    }

    /// The number of tokens.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Takes a token, if one is free; returns its number.
    #[inline]
    pub(super) fn get(&mut self) -> Option<u32> {
        if self.hint >= self.depth {
            self.hint = 0;
        }
        let token = match self.freed {
            Freed::Later => self.find_near_hint().or_else(|| self.find()),
            Freed::AtOnce => self.find_from_hint(),
        };
        match token {
            Some(token) if token == self.hint => {
                // The last token never becomes the hint in this way.
                self.hint = if token + 1 >= self.depth.saturating_sub(1) { 0 } else { token + 1 };
            }
            Some(_) => {}
            None => self.hint = 0,
        }
        token
    }

    /// The usual case: the word where the search begins has a free bit.
    #[inline(always)]
    fn find_near_hint(&mut self) -> Option<u32> {
        let index = self.hint >> self.shift;
        let first = index << self.shift;
        let word = self.words.get_mut(index as usize)?;
        let bit = word.taken.trailing_ones();
        if bit >= (self.depth - first).min(1 << self.shift) {
            return None;
        }
        word.taken |= 1 << bit;
        Some(first + bit)
    }

    #[inline(never)]
    fn find(&mut self) -> Option<u32> {
        let bits = 1 << self.shift;
        let words = self.words_in_use();
        let mut index = self.hint >> self.shift;
        for _ in 0..words {
            let usable = (self.depth - index * bits).min(bits);
            if let Some(bit) = self.words[index as usize].take(usable) {
                return Some(index * bits + bit);
            }
            index = if index + 1 == words { 0 } else { index + 1 };
        }
        None
    }

    /// 4.19: from the hint's bit on, then from the start of its word, then in the further words.
    fn find_from_hint(&mut self) -> Option<u32> {
        let (bits, words) = (1 << self.shift, self.words_in_use());
        let (first, place) = (self.hint >> self.shift, self.hint & (bits - 1));
        for nth in 0..words {
            let index = (first + nth) % words;
            let usable = (self.depth - index * bits).min(bits);
            let word = &mut self.words[index as usize];
            let free = !word.taken & (u64::MAX >> (64 - usable));
            let ahead = if nth == 0 { free & (u64::MAX << place) } else { free };
            let among = if ahead == 0 { free } else { ahead };
            if among != 0 {
                let bit = among.trailing_zeros();
                word.taken |= 1 << bit;
                return Some(index * bits + bit);
            }
        }
        None
    }

    /// Frees a token.
    #[inline(always)]
    pub(super) fn put_back(&mut self, token: u32) {
        let bit = token & ((1 << self.shift) - 1);
        let word = &mut self.words[(token >> self.shift) as usize];
        match self.freed {
            Freed::Later => word.given_back |= 1 << bit,
            Freed::AtOnce => word.taken &= !(1 << bit),
        }
        if token < self.depth {
            self.hint = token;
        }
    }

    /// Changes the number of tokens to `depth`, at least 1 and at most the initial number.
    pub(super) fn resize(&mut self, depth: u32) {
        let words = self.words_in_use() as usize;
        self.words[..words].iter_mut().for_each(|word| _ = word.reclaim());
        self.depth = depth;
    }

    fn words_in_use(&self) -> u32 {
        self.depth.div_ceil(1 << self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_halved_until_there_are_four() {
        for (depth, shift, words) in [(256, 6, 4), (128, 5, 4), (64, 4, 4), (16, 2, 4), (1, 0, 1)] {
            let tokens = Tokens::new(depth, Freed::Later);
            assert_eq!((tokens.shift, tokens.words.len()), (shift, words), "{depth}");
        }
    }

    #[test]
    fn tokens_go_out_in_order_and_no_more_than_there_are() {
        let mut tokens = Tokens::new(16, Freed::Later);
        assert!((0..16).all(|n| tokens.get() == Some(n)));
        assert_eq!(tokens.get(), None);
        tokens.put_back(9);
        assert_eq!((tokens.get(), tokens.get()), (Some(9), None));
    }

    #[test]
    fn the_hint_says_in_which_word_to_begin_and_not_at_which_bit() {
        let mut tokens = Tokens::new(16, Freed::Later);
        (0..6).for_each(|_| _ = tokens.get());
        // 5 is in the second word (4 to 7), whose lowest free bit is 6; the first word is not even looked at.
        tokens.put_back(1);
        tokens.put_back(5);
        assert_eq!(tokens.get(), Some(6));
        assert_eq!(tokens.get(), Some(7));
        // Only now does the word reclaim.
        assert_eq!(tokens.get(), Some(5));
    }

    #[test]
    fn a_token_given_back_is_not_free_before_its_word_has_run_out() {
        let mut tokens = Tokens::new(16, Freed::Later);
        assert_eq!((tokens.get(), tokens.get()), (Some(0), Some(1)));
        tokens.put_back(0);
        assert_eq!([tokens.get(), tokens.get(), tokens.get()], [Some(2), Some(3), Some(0)]);
    }

    #[test]
    fn what_is_out_beyond_a_smaller_depth_no_longer_counts() {
        let mut tokens = Tokens::new(16, Freed::Later);
        (0..8).for_each(|_| _ = tokens.get());
        (0..3).for_each(|token| tokens.put_back(token));
        tokens.resize(3);
        // 3 to 7 are still out, and yet all three are free.
        assert_eq!([tokens.get(), tokens.get(), tokens.get(), tokens.get()], [Some(0), Some(1), Some(2), None]);
        tokens.put_back(7);
        assert_eq!(tokens.get(), None);
    }

    #[test]
    fn a_depth_of_one_hands_out_one() {
        let mut tokens = Tokens::new(16, Freed::Later);
        tokens.resize(1);
        assert_eq!((tokens.get(), tokens.get()), (Some(0), None));
        tokens.put_back(0);
        assert_eq!(tokens.get(), Some(0));
    }

    #[test]
    fn in_4_19_the_token_freed_last_is_the_next_one_and_a_search_wraps_within_its_word() {
        let mut tokens = Tokens::new(128, Freed::AtOnce);
        assert!((0..4).all(|n| tokens.get() == Some(n)));
        tokens.put_back(1);
        assert_eq!([tokens.get(), tokens.get(), tokens.get()], [Some(1), Some(4), Some(5)]);
        // All of the second word, then the first from its start.
        tokens.hint = 64;
        assert!((64..127).all(|n| tokens.get() == Some(n)));
        assert_eq!((tokens.hint, tokens.get()), (0, Some(6)));
        tokens.hint = 100;
        assert_eq!((tokens.get(), tokens.get()), (Some(127), Some(7)));
    }

    /// Against a search through a list of booleans, written from the words.
    #[test]
    fn in_4_19_tokens_are_those_of_the_rule_in_words() {
        let mut state = 7_u64;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % limit
        };
        let (mut tokens, mut taken, mut hint, mut depth) = (Tokens::new(256, Freed::AtOnce), [false; 256], 0, 256);
        for _ in 0..200_000 {
            match below(8) {
                0 => {
                    depth = 1 + below(256);
                    tokens.resize(depth as u32);
                }
                1..4 if taken.contains(&true) => {
                    let held: Vec<_> = (0..256).filter(|&bit| taken[bit]).collect();
                    let bit = held[below(held.len())];
                    tokens.put_back(bit as u32);
                    taken[bit] = false;
                    hint = if bit < depth { bit } else { hint };
                }
                _ => {
                    hint = if hint >= depth { 0 } else { hint };
                    let word = hint / 64 * 64;
                    let end = (word + 64).min(depth);
                    let further = depth.div_ceil(64) * 64;
                    let rest = (end..further).chain(0..word);
                    let order = (hint..end).chain(word..hint).chain(rest).filter(|&bit| bit < depth);
                    let expected = order.into_iter().find(|&bit| !taken[bit]);
                    assert_eq!(tokens.get(), expected.map(|bit| bit as u32));
                    match expected {
                        None => hint = 0,
                        Some(bit) => {
                            taken[bit] = true;
                            if bit == hint {
                                hint = if bit + 1 >= depth.saturating_sub(1) { 0 } else { bit + 1 };
                            }
                        }
                    }
                }
            }
        }
    }
}
