//! A doubly linked list of requests: FIFOs, the sorted lists of 2.5, the dispatch list.

use crate::request::{NONE, RequestId, Requests, Table};

/// A list in which any member is found, removed and given neighbours in one step. Each member may have a `value`, kept
/// in the same row as its neighbours, because it is read with them.
#[derive(Clone, Debug)]
pub struct List<V = ()> {
    links: Table<Link<V>>,
    ends: Ends,
    len: u32,
}

/// The first and the last member, or `NONE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends {
    head: u32,
    tail: u32,
}

impl Default for Ends {
    fn default() -> Ends {
        Ends { head: NONE, tail: NONE }
    }
}

/// A member's neighbours and its value; `before` is `OUT` for an id that is not a member. `NONE` is beyond every
/// table, so that one test tells whether there is a neighbour and whether it may be indexed.
#[derive(Clone, Copy, Debug)]
struct Link<V> {
    before: u32,
    behind: u32,
    value: V,
}

/// On no list.
const OUT: u32 = NONE - 1;

impl<V: Default> Default for Link<V> {
    fn default() -> Link<V> {
        Link { before: OUT, behind: NONE, value: V::default() }
    }
}

impl<V: Copy> Link<V> {
    /// Marks it as on no list; returns its row.
    #[inline(always)]
    fn leave(&mut self) -> Link<V> {
        let was = *self;
        (self.before, self.behind) = (OUT, NONE);
        was
    }
}

impl<V: Copy + Default> Default for List<V> {
    fn default() -> List<V> {
        List { links: Table::new(), ends: Ends::default(), len: 0 }
    }
}

#[inline(always)]
fn id(number: u32) -> Option<RequestId> {
    (number != NONE).then_some(RequestId(number))
}

#[inline(always)]
fn number(id: Option<RequestId>) -> u32 {
    id.map_or(NONE, |id| id.0)
}

impl List {
    /// Makes `id` the last member.
    #[inline(always)]
    pub fn push_back(&mut self, id: RequestId) {
        self.push_back_with(id, ());
    }

    /// Makes `id` the first member.
    pub fn push_front(&mut self, id: RequestId) {
        self.link(id, (), None, self.head());
    }

    /// Inserts `id` directly behind the member `at`.
    pub fn insert_after(&mut self, at: RequestId, id: RequestId) {
        self.insert_after_with(at, id, ());
    }

    /// Inserts `id` directly before the member `at`.
    pub fn insert_before(&mut self, at: RequestId, id: RequestId) {
        self.link(id, (), self.before(at), Some(at));
    }
}

impl<V: Copy + Default> List<V> {
    /// An empty list.
    pub fn new() -> List<V> {
        List::default()
    }

    /// Makes room for requests in slots below `slots`, so that inserting them needs no allocation.
    pub fn reserve(&mut self, slots: usize) {
        self.links.reserve(slots);
    }

    /// Its first member.
    #[inline]
    pub fn head(&self) -> Option<RequestId> {
        id(self.ends.head)
    }

    /// Its last member.
    #[inline]
    pub fn tail(&self) -> Option<RequestId> {
        id(self.ends.tail)
    }

    /// The number of members.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.head == NONE
    }

    /// Whether `id` is a member.
    pub fn contains(&self, id: RequestId) -> bool {
        self.links.get(id).is_some_and(|link| link.before != OUT)
    }

    /// The member behind `id`.
    pub fn behind(&self, rq: RequestId) -> Option<RequestId> {
        id(self.links[rq].behind)
    }

    /// The member before `id`.
    pub fn before(&self, rq: RequestId) -> Option<RequestId> {
        id(self.links[rq].before).filter(|before| before.0 != OUT)
    }

    /// The value of the member `rq`; for a former member, its last value.
    #[inline(always)]
    pub fn value(&self, rq: RequestId) -> V {
        self.links[rq].value
    }

    /// Makes `id` the last member, with this value.
    #[inline(always)]
    pub fn push_back_with(&mut self, id: RequestId, value: V) {
        let before = self.ends.tail;
        self.make_member(id, Link { before, behind: NONE, value });
        self.ends.tail = id.0;
        match self.links.get_mut(RequestId(before)) {
            Some(before) => before.behind = id.0,
            None => self.ends.head = id.0,
        }
    }

    /// Inserts `id` directly behind the member `at`, with this value.
    pub fn insert_after_with(&mut self, at: RequestId, id: RequestId, value: V) {
        self.link(id, value, Some(at), self.behind(at));
    }

    /// Removes the first member.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<RequestId> {
        let head = self.head()?;
        let behind = self.links[head].leave().behind;
        self.len -= 1;
        self.ends.head = behind;
        match self.links.get_mut(RequestId(behind)) {
            Some(behind) => behind.before = NONE,
            None => self.ends.tail = NONE,
        }
        Some(head)
    }

    /// Removes the member `id`.
    ///
    /// # Panics
    /// If it is not a member.
    #[inline(always)]
    pub fn remove(&mut self, id: RequestId) {
        let link = self.links[id].leave();
        assert!(link.before != OUT, "request {id:?} is not on this list");
        self.len -= 1;
        match self.links.get_mut(RequestId(link.before)) {
            Some(before) => before.behind = link.behind,
            None => self.ends.head = link.behind,
        }
        match self.links.get_mut(RequestId(link.behind)) {
            Some(behind) => behind.before = link.before,
            None => self.ends.tail = link.before,
        }
    }

    /// Removes `id` if it is a member.
    pub fn discard(&mut self, id: RequestId) -> bool {
        let member = self.contains(id);
        if member {
            self.remove(id);
        }
        member
    }

    /// The members, first to last.
    pub fn iter(&self) -> impl Iterator<Item = RequestId> + '_ {
        core::iter::successors(self.head(), |&rq| self.behind(rq))
    }

    fn link(&mut self, id: RequestId, value: V, before: Option<RequestId>, behind: Option<RequestId>) {
        self.make_member(id, Link { before: number(before), behind: number(behind), value });
        match before {
            Some(before) => self.links[before].behind = id.0,
            None => self.ends.head = id.0,
        }
        match behind {
            Some(behind) => self.links[behind].before = id.0,
            None => self.ends.tail = id.0,
        }
    }

    #[inline(always)]
    fn make_member(&mut self, id: RequestId, link: Link<V>) {
        let row = self.links.row(id);
        assert!(row.before == OUT, "request {id:?} is already on this list");
        *row = link;
        self.len += 1;
    }

    /// Checks that every link agrees with its neighbour and that every member is live.
    ///
    /// # Panics
    /// If that is not so.
    pub fn check(&self, requests: &Requests) {
        let mut last = None;
        let mut count = 0;
        for id in self.iter() {
            assert_eq!(self.before(id), last, "broken link at {id:?}");
            assert!(requests.is_live(id), "request {id:?} is listed but not live");
            last = Some(id);
            count += 1;
        }
        assert_eq!((self.tail(), self.len), (last, count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(list: &List) -> Vec<u32> {
        list.iter().map(|id| id.0).collect()
    }

    #[test]
    fn members_come_out_in_the_order_they_were_put_in() {
        let mut list = List::new();
        for id in [1, 2, 3] {
            list.push_back(RequestId(id));
        }
        list.push_front(RequestId(0));
        list.insert_after(RequestId(1), RequestId(9));
        list.insert_before(RequestId(1), RequestId(8));
        assert_eq!(ids(&list), [0, 8, 1, 9, 2, 3]);
        list.remove(RequestId(0));
        list.remove(RequestId(9));
        list.remove(RequestId(3));
        assert_eq!(ids(&list), [8, 1, 2]);
        assert_eq!((list.head(), list.tail(), list.len()), (Some(RequestId(8)), Some(RequestId(2)), 3));
        assert!(!list.discard(RequestId(3)) && list.discard(RequestId(8)));
    }

    #[test]
    #[should_panic(expected = "already on this list")]
    fn nothing_is_listed_twice() {
        let mut list = List::new();
        list.push_back(RequestId(1));
        list.push_back(RequestId(1));
    }
}
