//! **What for**: writes with parity are gathered, so that stripes that arrive in parts are written as a whole.
//!
//! **Rule**: the stripe cache has `stripe_cache_size` entries, each a page of every member. A write joins the entries
//! of its pages; one that finds none waits, and so does one to a page whose older write has not ended. An entry whose
//! write needs no reading is written at once. An entry that needs reading is held until the current moment is over and
//! no entry without reading is being written, or until `preread_bypass_threshold` of those have passed it (0: all may
//! pass it). Data that an entry has read or written stays until another needs its place; the least recently used one is
//! replaced first.
//!
//! **Origin**: `stripe_cache_size`, `preread_bypass_threshold` as Linux's Documentation/admin-guide/md.rst has them.
//! There the cache also grows by itself, over hours; here it does not.

use std::collections::BTreeMap;

use super::layout::Layout;
use super::parity::{Fresh, Members, ParityRow};

/// The state of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StripeStage {
    /// Nothing is in progress; it keeps its pages.
    Idle,
    /// It needs to read, and waits for the rest of its data.
    Held,
    Reading,
    Writing,
}

/// What several commands want of an entry.
#[derive(Clone, Debug, Default)]
struct WantedPages {
    fresh: Fresh,
    jobs: Vec<u32>,
}

/// A page of every member.
#[derive(Clone, Debug)]
struct StripeEntry {
    row: u64,
    stage: StripeStage,
    /// The stamp at which it reached this stage, among all.
    stamp: u64,
    /// The members whose pages it holds.
    cached: Members,
    now: WantedPages,
    /// What comes after that.
    then: WantedPages,
}

/// An entry to be handled: its row, and the members concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DueEntry {
    pub(super) entry: u32,
    pub(super) row: u64,
    pub(super) members: Members,
}

/// Why a write did not join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// There is no entry for the page.
    Cache,
    /// An older write to the same page has not ended.
    Page,
}

/// The cache.
pub(super) struct Stripes {
    size: usize,
    bypass_threshold: u32,
    entries: Vec<StripeEntry>,
    /// By row.
    index: BTreeMap<u64, u32>,
    /// By stamp.
    idle: BTreeMap<u64, u32>,
    held: BTreeMap<u64, u32>,
    stamp: u64,
    /// The last stamp before the present moment.
    before: u64,
    /// Entries in progress that needed no reading.
    at_once: u32,
    /// How many of those have passed the held ones since the last of these was released.
    bypassed: u32,
}

impl Stripes {
    pub(super) fn new(size: u32, bypass_threshold: u32) -> Stripes {
        Stripes {
            size: size as usize,
            bypass_threshold,
            entries: Vec::new(),
            index: BTreeMap::new(),
            idle: BTreeMap::new(),
            held: BTreeMap::new(),
            stamp: 0,
            before: 0,
            at_once: 0,
            bypassed: 0,
        }
    }

    /// Whether anything is held only until the present moment is over.
    pub(super) fn waits_for_the_moment(&self) -> bool {
        self.at_once == 0 && !self.held.is_empty()
    }

    /// The time advances.
    pub(super) fn moves_on(&mut self) {
        self.before = self.stamp;
    }

    /// `job` writes this to the members' page `row`; returns the entry, if it can. An entry that was idle or held must
    /// then be judged. `may_take`: an entry of another row may be reused for it.
    pub(super) fn join(&mut self, row: u64, fresh: Fresh, job: u32, may_take: bool) -> Result<u32, Full> {
        let entry = match self.index.get(&row) {
            Some(&entry) => entry,
            None if may_take => self.place(row).ok_or(Full::Cache)?,
            None => return Err(Full::Cache),
        };
        let it = &mut self.entries[entry as usize];
        let wanted = if matches!(it.stage, StripeStage::Idle | StripeStage::Held) { &mut it.now } else { &mut it.then };
        let clash = wanted.fresh.whole.and(fresh.any()).or(wanted.fresh.any().and(fresh.whole));
        if !clash.is_empty() {
            return Err(Full::Page);
        }
        wanted.fresh = Fresh { whole: wanted.fresh.whole.or(fresh.whole), part: wanted.fresh.part.or(fresh.part) };
        wanted.jobs.push(job);
        if it.stage == StripeStage::Idle {
            self.idle.remove(&it.stamp);
            self.hold(entry);
        }
        Ok(entry)
    }

    /// An entry for `row`: a new one, or the one that has been idle longest.
    fn place(&mut self, row: u64) -> Option<u32> {
        let entry = if self.entries.len() < self.size {
            self.entries.push(StripeEntry {
                row,
                stage: StripeStage::Idle,
                stamp: 0,
                cached: Members::default(),
                now: WantedPages::default(),
                then: WantedPages::default(),
            });
            self.entries.len() as u32 - 1
        } else {
            let (_, entry) = self.idle.pop_first()?;
            let it = &mut self.entries[entry as usize];
            self.index.remove(&it.row);
            (it.row, it.cached) = (row, Members::default());
            entry
        };
        self.index.insert(row, entry);
        self.idle_at(entry);
        Some(entry)
    }

    fn stamped(&mut self, entry: u32, stage: StripeStage) -> u64 {
        self.stamp += 1;
        let it = &mut self.entries[entry as usize];
        (it.stage, it.stamp) = (stage, self.stamp);
        self.stamp
    }

    fn hold(&mut self, entry: u32) {
        let stamp = self.stamped(entry, StripeStage::Held);
        self.held.insert(stamp, entry);
    }

    fn idle_at(&mut self, entry: u32) {
        let stamp = self.stamped(entry, StripeStage::Idle);
        self.idle.insert(stamp, entry);
    }

    /// Puts those entries that can be written at once into `write`, and those held ones that too many others have
    /// passed into `read`.
    pub(super) fn judge(
        &mut self,
        layout: &Layout,
        touched: &[u32],
        write: &mut Vec<DueEntry>,
        read: &mut Vec<DueEntry>,
    ) {
        for &entry in touched {
            let it = &self.entries[entry as usize];
            let row = ParityRow::new(layout, it.row);
            if it.stage == StripeStage::Held && row.reads(it.now.fresh, it.cached).is_empty() {
                self.held.remove(&it.stamp);
                write.push(self.written(layout, entry));
                self.at_once += 1;
                self.bypassed += 1;
            }
            while self.bypass_threshold > 0 && self.bypassed >= self.bypass_threshold {
                self.bypassed -= self.bypass_threshold;
                let Some((&stamp, &entry)) = self.held.first_key_value().filter(|(stamp, _)| **stamp <= self.before)
                else {
                    break;
                };
                self.held.remove(&stamp);
                self.admit(layout, entry, write, read);
            }
        }
        if self.held.is_empty() {
            self.bypassed = 0;
        }
    }

    /// Releases everything that is held.
    pub(super) fn release(&mut self, layout: &Layout, write: &mut Vec<DueEntry>, read: &mut Vec<DueEntry>) {
        while let Some((_, entry)) = self.held.pop_first() {
            self.admit(layout, entry, write, read);
        }
        self.bypassed = 0;
    }

    /// Releases a held entry: it is read, or, if more of its data has joined meanwhile, written.
    fn admit(&mut self, layout: &Layout, entry: u32, write: &mut Vec<DueEntry>, read: &mut Vec<DueEntry>) {
        let it = &self.entries[entry as usize];
        let members = ParityRow::new(layout, it.row).reads(it.now.fresh, it.cached);
        if members.is_empty() {
            self.at_once += 1;
            return write.push(self.written(layout, entry));
        }
        let row = it.row;
        self.stamped(entry, StripeStage::Reading);
        read.push(DueEntry { entry, row, members });
    }

    fn written(&mut self, layout: &Layout, entry: u32) -> DueEntry {
        self.stamped(entry, StripeStage::Writing);
        let it = &self.entries[entry as usize];
        DueEntry { entry, row: it.row, members: ParityRow::new(layout, it.row).writes(it.now.fresh) }
    }

    /// Its reads are done: now it is written.
    pub(super) fn has_read(&mut self, layout: &Layout, due: DueEntry) -> DueEntry {
        let it = &mut self.entries[due.entry as usize];
        it.cached = it.cached.or(due.members);
        self.written(layout, due.entry)
    }

    /// Its writes are done or have failed: puts its jobs into `jobs`. True if more is wanted of the entry, which must
    /// then be judged.
    pub(super) fn has_written(&mut self, due: DueEntry, needed_reading: bool, jobs: &mut Vec<u32>) -> bool {
        if !needed_reading {
            self.at_once -= 1;
        }
        let it = &mut self.entries[due.entry as usize];
        it.cached = it.cached.or(due.members);
        jobs.append(&mut it.now.jobs);
        core::mem::swap(&mut it.now, &mut it.then);
        it.then.fresh = Fresh::default();
        if it.now.jobs.is_empty() {
            self.idle_at(due.entry);
            return false;
        }
        self.hold(due.entry);
        true
    }

    /// A read for this entry failed: it holds nothing, and what was wanted of it has failed.
    pub(super) fn has_failed(&mut self, due: DueEntry, jobs: &mut Vec<u32>) -> bool {
        self.entries[due.entry as usize].cached = Members::default();
        let nothing = DueEntry { members: Members::default(), ..due };
        self.has_written(nothing, true, jobs)
    }

    /// The jobs of an entry.
    pub(super) fn jobs(&self, entry: u32) -> &[u32] {
        &self.entries[entry as usize].now.jobs
    }
}
