//! The arena: every live request, and the bios that each carries, in slots that are reused.
//!
//! Nothing is allocated once as many slots exist as were ever live at a time. The links of the merge hash and the tag
//! stand in the request's slot, and so does the chain of free slots: one place is touched, not five tables.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use super::{
    Bio, Command, Dir, Durability, GroupId, Hints, InFlight, Op, Priority, Request, RequestId, Sector, Stage,
    SubmitterId, Tag, Waiter,
};
use crate::time::Instant;

/// Every live request.
#[derive(Debug)]
pub struct Requests {
    slots: Vec<Slot>,
    /// The first of the free slots, which are a chain (`Slot::behind`); what came free last is used first.
    free: u32,
    live: u32,
    next_serial: u64,
}

/// A request, and what the queue keeps of it: all that a step of its life touches, in one place.
#[derive(Debug)]
struct Slot {
    request: Request,
    /// Its place in the merge hash: the one hashed after it under this bucket, or [`UNHASHED`].
    before: u32,
    /// The one hashed before it; of a free slot the next free one.
    behind: u32,
    bucket: u32,
    /// Its tag (blk-mq).
    tag: u32,
}

/// No slot, no tag.
pub(crate) const NONE: u32 = u32::MAX;
/// In no bucket of the merge hash.
const UNHASHED: u32 = u32::MAX - 1;

impl Default for Requests {
    fn default() -> Requests {
        Requests::with_capacity(0)
    }
}

/// The merge hash's part: each bucket's newest request, and those hashed before it.
impl Requests {
    /// Put `id` in front of the chain of this bucket, whose first it is now.
    #[inline(always)]
    pub(crate) fn chain(&mut self, id: RequestId, first: &mut u32, bucket: u32) {
        let behind = core::mem::replace(first, id.0);
        let slot = &mut self.slots[id.index()];
        assert!(slot.before == UNHASHED, "request {id:?} is already hashed");
        (slot.before, slot.behind, slot.bucket) = (NONE, behind, bucket);
        if behind != NONE {
            self.slots[behind as usize].before = id.0;
        }
    }

    /// Take `id` out of its chain, if it is in one; answers the bucket whose first it was, and which is the first now.
    #[inline(always)]
    pub(crate) fn unchain(&mut self, id: RequestId) -> Option<(u32, u32)> {
        let slot = &mut self.slots[id.index()];
        let Slot { before, behind, bucket, .. } = *slot;
        if before == UNHASHED {
            return None;
        }
        slot.before = UNHASHED;
        if behind != NONE {
            self.slots[behind as usize].before = before;
        }
        if before == NONE {
            return Some((bucket, behind));
        }
        self.slots[before as usize].behind = behind;
        None
    }

    /// The one hashed before `id`.
    #[inline]
    pub(crate) fn chained_behind(&self, id: u32) -> u32 {
        self.slots[id as usize].behind
    }

    /// Nothing is hashed any more: another elevator comes, with a hash of its own.
    pub(crate) fn unchain_all(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.before = UNHASHED);
    }
}

impl Requests {
    pub(crate) fn with_capacity(capacity: usize) -> Requests {
        Requests { slots: Vec::with_capacity(capacity), free: NONE, live: 0, next_serial: 0 }
    }

    /// How many requests are live.
    pub fn len(&self) -> usize {
        self.live as usize
    }

    /// True if none is live.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Does `id` name a live request?
    pub fn is_live(&self, id: RequestId) -> bool {
        self.get(id).is_some_and(|request| request.stage != Stage::Free)
    }

    /// What is in this slot, live or not, if there is such a slot.
    #[inline(always)]
    pub(crate) fn get(&self, id: RequestId) -> Option<&Request> {
        self.slots.get(id.index()).map(|slot| &slot.request)
    }

    /// A request of a bio, in the slot that came free last.
    #[inline(always)]
    pub(crate) fn make(&mut self, now: Instant, bio: &Bio, carried: Carried, tag: u32) -> RequestId {
        self.make_at(Stage::Prepared, now, bio, bio.is_mergeable(), carried, tag)
    }

    /// The same, at a stage of its life, for callers that know whether it may merge.
    #[inline(always)]
    pub(crate) fn make_at(
        &mut self,
        stage: Stage,
        now: Instant,
        bio: &Bio,
        mergeable: bool,
        carried: Carried,
        tag: u32,
    ) -> RequestId {
        if self.free == NONE {
            self.add();
        }
        let (lone, bios) = match carried {
            Carried::Lone(Tag(tag)) => (true, [tag as u32, (tag >> 32) as u32]),
            Carried::Chain(front, last) => (false, [front.0, last]),
        };
        let rq = RequestId(self.free);
        let slot = &mut self.slots[rq.index()];
        // Made where it stays: a copy of sixteen small fields costs more than they do.
        slot.request = Request {
            start: bio.start,
            queued_at: now,
            serial: self.next_serial,
            sectors: bio.sectors,
            submitter: bio.submitter,
            group: bio.group,
            bios,
            generation: slot.request.generation,
            segments: 1,
            priority: bio.priority,
            op: bio.op,
            waiter: bio.waiter,
            hints: bio.hints,
            durability: bio.durability,
            stage,
            mergeable,
            lone,
        };
        slot.tag = tag;
        self.free = slot.behind;
        self.next_serial += 1;
        self.live += 1;
        rq
    }

    /// A slot more than there ever were.
    #[cold]
    #[inline(never)]
    fn add(&mut self) {
        let nothing = Request {
            start: Sector(0),
            queued_at: Instant::ZERO,
            serial: 0,
            sectors: 0,
            submitter: SubmitterId(0),
            group: GroupId::ROOT,
            bios: [NONE; 2],
            generation: 0,
            segments: 0,
            priority: Priority::default(),
            op: Op::Flush,
            waiter: Waiter::Sync,
            hints: Hints::default(),
            durability: Durability::default(),
            stage: Stage::Free,
            mergeable: false,
            lone: false,
        };
        self.free = self.slots.len() as u32;
        self.slots.push(Slot { request: nothing, before: UNHASHED, behind: NONE, bucket: 0, tag: NONE });
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, id: RequestId) -> &mut Request {
        &mut self.slots[id.index()].request
    }

    /// It goes to the device: as a token, and in this direction. `fua`: can the device write past its cache?
    #[inline(always)]
    pub(crate) fn issue(&mut self, rq: RequestId, fua: bool) -> (InFlight, Dir) {
        let request = &mut self.slots[rq.index()].request;
        let stage = request.stage;
        assert!(stage == Stage::Queued, "the elevator issued {rq:?}, which is {stage:?}");
        (request.stage, request.mergeable) = (Stage::InFlight, false);
        let Request { op, start, sectors, durability, submitter, generation, .. } = *request;
        let command = Command { rq, op, start, sectors, fua: durability.fua && fua, submitter };
        (InFlight::new(command, generation), op.dir())
    }

    /// The device is done with it: keys of this flight are stale from now on. False if it is not in flight, or is more
    /// than reading and writing.
    #[inline(always)]
    pub(crate) fn land(&mut self, command: &InFlight) -> bool {
        let Some(Slot { request, .. }) = self.slots.get_mut(command.rq.index()) else { return false };
        if request.stage != Stage::InFlight || !command.is_of(request) || !request.is_plain() {
            return false;
        }
        request.generation = request.generation.wrapping_add(1);
        true
    }

    /// It is over: what it carried, its direction, and its tag, or `NONE`.
    #[inline(always)]
    pub(crate) fn end(&mut self, id: RequestId) -> (Carried, Dir, u32) {
        let slot = &mut self.slots[id.index()];
        let tag = core::mem::replace(&mut slot.tag, NONE);
        slot.request.stage = Stage::Free;
        slot.behind = self.free;
        self.free = id.0;
        self.live -= 1;
        (slot.request.carried(), slot.request.dir(), tag)
    }

    /// The tag of this request is no longer its own: which it was, or `NONE`.
    #[inline(always)]
    pub(crate) fn take_tag(&mut self, id: RequestId) -> u32 {
        core::mem::replace(&mut self.slots[id.index()].tag, NONE)
    }

    #[inline(always)]
    pub(crate) fn release(&mut self, id: RequestId) {
        let slot = &mut self.slots[id.index()];
        assert!(slot.request.stage != Stage::Free, "request {id:?} released twice");
        debug_assert!(slot.before == UNHASHED, "request {id:?} is released and may still be found");
        slot.request.stage = Stage::Free;
        slot.behind = self.free;
        self.free = id.0;
        self.live -= 1;
    }

    /// Every request at `stage`, oldest first. Allocates: for rare events such as a switch of elevators.
    pub(crate) fn at_stage(&self, stage: Stage) -> Vec<RequestId> {
        let mut found: Vec<RequestId> =
            (0..self.slots.len() as u32).map(RequestId).filter(|&id| self[id].stage == stage).collect();
        found.sort_by_key(|&id| self[id].serial);
        found
    }
}

impl Index<RequestId> for Requests {
    type Output = Request;
    #[inline(always)]
    fn index(&self, id: RequestId) -> &Request {
        &self.slots[id.index()].request
    }
}

/// A value per request slot, kept by an elevator beside the arena. Grows to the highest slot seen, then never again.
#[derive(Clone, Debug, Default)]
pub struct Table<T> {
    rows: Vec<T>,
}

impl<T: Clone + Default> Table<T> {
    /// An empty table.
    pub fn new() -> Table<T> {
        Table { rows: Vec::new() }
    }

    /// Room for rows of slots below `slots`.
    pub fn reserve(&mut self, slots: usize) {
        self.rows.reserve(slots.saturating_sub(self.rows.len()));
    }

    /// The row of `id`, made if it does not exist.
    #[inline]
    pub fn row(&mut self, id: RequestId) -> &mut T {
        if id.index() >= self.rows.len() {
            self.grow(id);
        }
        &mut self.rows[id.index()]
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, id: RequestId) {
        self.rows.resize(id.index() + 1, T::default());
    }

    /// The row of `id`, if it was ever made.
    pub fn get(&self, id: RequestId) -> Option<&T> {
        self.rows.get(id.index())
    }
}

impl<T> Index<RequestId> for Table<T> {
    type Output = T;
    fn index(&self, id: RequestId) -> &T {
        &self.rows[id.index()]
    }
}

impl<T> IndexMut<RequestId> for Table<T> {
    fn index_mut(&mut self, id: RequestId) -> &mut T {
        &mut self.rows[id.index()]
    }
}

/// The first piece of a bio in a request's chain of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment(pub(crate) u32);

impl Fragment {
    /// The end of a chain; also the chain of a request that carries no bio (a flush of the queue's own).
    pub(crate) const NONE: Fragment = Fragment(u32::MAX);
}

/// What a request carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// One whole bio, as most do: its tag stands in the request, and no piece is made of it.
    Lone(Tag),
    /// A chain of pieces, and its last one.
    Chain(Fragment, u32),
}

impl Carried {
    /// No bio: a flush of the queue's own.
    pub(crate) const NOTHING: Carried = Carried::Chain(Fragment::NONE, Fragment::NONE.0);
}

/// One bio, or one piece of a bio that was split, waiting for its request.
#[derive(Clone, Copy, Debug)]
struct Piece {
    tag: Tag,
    /// The split bio it belongs to, or `WHOLE`.
    whole: u32,
    next: Fragment,
}

const WHOLE: u32 = u32::MAX;

/// A bio that was split: complete when its last piece is.
#[derive(Clone, Copy, Debug)]
struct Split {
    left: u32,
    failed: bool,
}

/// The bios behind the live requests.
#[derive(Debug, Default)]
pub(crate) struct Bios {
    pieces: Vec<Piece>,
    free: Vec<u32>,
    splits: Vec<Split>,
    free_splits: Vec<u32>,
}

/// A bio cut into several requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SplitId(u32);

impl Bios {
    /// What a new request of this bio, or of a piece of it, carries.
    #[inline(always)]
    pub(crate) fn carry(&mut self, tag: Tag, split: Option<SplitId>) -> Carried {
        match split {
            None => Carried::Lone(tag),
            Some(_) => {
                let piece = self.add(tag, split);
                Carried::Chain(piece, piece.0)
            }
        }
    }

    /// The first and the last piece of what a request carries: a lone bio becomes one.
    pub(crate) fn chain(&mut self, carried: Carried) -> (Fragment, u32) {
        match carried {
            Carried::Lone(tag) => {
                let piece = self.add(tag, None);
                (piece, piece.0)
            }
            Carried::Chain(front, last) => (front, last),
        }
    }

    pub(crate) fn add(&mut self, tag: Tag, split: Option<SplitId>) -> Fragment {
        let piece = Piece { tag, whole: split.map_or(WHOLE, |s| s.0), next: Fragment::NONE };
        Fragment(put(&mut self.pieces, &mut self.free, piece))
    }

    pub(crate) fn split(&mut self, pieces: u32) -> SplitId {
        SplitId(put(&mut self.splits, &mut self.free_splits, Split { left: pieces, failed: false }))
    }

    /// Put the chain that starts at `behind` after the piece `last`.
    pub(crate) fn link(&mut self, last: u32, behind: Fragment) {
        self.pieces[last as usize].next = behind;
    }

    /// The tags of what a request carries, from its front on.
    pub(crate) fn tags(&self, carried: Carried) -> impl Iterator<Item = Tag> + '_ {
        let (lone, front) = match carried {
            Carried::Lone(tag) => (Some(tag), Fragment::NONE),
            Carried::Chain(front, _) => (None, front),
        };
        let piece = |at: Fragment| (at != Fragment::NONE).then(|| self.pieces[at.0 as usize]);
        let pieces = core::iter::successors(piece(front), move |before| piece(before.next));
        lone.into_iter().chain(pieces.map(|piece| piece.tag))
    }

    /// Is a piece of a bio that was split among these?
    pub(crate) fn has_split(&self, carried: Carried) -> bool {
        let Carried::Chain(front, _) = carried else { return false };
        let piece = |at: Fragment| (at != Fragment::NONE).then(|| self.pieces[at.0 as usize]);
        core::iter::successors(piece(front), move |before| piece(before.next)).any(|piece| piece.whole != WHOLE)
    }

    /// Take a chain apart; `done` hears of each bio whose last piece this was, and whether any piece failed.
    pub(crate) fn finish(&mut self, mut at: Fragment, failed: bool, mut done: impl FnMut(Tag, bool)) {
        while at != Fragment::NONE {
            let piece = self.pieces[at.0 as usize];
            self.free.push(at.0);
            at = piece.next;
            if piece.whole == WHOLE {
                done(piece.tag, failed);
                continue;
            }
            let split = &mut self.splits[piece.whole as usize];
            split.left -= 1;
            split.failed |= failed;
            if split.left == 0 {
                self.free_splits.push(piece.whole);
                done(piece.tag, split.failed);
            }
        }
    }
}

#[inline]
fn put<T>(slots: &mut Vec<T>, free: &mut Vec<u32>, value: T) -> u32 {
    match free.pop() {
        Some(slot) => {
            slots[slot as usize] = value;
            slot
        }
        None => {
            slots.push(value);
            // Room to free every slot, so that only a new peak allocates.
            free.reserve(slots.capacity());
            (slots.len() - 1) as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tags_of_a_chain_come_in_its_order() {
        let mut bios = Bios::default();
        let [front, middle, back] = [7, 8, 9].map(|tag| bios.add(Tag(tag), None));
        bios.link(middle.0, back);
        bios.link(front.0, middle);
        let chain = Carried::Chain(front, back.0);
        assert_eq!(bios.tags(chain).collect::<Vec<_>>(), [Tag(7), Tag(8), Tag(9)]);
        assert_eq!(bios.tags(Carried::NOTHING).count(), 0);
        assert_eq!(bios.tags(Carried::Lone(Tag(6))).collect::<Vec<_>>(), [Tag(6)]);
    }
}
