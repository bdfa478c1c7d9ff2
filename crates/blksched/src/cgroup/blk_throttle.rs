//! io.max: limits on a group's bytes and I/Os per second.
//!
//! **Rule** A bio passes its group and every group above it, one after the other; if one has no room for it, it is
//! queued there, and its submitter continues. Time is divided into slices of 100 ms; a slice's allowance may be sent at
//! once, so a fresh group bursts for one slice, and a bio larger than a slice's allowance waits until it is covered.
//! Within a group, the bios of its children and its own are served round-robin.
//! **Origin** docs/behaviour/cgroup-io.md#x: read, not recorded. 6.18 has two queues per direction, one for bytes and
//! one for I/Os; here there is one; a bio at its head has its bytes charged while it waits for its I/O.
//! **In the kernel** `blk_throtl_bio`, `tg_may_dispatch`, `throtl_grp`, `throtl_pending_timer_fn`, `tg_dispatch_time`,
//! `throtl_select_dispatch`, `tg_dispatch_one_bio`, `throtl_qnode`, `blk_throtl_dispatch_work_fn`, `throtl_add_bio_tg`,
//! `throtl_service_queue`, `pending_tree`, `tg_update_disptime`, `throtl_schedule_next_dispatch`, `throtl_peek_queued`,
//! `throtl_pop_queued`.

#![doc(alias = "blk_throtl_bio")]
#![doc(alias = "tg_may_dispatch")]

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::request::{Bio, Dir, GroupId, Op, PerDir};
use crate::time::{Instant, Jiffies, Tick};

mod slice;

pub use slice::{Era, Limit};

use slice::{Size, SliceVerdict, ThrottleSlice};

/// The number of reads and of writes that a group sends when its time has come.
const READS_AT_ONCE: u32 = 6;
const WRITES_AT_ONCE: u32 = 2;
/// The timer never looks farther ahead than this \[slices\].
const FARTHEST: Tick = 8;
/// A discard counts as a write of this many bytes.
const DISCARD_BYTES: u64 = 512;

/// The result for a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Passage {
    /// It passes.
    Go,
    /// It is queued; its submitter continues.
    Held,
}

/// A queued bio, by the caller's identifier.
#[derive(Clone, Copy, Debug)]
struct Held {
    token: u64,
    size: Size,
}

/// The bios of one child, or a group's own.
#[derive(Clone, Debug)]
struct BioSource {
    from: GroupId,
    bios: VecDeque<Held>,
}

/// One direction at one group.
#[derive(Clone, Debug, Default)]
struct ThrottleLane {
    limit: Limit,
    slice: ThrottleSlice,
    /// The first source gives the next bio, then goes behind the others.
    sources: VecDeque<BioSource>,
}

impl ThrottleLane {
    fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    fn push(&mut self, from: GroupId, held: Held) {
        match self.sources.iter_mut().find(|source| source.from == from) {
            Some(source) => source.bios.push_back(held),
            None => self.sources.push_back(BioSource { from, bios: VecDeque::from([held]) }),
        }
    }

    fn head(&mut self) -> Option<&mut Held> {
        self.sources.front_mut()?.bios.front_mut()
    }

    fn pop(&mut self) -> Option<Held> {
        let mut source = self.sources.pop_front()?;
        let held = source.bios.pop_front();
        if !source.bios.is_empty() {
            self.sources.push_back(source);
        }
        held
    }
}

/// One group.
#[derive(Clone, Debug, Default)]
struct ThrottleGroup {
    parent: GroupId,
    lanes: PerDir<ThrottleLane>,
    /// When it is examined next, if it has anything queued.
    wakes: Option<Tick>,
}

/// io.max on one device.
#[derive(Clone, Debug)]
pub struct Throttle {
    jiffies: Jiffies,
    era: Era,
    levels: Vec<ThrottleGroup>,
}

impl Throttle {
    /// Without any group that has a limit.
    pub fn new(jiffies: Jiffies, era: Era) -> Throttle {
        Throttle { jiffies, era, levels: vec![ThrottleGroup::default()] }
    }

    /// Creates a group.
    pub fn set_group(&mut self, id: GroupId, parent: GroupId) {
        if self.levels.len() <= id.0 as usize {
            self.levels.resize(id.0 as usize + 1, ThrottleGroup::default());
        }
        self.levels[id.0 as usize].parent = parent;
    }

    /// A group is removed: its queued bios are released now, without a limit.
    pub fn remove_group(&mut self, id: GroupId, released: &mut Vec<u64>) {
        let Some(level) = self.levels.get_mut(id.0 as usize) else { return };
        let level = core::mem::take(level);
        for dir in Dir::BOTH {
            released.extend(level.lanes[dir].sources.iter().flat_map(|source| source.bios.iter().map(|bio| bio.token)));
        }
        for other in &mut self.levels {
            for dir in Dir::BOTH {
                // The bios that it had passed to groups above remain queued there.
                other.lanes[dir].sources.iter_mut().filter(|source| source.from == id).for_each(|source| {
                    source.from = level.parent;
                });
            }
        }
    }

    /// Writes `io.max`: the limits of both directions.
    pub fn set_limits(&mut self, now: Instant, id: GroupId, limits: PerDir<Limit>) {
        let (tick, jiffies, era) = (self.jiffies.tick(now), self.jiffies, self.era);
        let level = &mut self.levels[id.0 as usize];
        for dir in Dir::BOTH {
            let lane = &mut level.lanes[dir];
            lane.slice.change(tick, &lane.limit, !lane.is_empty(), jiffies, era);
            lane.limit = limits[dir];
        }
        self.look_again(tick, id);
    }

    /// The limits of a group.
    pub fn limits(&self, id: GroupId) -> PerDir<Limit> {
        self.levels.get(id.0 as usize).map_or(PerDir::default(), |level| PerDir::from_fn(|dir| level.lanes[dir].limit))
    }

    /// A bio arrives; `token` identifies it if it is held.
    pub fn submit(&mut self, now: Instant, token: u64, bio: &Bio) -> Passage {
        let (tick, dir) = (self.jiffies.tick(now), bio.dir());
        let bytes = match bio.op {
            Op::Discard => DISCARD_BYTES,
            Op::Flush => return Passage::Go,
            Op::Read | Op::Write | Op::WriteZeroes => u64::from(bio.sectors) * 512,
        };
        let as_root = self.era == Era::V6_18 && bio.is_as_root();
        let (mut at, mut from) = (bio.group, bio.group);
        while at != GroupId::ROOT {
            let mut held = Held { token, size: Size { bytes, charged: false } };
            if !self.passes(tick, at, dir, &mut held.size) && !as_root {
                self.levels[at.0 as usize].lanes[dir].push(from, held);
                self.look_again(tick, at);
                return Passage::Held;
            }
            self.charge(tick, at, dir, held.size);
            from = at;
            at = self.levels[at.0 as usize].parent;
        }
        Passage::Go
    }

    /// Whether this bio, which has just arrived at a group, may pass it.
    fn passes(&mut self, tick: Tick, at: GroupId, dir: Dir, size: &mut Size) -> bool {
        let (jiffies, era) = (self.jiffies, self.era);
        let lane = &mut self.levels[at.0 as usize].lanes[dir];
        lane.is_empty()
            && lane.slice.test(tick, size, &lane.limit, slice::Queued::No, jiffies, era) == SliceVerdict::Pass
    }

    fn charge(&mut self, tick: Tick, at: GroupId, dir: Dir, size: Size) {
        let (jiffies, era) = (self.jiffies, self.era);
        let lane = &mut self.levels[at.0 as usize].lanes[dir];
        lane.slice.charge(size);
        lane.slice.trim(tick, &lane.limit, jiffies, era);
    }

    /// Sets when a group is examined next: when the first of its two heads may pass.
    fn look_again(&mut self, tick: Tick, at: GroupId) {
        let (jiffies, era) = (self.jiffies, self.era);
        let level = &mut self.levels[at.0 as usize];
        let mut soonest = None;
        for dir in Dir::BOTH {
            let ThrottleLane { limit, slice, sources } = &mut level.lanes[dir];
            let Some(head) = sources.front_mut().and_then(|source| source.bios.front_mut()) else { continue };
            let wait = match slice.test(tick, &mut head.size, limit, slice::Queued::Yes, jiffies, era) {
                SliceVerdict::Pass => 0,
                SliceVerdict::Wait(ticks) => ticks,
            };
            soonest = Some(soonest.map_or(wait, |before: Tick| before.min(wait)));
        }
        level.wakes = soonest.map(|wait| tick + wait);
    }

    /// When the first group is examined.
    pub fn deadline(&self) -> Option<Instant> {
        let first = self.levels.iter().filter_map(|level| level.wakes).min()?;
        let at = self.jiffies.instant(first);
        let exact = if self.jiffies.tick(at) < first { Instant::from_ns(at.as_ns() + 1) } else { at };
        Some(exact)
    }

    /// Groups whose time has come send bios; those that have passed all groups are added to `released`, in order.
    pub fn elapse(&mut self, now: Instant, released: &mut Vec<u64>) {
        let tick = self.jiffies.tick(now);
        while let Some(at) = self.due(tick) {
            self.send_on(tick, at, released);
        }
    }

    /// The group whose time came first.
    fn due(&self, tick: Tick) -> Option<GroupId> {
        let wakes = self.levels.iter().zip(0..).filter_map(|(level, id)| Some((level.wakes?, id)));
        let first = wakes.min().filter(|&(wakes, _)| wakes <= tick);
        first.map(|(_, id)| GroupId(id))
    }

    fn send_on(&mut self, tick: Tick, at: GroupId, released: &mut Vec<u64>) {
        for (dir, most) in [(Dir::Read, READS_AT_ONCE), (Dir::Write, WRITES_AT_ONCE)] {
            for _ in 0..most {
                let (jiffies, era) = (self.jiffies, self.era);
                let lane = &mut self.levels[at.0 as usize].lanes[dir];
                let (limit, mut slice) = (lane.limit, core::mem::take(&mut lane.slice));
                let head = lane.head();
                let verdict =
                    head.map(|head| slice.test(tick, &mut head.size, &limit, slice::Queued::Yes, jiffies, era));
                let lane = &mut self.levels[at.0 as usize].lanes[dir];
                lane.slice = slice;
                if verdict != Some(SliceVerdict::Pass) {
                    break;
                }
                let Some(held) = lane.pop() else { break };
                self.charge(tick, at, dir, held.size);
                self.hand_up(tick, at, dir, held.token, held.size.bytes, released);
            }
        }
        self.look_again(tick, at);
        let level = &mut self.levels[at.0 as usize];
        level.wakes = level.wakes.map(|wakes| wakes.min(tick + FARTHEST * slice::length(self.jiffies)));
    }

    /// A bio has passed a group: it queues at the group above, or is released.
    fn hand_up(&mut self, tick: Tick, at: GroupId, dir: Dir, token: u64, bytes: u64, released: &mut Vec<u64>) {
        let parent = self.levels[at.0 as usize].parent;
        if parent == GroupId::ROOT {
            released.push(token);
            return;
        }
        self.levels[parent.0 as usize].lanes[dir].push(at, Held { token, size: Size { bytes, charged: false } });
        self.look_again(tick, parent);
    }
}

#[cfg(test)]
mod tests;
