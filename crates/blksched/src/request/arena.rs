//! The arena: every live request with its bios, in slots that are reused.
//!
//! Nothing is allocated once there are as many slots as requests were ever live at a time. The links of the merge hash
//! and the tag are stored in the request's slot, and so is the chain of free slots: one place is touched, not five
//! tables.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};
#[cfg(target_has_atomic = "32")]
use core::sync::atomic::{AtomicU32, Ordering};

use super::{Bio, Command, Dir, FlightKey, InFlight, Request, RequestId, Sector, Stage, SubmitterId, Tag};
use crate::time::Instant;

/// Every live request.
#[derive(Debug)]
pub struct Requests {
    slots: Vec<Slot>,
    /// The first of the free slots, which form a chain (`Slot::behind`); the slot freed last is used first.
    free: u32,
    /// The number of requests made, and of those that have ended.
    made: u64,
    over: u64,
    /// The generation of each slot's first use.
    first_generation: u32,
}

/// A request, and what the queue keeps about it: all that a step of its life touches, in one place.
#[derive(Debug)]
struct Slot {
    request: Request,
    /// How often this slot was used for a request that went to the device: a token of an earlier use is stale.
    generation: u32,
    /// Its place in the merge hash: the request hashed after it in the same bucket; for the bucket's first, [`FIRST`]
    /// and the bucket's number; or [`UNHASHED`].
    before: u32,
    /// The request hashed before it; for a free slot, the next free one.
    behind: u32,
    /// Its tag (blk-mq).
    tag: u32,
}

const _: () = assert!(core::mem::size_of::<Slot>() <= 80);

/// What remains of a request that has ended.
pub(crate) struct Ended {
    /// Whether it carried one whole bio.
    pub(crate) lone: bool,
    /// The tag of that bio, otherwise its chain as [`Carried::chain_of`] reads it.
    pub(crate) bios: Tag,
    pub(crate) dir: Dir,
    /// Its tag, or `NONE`.
    pub(crate) tag: u32,
}

/// The neighbours in the merge hash of a request that has left it.
#[derive(Clone, Copy)]
pub(crate) struct Links {
    before: u32,
    behind: u32,
}

/// The start of a queue's generations, so that a token of another queue is not accepted as one of its own. No decision
/// and no record depends on this number.
#[cfg(target_has_atomic = "32")]
fn first_generation() -> u32 {
    /// 2^32 divided by the golden ratio: multiples of it are as far apart as possible, however many there are.
    const APART: u32 = 0x9e37_79b9;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(APART, Ordering::Relaxed)
}

/// The same where processors cannot count atomically: a token of another queue is then not told apart by it.
#[cfg(not(target_has_atomic = "32"))]
fn first_generation() -> u32 {
    0
}

/// No slot, no tag.
pub(crate) const NONE: u32 = u32::MAX;
/// In no bucket of the merge hash.
const UNHASHED: u32 = u32::MAX;
/// Marks the first of its bucket, whose number is in the other bits; there are fewer slots and fewer buckets.
const FIRST: u32 = 1 << 31;

impl Default for Requests {
    fn default() -> Requests {
        Requests::with_capacity(0)
    }
}

/// The merge hash's part: each bucket's newest request, and those hashed before it.
impl Requests {
    /// Puts `id` at the front of this bucket's chain.
    #[inline(always)]
    pub(crate) fn chain(&mut self, id: RequestId, first: &mut u32, bucket: u32) {
        let behind = core::mem::replace(first, id.0);
        let slot = &mut self.slots[id.index()];
        assert!(slot.before == UNHASHED, "request {id:?} is already hashed");
        (slot.before, slot.behind) = (FIRST | bucket, behind);
        if behind != NONE {
            self.slots[behind as usize].before = id.0;
        }
    }

    /// Takes `id` out of its chain, if it is in one; returns the bucket of which it was the first, and the new first.
    #[inline(always)]
    pub(crate) fn unchain(&mut self, id: RequestId) -> Option<(u32, u32)> {
        let slot = &mut self.slots[id.index()];
        let links = Links { before: core::mem::replace(&mut slot.before, UNHASHED), behind: slot.behind };
        self.mend(links)
    }

    /// Closes the chain after a request has left it, as [`Requests::unchain`] returns it.
    #[inline(always)]
    pub(crate) fn mend(&mut self, Links { before, behind }: Links) -> Option<(u32, u32)> {
        if before == UNHASHED {
            return None;
        }
        if behind != NONE {
            // The one after the bucket's first is now its first.
            self.slots[behind as usize].before = before;
        }
        if before & FIRST != 0 {
            return Some((before & !FIRST, behind));
        }
        self.slots[before as usize].behind = behind;
        None
    }

    /// The request hashed before `id`.
    #[inline]
    pub(crate) fn chained_behind(&self, id: u32) -> u32 {
        self.slots[id as usize].behind
    }

    /// Nothing is hashed any more: the next elevator has a hash of its own.
    pub(crate) fn unchain_all(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.before = UNHASHED);
    }
}

impl Requests {
    pub(crate) fn with_capacity(capacity: usize) -> Requests {
        let slots = Vec::with_capacity(capacity);
        Requests { slots, free: NONE, made: 0, over: 0, first_generation: first_generation() }
    }

    /// The number of live requests.
    pub fn len(&self) -> usize {
        (self.made - self.over) as usize
    }

    /// True if none is live.
    pub fn is_empty(&self) -> bool {
        self.made == self.over
    }

    /// Whether `id` names a live request.
    pub fn is_live(&self, id: RequestId) -> bool {
        self.get(id).is_some_and(|request| request.stage != Stage::Free)
    }

    /// The contents of this slot, live or not, if there is such a slot.
    #[inline(always)]
    pub(crate) fn get(&self, id: RequestId) -> Option<&Request> {
        self.slots.get(id.index()).map(|slot| &slot.request)
    }

    /// How often this slot was used for a request that went to the device.
    pub(crate) fn generation(&self, id: RequestId) -> u32 {
        self.slots[id.index()].generation
    }

    /// Makes keys of this slot's present use stale.
    pub(crate) fn lands(&mut self, id: RequestId) {
        let generation = &mut self.slots[id.index()].generation;
        *generation = generation.wrapping_add(1);
    }

    /// A request of a whole bio, in the slot that was freed last.
    #[inline(always)]
    pub(crate) fn make(&mut self, stage: Stage, now: Instant, bio: &Bio, tag: u32) -> RequestId {
        let rq = self.next_free();
        self.fill(rq, stage, now, bio, tag);
        rq
    }

    /// The same for one that may merge and is queued at once, as the first of this bucket of the merge hash.
    #[inline(always)]
    pub(crate) fn make_hashed(&mut self, now: Instant, bio: &Bio, tag: u32, first: &mut u32, bucket: u32) -> RequestId {
        let rq = self.next_free();
        let behind = core::mem::replace(first, rq.0);
        let slot = self.fill(rq, Stage::Queued, now, bio, tag);
        (slot.before, slot.behind) = (FIRST | bucket, behind);
        if behind != NONE {
            self.slots[behind as usize].before = rq.0;
        }
        rq
    }

    /// Turns the first free slot into a request.
    #[inline(always)]
    fn fill(&mut self, rq: RequestId, stage: Stage, now: Instant, bio: &Bio, tag: u32) -> &mut Slot {
        let slot = &mut self.slots[rq.index()];
        let mergeable = bio.is_mergeable();
        // Whatever may merge needs no flush.
        let plain = mergeable || bio.is_volatile_data();
        let (serial, queued_at) = (self.made, now);
        // Made in place.
        slot.request = Request { bio: *bio, queued_at, serial, segments: 1, stage, mergeable, lone: true, plain };
        slot.tag = tag;
        self.free = slot.behind;
        self.made += 1;
        slot
    }

    #[inline(always)]
    fn next_free(&mut self) -> RequestId {
        if self.free == NONE {
            self.add();
        }
        RequestId(self.free)
    }

    /// Adds a slot.
    #[cold]
    #[inline(never)]
    fn add(&mut self) {
        assert!(self.slots.len() < FIRST as usize, "2^31 requests");
        let bio = Bio::read(0, SubmitterId(0), Sector(0), 0);
        let request = Request {
            bio,
            queued_at: Instant::ZERO,
            serial: 0,
            segments: 0,
            stage: Stage::Free,
            mergeable: false,
            lone: true,
            plain: true,
        };
        self.free = self.slots.len() as u32;
        self.slots.push(Slot { request, generation: self.first_generation, before: UNHASHED, behind: NONE, tag: NONE });
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, id: RequestId) -> &mut Request {
        &mut self.slots[id.index()].request
    }

    /// The request goes to the device; it has left the merge hash, whose chain must be repaired.
    #[inline(always)]
    pub(crate) fn issue(&mut self, rq: RequestId) -> Links {
        let slot = &mut self.slots[rq.index()];
        let request = &mut slot.request;
        let stage = request.stage;
        assert!(stage == Stage::Queued, "the elevator issued {rq:?}, which is {stage:?}");
        (request.stage, request.mergeable) = (Stage::InFlight, false);
        Links { before: core::mem::replace(&mut slot.before, UNHASHED), behind: slot.behind }
    }

    /// The token of a request in the device. `fua`: whether the device can bypass its cache.
    #[inline(always)]
    pub(crate) fn token(&self, rq: RequestId, fua: bool) -> InFlight {
        let Slot { request, generation, .. } = &self.slots[rq.index()];
        let Bio { op, start, sectors, durability, submitter, .. } = request.bio;
        InFlight::new(Command { rq, op, start, sectors, fua: durability.fua && fua, submitter }, *generation)
    }

    /// Whether this is its slot's command in flight, and only a read or a write.
    #[inline(always)]
    fn is_plain_flight(slot: &Slot, key: FlightKey, start: Sector) -> bool {
        let Slot { request, generation, .. } = slot;
        let ours = *generation == key.generation() && request.start == start;
        request.stage == Stage::InFlight && ours && request.is_plain()
    }

    /// The device has completed it: keys of this use are stale from now on. False if it is not in flight, or is not
    /// only a read or a write.
    #[inline(always)]
    pub(crate) fn land(&mut self, key: FlightKey, start: Sector) -> bool {
        let Some(slot) = self.slots.get_mut(key.slot().index()) else { return false };
        if !Requests::is_plain_flight(slot, key, start) {
            return false;
        }
        slot.generation = slot.generation.wrapping_add(1);
        true
    }

    /// Ends a request.
    #[inline(always)]
    pub(crate) fn end(&mut self, id: RequestId) -> Ended {
        let slot = &mut self.slots[id.index()];
        assert!(slot.request.stage != Stage::Free, "request {id:?} released twice");
        debug_assert!(slot.before == UNHASHED, "request {id:?} is released and may still be found");
        slot.request.stage = Stage::Free;
        slot.behind = self.free;
        self.free = id.0;
        self.over += 1;
        let Request { bio, lone, .. } = &slot.request;
        Ended { lone: *lone, bios: bio.tag, dir: bio.op.dir(), tag: core::mem::replace(&mut slot.tag, NONE) }
    }

    /// Every request at `stage`, oldest first. Allocates, so it is for rare events such as a switch of elevators.
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

    /// Makes room for rows of slots below `slots`.
    pub fn reserve(&mut self, slots: usize) {
        self.rows.reserve(slots.saturating_sub(self.rows.len()));
    }

    /// The row of `id`, made if it does not exist.
    #[inline]
    pub fn row(&mut self, id: RequestId) -> &mut T {
        if id.index() < self.rows.len() { &mut self.rows[id.index()] } else { self.grow(id) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, id: RequestId) -> &mut T {
        self.rows.resize(id.index() + 1, T::default());
        &mut self.rows[id.index()]
    }

    /// The row of `id`, if it was ever made.
    #[inline]
    pub fn get(&self, id: RequestId) -> Option<&T> {
        self.rows.get(id.index())
    }

    /// A mutable reference to it.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: RequestId) -> Option<&mut T> {
        self.rows.get_mut(id.index())
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
    /// The end of a chain; also the chain of a request that carries no bio (the queue's own flush).
    pub(crate) const NONE: Fragment = Fragment(u32::MAX);
}

/// What a request carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// One whole bio, the usual case: its tag is kept in the request, and no piece is made for it.
    Lone(Tag),
    /// A chain of pieces, and its last one.
    Chain(Fragment, u32),
}

impl Carried {
    /// No bio: the queue's own flush.
    pub(crate) const NOTHING: Carried = Carried::Chain(Fragment::NONE, Fragment::NONE.0);

    /// The chain that a request holds in place of a bio's tag.
    pub(crate) fn chain_of(Tag(halves): Tag) -> Carried {
        Carried::Chain(Fragment(halves as u32), (halves >> 32) as u32)
    }
}

/// One bio, or one piece of a bio that was split, waiting for its request.
#[derive(Clone, Copy, Debug)]
struct BioPiece {
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
    pieces: Vec<BioPiece>,
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

    /// The first and the last piece of what a request carries; a piece is made for a lone bio.
    #[inline]
    pub(crate) fn chain(&mut self, carried: Carried) -> (Fragment, u32) {
        match carried {
            Carried::Lone(tag) => {
                let piece = self.add(tag, None);
                (piece, piece.0)
            }
            Carried::Chain(front, last) => (front, last),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, tag: Tag, split: Option<SplitId>) -> Fragment {
        let piece = BioPiece { tag, whole: split.map_or(WHOLE, |s| s.0), next: Fragment::NONE };
        Fragment(put(&mut self.pieces, &mut self.free, piece))
    }

    pub(crate) fn split(&mut self, pieces: u32) -> SplitId {
        SplitId(put(&mut self.splits, &mut self.free_splits, Split { left: pieces, failed: false }))
    }

    /// Puts the chain that starts at `behind` after the piece `last`.
    #[inline]
    pub(crate) fn link(&mut self, last: u32, behind: Fragment) {
        self.pieces[last as usize].next = behind;
    }

    /// The tags of what a request carries, from its front to its end.
    pub(crate) fn tags(&self, carried: Carried) -> impl Iterator<Item = Tag> + '_ {
        let (lone, front) = match carried {
            Carried::Lone(tag) => (Some(tag), Fragment::NONE),
            Carried::Chain(front, _) => (None, front),
        };
        let piece = |at: Fragment| (at != Fragment::NONE).then(|| self.pieces[at.0 as usize]);
        let pieces = core::iter::successors(piece(front), move |before| piece(before.next));
        lone.into_iter().chain(pieces.map(|piece| piece.tag))
    }

    /// Whether a piece of a split bio is among these.
    pub(crate) fn has_split(&self, carried: Carried) -> bool {
        let Carried::Chain(front, _) = carried else { return false };
        let piece = |at: Fragment| (at != Fragment::NONE).then(|| self.pieces[at.0 as usize]);
        core::iter::successors(piece(front), move |before| piece(before.next)).any(|piece| piece.whole != WHOLE)
    }

    /// Takes a chain apart; calls `done` for each bio whose last piece this was, with whether any piece failed.
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
    let Some(slot) = free.pop() else { return put_behind(slots, free, value) };
    slots[slot as usize] = value;
    slot
}

/// What there is room for at first: peaks of a few more, such as bios split while others starve, may come late.
const FIRST_ROOM: usize = 64;

/// More are in use than ever before.
#[inline(never)]
fn put_behind<T>(slots: &mut Vec<T>, free: &mut Vec<u32>, value: T) -> u32 {
    if slots.is_empty() {
        slots.reserve(FIRST_ROOM);
    }
    slots.push(value);
    // Room to free every slot, so that only a new peak allocates.
    free.reserve(slots.capacity());
    (slots.len() - 1) as u32
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
