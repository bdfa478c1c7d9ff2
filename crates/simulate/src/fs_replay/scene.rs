//! What was there when a recording began: the file system, its files, and the calls made on them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use blksched::{Instant, Span, SubmitterId};
use blksched_traces::fs_recording::{FsEvent, FsRecording};
use blksched_workloads::host::fs::layout::Ext4Geometry;
use blksched_workloads::host::fs::{
    Change, Ext4, Ext4Settings, Extent, FileExtents, FileSystem, FsKind, InodeId, JournalMode, JournalRace, Known,
    MountOptions, NamedIn, NewBlocks, Places, TickPhase, Xfs, XfsSettings,
};
use blksched_workloads::host::{RangeSync, SyncAll};

use super::Before;
use super::expected::Shape;

mod clock;
mod made;
mod numbered;
mod unseen;

use clock::{first_look, jiffies, ticks};
use made::{inode_in, made};
use numbered::{Numbered, Unfolded, XFS_OWN, unfold};
use unseen::{cut, locked, placed_by_xfs, reads};

/// The submitters of the kernel.
pub(super) const FLUSHER: SubmitterId = SubmitterId(1);
pub(super) const JOURNAL: SubmitterId = SubmitterId(2);
pub(super) const WORKER: SubmitterId = SubmitterId(3);
pub(super) const FIRST_PROCESS: u32 = 10;

/// What a recorded call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    Write {
        at: u64,
        bytes: u64,
        how: Opened,
    },
    Sync,
    SyncData,
    Range {
        at: u64,
        bytes: u64,
        what: RangeSync,
    },
    SyncAll(SyncAll),
    Change(Change),
    /// Without effect on the disk: `close`, `open` of a file that is there.
    Nothing,
}

/// How a file was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Opened {
    pub direct: bool,
    pub dsync: bool,
    pub sync: bool,
}

/// A recorded call.
#[derive(Clone, Debug)]
pub(super) struct Called {
    pub line: usize,
    pub start: u64,
    pub end: u64,
    pub by: SubmitterId,
    pub op: String,
    pub inode: InodeId,
    pub made: Made,
}

/// The beginning of a recording.
pub(super) struct Scene {
    pub fs: FileSystem,
    pub shape: Shape,
    pub calls: Vec<Called>,
    pub files: BTreeMap<InodeId, Known>,
    pub tasks: BTreeMap<String, SubmitterId>,
    pub max_sectors: u32,
    /// Blocks of files that do not lie behind the one before them.
    pub cuts: BTreeSet<(InodeId, u64)>,
    /// The flusher's first look for what is old.
    pub first_look: Option<Instant>,
}

impl Scene {
    /// `before`: what the preparation left.
    pub fn of(recording: &FsRecording, before: Before) -> Result<Scene, String> {
        let header = &recording.header;
        if !recording.events.iter().any(|event| event.ev == "bio") {
            return Err("no bios are in it".to_owned());
        }
        let tells = |event: &FsEvent| event.ev.starts_with("ext4_") && event.number("ino").is_some();
        // Where no event names an inode, they are the first that mkfs leaves; otherwise made-up ones are no others'.
        let seen = || recording.events.iter().filter_map(|event| event.number("ino"));
        let first = match () {
            () if header.fs == "xfs" => seen().max().unwrap_or(XFS_OWN),
            () if recording.events.iter().any(tells) => 1_000_000,
            () => 11,
        };
        let root = if header.fs == "xfs" { 128 } else { 2 };
        let mut names = Names { numbered: Numbered::of(recording), first, root, ..Names::default() };
        let mut tasks = BTreeMap::new();
        let calls = calls(recording, &mut names, &mut tasks)?;
        let mut files = files(recording, &calls);
        for (dir, mut held) in names.before {
            let more = held.first().copied().unwrap_or(0);
            held.extend((0..before.names).map(|_| more));
            files.entry(dir).or_default().names = held;
        }
        let phase = ticks(recording, &calls);
        let cache = header.disk.write_cache == "write back";
        let longest = header.disk.max_sectors_kb / 4;
        let (fs, log) = match header.fs.as_str() {
            "ext4" | "ext3" | "ext2" => ext4(recording, phase, longest)?,
            "xfs" => xfs(recording, phase, before.left_over)?,
            other => return Err(format!("a recording of {other}")),
        };
        let max_sectors = u32::try_from(header.disk.max_sectors_kb * 2).unwrap_or(256);
        let (cuts, first_look) = (cuts(recording), first_look(recording));
        Ok(Scene { fs, shape: Shape { log, cache }, calls, files, tasks, max_sectors, cuts, first_look })
    }

    /// The submitter of a task by its name.
    pub fn who(&self, task: &str) -> SubmitterId {
        match task {
            _ if task.starts_with("jbd2") => JOURNAL,
            _ if task.starts_with("kworker/u") => FLUSHER,
            _ if task.starts_with("kworker") || task.starts_with("xfsaild") => WORKER,
            _ => self.tasks.get(task).copied().unwrap_or(WORKER),
        }
    }
}

fn ext4(recording: &FsRecording, phase: TickPhase, longest: u64) -> Result<(FileSystem, (u64, u64)), String> {
    let header = &recording.header;
    let kind = FsKind::named(&header.fs).map_err(|wrong| wrong.why)?;
    let has_journal = kind != FsKind::Ext2 && !header.mkfs.contains("^has_journal");
    let journal = header.geometry.journal.first().copied().or((!has_journal).then_some((0, 0)));
    let journal = journal.ok_or("ext4 without a journal")?;
    let inodes_per_group = header.geometry.inodes_per_group;
    let mut settings = Ext4Settings {
        journal_start: blksched::Sector(journal.0),
        journal_blocks: journal.1 / 8,
        inodes_per_group,
        has_journal,
        new_blocks: MountOptions::of(kind).new_blocks(),
        ..Ext4Settings::default()
    };
    if header.mkfs.contains("-O") && has_journal {
        return Err(format!("mkfs.ext4 {}", header.mkfs));
    }
    for option in header.mount_asked.split(',') {
        match option {
            // Nobody waits for discards.
            "noatime" | "" | "discard" => {}
            "sync" => settings.sync = true,
            "dirsync" => settings.dirsync = true,
            "max_batch_time=0" => settings.batch.1 = Span::ZERO,
            "data=writeback" => settings.data = JournalMode::Writeback,
            "data=journal" => settings.data = JournalMode::Journal,
            "nodelalloc" => settings.new_blocks = NewBlocks::AtOnce,
            "dioread_lock" => settings.new_blocks = NewBlocks::Written,
            "nobarrier" => settings.barrier = false,
            "journal_async_commit" => settings.async_commit = true,
            _ if let Some(seconds) = option.strip_prefix("commit=").and_then(|text| text.parse().ok()) => {
                settings.commit = Span::from_secs(seconds);
            }
            other => return Err(format!("ext4 mounted with {other}")),
        }
    }
    let geometry = Ext4Geometry { inodes_per_group, ..Ext4Geometry::of_kind(kind, header.disk.size / 512) };
    let places = Places::new().recorded(placed(recording), leaf_group(recording));
    let race = JournalRace::Recorded(delays(recording, journal));
    let fs = Ext4::new(settings, geometry, longest).with(race, phase, places).with_jiffies(jiffies(recording));
    let fs = fs.with_starts(starts(recording)).with_commit_time(COMMIT_TIME);
    let fs = match log_at(recording, journal) {
        Some((head, used)) => fs.with_log_at(head, used),
        None => fs,
    };
    Ok((FileSystem::Ext4(Box::new(fs)), journal))
}

fn xfs(recording: &FsRecording, phase: TickPhase, left_over: bool) -> Result<(FileSystem, (u64, u64)), String> {
    let header = &recording.header;
    let log = header.geometry.log.ok_or("xfs without a log of its own")?;
    let mut settings = XfsSettings { log_start: blksched::Sector(log.0), log_sectors: log.1, ..XfsSettings::default() };
    if header.mount_asked.contains("logbsize=256k") {
        settings.iclog_bytes = 256 << 10;
    }
    settings.inodes_per_group = header.geometry.agsize.unwrap_or(65_536) * 8;
    let fs = Xfs::new(settings).with_phase(phase).with_places(placed_by_xfs(recording));
    let fs = if left_over { fs.with_left_over() } else { fs };
    Ok((FileSystem::Xfs(Box::new(fs)), log))
}

/// How long commits took before a recording on average: FIT, by the first sleeps of recording 36.
const COMMIT_TIME: Span = Span::from_us(300);

/// When jbd2 ran to begin a commit: beside real-time processes that was up to 0.3 ms after it was asked to.
fn starts(recording: &FsRecording) -> Vec<Instant> {
    let starts = recording.events.iter().filter(|event| event.ev == "jbd2_start_commit");
    starts.map(|event| Instant::from_ns(event.t)).collect()
}

/// Where the first log is in the journal \[blocks\], and how many blocks before it were in use, which only the first
/// checkpoint tells.
fn log_at(recording: &FsRecording, (first, length): (u64, u64)) -> Option<(u64, u64)> {
    let place = |event: &FsEvent| event.number("sector").filter(|at| (first + 8..first + length).contains(at));
    let mut logs = recording.events.iter().filter(|event| event.ev == "bio" && event.task.starts_with("jbd2"));
    let head = (logs.find_map(place)? - first) / 8;
    let checkpoint = recording.events.iter().find(|event| event.ev == "jbd2_update_log_tail");
    let ring = length / 8 - 1;
    let tail = checkpoint.and_then(|event| Some(event.number("offset")? + ring - event.number("freed")? % ring));
    Some((head, tail.map_or(0, |tail| (head + 2 * ring - tail) % ring)))
}

/// How long jbd2 took to send each commit block after the end of the log.
fn delays(recording: &FsRecording, (first, length): (u64, u64)) -> VecDeque<Span> {
    let mut delays = VecDeque::new();
    let (mut last_end, mut last_bio) = (None, None);
    for event in &recording.events {
        if event.ev == "jbd2_end_commit" {
            // Of a transaction without blocks there was no log.
            (last_end, last_bio) = (None, None);
        }
        let sector = event.number("sector").unwrap_or(0);
        let of_jbd2 = event.ev == "bio" && event.task.starts_with("jbd2");
        // With `journal_async_commit` an empty flush ends a commit.
        let is_flush = of_jbd2 && event.number("sectors") == Some(0);
        if !is_flush && !(first + 8..first + length).contains(&sector) {
            continue;
        }
        if event.ev == "complete" && event.number("sectors") != Some(0) {
            last_end = Some(event.t);
        }
        if of_jbd2 {
            // The first bio behind the end of one that came in the same commit.
            if let (Some(end), Some(true)) = (last_end.take(), last_bio) {
                delays.push_back(Span::from_ns(event.t.saturating_sub(end)));
                last_bio = Some(false);
            } else if last_bio != Some(true) {
                last_bio = Some(true);
                last_end = None;
            }
        }
    }
    delays
}

/// The places that new blocks got, by file and block.
fn placed(recording: &FsRecording) -> BTreeMap<(InodeId, u64), (u64, u64)> {
    let allocations = recording.events.iter().filter(|event| event.ev == "ext4_allocate_blocks" && !is_leaf(event));
    let place = |event: &FsEvent| {
        let [ino, block, place, count] = ["ino", "lblk", "block", "len"].map(|name| event.number(name));
        Some(((InodeId(ino?), block?), (place?, count?)))
    };
    allocations.filter_map(place).collect()
}

/// New blocks whose place is not right behind the one of the block before.
fn cuts(recording: &FsRecording) -> BTreeSet<(InodeId, u64)> {
    if recording.header.fs != "ext4" {
        // There events do not say what is to the left.
        let places = placed(recording);
        let behind: BTreeSet<(InodeId, u64, u64)> =
            places.iter().map(|((ino, block), (place, count))| (*ino, block + count, place + count)).collect();
        let cut = |((ino, block), (place, _)): (&(InodeId, u64), &(u64, u64))| {
            (!behind.contains(&(*ino, *block, *place))).then_some((*ino, *block))
        };
        return places.iter().filter_map(cut).collect();
    }
    let allocations = recording.events.iter().filter(|event| event.ev == "ext4_allocate_blocks" && !is_leaf(event));
    let cut = |event: &FsEvent| {
        let [ino, block, place, left, at] = ["ino", "lblk", "block", "lleft", "pleft"].map(|name| event.number(name));
        let is_behind = left? + 1 == block? && at? + 1 == place?;
        (!is_behind).then_some((InodeId(ino?), block?))
    };
    allocations.filter_map(cut).collect()
}

/// Whether an allocation was for a block of extents.
fn is_leaf(event: &FsEvent) -> bool {
    !event.text("flags").contains("HINT_DATA")
}

fn leaf_group(recording: &FsRecording) -> Option<u64> {
    let leaf = recording.events.iter().find(|event| event.ev == "ext4_allocate_blocks" && is_leaf(event));
    leaf.and_then(|event| event.number("block")).map(|block| block / 32_768)
}

/// Inodes by file name.
#[derive(Default)]
struct Names {
    known: BTreeMap<String, InodeId>,
    made_up: u64,
    /// Of a recording of thousands of numbered files.
    numbered: Option<Numbered>,
    /// What made-up numbers begin behind.
    first: u64,
    /// The inode of the file system's own directory.
    root: u64,
    /// Names that were used.
    used: BTreeSet<String>,
    /// What was in each directory before: the lengths of the names that are used before they are made.
    before: BTreeMap<InodeId, Vec<u64>>,
}

impl Names {
    fn of(&mut self, name: &str, seen: Option<u64>) -> InodeId {
        if let Some(seen) = seen {
            self.known.insert(name.to_owned(), InodeId(seen));
        }
        if let Some(inode) = self.known.get(name) {
            return *inode;
        }
        self.made_up += 1;
        let inode = self.numbered_inode(name).unwrap_or(InodeId(self.first + self.made_up));
        self.known.insert(name.to_owned(), inode);
        inode
    }

    /// The inode of `dN` or `dN/mN`, where no event says it.
    fn numbered_inode(&self, name: &str) -> Option<InodeId> {
        let numbered = self.numbered?;
        let number = |text: &str, letter: char| text.strip_prefix(letter)?.parse::<u64>().ok();
        match name.split_once('/') {
            None => number(name, 'd').map(|dir| numbered.dir(dir)),
            Some((_, file)) => numbered.file(number(file, 'm')?),
        }
    }

    /// A call uses this name.
    fn uses(&mut self, name: &str, makes: bool) {
        if self.used.insert(name.to_owned()) && !makes && !name.is_empty() {
            let dir = self.dir(name, None);
            let length = name.rsplit('/').next().unwrap_or("").len() as u64;
            self.before.entry(dir).or_default().push(length);
        }
    }

    fn dir(&mut self, name: &str, seen: Option<u64>) -> InodeId {
        let dir = name.rsplit_once('/').map_or("", |(dir, _)| dir);
        let seen = seen.or_else(|| (dir.is_empty() && !self.known.contains_key("")).then_some(self.root));
        self.of(dir, seen)
    }
}

/// Every call of the recording, in order, with the inode that the events within it show.
fn calls(
    recording: &FsRecording,
    names: &mut Names,
    tasks: &mut BTreeMap<String, SubmitterId>,
) -> Result<Vec<Called>, String> {
    let events = &recording.events;
    learn(recording, names);
    let mut marks: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for (nth, event) in events.iter().enumerate() {
        if event.ev == "mark" {
            marks.insert(&event.task, event.text("text"));
        }
        if event.ev == "calls" {
            unfold(recording, nth, &mut Unfolded { names, tasks, made: &mut found })?;
            continue;
        }
        if let Some(call) = cut(recording, nth, &found) {
            found.push(call);
        }
        let unseen = event.ev == "ext4_allocate_inode" && !in_call(&events[..nth], &event.task);
        if event.ev != "call" && !unseen || event.text("op") == "read" {
            continue;
        }
        let next = FIRST_PROCESS + tasks.len() as u32;
        let by = *tasks.entry(event.task.clone()).or_insert(SubmitterId(next));
        if unseen {
            // Files made between the phases of a scenario are not recorded as calls.
            let [inode, dir] = ["ino", "dir"].map(|name| InodeId(event.number(name).unwrap_or(0)));
            let made = Made::Change(Change::Create(NamedIn { dir, name: 4 }));
            let op = "open".to_owned();
            found.push(Called { line: nth + 2, start: event.t, end: u64::MAX, by, op, inode, made });
            continue;
        }
        let own = events[nth + 1..].iter().take_while(|other| !(other.task == event.task && other.ev == "return"));
        let own: Vec<&FsEvent> = own.filter(|other| other.task == event.task).collect();
        let end = events[nth + 1..].iter().find(|other| other.task == event.task && other.ev == "return");
        let seen = later_inode(&events[nth..], event);
        let mark = marks.get(event.task.as_str()).copied().unwrap_or("");
        let is_new = event.text("op") == "fallocate" && recording.header.fs == "xfs";
        let of_file = |other: &FsEvent| other.ev == "call" && other.text("file") == event.text("file");
        let is_new = is_new && !events[..nth].iter().any(of_file);
        let makes =
            is_new || matches!(event.text("op"), "mkdir" | "symlink") || event.text("flags").contains("O_CREAT");
        if recording.header.fs == "xfs" {
            names.uses(event.text("file"), makes);
        }
        let (inode, made) = made(event, &own, mark, seen, names)?;
        // The reads of a page fault are not replayed.
        let end = end.filter(|_| event.text("op") != "store").map_or(u64::MAX, |end| end.t);
        if is_new {
            let made = Made::Change(Change::Create(NamedIn { dir: InodeId(2), name: 4 }));
            let op = "open".to_owned();
            found.push(Called { line: nth + 2, start: event.t, end: u64::MAX, by, op, inode, made });
        }
        let op = event.text("op").to_owned();
        let start = (event.t + reads(&events[nth + 1..], event)).max(locked(recording, nth, &marks));
        found.push(Called { line: nth + 2, start, end, by, op, inode, made });
    }
    found.sort_by_key(|call| call.start);
    Ok(found)
}

/// Whether this task is within a call at the end of these events.
fn in_call(events: &[FsEvent], task: &str) -> bool {
    let last = events.iter().rev().find(|event| event.task == task && matches!(event.ev.as_str(), "call" | "return"));
    last.is_some_and(|event| event.ev == "call")
}

/// The inode that a later call on the same name shows, if the call that makes it does not.
fn later_inode(events: &[FsEvent], call: &FsEvent) -> Option<u64> {
    let name = call.text("file");
    let mut calls = events.iter().enumerate().skip(1).take(400);
    calls.find_map(|(nth, event)| {
        let is_same = event.ev == "call" && event.text("file") == name;
        if !is_same || !matches!(event.text("op"), "write" | "fsync" | "fdatasync") {
            return None;
        }
        let own = events[nth + 1..].iter().take_while(|other| !(other.task == event.task && other.ev == "return"));
        inode_in(own.filter(|other| other.task == event.task))
    })
}

/// Inodes of files that exist from the beginning: what the first call on each name shows.
fn learn(recording: &FsRecording, names: &mut Names) {
    let events = &recording.events;
    for (nth, event) in events.iter().enumerate().filter(|(_, event)| event.ev == "call") {
        let name = event.text("file");
        if names.known.contains_key(name) || !matches!(event.text("op"), "write" | "fsync" | "fdatasync" | "store") {
            continue;
        }
        let own = events[nth + 1..].iter().take_while(|other| !(other.task == event.task && other.ev == "return"));
        if let Some(seen) = inode_in(own.filter(|other| other.task == event.task)) {
            names.of(name, Some(seen));
        }
    }
    let parent = |event: &&FsEvent| matches!(event.ev.as_str(), "ext4_unlink_enter");
    if let Some(event) = events.iter().find(parent) {
        let nth = events.iter().position(|other| core::ptr::eq(other, event)).unwrap_or(0);
        let call = events[..nth].iter().rev().find(|call| call.ev == "call" && call.task == event.task);
        if let Some(call) = call {
            names.dir(call.text("file"), event.number("parent"));
        }
    }
}

/// The files that were there, with their blocks: those that the recording does not show to be placed.
fn files(recording: &FsRecording, calls: &[Called]) -> BTreeMap<InodeId, Known> {
    let mut firsts: BTreeMap<InodeId, &Called> = BTreeMap::new();
    for call in calls {
        firsts.entry(call.inode).or_insert(call);
    }
    let created = |inode: InodeId| {
        firsts.get(&inode).is_some_and(|call| {
            matches!(call.made, Made::Change(Change::Create(_) | Change::MakeDirectory(_) | Change::Symlink(_)))
        })
    };
    let mut files = BTreeMap::new();
    for call in calls {
        if let Made::Change(Change::Rename { over: Some(over), .. }) = call.made {
            // It was there, and its number may be another's later.
            let known = || Known { extents: blocks_of(recording, over), names: Vec::new() };
            files.entry(over).or_insert_with(known);
        }
        let inode = call.inode;
        if files.contains_key(&inode) {
            continue;
        }
        let extents = if created(inode) { FileExtents::default() } else { blocks_of(recording, inode) };
        files.insert(inode, Known { extents, names: Vec::new() });
    }
    files
}

/// The longest file here \[blocks\].
pub(super) const LONGEST: u64 = 1 << 20;

fn blocks_of(recording: &FsRecording, inode: InodeId) -> FileExtents {
    let mine = |event: &&FsEvent| event.number("ino") == Some(inode.0);
    let events = || recording.events.iter().filter(mine);
    let placed = events().find(|event| event.ev == "ext4_allocate_blocks" && !is_leaf(event));
    // Of a file that is removed only what becomes free is told; its number may be another's later.
    let is_data = |event: &&FsEvent| event.ev == "ext4_free_blocks" && !event.text("flags").contains("METADATA");
    let before = |event: &&FsEvent| placed.is_none_or(|placed| placed.t > event.t);
    // With extents they are freed from the end, and the whole file was one; without, from the beginning.
    let runs = if recording.header.fs == "ext4" { 1 } else { usize::MAX };
    let mut extents = FileExtents::default();
    for freed in events().filter(is_data).filter(before).take(runs) {
        let [place, blocks] = ["block", "count"].map(|name| freed.number(name).unwrap_or(0));
        extents.insert(Extent { at: extents.end(), blocks, place, written: true });
    }
    if extents.count() > 0 {
        return extents;
    }
    let unwritten = events().find(|event| event.ev == "ext4_ext_handle_unwritten_extents");
    if let Some(event) = unwritten
        && placed.is_none_or(|placed| placed.t > event.t)
    {
        let [at, blocks, place] = ["m_lblk", "allocated", "newblock"].map(|name| event.number(name).unwrap_or(0));
        let mut extents = FileExtents::default();
        extents.insert(Extent { at, blocks, place, written: false });
        return extents;
    }
    if let Some(event) = placed {
        let [first, left] = ["lblk", "pleft"].map(|name| event.number(name).unwrap_or(0));
        return FileExtents::whole(first, (left + 1).saturating_sub(first));
    }
    let size = events().find_map(|event| event.number("disize").filter(|_| event.ev.starts_with("xfs_file_")));
    let grows = events().any(|event| event.ev == "xfs_map_blocks_alloc" || event.ev == "xfs_iomap_alloc");
    let converts = events().any(|event| event.ev == "xfs_unwritten_convert");
    match size {
        Some(size) if grows => FileExtents::whole(size / 4096, 100),
        Some(size) if converts => {
            let mut extents = FileExtents::default();
            extents.insert(Extent { at: 0, blocks: size / 4096, place: 100, written: false });
            extents
        }
        Some(size) => FileExtents::whole(size / 4096, 100),
        None => FileExtents::whole(LONGEST, 100),
    }
}
