//! The replay itself: calls, requests and ends in the order of time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use blksched::{Bio, Durability, GroupId, Instant, Priority, Sector, Span, SubmitterId, Tag};
use blksched_traces::fs_recording::FsRecording;
use blksched_workloads::host::fs::InodeId;
use blksched_workloads::host::{
    Advice, ByteRange, CallWork, Host, HostCall, HostKnobs, OpenFile, Stable, Ticks, Wish, WriteBack, pages_of,
};

use super::FsReplay;
use super::expected::{Asked, Carries, Recorded, Shape, at, requests};
use super::scene::{Called, FIRST_PROCESS, FLUSHER, JOURNAL, LONGEST, Made, Opened, Scene, WORKER};

/// A difference between the recording and us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line of the file.
    pub line: usize,
    /// What was recorded and what happened.
    pub what: String,
}

/// Processors of the machine that recorded.
const PROCESSORS: u32 = 2;

/// The most differences that are told.
const TOLD: usize = 20;

struct Replay<'r> {
    host: Host,
    shape: Shape,
    calls: &'r [Called],
    expected: Vec<Recorded>,
    /// How many of them have come.
    came: usize,
    now: Instant,
    /// Ends of bios: when, in which order, whose, and whether the process's own.
    ends: BinaryHeap<Reverse<(Instant, u64, Tag, bool)>>,
    order: u64,
    /// Calls that wait for the one before of their process.
    queued: BTreeMap<SubmitterId, VecDeque<usize>>,
    busy: BTreeMap<SubmitterId, usize>,
    tolerance: Span,
    /// Cuts in files, by the place of the file in our memory, and the block.
    cuts: BTreeSet<(u64, u64)>,
    found: FsReplay,
}

/// Bios of ours in a row.
struct Run {
    asked: Asked,
    /// The sector behind them.
    end: u64,
    /// Theirs, and whether each is the process's own.
    tags: Vec<(Tag, bool)>,
}

pub(super) fn run(recording: &FsRecording, scene: Scene) -> FsReplay {
    let expected = requests(recording, scene.shape, |task| scene.who(task));
    let Scene { fs, shape, calls, files, max_sectors, cuts, first_look, .. } = scene;
    let header = &recording.header;
    // The recorded processes ran in real time, so that a call itself took next to no time.
    let knobs = HostKnobs {
        call: Span::ZERO,
        copy_kib: Span::ZERO,
        name: Span::ZERO,
        memory: 1 << 34,
        real_time_writers: true,
        ..HostKnobs::default()
    };
    let write_back = WriteBack::Balances { ticks: Ticks::per_second(header.hz), processors: PROCESSORS };
    let mut host = Host::new(knobs, write_back, FLUSHER, max_sectors).with_file_system(fs, JOURNAL, WORKER);
    if let Some(at) = first_look {
        host = host.with_dirty_metadata(at);
    }
    for (inode, known) in files {
        host.add_file(pages_of(place(inode), LONGEST * 8), inode, known);
    }
    let found = FsReplay { fs: header.fs.clone(), kernel: header.kernel.clone(), events: 0, differences: Vec::new() };
    let mut replay = Replay {
        host,
        shape,
        calls: &calls,
        expected,
        came: 0,
        now: Instant::ZERO,
        ends: BinaryHeap::new(),
        order: 0,
        queued: BTreeMap::new(),
        busy: BTreeMap::new(),
        tolerance: Span::from_ns(header.disk.write_ns / 4),
        cuts: cuts.into_iter().map(|(inode, block)| (place(inode).0 / (LONGEST * 8), block)).collect(),
        found,
    };
    replay.run();
    replay.found
}

/// Where a file's pages are in our memory: each has a place of its own.
fn place(inode: InodeId) -> Sector {
    Sector((inode.0 % (1 << 21)) * LONGEST * 8)
}

impl Replay<'_> {
    fn run(&mut self) {
        let mut next = 0;
        let calls = self.calls.iter().map(|call| call.end).filter(|end| *end < u64::MAX);
        let asked = self.expected.iter().map(|asked| asked.at.as_ns());
        let last = at(calls.chain(asked).max().unwrap_or(0)) + self.tolerance + self.tolerance;
        loop {
            let call = self.calls.get(next).map(|call| at(call.start));
            let end = self.ends.peek().map(|Reverse((at, ..))| *at);
            let host = self.host.next();
            let Some(now) = [call, end, host].into_iter().flatten().min().filter(|now| *now <= last) else { break };
            self.now = self.now.max(now);
            if end == Some(now) {
                let Reverse((_, _, tag, own)) = self.ends.pop().expect("it was looked at");
                self.ended(tag, own);
            } else if host == Some(now) {
                self.host.elapse(self.now);
            } else {
                self.queued.entry(self.calls[next].by).or_default().push_back(next);
                next += 1;
            }
            self.settle();
        }
        let missing = self.expected.len() - self.came;
        if let Some(first) = self.expected.get(self.came).filter(|first| first.at < last) {
            let what = format!("{missing} recorded requests never came, the first: {:?}", first.asked);
            self.differ(first.line, what);
        }
        let busy: Vec<usize> = self.busy.values().copied().filter(|nth| self.calls[*nth].end < u64::MAX).collect();
        for nth in busy {
            self.differ(self.calls[nth].line, format!("the call {} never returned", self.calls[nth].op));
        }
    }

    fn differ(&mut self, line: usize, what: String) {
        if self.found.differences.len() < TOLD {
            self.found.differences.push(Difference { line, what });
        }
    }

    fn ended(&mut self, tag: Tag, own: bool) {
        if !own {
            self.host.completed(self.now, tag, false, self.now);
        } else if !self.host.landed(self.now, tag) {
            self.returned(tag);
        }
    }

    /// Does what the host wants, and begins calls of processes that are free, until nothing is left.
    fn settle(&mut self) {
        loop {
            let bios = self.wishes();
            self.submitted(bios);
            let free = self.queued.iter_mut().find(|(by, queue)| !queue.is_empty() && !self.busy.contains_key(by));
            if let Some(nth) = free.and_then(|(_, queue)| queue.pop_front()) {
                self.begin(nth);
            } else if !self.host.has_wishes() {
                break;
            }
        }
    }

    fn wishes(&mut self) -> Vec<(Bio, bool)> {
        let mut bios = Vec::new();
        while let Some(wish) = self.host.wish(self.now) {
            match wish {
                Wish::Submit(bio) => bios.push((bio, false)),
                Wish::GoOn(bio) => bios.push((bio, true)),
                Wish::Return { tag, .. } => self.returned(tag),
                Wish::Landed(bio) => self.returned(bio.tag),
                Wish::Waits(_) | Wish::WaitedForMemory(_) => {}
            }
        }
        bios
    }

    /// Bios in a row are one request, and are compared with the next recorded one.
    fn submitted(&mut self, bios: Vec<(Bio, bool)>) {
        let mut runs: Vec<Run> = Vec::new();
        let pieces = |(bio, own): (Bio, bool)| self.pieces(bio).into_iter().map(move |piece| (piece, own));
        for (bio, own) in bios.into_iter().flat_map(pieces).collect::<Vec<_>>() {
            let asked = self.shape.ours(&bio);
            let end = bio.start.0 + u64::from(bio.sectors);
            if asked.sectors == 0 && !self.shape.cache {
                // A disk without a cache is not asked to flush it.
                self.order += 1;
                self.ends.push(Reverse((self.now, self.order, bio.tag, own)));
                continue;
            }
            match runs.last_mut() {
                Some(last)
                    if last.end == bio.start.0
                        && last.asked.is_like(&asked)
                        && asked.is_joined()
                        && !self.is_cut(bio.start) =>
                {
                    last.asked.sectors += asked.sectors;
                    last.end = end;
                    last.tags.push((bio.tag, own));
                }
                _ => runs.push(Run { asked, end, tags: vec![(bio.tag, own)] }),
            }
        }
        let mut ends: BTreeMap<(Tag, bool), Instant> = BTreeMap::new();
        let mut order = Vec::new();
        for Run { asked, tags, .. } in runs {
            let done = self.compare(asked);
            for of in tags {
                let end = ends.entry(of).or_insert_with(|| {
                    order.push(of);
                    done
                });
                *end = done.max(*end);
            }
        }
        for of in order {
            self.order += 1;
            self.ends.push(Reverse((ends[&of], self.order, of.0, of.1)));
        }
    }

    /// Whether what lies here is a block of a file that did not lie behind the block before it.
    fn is_cut(&self, at: Sector) -> bool {
        self.cuts.contains(&(at.0 / (LONGEST * 8), at.0 % (LONGEST * 8) / 8))
    }

    /// The parts of a bio that lay apart in the recording.
    fn pieces(&self, bio: Bio) -> Vec<Bio> {
        let end = bio.start.0 + u64::from(bio.sectors);
        let inner = (bio.start.0 + 8..end).step_by(8).filter(|at| self.is_cut(Sector(*at)));
        let starts: Vec<u64> = core::iter::once(bio.start.0).chain(inner).collect();
        let ends = starts.iter().skip(1).copied().chain([end]);
        let piece = |(start, end): (&u64, u64)| Bio { start: Sector(*start), sectors: (end - start) as u32, ..bio };
        starts.iter().zip(ends).map(piece).collect()
    }

    /// Requests that two tasks submitted within this time are a race, whose outcome is the recording's.
    const RACE: Span = Span::from_us(300);

    /// If this request was recorded a little later, behind another task's, it is the next one.
    fn swap_race(&mut self, ours: Asked) {
        let Some(first) = self.expected.get(self.came) else { return };
        let until = first.at + Self::RACE;
        let mut next = self.expected[self.came..].iter().take_while(|later| later.at <= until);
        if let Some(nth) = next.position(|later| later.asked == ours).filter(|nth| *nth > 0) {
            self.expected[self.came..=self.came + nth].rotate_right(1);
        }
    }

    /// Whether ours is a part of the recorded request: files that the flusher writes together lay side by side there,
    /// and so did indirect blocks that a process writes, which have places of their own here.
    fn is_part(&self, recorded: &Asked, ours: &Asked) -> bool {
        let of_flusher = ours.by == FLUSHER && ours.carries == Carries::Data;
        let of_process = self.found.fs == "ext2" && ours.by.0 >= FIRST_PROCESS && ours.carries == Carries::Home;
        (of_flusher || of_process) && recorded.is_like(ours) && ours.sectors < recorded.sectors
    }

    /// Whether another of the processes that wait for this write of xfs's log has sent it: who wakes first is a race.
    fn is_by_another(&self, recorded: &Asked, ours: &Asked) -> bool {
        let syncs = |by: SubmitterId| {
            let call = self.busy.get(&by).map(|nth| &self.calls[*nth]);
            call.is_some_and(|call| matches!(call.made, Made::Sync | Made::SyncData))
        };
        let by_process = recorded.by.0 >= FIRST_PROCESS && ours.by.0 >= FIRST_PROCESS;
        let same = Asked { by: ours.by, ..*recorded } == *ours;
        self.found.fs == "xfs" && ours.carries == Carries::Log && by_process && same && syncs(recorded.by)
    }

    /// How many recorded requests that lie side by side are together this one, and when the last is done: a process
    /// that sleeps for a request slot submits what it has in parts.
    fn parts(&self, ours: &Asked) -> Option<(usize, Instant)> {
        if ours.by.0 < FIRST_PROCESS || ours.carries != Carries::Data {
            return None;
        }
        let (mut sectors, mut done) = (0, Instant::ZERO);
        let first = self.expected.get(self.came)?.sector;
        for (nth, recorded) in self.expected[self.came..].iter().enumerate() {
            let goes_on = recorded.sector == first + sectors && recorded.asked.is_like(ours);
            if !goes_on || sectors >= ours.sectors {
                return None;
            }
            sectors += recorded.asked.sectors;
            done = done.max(recorded.done);
            if sectors == ours.sectors && nth > 0 {
                return Some((nth + 1, done));
            }
        }
        None
    }

    /// Compares a request with the next recorded one; returns when it is done.
    fn compare(&mut self, ours: Asked) -> Instant {
        self.swap_race(ours);
        let Some(recorded) = self.expected.get(self.came).cloned() else {
            let line = self.expected.last().map_or(1, |last| last.line);
            self.differ(line, format!("at {:?} nothing was recorded, here {ours:?}", self.now));
            return self.now + self.tolerance + self.tolerance;
        };
        if let Some((parts, done)) = self.parts(&ours) {
            self.came += parts;
            self.found.events += parts;
            return done.max(self.now);
        }
        if self.is_part(&recorded.asked, &ours) {
            // More is to come.
            let rest = &mut self.expected[self.came];
            (rest.sector, rest.asked.sectors) = (rest.sector + ours.sectors, rest.asked.sectors - ours.sectors);
            return recorded.done.max(self.now);
        }
        self.came += 1;
        let of_sync = Asked { sync: true, ..ours };
        let is_late = recorded.at > self.now + Self::RACE && ours.by == FLUSHER && recorded.asked == of_sync;
        if recorded.asked == ours || is_late || self.is_by_another(&recorded.asked, &ours) {
            self.found.events += 1;
        } else {
            let what =
                format!("at {:?} (recorded {:?}): recorded {:?}, here {ours:?}", self.now, recorded.at, recorded.asked);
            self.differ(recorded.line, what);
        }
        recorded.done.max(self.now)
    }

    fn begin(&mut self, nth: usize) {
        let called = &self.calls[nth];
        self.busy.insert(called.by, nth);
        let start = place(called.inode);
        let file = OpenFile { start, sectors: LONGEST * 8, advice: Advice::Normal };
        let sector = |bytes: u64| Sector(start.0 + bytes / 512);
        let work = match called.made {
            Made::Nothing => return self.returned(Tag(nth as u64)),
            Made::Write { at, bytes, how: how @ Opened { direct: true, .. } } => {
                let bio = Bio::write(nth as u64, called.by, sector(at), (bytes / 512) as u32);
                let durability = Durability { fua: how.dsync || how.sync, ..Durability::default() };
                return self.host.bypass(self.now, Bio { durability, ..bio });
            }
            Made::Write { at, bytes, how } => {
                let stable = match how {
                    Opened { sync: true, .. } => Stable::AllOnReturn,
                    Opened { dsync: true, .. } => Stable::OnReturn,
                    _ => Stable::Later,
                };
                CallWork::Write(
                    ByteRange::of_sectors(sector(at / 4096 * 4096), bytes.div_ceil(4096) as u32 * 8),
                    stable,
                )
            }
            Made::Sync => CallWork::Sync,
            Made::SyncData => CallWork::SyncData,
            Made::SyncAll(what) => CallWork::SyncAll(what),
            Made::Range { at, bytes, what } => CallWork::Range { start: sector(at), sectors: bytes / 512, what },
            Made::Change(change) => CallWork::Change(called.inode, change),
        };
        let (tag, submitter) = (Tag(nth as u64), called.by);
        let (priority, group) = (Priority::default(), GroupId::default());
        self.host.call(self.now, HostCall { tag, submitter, priority, group, file, work });
    }

    /// A call has returned.
    fn returned(&mut self, tag: Tag) {
        let called = &self.calls[tag.0 as usize];
        self.busy.remove(&called.by);
        let recorded = at(called.end);
        let off = self.now.since(recorded).max(recorded.since(self.now));
        if off <= self.tolerance {
            self.found.events += 1;
        } else if called.end < u64::MAX {
            let what = format!("{} returned at {recorded:?}, here at {:?}", called.op, self.now);
            self.differ(called.line, what);
        }
    }
}
