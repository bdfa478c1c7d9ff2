//! xfs: what a call logs, and the log writes that a sync forces.
//!
//! **Rule** changes go into the committed item list (CIL), in memory. A sync pushes what is in the list, everybody's
//! items, into the active log buffer as a checkpoint of its own, and submits the buffer itself, with its own priority
//! and group; while a forced buffer is under way it sleeps, so that company gathers, and the first to wake submits
//! one buffer for all. Nothing else is written, except by a list that holds an eighth of the log, every 30 s, and when
//! a change finds no room in the log.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use blksched::author::Waiter;
use blksched::{Instant, Sector, Span};

use super::extents::{Blocks, Extent, FileExtents};
use super::inode::{Change, InodeId, Known, NamedIn};
use super::kind::XfsSettings;
use super::outbox::{Agent, FsIo, FsOutbox, FsTask, FsWait, FsWish};
use super::race::TickPhase;
use super::{BLOCK_SECTORS, Entry, Missing, Syncing};

mod items;
mod log;
mod room;

use items::{CHUNK, CommittedItems, InodeItem, Names};
use log::{Forced, Iclog};
use room::{First, NewerInLog};

/// How often a worker forces the log, if there is anything to force: 30 s of the coarse timer (recorded: 30.7 s).
const FORCES_EVERY: Span = Span::from_ms(30_720);

/// A checkpoint, by the number of its list.
type Sequence = u64;

#[derive(Clone, Debug, Default)]
struct XfsInode {
    extents: FileExtents,
    /// What is in it, if it is a directory.
    names: Names,
    changed: Option<u64>,
    /// What has been logged of it, and is again with every change until it is written home.
    logged: Option<InodeItem>,
    /// The last list with any change of it, and with one that its data need.
    any: Sequence,
    needed: Sequence,
}

/// The largest file without room behind it, and the least that is taken at once for a larger one \[blocks\].
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
    /// The forced buffer that is under way.
    under_way: Option<Forced>,
    /// Syncs that flush the disk of the data first, where the log has another one: by bio, who, and what it wants.
    flushing: Vec<(u64, FsTask, Sequence)>,
    /// Whole buffers of long lists that are under way: nothing behind them is written before they have ended.
    pushed: BTreeSet<u64>,
    /// Whole buffers that wait for a free one. The first of a list has the end of the lists up to this one.
    queued: VecDeque<Option<Sequence>>,
    /// Buffers that are not free, the oldest first, by their bios; and the same.
    buffers: VecDeque<(u64, Option<Sequence>)>,
    /// Where the next log write goes \[sectors from the log's beginning\], and how many have been written in all.
    head: u64,
    written: u64,
    force: Option<Instant>,
    phase: TickPhase,
    /// `sync`s that wait for the log.
    whole: BTreeSet<FsTask>,
    next_place: u64,
    /// Inodes that have blocks, by 64.
    chunks: BTreeSet<u64>,
    /// The places that blocks of files got in a recording.
    recorded: BTreeMap<(InodeId, u64), u64>,
    newer: NewerInLog,
    /// Tasks that sleep for room in the log, the first that came first.
    for_room: VecDeque<FsTask>,
    first: First,
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
            pushed: BTreeSet::new(),
            queued: VecDeque::new(),
            buffers: VecDeque::new(),
            head: 0,
            written: 0,
            force: None,
            phase: TickPhase::default(),
            whole: BTreeSet::new(),
            next_place: 1024,
            chunks: BTreeSet::new(),
            recorded: BTreeMap::new(),
            newer: NewerInLog::default(),
            for_room: VecDeque::new(),
            first: First::default(),
            freed: VecDeque::new(),
            out: FsOutbox::default(),
        }
    }

    /// The same with another phase of the clock.
    pub fn with_phase(mut self, phase: TickPhase) -> Xfs {
        self.phase = phase;
        self
    }

    /// The same, with the places that a recording has for blocks of files.
    pub fn with_places(mut self, recorded: BTreeMap<(InodeId, u64), u64>) -> Xfs {
        self.recorded = recorded;
        self
    }

    /// The same, where an unlinked file's end is in the list already: what the preparation of a recording left there.
    pub fn with_left_over(mut self) -> Xfs {
        self.items.allocation(0);
        self.free(InodeId(0));
        self
    }

    pub(super) fn know(&mut self, inode: InodeId, known: Known) {
        let Known { extents, names } = known;
        if extents.count() > 0 {
            self.chunks.insert(inode.0 / CHUNK);
        }
        let names = Names::at_home(&names);
        self.inodes.insert(inode, XfsInode { extents, names, ..XfsInode::default() });
    }

    pub(super) fn wish(&mut self) -> Option<FsWish> {
        self.first_has_asked();
        let wish = self.out.next();
        if let Some(FsWish::Go(_)) = wish {
            self.first = First::Asks;
        }
        wish
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
            if !self.items.is_empty() || self.active.bytes > 0 {
                if !self.items.is_empty() {
                    self.push();
                }
                if self.is_free() {
                    self.write(Agent::Worker);
                }
            }
            self.go_home(|_, _| true);
            if !self.newer.is_empty() {
                self.force = Some(now + FORCES_EVERY);
            }
        }
    }

    pub(super) fn enter(&mut self, now: Instant, task: FsTask, inode: InodeId, change: Change) -> Entry {
        let tick = self.phase.tick(now);
        if !self.has_room(task, inode, &change, tick) {
            return Entry::Waits;
        }
        match change {
            Change::JournalData { .. } | Change::Place(_) | Change::Times => self.touch(inode, tick),
            Change::Attributes => self.log(inode, InodeItem::Times, true),
            Change::WriteBack(blocks) => self.place(inode, &blocks, Placing::Behind),
            Change::DirectBegins(blocks) => {
                self.touch(inode, tick);
                self.place(inode, &blocks, Placing::Exact);
            }
            Change::DirectEnds(blocks) => _ = self.data_ended(inode, blocks),
            Change::Preallocate(blocks) => self.place(inode, &blocks, Placing::Exact),
            Change::Truncate(blocks) => {
                self.inode(inode).extents.truncate(blocks);
                self.items.allocation(self.group_of(inode));
                self.log(inode, InodeItem::Extents, true);
            }
            Change::Create(at) => self.create(inode, at, tick),
            Change::MakeDirectory(at) | Change::Symlink(at) => {
                self.create(inode, at, tick);
                self.log(inode, InodeItem::Names, true);
            }
            Change::Unlink(at) | Change::RemoveDirectory(at) => self.unlink(now, inode, at),
            Change::Rename { from, to, over } => self.rename(now, inode, from, to, over),
        }
        self.force.get_or_insert(now + FORCES_EVERY);
        if self.items.bytes() > self.settings.log_sectors * 512 / 8 {
            self.push();
        }
        Entry::Done
    }

    fn inode(&mut self, inode: InodeId) -> &mut XfsInode {
        self.inodes.entry(inode).or_default()
    }

    /// The allocation group of an inode, and of its data.
    fn group_of(&self, inode: InodeId) -> u64 {
        inode.0 / self.settings.inodes_per_group
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
        // Once logged, the extents are logged with every change until the inode is written home, as recorded.
        let item = known.logged.map_or(item, |logged| item.max(logged));
        known.logged = Some(item);
        known.any = current;
        if needed {
            known.needed = current;
        }
        self.items.inode(inode, item, self.inodes.get(&inode));
    }

    fn place(&mut self, inode: InodeId, blocks: &Blocks, how: Placing) {
        let mut any = false;
        let blocks_of_group = self.settings.inodes_per_group / BLOCK_SECTORS;
        while let Some(hole) = self.inode(inode).extents.hole(blocks) {
            let behind = if how == Placing::Behind { self.behind(inode, &hole) } else { 0 };
            let recorded = self.recorded.get(&(inode, hole.start)).copied();
            let place = recorded.unwrap_or(self.next_place);
            // Data are in their file's group, unless another process is in it just then.
            let group = recorded.map_or(self.group_of(inode), |place| place / blocks_of_group);
            self.items.allocation(group);
            let blocks = hole.count() + behind;
            self.next_place += blocks;
            self.inode(inode).extents.insert(Extent { at: hole.start, blocks, place, written: false });
            any = true;
        }
        if any {
            self.log(inode, InodeItem::Extents, true);
        }
    }

    /// How many blocks are preallocated behind these, at the end of a file beyond 64 KiB: what is taken at once is at
    /// least 64 KiB, and twice as long as the extent before, as recorded; behind a file that is written in one go, as
    /// much again as it is long.
    fn behind(&self, inode: InodeId, hole: &Blocks) -> u64 {
        let extents = self.inodes.get(&inode).map(|known| &known.extents);
        let Some(extents) = extents.filter(|extents| hole.start >= extents.end() && hole.end > SMALL) else { return 0 };
        let taken = match extents.last_before(hole.start) {
            Some(before) if hole.start >= SMALL => (2 * before).next_power_of_two().clamp(SMALL, 2 * LARGEST),
            Some(_) => 0,
            None => hole.count() + hole.end.next_power_of_two().min(LARGEST),
        };
        taken.saturating_sub(hole.count())
    }

    pub(super) fn is_unwritten(&self, inode: InodeId, blocks: Blocks) -> bool {
        self.inodes.get(&inode).is_some_and(|known| known.extents.is_unwritten(&blocks))
    }

    /// Blocks that were unwritten are written, in memory.
    pub(super) fn data_ended(&mut self, inode: InodeId, blocks: Blocks) -> bool {
        if self.inode(inode).extents.convert(&blocks) {
            self.log(inode, InodeItem::Extents, true);
        }
        true
    }

    fn create(&mut self, inode: InodeId, at: NamedIn, tick: u64) {
        // Its number may be that of one that is about to be freed.
        while let Some(nth) = self.freed.iter().position(|(_, of)| *of == inode) {
            self.freed.remove(nth);
            self.free(inode);
        }
        self.chunks.insert(at.dir.0 / CHUNK);
        if self.chunks.insert(inode.0 / CHUNK) {
            let (group, per_group) = (self.group_of(inode), self.settings.inodes_per_group / CHUNK);
            let chunks = self.chunks.range(group * per_group..(group + 1) * per_group).count() as u64;
            self.items.chunk(group, chunks);
        }
        self.inode(at.dir).names.add(at.name);
        self.items.creation(self.group_of(at.dir));
        self.log(at.dir, InodeItem::Names, true);
        self.inode(inode).changed = Some(tick);
        self.log(inode, InodeItem::Extents, true);
    }

    /// The name goes; the inode's end comes later.
    fn unlink(&mut self, now: Instant, inode: InodeId, at: NamedIn) {
        self.inode(at.dir).names.remove(at.name);
        self.log(at.dir, InodeItem::Names, true);
        self.log(inode, InodeItem::Times, true);
        self.items.unlinked(self.group_of(inode));
        self.freed.push_back((now + FREES_AFTER, inode));
    }

    fn free(&mut self, inode: InodeId) {
        if self.inodes.remove(&inode).is_some_and(|known| known.extents.count() > 0) {
            self.items.allocation(self.group_of(inode));
        }
        self.items.creation(self.group_of(inode));
        self.items.inode(inode, InodeItem::Times, None);
    }

    fn rename(&mut self, now: Instant, inode: InodeId, from: NamedIn, to: u64, over: Option<InodeId>) {
        self.inode(from.dir).names.remove(from.name);
        if let Some(over) = over {
            self.unlink(now, over, NamedIn { dir: from.dir, name: to });
        }
        self.inode(from.dir).names.add(to);
        self.log(from.dir, InodeItem::Names, true);
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
            // Data first, then the size that covers them.
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
}

/// How places are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placing {
    /// As many as are written: direct data, `fallocate`.
    Exact,
    /// And some behind a long file.
    Behind,
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIR: InodeId = InodeId(128);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_ms(ms)
    }

    /// What was submitted since it was last asked: the tag, who, what, and how long \[sectors\].
    fn sent(fs: &mut Xfs) -> Vec<(u64, Agent, FsIo, u32)> {
        let wishes = core::iter::from_fn(|| fs.wish());
        let bio = |wish| match wish {
            FsWish::Submit(bio) => Some((bio.tag, bio.by, bio.what, bio.sectors)),
            _ => None,
        };
        wishes.filter_map(bio).collect()
    }

    fn write(fs: &mut Xfs, inode: InodeId, blocks: Blocks) {
        fs.enter(Instant::ZERO, 0, inode, Change::WriteBack(blocks));
        fs.data_ended(inode, blocks);
    }

    #[test]
    fn a_list_that_is_longer_than_a_buffer_is_stable_when_all_of_it_is() {
        let mut fs = Xfs::new(XfsSettings::default());
        for file in 0..200 {
            fs.enter(Instant::ZERO, 0, InodeId(128 + file), Change::Create(NamedIn { dir: DIR, name: 8 }));
        }
        assert_eq!(fs.sync(Instant::ZERO, 7, InodeId(300), Syncing::All), Missing::Metadata);
        let whole = sent(&mut fs);
        assert_eq!(whole.len(), 1);
        let (tag, by, what, sectors) = whole[0];
        assert_eq!((by, what, sectors), (Agent::Worker, FsIo::Log, 64), "a whole buffer, and the rest waits for it");
        fs.ended(at(10), tag);
        let rest = sent(&mut fs);
        assert_eq!((rest.len(), rest[0].1, rest[0].2), (1, Agent::Caller(7), FsIo::Log));
        fs.ended(at(20), rest[0].0);
        assert_eq!(fs.wish(), Some(FsWish::Done(7)));
        assert_eq!(fs.sync(at(20), 7, InodeId(300), Syncing::All), Missing::Flush, "it is stable");
    }

    #[test]
    fn where_the_log_has_its_own_disk_each_sync_flushes_the_data_and_so_does_who_sends_the_buffer() {
        let mut fs = Xfs::new(XfsSettings { own_disk: true, ..XfsSettings::default() });
        let what = |bios: &[(u64, Agent, FsIo, u32)]| bios.iter().map(|bio| (bio.1, bio.2)).collect::<Vec<_>>();
        for (task, inode) in [(7, InodeId(130)), (8, InodeId(131))] {
            write(&mut fs, inode, (0..1).into());
            assert_eq!(fs.sync(Instant::ZERO, task, inode, Syncing::All), Missing::Metadata);
        }
        let first = sent(&mut fs);
        assert_eq!(what(&first), [(Agent::Caller(7), FsIo::Flush), (Agent::Caller(8), FsIo::Flush)]);
        first.iter().for_each(|bio| fs.ended(at(1), bio.0));
        let second = sent(&mut fs);
        assert_eq!(what(&second), [(Agent::Caller(7), FsIo::Flush)], "the other waits for its buffer");
        fs.ended(at(2), second[0].0);
        let log = sent(&mut fs);
        assert_eq!(what(&log), [(Agent::Caller(7), FsIo::Log)]);
        fs.ended(at(3), log[0].0);
        let done: Vec<FsWish> = core::iter::from_fn(|| fs.wish()).collect();
        assert_eq!(done, [FsWish::Done(7), FsWish::Done(8)]);
        assert_eq!(fs.sync(at(4), 7, InodeId(130), Syncing::All), Missing::Flush, "nothing but the data's");
    }

    #[test]
    fn a_long_list_is_sent_in_as_many_buffers_at_a_time_as_there_are() {
        let mut fs = Xfs::new(XfsSettings { log_buffers: 2, ..XfsSettings::default() });
        for file in 0..2000 {
            fs.enter(Instant::ZERO, 0, InodeId(128 + file), Change::Create(NamedIn { dir: DIR, name: 8 }));
        }
        assert_eq!(fs.sync(Instant::ZERO, 7, InodeId(300), Syncing::All), Missing::Metadata);
        let mut under_way = sent(&mut fs);
        assert_eq!(under_way.len(), 2, "no more than there are");
        // A buffer is free when those before it are.
        fs.ended(at(10), under_way.remove(1).0);
        assert_eq!(sent(&mut fs), []);
        fs.ended(at(20), under_way.remove(0).0);
        under_way = sent(&mut fs);
        assert_eq!(under_way.len(), 2);
        let mut whole = 4;
        while under_way[0].1 == Agent::Worker {
            fs.ended(at(30), under_way.remove(0).0);
            let more = sent(&mut fs);
            whole += more.iter().filter(|bio| bio.1 == Agent::Worker).count();
            under_way.extend(more);
            assert!(under_way.len() <= 2);
        }
        assert_eq!((whole, under_way.len(), under_way[0].1), (17, 1, Agent::Caller(7)), "the rest by the sync");
        fs.ended(at(40), under_way[0].0);
        assert_eq!(fs.wish(), Some(FsWish::Done(7)));
    }

    #[test]
    fn a_list_is_stable_when_the_first_buffer_of_the_next_is() {
        let mut fs = Xfs::new(XfsSettings { log_sectors: 2048, ..XfsSettings::default() });
        let create = |fs: &mut Xfs, file: u64| {
            fs.enter(Instant::ZERO, 0, InodeId(128 + file), Change::Create(NamedIn { dir: DIR, name: 8 }));
            InodeId(128 + file)
        };
        let first = create(&mut fs, 1);
        assert_eq!(fs.sync(Instant::ZERO, 6, first, Syncing::All), Missing::Metadata);
        let log = sent(&mut fs);
        let second = create(&mut fs, 2);
        assert_eq!(fs.sync(Instant::ZERO, 7, second, Syncing::All), Missing::Metadata);
        assert_eq!(sent(&mut fs), [], "it sleeps until the one under way has ended");
        // Others fill a list, which is pushed into the same buffer and further ones.
        let whole = (3..).map(|file| (create(&mut fs, file), sent(&mut fs)).1).find(|sent| !sent.is_empty());
        let whole = whole.expect("without end");
        assert!(whole.len() > 2);
        fs.ended(at(10), log[0].0);
        fs.ended(at(20), whole[0].0);
        let done = core::iter::from_fn(|| fs.wish()).filter(|wish| matches!(wish, FsWish::Done(_)));
        assert_eq!(done.collect::<Vec<_>>(), [FsWish::Done(6), FsWish::Done(7)]);
        assert_eq!(fs.sync(at(20), 7, second, Syncing::All), Missing::Flush, "it is stable");
    }

    #[test]
    fn a_create_in_a_long_directory_logs_no_more_than_in_a_short_one() {
        let mut fs = Xfs::new(XfsSettings { log_sectors: 16_384, ..XfsSettings::default() });
        let (mut before, mut files) = (0, 0..100_000);
        while !files.is_empty() {
            for file in files.by_ref().take(5000) {
                let change = Change::Create(NamedIn { dir: DIR, name: 8 });
                while fs.enter(Instant::ZERO, 0, InodeId(129 + file), change) == Entry::Waits {
                    sent(&mut fs).iter().for_each(|bio| fs.ended(Instant::ZERO, bio.0));
                }
                sent(&mut fs).iter().for_each(|bio| fs.ended(Instant::ZERO, bio.0));
            }
            let of_each = (fs.written - before) * 512 / 5000;
            assert!(of_each < 4096, "{of_each} bytes for each creation before {}", files.start);
            before = fs.written;
        }
    }

    #[test]
    fn what_is_stable_in_the_log_goes_home_in_the_next_round() {
        let mut fs = Xfs::new(XfsSettings::default());
        fs.enter(Instant::ZERO, 0, InodeId(130), Change::Create(NamedIn { dir: DIR, name: 8 }));
        let round = fs.next().expect("a round");
        fs.elapse(round);
        let log = sent(&mut fs);
        assert_eq!((log.len(), log[0].1, log[0].2), (1, Agent::Worker, FsIo::Log));
        fs.ended(round, log[0].0);
        let next = fs.next().expect("another round");
        assert_eq!(next, round + FORCES_EVERY);
        fs.elapse(next);
        let home: Vec<(FsIo, u32)> = sent(&mut fs).iter().map(|(_, _, what, sectors)| (*what, *sectors)).collect();
        // What the group knows of its inodes, and a cluster of them.
        assert_eq!(home, [1, 8, 8, 32].map(|sectors| (FsIo::Home, sectors)), "in the disk's order");
        assert_eq!(fs.next(), None);
    }

    #[test]
    fn behind_64_kib_an_append_finds_room_that_the_one_before_has_taken() {
        let mut fs = Xfs::new(XfsSettings::default());
        let file = InodeId(130);
        fs.know(file, Known { extents: FileExtents::whole(16, 100), names: Vec::new() });
        write(&mut fs, file, (16..17).into());
        assert_eq!(fs.items.bytes(), 848 + 16 * 3, "AGF and two trees; written, and 31 blocks that are not");
        fs.items.take();
        write(&mut fs, file, (17..18).into());
        assert_eq!(fs.items.bytes(), 320 + 16 * 3, "nothing but the inode");
    }

    #[test]
    fn a_file_that_is_made_again_at_once_is_not_freed_with_the_one_before() {
        let mut fs = Xfs::new(XfsSettings::default());
        let (file, named) = (InodeId(130), NamedIn { dir: DIR, name: 8 });
        fs.enter(Instant::ZERO, 0, file, Change::Create(named));
        fs.enter(Instant::ZERO, 0, file, Change::Unlink(named));
        fs.enter(Instant::ZERO, 0, file, Change::Create(named));
        fs.elapse(at(8));
        assert_eq!(fs.sync(at(8), 7, file, Syncing::All), Missing::Metadata, "it is not on the disk");
    }
}
