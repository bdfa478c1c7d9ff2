//! Maps external numbers (submitters) to positions in a table.
//!
//! **Why our own** A process is looked up several times per request. Each step in a search tree is a cache miss; this
//! has one. Linear probing, deletion by moving back what follows (Knuth, *Sorting and Searching*, 6.4 R), never more
//! than half full. It is never walked, so no decision can depend on its order.

use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

/// Places by number.
#[derive(Clone, Debug)]
pub struct Numbers {
    slots: Vec<Slot>,
    len: usize,
    /// The slot found last: a process is looked up several times in a row.
    last: Cell<Slot>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    number: u32,
    /// [`FREE`] if the slot is free.
    place: u32,
}

const FREE: u32 = u32::MAX;
const EMPTY: Slot = Slot { number: 0, place: FREE };

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers { slots: vec![EMPTY; 16], len: 0, last: Cell::new(EMPTY) }
    }
}

impl Numbers {
    /// Makes room for this many numbers, so that inserting them needs no allocation.
    pub fn reserve(&mut self, numbers: usize) {
        let wanted = (2 * numbers).next_power_of_two();
        if wanted > self.slots.len() {
            self.grow(wanted);
        }
    }

    /// The place of a number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<u32> {
        let last = self.last.get();
        if last.number == number && last.place != FREE {
            return Some(last.place);
        }
        let slot = self.slots[self.find(number)];
        self.last.set(slot);
        (slot.place != FREE).then_some(slot.place)
    }

    /// Gives a place to a number that has none.
    ///
    /// # Panics
    /// If it has one.
    pub fn insert(&mut self, number: u32, place: u32) {
        assert!(place != FREE && self.get(number).is_none(), "{number} has a place already");
        if 2 * (self.len + 1) > self.slots.len() {
            self.grow(2 * self.slots.len());
        }
        let at = self.find(number);
        self.slots[at] = Slot { number, place };
        self.len += 1;
    }

    /// Removes a number.
    pub fn remove(&mut self, number: u32) {
        let mut hole = self.find(number);
        if self.slots[hole].place == FREE {
            return;
        }
        self.len -= 1;
        self.last.set(EMPTY);
        let mut at = hole;
        loop {
            at = self.after(at);
            if self.slots[at].place == FREE {
                break;
            }
            let home = self.home(self.slots[at].number);
            let mask = self.slots.len() - 1;
            // It may fill the hole if its home is not between the hole and it.
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.slots[hole] = self.slots[at];
                hole = at;
            }
        }
        self.slots[hole] = EMPTY;
    }

    fn grow(&mut self, slots: usize) {
        let old = core::mem::replace(&mut self.slots, vec![EMPTY; slots]);
        for slot in old.into_iter().filter(|slot| slot.place != FREE) {
            let at = self.find(slot.number);
            self.slots[at] = slot;
        }
    }

    /// The slot of a number, or the free slot where it would be.
    fn find(&self, number: u32) -> usize {
        let mut at = self.home(number);
        while self.slots[at].place != FREE && self.slots[at].number != number {
            at = self.after(at);
        }
        at
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    /// Fibonacci hashing, which spreads adjacent numbers.
    fn home(&self, number: u32) -> usize {
        let bits = self.slots.len().trailing_zeros();
        (number.wrapping_mul(0x9E37_79B9) >> (32 - bits)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_finds_what_a_map_finds_whatever_comes_and_goes() {
        let (mut numbers, mut model) = (Numbers::default(), BTreeMap::new());
        let mut random = 1u32;
        for step in 0..20_000u32 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = (random >> 16) % 97;
            if model.remove(&number).is_some() {
                numbers.remove(number);
            } else {
                model.insert(number, step);
                numbers.insert(number, step);
            }
            assert!((0..97).all(|number| numbers.get(number) == model.get(&number).copied()));
        }
    }

    #[test]
    fn with_room_made_it_does_not_grow() {
        let mut numbers = Numbers::default();
        numbers.reserve(1000);
        let slots = numbers.slots.len();
        (0..1000).for_each(|number| numbers.insert(number * 64, number));
        assert_eq!((numbers.slots.len(), numbers.get(64 * 999)), (slots, Some(999)));
    }
}
