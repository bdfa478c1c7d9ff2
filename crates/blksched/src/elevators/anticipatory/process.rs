//! Processes, as far as anticipation needs to know them.
//!
//! **Rule** A process is created by its first request, and forgotten once it has exited, has no live request, and is
//! not waited for.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#a.3, #a.4.
//! **In the kernel** `as_io_context`, `aic`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::history::{History, HistoryUpdate, Newcomers};
use crate::request::{Request, SubmitterId};
use crate::time::{Jiffies, Tick};

/// A process's place in the table; valid while it is referred to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProcessId(u32);

/// Whether a process still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Running,
    Exited,
}

/// One process.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnticipatedProcess {
    pub(super) life: Life,
    pub(super) history: History,
    /// The number of its queued requests.
    pub(super) queued: u32,
    /// The number of its requests on the dispatch list.
    pub(super) on_dispatch_list: u32,
    /// When one of its synchronous requests last completed.
    pub(super) completed_at: Option<Tick>,
    /// The number of its live requests, plus one while it is waited for.
    references: u32,
}

impl AnticipatedProcess {
    const NEW: AnticipatedProcess = AnticipatedProcess {
        life: Life::Running,
        history: History::NEW,
        queued: 0,
        on_dispatch_list: 0,
        completed_at: None,
        references: 0,
    };

    pub(super) fn on_their_way(&self) -> u32 {
        self.queued + self.on_dispatch_list
    }

    /// Updates the history for a queued read of it, or one that counts as its own.
    pub(super) fn learn(
        &mut self,
        now: Tick,
        read: &Request,
        jiffies: Jiffies,
        newcomers: &mut Newcomers,
    ) -> HistoryUpdate {
        let think = self.thought_for(now, jiffies);
        self.history.learn(think, read.start, read.end(), newcomers)
    }

    fn thought_for(&self, now: Tick, jiffies: Jiffies) -> Tick {
        let longest = (u64::from(jiffies.hz()) / 50).saturating_sub(1);
        match self.completed_at {
            Some(at) if self.on_their_way() == 0 => (now - at).min(longest),
            _ => 0,
        }
    }
}

/// Every process that is referred to or still runs.
#[derive(Debug, Default)]
pub(super) struct Processes {
    slots: Vec<AnticipatedProcess>,
    free: Vec<ProcessId>,
    running: BTreeMap<SubmitterId, ProcessId>,
}

impl Processes {
    /// The process, created if it is unknown.
    pub(super) fn of(&mut self, submitter: SubmitterId) -> ProcessId {
        if let Some(&known) = self.running.get(&submitter) {
            return known;
        }
        let id = self.free.pop().unwrap_or(ProcessId(self.slots.len() as u32));
        match self.slots.get_mut(id.0 as usize) {
            Some(slot) => *slot = AnticipatedProcess::NEW,
            None => self.slots.push(AnticipatedProcess::NEW),
        }
        self.running.insert(submitter, id);
        id
    }

    pub(super) fn exit(&mut self, submitter: SubmitterId) {
        if let Some(id) = self.running.remove(&submitter) {
            self[id].life = Life::Exited;
            self.recycle(id);
        }
    }

    pub(super) fn refer(&mut self, id: ProcessId) {
        self[id].references += 1;
    }

    pub(super) fn release(&mut self, id: ProcessId) {
        self[id].references -= 1;
        self.recycle(id);
    }

    fn recycle(&mut self, id: ProcessId) {
        if self[id].life == Life::Exited && self[id].references == 0 {
            self.free.push(id);
        }
    }

    /// How many requests of all processes are queued, and how many are on the dispatch list.
    pub(super) fn on_their_way(&self) -> (u32, u32) {
        (
            self.slots.iter().map(|process| process.queued).sum(),
            self.slots.iter().map(|process| process.on_dispatch_list).sum(),
        )
    }
}

impl core::ops::Index<ProcessId> for Processes {
    type Output = AnticipatedProcess;
    fn index(&self, id: ProcessId) -> &AnticipatedProcess {
        &self.slots[id.0 as usize]
    }
}

impl core::ops::IndexMut<ProcessId> for Processes {
    fn index_mut(&mut self, id: ProcessId) -> &mut AnticipatedProcess {
        &mut self.slots[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn think_time_counts_only_with_nothing_on_its_way_and_stops_short_of_20_ms() {
        let jiffies = Jiffies::new(1000);
        let idle = AnticipatedProcess { completed_at: Some(100), ..AnticipatedProcess::NEW };
        assert_eq!((idle.thought_for(103, jiffies), idle.thought_for(500, jiffies)), (3, 19));
        assert_eq!(AnticipatedProcess { queued: 1, ..idle }.thought_for(103, jiffies), 0);
        assert_eq!(AnticipatedProcess::NEW.thought_for(103, jiffies), 0);
    }

    #[test]
    fn a_process_that_exited_is_kept_while_referred_to_and_its_place_is_used_again() {
        let mut processes = Processes::default();
        let first = processes.of(SubmitterId(1));
        processes.refer(first);
        processes.exit(SubmitterId(1));
        let second = processes.of(SubmitterId(2));
        assert_ne!(first, second);
        processes.release(first);
        assert_eq!(processes.of(SubmitterId(3)), first);
        assert_eq!(processes[first].life, Life::Running);
    }
}
