//! Kind `tags`: requests for slots, the slots obtained, sleeping tasks and their queues, woken tasks.

use serde::Deserialize;

/// A case of this kind.
pub type TagsCase = super::Case<TagsHeader, TagsEvent>;

/// The set of tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct TagsHeader {
    /// The number of tags.
    pub depth: u32,
    /// Whether they are allocated round robin.
    pub round_robin: bool,
    /// The number of hardware queues, or disks, that use them.
    pub queues: usize,
    /// Whether several disks share them.
    pub shared: bool,
    /// Whether there is an elevator; shares are then not checked here.
    pub scheduler: bool,
    /// The smallest depth that was announced before the start.
    pub min_shallow: Option<u32>,
    /// The resulting number of bits per word,
    pub bits_per_word: u32,
    /// of words,
    pub words: usize,
    /// and of returned tags per wake-up.
    pub wake_batch: u32,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TagsEvent {
    /// The time \[ns\].
    pub t: u64,
    /// The event.
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
    /// The number of those for which wake-ups were made.
    pub credited: u64,
    /// The wait queue that is woken next.
    pub wi: usize,
    /// The number of tasks that wait, or were woken and have not run.
    pub act: u32,
    /// The number of tags in use below the present depth.
    pub busy: u32,
}

/// The result of a request for a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TagFate {
    /// The task gets a tag.
    Tag,
    /// The task sleeps.
    Sleep,
    /// The task refused to sleep.
    Fail,
}

/// The result of an `ask` or a `run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Result {
    /// The kind of result.
    pub result: TagFate,
    /// The tag.
    pub tag: Option<u32>,
    /// The wait queue.
    pub ws: Option<usize>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "ev", rename_all = "snake_case")]
pub enum TagsHappening {
    /// A task requests one tag.
    Ask {
        /// The task.
        task: u32,
        /// The hardware queue.
        queue: usize,
        /// The depth limit; 0: none.
        shallow: u32,
        /// `nowait` if the task refuses to sleep.
        #[serde(rename = "flags")]
        manner: Option<String>,
        /// The result.
        #[serde(flatten)]
        result: Result,
    },
    /// A woken task tries again.
    Run {
        /// The task.
        task: u32,
        /// The result.
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
    /// Several tags are requested at once.
    GetMany {
        /// The hardware queue.
        queue: usize,
        /// The number requested.
        want: u32,
        /// Those obtained.
        tags: Vec<u32>,
    },
    /// The number of tags is changed.
    Resize {
        /// The new number.
        depth: u32,
        /// The number of words afterwards.
        words: usize,
        /// The number of returned tags per wake-up, afterwards.
        wake_batch: u32,
    },
    /// A new smallest depth is announced.
    MinShallow {
        /// The new value.
        value: u32,
        /// The number of returned tags per wake-up, afterwards.
        wake_batch: u32,
    },
    /// One task of each wait queue is woken.
    WakeAll {
        /// The tasks, in order.
        woke: Vec<u32>,
    },
    /// A disk becomes active.
    Busy {
        /// The disk.
        queue: usize,
        /// The number of active disks afterwards.
        users: u32,
        /// The number of returned tags per wake-up, afterwards.
        wake_batch: u32,
    },
    /// A disk becomes inactive after a long idle time.
    Idle {
        /// The disk.
        queue: usize,
        /// The number of active disks afterwards.
        users: u32,
        /// The number of returned tags per wake-up, afterwards.
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
