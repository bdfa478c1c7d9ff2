//! Many lists of requests over one table of links: a request is on at most one of them at a time.
//!
//! **Why** as [`Forest`](super::Forest): a FIFO per process, and no table per process.

use super::list::{Ends, List};
use crate::request::RequestId;

/// One list of a [`Lists`]; of no use with another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    ends: Ends,
    len: u32,
}

impl Chain {
    /// Its first member.
    pub fn head(self) -> Option<RequestId> {
        self.ends.head()
    }

    /// How many members it has.
    pub fn len(self) -> u32 {
        self.len
    }

    /// True if it has none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// The links of many lists.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// Its own ends mean nothing between calls.
    list: List,
}

impl Lists {
    /// No links yet.
    pub fn new() -> Lists {
        Lists::default()
    }

    /// As [`List::reserve`].
    pub fn reserve(&mut self, slots: usize) {
        self.list.reserve(slots);
    }

    /// Make `id` the last member of a list.
    #[inline]
    pub fn push_back(&mut self, chain: &mut Chain, id: RequestId) {
        self.within(chain, |list| list.push_back(id));
    }

    /// Put `id` right behind the member `at`.
    pub fn insert_after(&mut self, chain: &mut Chain, at: RequestId, id: RequestId) {
        self.within(chain, |list| list.insert_after(at, id));
    }

    /// Take the member `id` out of its list.
    ///
    /// # Panics
    /// If it is on none.
    #[inline]
    pub fn remove(&mut self, chain: &mut Chain, id: RequestId) {
        self.within(chain, |list| list.remove(id));
    }

    #[inline(always)]
    fn within(&mut self, chain: &mut Chain, work: impl FnOnce(&mut List)) {
        (self.list.ends, self.list.len) = (chain.ends, chain.len);
        work(&mut self.list);
        *chain = Chain { ends: self.list.ends, len: self.list.len };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_over_one_table_keep_their_own_ends() {
        let (mut lists, mut even, mut odd) = (Lists::new(), Chain::default(), Chain::default());
        for id in 0..6 {
            lists.push_back(if id % 2 == 0 { &mut even } else { &mut odd }, RequestId(id));
        }
        lists.remove(&mut even, RequestId(0));
        lists.remove(&mut odd, RequestId(5));
        lists.insert_after(&mut odd, RequestId(1), RequestId(0));
        assert_eq!((even.head(), even.len()), (Some(RequestId(2)), 2));
        assert_eq!((odd.head(), odd.len()), (Some(RequestId(1)), 3));
        lists.remove(&mut odd, RequestId(1));
        assert_eq!(odd.head(), Some(RequestId(0)));
    }
}
