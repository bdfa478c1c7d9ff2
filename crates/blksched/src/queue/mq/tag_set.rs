//! A set of tags, and the tasks that want one.
//!
//! **Rule** A task that finds none takes the next wait queue, runs the queue and tries again, and once more when it is
//! queued. A woken task does the same, starting with the next wait queue. A batch of wake-ups is an eighth of the tags
//! that the waiting tasks may use, between 1 and 8. Disks that share a set have an equal share each while they are
//! active.
//! **Origin** docs/behaviour/blk-mq-6.x.md#t, recorded from 6.1.192 and 6.12.117.
//! **In the kernel** `blk_mq_get_tag`, `blk_mq_put_tag`, `sbitmap_queue`, `__sbitmap_queue_get`, `__blk_mq_get_tag`,
//! `hctx_may_queue`, `blk_mq_tag_busy`, `blk_mq_tag_idle`, `blk_mq_mark_tag_wait`, `blk_mq_get_driver_tag`,
//! `__sbitmap_queue_get_shallow`, `blk_mq_alloc_request`, `sched_tags`, `sbitmap_queue_get`, `sbq_calc_wake_batch`,
//! `sbitmap_queue_recalculate_wake_batch`, `min_shallow_depth`, `sbitmap_queue_min_shallow_depth`,
//! `__sbitmap_queue_get_batch`.

#![doc(alias = "blk_mq_get_tag")]
#![doc(alias = "blk_mq_put_tag")]

use alloc::vec;
use alloc::vec::Vec;

use super::tag_map::{SearchDepth, TagMap};
use super::wait_queues::{Task, WAIT_QUEUES, WaitQueues};
use super::{MqEra, TagOrder};

/// The result of asking for a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum TagAsked {
    /// The tag.
    Tag(u32),
    /// The task sleeps in this wait queue.
    Sleep(usize),
    /// There is none, and the task does not wait.
    Fail,
}

/// Whether a task may sleep for its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Patience {
    /// It may sleep.
    Waits,
    /// It does not sleep (NOWAIT).
    Fails,
}

/// Several disks that share a set without an elevator.
#[derive(Clone, Debug)]
struct Sharing {
    active: Vec<bool>,
    in_use: Vec<u32>,
    /// The disk that owns each tag.
    owners: Vec<usize>,
}

/// Tags, the requests that hold them, and the tasks that wait.
#[derive(Clone, Debug)]
pub struct TagSet {
    era: MqEra,
    map: TagMap,
    waits: WaitQueues,
    batch: u32,
    /// The smallest depth to which an elevator announced to limit requests.
    shallowest: Option<u32>,
    /// The next wait queue of each hardware queue.
    cursors: Vec<usize>,
    sharing: Option<Sharing>,
}

impl TagSet {
    /// `depth` tags for one hardware queue. `shallowest`: the smallest depth to which the elevator announced to limit
    /// requests.
    pub fn new(era: MqEra, order: TagOrder, depth: u32, shallowest: Option<u32>) -> TagSet {
        let map = TagMap::new(order, depth);
        let waits = WaitQueues::default();
        let mut set = TagSet { era, map, waits, batch: 1, shallowest, cursors: vec![0], sharing: None };
        set.count_batch();
        set
    }

    /// The same for several hardware queues or disks.
    pub fn for_queues(mut self, queues: usize) -> TagSet {
        self.cursors = vec![0; queues];
        self
    }

    /// The same, with each disk limited to its share.
    pub fn shared(mut self) -> TagSet {
        let disks = self.cursors.len();
        let owners = vec![0; self.map.depth() as usize];
        self.sharing = Some(Sharing { active: vec![false; disks], in_use: vec![0; disks], owners });
        self
    }

    /// The map.
    pub fn map(&self) -> &TagMap {
        &self.map
    }

    /// The tasks that wait.
    pub fn waits(&self) -> &WaitQueues {
        &self.waits
    }

    /// The number of returned tags that cause a wake-up.
    pub fn wake_batch(&self) -> u32 {
        self.batch
    }

    /// `task` asks for a tag of this hardware queue.
    pub fn ask(&mut self, queue: usize, task: Task, search: SearchDepth, patience: Patience) -> TagAsked {
        if let Some(tag) = self.try_take(queue, search) {
            return TagAsked::Tag(tag);
        }
        match patience {
            Patience::Fails => TagAsked::Fail,
            Patience::Waits => self.wait(queue, task, search),
        }
    }

    /// A tag, if one is free: [`TagSet::ask`], for a caller that has not decided whether to wait.
    #[inline(always)]
    pub(in crate::queue) fn take(&mut self, queue: usize, search: SearchDepth) -> Option<u32> {
        if self.sharing.is_none()
            && let Some(tag) = self.map.take_near_hint(search)
        {
            return Some(tag);
        }
        self.try_take(queue, search)
    }

    /// A woken task runs, and still needs its tag.
    pub fn run(&mut self, queue: usize, task: Task, search: SearchDepth) -> TagAsked {
        self.waits.runs();
        self.wait(queue, task, search)
    }

    /// A woken task runs, and no longer needs a tag: what it had to send merged.
    pub fn give_up(&mut self) {
        self.waits.runs();
    }

    /// Takes up to `want` tags at once, perhaps none; the caller does not sleep for them.
    pub fn ask_many(&mut self, queue: usize, want: u32) -> Vec<u32> {
        let tags = self.map.take_many(want);
        tags.iter().for_each(|&tag| self.own(queue, tag));
        tags
    }

    /// A tag's request has ended; adds the tasks that are woken, in order.
    #[inline(always)]
    pub fn free(&mut self, tag: u32, woke: &mut Vec<Task>) {
        self.disown(tag);
        self.map.give_back(tag);
        self.waits.returned(self.era, 1, self.batch, woke);
        self.map.hint_at(tag);
    }

    /// The requests of several tags have ended in one interrupt.
    pub fn free_many(&mut self, tags: &[u32], woke: &mut Vec<Task>) {
        for &tag in tags {
            self.disown(tag);
            // Cleared at once, unlike a single tag, whose bit is cleared when its word seems full.
            self.map.give_back_cleared(tag);
        }
        self.waits.returned(self.era, tags.len() as u32, self.batch, woke);
        tags.last().into_iter().for_each(|&tag| self.map.hint_at(tag));
    }

    /// Changes the number of tags.
    pub fn resize(&mut self, depth: u32) {
        self.map.resize(depth);
        if let Some(sharing) = &mut self.sharing {
            let room = sharing.owners.len().max(depth as usize);
            sharing.owners.resize(room, 0);
        }
        self.count_batch();
    }

    /// The elevator announces the smallest depth that it limits requests to.
    pub fn announce(&mut self, shallowest: Option<u32>) {
        self.shallowest = shallowest;
        self.count_batch();
    }

    /// Wakes one task of each wait queue.
    pub fn wake_one_each(&mut self, woke: &mut Vec<Task>) {
        self.waits.wake_one_each(woke);
    }

    /// A disk that shares the set becomes active.
    pub fn activate(&mut self, disk: usize) {
        if let Some(sharing) = &mut self.sharing {
            sharing.active[disk] = true;
            self.count_batch();
        }
    }

    /// A disk that shares the set has been idle for long: its share goes to the others.
    pub fn deactivate(&mut self, disk: usize, woke: &mut Vec<Task>) {
        if let Some(sharing) = &mut self.sharing
            && core::mem::take(&mut sharing.active[disk])
        {
            self.count_batch();
            self.waits.wake_one_each(woke);
        }
    }

    /// The number of active disks.
    pub fn users(&self) -> u32 {
        self.sharing.as_ref().map_or(0, |sharing| sharing.active.iter().filter(|&&active| active).count() as u32)
    }

    /// What [`TagSet::ask`] does when no tag was free.
    pub(in crate::queue) fn wait(&mut self, queue: usize, task: Task, search: SearchDepth) -> TagAsked {
        // The next queue, and its tail, also for a woken task that lost its tag, however long it has waited.
        let wait_queue = self.cursors[queue];
        self.cursors[queue] = (wait_queue + 1) % WAIT_QUEUES;
        if let Some(tag) = self.try_take(queue, search) {
            return TagAsked::Tag(tag);
        }
        // A tag returned before the task is in the queue wakes no task, so it tries once more: no sleeper may be
        // forgotten.
        self.waits.enter(wait_queue, task);
        match self.try_take(queue, search) {
            Some(tag) => {
                self.waits.leave(wait_queue, task);
                TagAsked::Tag(tag)
            }
            None => TagAsked::Sleep(wait_queue),
        }
    }

    #[inline(never)]
    fn try_take(&mut self, queue: usize, search: SearchDepth) -> Option<u32> {
        // Tested before the search, so the hint stays.
        if self.has_its_share(queue) {
            return None;
        }
        let tag = self.map.take(search)?;
        self.own(queue, tag);
        Some(tag)
    }

    /// Whether an active disk already has its share, which is at least four tags.
    fn has_its_share(&self, disk: usize) -> bool {
        let Some(sharing) = &self.sharing else { return false };
        let users = self.users();
        if self.map.depth() == 1 || users == 0 || !sharing.active[disk] {
            return false;
        }
        sharing.in_use[disk] >= self.map.depth().div_ceil(users).max(4)
    }

    fn own(&mut self, queue: usize, tag: u32) {
        if let Some(sharing) = &mut self.sharing {
            sharing.in_use[queue] += 1;
            sharing.owners[tag as usize] = queue;
        }
    }

    fn disown(&mut self, tag: u32) {
        if let Some(sharing) = &mut self.sharing {
            sharing.in_use[sharing.owners[tag as usize]] -= 1;
        }
    }

    fn count_batch(&mut self) {
        let depth = self.map.depth();
        let reachable = match (self.users(), self.shallowest, self.era) {
            // While disks share the set, the elevator's limit does not count.
            (users, _, _) if users > 0 => depth.div_ceil(users),
            (_, None, _) => depth,
            (_, Some(shallowest), MqEra::Linux6_12) => depth.min(shallowest),
            (_, Some(shallowest), MqEra::Linux6_1) => {
                let bits = self.map.bits_per_word();
                let of_word = bits.min(shallowest);
                depth / bits * of_word + (depth % bits).min(of_word)
            }
        };
        self.batch = (reachable / 8).clamp(1, 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(era: MqEra, depth: u32, shallowest: Option<u32>) -> u32 {
        TagSet::new(era, TagOrder::Lowest, depth, shallowest).wake_batch()
    }

    #[test]
    fn a_wake_up_is_made_for_an_eighth_of_what_can_be_had() {
        for era in [MqEra::Linux6_1, MqEra::Linux6_12] {
            let none = [(4, 1), (8, 1), (15, 1), (31, 3), (32, 4), (62, 7), (64, 8), (1023, 8)];
            none.into_iter().for_each(|(depth, expected)| assert_eq!(batch(era, depth, None), expected, "{depth}"));
            assert_eq!(batch(era, 256, Some(1)), 1, "mq-deadline and BFQ");
        }
        assert_eq!((batch(MqEra::Linux6_1, 62, Some(6)), batch(MqEra::Linux6_12, 62, Some(46))), (6, 5));
        assert_eq!((batch(MqEra::Linux6_1, 64, Some(12)), batch(MqEra::Linux6_12, 64, Some(48))), (6, 6));
    }

    #[test]
    fn a_woken_task_that_loses_goes_to_a_tail() {
        let mut set = TagSet::new(MqEra::Linux6_12, TagOrder::Lowest, 1, None);
        let [owner, a, b] = [0, 1, 2].map(Task);
        let ask = |set: &mut TagSet, task| set.ask(0, task, SearchDepth::All, Patience::Waits);
        assert_eq!(ask(&mut set, owner), TagAsked::Tag(0));
        assert_eq!((ask(&mut set, a), ask(&mut set, b)), (TagAsked::Sleep(0), TagAsked::Sleep(1)));
        let mut woke = Vec::new();
        set.free(0, &mut woke);
        assert_eq!(woke, [a]);
        assert_eq!(ask(&mut set, owner), TagAsked::Tag(0), "the owner was faster");
        assert_eq!(set.run(0, a, SearchDepth::All), TagAsked::Sleep(2), "behind the task that came after it");
        woke.clear();
        set.free(0, &mut woke);
        assert_eq!(woke, [b]);
    }
}
