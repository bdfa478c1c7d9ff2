//! A doubly linked list of requests: FIFOs, the sorted lists of 2.5, the list of requests already chosen.

use crate::request::{RequestId, Requests, Table};

/// A list in which any member is found, removed and given neighbours in one step.
#[derive(Clone, Debug, Default)]
pub struct List {
    links: Table<Link>,
    pub(super) ends: Ends,
    pub(super) len: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ends {
    head: Option32,
    tail: Option32,
}

impl Ends {
    pub(super) fn head(self) -> Option<RequestId> {
        self.head.get()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    before: Option32,
    behind: Option32,
    member: bool,
}

/// An optional request id in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Option32(u32);

impl Default for Option32 {
    fn default() -> Option32 {
        Option32(u32::MAX)
    }
}

impl Option32 {
    fn get(self) -> Option<RequestId> {
        (self.0 != u32::MAX).then_some(RequestId(self.0))
    }
}

impl From<Option<RequestId>> for Option32 {
    fn from(id: Option<RequestId>) -> Option32 {
        id.map_or(Option32::default(), |id| Option32(id.0))
    }
}

impl List {
    /// An empty list.
    pub fn new() -> List {
        List::default()
    }

    /// Room for requests in slots below `slots`, so that they are put in without an allocation.
    pub fn reserve(&mut self, slots: usize) {
        self.links.reserve(slots);
    }

    /// Its first member.
    pub fn head(&self) -> Option<RequestId> {
        self.ends.head.get()
    }

    /// Its last member.
    pub fn tail(&self) -> Option<RequestId> {
        self.ends.tail.get()
    }

    /// How many members it has.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Is `id` a member?
    pub fn contains(&self, id: RequestId) -> bool {
        self.links.get(id).is_some_and(|link| link.member)
    }

    /// The member behind `id`.
    pub fn behind(&self, id: RequestId) -> Option<RequestId> {
        self.links[id].behind.get()
    }

    /// The member before `id`.
    pub fn before(&self, id: RequestId) -> Option<RequestId> {
        self.links[id].before.get()
    }

    /// Make `id` the last member.
    #[inline]
    pub fn push_back(&mut self, id: RequestId) {
        self.link(id, self.tail(), None);
    }

    /// Make `id` the first member.
    pub fn push_front(&mut self, id: RequestId) {
        self.link(id, None, self.head());
    }

    /// Put `id` right behind the member `at`.
    pub fn insert_after(&mut self, at: RequestId, id: RequestId) {
        self.link(id, Some(at), self.behind(at));
    }

    /// Put `id` right before the member `at`.
    pub fn insert_before(&mut self, at: RequestId, id: RequestId) {
        self.link(id, self.before(at), Some(at));
    }

    /// Take the first member out.
    #[inline]
    pub fn pop_front(&mut self) -> Option<RequestId> {
        let head = self.head()?;
        self.remove(head);
        Some(head)
    }

    /// Take the member `id` out.
    ///
    /// # Panics
    /// If it is no member.
    #[inline]
    pub fn remove(&mut self, id: RequestId) {
        let link = self.links[id];
        assert!(link.member, "request {id:?} is not on this list");
        self.links[id] = Link::default();
        self.len -= 1;
        match link.before.get() {
            Some(before) => self.links[before].behind = link.behind,
            None => self.ends.head = link.behind,
        }
        match link.behind.get() {
            Some(behind) => self.links[behind].before = link.before,
            None => self.ends.tail = link.before,
        }
    }

    /// Take `id` out if it is a member.
    pub fn discard(&mut self, id: RequestId) -> bool {
        let member = self.contains(id);
        if member {
            self.remove(id);
        }
        member
    }

    /// The members, first to last.
    pub fn iter(&self) -> impl Iterator<Item = RequestId> + '_ {
        core::iter::successors(self.head(), |&id| self.behind(id))
    }

    #[inline]
    fn link(&mut self, id: RequestId, before: Option<RequestId>, behind: Option<RequestId>) {
        let row = self.links.row(id);
        assert!(!row.member, "request {id:?} is already on this list");
        *row = Link { before: before.into(), behind: behind.into(), member: true };
        match before {
            Some(before) => self.links[before].behind = Some(id).into(),
            None => self.ends.head = Some(id).into(),
        }
        match behind {
            Some(behind) => self.links[behind].before = Some(id).into(),
            None => self.ends.tail = Some(id).into(),
        }
        self.len += 1;
    }

    /// Every link agrees with its neighbour, and every member is live.
    ///
    /// # Panics
    /// If not.
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
