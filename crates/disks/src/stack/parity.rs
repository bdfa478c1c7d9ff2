//! **What for**: md's RAID 5 and 6 at work: how writes become reads and writes of data and parity.
//!
//! **Rule**: a write is cut into pages; those that lie at one place of all members make a stripe, which a thread
//! handles after it was woken. If every data page of a stripe is given whole, data and parity are written at once.
//! Otherwise either the old pages that are overwritten and the old parity are read (read-modify-write) or the data
//! pages that are not (reconstruct-write), whichever reads less, reconstructing if both read as much; then it writes.
//! Stripes that need no reading go first. A limited number of stripes is kept in memory with what was read and
//! written, so that it is not read again; when all are at work, writes wait until a quarter of them is not. A stripe
//! that is at work takes what comes meanwhile in its next turn. Everything is sent in the thread's name, without
//! priority or group, from the last member to the first; writes are synchronous if one of the writers waits.
//! **Origin** Documentation: `admin-guide/md.rst` (`stripe_cache_size`: entries, one page of each member, 256 and 17 to
//! 32,768), md(4), `driver-api/md/raid5-cache.rst` ("for non-full-stripe writes, MD must read old data before the new
//! parity can be calculated"), the messages of the commits d06f191f8eca (`rmw_level`: "only if we will save IOs") and
//! 8b3e6cdc53b7 (whole stripes before those that read), N. Brown on linux-raid, 2012-08-20. The quarter, and that the
//! thread's bios have no group, are MEMORY. What is read and written, its order within a stripe, flags and priority
//! were compared with recordings of Linux 6.12 (docs/stack.md).
//! **Left out** A process that writes while all stripes are at work does not sleep, its bios wait; the cache does not
//! grow; the processor time of parity itself; that a stripe that reads is let through between whole ones.

use std::collections::{BTreeMap, VecDeque};

use blksched::{Instant, Span};

use super::crypt::Slot;

/// What md's thread has, and takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParitySpec {
    /// `stripe_cache_size`: how many stripes are kept.
    pub stripes: u32,
    /// How long the thread takes until it runs.
    pub hop: Span,
}

impl Default for ParitySpec {
    /// md's default; `hop` is dm-crypt's.
    fn default() -> ParitySpec {
        ParitySpec { stripes: 256, hop: Span::from_us(3) }
    }
}

/// A page of a bio on its member.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageWrite {
    pub slot: Slot,
    /// The page's number on the members.
    pub row: u64,
    pub member: u32,
    /// The members with this row's parity, as bits.
    pub parity: u64,
    pub is_whole: bool,
    pub fua: bool,
    /// Somebody waits for it.
    pub sync: bool,
}

/// What comes of the thread's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StripeDone {
    /// This page of a member is read.
    Read { row: u64, member: u32 },
    /// It is written.
    Write { row: u64, member: u32, fua: bool, sync: bool },
    /// A page of this bio is on the disks, with its parity.
    Landed { slot: Slot, failed: bool },
}

/// Where a stripe is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StripeStage {
    Idle,
    Gathers,
    Reads,
    HasRead,
    Writes,
    Written,
}

#[derive(Clone, Debug)]
struct Stripe {
    stage: StripeStage,
    /// Members as bits: with parity here; whose page is in memory; whose is given, whole or in part.
    parity: u64,
    known: u64,
    whole: u64,
    part: u64,
    reads: u64,
    fua: bool,
    sync: bool,
    failed: bool,
    left: u32,
    waits: Vec<Slot>,
    later: Vec<PageWrite>,
    /// Its place among those at rest.
    rests: u64,
}

/// The stripes in memory, and the thread.
#[derive(Clone, Debug)]
pub(super) struct StripeCache {
    spec: ParitySpec,
    /// All members as bits.
    members: u64,
    stripes: BTreeMap<u64, Stripe>,
    at_rest: BTreeMap<u64, u64>,
    rested: u64,
    ready: VecDeque<u64>,
    comes: Option<Instant>,
    behind: VecDeque<PageWrite>,
}

impl StripeCache {
    pub fn new(spec: ParitySpec, members: u32) -> StripeCache {
        StripeCache {
            spec,
            members: u64::MAX >> (64 - members),
            stripes: BTreeMap::new(),
            at_rest: BTreeMap::new(),
            rested: 0,
            ready: VecDeque::new(),
            comes: None,
            behind: VecDeque::new(),
        }
    }

    /// How long the thread takes until it runs.
    pub fn hop(&self) -> Span {
        self.spec.hop
    }

    /// Whether the thread is called, which it is then no more: somebody else sees to it.
    pub fn is_called(&mut self) -> bool {
        self.comes.take().is_some()
    }

    /// When the thread comes.
    pub fn next(&self) -> Option<Instant> {
        self.comes
    }

    /// A bio that waits for this stripe.
    pub fn waits(&self, row: u64) -> Slot {
        self.stripes[&row].waits[0]
    }

    /// A page is to be written.
    pub fn join(&mut self, now: Instant, page: PageWrite) {
        if !self.behind.is_empty() || !self.has_room(page.row) {
            return self.behind.push_back(page);
        }
        self.take(page);
        self.wake(now);
    }

    /// A page of this stripe has been read or written.
    pub fn done(&mut self, now: Instant, row: u64, failed: bool) {
        let stripe = self.stripes.get_mut(&row).expect("it is at work");
        stripe.failed |= failed;
        stripe.left -= 1;
        if stripe.left > 0 {
            return;
        }
        stripe.stage = if stripe.stage == StripeStage::Reads { StripeStage::HasRead } else { StripeStage::Written };
        self.ready.push_back(row);
        self.wake(now);
    }

    /// Whether the thread is there.
    pub fn is_due(&self, now: Instant) -> bool {
        self.comes.is_some_and(|comes| comes <= now)
    }

    /// The thread does its work.
    pub fn turn(&mut self, now: Instant, out: &mut Vec<StripeDone>) {
        self.comes = None;
        let mut to_read = Vec::new();
        let mut turns = core::mem::take(&mut self.ready);
        while let Some(row) = turns.pop_front() {
            match self.stripes[&row].stage {
                StripeStage::Written => self.ended(row, out),
                StripeStage::Gathers if self.lacks(row) != 0 => to_read.push(row),
                _ => self.write(row, out),
            }
        }
        for row in to_read {
            self.read(row, out);
        }
        let active = self.stripes.len() - self.at_rest.len();
        if active <= self.spec.stripes as usize * 3 / 4 {
            while self.behind.front().is_some_and(|page| self.has_room(page.row)) {
                let page = self.behind.pop_front().expect("it is there");
                self.take(page);
            }
        }
        if !self.ready.is_empty() {
            self.wake(now);
        }
    }

    fn wake(&mut self, now: Instant) {
        self.comes = self.comes.or(Some(now + self.spec.hop));
    }

    fn has_room(&self, row: u64) -> bool {
        self.stripes.contains_key(&row) || self.stripes.len() < self.spec.stripes as usize || !self.at_rest.is_empty()
    }

    fn take(&mut self, page: PageWrite) {
        if !self.stripes.contains_key(&page.row) && self.stripes.len() >= self.spec.stripes as usize {
            let (_, oldest) = self.at_rest.pop_first().expect("there is room");
            self.stripes.remove(&oldest);
        }
        let stripe = self.stripes.entry(page.row).or_insert_with(|| Stripe {
            stage: StripeStage::Idle,
            parity: page.parity,
            known: 0,
            whole: 0,
            part: 0,
            reads: 0,
            fua: false,
            sync: false,
            failed: false,
            left: 0,
            waits: Vec::new(),
            later: Vec::new(),
            rests: 0,
        });
        match stripe.stage {
            StripeStage::Idle => {
                self.at_rest.remove(&stripe.rests);
                stripe.gather(page);
                self.ready.push_back(page.row);
            }
            StripeStage::Gathers => stripe.gather(page),
            _ => stripe.later.push(page),
        }
    }

    /// What has to be read before this stripe is written.
    fn lacks(&self, row: u64) -> u64 {
        let Stripe { parity, known, whole, part, .. } = self.stripes[&row];
        let modify = (whole | part | parity) & !known;
        let reconstruct = self.members & !parity & !whole & !known;
        if modify.count_ones() < reconstruct.count_ones() { modify } else { reconstruct }
    }

    fn read(&mut self, row: u64, out: &mut Vec<StripeDone>) {
        let reads = self.lacks(row);
        let stripe = self.stripes.get_mut(&row).expect("it is at work");
        (stripe.stage, stripe.reads, stripe.left) = (StripeStage::Reads, reads, reads.count_ones());
        out.extend(bits(reads).map(|member| StripeDone::Read { row, member }));
    }

    fn write(&mut self, row: u64, out: &mut Vec<StripeDone>) {
        let stripe = self.stripes.get_mut(&row).expect("it is at work");
        let writes = stripe.whole | stripe.part | stripe.parity;
        stripe.known |= stripe.reads | writes;
        (stripe.stage, stripe.reads, stripe.left) = (StripeStage::Writes, 0, writes.count_ones());
        let (fua, sync) = (stripe.fua, stripe.sync);
        out.extend(bits(writes).map(|member| StripeDone::Write { row, member, fua, sync }));
    }

    fn ended(&mut self, row: u64, out: &mut Vec<StripeDone>) {
        let stripe = self.stripes.get_mut(&row).expect("it is at work");
        let failed = core::mem::take(&mut stripe.failed);
        out.extend(stripe.waits.drain(..).map(|slot| StripeDone::Landed { slot, failed }));
        (stripe.whole, stripe.part, stripe.fua, stripe.sync) = (0, 0, false, false);
        let later = core::mem::take(&mut stripe.later);
        if later.is_empty() {
            self.rested += 1;
            (stripe.stage, stripe.rests) = (StripeStage::Idle, self.rested);
            self.at_rest.insert(self.rested, row);
            return;
        }
        later.into_iter().for_each(|page| stripe.gather(page));
        self.ready.push_back(row);
    }
}

impl Stripe {
    fn gather(&mut self, page: PageWrite) {
        self.stage = StripeStage::Gathers;
        let bit = 1 << page.member;
        if page.is_whole {
            self.whole |= bit
        } else {
            self.part |= bit
        }
        self.fua |= page.fua;
        self.sync |= page.sync;
        self.waits.push(page.slot);
    }
}

/// From the last member to the first, as md's thread goes over a stripe (recorded).
fn bits(mask: u64) -> impl Iterator<Item = u32> {
    (0..64).rev().filter(move |member| mask >> member & 1 == 1)
}
