//! 2.4: the tasks that wait for a request, and the recorded state of the list and of the pool.
//!
//! **Rule** A `retry` is the run of a woken task. Tasks woken before it have also run by then, but in vain: no request
//! was free for them. The same holds for all tasks that are woken before another continues.

use std::collections::{BTreeMap, VecDeque};

use blksched::author::RequestId;
use blksched::reasons::End;
use blksched::surroundings::mq::Task;
use blksched::{Delivery, Dir, Instant};
use blksched_traces::elevator_transcript::{Add, AddResult, Event, MergeKind, What};

use super::expect::Said;
use super::inputs::Replayer;

/// The sleeping tasks, by the recorded name of their bio, and those that were woken.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    tasks: BTreeMap<Task, (u64, u32)>,
    woken: VecDeque<Task>,
    /// The task whose burst continues.
    running: Option<u32>,
}

impl Waiters {
    pub(super) fn sleeps(&mut self, task: Option<Task>, add: &Add) {
        if let Some(task) = task {
            self.tasks.insert(task, (add.id, add.pid));
        }
        self.running = None;
    }

    pub(super) fn hear(&mut self, deliveries: impl Iterator<Item = Delivery>) {
        for delivery in deliveries {
            if let Delivery::Runnable(task) = delivery {
                self.woken.push_back(task);
            }
        }
    }
}

impl Replayer {
    /// Runs, in vain, all tasks that must have run before this event.
    pub(super) fn run_in_vain(&mut self, now: Instant, event: &Event) -> Result<(), String> {
        let until = match &event.what {
            What::Retry { id, .. } => Some(*id),
            What::Complete { .. } => None,
            What::Add(add) if self.waiters.running != Some(add.pid) => {
                self.waiters.running = Some(add.pid);
                None
            }
            _ => return Ok(()),
        };
        while let Some(task) = self.waiters.woken.front().copied() {
            let (id, _) = self.waiters.tasks[&task];
            if Some(id) == until {
                return Ok(());
            }
            self.waiters.woken.pop_front();
            self.queue.listener_mut().clear();
            self.queue.run_task(now, task);
            let said = self.said();
            if said.inserted.is_some() || said.merged.is_some() {
                return Err(format!("{id} was woken and found a request here, but not in the recording"));
            }
        }
        match until {
            Some(id) => Err(format!("{id} tried again, but here it was not woken")),
            None => Ok(()),
        }
    }

    /// Replays the retry of a task, which has got a request and searches again.
    pub(super) fn retry(&mut self, now: Instant, id: u64, result: &AddResult) -> Result<Said, String> {
        let Some(task) = self.waiters.woken.pop_front() else { unreachable!("the one to run is the next") };
        self.queue.run_task(now, task);
        let said = self.said();
        if let Some((_, pid)) = self.waiters.tasks.remove(&task) {
            self.waiters.running = Some(pid);
        }
        match (result, said.inserted, said.merged) {
            (AddResult::Word(word), Some(rq), None) if word == "insert" => {
                self.ids.insert(id, rq);
            }
            (AddResult::Merge { merge, into }, None, Some((here, end)))
                if self.ids.get(into) == Some(&here) && (*merge == MergeKind::Back) == (end == End::Back) => {}
            (recorded, inserted, merged) => {
                return Err(format!("recorded {recorded:?}, but here {inserted:?}, {merged:?}"));
            }
        }
        self.coalesced.clone_from(&said.coalesced);
        Ok(said)
    }

    /// Checks the place in the list, the smallest counter and the free requests, where they are recorded.
    pub(super) fn check_list(&self, event: &Event, said: &Said) -> Result<(), String> {
        if let (Some(after), Some(rq)) = (event.after, said.inserted) {
            let before = self.queue.elevator().neighbours(rq).before;
            if after.map(|id| self.ids.get(&id).copied()) != before.map(Some) {
                let here = before.map(|before: RequestId| self.name(before));
                return Err(format!("it stands behind {after:?}, but here behind {here:?}"));
            }
        }
        if event.min_seq.is_some_and(|least| said.least.is_some_and(|here| here != least)) {
            return Err(format!("the smallest counter is {:?}, but here {:?}", event.min_seq, said.least));
        }
        let Some(free) = event.free else { return Ok(()) };
        let here = Dir::BOTH.map(|dir| self.queue.free(dir).unwrap_or_default());
        // It was recorded before an absorbed request was freed.
        let absorbed = said.coalesced.len() as u32;
        let same = match absorbed {
            0 => here == [free.0, free.1],
            absorbed => here[0] >= free.0 && here[1] >= free.1 && here[0] + here[1] == free.0 + free.1 + absorbed,
        };
        if same { Ok(()) } else { Err(format!("free are {free:?}, but here {here:?}")) }
    }
}
