//! File systems that are mounted in another way, against traces of Linux 6.18 on a loop device (2026-11-30): each call
//! once, which handles it began, and what was sent before it returned.

use blksched::{Bio, GroupId, Instant, Op, Priority, Sector, Span, SubmitterId, Tag};
use blksched_workloads::host::fs::layout::Ext4Geometry;
use blksched_workloads::host::fs::{
    Blocks, Change, Entry, Ext4, Ext4Settings, Extent, FileExtents, FileSystem, FsIo, FsTask, FsWish, InodeId,
    JournalMode, JournalRace, Known, Missing, NamedIn, NewBlocks, Places, Syncing, TickPhase,
};
use blksched_workloads::host::{
    Advice, ByteRange, CallWork, Host, HostCall, HostKnobs, OpenFile, RangeSync, Stable, Ticks, Wish, WriteBack,
    pages_of,
};

const FILE: InodeId = InodeId(12);
const TASK: FsTask = 1;

/// A file system with a file, and what it wants done.
struct Machine {
    fs: FileSystem,
    now: Instant,
    /// What was sent, and how long \[sectors\].
    sent: Vec<(FsIo, u32)>,
    orders: usize,
}

impl Machine {
    fn new(settings: Ext4Settings, extents: FileExtents) -> Machine {
        let geometry = Ext4Geometry::of(1 << 21);
        let fs = Ext4::new(settings, geometry, 256).with(JournalRace::First, TickPhase::default(), Places::new());
        let mut fs = FileSystem::Ext4(Box::new(fs));
        fs.know(FILE, Known { extents, names: Vec::new() });
        Machine { fs, now: Instant::ZERO, sent: Vec::new(), orders: 0 }
    }

    /// Everything that is sent ends 1 ms later, until this task wakes.
    fn until_woken(&mut self, task: FsTask) {
        for _ in 0..100 {
            let mut tags = Vec::new();
            while let Some(wish) = self.fs.wish() {
                match wish {
                    FsWish::Submit(bio) => {
                        self.sent.push((bio.what, bio.sectors));
                        tags.push(bio.tag);
                    }
                    FsWish::Order { ticket, .. } => {
                        self.orders += 1;
                        self.fs.data_is_there(self.now, ticket);
                    }
                    FsWish::Go(of) | FsWish::Done(of) if of == task => return,
                    _ => {}
                }
            }
            self.now += Span::from_ms(1);
            tags.iter().for_each(|tag| self.fs.ended(self.now, *tag));
            self.fs.elapse(self.now);
        }
        panic!("task {task} never wakes; {:?} was sent", self.sent);
    }

    /// A call changes this, and sleeps as long as it has to. True if it had to.
    fn changes(&mut self, change: Change) -> bool {
        let mut slept = false;
        while self.fs.enter(self.now, TASK, FILE, change) == Entry::Waits {
            slept = true;
            self.until_woken(TASK);
        }
        slept
    }

    /// `write` and the beginning of its write-back; returns whether its blocks count as written with their data.
    fn writes(&mut self, new_blocks: NewBlocks, blocks: Blocks) -> bool {
        self.changes(if new_blocks == NewBlocks::AtOnce { Change::Place(blocks) } else { Change::Times });
        self.changes(Change::WriteBack(blocks));
        !self.fs.is_unwritten(FILE, blocks) && self.fs.data_ended(self.now, FILE, blocks, 1)
    }

    /// What was sent by a sync.
    fn syncs(&mut self, what: Syncing) -> (Missing, Vec<(FsIo, u32)>) {
        self.sent.clear();
        let missing = self.fs.sync(self.now, TASK, FILE, what);
        if missing == Missing::Metadata {
            self.until_woken(TASK);
        }
        (missing, core::mem::take(&mut self.sent))
    }
}

fn unwritten(blocks: u64) -> FileExtents {
    let mut extents = FileExtents::default();
    extents.insert(Extent { at: 0, blocks, place: 40_000, written: false });
    extents
}

#[test]
fn blocks_that_count_as_written_at_once_are_never_converted_whatever_data_says() {
    for data in [JournalMode::Ordered, JournalMode::Writeback] {
        for new_blocks in [NewBlocks::AtOnce, NewBlocks::Written] {
            let settings = Ext4Settings { data, new_blocks, ..Ext4Settings::default() };
            // An append; blocks that fallocate has placed; and into a hole of a file.
            let holed = || {
                let mut extents = FileExtents::whole(1, 40_000);
                extents.insert(Extent { at: 9, blocks: 1, place: 40_009, written: true });
                extents
            };
            let all = [(FileExtents::default(), 0, 4), (unwritten(16), 4, 2), (holed(), 5, 4)];
            for (extents, at, log) in all {
                let mut machine = Machine::new(settings.clone(), extents);
                let blocks = (at..at + 1).into();
                assert!(machine.writes(new_blocks, blocks), "{data:?}, {new_blocks:?}, at {at}: not a conversion");
                let (missing, sent) = machine.syncs(Syncing::Data);
                assert_eq!(missing, Missing::Metadata, "{data:?}, {new_blocks:?}, at {at}: to read it is needed");
                assert_eq!(sent, [(FsIo::Log, 8 * log), (FsIo::Commit, 8)], "{data:?}, {new_blocks:?}, at {at}");
                assert_eq!(machine.orders, usize::from(data == JournalMode::Ordered));
            }
        }
    }
}

#[test]
fn a_direct_write_into_a_hole_is_converted_by_its_caller_and_orders_nothing() {
    for new_blocks in [NewBlocks::Unwritten, NewBlocks::Written, NewBlocks::AtOnce] {
        let settings = Ext4Settings { new_blocks, ..Ext4Settings::default() };
        let mut extents = FileExtents::default();
        extents.insert(Extent { at: 9, blocks: 1, place: 40_009, written: true });
        let mut machine = Machine::new(settings, extents);
        let blocks = (2..3).into();
        machine.changes(Change::DirectBegins(blocks));
        assert!(machine.fs.is_unwritten(FILE, blocks), "{new_blocks:?}");
        machine.changes(Change::DirectEnds(blocks));
        assert!(!machine.fs.is_unwritten(FILE, blocks), "{new_blocks:?}");
        assert_eq!(machine.syncs(Syncing::All), (Missing::Metadata, vec![(FsIo::Log, 32), (FsIo::Commit, 8)]));
        assert_eq!(machine.orders, 0);
    }
}

#[test]
fn under_sync_a_file_is_cut_on_the_disk_when_the_call_returns() {
    let sync = Ext4Settings { sync: true, dirsync: true, ..Ext4Settings::default() };
    let mut machine = Machine::new(sync.clone(), FileExtents::whole(256, 40_000));
    let log = |blocks: u32| vec![(FsIo::Log, 8 * blocks), (FsIo::Commit, 8)];
    assert!(machine.changes(Change::Truncate(128)));
    // A descriptor; the inode, the superblock with the list of orphans, and the group's two.
    assert_eq!(core::mem::take(&mut machine.sent), log(5));
    // Its times have changed since, and nobody waited for that.
    assert_eq!(machine.syncs(Syncing::Data), (Missing::Flush, vec![]));
    assert_eq!(machine.syncs(Syncing::All), (Missing::Metadata, log(2)));
    assert!(machine.changes(Change::Truncate(128)), "to the length that it has");
    assert_eq!(core::mem::take(&mut machine.sent), log(3));
    for change in [Change::Truncate(512), Change::Attributes, Change::Preallocate((128..256).into())] {
        assert!(!machine.changes(change), "{change:?} is not waited for");
    }
    let named = NamedIn { dir: InodeId::ROOT, name: 1 };
    assert!(machine.changes(Change::Unlink(named)));
    let commits = machine.sent.iter().filter(|(what, _)| *what == FsIo::Commit).count();
    assert_eq!(commits, 2, "the name, then the inode");
}

#[test]
fn under_dirsync_alone_only_names_are_waited_for() {
    let dirsync = Ext4Settings { dirsync: true, ..Ext4Settings::default() };
    let mut machine = Machine::new(dirsync, FileExtents::whole(256, 40_000));
    assert!(!machine.changes(Change::Truncate(0)));
    assert!(machine.changes(Change::Unlink(NamedIn { dir: InodeId::ROOT, name: 1 })));
    let commits = machine.sent.iter().filter(|(what, _)| *what == FsIo::Commit).count();
    assert_eq!(commits, 1, "the inode becomes free behind the call");
}

#[test]
fn with_neither_barriers_nor_a_commit_block_of_its_own_the_log_is_all() {
    let usual = Ext4Settings { data: JournalMode::Writeback, async_commit: true, ..Ext4Settings::default() };
    for (barrier, sent) in [(true, vec![(FsIo::Log, 24), (FsIo::Flush, 0)]), (false, vec![(FsIo::Log, 24)])] {
        let mut machine = Machine::new(Ext4Settings { barrier, ..usual.clone() }, FileExtents::whole(8, 40_000));
        machine.changes(Change::Times);
        assert_eq!(machine.syncs(Syncing::All), (Missing::Metadata, sent));
        let missing = if barrier { Missing::Flush } else { Missing::Nothing };
        assert_eq!(machine.syncs(Syncing::All), (missing, vec![]), "it is stable");
    }
}

/// Each of so many new files has a page written, one of them is synced; returns how many data writes, of whom, were
/// sent before its commit block.
fn commit_of_many_files(new_blocks: NewBlocks, files: u64) -> (u64, u64) {
    let (journal, caller) = (SubmitterId(91), SubmitterId(1));
    let geometry = Ext4Geometry::of(1 << 26);
    let settings = Ext4Settings { new_blocks, journal_blocks: 1 << 18, ..Ext4Settings::default() };
    let fs = Ext4::new(settings, geometry, 256).with(JournalRace::First, TickPhase::default(), Places::new());
    let write_back = WriteBack::Balances { ticks: Ticks::per_second(250), processors: 2 };
    let knobs = HostKnobs::parse("memory=16g").unwrap();
    let host = Host::new(knobs, write_back, SubmitterId(90), 256);
    let mut host = host.with_file_system(FileSystem::Ext4(Box::new(fs)), journal, SubmitterId(92));
    let start = |file: u64| Sector(1_000_000 + file * 8);
    (0..files).for_each(|file| host.add_file(pages_of(start(file), 8), InodeId(12 + file), Known::default()));
    let call = |file: u64, tag: u64, work: CallWork| {
        let file = OpenFile { start: start(file), sectors: 8, advice: Advice::Normal };
        let (priority, group) = (Priority::default(), GroupId::default());
        HostCall { tag: Tag(tag), submitter: caller, priority, group, file, work }
    };
    let begins = RangeSync { waits_before: false, writes: true, waits_after: false };
    let mut now = Instant::ZERO;
    for file in 0..files {
        let range = ByteRange::of_sectors(start(file), 8);
        host.call(now, call(file, 2 * file, CallWork::Write(range, Stable::Later)));
        if new_blocks == NewBlocks::Written && file > 0 {
            let begins = CallWork::Range { start: start(file), sectors: 8, what: begins };
            host.call(now, call(file, 2 * file + 1, begins));
        }
    }
    host.call(now, call(0, u64::MAX, CallWork::Sync));
    let (mut by_journal, mut by_caller) = (0, 0);
    let mut under_way: Vec<Bio> = Vec::new();
    loop {
        while let Some(wish) = host.wish(now) {
            match wish {
                Wish::Submit(bio) => {
                    let data = u64::from(bio.op == Op::Write && !bio.hints.meta);
                    by_journal += data * u64::from(bio.submitter == journal);
                    by_caller += data * u64::from(bio.submitter == caller);
                    if bio.durability.preflush {
                        assert!(under_way.is_empty(), "the commit waits for data");
                    }
                    under_way.push(bio);
                }
                Wish::Return { tag: Tag(u64::MAX), .. } => return (by_journal, by_caller),
                _ => {}
            }
        }
        // The last that came ends first, so that all that can be is under way together.
        now += Span::from_us(1);
        let due = host.next().filter(|next| *next <= now || under_way.is_empty());
        match (due, under_way.pop_if(|_| due.is_none())) {
            (None, Some(bio)) => host.completed(now, bio.tag, false, now),
            _ => {
                now = due.expect("something is to come").max(now);
                host.elapse(now);
            }
        }
    }
}

#[test]
fn a_commit_costs_what_its_transaction_placed() {
    // With a walk over all files, or over all writes under way, for each of them, these would be some 10^9 steps.
    let files = 60_000;
    assert_eq!(commit_of_many_files(NewBlocks::AtOnce, files), (files - 1, 1), "jbd2 writes others' data");
    assert_eq!(commit_of_many_files(NewBlocks::Written, files), (0, files), "it waits for what is under way");
}
