//! Laws of file systems below the page cache, over random calls and random times of the disk: data that an fsync has
//! acknowledged are on the disk, a commit block is never sent before its log has ended, and every call returns.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use blksched::{Bio, GroupId, Instant, Op, Priority, Sector, Span, SubmitterId, Tag};
use blksched_workloads::host::fs::layout::Ext4Geometry;
use blksched_workloads::host::fs::{
    Change, Entry, Ext4, Ext4Settings, FileExtents, FileSystem, FsBio, FsKind, FsWish, InodeId, JournalMode,
    JournalRace, Known, Missing, NewBlocks, Places, Syncing, TickPhase, Xfs, XfsSettings,
};
use blksched_workloads::host::{
    Advice, ByteRange, CallWork, Calls, Host, HostCall, HostKnobs, NameChange, OpenFile, RangeSync, Stable, SyncAll,
    Ticks, WaitsFor, Wish, WriteBack, pages_of,
};
use proptest::prelude::*;

/// The length of each file \[sectors\].
const FILE: u64 = 800;

/// What a process does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Write(u8),
    Direct(u8),
    /// `sync_file_range(SYNC_FILE_RANGE_WRITE)`: begins to write, and waits for nothing.
    Start,
    /// `unlink`, which whoever writes on does not notice here.
    Replace,
    /// `open` with `O_CREAT`.
    Make,
    Fsync,
    Fdatasync,
    SyncAll(SyncAll),
}

/// A file system under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tested {
    Ext4,
    /// Commit blocks do not wait for their logs.
    Async,
    NoBarrier,
    AsyncNoBarrier,
    /// Data go through the journal.
    DataJournal,
    /// `write` gives blocks places, and commits write data.
    NoDelalloc,
    /// Commits wait for data.
    DioreadLock,
    /// The same two, and no commit waits for data.
    NoDelallocWriteback,
    DioreadLockWriteback,
    /// Calls wait for commits.
    Sync,
    NoJournal,
    /// Without extents: files have indirect blocks.
    Ext3,
    Ext2,
    Xfs,
    /// A log that is full after some dozens of syncs.
    XfsShortLog,
}

const ALL: [Tested; 15] = [
    Tested::Ext4,
    Tested::Async,
    Tested::DataJournal,
    Tested::NoDelalloc,
    Tested::DioreadLock,
    Tested::NoDelallocWriteback,
    Tested::DioreadLockWriteback,
    Tested::Sync,
    Tested::NoBarrier,
    Tested::AsyncNoBarrier,
    Tested::NoJournal,
    Tested::Ext3,
    Tested::Ext2,
    Tested::Xfs,
    Tested::XfsShortLog,
];

struct Rig {
    host: Host,
    now: Instant,
    ends: BinaryHeap<Reverse<(Instant, u64)>>,
    /// Bios under way, by number: whether they are a process's own.
    bios: BTreeMap<u64, (Bio, bool)>,
    count: u64,
    /// Pages whose latest contents are on the disk.
    stable: BTreeSet<u64>,
    returned: BTreeSet<u64>,
    /// How long syncs took in all, and how many there were.
    synced: (Span, u64),
    random: u64,
}

impl Rig {
    fn new(tested: Tested, seed: u64) -> Rig {
        let sectors = 1 << 21;
        let phase = TickPhase::at(Span::ZERO);
        let kind = match tested {
            Tested::Ext3 => FsKind::Ext3,
            Tested::Ext2 => FsKind::Ext2,
            _ => FsKind::Ext4,
        };
        let geometry = Ext4Geometry::of_kind(kind, sectors);
        let (journal_start, _) = geometry.journal();
        // A journal so short that it wraps and is checkpointed.
        let usual = Ext4Settings { journal_start, journal_blocks: 1024, ..Ext4Settings::default() };
        let settings = match tested {
            Tested::Ext4 | Tested::Xfs | Tested::XfsShortLog => usual,
            Tested::Async => Ext4Settings { data: JournalMode::Writeback, async_commit: true, ..usual },
            Tested::AsyncNoBarrier => {
                Ext4Settings { data: JournalMode::Writeback, async_commit: true, barrier: false, ..usual }
            }
            Tested::DataJournal => Ext4Settings { data: JournalMode::Journal, ..usual },
            Tested::NoDelalloc => Ext4Settings { new_blocks: NewBlocks::AtOnce, ..usual },
            Tested::DioreadLock => Ext4Settings { new_blocks: NewBlocks::Written, ..usual },
            Tested::NoDelallocWriteback => {
                Ext4Settings { data: JournalMode::Writeback, new_blocks: NewBlocks::AtOnce, ..usual }
            }
            Tested::DioreadLockWriteback => {
                Ext4Settings { data: JournalMode::Writeback, new_blocks: NewBlocks::Written, ..usual }
            }
            Tested::Sync => Ext4Settings { sync: true, dirsync: true, ..usual },
            Tested::NoBarrier => Ext4Settings { barrier: false, ..usual },
            Tested::NoJournal => Ext4Settings { has_journal: false, ..usual },
            Tested::Ext3 | Tested::Ext2 => {
                Ext4Settings { new_blocks: NewBlocks::AtOnce, has_journal: tested == Tested::Ext3, ..usual }
            }
        };
        let fs = match tested {
            Tested::Xfs => FileSystem::Xfs(Box::new(Xfs::new(XfsSettings::default()))),
            Tested::XfsShortLog => {
                let settings = XfsSettings { log_sectors: 800, log_buffers: 2, ..XfsSettings::default() };
                FileSystem::Xfs(Box::new(Xfs::new(settings)))
            }
            _ => {
                let fs = Ext4::new(settings, geometry, 32);
                FileSystem::Ext4(Box::new(fs.with(JournalRace::Drawn { state: seed }, phase, Places::new())))
            }
        };
        let write_back = WriteBack::Balances { ticks: Ticks::per_second(250), processors: 2 };
        let host = Host::new(HostKnobs::default(), write_back, SubmitterId(90), 256);
        let mut host = host.with_file_system(fs, SubmitterId(91), SubmitterId(92));
        for process in 0..3 {
            let extents = FileExtents::whole(if process == 0 { FILE / 8 } else { 0 }, 50_000 + process * 1000);
            // ext4: in one block of the inode table; xfs, which has clusters of 32: each in its own, or all in one.
            let inode = if tested == Tested::XfsShortLog { 128 + 32 * process } else { 12 + process };
            host.add_file(pages_of(start(process), FILE), InodeId(inode), Known { extents, names: Vec::new() });
        }
        Rig {
            host,
            now: Instant::ZERO,
            ends: BinaryHeap::new(),
            bios: BTreeMap::new(),
            count: 0,
            stable: BTreeSet::new(),
            returned: BTreeSet::new(),
            synced: (Span::ZERO, 0),
            random: seed | 1,
        }
    }

    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }

    fn obey(&mut self) {
        while let Some(wish) = self.host.wish(self.now) {
            let (bio, own) = match wish {
                Wish::Submit(bio) => (bio, false),
                Wish::GoOn(bio) => (bio, true),
                Wish::Return { tag, .. } => {
                    self.returned.insert(tag.0);
                    continue;
                }
                Wish::Landed(bio) => {
                    self.returned.insert(bio.tag.0);
                    continue;
                }
                Wish::Waits(_) | Wish::WaitedForMemory(_) => continue,
            };
            let is_log = |bio: &Bio| bio.hints.meta && bio.submitter == SubmitterId(91);
            if bio.durability.preflush && is_log(&bio) {
                assert!(!self.bios.values().any(|(other, _)| is_log(other)), "a commit block before its log ended");
            }
            let takes = Span::from_us(100 + self.random() % 20_000);
            self.count += 1;
            self.bios.insert(self.count, (bio, own));
            self.ends.push(Reverse((self.now + takes, self.count)));
        }
    }

    /// Until this call has returned, or nothing more happens.
    fn run(&mut self, until: Option<u64>) {
        self.obey();
        while !until.is_some_and(|tag| self.returned.contains(&tag)) {
            let end = self.ends.peek().map(|Reverse((at, _))| *at);
            let Some(next) = [end, self.host.next()].into_iter().flatten().min() else { break };
            if until.is_none() && end.is_none() && next.since(self.now) > Span::from_secs(40) {
                break;
            }
            self.now = self.now.max(next);
            if end == Some(next) {
                let Reverse((_, number)) = self.ends.pop().unwrap();
                let (bio, own) = self.bios.remove(&number).unwrap();
                if bio.op == Op::Write && !bio.hints.meta {
                    self.stable.extend(pages_of(bio.start, u64::from(bio.sectors)));
                }
                match own {
                    false => self.host.completed(self.now, bio.tag, false, self.now),
                    true => assert!(self.host.landed(self.now, bio.tag), "a direct write to a file"),
                }
            } else {
                self.host.elapse(self.now);
            }
            self.obey();
            if until.is_none() && self.ends.is_empty() && self.host.busy() == (0, 0) {
                break;
            }
        }
    }

    /// Runs until this sync, which has just been called, returns.
    fn run_sync(&mut self, tag: u64) {
        let begun = self.now;
        self.run(Some(tag));
        assert!(self.returned.contains(&tag), "sync {tag} never returned");
        self.synced = (self.synced.0 + self.now.since(begun), self.synced.1 + 1);
    }
}

fn start(process: u64) -> Sector {
    Sector(400_000 + process * 8000)
}

/// What syncs waited for.
fn laws(tested: Tested, seed: u64, steps: &[(u8, Step)]) -> Calls {
    let mut rig = Rig::new(tested, seed);
    let mut dirty: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for (tag, (process, step)) in (1000u64..).zip(steps) {
        let process = u64::from(*process % 3);
        // A process does one thing at a time.
        if let Some(before) = last.insert(process, tag) {
            rig.run(Some(before));
            assert!(rig.returned.contains(&before), "call {before} never returned");
        }
        let file = OpenFile { start: start(process), sectors: FILE, advice: Advice::Normal };
        let submitter = SubmitterId(process as u32);
        let sector = |page: u8| Sector(start(process).0 + u64::from(page % 100) * 8);
        let work = match *step {
            Step::Direct(page) => {
                rig.host.bypass(rig.now, Bio::write(tag, submitter, sector(page), 8));
                continue;
            }
            Step::Write(page) => {
                let page_number = sector(page).0 / 8;
                rig.stable.remove(&page_number);
                dirty.entry(process).or_default().insert(page_number);
                CallWork::Write(ByteRange::of_sectors(sector(page), 8), Stable::Later)
            }
            Step::Start => {
                let what = RangeSync { waits_before: false, writes: true, waits_after: false };
                CallWork::Range { start: start(process), sectors: FILE, what }
            }
            Step::Replace => {
                dirty.remove(&process);
                CallWork::Name(NameChange::Unlink(5))
            }
            Step::Make => CallWork::Name(NameChange::Create(5)),
            Step::Fsync => CallWork::Sync,
            Step::Fdatasync => CallWork::SyncData,
            Step::SyncAll(what) => CallWork::SyncAll(what),
        };
        let (priority, group) = (Priority::default(), GroupId::default());
        rig.host.call(rig.now, HostCall { tag: Tag(tag), submitter, priority, group, file, work });
        let through = match step {
            Step::Fsync | Step::Fdatasync => vec![process],
            // What others are still about to write need not be on the disk.
            Step::SyncAll(_) => {
                let is_through = |of: &u64| *of == process || rig.returned.contains(&last[of]);
                dirty.keys().copied().filter(is_through).collect()
            }
            _ => continue,
        };
        rig.run_sync(tag);
        for page in through.into_iter().flat_map(|of| dirty.remove(&of).unwrap_or_default()) {
            assert!(rig.stable.contains(&page), "page {page} was acknowledged and is not on the disk");
        }
    }
    rig.run(None);
    for tag in last.values() {
        assert!(rig.returned.contains(tag), "call {tag} never returned");
    }
    let waited = rig.host.report().syncs;
    let parts = WaitsFor::ALL.iter().fold(Span::ZERO, |sum, what| sum + waited.on(*what));
    let (took, syncs) = rig.synced;
    assert!(parts <= took && took <= parts + Span::from_us(10) * syncs, "{parts:?} of {took:?}: {waited:?}");
    waited
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<u8>().prop_map(Step::Write),
        1 => any::<u8>().prop_map(Step::Direct),
        1 => Just(Step::Start),
        1 => Just(Step::Replace),
        1 => Just(Step::Make),
        2 => Just(Step::Fsync),
        1 => Just(Step::Fdatasync),
        1 => prop::sample::select(vec![SyncAll::Everything, SyncAll::FileSystem]).prop_map(Step::SyncAll),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_fsync_acknowledges_is_on_the_disk_and_every_call_returns(
        tested in prop::sample::select(ALL.to_vec()),
        seed in any::<u64>(),
        steps in prop::collection::vec((any::<u8>(), step()), 1..120),
    ) {
        laws(tested, seed, &steps);
    }
}

#[test]
fn a_write_that_is_only_begun_waits_in_the_file_system_without_its_caller() {
    // While another's commit logs the block that the allocation needs.
    let steps = |nth: u8| [(1, Step::Write(nth)), (1, Step::Fsync), (2, Step::Write(nth)), (2, Step::Start)];
    for seed in 0..8 {
        laws(Tested::Ext4, seed, &(0..60).flat_map(steps).collect::<Vec<_>>());
    }
}

#[test]
fn a_short_journal_is_checkpointed_and_goes_on() {
    // 700 commits of 5 blocks and more through a ring of 1023.
    let steps: Vec<(u8, Step)> =
        (0..1400).map(|nth| (1, if nth % 2 == 0 { Step::Write((nth / 2 % 100) as u8) } else { Step::Fsync })).collect();
    laws(Tested::Ext4, 7, &steps);
}

#[test]
fn a_short_log_is_written_home_and_goes_on() {
    // One file's times hold the log's tail while another's are logged again and again, until an append finds no room.
    let syncs = |process: u8, page: u8| [(process, Step::Write(page)), (process, Step::Fsync)];
    let round = |nth: u8| syncs(0, nth).into_iter().chain((0..120).flat_map(move |_| syncs(2, 7))).chain(syncs(1, nth));
    let waited = laws(Tested::XfsShortLog, 7, &(0..16).flat_map(round).collect::<Vec<_>>());
    assert!(!waited.on(WaitsFor::LogRoom).is_zero(), "{waited:?}");
}

#[test]
fn the_parts_of_an_fsync_are_told_apart() {
    let of = |tested, processes: u8| {
        let both =
            |nth: u8| (0..processes).flat_map(move |process| [(process, Step::Write(nth)), (process, Step::Fsync)]);
        laws(tested, 7, &(0..60).flat_map(both).collect::<Vec<_>>())
    };
    for tested in [Tested::Ext4, Tested::Xfs] {
        let alone = of(tested, 1);
        assert!(!alone.on(WaitsFor::Writing).is_zero() && !alone.on(WaitsFor::Log).is_zero(), "{alone:?}");
        assert_eq!(alone.on(WaitsFor::OthersLog), Span::ZERO, "nobody else has one: {alone:?}");
        // xfs has no commit block of its own.
        assert_eq!(alone.on(WaitsFor::Commit).is_zero(), tested == Tested::Xfs, "{alone:?}");
        // Where two writes fall into one tick of the clock, the second changes no metadata.
        assert!(alone.on(WaitsFor::Flush) * 20 < alone.on(WaitsFor::Writing), "{alone:?}");
    }
    // Without a journal there is no log, and a flush behind what is written home.
    for tested in [Tested::NoJournal, Tested::Ext2] {
        let alone = of(tested, 1);
        for what in [WaitsFor::Writing, WaitsFor::Home, WaitsFor::Flush] {
            assert!(!alone.on(what).is_zero(), "{what:?}: {alone:?}");
        }
        for what in [WaitsFor::Log, WaitsFor::OthersLog, WaitsFor::Commit, WaitsFor::LogRoom] {
            assert!(alone.on(what).is_zero(), "{what:?}: {alone:?}");
        }
    }
}

/// Bios that were submitted, and tasks that wake; the journal goes on until there are any.
fn next_wishes(fs: &mut FileSystem, now: &mut Instant) -> (Vec<FsBio>, Vec<u32>) {
    let (mut bios, mut woken) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        while let Some(wish) = fs.wish() {
            match wish {
                FsWish::Submit(bio) => bios.push(bio),
                FsWish::Go(task) | FsWish::Done(task) => woken.push(task),
                _ => {}
            }
        }
        if !bios.is_empty() || !woken.is_empty() {
            break;
        }
        let Some(next) = fs.next().filter(|next| *next < *now + Span::from_secs(1)) else { break };
        *now = next.max(*now);
        fs.elapse(*now);
    }
    (bios, woken)
}

#[test]
fn a_handle_whose_task_never_asks_again_holds_up_nobody() {
    let geometry = Ext4Geometry::of(1 << 21);
    let (journal_start, _) = geometry.journal();
    let fs = Ext4::new(Ext4Settings { journal_start, ..Ext4Settings::default() }, geometry, 32);
    let fs = fs.with(JournalRace::Drawn { state: 1 }, TickPhase::default(), Places::new());
    let mut fs = FileSystem::Ext4(Box::new(fs));
    let (one, other) = (InodeId(12), InodeId(13));
    fs.know(one, Known { extents: FileExtents::whole(8, 50_000), names: Vec::new() });
    fs.know(other, Known::default());
    let mut now = Instant::ZERO;
    assert_eq!(fs.enter(now, 1, one, Change::Times), Entry::Done);
    assert_eq!(fs.sync(now, 1, one, Syncing::All), Missing::Metadata);
    let (log, _) = next_wishes(&mut fs, &mut now);
    assert_eq!(log.len(), 1);
    // The inodes share a block, which is in the log.
    assert_eq!(fs.enter(now, 2, other, Change::WriteBack((0..1).into())), Entry::Waits);
    fs.ended(now, log[0].tag);
    let (mut bios, woken) = next_wishes(&mut fs, &mut now);
    assert!(woken.contains(&2), "{woken:?}");
    assert!(fs.resume(now, 2));
    // Another has written its pages meanwhile, so it asks for nothing more, and the next sync ends all the same.
    while let Some(bio) = bios.pop() {
        fs.ended(now, bio.tag);
    }
    _ = next_wishes(&mut fs, &mut now);
    now += Span::from_ms(20);
    assert_eq!(fs.enter(now, 3, one, Change::Times), Entry::Done);
    assert_eq!(fs.sync(now, 3, one, Syncing::All), Missing::Metadata);
    for _ in 0..8 {
        let (bios, woken) = next_wishes(&mut fs, &mut now);
        if woken.contains(&3) {
            return;
        }
        bios.iter().for_each(|bio| fs.ended(now, bio.tag));
    }
    panic!("the sync waits for ever");
}
