//! **What for**: a stacked device at work: a bio becomes bios of the members, and is complete when all of them are.
//!
//! **Rule**: data is cut at the map's boundaries. md RAID 0 cuts what it gets at the length of its chunk first,
//! wherever that lies; of a piece that lies on two members the one behind goes first. Discards of one member that
//! adjoin are one, member by member; md RAID 10 does that to the whole rows within, if there are two rows, before what
//! lies around them. dm-crypt cuts reads and writes at lengths of its own, and works on the pieces apart. A write goes
//! to every copy. A read goes to one: the mirror whose last I/O it continues, else the one with the fewest under way,
//! else the nearer (what md's documentation leaves open). Where a member does not turn, the distance does not matter
//! (the message of commit 9dedf60313fa): it is the first of those with the fewest under way, and under RAID 10 also if
//! another continues (recorded: 219 of 223 reads; at the four others much was under way, and merged). A flush goes to
//! every member, the last one first; md's are asynchronous. A bio that asks for a flush before it (REQ_PREFLUSH) waits
//! for one of every member and then goes without asking; REQ_FUA stays with every part
//! (`block/writeback_cache_control.rst`). Group, hints and submitter stay; the priority does unless it was said
//! otherwise. dm-crypt's thread submits in its own name, and so does whoever
//! sends data on behind a flush: an interrupt has ended the flush, and the process may be anywhere by then. md RAID 5
//! and 6 write by stripes (`parity.rs`); what is read is read where it is, in its submitter's name.
//! The orders, cuts and flags are those of recordings of Linux 6.12 (docs/stack.md).
//! **Left out** A part that fails fails the bio, also on a mirror. Before 6.12 dm-crypt cut nothing, and device mapper
//! flushed the first member first.

use blksched::author::Waiter;
use blksched::{Bio, Durability, Hints, Instant, Op, Priority, Sector, Span, SubmitterId, Tag};

use super::crypt::{CryptDone, CryptQueues, CryptWork, Slot};
use super::hosted::{Crypting, Hosted, ToilTask, Wish};
use super::map::{MemberPlace, StackLayout, StackMap};
use super::parity::{PageWrite, StripeCache, StripeDone};
use super::{PAGE, StackSpec, takes};

/// What comes out of a volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Below {
    /// A bio for a member; its sectors are the member's, and its tag is for [`Volume::done`].
    Submit {
        /// The member, from 0.
        member: u32,
        /// The bio.
        bio: Bio,
    },
    /// A bio is complete.
    Complete {
        /// Its tag.
        tag: Tag,
        /// Whether a part of it failed.
        failed: bool,
    },
}

/// Where a bio is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BioStage {
    /// Its members flush before it.
    Flushes,
    /// It was cut, and its pieces are with the volume.
    Pieces,
    /// Its data is being encrypted, or its parts are at the members.
    Data,
    /// Its data is being decrypted.
    Decrypts,
}

/// A bio that is not complete.
#[derive(Clone, Copy, Debug)]
struct Parent {
    bio: Bio,
    left: u32,
    failed: bool,
    stage: BioStage,
    /// A thread sends it on, not its submitter.
    by_thread: bool,
    /// What it is a piece of.
    of: Option<Slot>,
}

/// What a member is doing, for choosing a mirror.
#[derive(Clone, Copy, Debug, Default)]
struct MemberLoad {
    parts: u32,
    head: u64,
}

/// A stacked device.
#[derive(Clone, Debug)]
pub struct Volume {
    map: StackMap,
    keeps_priority: bool,
    crypt: Option<CryptQueues>,
    stripes: Option<StripeCache>,
    /// Its work is done by a host's processors; otherwise it takes its time beside them.
    hosted: Option<Hosted>,
    workers: u32,
    has_discards: bool,
    /// All members turn.
    turns: bool,
    /// The number in whose name its threads submit.
    thread: SubmitterId,
    parents: Vec<Option<Parent>>,
    free: Vec<Slot>,
    members: Vec<MemberLoad>,
    due: Vec<CryptDone>,
}

impl Volume {
    /// The device above members of these lengths \[512-byte sectors\], on a host with so many processors, where no
    /// process has the number `thread`.
    pub fn new(spec: &StackSpec, members: &[u64], processors: u32, thread: SubmitterId) -> Volume {
        Volume {
            map: spec.above(members),
            keeps_priority: spec.keeps_priority,
            crypt: spec.crypt.map(|crypt| CryptQueues::new(crypt, processors)),
            stripes: spec.parity.map(|parity| StripeCache::new(parity, members.len() as u32)),
            hosted: None,
            workers: processors,
            // md lets discards through to parity only if it is told that members return zeros afterwards.
            has_discards: spec.crypt.is_none_or(|crypt| crypt.allow_discards) && spec.parity.is_none(),
            turns: true,
            thread,
            parents: Vec::new(),
            free: Vec::new(),
            members: vec![MemberLoad::default(); members.len()],
            due: Vec::new(),
        }
    }

    /// The same where a member does not turn, as a solid-state disk.
    #[must_use]
    pub fn with_solid_members(self) -> Volume {
        Volume { turns: false, ..self }
    }

    /// The same where processors do its work, which take `switch` to turn to a task that slept: it has wishes
    /// ([`Volume::wish`]) and waits for them ([`Volume::toiled`]). Nothing may have entered yet.
    pub fn work_on_processors(&mut self, switch: Span) {
        let crypt = self.crypt.as_ref().map(|crypt| crypt.spec().hop);
        if let Some(hop) = crypt.or_else(|| self.stripes.as_ref().map(StripeCache::hop)) {
            self.hosted = Some(Hosted::new(self.workers, hop, switch));
        }
    }

    /// What it wants of the host next; to be asked for until there is nothing, after each call.
    pub fn wish(&mut self) -> Option<Wish> {
        self.hosted.as_mut().and_then(Hosted::wish)
    }

    /// A piece of work is done.
    ///
    /// # Panics
    /// If it had no such wish.
    pub fn toiled(&mut self, now: Instant, task: ToilTask, out: &mut Vec<Below>) {
        let hosted = self.hosted.as_mut().expect("it works on processors");
        match task {
            ToilTask::Crypted { slot, worker } => {
                if let Some(worker) = worker {
                    hosted.worked(worker);
                }
                let Parent { bio, stage, .. } = *self.parent(slot);
                match (stage, worker, &mut self.hosted) {
                    (BioStage::Decrypts, ..) => self.complete(slot, out),
                    (_, Some(_), Some(hosted)) => hosted.sort(now, bio.start.0, slot),
                    _ => self.send(slot, out),
                }
            }
            ToilTask::Comes => self.thread_goes_on(now, out),
            ToilTask::Sends => {
                hosted.send(out);
                self.thread_goes_on(now, out);
            }
        }
    }

    /// The thread sends the next part, or looks for more, or sleeps.
    fn thread_goes_on(&mut self, now: Instant, out: &mut Vec<Below>) {
        let mut more = Vec::new();
        let hosted = self.hosted.as_mut().expect("it works on processors");
        if hosted.goes_on(&mut more, out) {
            return;
        }
        hosted.unplug();
        loop {
            if self.stripes.is_some() {
                self.stripes_turn(now, &mut more);
            } else {
                for slot in self.hosted.as_mut().expect("it does").take_sorted() {
                    self.parent(slot).by_thread = true;
                    self.send(slot, &mut more);
                }
            }
            let hosted = self.hosted.as_mut().expect("it does");
            if more.is_empty() && !self.stripes.as_mut().is_some_and(StripeCache::is_called) {
                return hosted.thread_sleeps();
            }
            if hosted.goes_on(&mut more, out) {
                return;
            }
        }
    }

    /// What whoever submits this bio does itself, where processors do the work: the number of parts that it submits,
    /// and how long it works on data.
    pub fn inline(&self, bio: &Bio) -> (u32, Span) {
        let crypt = self.crypt.as_ref().map(CryptQueues::spec);
        let flushes = bio.op == Op::Flush || bio.durability.preflush;
        let is_write = bio.op == Op::Write;
        let is_left = is_write && (self.stripes.is_some() || crypt.is_some_and(|crypt| crypt.write_workqueue));
        if flushes {
            return (self.map.members(), Span::ZERO);
        }
        if is_left || bio.op == Op::Discard && !self.has_discards {
            return (0, Span::ZERO);
        }
        let (mut at, end, mut pieces) = (bio.start.0, bio.end().0, 0);
        while at < end {
            at += self.map.until_boundary(at).min(end - at);
            pieces += if bio.op == Op::Read { 1 } else { self.map.copies() };
        }
        match (crypt, &self.crypt) {
            (Some(crypt), Some(queues)) => {
                let works = if is_write { takes(crypt.encrypts, bio.sectors) } else { Span::ZERO };
                (pieces.max(bio.sectors.div_ceil(queues.most(bio.op))), works)
            }
            _ => (pieces, Span::ZERO),
        }
    }

    /// Its map.
    pub fn map(&self) -> &StackMap {
        &self.map
    }

    /// Whether no bio is with it.
    pub fn is_idle(&self) -> bool {
        self.free.len() == self.parents.len()
    }

    /// A bio enters it.
    ///
    /// # Panics
    /// If it goes beyond its end.
    pub fn enter(&mut self, now: Instant, bio: Bio, out: &mut Vec<Below>) {
        if bio.op == Op::Discard && !self.has_discards {
            return out.push(Below::Complete { tag: bio.tag, failed: true });
        }
        let is_flush = bio.op == Op::Flush;
        let stage = if bio.durability.preflush && !is_flush { BioStage::Flushes } else { BioStage::Data };
        let slot = self.hold(Parent { bio, left: 0, failed: false, stage, by_thread: false, of: None });
        if is_flush || stage == BioStage::Flushes {
            self.flush(slot, out);
        } else {
            self.data(now, slot, out);
        }
    }

    fn hold(&mut self, parent: Parent) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.parents.push(None);
            self.parents.len() as Slot - 1
        });
        self.parents[slot as usize] = Some(parent);
        slot
    }

    /// A part is complete.
    ///
    /// # Panics
    /// If it has no such part.
    pub fn done(&mut self, now: Instant, part: Tag, failed: bool, out: &mut Vec<Below>) {
        if let (Some(row), Some(stripes)) = (row_of(part), &mut self.stripes) {
            stripes.done(now, row, failed);
            return self.calls_thread(now);
        }
        let (slot, member) = parted(part);
        self.members[member as usize].parts -= 1;
        let parent = self.parent(slot);
        parent.failed |= failed;
        parent.left -= 1;
        let Parent { bio, stage, failed, left, .. } = *parent;
        match stage {
            _ if left > 0 => {}
            BioStage::Flushes if !failed => {
                let parent = self.parent(slot);
                (parent.stage, parent.by_thread) = (BioStage::Data, true);
                self.data(now, slot, out);
            }
            BioStage::Data if bio.op == Op::Read && self.crypt.is_some() && !failed => {
                self.parent(slot).stage = BioStage::Decrypts;
                self.encrypts(now, slot, CryptWork::Decrypt);
            }
            _ => self.complete(slot, out),
        }
    }

    /// The tag of the bio that this is a part of.
    pub fn whole(&self, part: Tag) -> Tag {
        let slot = match (row_of(part), &self.stripes) {
            (Some(row), Some(stripes)) => stripes.waits(row),
            _ => parted(part).0,
        };
        self.parents[slot as usize].as_ref().expect("it has this part").bio.tag
    }

    /// When [`Volume::elapse`] is due.
    pub fn next(&self) -> Option<Instant> {
        if let Some(hosted) = &self.hosted {
            return hosted.next();
        }
        let crypt = self.crypt.as_ref().and_then(CryptQueues::next);
        crypt.or_else(|| self.stripes.as_ref().and_then(StripeCache::next))
    }

    /// Does what is due.
    pub fn elapse(&mut self, now: Instant, out: &mut Vec<Below>) {
        if let Some(hosted) = &mut self.hosted {
            return hosted.elapse(now);
        }
        if let Some(stripes) = &mut self.stripes {
            if stripes.is_due(now) {
                self.stripes_turn(now, out);
            }
            return;
        }
        let Some(crypt) = &mut self.crypt else { return };
        let parents = &self.parents;
        let sector = |slot: Slot| parents[slot as usize].as_ref().map_or(0, |parent| parent.bio.start.0);
        let mut due = core::mem::take(&mut self.due);
        crypt.elapse(now, sector, &mut due);
        for &done in &due {
            match done {
                CryptDone::Sent(slot) => {
                    self.parent(slot).by_thread = true;
                    self.send(slot, out);
                }
                CryptDone::Worked(slot) if self.parent(slot).stage == BioStage::Decrypts => self.complete(slot, out),
                CryptDone::Worked(slot) => self.send(slot, out),
            }
        }
        due.clear();
        self.due = due;
    }

    fn parent(&mut self, slot: Slot) -> &mut Parent {
        self.parents[slot as usize].as_mut().expect("it is with the volume")
    }

    fn complete(&mut self, slot: Slot, out: &mut Vec<Below>) {
        let Parent { bio, failed, of, .. } = self.parents[slot as usize].take().expect("it is with the volume");
        self.free.push(slot);
        let Some(whole) = of else { return out.push(Below::Complete { tag: bio.tag, failed }) };
        let parent = self.parent(whole);
        parent.failed |= failed;
        parent.left -= 1;
        if parent.left == 0 {
            self.complete(whole, out);
        }
    }

    fn flush(&mut self, slot: Slot, out: &mut Vec<Below>) {
        let bio = self.parent(slot).bio;
        let hints = Hints { req_sync: bio.hints.req_sync && !self.map.layout().is_mds(), ..Hints::default() };
        let flush = Bio { op: Op::Flush, sectors: 0, durability: Durability::default(), hints, ..bio };
        for member in (0..self.map.members()).rev() {
            self.part(slot, MemberPlace { member, sector: 0 }, flush, out);
        }
    }

    fn data(&mut self, now: Instant, slot: Slot, out: &mut Vec<Below>) {
        let Parent { bio, .. } = *self.parent(slot);
        let most = self.crypt.as_ref().map_or(u32::MAX, |crypt| crypt.most(bio.op));
        if bio.sectors > most {
            return self.cut(now, slot, most, out);
        }
        let is_write = bio.op == Op::Write;
        if is_write && self.crypt.is_some() {
            self.encrypts(now, slot, CryptWork::Encrypt);
        } else if is_write && self.stripes.is_some() {
            self.hand_to_stripes(now, slot);
        } else {
            self.send(slot, out);
        }
    }

    /// Pieces of this length go their own ways.
    fn cut(&mut self, now: Instant, slot: Slot, most: u32, out: &mut Vec<Below>) {
        let whole = *self.parent(slot);
        let pieces = whole.bio.sectors.div_ceil(most);
        let parent = self.parent(slot);
        (parent.stage, parent.left) = (BioStage::Pieces, pieces);
        for piece in 0..pieces {
            let begin = piece * most;
            let start = Sector(whole.bio.start.0 + u64::from(begin));
            let bio = Bio { start, sectors: most.min(whole.bio.sectors - begin), ..whole.bio };
            let piece = self.hold(Parent { bio, left: 0, stage: BioStage::Data, of: Some(slot), ..whole });
            self.data(now, piece, out);
        }
    }

    /// Each page of a write goes to its stripe.
    fn hand_to_stripes(&mut self, now: Instant, slot: Slot) {
        let Parent { bio, .. } = *self.parent(slot);
        let (mut at, end) = (bio.start.0, bio.end().0);
        let (fua, sync) = (bio.durability.fua, bio.hints.req_sync);
        let (mut pages, stripes) = (0, self.stripes.as_mut().expect("it has parity"));
        while at < end {
            let until = (at / PAGE * PAGE + PAGE).min(end);
            let MemberPlace { member, sector } = self.map.place(at, 0);
            let is_whole = until - at == PAGE;
            let parity = self.map.parity(sector);
            stripes.join(now, PageWrite { slot, row: sector / PAGE, member, parity, is_whole, fua, sync });
            (at, pages) = (until, pages + 1);
        }
        self.parent(slot).left = pages;
        self.calls_thread(now);
    }

    /// Where processors do the work, md's thread is called as dm-crypt's.
    fn calls_thread(&mut self, now: Instant) {
        if let (Some(hosted), Some(stripes)) = (&mut self.hosted, &mut self.stripes)
            && stripes.is_called()
        {
            hosted.call_thread(now);
        }
    }

    /// What md's thread does, it does in its own name.
    fn stripes_turn(&mut self, now: Instant, out: &mut Vec<Below>) {
        let mut done = Vec::new();
        self.stripes.as_mut().expect("it has parity").turn(now, &mut done);
        for done in done {
            let (row, member, op, fua, sync) = match done {
                StripeDone::Read { row, member } => (row, member, Op::Read, false, false),
                StripeDone::Write { row, member, fua, sync } => (row, member, Op::Write, fua, sync),
                StripeDone::Landed { slot, failed } => {
                    let parent = self.parent(slot);
                    parent.failed |= failed;
                    parent.left -= 1;
                    if parent.left == 0 {
                        self.complete(slot, out);
                    }
                    continue;
                }
            };
            let page = Bio::read(row << 16 | u64::from(member) | STRIPE, self.thread, Sector(row * PAGE), PAGE as u32);
            let waiter = if op == Op::Read || sync { Waiter::Sync } else { Waiter::Async };
            let hints = Hints { req_sync: sync, ..Hints::default() };
            let bio = Bio { op, waiter, hints, durability: Durability { preflush: false, fua }, ..page };
            out.push(Below::Submit { member, bio });
        }
    }

    fn encrypts(&mut self, now: Instant, slot: Slot, work: CryptWork) {
        let Parent { bio: Bio { submitter, sectors, tag, .. }, by_thread, .. } = *self.parent(slot);
        let submitter = if by_thread { self.thread } else { submitter };
        let crypt = self.crypt.as_mut().expect("only dm-crypt works on data");
        debug_assert!(work == CryptWork::Decrypt || sectors > 0);
        let Some(hosted) = &mut self.hosted else { return crypt.work(now, slot, submitter, work, sectors) };
        let (spec, is_read) = (crypt.spec(), work == CryptWork::Decrypt);
        let takes = takes(if is_read { spec.decrypts } else { spec.encrypts }, sectors);
        hosted.work(now, spec, work, submitter, Crypting { slot, takes, completes: is_read.then_some(tag) });
    }

    /// The data goes to the members, in the name of its submitter or of the thread.
    fn send(&mut self, slot: Slot, out: &mut Vec<Below>) {
        let Parent { bio, by_thread, .. } = *self.parent(slot);
        let durability = Durability { preflush: false, ..bio.durability };
        let submitter = if by_thread { self.thread } else { bio.submitter };
        let model = Bio { durability, submitter, ..bio };
        let (begin, end) = (bio.start.0, bio.end().0);
        match self.map.layout() {
            _ if bio.op == Op::Discard => self.discard(slot, (begin, end), model, out),
            StackLayout::Raid0 { chunk } => {
                let mut at = begin;
                while at < end {
                    let until = (at + chunk).min(end);
                    let cut = (at + self.map.until_boundary(at)).min(until);
                    self.pieces(slot, (cut, until), model, out);
                    self.pieces(slot, (at, cut), model, out);
                    at = until;
                }
            }
            _ => self.pieces(slot, (begin, end), model, out),
        }
    }

    /// What lies from one sector to another goes to the members piece by piece.
    fn pieces(&mut self, slot: Slot, (mut at, end): (u64, u64), model: Bio, out: &mut Vec<Below>) {
        while at < end {
            let sectors = self.map.until_boundary(at).min(end - at) as u32;
            let piece = Bio { sectors, ..model };
            if model.op == Op::Read && self.map.copies() > 1 {
                let place = self.mirror(at);
                self.part(slot, place, piece, out);
            } else {
                for copy in 0..self.map.copies() {
                    self.part(slot, self.map.place(at, copy), piece, out);
                }
            }
            at += u64::from(sectors);
        }
    }

    /// A discard of what lies from one sector to another.
    fn discard(&mut self, slot: Slot, (begin, end): (u64, u64), model: Bio, out: &mut Vec<Below>) {
        let layout = self.map.layout();
        let asynchronous = Bio { hints: Hints { req_sync: false, ..model.hints }, ..model };
        match layout {
            StackLayout::Raid10 { chunk } => {
                let row = u64::from(self.map.members().div_ceil(2)) * chunk;
                if end - begin < 2 * row {
                    return self.pieces(slot, (begin, end), model, out);
                }
                let (from, until) = (begin.next_multiple_of(row), end / row * row);
                self.joined(slot, (from, until), asynchronous, out);
                self.pieces(slot, (begin, from), model, out);
                self.pieces(slot, (until, end), model, out);
            }
            _ => self.joined(slot, (begin, end), if layout.is_mds_stripes() { asynchronous } else { model }, out),
        }
    }

    /// The same with what adjoins on a member in one, member by member.
    fn joined(&mut self, slot: Slot, (mut at, end): (u64, u64), model: Bio, out: &mut Vec<Below>) {
        let first = out.len();
        while at < end {
            let sectors = self.map.until_boundary(at).min(end - at) as u32;
            let piece = Bio { sectors, ..model };
            for copy in 0..self.map.copies() {
                self.part_or_more(slot, self.map.place(at, copy), piece, (out, first));
            }
            at += u64::from(sectors);
        }
        out[first..].sort_by_key(|below| match below {
            Below::Submit { member, .. } => *member,
            Below::Complete { .. } => u32::MAX,
        });
    }

    /// The copy to read.
    fn mirror(&self, at: u64) -> MemberPlace {
        let places = (0..self.map.copies()).map(|copy| self.map.place(at, copy));
        let stays = self.turns || !matches!(self.map.layout(), StackLayout::Raid10 { .. });
        let key = |place: &MemberPlace| {
            let MemberLoad { parts, head } = self.members[place.member as usize];
            let distance = head.abs_diff(place.sector);
            // Of equals it is the first.
            (stays && distance > 0, parts, if self.turns { distance } else { 0 })
        };
        places.min_by_key(key).expect("there is a copy")
    }

    /// A discard's part that adjoins one of its others on the same member makes that longer.
    fn part_or_more(&mut self, slot: Slot, place: MemberPlace, piece: Bio, (out, first): (&mut Vec<Below>, usize)) {
        let adjoins = |below: &&mut Below| match below {
            Below::Submit { member, bio } => *member == place.member && bio.end().0 == place.sector,
            Below::Complete { .. } => false,
        };
        match out[first..].iter_mut().find(adjoins) {
            Some(Below::Submit { bio, .. }) => bio.sectors += piece.sectors,
            _ => self.part(slot, place, piece, out),
        }
    }

    fn part(&mut self, slot: Slot, place: MemberPlace, model: Bio, out: &mut Vec<Below>) {
        self.parent(slot).left += 1;
        let MemberPlace { member, sector } = place;
        let busy = &mut self.members[member as usize];
        busy.parts += 1;
        if model.op != Op::Flush {
            busy.head = sector + u64::from(model.sectors);
        }
        let priority = if self.keeps_priority { model.priority } else { Priority::default() };
        let bio = Bio { tag: tag(slot, member), start: Sector(sector), priority, ..model };
        out.push(Below::Submit { member, bio });
    }
}

/// A part with this bit is a page of a stripe, not of a bio.
const STRIPE: u64 = 1 << 63;

/// The stripe of this part, if it is one's.
fn row_of(part: Tag) -> Option<u64> {
    (part.0 & STRIPE != 0).then_some((part.0 & !STRIPE) >> 16)
}

fn tag(slot: Slot, member: u32) -> Tag {
    Tag(u64::from(slot) << 16 | u64::from(member))
}

fn parted(part: Tag) -> (Slot, u32) {
    ((part.0 >> 16) as Slot, (part.0 & 0xffff) as u32)
}
