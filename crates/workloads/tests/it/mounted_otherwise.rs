//! File systems that are mounted in another way, against traces of Linux 6.18 on a loop device (2026-11-30): each call
//! once, which handles it began, and what was sent before it returned.

use blksched::{Instant, Span};
use blksched_workloads::host::fs::layout::Ext4Geometry;
use blksched_workloads::host::fs::{
    Blocks, Change, Entry, Ext4, Ext4Settings, Extent, FileExtents, FileSystem, FsIo, FsTask, FsWish, InodeId,
    JournalMode, JournalRace, Known, Missing, NamedIn, NewBlocks, Places, Syncing, TickPhase,
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
