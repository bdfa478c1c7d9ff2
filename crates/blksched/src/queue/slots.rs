//! Request slots: how many requests may exist, who sleeps when there are none, and who wakes first.
//!
//! **Rule** `nr_requests` slots, per direction until blk-mq, shared since. A submitter that finds none sleeps; how
//! many slots must come free before it wakes is the era's own.
//! **Origin** 2.5: wakes when `batch_requests` (32) are free. 2.6: wakes at the first, and may then take a batch of
//! its own. blk-mq: sleepers wake in small groups. All MEMORY; the mail of 2002-09-26 needs the first.

use std::collections::VecDeque;

use crate::elevator::Admission;
use crate::request::{Bio, Dir, PerDir};
use crate::time::{Instant, Span};

use super::split::Piece;

/// How many requests may exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slots {
    /// As many as come.
    Unlimited,
    /// As many as come, though elevators are told this number (recordings, whose pools were never exhausted).
    Unbounded {
        /// What elevators are told.
        nr_requests: u32,
    },
    /// Some for reads and as many for writes (until blk-mq).
    PerDirection {
        /// Slots in each direction.
        nr_requests: u32,
        /// When sleepers wake.
        wake: WakeRule,
    },
    /// One pool (blk-mq's tags).
    Shared {
        /// Slots in all.
        nr_requests: u32,
        /// When sleepers wake.
        wake: WakeRule,
    },
}

impl Slots {
    /// 128 per direction, woken at 32 free: 2.5.
    pub const LINUX_2_5: Slots = Slots::PerDirection { nr_requests: 128, wake: WakeRule::AtFree(32) };
    /// 128 per direction, with a batch of 32 within 20 ms for whoever wakes: 2.6 to 4.20.
    pub const LINUX_2_6: Slots =
        Slots::PerDirection { nr_requests: 128, wake: WakeRule::Batcher { requests: 32, time: Span::from_ms(20) } };
    /// 256 tags for both directions, woken at 8 free: blk-mq.
    pub const LINUX_5: Slots = Slots::Shared { nr_requests: 256, wake: WakeRule::AtFree(8) };

    /// `nr_requests` as sysfs shows it; of an unlimited queue the largest number there is.
    pub fn nr_requests(self) -> u32 {
        match self {
            Slots::Unlimited => u32::MAX,
            Slots::Unbounded { nr_requests }
            | Slots::PerDirection { nr_requests, .. }
            | Slots::Shared { nr_requests, .. } => nr_requests,
        }
    }

    /// The same, with another number.
    pub fn with_nr_requests(self, nr_requests: u32) -> Slots {
        match self {
            Slots::Unlimited | Slots::Unbounded { .. } => Slots::Unbounded { nr_requests },
            Slots::PerDirection { wake, .. } => Slots::PerDirection { nr_requests, wake },
            Slots::Shared { wake, .. } => Slots::Shared { nr_requests, wake },
        }
    }

    /// blk-mq's tags stand in words of 64, or of fewer, halved until there are at least four words.
    pub fn tags_per_word(self) -> u32 {
        let tags = self.nr_requests();
        let mut per_word = 64;
        while per_word > 1 && 4 * per_word > tags {
            per_word /= 2;
        }
        per_word
    }

    /// How many requests to make room for at the start.
    pub(super) fn capacity(self) -> usize {
        match self {
            Slots::Unlimited | Slots::Unbounded { .. } => 1024,
            Slots::PerDirection { nr_requests, .. } => (3 * nr_requests as usize).max(1),
            Slots::Shared { nr_requests, .. } => (nr_requests as usize).max(1),
        }
    }

    fn wake(self) -> WakeRule {
        match self {
            Slots::Unlimited | Slots::Unbounded { .. } => WakeRule::AtFree(1),
            Slots::PerDirection { wake, .. } | Slots::Shared { wake, .. } => wake,
        }
    }
}

/// When a sleeper wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeRule {
    /// Once so many slots are free (or all of them, if there are fewer).
    AtFree(u32),
    /// At the first free slot; it may then take so many requests within so long, even while others sleep and up to one
    /// and a half times `nr_requests`.
    Batcher {
        /// Requests, the one that slept included.
        requests: u32,
        /// How long the privilege lasts.
        time: Span,
    },
}

/// A bio whose submitter sleeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleeper {
    pub(super) bio: Bio,
    pub(super) piece: Piece,
}

/// Somebody who was woken and may take a batch.
#[derive(Clone, Copy, Debug)]
struct Privilege {
    submitter: crate::SubmitterId,
    left: u32,
    until: Instant,
}

/// Allocated slots and sleeping submitters.
#[derive(Debug)]
pub(super) struct SlotBook {
    slots: Slots,
    used: PerDir<u32>,
    sleepers: PerDir<VecDeque<Sleeper>>,
    privilege: PerDir<Option<Privilege>>,
}

impl SlotBook {
    pub(super) fn new(slots: Slots) -> SlotBook {
        SlotBook { slots, used: PerDir::default(), sleepers: PerDir::default(), privilege: PerDir::default() }
    }

    /// Take a slot for `bio`, if the era and the elevator let its submitter have one now.
    #[inline]
    pub(super) fn take(&mut self, now: Instant, bio: &Bio, admission: Admission) -> bool {
        let dir = bio.dir();
        if self.is_too_deep(admission) {
            return false;
        }
        let privileged = self.is_privileged(now, bio);
        let granted = match self.free(dir) {
            0 => privileged && self.used[dir] < self.slots.nr_requests().saturating_add(self.beyond()),
            _ => privileged || self.sleepers[dir].is_empty(),
        };
        if granted {
            self.used[dir] += 1;
            if let Some(privilege) = self.privilege[dir].as_mut().filter(|_| privileged) {
                privilege.left -= 1;
            }
        }
        granted
    }

    /// Take a slot even if none is free: for what cannot sleep.
    pub(super) fn take_anyway(&mut self, dir: Dir) {
        self.used[dir] += 1;
    }

    /// A request is no more.
    #[inline]
    pub(super) fn release(&mut self, dir: Dir) {
        self.used[dir] -= 1;
    }

    pub(super) fn sleep(&mut self, sleeper: Sleeper) {
        self.sleepers[sleeper.bio.dir()].push_back(sleeper);
    }

    /// It was woken in vain: it keeps its place.
    pub(super) fn sleep_on(&mut self, sleeper: Sleeper) {
        self.sleepers[sleeper.bio.dir()].push_front(sleeper);
    }

    pub(super) fn nobody_sleeps(&self) -> bool {
        self.sleepers.read.is_empty() && self.sleepers.write.is_empty()
    }

    /// The next sleeper of this direction that wakes now, if any. Its slot is not taken yet; it is free to merge
    /// instead.
    pub(super) fn wake(&mut self, now: Instant, dir: Dir) -> Option<Sleeper> {
        if !self.may_wake(dir) {
            return None;
        }
        let sleeper = self.sleepers[dir].pop_front()?;
        let (left, until) = match self.slots.wake() {
            // Whoever wakes goes on taking what is free before others do.
            WakeRule::AtFree(_) => (u32::MAX, Instant::NEVER),
            WakeRule::Batcher { requests, time } => (requests, now + time),
        };
        self.privilege[dir] = Some(Privilege { submitter: sleeper.bio.submitter, left, until });
        Some(sleeper)
    }

    /// Would another request of this kind leave too few tags for the others?
    fn is_too_deep(&self, admission: Admission) -> bool {
        let Slots::Shared { nr_requests, .. } = self.slots else { return false };
        let words = nr_requests.div_ceil(self.slots.tags_per_word());
        let most = match admission {
            Admission::Unlimited => return false,
            Admission::Shallow(per_word) => per_word.saturating_mul(words),
            Admission::AtMost(tags) => tags,
        };
        self.used.read + self.used.write >= most
    }

    fn free(&self, dir: Dir) -> u32 {
        match self.slots {
            Slots::Unlimited | Slots::Unbounded { .. } => u32::MAX,
            Slots::PerDirection { nr_requests, .. } => nr_requests.saturating_sub(self.used[dir]),
            Slots::Shared { nr_requests, .. } => nr_requests.saturating_sub(self.used.read + self.used.write),
        }
    }

    fn may_wake(&self, dir: Dir) -> bool {
        let wanted = match self.slots.wake() {
            WakeRule::AtFree(free) => free.min(self.slots.nr_requests()),
            WakeRule::Batcher { .. } => 1,
        };
        self.free(dir) >= wanted
    }

    /// May this bio's submitter batch allocations, since it was woken a moment ago?
    #[inline]
    fn is_privileged(&self, now: Instant, bio: &Bio) -> bool {
        self.privilege[bio.dir()].as_ref().is_some_and(|privilege| {
            privilege.submitter == bio.submitter && privilege.left > 0 && now <= privilege.until
        })
    }

    /// How many requests beyond the limit a batch may reach.
    fn beyond(&self) -> u32 {
        match self.slots.wake() {
            WakeRule::AtFree(_) => 0,
            WakeRule::Batcher { .. } => self.slots.nr_requests() / 2,
        }
    }

    pub(super) fn check(&self, live: u32) {
        assert!(self.used.read + self.used.write <= live, "slots are taken by nobody");
    }
}
