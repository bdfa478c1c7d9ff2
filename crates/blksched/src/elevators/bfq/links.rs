//! Lists of queues, newest first: those that wait for service, those of a burst, those that one queue wakes.
//!
//! **Rule** A queue is on at most one list of a kind at a time, so links live in one table per kind.
//! **In the kernel** `woken_list`, `burst_list_node`.

use alloc::vec::Vec;

use crate::elevators::bfq::ids::Qid;

/// The head of one list; meaningful only with its own links.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head(Option<Qid>);

impl Head {
    pub(crate) fn first(self) -> Option<Qid> {
        self.0
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    on: bool,
    before: Option<Qid>,
    behind: Option<Qid>,
}

/// The links of lists of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links(Vec<Link>);

impl Links {
    pub(crate) fn reserve(&mut self, queues: usize) {
        self.0.reserve(queues);
    }

    pub(crate) fn contains(&self, q: Qid) -> bool {
        self.0.get(q as usize).is_some_and(|link| link.on)
    }

    /// The queue behind `q` on its list.
    pub(crate) fn behind(&self, q: Qid) -> Option<Qid> {
        self.0[q as usize].behind
    }

    pub(crate) fn push_front(&mut self, head: &mut Head, q: Qid) {
        if q as usize >= self.0.len() {
            self.0.resize(q as usize + 1, Link::default());
        }
        assert!(!self.0[q as usize].on, "queue {q} is on such a list already");
        self.0[q as usize] = Link { on: true, before: None, behind: head.0 };
        if let Some(next) = head.0.replace(q) {
            self.0[next as usize].before = Some(q);
        }
    }

    /// Removes `q` from the list, if it is on it.
    pub(crate) fn remove(&mut self, head: &mut Head, q: Qid) {
        if !self.contains(q) {
            return;
        }
        let Link { before, behind, .. } = core::mem::take(&mut self.0[q as usize]);
        match before {
            Some(before) => self.0[before as usize].behind = behind,
            None => head.0 = behind,
        }
        if let Some(behind) = behind {
            self.0[behind as usize].before = before;
        }
    }

    pub(crate) fn iter(&self, head: Head) -> impl Iterator<Item = Qid> + '_ {
        core::iter::successors(head.0, |&q| self.behind(q))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_stands_first_and_any_can_leave() {
        let (mut links, mut head) = (Links::default(), Head::default());
        (0..4).for_each(|q| links.push_front(&mut head, q));
        links.remove(&mut head, 2);
        links.remove(&mut head, 3);
        links.remove(&mut head, 9);
        assert_eq!(links.iter(head).collect::<Vec<_>>(), [1, 0]);
        links.push_front(&mut head, 2);
        assert_eq!((head.first(), links.contains(3)), (Some(2), false));
    }
}
