//! Kind `tags`: requests for slots, the slots obtained, sleeping tasks and their queues, woken tasks.

use serde::Deserialize;

/// A case of this kind.
pub type TagsCase = super::Case<TagsHeader, TagsEvent>;

/// The set of tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct TagsHeader {
    /// How many.
    pub depth: u32,
    /// Are they handed out in turn?
    pub round_robin: bool,
    /// Hardware queues, or disks, that use them.
    pub queues: usize,
    /// Do several disks share them?
    pub shared: bool,
    /// Is there an elevator? Then a share is not looked at here.
    pub scheduler: bool,
    /// The smallest depth that was announced before the start.
    pub min_shallow: Option<u32>,
    /// What must follow: bits of a word,
    pub bits_per_word: u32,
    /// words,
    pub words: usize,
    /// and how many returned tags make a wake-up.
    pub wake_batch: u32,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TagsEvent {
    /// When \[ns\].
    pub t: u64,
    /// What.
    #[serde(flatten)]
    pub what: TagsHappening,
    /// The state after it.
    pub dbg: Option<TagSetState>,
}

/// The state after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct TagSetState {
    /// Where the next search begins.
    pub hint: u32,
    /// Tags returned while a task waited.
    pub done: u64,
    /// Of those, as many as wake-ups were made for.
    pub credited: u64,
    /// The wait queue that is woken next.
    pub wi: usize,
    /// The tasks that wait, or were woken and have not run.
    pub act: u32,
    /// Tags in use below the present depth.
    pub busy: u32,
}

/// What became of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TagFate {
    /// A tag.
    Tag,
    /// It sleeps.
    Sleep,
    /// It would not.
    Fail,
}

/// What an ask or a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Result {
    /// Which of the three.
    pub result: TagFate,
    /// Which tag.
    pub tag: Option<u32>,
    /// In which wait queue.
    pub ws: Option<usize>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "ev", rename_all = "snake_case")]
pub enum TagsHappening {
    /// A task wants one tag.
    Ask {
        /// The task.
        task: u32,
        /// Of which hardware queue.
        queue: usize,
        /// How deep; 0: no limit.
        shallow: u32,
        /// `nowait`: it would not sleep.
        #[serde(rename = "flags")]
        manner: Option<String>,
        /// What became of it.
        #[serde(flatten)]
        result: Result,
    },
    /// A woken task tries again.
    Run {
        /// The task.
        task: u32,
        /// What became of it.
        #[serde(flatten)]
        result: Result,
    },
    /// A request ended.
    Free {
        /// Its tag.
        tag: u32,
        /// The tasks that were woken, in order.
        woke: Vec<u32>,
    },
    /// Several ended in one call.
    FreeMany {
        /// Their tags.
        tags: Vec<u32>,
        /// The tasks that were woken, in order.
        woke: Vec<u32>,
    },
    /// Several tags are wanted at once.
    GetMany {
        /// Of which hardware queue.
        queue: usize,
        /// How many.
        want: u32,
        /// Those obtained.
        tags: Vec<u32>,
    },
    /// Another number of tags.
    Resize {
        /// How many.
        depth: u32,
        /// Words afterwards.
        words: usize,
        /// This many returned tags make a wake-up afterwards.
        wake_batch: u32,
    },
    /// Another smallest depth was announced.
    MinShallow {
        /// Which.
        value: u32,
        /// This many returned tags make a wake-up afterwards.
        wake_batch: u32,
    },
    /// One task of each wait queue is woken.
    WakeAll {
        /// The tasks, in order.
        woke: Vec<u32>,
    },
    /// A disk becomes active.
    Busy {
        /// Which.
        queue: usize,
        /// Active disks afterwards.
        users: u32,
        /// This many returned tags make a wake-up afterwards.
        wake_batch: u32,
    },
    /// A disk has been idle for long.
    Idle {
        /// Which.
        queue: usize,
        /// Active disks afterwards.
        users: u32,
        /// This many returned tags make a wake-up afterwards.
        wake_batch: u32,
        /// The tasks that were woken, in order.
        woke: Vec<u32>,
    },
    /// The last line.
    End {
        /// The tasks that still sleep.
        asleep: Vec<u32>,
    },
}
