//! The log's buffers: who writes which, and what is stable when one has ended.
//!
//! **Rule** a sync pushes the list into the active buffer, and submits the buffer itself, unless another forced one is
//! under way: then it sleeps, and the first to wake submits one for all. What does not fit into one buffer is sent by
//! a worker in whole ones, `logbufs` of them at a time: a buffer is free when it and those before it have ended. A
//! list is stable when the buffer with its end is, also if that is the first of the next list. No call waits for that
//! but a sync. That calls wait while the list is twice over (in recording 25, for a moment) is not modelled.
//! Where the log has another disk (`logdev=`), a sync flushes the disk of the data before it forces the log, and who
//! sends a forced buffer flushes it once more before that (whole buffers, too, perhaps: not recorded, not here).
//! **Origin** a trace of three appends with `logdev=` (2026-11-30); recordings 3, 25 and 33 of xfs: with
//! `logbufs=8` eight are under way, and each further one is sent when the oldest has ended (of 520 whole ones in 33).

use blksched::author::Waiter;
use blksched::{Instant, Sector};

use super::super::outbox::{Agent, FsIo, FsTask, FsWait, FsWish};
use super::{Sequence, Xfs};

/// Checkpoints in one log buffer, and the callers that wait for it, each with the last list that it wants stable.
#[derive(Clone, Debug, Default)]
pub(super) struct Iclog {
    pub bytes: u64,
    /// The last list in it.
    pub last: Sequence,
    pub waiters: Vec<(FsTask, Sequence)>,
}

/// A forced buffer under way.
#[derive(Clone, Debug)]
pub(super) struct Forced {
    /// Its bio, or that of the flush before it.
    tag: u64,
    iclog: Iclog,
    /// While the flush is under way: who sends the buffer, and how long it is \[sectors\].
    behind_flush: Option<(Agent, u64)>,
}

/// The head of each part of a checkpoint \[bytes\].
const HEAD: u64 = 12;

impl Xfs {
    /// The caller makes the log stable up to this sequence, which it is not, and sleeps.
    pub(super) fn force(&mut self, task: FsTask, wanted: Sequence) {
        if wanted == self.current {
            self.push();
        }
        if let Some(Forced { iclog, .. }) = &mut self.under_way {
            let what = if wanted <= iclog.last { FsWait::Log } else { FsWait::OthersLog };
            match what {
                FsWait::Log => iclog.waiters.push((task, wanted)),
                _ => self.active.waiters.push((task, wanted)),
            }
            return self.out.push(FsWish::Sleeps(task, what));
        }
        self.active.waiters.push((task, wanted));
        if self.is_free() {
            self.write(Agent::Caller(task));
        }
        self.out.push(FsWish::Sleeps(task, FsWait::Log));
    }

    /// Whether a buffer may be written now.
    pub(super) fn is_free(&self) -> bool {
        self.under_way.is_none() && self.pushed.is_empty() && self.queued.is_empty()
    }

    /// What is in the list becomes a checkpoint of the active buffer. What does not fit is written in whole buffers, by
    /// a worker; no call waits.
    pub(super) fn push(&mut self) {
        let before = self.active.last;
        self.active.bytes += self.take_items();
        self.active.last = self.current;
        self.current += 1;
        // What goes on in another buffer has a head there.
        let room = self.settings.iclog_bytes - self.settings.header_bytes();
        let whole = if self.active.bytes <= room { 0 } else { (self.active.bytes - HEAD - 1) / (room - HEAD) };
        self.active.bytes -= whole * (room - HEAD);
        // The first has the end of the lists before.
        self.queued.extend((0..whole).map(|nth| (nth == 0).then_some(before)));
        self.send_queued();
    }

    /// The worker sends whole buffers as long as there are free ones.
    fn send_queued(&mut self) {
        let under_way = self.under_way.as_ref().map(|forced| forced.tag);
        let pushed = &self.pushed;
        let has_ended = |(tag, _): &mut (u64, Option<Sequence>)| !pushed.contains(tag) && under_way != Some(*tag);
        let ended = core::iter::from_fn(|| self.buffers.pop_front_if(has_ended));
        let stable = ended.filter_map(|(_, last)| last).max();
        if let Some(stable) = stable {
            self.log_is_stable(stable);
        }
        let mut any = false;
        while (self.buffers.len() as u64) < self.settings.log_buffers
            && let Some(before) = self.queued.pop_front()
        {
            let tag = self.send(Agent::Worker, self.settings.iclog_bytes / 512, before.is_some());
            self.buffers.push_back((tag, before));
            self.pushed.insert(tag);
            any = true;
        }
        if any {
            self.out.push(FsWish::Waits(Agent::Worker));
        }
    }

    /// Where the list begins that is pushed next \[sectors of the log since the first\].
    pub(super) fn list_begins(&self) -> u64 {
        self.written + self.queued.len() as u64 * (self.settings.iclog_bytes / 512)
    }

    /// Empties the list; returns its length \[bytes\].
    fn take_items(&mut self) -> u64 {
        let begins = self.list_begins();
        self.newer.logged(self.current, begins, self.items.homes(self.settings.inodes_per_group));
        for directory in self.items.directories() {
            if let Some(known) = self.inodes.get_mut(&directory) {
                known.names.is_in_list();
            }
        }
        self.items.take()
    }

    /// The log is stable up to here: who waits for no more goes on, and its tail may have moved.
    fn log_is_stable(&mut self, stable: Sequence) {
        self.stable = self.stable.max(stable);
        let done = self.active.waiters.extract_if(.., |(_, wanted)| *wanted <= stable);
        done.for_each(|(task, _)| self.out.push(FsWish::Done(task)));
        self.room_is_stable();
    }

    /// Submits the active buffer, or the flush before it.
    pub(super) fn write(&mut self, by: Agent) {
        let iclog = core::mem::take(&mut self.active);
        let sectors = (self.settings.header_bytes() + iclog.bytes).div_ceil(512);
        let (tag, behind_flush) = match self.settings.own_disk {
            true => (self.out.submit(by, FsIo::Flush, (Sector(0), 0), false, Waiter::Sync), Some((by, sectors))),
            false => (self.send_forced(by, sectors), None),
        };
        self.out.push(FsWish::Waits(by));
        self.under_way = Some(Forced { tag, iclog, behind_flush });
    }

    fn send_forced(&mut self, by: Agent, sectors: u64) -> u64 {
        let tag = self.send(by, sectors, true);
        self.buffers.push_back((tag, None));
        tag
    }

    fn send(&mut self, by: Agent, sectors: u64, barrier: bool) -> u64 {
        let head = if self.head + sectors > self.settings.log_sectors { 0 } else { self.head };
        self.head = head + sectors;
        self.written += sectors;
        let start = Sector(self.settings.log_start.0 + head);
        self.out.submit(by, FsIo::Log, (start, sectors), barrier, Waiter::Sync)
    }

    pub(in super::super) fn ended(&mut self, _now: Instant, tag: u64) {
        if let Some(nth) = self.flushing.iter().position(|(of, ..)| *of == tag) {
            let (_, task, wanted) = self.flushing.swap_remove(nth);
            match wanted <= self.stable {
                true => self.out.push(FsWish::Done(task)),
                false => self.force(task, wanted),
            }
            return;
        }
        if self.home_ended(tag) {
            return;
        }
        let whole = self.pushed.remove(&tag);
        match self.under_way.take_if(|forced| forced.tag == tag) {
            Some(Forced { iclog, behind_flush: Some((by, sectors)), .. }) => {
                let tag = self.send_forced(by, sectors);
                self.out.push(FsWish::Waits(by));
                self.under_way = Some(Forced { tag, iclog, behind_flush: None });
                return;
            }
            Some(Forced { iclog, .. }) => {
                self.log_is_stable(iclog.last);
                iclog.waiters.into_iter().for_each(|(task, _)| self.out.push(FsWish::Done(task)));
            }
            None if !whole => return,
            None => {}
        }
        self.send_queued();
        if let Some(&(task, _)) = self.active.waiters.first().filter(|_| self.is_free()) {
            let sleep = self.active.waiters.iter().map(|&(task, _)| FsWish::Sleeps(task, FsWait::Log));
            sleep.for_each(|wish| self.out.push(wish));
            self.write(Agent::Caller(task));
        }
        self.makes_room();
    }
}
