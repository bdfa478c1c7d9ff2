//! Buffered jobs: a process's I/O becomes calls to the host's page cache.
//!
//! **Rule** `read`, `write` and flushes become [`HostCall`]s; trims bypass memory. Before each pass over its files a
//! process reopens them (tried, also with `time_based`): their clean pages leave memory (`invalidate`, fio's default),
//! or all of them are there (`pre_read`), and readahead begins again. A flush is an `fsync` of each file that was
//! written since the last one, one after the other in the order of the disk (traced with strace). `sync_file_range` is
//! called after a given number of writes of the whole job, before the next I/O; it covers the range of that I/O's file
//! that was written since its last sync. With several files fio then continues with another one of them (all tried);
//! we do not.

mod between;
mod names;
mod range;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use blksched::{Bio, Instant, Op, SubmitterId};

use super::grain::CountedFiles;
use crate::host::fs::Syncing;
use crate::host::{Advice, ByteRange, CallWork, HostCall, Memory, OpenFile, Stable, Touch};
use crate::{Delivered, Emission, Source, Trouble, UNCOUNTED};
pub(crate) use between::ClosePlan;
use between::{BETWEEN_TAG, Between, Closing};
use names::Names;
pub(crate) use names::NamesPlan;
pub(crate) use range::RangePlan;
use range::Ranges;

/// How a job's I/O goes to its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Through {
    /// Through the page cache.
    Memory,
    /// Directly; only syncs are calls on files.
    Direct,
}

impl Through {
    /// `None` if nothing of it is a call on a file.
    pub fn of(memory: bool, syncs_files: bool) -> Option<Through> {
        match (memory, syncs_files) {
            (true, _) => Some(Through::Memory),
            (false, true) => Some(Through::Direct),
            (false, false) => None,
        }
    }
}

/// How a job uses the page cache.
#[derive(Clone, Debug)]
pub(crate) struct Buffering {
    /// In the order on the disk.
    pub files: Arc<[OpenFile]>,
    /// Where the process takes them to be, if it counts in something finer than sectors.
    pub counted: Option<Arc<CountedFiles>>,
    /// What happens to them in memory before each pass.
    pub memory: Memory,
    /// The length of a pass as the process counts \[bytes\].
    pub pass: u64,
    /// When it calls `sync_file_range`.
    pub range: Option<RangePlan>,
    /// How files are closed, if each is synced then.
    pub close: Option<ClosePlan>,
    /// How its I/O goes to its files.
    pub how: Through,
    /// What its flushes are.
    pub syncs: Syncing,
    /// What its writes are that have to be stable.
    pub stable: Stable,
    /// It has its files mapped.
    pub mapping: Option<Mapping>,
    /// What it does with their names.
    pub names: Option<NamesPlan>,
}

/// How a job uses a mapping of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// What it advises about it.
    pub advice: Advice,
    /// Each I/O is followed by an `msync`.
    pub syncs: bool,
}

/// A process whose I/O goes through the page cache.
pub(crate) struct Buffered<S> {
    process: S,
    how: Buffering,
    /// The bytes read and written, and where the next pass begins.
    done: u64,
    next_pass: u64,
    /// Files written since their last fsync, by number.
    written: BTreeSet<usize>,
    syncing: Option<FileSyncs>,
    ranges: Option<Ranges>,
    closing: Option<Closing>,
    names: Option<Names>,
    /// Its last I/O.
    last: Option<Bio>,
    between: Between,
}

/// A flush by the process, which is an fsync of each of its files.
struct FileSyncs {
    bio: Bio,
    /// Files that are still to be synced.
    left: VecDeque<usize>,
    /// When the last fsync returned, if the next has not begun.
    returned: Option<Instant>,
    failed: bool,
}

impl<S: Source> Buffered<S> {
    pub fn new(process: S, how: Buffering) -> Buffered<S> {
        // A process that counts in grains never uses a remainder of its file.
        let grain = how.counted.as_ref().map_or(1, |counted| counted.grain.bytes());
        let lengths = how.files.iter().map(|file| file.sectors * 512 / grain * grain);
        let closing = how.close.map(|plan| Closing::new(plan, lengths));
        let ranges = how.range.map(Ranges::new);
        let names = how.names.map(|plan| Names::new(plan, how.files.len()));
        let (written, between) = (BTreeSet::new(), Between::default());
        let (done, next_pass, syncing, last) = (0, 0, None, None);
        Buffered { process, how, done, next_pass, written, syncing, ranges, closing, names, last, between }
    }

    fn file_at(&self, bio: &Bio) -> usize {
        match &self.how.counted {
            None => self.how.files.partition_point(|file| file.start <= bio.start).saturating_sub(1),
            Some(counted) => counted.number(bio.start),
        }
    }

    fn range(&self, bio: &Bio, file: usize) -> ByteRange {
        match &self.how.counted {
            None => ByteRange::of_sectors(bio.start, bio.sectors),
            Some(counted) => counted.range(file, &self.how.files[file], (bio.start, bio.sectors)),
        }
    }

    fn call(&self, bio: &Bio, file: usize, work: CallWork) -> Emission {
        let Bio { tag, submitter, priority, group, .. } = *bio;
        Emission::Call(HostCall { tag, submitter, priority, group, file: self.how.files[file], work })
    }

    /// An I/O begins; a pass over the files may.
    fn begins(&mut self, out: &mut Vec<Emission>) {
        if self.done < self.next_pass {
            return;
        }
        self.next_pass += self.how.pass.max(1);
        if self.done > 0 {
            self.names.iter_mut().for_each(Names::next_pass);
        }
        if self.how.how == Through::Memory {
            out.extend(self.how.files.iter().map(|file| Emission::Remember { file: *file, memory: self.how.memory }));
        }
    }

    fn transfer(&mut self, bio: &Bio, out: &mut Vec<Emission>) {
        let file = self.file_at(bio);
        let range = self.range(bio, file);
        self.done += u64::from(bio.sectors) * 512;
        self.closing.iter_mut().for_each(|closing| closing.transferred(file, range.bytes));
        let stores = bio.op != Op::Read;
        if stores {
            self.written.insert(file);
            self.ranges.iter_mut().for_each(|ranges| ranges.wrote(file, range));
        }
        if self.how.how == Through::Direct {
            return out.push(Emission::Submit(*bio));
        }
        let work = match (self.how.mapping, stores) {
            (Some(Mapping { advice, syncs }), _) => CallWork::Touch(Touch { range, stores, advice, syncs }),
            (None, false) => CallWork::Read(range),
            (None, true) => {
                let stable = if bio.durability.fua { self.how.stable } else { Stable::Later };
                CallWork::Write(range, stable)
            }
        };
        out.push(self.call(bio, file, work));
    }

    /// Syncs each file that was written, one after the other; the process is told of the last.
    fn sync(&mut self, bio: &Bio, out: &mut Vec<Emission>) {
        let mut files = core::mem::take(&mut self.written);
        self.ranges.iter_mut().for_each(Ranges::synced);
        let first = files.pop_first().unwrap_or(0);
        let left = files.into_iter().collect();
        self.syncing = Some(FileSyncs { bio: *bio, left, returned: None, failed: false });
        out.push(self.call(bio, first, self.sync_work()));
    }

    /// The next file is synced, if the last one is done.
    fn sync_next(&mut self, out: &mut Vec<Emission>) {
        let Some(syncing) = self.syncing.as_mut().filter(|syncing| syncing.returned.is_some()) else { return };
        syncing.returned = None;
        let (bio, next) = (syncing.bio, syncing.left.pop_front());
        if let Some(file) = next {
            out.extend([self.call(&bio, file, self.sync_work()), Emission::Waits]);
        }
    }

    fn sync_work(&self) -> CallWork {
        match self.how.syncs {
            Syncing::All => CallWork::Sync,
            Syncing::Data => CallWork::SyncData,
        }
    }

    /// The call that comes before an I/O of this file.
    fn due(&mut self, file: usize) -> Option<(usize, CallWork)> {
        let closed = self.closing.as_mut().and_then(|closing| closing.due(file));
        if let Some(closed) = closed.filter(|closed| self.written.remove(closed)) {
            return Some((closed, CallWork::Sync));
        }
        let range = self.ranges.as_mut().and_then(|ranges| ranges.due(file));
        range.map(|work| (file, work))
    }

    /// What happens to names before an I/O of this file.
    fn renaming(&mut self, file: usize) -> Option<(usize, CallWork)> {
        self.removal().or_else(|| {
            let made = self.names.as_mut()?.makes(file)?;
            Some((file, CallWork::Name(made)))
        })
    }

    /// The next file that is removed, if any is to be.
    fn removal(&mut self) -> Option<(usize, CallWork)> {
        let (file, name) = self.names.as_mut()?.removes()?;
        self.written.remove(&file);
        Some((file, CallWork::Name(name)))
    }

    /// Makes a call of its own, after which this comes.
    fn calls(&mut self, bio: &Bio, (file, work): (usize, CallWork), then: Emission, out: &mut Vec<Emission>) {
        let tag = if matches!(work, CallWork::Name(_)) { UNCOUNTED } else { BETWEEN_TAG };
        let bio = Bio { tag, ..*bio };
        out.extend([self.call(&bio, file, work), Emission::Waits]);
        self.between.calls(then);
    }

    /// Passes what the process does to the host's memory, unless a call of its own comes first or has not returned.
    fn pass(&mut self, emission: Emission, out: &mut Vec<Emission>) {
        if self.between.is_calling() {
            return self.between.hold(emission);
        }
        match emission {
            Emission::Submit(bio) if bio.op == Op::Flush => self.sync(&bio, out),
            Emission::Submit(bio) if bio.op != Op::Discard => {
                self.last = Some(bio);
                let file = self.file_at(&bio);
                let due = self.due(file).or_else(|| {
                    self.begins(out);
                    self.renaming(file)
                });
                match due {
                    Some(call) => self.calls(&bio, call, emission, out),
                    None => self.transfer(&bio, out),
                }
            }
            Emission::Exit => {
                self.names.iter_mut().for_each(Names::ends);
                match (self.last, self.removal()) {
                    (Some(bio), Some(call)) => self.calls(&bio, call, emission, out),
                    _ => out.push(emission),
                }
            }
            other => out.push(other),
        }
    }
}

impl<S: Source> Source for Buffered<S> {
    fn next(&self) -> Option<Instant> {
        let synced = self.syncing.as_ref().and_then(|syncing| syncing.returned);
        let returned = self.between.returned().map(|(at, _)| at);
        [returned, synced, self.process.next()].into_iter().flatten().min()
    }

    fn emit(&mut self, now: Instant, out: &mut Vec<Emission>) {
        if let Some((_, tag)) = self.between.returned() {
            out.push(Emission::Taken { tag, accepted: None });
            for emission in self.between.go_on() {
                self.pass(emission, out);
            }
        }
        self.sync_next(out);
        if self.process.is_finished() {
            return;
        }
        let mut direct = Vec::new();
        self.process.emit(now, &mut direct);
        for emission in direct {
            self.pass(emission, out);
        }
    }

    fn delivered(&mut self, now: Instant, what: Delivered) {
        if let Delivered::Done { tag: tag @ (BETWEEN_TAG | UNCOUNTED), .. } = what {
            return self.between.came_back(now, tag);
        }
        let mut what = what;
        if let (Delivered::Done { tag, failed }, Some(syncing)) = (what, &mut self.syncing)
            && tag == syncing.bio.tag
        {
            syncing.failed |= failed;
            if !syncing.left.is_empty() {
                syncing.returned = Some(now);
                return;
            }
            what = Delivered::Done { tag, failed: syncing.failed };
            self.syncing = None;
        }
        self.process.delivered(now, what);
    }

    fn asleep(&mut self) {
        self.process.asleep();
    }

    fn is_finished(&self) -> bool {
        self.process.is_finished() && !self.between.is_calling()
    }

    fn awaits_exits(&self) -> bool {
        self.process.awaits_exits()
    }

    fn takes_completions(&self) -> bool {
        self.process.takes_completions()
    }

    fn trouble(&self) -> Trouble {
        self.process.trouble()
    }

    fn submitter(&self) -> SubmitterId {
        self.process.submitter()
    }
}
