//! The page cache: the pages of the disk in memory, and the state of each.
//!
//! **Rule** the number of pages is limited. An additional page replaces the least recently used clean page; if none is
//! clean, none is replaced: pages being read, dirty or being written stay, and readahead and the dirty limits bound
//! them.
//! **Origin** Linux keeps two lists, so that one pass over a large file does not evict frequently used pages. One list
//! is sufficient here, because the question is only whether the job fits into memory.
//!
//! As in the kernel's XArray, neighbouring pages lie in one node: a process that reads a file in order looks one node
//! up for several pages, and finds them side by side. In the kernel: `address_space`, `i_pages`, `xa_node`.

use core::cell::Cell;

use rustc_hash::FxHashMap; // tidy: never iterated

use super::page::{Pages, count};

/// A transfer between memory and disk, by its place in the host's table.
pub(super) type TransferId = u32;

/// The state of a page in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageState {
    /// It is being read from the disk.
    Reading(TransferId),
    /// The same as on the disk.
    Clean,
    /// Newer than on the disk.
    Dirty,
    /// It is being written to the disk.
    Writing(TransferId),
    /// The same, and dirtied again.
    Redirtied(TransferId),
}

/// Why a process cannot read a page at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotRead {
    /// It is not in memory.
    Missing,
    /// It had readahead's marker, which was removed: to be looked up again.
    Marker,
    /// It is being read.
    InFlight(TransferId),
}

/// Pages of a node. Larger nodes cost random readers memory, smaller ones cost sequential readers look-ups.
const NODE: u64 = 16;

/// A page's place: its node's, times [`NODE`], plus its index in the node.
type Place = u32;

/// No page: an end of the list.
const NOWHERE: Place = Place::MAX;

#[derive(Clone, Copy, Debug)]
enum CachedPage {
    Absent,
    /// With its neighbours in the list of clean pages: used later, used earlier.
    Clean {
        later: Place,
        earlier: Place,
    },
    /// Any state but clean.
    Kept(PageState),
}

impl CachedPage {
    fn state(self) -> Option<PageState> {
        match self {
            CachedPage::Absent => None,
            CachedPage::Clean { .. } => Some(PageState::Clean),
            CachedPage::Kept(state) => Some(state),
        }
    }
}

/// [`NODE`] neighbouring pages, of which at least one is in memory while the node is in use.
#[derive(Clone, Copy, Debug)]
struct CacheNode {
    /// The number of its first page, divided by [`NODE`].
    number: u64,
    pages: [CachedPage; NODE as usize],
    /// How many of them are in memory.
    held: u8,
    /// Which of them have readahead's marker, a bit each.
    marked: u16,
}

#[derive(Clone, Debug)]
pub(super) struct Cache {
    /// A node's place in `nodes` by its number.
    places: FxHashMap<u64, u32>,
    nodes: Vec<CacheNode>,
    free: Vec<u32>,
    /// The node looked up last, and its place.
    last: Cell<Option<(u64, u32)>>,
    held: usize,
    most: usize,
    newest: Place,
    oldest: Place,
}

impl Cache {
    pub fn new(most: u64) -> Cache {
        Cache {
            places: FxHashMap::default(),
            nodes: Vec::new(),
            free: Vec::new(),
            last: Cell::new(None),
            held: 0,
            most: most as usize,
            newest: NOWHERE,
            oldest: NOWHERE,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    #[inline]
    pub fn get(&self, page: u64) -> Option<PageState> {
        self.page(place(self.node(page / NODE)?, page)).state()
    }

    /// A process wants to read a page. A page that it gets counts as used: among the clean ones it is now the newest.
    #[inline]
    pub fn read(&mut self, page: u64) -> Result<(), NotRead> {
        let at = place(self.node(page / NODE).ok_or(NotRead::Missing)?, page);
        let node = &mut self.nodes[node_of(at)];
        let bit = 1 << slot_of(at);
        if node.marked & bit != 0 {
            node.marked &= !bit;
            return Err(NotRead::Marker);
        }
        match node.pages[slot_of(at)] {
            CachedPage::Absent => Err(NotRead::Missing),
            CachedPage::Kept(PageState::Reading(transfer)) => Err(NotRead::InFlight(transfer)),
            CachedPage::Kept(_) => Ok(()),
            CachedPage::Clean { later, earlier } => {
                if later != NOWHERE {
                    self.unlink(later, earlier);
                    self.link(at);
                }
                Ok(())
            }
        }
    }

    /// Sets the state of all these pages like [`Cache::set`], for all pages of a node at once if they have the same
    /// state.
    pub fn set_all(&mut self, pages: Pages, state: PageState) {
        let mut start = pages.start;
        while start < pages.end {
            let end = pages.end.min((start / NODE + 1) * NODE);
            let is_new = state != PageState::Clean && (start..end).all(|page| self.get(page).is_none());
            match is_new {
                true => self.add(start..end, state),
                false => (start..end).for_each(|page| self.set(page, state)),
            }
            start = end;
        }
    }

    /// Sets a page's state. A page that was not in memory gets a place.
    #[inline]
    pub fn set(&mut self, page: u64, state: PageState) {
        let known = self.node(page / NODE).map(|node| place(node, page));
        let at = match known.map(|at| (at, *self.page(at))) {
            Some((at, CachedPage::Clean { later, earlier })) => {
                if state == PageState::Clean {
                    return;
                }
                self.unlink(later, earlier);
                at
            }
            Some((at, CachedPage::Kept(_))) => at,
            None | Some((_, CachedPage::Absent)) => {
                self.make_room(1);
                let node = self.node_for(page / NODE, 1);
                place(node, page)
            }
        };
        match state {
            PageState::Clean => self.link(at),
            _ => *self.page_mut(at) = CachedPage::Kept(state),
        }
    }

    /// Marks a page: a process that reads it has the next window read.
    pub fn mark(&mut self, page: u64) {
        if self.get(page).is_some()
            && let Some(node) = self.node(page / NODE)
        {
            self.nodes[node as usize].marked |= 1 << (page % NODE);
        }
    }

    /// Removes a page from memory.
    pub fn forget(&mut self, page: u64) {
        if let Some(node) = self.node(page / NODE) {
            self.forget_at(place(node, page));
        }
    }

    /// Removes those of these pages that are clean.
    pub fn drop_clean(&mut self, pages: &Pages) {
        // Goes through the fewer: the named pages, or those in memory.
        if pages.end.saturating_sub(pages.start) as usize <= self.nodes.len() * NODE as usize {
            pages.clone().for_each(|page| self.drop_if_clean(page));
            return;
        }
        let there = self.nodes.iter().flat_map(|node| node.number * NODE..(node.number + 1) * NODE);
        let named: Vec<u64> = there.filter(|page| pages.contains(page)).collect();
        named.into_iter().for_each(|page| self.drop_if_clean(page));
    }

    fn drop_if_clean(&mut self, page: u64) {
        if self.get(page) == Some(PageState::Clean) {
            self.forget(page);
        }
    }

    /// The place of the node with this number, if one of its pages is in memory.
    #[inline]
    fn node(&self, number: u64) -> Option<u32> {
        match self.last.get() {
            Some((last, node)) if last == number => Some(node),
            _ => {
                let node = *self.places.get(&number)?;
                self.last.set(Some((number, node)));
                Some(node)
            }
        }
    }

    #[inline]
    fn page(&self, at: Place) -> &CachedPage {
        &self.nodes[node_of(at)].pages[slot_of(at)]
    }

    #[inline]
    fn page_mut(&mut self, at: Place) -> &mut CachedPage {
        &mut self.nodes[node_of(at)].pages[slot_of(at)]
    }

    /// Adds pages of one node, none of which is in memory, in a state that is not clean.
    fn add(&mut self, pages: Pages, state: PageState) {
        let count = count(&pages) as u8;
        self.make_room(usize::from(count));
        let node = self.node_for(pages.start / NODE, count);
        let first = (pages.start % NODE) as usize;
        self.nodes[node as usize].pages[first..first + usize::from(count)].fill(CachedPage::Kept(state));
    }

    /// Makes room for this many pages. For each that finds no room, the least recently used clean page leaves: one,
    /// even if there are more in memory than allowed.
    fn make_room(&mut self, coming: usize) {
        for before in 0..coming {
            if self.held + before >= self.most && self.oldest != NOWHERE {
                self.forget_at(self.oldest);
            }
        }
    }

    #[inline]
    fn forget_at(&mut self, at: Place) {
        match *self.page(at) {
            CachedPage::Absent => return,
            CachedPage::Clean { later, earlier } => self.unlink(later, earlier),
            CachedPage::Kept(_) => {}
        }
        self.held -= 1;
        let node = &mut self.nodes[node_of(at)];
        node.pages[slot_of(at)] = CachedPage::Absent;
        node.marked &= !(1 << slot_of(at));
        node.held -= 1;
        if node.held == 0 {
            self.places.remove(&node.number);
            self.free.push(node_of(at) as u32);
            self.last.set(None);
        }
    }

    /// The place of the node with this number, which gets this many more pages.
    fn node_for(&mut self, number: u64, coming: u8) -> u32 {
        let at = self.node(number).unwrap_or_else(|| {
            let node = CacheNode { number, pages: [CachedPage::Absent; NODE as usize], held: 0, marked: 0 };
            let at = match self.free.pop() {
                Some(at) => {
                    self.nodes[at as usize] = node;
                    at
                }
                None => {
                    self.nodes.push(node);
                    self.nodes.len() as u32 - 1
                }
            };
            self.places.insert(number, at);
            self.last.set(Some((number, at)));
            at
        });
        self.nodes[at as usize].held += coming;
        self.held += usize::from(coming);
        at
    }

    /// The page becomes clean, and the newest of the clean ones.
    #[inline]
    fn link(&mut self, at: Place) {
        let newest = core::mem::replace(&mut self.newest, at);
        *self.page_mut(at) = CachedPage::Clean { later: NOWHERE, earlier: newest };
        match newest {
            NOWHERE => self.oldest = at,
            _ => self.set_later(newest, at),
        }
    }

    /// Unlinks the neighbours of a page that leaves the list.
    #[inline]
    fn unlink(&mut self, later: Place, earlier: Place) {
        match later {
            NOWHERE => self.newest = earlier,
            _ => self.set_earlier(later, earlier),
        }
        match earlier {
            NOWHERE => self.oldest = later,
            _ => self.set_later(earlier, later),
        }
    }

    #[inline]
    fn set_later(&mut self, at: Place, new: Place) {
        if let CachedPage::Clean { later, .. } = self.page_mut(at) {
            *later = new;
        }
    }

    #[inline]
    fn set_earlier(&mut self, at: Place, new: Place) {
        if let CachedPage::Clean { earlier, .. } = self.page_mut(at) {
            *earlier = new;
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.held
    }
}

/// The place of a page in the node at this place.
fn place(node: u32, page: u64) -> Place {
    node * NODE as Place + (page % NODE) as Place
}

fn node_of(at: Place) -> usize {
    (at / NODE as Place) as usize
}

fn slot_of(at: Place) -> usize {
    (at % NODE as Place) as usize
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
        assert_eq!(cache.read(0), Ok(()));
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

    /// The rule in its simplest form: a list of pages, the least recently used first.
    #[derive(Default)]
    struct Said {
        pages: Vec<(u64, PageState)>,
    }

    impl Said {
        fn set(&mut self, page: u64, state: PageState, most: usize) {
            let known = self.pages.iter().position(|&(known, _)| known == page);
            let was = known.map(|at| self.pages[at].1);
            if was == Some(PageState::Clean) && state == PageState::Clean {
                return;
            }
            known.map(|at| self.pages.remove(at));
            if known.is_none()
                && self.pages.len() >= most
                && let Some(oldest) = self.pages.iter().position(|&(_, state)| state == PageState::Clean)
            {
                self.pages.remove(oldest);
            }
            self.pages.push((page, state));
        }

        fn read(&mut self, page: u64) -> bool {
            let Some(at) = self.pages.iter().position(|&(known, _)| known == page) else { return false };
            let used = self.pages.remove(at);
            self.pages.push(used);
            true
        }
    }

    #[test]
    fn whatever_is_asked_in_whatever_order_the_pages_are_those_of_the_rule() {
        for most in [1, 7, 8, 9, 40] {
            let (mut cache, mut said, mut random) = (Cache::new(most as u64), Said::default(), most as u64);
            for _ in 0..20_000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let page = (random >> 40) % 70;
                match (random >> 33) % 8 {
                    0 => {
                        cache.forget(page);
                        said.pages.retain(|&(known, _)| known != page);
                    }
                    1 => {
                        cache.drop_clean(&(page..page + 20));
                        let goes = |known, state| (page..page + 20).contains(&known) && state == PageState::Clean;
                        said.pages.retain(|&(known, state)| !goes(known, state));
                    }
                    2 | 3 => assert_eq!(cache.read(page).is_ok(), said.read(page)),
                    4 => {
                        cache.set(page, PageState::Dirty);
                        said.set(page, PageState::Dirty, most);
                    }
                    5 => {
                        cache.set_all(page..page + 11, PageState::Writing(1));
                        (page..page + 11).for_each(|page| said.set(page, PageState::Writing(1), most));
                    }
                    _ => {
                        cache.set_all(page..page + 11, PageState::Clean);
                        (page..page + 11).for_each(|page| said.set(page, PageState::Clean, most));
                    }
                }
                let mut there: Vec<u64> = said.pages.iter().map(|&(page, _)| page).collect();
                there.sort_unstable();
                assert_eq!(held(&cache, 100), there);
                assert_eq!((cache.len(), cache.is_empty()), (there.len(), there.is_empty()));
            }
        }
    }

    #[test]
    fn a_mark_is_taken_once() {
        let mut cache = full_of_clean(2);
        cache.mark(1);
        cache.mark(100);
        let read: Vec<_> = [1, 1, 100].into_iter().map(|page| cache.read(page)).collect();
        assert_eq!(read, [Err(NotRead::Marker), Ok(()), Err(NotRead::Missing)]);
    }
}
