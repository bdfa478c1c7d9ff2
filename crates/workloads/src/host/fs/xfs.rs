//! xfs: what a call logs, and the log writes that a sync forces.
//!
//! **Rule** changes go into the committed item list (CIL), in memory. A sync pushes what is in the list, everybody's
//! items, into the active log buffer as a checkpoint of its own, and submits the buffer itself, with its own priority
//! and group; while a forced buffer is under way it sleeps, so that company gathers, and the first to wake submits
//! one buffer for all. Nothing else is written, except by a list that holds an eighth of the log and every 30 s.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use blksched::author::Waiter;
use blksched::{Instant, Sector, Span};

use super::extents::{Blocks, Extent, FileExtents};
use super::inode::{Change, InodeId, Known, NamedIn};
use super::kind::XfsSettings;
use super::outbox::{Agent, FsIo, FsOutbox, FsTask, FsWait, FsWish};
use super::race::TickPhase;
use super::{Entry, Missing, Syncing};

mod items;

use items::{CommittedItems, InodeItem};

/// How often a worker forces the log, if there is anything to force: 30 s of the coarse timer (recorded: 30.7 s).
const FORCES_EVERY: Span = Span::from_ms(30_720);

/// Log buffers that may be under way at once (`logbufs`).
const BUFFERS: u64 = 8;

/// A checkpoint, by the number of its list.
type Sequence = u64;

#[derive(Clone, Debug, Default)]
struct XfsInode {
    extents: FileExtents,
    /// The lengths of the names in it, if it is a short directory \[bytes\].
    names: Vec<u64>,
    changed: Option<u64>,
    /// Its extents have been logged, and are again with every change until it is written home.
    logs_extents: bool,
    /// The last list with any change of it, and with one that its data need.
    any: Sequence,
    needed: Sequence,
}

/// Checkpoints in one log buffer, and the callers that wait for it.
#[derive(Clone, Debug, Default)]
struct Iclog {
    bytes: u64,
    /// The last list in it.
    last: Sequence,
    waiters: Vec<FsTask>,
}

/// Blocks preallocated behind a file.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// Which block of the file comes first.
    at: u64,
    next: u64,
    left: u64,
}

/// The largest file without room behind it \[blocks\].
const SMALL: u64 = 16;

/// The most room behind a file \[blocks\]: 1 MiB, the most that was recorded.
const LARGEST: u64 = 256;

/// When a worker frees an inode that has lost its last name: with the next tick.
const FREES_AFTER: Span = Span::from_ms(4);

/// xfs of Linux 6.18.
#[derive(Clone, Debug)]
pub struct Xfs {
    settings: XfsSettings,
    inodes: BTreeMap<InodeId, XfsInode>,
    items: CommittedItems,
    /// The number of the list that is being filled.
    current: Sequence,
    stable: Sequence,
    active: Iclog,
    /// The forced buffer that is under way, by its bio.
    under_way: Option<(u64, Iclog)>,
    /// Syncs that flush the disk of the data first, where the log has another one: by bio, who, and what it wants.
    flushing: Vec<(u64, FsTask, Sequence)>,
    /// Buffers of a list that was pushed because it was long.
    pushed: Vec<u64>,
    /// Where the next log write goes \[sectors from the log's beginning\].
    head: u64,
    force: Option<Instant>,
    phase: TickPhase,
    /// `sync`s that wait for the log.
    whole: BTreeSet<FsTask>,
    next_place: u64,
    /// What is preallocated behind files.
    rooms: BTreeMap<InodeId, Room>,
    /// Inodes without a name that a worker frees, and when.
    freed: VecDeque<(Instant, InodeId)>,
    out: FsOutbox,
}

impl Xfs {
    /// A mounted one.
    pub fn new(settings: XfsSettings) -> Xfs {
        Xfs {
            settings,
            inodes: BTreeMap::new(),
            items: CommittedItems::default(),
            current: 1,
            stable: 0,
            active: Iclog::default(),
            under_way: None,
            flushing: Vec::new(),
            pushed: Vec::new(),
            head: 0,
            force: None,
            phase: TickPhase::default(),
            whole: BTreeSet::new(),
            next_place: 1024,
            rooms: BTreeMap::new(),
            freed: VecDeque::new(),
            out: FsOutbox::default(),
        }
    }

    /// The same with another phase of the clock.
    pub fn with_phase(mut self, phase: TickPhase) -> Xfs {
        self.phase = phase;
        self
    }

    /// The same, where an unlinked file's end is in the list already: what the preparation of a recording left there.
    pub fn with_left_over(mut self) -> Xfs {
        self.free(InodeId(0));
        self
    }

    pub(super) fn know(&mut self, inode: InodeId, known: Known) {
        let Known { extents, names } = known;
        self.inodes.insert(inode, XfsInode { extents, names, ..XfsInode::default() });
    }

    pub(super) fn wish(&mut self) -> Option<FsWish> {
        self.out.next()
    }

    pub(super) fn next(&self) -> Option<Instant> {
        [self.force, self.freed.front().map(|(at, _)| *at)].into_iter().flatten().min()
    }

    pub(super) fn elapse(&mut self, now: Instant) {
        while let Some((_, inode)) = self.freed.pop_front_if(|(at, _)| *at <= now) {
            self.free(inode);
        }
        if self.force.is_some_and(|force| force <= now) {
            self.force = None;
            if !self.items.is_empty() {
                self.push();
                if self.under_way.is_none() {
                    self.write(Agent::Worker);
                }
            }
        }
    }

    /// Changes never wait for the log here: room in it is not modelled.
    pub(super) fn enter(&mut self, now: Instant, _task: FsTask, inode: InodeId, change: Change) -> Entry {
        let tick = self.phase.tick(now);
        match change {
            Change::JournalData { .. } | Change::Times => self.touch(inode, tick),
            Change::Attributes => self.log(inode, InodeItem::Times, true),
            Change::WriteBack(blocks) => self.place(inode, &blocks),
            Change::DirectBegins(blocks) => {
                self.touch(inode, tick);
                self.place(inode, &blocks);
            }
            Change::DirectEnds(blocks) => _ = self.data_ended(inode, blocks),
            Change::Preallocate(blocks) => self.place(inode, &blocks),
            Change::Truncate(blocks) => {
                self.inode(inode).extents.truncate(blocks);
                self.items.allocation(group_of(inode));
                self.log(inode, InodeItem::Extents, true);
            }
            Change::Create(at) | Change::MakeDirectory(at) | Change::Symlink(at) => self.create(inode, at, tick),
            Change::Unlink(at) | Change::RemoveDirectory(at) => self.unlink(now, inode, at),
            Change::Rename { from, to, over } => self.rename(now, inode, from, to, over),
        }
        self.force.get_or_insert(now + FORCES_EVERY);
        if self.items.at_least() > self.settings.log_sectors * 512 / 8 {
            self.push_long();
        }
        Entry::Done
    }

    fn inode(&mut self, inode: InodeId) -> &mut XfsInode {
        self.inodes.entry(inode).or_default()
    }

    fn touch(&mut self, inode: InodeId, tick: u64) {
        // Times have the grain of the tick: what changes again within one is in the list already.
        if self.inode(inode).changed != Some(tick) {
            self.inode(inode).changed = Some(tick);
            self.log(inode, InodeItem::Times, false);
        }
    }

    /// The inode is in the list.
    fn log(&mut self, inode: InodeId, item: InodeItem, needed: bool) {
        let current = self.current;
        let known = self.inode(inode);
        known.logs_extents |= item == InodeItem::Extents;
        // Once logged, the extents are logged with every change until the inode is written home, as recorded.
        let item = if known.logs_extents { item.max(InodeItem::Extents) } else { item };
        known.any = current;
        if needed {
            known.needed = current;
        }
        self.items.inode(inode, item);
    }

    fn place(&mut self, inode: InodeId, blocks: &Blocks) {
        let mut any = false;
        while let Some(hole) = self.inode(inode).extents.hole(blocks) {
            let (place, count) = self.take(inode, &hole);
            self.inode(inode).extents.insert(Extent { at: hole.start, blocks: count, place, written: false });
            any = true;
        }
        if any {
            self.items.allocation(group_of(inode));
            self.log(inode, InodeItem::Extents, true);
        }
    }

    pub(super) fn is_unwritten(&self, inode: InodeId, blocks: Blocks) -> bool {
        self.inodes.get(&inode).is_some_and(|known| known.extents.is_unwritten(&blocks))
    }

    /// A place for the first blocks of a hole, and how many. A file beyond 64 KiB has room behind it that doubles with
    /// its length.
    fn take(&mut self, inode: InodeId, hole: &Blocks) -> (u64, u64) {
        if let Some(room) = self.rooms.get_mut(&inode).filter(|room| room.at == hole.start && room.left > 0) {
            let count = hole.count().min(room.left);
            let place = room.next;
            *room = Room { at: room.at + count, next: room.next + count, left: room.left - count };
            return (place, count);
        }
        let count = hole.count();
        let goal = self.inode(inode).extents.goal(hole.start);
        let behind = if hole.end > SMALL { hole.end.next_power_of_two().min(LARGEST) } else { 0 };
        let place = goal.filter(|goal| *goal == self.next_place).unwrap_or(self.next_place);
        self.next_place = place + count + behind;
        self.rooms.insert(inode, Room { at: hole.end, next: place + count, left: behind });
        (place, count)
    }

    /// Blocks that were unwritten are written, in memory.
    pub(super) fn data_ended(&mut self, inode: InodeId, blocks: Blocks) -> bool {
        if self.inode(inode).extents.convert(&blocks) {
            self.log(inode, InodeItem::Extents, true);
        }
        true
    }

    fn create(&mut self, inode: InodeId, at: NamedIn, tick: u64) {
        self.inode(at.dir).names.push(at.name);
        self.items.creation(group_of(at.dir));
        self.log(at.dir, InodeItem::Names, true);
        self.inode(inode).changed = Some(tick);
        self.log(inode, InodeItem::Extents, true);
    }

    /// The name goes; the inode's end comes later.
    fn unlink(&mut self, now: Instant, inode: InodeId, at: NamedIn) {
        self.remove_name(at);
        self.log(at.dir, InodeItem::Names, true);
        self.log(inode, InodeItem::Times, true);
        self.freed.push_back((now + FREES_AFTER, inode));
    }

    fn free(&mut self, inode: InodeId) {
        self.items.allocation(group_of(inode));
        self.items.creation(group_of(inode));
        self.items.inode(inode, InodeItem::Times);
        self.inodes.remove(&inode);
        self.rooms.remove(&inode);
    }

    fn remove_name(&mut self, at: NamedIn) {
        let names = &mut self.inode(at.dir).names;
        if let Some(nth) = names.iter().position(|name| *name == at.name) {
            names.remove(nth);
        }
    }

    fn rename(&mut self, now: Instant, inode: InodeId, from: NamedIn, to: u64, over: Option<InodeId>) {
        self.remove_name(from);
        match over {
            Some(over) => {
                self.items.unlinked(group_of(over));
                self.unlink(now, over, NamedIn { dir: from.dir, name: to });
            }
            None => self.log(from.dir, InodeItem::Names, true),
        }
        self.inode(from.dir).names.push(to);
        self.log(inode, InodeItem::Times, true);
    }

    pub(super) fn sync(&mut self, _now: Instant, task: FsTask, inode: InodeId, what: Syncing) -> Missing {
        let known = self.inode(inode);
        let wanted = match what {
            Syncing::All => known.any,
            Syncing::Data => known.needed,
        };
        if wanted <= self.stable {
            return Missing::Flush;
        }
        if self.settings.own_disk {
            // Data first, then the size that covers them (MEMORY).
            let by = Agent::Caller(task);
            let tag = self.out.submit(by, FsIo::Flush, (Sector(0), 0), false, Waiter::Sync);
            self.flushing.push((tag, task, wanted));
            self.out.push(FsWish::Sleeps(task, FsWait::Commit));
            self.out.push(FsWish::Waits(by));
        } else {
            self.force(task, wanted);
        }
        Missing::Metadata
    }

    /// A `sync` forces the log, if there is anything that is not stable.
    pub(super) fn sync_all(&mut self, task: FsTask) -> Missing {
        let wanted = if self.items.is_empty() { self.current - 1 } else { self.current };
        // What is logged while it waits is not its own.
        if self.whole.remove(&task) || wanted <= self.stable {
            return Missing::Nothing;
        }
        self.whole.insert(task);
        self.force(task, wanted);
        Missing::Metadata
    }

    /// The caller makes the log stable up to this sequence, which it is not, and sleeps.
    fn force(&mut self, task: FsTask, wanted: Sequence) {
        if wanted == self.current {
            self.push();
        }
        if let Some((_, iclog)) = &mut self.under_way {
            let what = if wanted <= iclog.last { FsWait::Log } else { FsWait::OthersLog };
            match what {
                FsWait::Log => iclog.waiters.push(task),
                _ => self.active.waiters.push(task),
            }
            return self.out.push(FsWish::Sleeps(task, what));
        }
        self.active.waiters.push(task);
        self.write(Agent::Caller(task));
        self.out.push(FsWish::Sleeps(task, FsWait::Log));
    }

    /// What is in the list becomes a checkpoint of the active buffer.
    fn push(&mut self) {
        self.active.bytes += self.items.take(|inode| self.inodes.get(&inode));
        self.active.last = self.current;
        self.current += 1;
    }

    /// Submits the active buffer.
    fn write(&mut self, by: Agent) {
        let iclog = core::mem::take(&mut self.active);
        let sectors = (self.settings.header_bytes() + iclog.bytes).div_ceil(512);
        let tag = self.send(by, sectors, true);
        self.out.push(FsWish::Waits(by));
        self.under_way = Some((tag, iclog));
    }

    fn send(&mut self, by: Agent, sectors: u64, barrier: bool) -> u64 {
        let head = if self.head + sectors > self.settings.log_sectors { 0 } else { self.head };
        self.head = head + sectors;
        let start = Sector(self.settings.log_start.0 + head);
        self.out.submit(by, FsIo::Log, (start, sectors), barrier, Waiter::Sync)
    }

    /// A list that holds an eighth of the log is written by a worker; no call waits.
    fn push_long(&mut self) {
        let bytes = self.items.take(|inode| self.inodes.get(&inode));
        let room = self.settings.iclog_bytes - self.settings.header_bytes();
        let buffers = bytes.div_ceil(room);
        for nth in 0..buffers {
            let of = (bytes - nth * room).min(room);
            let sectors = (self.settings.header_bytes() + of).div_ceil(512);
            let tag = self.send(Agent::Worker, sectors, nth == 0 || nth + 1 == buffers);
            self.pushed.push(tag);
            if nth % BUFFERS == BUFFERS - 1 {
                self.out.push(FsWish::Waits(Agent::Worker));
            }
        }
        self.out.push(FsWish::Waits(Agent::Worker));
        self.current += 1;
    }

    pub(super) fn ended(&mut self, _now: Instant, tag: u64) {
        self.pushed.retain(|of| *of != tag);
        if let Some(nth) = self.flushing.iter().position(|(of, ..)| *of == tag) {
            let (_, task, wanted) = self.flushing.swap_remove(nth);
            match wanted <= self.stable {
                true => self.out.push(FsWish::Done(task)),
                false => self.force(task, wanted),
            }
            return;
        }
        let Some((_, iclog)) = self.under_way.take_if(|(of, _)| *of == tag) else { return };
        self.stable = self.stable.max(iclog.last);
        iclog.waiters.into_iter().for_each(|task| self.out.push(FsWish::Done(task)));
        if let Some(&task) = self.active.waiters.first() {
            let sleep = self.active.waiters.iter().map(|&task| FsWish::Sleeps(task, FsWait::Log));
            sleep.for_each(|wish| self.out.push(wish));
            self.write(Agent::Caller(task));
        }
    }
}

/// The allocation group of an inode's directory; which one it is does not matter to the log.
fn group_of(_inode: InodeId) -> u64 {
    0
}
