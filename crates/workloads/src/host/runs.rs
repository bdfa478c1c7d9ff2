//! Sets of pages, kept as runs: which pages are dirty, in the order of the disk.

use std::collections::BTreeMap;

use super::page::{Pages, common, count};

/// A set of pages. Neighbouring pages are one run, so a file written from end to end costs one entry.
///
/// ```
/// use blksched_workloads::host::PageRuns;
///
/// let mut dirty = PageRuns::default();
/// dirty.insert(4..8);
/// dirty.insert(8..9);
/// dirty.remove(5..6);
/// assert_eq!(dirty.iter().collect::<Vec<_>>(), [4..5, 6..9]);
/// assert_eq!(dirty.first_within(&(5..100)), Some(6..9));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRuns {
    /// First page → the page after the last.
    runs: BTreeMap<u64, u64>,
    pages: u64,
}

impl PageRuns {
    /// The number of pages.
    pub fn len(&self) -> u64 {
        self.pages
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }

    /// Adds pages; returns how many are new.
    pub fn insert(&mut self, pages: Pages) -> u64 {
        if pages.is_empty() {
            return 0;
        }
        // The usual cases, with one look-up: a page far from the others, or right behind some of them, or among them.
        match self.runs.range_mut(..=pages.end).next_back() {
            Some((&start, end)) if start <= pages.start && *end >= pages.start => {
                let new = pages.end.saturating_sub(*end);
                *end = pages.end.max(*end);
                self.pages += new;
                return new;
            }
            Some((_, end)) if *end >= pages.start => {}
            _ => {
                self.pages += count(&pages);
                self.runs.insert(pages.start, pages.end);
                return count(&pages);
            }
        }
        let before = self.pages;
        self.remove(pages.clone());
        let left = self.runs.range(..=pages.start).next_back().filter(|(_, end)| **end == pages.start);
        let start = left.map_or(pages.start, |(start, _)| *start);
        let end = self.runs.remove(&pages.end).unwrap_or(pages.end);
        self.runs.insert(start, end);
        self.pages += count(&pages);
        self.pages - before
    }

    /// Removes pages; returns how many were there.
    pub fn remove(&mut self, pages: Pages) -> u64 {
        let before = self.pages;
        while let Some(run) = self.touching(&pages) {
            self.runs.remove(&run.start);
            if run.start < pages.start {
                self.runs.insert(run.start, pages.start);
            }
            if run.end > pages.end {
                self.runs.insert(pages.end, run.end);
            }
            self.pages -= count(&common(&run, &pages));
            if run.end >= pages.end {
                break;
            }
        }
        before - self.pages
    }

    /// Whether this page is one of them.
    pub fn contains(&self, page: u64) -> bool {
        self.runs.range(..=page).next_back().is_some_and(|(_, end)| *end > page)
    }

    /// How many of `pages` are in the set.
    pub fn within(&self, pages: &Pages) -> u64 {
        let before = self.touching(pages).filter(|run| run.start < pages.start);
        let first = before.map_or(0, |run| count(&common(&run, pages)));
        let others = self.runs.range(pages.start.min(pages.end)..pages.end);
        first + others.map(|(start, end)| count(&common(&(*start..*end), pages))).sum::<u64>()
    }

    /// The first run within `pages`, cut to them.
    pub fn first_within(&self, pages: &Pages) -> Option<Pages> {
        self.touching(pages).map(|run| common(&run, pages))
    }

    /// The runs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Pages> + '_ {
        self.runs.iter().map(|(start, end)| *start..*end)
    }

    /// The first run that has a page in common with `pages`, whole.
    fn touching(&self, pages: &Pages) -> Option<Pages> {
        if pages.is_empty() {
            return None;
        }
        let before = self.runs.range(..=pages.start).next_back().filter(|(_, end)| **end > pages.start);
        let (start, end) = before.or_else(|| self.runs.range(pages.clone()).next())?;
        Some(*start..*end)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_set_of_runs_is_a_set(steps in prop::collection::vec((any::<bool>(), 0u64..60, 0u64..12), 0..60)) {
            let (mut runs, mut model) = (PageRuns::default(), BTreeSet::new());
            for (insert, start, length) in steps {
                let pages = start..start + length;
                let before = model.len() as u64;
                if insert {
                    model.extend(pages.clone());
                    prop_assert_eq!(runs.insert(pages), model.len() as u64 - before);
                } else {
                    model.retain(|page| !pages.contains(page));
                    prop_assert_eq!(runs.remove(pages), before - model.len() as u64);
                }
                let all: Vec<u64> = runs.iter().flatten().collect();
                prop_assert_eq!(all, model.iter().copied().collect::<Vec<_>>());
                prop_assert!((0..80).all(|page| runs.contains(page) == model.contains(&page)));
                prop_assert_eq!(runs.within(&(7..33)), model.range(7..33).count() as u64);
                let ends: Vec<Pages> = runs.iter().collect();
                prop_assert!(ends.windows(2).all(|pair| pair[0].end < pair[1].start), "neighbours are one run");
            }
        }
    }

    #[test]
    fn the_first_run_within_a_range_is_cut_to_it() {
        let mut runs = PageRuns::default();
        runs.insert(2..10);
        runs.insert(20..30);
        assert_eq!(runs.first_within(&(5..7)), Some(5..7));
        assert_eq!(runs.first_within(&(10..25)), Some(20..25));
        assert_eq!(runs.first_within(&(10..20)), None);
        assert_eq!(runs.first_within(&(12..12)), None);
    }
}
