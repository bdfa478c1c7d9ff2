//! Request slots before blk-mq: counted pools.
//!
//! **Rule** `nr_requests` slots per direction. A submitter that finds none sleeps; the era determines how many slots
//! must become free before it wakes. Since 2.6 each that wakes has a batch of its own, and keeps it when others
//! wake.
//! **Origin** 2.4: [`waiters`](super::waiters). 2.5: wakes when `batch_requests` (32) are free. 2.6: wakes at the
//! first, and may then take a batch. All MEMORY; the mail of 2002-09-26 needs the first, and the grid of 4.x that
//! `crates/simulate/tests/it/slots.rs` cites shows the last.
//! **In the kernel** `get_request`, `request_list`, `freed_request`, `ioc_batching`, `blk_set_queue_full`,
//! `nr_batch_requests`, `BLK_BATCH_REQ`, `BLK_BATCH_TIME`, `ioc_set_batching`, `__freed_request`.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::mq::Task;
use super::slots::{Slots, WakeRule};
use super::waiters::{Sleeper, Waiters};
use crate::request::{Bio, Dir, PerDir};
use crate::time::Instant;

/// A submitter that was woken and may take a batch.
#[derive(Clone, Copy, Debug)]
struct Privilege {
    submitter: crate::SubmitterId,
    left: u32,
    until: Instant,
}

impl Privilege {
    fn holds(&self, now: Instant) -> bool {
        self.left > 0 && now <= self.until
    }
}

/// The number of slots taken, and the submitters that wait for one.
#[derive(Debug)]
pub(crate) struct Pools {
    slots: Slots,
    used: PerDir<u32>,
    sleepers: PerDir<VecDeque<Sleeper>>,
    privileges: PerDir<Vec<Privilege>>,
    /// 2.4.
    waiters: Waiters,
    /// The number of slots in each direction.
    limit: u32,
    /// The same while no submitter has ever slept or had a privilege in that direction, then 0.
    simply: PerDir<u32>,
}

impl Pools {
    pub(super) fn new(slots: Slots) -> Pools {
        let limit = match slots {
            Slots::PerDirection { nr_requests, .. } => nr_requests,
            Slots::Unlimited | Slots::Unbounded { .. } | Slots::Tags { .. } => u32::MAX,
        };
        Pools {
            slots,
            used: PerDir::default(),
            sleepers: PerDir::default(),
            privileges: PerDir::default(),
            waiters: Waiters::default(),
            limit,
            simply: PerDir { read: limit, write: limit },
        }
    }

    /// Whether sleepers try again as in 2.4.
    pub(super) fn waits_as_2_4(&self) -> bool {
        matches!(self.slots.wake(), WakeRule::One { .. } | WakeRule::All { .. })
    }

    pub(super) fn waiters(&mut self) -> &mut Waiters {
        &mut self.waiters
    }

    /// Adds a further piece of the bio with which its submitter has just fallen asleep.
    pub(super) fn wait_behind(&mut self, sleeper: Sleeper) {
        self.waiters.behind(sleeper);
    }

    /// Takes a slot for `bio`, if the era lets its submitter have one now.
    #[inline(always)]
    pub(super) fn take(&mut self, now: Instant, bio: &Bio) -> bool {
        let dir = bio.dir();
        if self.used[dir] >= self.simply[dir] {
            return self.take_by_rule(now, bio);
        }
        self.used[dir] += 1;
        true
    }

    #[inline(never)]
    fn take_by_rule(&mut self, now: Instant, bio: &Bio) -> bool {
        let dir = bio.dir();
        let privilege = self.privilege(now, bio);
        let privileged = privilege.is_some();
        let granted = match self.free(dir) {
            0 => privileged && self.used[dir] < self.slots.nr_requests().saturating_add(self.beyond()),
            _ => privileged || self.sleepers[dir].is_empty(),
        };
        if granted {
            self.used[dir] += 1;
            if let Some(nth) = privilege {
                self.privileges[dir][nth].left -= 1;
            }
        }
        granted
    }

    /// Takes a slot even if none is free: for requests that cannot sleep.
    pub(super) fn take_anyway(&mut self, dir: Dir) {
        self.used[dir] += 1;
    }

    /// A request has ended; adds the tasks that are woken, in order (2.4).
    #[inline(always)]
    pub(super) fn release(&mut self, dir: Dir, woke: &mut Vec<Task>) {
        self.used[dir] -= 1;
        if !self.waiters.waiting.is_empty() {
            self.wake_waiters(dir, woke);
        }
    }

    #[cold]
    fn wake_waiters(&mut self, dir: Dir, woke: &mut Vec<Task>) {
        let nr_requests = self.slots.nr_requests();
        let enough = |free: u32| self.free(dir) >= free.min(nr_requests / 2).max(1);
        match self.slots.wake() {
            WakeRule::One { free } if enough(free) => self.waiters.wake_one(dir, woke),
            WakeRule::All { free } if enough(free) => self.waiters.wake_all(woke),
            _ => {}
        }
    }

    pub(super) fn sleep(&mut self, sleeper: Sleeper) {
        self.simply[sleeper.bio.dir()] = 0;
        self.sleepers[sleeper.bio.dir()].push_back(sleeper);
    }

    /// It was woken in vain: it keeps its place.
    pub(super) fn sleep_on(&mut self, sleeper: Sleeper) {
        self.sleepers[sleeper.bio.dir()].push_front(sleeper);
    }

    pub(super) fn nobody_sleeps(&self) -> bool {
        self.sleepers.read.is_empty() && self.sleepers.write.is_empty() && self.waiters.nobody_runs()
    }

    /// The next sleeper of this direction that wakes now, if any. Its slot is not taken yet; it may merge instead.
    pub(super) fn wake(&mut self, now: Instant, dir: Dir) -> Option<Sleeper> {
        if !self.may_wake(dir) {
            return None;
        }
        let sleeper = self.sleepers[dir].pop_front()?;
        let submitter = sleeper.bio.submitter;
        let privileges = &mut self.privileges[dir];
        let (left, until) = match self.slots.wake() {
            // The submitter that woke last continues to take free slots before others do.
            WakeRule::AtFree(_) | WakeRule::One { .. } | WakeRule::All { .. } => {
                privileges.clear();
                (u32::MAX, Instant::NEVER)
            }
            WakeRule::Batcher { requests, time } => {
                privileges.retain(|other| other.holds(now) && other.submitter != submitter);
                (requests, now + time)
            }
        };
        privileges.push(Privilege { submitter, left, until });
        self.simply[dir] = 0;
        Some(sleeper)
    }

    pub(super) fn free(&self, dir: Dir) -> u32 {
        if self.limit == u32::MAX { u32::MAX } else { self.limit.saturating_sub(self.used[dir]) }
    }

    fn may_wake(&self, dir: Dir) -> bool {
        let wanted = match self.slots.wake() {
            WakeRule::AtFree(free) => free.min(self.slots.nr_requests()),
            WakeRule::Batcher { .. } | WakeRule::One { .. } | WakeRule::All { .. } => 1,
        };
        self.free(dir) >= wanted
    }

    /// Which privilege the submitter of `bio` has, if it was woken and its batch is not over.
    #[inline]
    fn privilege(&self, now: Instant, bio: &Bio) -> Option<usize> {
        let mut all = self.privileges[bio.dir()].iter();
        all.position(|privilege| privilege.submitter == bio.submitter && privilege.holds(now))
    }

    /// How many requests beyond the limit a batch may reach.
    fn beyond(&self) -> u32 {
        match self.slots.wake() {
            WakeRule::AtFree(_) | WakeRule::One { .. } | WakeRule::All { .. } => 0,
            WakeRule::Batcher { .. } => self.slots.nr_requests() / 2,
        }
    }

    pub(super) fn check(&self, live: u32) {
        assert!(self.used.read + self.used.write <= live, "slots are taken by nobody");
    }
}
