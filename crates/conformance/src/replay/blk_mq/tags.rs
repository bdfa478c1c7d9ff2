//! The slots of requests.

use std::collections::BTreeMap;

use blksched::surroundings::mq::{MqEra, Patience, SearchDepth, TagAsked, TagOrder, TagSet, Task};
use blksched_traces::blk_mq_transcript::tags::{
    Result as Found, TagFate, TagSetState, TagsCase, TagsEvent, TagsHappening, TagsHeader,
};

use super::{same, woken};

pub(super) struct ReplayedTags {
    era: MqEra,
    set: TagSet,
    /// The last request of each task for a tag, which it repeats when woken.
    asked: BTreeMap<u32, (usize, SearchDepth)>,
}

impl ReplayedTags {
    pub(super) fn of(case: &TagsCase, era: MqEra) -> ReplayedTags {
        let TagsHeader { depth, round_robin, queues, shared, scheduler, min_shallow, .. } = case.header;
        let order = if round_robin { TagOrder::RoundRobin } else { TagOrder::Lowest };
        let set = TagSet::new(era, order, depth.max(1), min_shallow).for_queues(queues);
        let set = if shared && !scheduler { set.shared() } else { set };
        ReplayedTags { era, set, asked: BTreeMap::new() }
    }

    pub(super) fn check_start(&self, header: &TagsHeader) -> Result<(), String> {
        same("bits per word", &header.bits_per_word, &self.set.map().bits_per_word())?;
        self.check_size(header.words, header.wake_batch)
    }

    pub(super) fn step(&mut self, event: &TagsEvent) -> Result<(), String> {
        let mut woke = Vec::new();
        match &event.what {
            TagsHappening::Ask { task, queue, shallow, manner, result } => {
                let search = match (*shallow, self.era) {
                    (0, _) => SearchDepth::All,
                    (shallow, MqEra::Linux6_1) => SearchDepth::PerWord(shallow),
                    (shallow, MqEra::Linux6_12) => SearchDepth::OfAll(shallow),
                };
                let patience = match manner.as_deref() {
                    None => Patience::Waits,
                    Some("nowait") => Patience::Fails,
                    Some(word) => return Err(format!("flags `{word}`: expected `nowait`")),
                };
                self.asked.insert(*task, (*queue, search));
                compare(result, self.set.ask(*queue, Task(*task), search, patience))?;
            }
            TagsHappening::Run { task, result } => {
                let (queue, search) = *self.asked.get(task).ok_or("a task runs that never asked")?;
                compare(result, self.set.run(queue, Task(*task), search))?;
            }
            TagsHappening::Free { tag, woke: recorded } => {
                self.set.free(*tag, &mut woke);
                woken(recorded, &woke)?;
            }
            TagsHappening::FreeMany { tags, woke: recorded } => {
                self.set.free_many(tags, &mut woke);
                woken(recorded, &woke)?;
            }
            TagsHappening::GetMany { queue, want, tags } => same("tags", tags, &self.set.ask_many(*queue, *want))?,
            other => self.rare(other)?,
        }
        event.dbg.map_or(Ok(()), |recorded| same("state", &recorded, &self.state()))
    }

    fn rare(&mut self, what: &TagsHappening) -> Result<(), String> {
        let mut woke = Vec::new();
        match what {
            TagsHappening::Resize { depth, words, wake_batch } => {
                self.set.resize(*depth);
                self.check_size(*words, *wake_batch)
            }
            TagsHappening::MinShallow { value, wake_batch } => {
                self.set.announce(Some(*value));
                same("wake batch", wake_batch, &self.set.wake_batch())
            }
            TagsHappening::WakeAll { woke: recorded } => {
                self.set.wake_one_each(&mut woke);
                woken(recorded, &woke)
            }
            TagsHappening::Busy { queue, users, wake_batch } => {
                self.set.activate(*queue);
                self.check_users(*users, *wake_batch)
            }
            TagsHappening::Idle { queue, users, wake_batch, woke: recorded } => {
                self.set.deactivate(*queue, &mut woke);
                self.check_users(*users, *wake_batch)?;
                woken(recorded, &woke)
            }
            TagsHappening::End { asleep } => {
                let mut here: Vec<u32> = self.set.waits().asleep().map(|task| task.0).collect();
                let mut recorded = asleep.clone();
                here.sort_unstable();
                recorded.sort_unstable();
                same("asleep at the end", &recorded, &here)
            }
            _ => unreachable!("seen to before"),
        }
    }

    fn check_size(&self, words: usize, wake_batch: u32) -> Result<(), String> {
        same("words", &words, &self.set.map().word_count())?;
        same("wake batch", &wake_batch, &self.set.wake_batch())
    }

    fn check_users(&self, users: u32, wake_batch: u32) -> Result<(), String> {
        same("users", &users, &self.set.users())?;
        same("wake batch", &wake_batch, &self.set.wake_batch())
    }

    fn state(&self) -> TagSetState {
        let (done, credited) = self.set.waits().counters();
        let map = self.set.map();
        let (wi, act) = (self.set.waits().index(), self.set.waits().waiters());
        TagSetState { hint: map.hint(), done, credited, wi, act, busy: map.in_use() }
    }
}

fn compare(recorded: &Found, here: TagAsked) -> Result<(), String> {
    let expected = match *recorded {
        Found { result: TagFate::Tag, tag: Some(tag), .. } => TagAsked::Tag(tag),
        Found { result: TagFate::Sleep, ws: Some(queue), .. } => TagAsked::Sleep(queue),
        Found { result: TagFate::Fail, .. } => TagAsked::Fail,
        Found { .. } => return Err("a result without its `tag` or `ws`".to_owned()),
    };
    same("result", &expected, &here)
}
