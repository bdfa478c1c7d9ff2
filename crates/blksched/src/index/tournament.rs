//! The member with the least value: a tournament, so that a change costs the logarithm of the number of members.

use alloc::vec;
use alloc::vec::Vec;

/// Keeps the least of the values that numbers have; of equal values, that of the lowest number.
#[derive(Clone, Debug)]
pub struct Tournament<K> {
    /// The values by number, from the middle on; each place before that is the lesser of the two at twice its number.
    places: Vec<Option<(K, usize)>>,
}

impl<K> Default for Tournament<K> {
    fn default() -> Tournament<K> {
        Tournament { places: Vec::new() }
    }
}

impl<K: Copy + Ord> Tournament<K> {
    /// The least value, and its number.
    #[inline]
    pub fn first(&self) -> Option<(K, usize)> {
        self.places.get(1).copied().flatten()
    }

    /// Sets the value of `number`, which may be higher than any before. Returns the number of places examined.
    pub fn set(&mut self, number: usize, has: Option<K>) -> usize {
        let mut looked_at = 1;
        if number >= self.room() {
            looked_at += self.grow(number + 1);
        }
        let mut place = self.room() + number;
        let mut entry = has.map(|has| (has, number));
        while self.places[place] != entry {
            self.places[place] = entry;
            if place == 1 {
                break;
            }
            entry = lesser(entry, self.places[place ^ 1]);
            place /= 2;
            looked_at += 1;
        }
        looked_at
    }

    fn room(&self) -> usize {
        self.places.len() / 2
    }

    /// Makes room for this many numbers, at least twice as many as before.
    fn grow(&mut self, to: usize) -> usize {
        let (before, room) = (self.room(), to.next_power_of_two());
        let mut places = vec![None; 2 * room];
        places[room..room + before].copy_from_slice(&self.places[before..]);
        for place in (1..room).rev() {
            places[place] = lesser(places[2 * place], places[2 * place + 1]);
        }
        self.places = places;
        room
    }
}

fn lesser<K: Ord>(one: Option<(K, usize)>, other: Option<(K, usize)>) -> Option<(K, usize)> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result is the same as that of examining all values; without growing, each change takes at most one step more
    /// than a thousand has binary digits.
    #[test]
    fn the_least_of_a_thousand_is_found_in_eleven_steps() {
        for many in [1, 2, 3, 4, 7, 64, 1000, 1024] {
            let (mut least, mut model, mut state) = (Tournament::default(), vec![None; many], 1_u64);
            let mut below = |limit: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % limit
            };
            let (digits, mut steps, changes) = (many.next_power_of_two().ilog2() as usize, 0, 4000);
            for _ in 0..changes {
                let number = below(many as u64) as usize;
                model[number] = (below(4) > 0).then(|| below(50));
                steps += least.set(number, model[number]);
                let all = model.iter().enumerate().filter_map(|(number, has)| Some(((*has)?, number)));
                assert_eq!(least.first(), all.min());
            }
            let growing = 2 * many.next_power_of_two();
            assert!(steps <= growing + changes * (digits + 1), "{steps} of {many}");
            // Nothing grows any more, so each change keeps the bound on its own.
            for _ in 0..100 {
                let number = below(many as u64) as usize;
                let looked_at = least.set(number, Some(below(50)));
                assert!(looked_at <= digits + 1, "{looked_at} of {many}");
            }
        }
    }
}
