//! A first-in, first-out list whose newest few requests bios may join, used by Kyber and none.
//!
//! **Rule** Of the newest eight requests, a bio joins the newest that it adjoins. The list stores where each of these
//! begins and ends, as the lower halves of the sector numbers, in two arrays that are compared at once. Usually no half
//! matches, and no request is accessed. A match by chance, or with a request that has left, costs a search but decides
//! nothing.
//! **In the kernel** `blk_bio_list_merge`.

use crate::explain::End;
use crate::index::List;
use crate::queue::merge::first_beside;
use crate::request::{Bio, RequestId, Requests};

/// How many requests are examined ([`Search::Newest`](crate::queue::merge::Search)).
const LOOK_BACK: usize = 8;

/// Requests in order of arrival.
#[derive(Debug, Default)]
pub(super) struct NewestJoin {
    list: List,
    marks: Marks,
}

/// Where the newest requests begin and end. A request's place is the number of those inserted before it, modulo the
/// length.
#[derive(Debug, Default)]
#[repr(align(16))]
struct Marks {
    starts: [u32; LOOK_BACK],
    ends: [u32; LOOK_BACK],
    /// The number of requests ever appended.
    count: u32,
}

impl Marks {
    /// Sets the marks of the request with this many newer ones.
    #[inline(always)]
    fn set(&mut self, newer: u32, bio: &Bio) {
        let place = self.count.wrapping_sub(1 + newer) as usize % LOOK_BACK;
        (self.starts[place], self.ends[place]) = (bio.start.0 as u32, bio.end().0 as u32);
    }

    /// Whether this bio may adjoin one of the newest requests.
    #[inline(always)]
    fn may_adjoin(&self, bio: &Bio) -> bool {
        let (start, end) = (bio.start.0 as u32, bio.end().0 as u32);
        let sides = self.starts.iter().zip(&self.ends);
        // All are compared, without a branch.
        sides.fold(false, |any, (&begins, &ends)| any | (ends == start) | (begins == end))
    }
}

impl NewestJoin {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Appends a request.
    #[inline(always)]
    pub(super) fn push_back(&mut self, rq: RequestId, bio: &Bio) {
        self.list.push_back(rq);
        self.marks.count = self.marks.count.wrapping_add(1);
        self.marks.set(0, bio);
    }

    /// Inserts a request at the head.
    pub(super) fn push_front(&mut self, rq: RequestId, bio: &Bio) {
        let newer = self.list.len();
        self.list.push_front(rq);
        if (newer as usize) < LOOK_BACK {
            self.marks.set(newer, bio);
        }
    }

    #[inline(always)]
    pub(super) fn pop_front(&mut self) -> Option<RequestId> {
        self.list.pop_front()
    }

    /// Moves all requests to this list, which is empty.
    #[inline(always)]
    pub(super) fn hand_over(&mut self, to: &mut List) {
        core::mem::swap(&mut self.list, to);
    }

    /// Updates the marks of a request that a bio has joined, usually the newest.
    #[inline(always)]
    pub(super) fn grown(&mut self, rq: RequestId, request: &Bio) {
        match self.list.tail() == Some(rq) {
            true => self.marks.set(0, request),
            false => self.older_grown(rq, request),
        }
    }

    #[inline(never)]
    fn older_grown(&mut self, rq: RequestId, request: &Bio) {
        let newest = core::iter::successors(self.list.tail(), |&rq| self.list.before(rq));
        if let Some((newer, _)) = (0..).zip(newest.take(LOOK_BACK)).find(|(_, member)| *member == rq) {
            self.marks.set(newer, request);
        }
    }

    /// The newest request, or the newest that is older than `than`.
    pub(super) fn newest(&self, than: Option<RequestId>) -> Option<RequestId> {
        than.map_or(self.list.tail(), |than| self.list.before(than))
    }

    /// The newest request (older than `than`, if given) that `bio` adjoins, and at which end. `left`: how many may
    /// still be examined.
    #[inline(always)]
    pub(super) fn beside(
        &self,
        requests: &Requests,
        bio: &Bio,
        than: Option<RequestId>,
        left: &mut usize,
    ) -> Option<(RequestId, End)> {
        if !self.marks.may_adjoin(bio) {
            return None;
        }
        first_beside(requests, bio, than, left, |than| self.newest(than))
    }

    pub(super) fn check(&self, requests: &Requests) {
        self.list.check(requests);
        let newest = core::iter::successors(self.list.tail(), |&rq| self.list.before(rq));
        for (newer, rq) in (0..).zip(newest.take(LOOK_BACK)) {
            let place = self.marks.count.wrapping_sub(1 + newer) as usize % LOOK_BACK;
            let marks = (self.marks.starts[place], self.marks.ends[place]);
            assert_eq!(marks, (requests[rq].start.0 as u32, requests[rq].end().0 as u32), "of {rq:?}");
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> u32 {
        self.list.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::merge::Extent;
    use crate::request::{Sector, Stage, SubmitterId};
    use crate::time::Instant;
    use alloc::collections::VecDeque;

    /// A linear congruential generator, its upper half.
    fn draw(random: &mut u64, below: u64) -> u64 {
        *random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*random >> 33) % below
    }

    #[test]
    fn it_finds_what_a_walk_over_the_newest_eight_finds() {
        let (mut requests, mut list, mut model) = (Requests::default(), NewestJoin::default(), VecDeque::new());
        let (mut random, mut found) = (1, 0);
        for _ in 0..20_000 {
            // Far apart and near: lower halves are the same by chance, too.
            let start = Sector(8 * draw(&mut random, 40) + (draw(&mut random, 2) << 32));
            let bio = Bio::read(0, SubmitterId(1), start, 8);
            let expected = model.iter().rev().take(LOOK_BACK).find_map(|&rq| {
                let end: Option<End> = Extent::of(&requests[rq]).end_beside(&bio);
                end.map(|end| (rq, end))
            });
            let hit = list.beside(&requests, &bio, None, &mut LOOK_BACK.clone());
            assert_eq!(hit, expected);
            found += usize::from(hit.is_some());
            match draw(&mut random, 5) {
                0 if let Some((rq, _)) = hit => {
                    requests.get_mut(rq).bio.sectors += 8;
                    list.grown(rq, &requests[rq]);
                }
                0 => {
                    let rq = requests.make(Stage::Queued, Instant::ZERO, &bio, 0);
                    list.push_front(rq, &bio);
                    model.push_front(rq);
                }
                1 | 2 if model.len() < 20 => {
                    let rq = requests.make(Stage::Queued, Instant::ZERO, &bio, 0);
                    list.push_back(rq, &bio);
                    model.push_back(rq);
                }
                _ => {
                    let gone = list.pop_front();
                    assert_eq!(gone, model.pop_front());
                    if let Some(rq) = gone {
                        requests.end(rq);
                    }
                }
            }
            list.check(&requests);
        }
        assert!(found > 1_000, "{found}");
    }
}
