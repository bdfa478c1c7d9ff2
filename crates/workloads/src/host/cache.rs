//! The page cache: which pages of the disk are in memory, and what is going on with each.
//!
//! **Rule** at most this many pages. A page more takes the place of the clean page used longest ago; if none is clean,
//! of none: pages being read, dirty or being written stay, and readahead and the dirty limits bound them.
//! **Origin** Linux keeps two lists, so that one pass over a large file does not push out what is used often. One list
//! is enough for what is asked here: does the job fit into memory?

use rustc_hash::FxHashMap; // tidy: never iterated

use super::page::Pages;

/// A transfer between memory and disk, by its place in the host's table.
pub(super) type TransferId = u32;

/// What is going on with a page in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageState {
    /// It is on its way from the disk.
    Reading(TransferId),
    /// As on the disk.
    Clean,
    /// Newer than on the disk.
    Dirty,
    /// On its way to the disk.
    Writing(TransferId),
    /// That, and newer again.
    Redirtied(TransferId),
}

#[derive(Clone, Copy, Debug)]
struct CachedPage {
    page: u64,
    state: PageState,
    /// Readahead's marker.
    marked: bool,
    /// Neighbours in the list of clean pages: used later, used earlier.
    later: Option<u32>,
    earlier: Option<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct Cache {
    places: FxHashMap<u64, u32>,
    entries: Vec<CachedPage>,
    free: Vec<u32>,
    most: usize,
    newest: Option<u32>,
    oldest: Option<u32>,
}

impl Cache {
    pub fn new(most: u64) -> Cache {
        let most = most as usize;
        Cache { places: FxHashMap::default(), entries: Vec::new(), free: Vec::new(), most, newest: None, oldest: None }
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub fn get(&self, page: u64) -> Option<PageState> {
        self.places.get(&page).map(|&at| self.entries[at as usize].state)
    }

    /// The page is used: of the clean ones it is now the newest.
    pub fn touch(&mut self, page: u64) {
        let Some(&at) = self.places.get(&page) else { return };
        if self.entries[at as usize].state == PageState::Clean && self.newest != Some(at) {
            self.unlink(at);
            self.link(at);
        }
    }

    /// What is going on with it from now on. A page that was not in memory gets a place.
    pub fn set(&mut self, page: u64, state: PageState) {
        let at = match self.places.get(&page) {
            Some(&at) => at,
            None => self.make(page, state),
        };
        let was = core::mem::replace(&mut self.entries[at as usize].state, state);
        match (was == PageState::Clean, state == PageState::Clean) {
            (true, false) => self.unlink(at),
            (false, true) => self.link(at),
            _ => {}
        }
    }

    /// A process that reads this page has the next window read.
    pub fn mark(&mut self, page: u64) {
        if let Some(&at) = self.places.get(&page) {
            self.entries[at as usize].marked = true;
        }
    }

    /// Was it marked? Once.
    pub fn take_mark(&mut self, page: u64) -> bool {
        let place = self.places.get(&page).copied();
        place.is_some_and(|at| core::mem::take(&mut self.entries[at as usize].marked))
    }

    /// It is not in memory any more.
    pub fn forget(&mut self, page: u64) {
        let Some(at) = self.places.remove(&page) else { return };
        if self.entries[at as usize].state == PageState::Clean {
            self.unlink(at);
        }
        self.free.push(at);
    }

    /// The clean ones of these leave memory.
    pub fn drop_clean(&mut self, pages: &Pages) {
        // Whichever is less: the pages that were named, or those that there are.
        if pages.end.saturating_sub(pages.start) as usize <= self.entries.len() {
            pages.clone().for_each(|page| self.drop_if_clean(page));
            return;
        }
        let there = |entry: &CachedPage| pages.contains(&entry.page).then_some(entry.page);
        let named: Vec<u64> = self.entries.iter().filter_map(there).collect();
        named.into_iter().for_each(|page| self.drop_if_clean(page));
    }

    fn drop_if_clean(&mut self, page: u64) {
        if self.get(page) == Some(PageState::Clean) {
            self.forget(page);
        }
    }

    /// A place for it; in the list if it is clean.
    fn make(&mut self, page: u64, state: PageState) -> u32 {
        if self.places.len() >= self.most
            && let Some(oldest) = self.oldest
        {
            self.forget(self.entries[oldest as usize].page);
        }
        let entry = CachedPage { page, state, marked: false, later: None, earlier: None };
        let at = match self.free.pop() {
            Some(at) => {
                self.entries[at as usize] = entry;
                at
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.places.insert(page, at);
        if state == PageState::Clean {
            self.link(at);
        }
        at
    }

    fn link(&mut self, at: u32) {
        let entry = &mut self.entries[at as usize];
        (entry.later, entry.earlier) = (None, self.newest);
        match self.newest.replace(at) {
            Some(newest) => self.entries[newest as usize].later = Some(at),
            None => self.oldest = Some(at),
        }
    }

    fn unlink(&mut self, at: u32) {
        let CachedPage { later, earlier, .. } = self.entries[at as usize];
        match later {
            Some(later) => self.entries[later as usize].earlier = earlier,
            None => self.newest = earlier,
        }
        match earlier {
            Some(earlier) => self.entries[earlier as usize].later = later,
            None => self.oldest = later,
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full_of_clean(most: u64) -> Cache {
        let mut cache = Cache::new(most);
        (0..most).for_each(|page| cache.set(page, PageState::Clean));
        cache
    }

    fn held(cache: &Cache, upto: u64) -> Vec<u64> {
        (0..upto).filter(|&page| cache.get(page).is_some()).collect()
    }

    #[test]
    fn the_clean_page_used_longest_ago_makes_room() {
        let mut cache = full_of_clean(4);
        cache.touch(0);
        cache.set(10, PageState::Reading(1));
        assert_eq!(held(&cache, 20), [0, 2, 3, 10]);
        cache.set(11, PageState::Clean);
        assert_eq!(held(&cache, 20), [0, 3, 10, 11]);
    }

    #[test]
    fn pages_that_are_not_clean_stay_even_beyond_the_limit() {
        let mut cache = Cache::new(2);
        for (page, state) in
            [PageState::Dirty, PageState::Reading(1), PageState::Writing(2), PageState::Redirtied(3)].iter().enumerate()
        {
            cache.set(page as u64, *state);
        }
        assert_eq!(cache.len(), 4);
        cache.set(2, PageState::Clean);
        cache.set(9, PageState::Dirty);
        assert_eq!(held(&cache, 20), [0, 1, 3, 9]);
    }

    #[test]
    fn only_clean_pages_are_dropped_however_many_are_named() {
        for named in [1..3, 0..1_000_000_000_000] {
            let mut cache = full_of_clean(4);
            cache.set(1, PageState::Dirty);
            cache.drop_clean(&named);
            assert_eq!(cache.get(1), Some(PageState::Dirty));
            assert_eq!(cache.get(2), None);
            assert_eq!(cache.get(3).is_none(), named.contains(&3));
            cache.set(1, PageState::Clean);
            cache.set(7, PageState::Clean);
            assert!(cache.get(1).is_some() && cache.get(7).is_some());
        }
    }

    #[test]
    fn a_mark_is_taken_once() {
        let mut cache = full_of_clean(2);
        cache.mark(1);
        cache.mark(100);
        assert!(cache.take_mark(1) && !cache.take_mark(1) && !cache.take_mark(100));
    }
}
