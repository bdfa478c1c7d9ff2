//! Distinguishes a trace's devices, processes and lengths, in bounded memory.

use std::collections::BTreeMap;

/// The most devices and processes that are told apart; the rest is not counted.
const MOST: usize = 100_000;
/// How many of the most recent keys are found without a search.
const RECENT: usize = 64;
/// Lengths up to this have a counter each \[sectors\].
const SHORT: u32 = 4096;
/// The most greater lengths that are told apart.
const MOST_LONG: usize = 4096;

/// A value for each key.
#[derive(Clone, Debug)]
pub(super) struct Apart<K, V> {
    places: BTreeMap<K, usize>,
    rows: Vec<(K, V)>,
    recent: [usize; RECENT],
}

impl<K, V> Default for Apart<K, V> {
    fn default() -> Apart<K, V> {
        Apart { places: BTreeMap::new(), rows: Vec::new(), recent: [0; RECENT] }
    }
}

impl<K: Ord + Copy, V: Default> Apart<K, V> {
    /// The value of `key`; `None` if there are too many others. `hint` is a number that, if possible, differs where
    /// keys do.
    #[inline]
    pub fn at(&mut self, key: K, hint: u32) -> Option<&mut V> {
        let recent = &mut self.recent[hint as usize % RECENT];
        if self.rows.get(*recent).is_none_or(|(known, _)| *known != key) {
            *recent = match self.places.get(&key) {
                Some(&place) => place,
                None if self.rows.len() < MOST => {
                    self.places.insert(key, self.rows.len());
                    self.rows.push((key, V::default()));
                    self.rows.len() - 1
                }
                None => return None,
            };
        }
        Some(&mut self.rows[*recent].1)
    }

    /// All of them, in order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.rows.iter()
    }
}

/// The number of I/Os of each length.
#[derive(Clone, Debug, Default)]
pub(super) struct SizeCounts {
    short: Vec<u64>,
    long: BTreeMap<u32, u64>,
    longer: u64,
}

impl SizeCounts {
    /// Counts one more.
    #[inline]
    pub fn add(&mut self, sectors: u32) {
        if sectors <= SHORT {
            if sectors as usize >= self.short.len() {
                self.short.resize(sectors as usize + 1, 0);
            }
            self.short[sectors as usize] += 1;
        } else if self.long.len() < MOST_LONG || self.long.contains_key(&sectors) {
            *self.long.entry(sectors).or_default() += 1;
        } else {
            self.longer += 1;
        }
    }

    /// The counts by length; 0 stands for I/Os without a length, and for all other lengths.
    pub fn all(&self) -> BTreeMap<u32, u64> {
        let short = (0..).zip(self.short.iter().copied()).filter(|(_, ios)| *ios > 0);
        let mut all: BTreeMap<u32, u64> =
            short.chain(self.long.iter().map(|(&sectors, &ios)| (sectors, ios))).collect();
        if self.longer > 0 {
            *all.entry(0).or_default() += self.longer;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_with_one_hint_are_told_apart_and_too_many_are_not_counted() {
        let mut apart: Apart<u32, u64> = Apart::default();
        for round in 0..3 {
            for key in [5, 5 + RECENT as u32, 7] {
                *apart.at(key, key).unwrap() += round;
            }
        }
        assert_eq!(apart.iter().copied().collect::<Vec<_>>(), [(5, 3), (69, 3), (7, 3)]);
        for key in 100..100 + MOST as u32 {
            apart.at(key, 0);
        }
        assert!(apart.at(4_000_000, 0).is_none() && apart.at(7, 0).is_some());
    }

    #[test]
    fn every_length_counts_once() {
        let mut sizes = SizeCounts::default();
        [8, 8, 0, SHORT, SHORT + 1].into_iter().for_each(|sectors| sizes.add(sectors));
        assert_eq!(sizes.all(), BTreeMap::from([(0, 1), (8, 2), (SHORT, 1), (SHORT + 1, 1)]));
        (0..2 * MOST_LONG as u32).for_each(|nth| sizes.add(SHORT + 2 + nth));
        assert_eq!(sizes.all().values().sum::<u64>(), 5 + 2 * MOST_LONG as u64);
        assert!(sizes.all()[&0] > MOST_LONG as u64);
    }
}
