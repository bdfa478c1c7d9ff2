//! Many lists of requests over one table: a request is on at most one of them at a time. The owner's value for each
//! request is stored in one row with its links, because the two are read together.
//!
//! **Why** as [`Forest`](super::Forest): a FIFO per process, and no table per process.

use core::ops::{Index, IndexMut};

use crate::request::{NONE, RequestId, Table};

/// One list of a [`Lists`]; meaningless with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    head: u32,
    tail: u32,
}

impl Default for Chain {
    fn default() -> Chain {
        Chain { head: NONE, tail: NONE }
    }
}

impl Chain {
    /// Its first member.
    #[inline]
    pub fn head(self) -> Option<RequestId> {
        (self.head != NONE).then_some(RequestId(self.head))
    }

    /// True if it has no members.
    pub fn is_empty(self) -> bool {
        self.head == NONE
    }
}

/// A request's neighbours, or `NONE`, which is beyond every table, and its data; `before` is `OUT` for a request on no
/// list.
#[derive(Clone, Copy, Debug)]
struct Row<V> {
    before: u32,
    behind: u32,
    value: V,
}

/// On no list.
const OUT: u32 = NONE - 1;

impl<V: Default> Default for Row<V> {
    fn default() -> Row<V> {
        Row { before: OUT, behind: NONE, value: V::default() }
    }
}

/// The links of many lists, and a value for each request, whether it is on one or not.
#[derive(Clone, Debug)]
pub struct Lists<V = ()> {
    rows: Table<Row<V>>,
}

impl<V: Clone + Default> Default for Lists<V> {
    fn default() -> Lists<V> {
        Lists::new()
    }
}

impl<V: Clone + Default> Lists<V> {
    /// No links yet.
    pub fn new() -> Lists<V> {
        Lists { rows: Table::new() }
    }

    /// Makes room for requests in slots below `slots`, so that inserting them needs no allocation.
    pub fn reserve(&mut self, slots: usize) {
        self.rows.reserve(slots);
    }

    /// The value of `id`, made if it does not exist.
    #[inline(always)]
    pub fn value(&mut self, id: RequestId) -> &mut V {
        &mut self.rows.row(id).value
    }

    /// Makes `id`, which has a value, the last member of a list; returns the value.
    ///
    /// # Panics
    /// If it is on one.
    #[inline(always)]
    pub fn push_back(&mut self, chain: &mut Chain, id: RequestId) -> &mut V {
        let before = chain.tail;
        chain.tail = id.0;
        match self.rows.get_mut(RequestId(before)) {
            Some(before) => before.behind = id.0,
            None => chain.head = id.0,
        }
        let row = &mut self.rows[id];
        assert!(row.before == OUT, "request {id:?} is on a list already");
        (row.before, row.behind) = (before, NONE);
        &mut row.value
    }

    /// Inserts `id`, which has a value, directly behind the member `at`.
    ///
    /// # Panics
    /// If it is on a list.
    pub fn insert_after(&mut self, chain: &mut Chain, at: RequestId, id: RequestId) {
        let behind = core::mem::replace(&mut self.rows[at].behind, id.0);
        match behind {
            NONE => chain.tail = id.0,
            behind => self.rows[RequestId(behind)].before = id.0,
        }
        let row = &mut self.rows[id];
        assert!(row.before == OUT, "request {id:?} is on a list already");
        (row.before, row.behind) = (at.0, behind);
    }

    /// Removes the member `id` from its list.
    ///
    /// # Panics
    /// If it is on none.
    #[inline(always)]
    pub fn remove(&mut self, chain: &mut Chain, id: RequestId) {
        let row = &mut self.rows[id];
        let (before, behind) = (row.before, row.behind);
        assert!(before != OUT, "request {id:?} is on no list");
        row.before = OUT;
        match self.rows.get_mut(RequestId(before)) {
            Some(before) => before.behind = behind,
            None => chain.head = behind,
        }
        match self.rows.get_mut(RequestId(behind)) {
            Some(behind) => behind.before = before,
            None => chain.tail = before,
        }
    }
}

impl<V> Lists<V> {
    /// The members of a list, first to last.
    pub fn iter(&self, of: Chain) -> impl Iterator<Item = RequestId> + '_ {
        let behind = move |&id: &RequestId| Chain { head: self.rows[id].behind, ..of }.head();
        core::iter::successors(of.head(), behind)
    }
}

impl<V> Index<RequestId> for Lists<V> {
    type Output = V;
    #[inline(always)]
    fn index(&self, id: RequestId) -> &V {
        &self.rows[id].value
    }
}

impl<V> IndexMut<RequestId> for Lists<V> {
    #[inline(always)]
    fn index_mut(&mut self, id: RequestId) -> &mut V {
        &mut self.rows[id].value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_over_one_table_keep_their_own_ends() {
        let (mut lists, mut even, mut odd) = (Lists::<u32>::new(), Chain::default(), Chain::default());
        for id in 0..6 {
            *lists.value(RequestId(id)) = 10 * id;
            lists.push_back(if id % 2 == 0 { &mut even } else { &mut odd }, RequestId(id));
        }
        lists.remove(&mut even, RequestId(0));
        lists.remove(&mut odd, RequestId(5));
        lists.insert_after(&mut odd, RequestId(1), RequestId(0));
        let members = |lists: &Lists<u32>, of: Chain| lists.iter(of).map(|id| lists[id]).collect::<std::vec::Vec<_>>();
        assert_eq!((members(&lists, even), members(&lists, odd)), (vec![20, 40], vec![10, 0, 30]));
        lists.remove(&mut odd, RequestId(1));
        lists.remove(&mut odd, RequestId(3));
        lists.push_back(&mut odd, RequestId(5));
        assert_eq!(members(&lists, odd), [0, 50]);
        lists.remove(&mut odd, RequestId(0));
        lists.remove(&mut odd, RequestId(5));
        assert!(odd.is_empty() && odd == Chain::default());
    }

    #[test]
    #[should_panic(expected = "is on a list already")]
    fn nothing_is_on_two_lists() {
        let (mut lists, mut one, mut other) = (Lists::<()>::new(), Chain::default(), Chain::default());
        lists.value(RequestId(3));
        lists.push_back(&mut one, RequestId(3));
        lists.push_back(&mut other, RequestId(3));
    }
}
