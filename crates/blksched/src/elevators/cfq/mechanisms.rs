//! What of CFQ can be switched by itself, each with the kernel or mail that each way comes from.

use super::arrival::{Alias, WhileIdling};
use super::async_ramp::AsyncDepth;
use super::charge::Charge;
use super::clock::Clock;
use super::context::WriteBack;
use super::cooperator::{Cooperation, FirstSeek, Seeks};
use super::depth::Depth;
use super::fifo::Fifo;
use super::groups::Grouping;
use super::idle::Idling;
use super::ncq::Ncq;
use super::next_request::NextRequest;
use super::preempt::Preemption;
use super::priority::Boost;
use super::service_tree::Trees;
use super::slice::Residual;
use super::think::Think;
use crate::entry::{Choice, Mechanism, Variant};

/// Everything that can be switched by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mechanisms {
    /// What becomes of close cooperators.
    pub cooperation: Cooperation,
    /// What says who seeks.
    pub seeks: Seeks,
    /// Whether a first request is a seek.
    pub first_seek: FirstSeek,
    /// How deep write-back may go.
    pub async_depth: AsyncDepth,
    /// How many service trees there are.
    pub trees: Trees,
    /// What becomes of time left over.
    pub residual: Residual,
    /// For whom the disk may idle.
    pub idling: Idling,
    /// Who may preempt.
    pub preemption: Preemption,
    /// How many requests of a queue may be in flight.
    pub depth: Depth,
    /// From where the next request is chosen.
    pub next_request: NextRequest,
    /// From when a request's age counts.
    pub fifo: Fifo,
    /// How often it is decided whether the disk queues.
    pub ncq: Ncq,
    /// When a queue that was idled for is marked.
    pub while_idling: WhileIdling,
    /// What time is counted in.
    pub clock: Clock,
    /// Whose pauses are averaged.
    pub think: Think,
    /// What becomes of requests with one first sector.
    pub alias: Alias,
    /// What becomes of write-back when a process's priority changes.
    pub write_back: WriteBack,
    /// Whether requests can lift their queue.
    pub boost: Boost,
    /// Whether groups count.
    pub groups: Grouping,
    /// What groups are charged for.
    pub charge: Charge,
}

const fn variant(name: &'static str, doc: &'static str) -> Variant {
    Variant { name, doc }
}

/// What can be switched, and how.
pub(super) const MECHANISMS: &[Mechanism] = &[
    Mechanism {
        name: "cooperation",
        doc: "what becomes of a queue that goes on close to where the one being served stopped",
        variants: &[
            variant("none", "nobody looks for one"),
            variant("jump", "it is served next, once: 2.6.31, 2.6.32"),
            variant("merge_split", "the queues become one until they seek: 2.6.33 (mail of 2009-10-23)"),
        ],
    },
    Mechanism {
        name: "seeks",
        doc: "what says who seeks",
        variants: &[
            variant("per_process", "each process's mean distance, with its write-back: 2.6.31, 2.6.32"),
            variant("per_queue", "each queue's mean distance: 2.6.33"),
            variant("history", "each queue's last 32 requests, one bit each: 4.20"),
        ],
    },
    Mechanism {
        name: "first_seek",
        doc: "whether a process's or queue's first request is a seek, where mean distances say who seeks",
        variants: &[
            variant("none", "it is none: 2.6.31 to 2.6.33"),
            variant("from_zero", "it is one, from the disk's beginning: before the fix of 2009 (MEMORY; not recorded)"),
        ],
    },
    Mechanism {
        name: "async_depth",
        doc: "how much write-back may be in flight with `low_latency`",
        variants: &[
            variant("unlimited", "as much as `quantum` allows: 2.6.31"),
            variant("since_last_sync", "one per slice_sync since a sync request ended: 2.6.32"),
            variant("since_delayed_sync", "one per slice_sync since a sync request ended late: 2.6.33"),
            variant("remaining_slice", "that, times what is left of the slice: the patch of 2009-11-26"),
        ],
    },
    Mechanism {
        name: "trees",
        doc: "how many service trees there are",
        variants: &[
            variant("single", "one, by class: 2.6.31, 2.6.32"),
            variant("by_workload", "one per class and kind of load, which share the time: 2.6.33"),
            variant("in_groups", "the same in each group, within target_latency: 4.20"),
        ],
    },
    Mechanism {
        name: "residual",
        doc: "what becomes of time left over when a turn ends early",
        variants: &[
            variant("added", "the queue waits longer, a wrong sign: 2.6.31"),
            variant("subtracted", "the queue comes earlier: 2.6.32, 2.6.33"),
            variant("whole", "also for a turn of which nothing came back: 4.20"),
        ],
    },
    Mechanism {
        name: "idling",
        doc: "for whom the disk may idle",
        variants: &[
            variant("unless_seeky", "not for seeky queues if the disk has NCQ: 2.6.31"),
            variant("seeky_shortly", "for who seeks if it thinks at most 2 ms: 2.6.32"),
            variant("unless_shallow", "not for who seeks, unless four requests are queued at once: 2.6.33"),
            variant("tree_thinks", "nor for a tree that pauses long; and for groups (group_idle): 4.20"),
        ],
    },
    Mechanism {
        name: "preempt",
        doc: "which arrivals take the disk from the queue being served",
        variants: &[
            variant("close", "also whoever is close while the disk idles: 2.6.31"),
            variant("close_once", "whoever is close, once per cooperator: 2.6.32"),
            variant("class_first", "classes are asked first: 2.6.33"),
            variant("same_group", "only of the same group; anybody over an empty queue not idled for: 4.20"),
        ],
    },
    Mechanism {
        name: "depth",
        doc: "how many requests of a queue may be in flight",
        variants: &[
            variant("quantum", "quantum, alone four times that: 2.6.31"),
            variant("drain", "write-back drains before a reader is served: 2.6.32"),
            variant("drain_or_alone", "as drain, alone without limit: 2.6.33"),
            variant("while_slice_lasts", "half of quantum, more while the slice lasts; the only reader all: 4.20"),
        ],
    },
    Mechanism {
        name: "next",
        doc: "from where the next request is chosen",
        variants: &[
            variant("kept", "from the disk's position; age changes nothing: 2.6.31"),
            variant("from_disk", "from the disk's position: 2.6.32"),
            variant("from_taken", "from the request taken: 2.6.33"),
        ],
    },
    Mechanism {
        name: "fifo",
        doc: "from when a request's age counts",
        variants: &[
            variant("since_made", "from when it was made, by its queue's knob: 2.6.31"),
            variant("since_inserted", "from when it was inserted, by its own knob: 2.6.32, 2.6.33"),
            variant("past_limits", "the same, and who is late goes past all limits: 4.20"),
        ],
    },
    Mechanism {
        name: "ncq",
        doc: "how often it is decided whether the disk queues by itself",
        variants: &[
            variant("recurring", "every 50 completions: 2.6.31, 2.6.32"),
            variant("until_yes", "until it does: 2.6.33"),
        ],
    },
    Mechanism {
        name: "while_idling",
        doc: "when a queue that was idled for is marked to survive the end of its slice",
        variants: &[
            variant("mark_after_run", "always, even after its request went: 2.6.31, 2.6.32"),
            variant("mark_or_run", "only if its request does not go at once: 2.6.33"),
        ],
    },
    Mechanism {
        name: "clock",
        doc: "what time is counted in",
        variants: &[
            variant("jiffies", "ticks of hz: 2.6.31 to 2.6.33"),
            variant("nanoseconds", "nanoseconds; the idle class's turn no longer depends on its last: 4.20"),
        ],
    },
    Mechanism {
        name: "think",
        doc: "whose pauses between requests are averaged",
        variants: &[
            variant("per_process", "each process's, ended by write-back too: 2.6.31 to 2.6.33"),
            variant("three_levels", "each process's, service tree's and group's: 4.20"),
        ],
    },
    Mechanism {
        name: "alias",
        doc: "what becomes of two requests of a queue with one first sector",
        variants: &[
            variant("forced", "the older is forced out, past all limits: 2.6.31 to 2.6.33"),
            variant("behind", "the newer goes behind it: 4.20"),
        ],
    },
    Mechanism {
        name: "write_back",
        doc: "which write-back queue a process uses when its priority changes",
        variants: &[
            variant("moves", "the new level's; its present one, if that has none: 2.6.31 to 2.6.33"),
            variant("lags", "that of the priority it had before: 4.20"),
        ],
    },
    Mechanism {
        name: "boost",
        doc: "whether metadata lifts its queue to best effort, level 4",
        variants: &[
            variant("off", "it does not: 2.6.31 to 2.6.33"),
            variant("on", "until the process's next request: 4.20"),
        ],
    },
    Mechanism {
        name: "groups",
        doc: "whether groups share the disk by weight",
        variants: &[
            variant("off", "all is one group: 4.20 without group scheduling"),
            variant("on", "by weight and virtual disk time: 4.20 with group scheduling; 2.6.33 so is not recorded"),
        ],
    },
    Mechanism {
        name: "charge",
        doc: "what groups are charged for",
        variants: &[
            variant("time", "the time of their turns, on any disk"),
            variant("requests", "requests, if the disk queues and slice_idle is 0 (IOPS mode); else time: 4.20"),
        ],
    },
    Mechanism {
        name: "hz",
        doc: "the kernel's ticks per second",
        variants: &[
            variant("100", "10 ms ticks: idling is off by default"),
            variant("250", "4 ms ticks: Debian"),
            variant("1000", "1 ms ticks: desktops"),
        ],
    },
];

/// What a parsed name says of each mechanism.
pub(super) fn chosen(choice: &Choice) -> Mechanisms {
    // Eras without groups have no row for them.
    let has = |mechanism, variant| choice.has(mechanism) && choice.variant(mechanism) == variant;
    Mechanisms {
        cooperation: one_of(choice, "cooperation", [Cooperation::None, Cooperation::Jump, Cooperation::MergeSplit]),
        seeks: one_of(choice, "seeks", [Seeks::PerProcess, Seeks::PerQueue, Seeks::History]),
        first_seek: if has("first_seek", "from_zero") { FirstSeek::FromZero } else { FirstSeek::None },
        async_depth: one_of(
            choice,
            "async_depth",
            [
                AsyncDepth::Unlimited,
                AsyncDepth::SinceLastSync,
                AsyncDepth::SinceDelayedSync,
                AsyncDepth::RemainingSlice,
            ],
        ),
        trees: one_of(choice, "trees", [Trees::Single, Trees::ByWorkload, Trees::InGroups]),
        residual: one_of(choice, "residual", [Residual::Added, Residual::Subtracted, Residual::Whole]),
        idling: one_of(
            choice,
            "idling",
            [Idling::UnlessSeeky, Idling::SeekyShortly, Idling::UnlessSeekyAndShallow, Idling::TreeThinks],
        ),
        preemption: one_of(
            choice,
            "preempt",
            [Preemption::Close, Preemption::CloseOnce, Preemption::ClassFirst, Preemption::SameGroup],
        ),
        depth: one_of(choice, "depth", [Depth::Quantum, Depth::Drain, Depth::DrainOrAlone, Depth::WhileSliceLasts]),
        next_request: one_of(choice, "next", [NextRequest::Kept, NextRequest::FromDisk, NextRequest::FromTaken]),
        fifo: one_of(choice, "fifo", [Fifo::SinceMade, Fifo::SinceInserted, Fifo::PastLimits]),
        ncq: one_of(choice, "ncq", [Ncq::Recurring, Ncq::UntilYes]),
        while_idling: one_of(choice, "while_idling", [WhileIdling::MarkAfterRun, WhileIdling::MarkOrRun]),
        clock: one_of(choice, "clock", [Clock::Jiffies, Clock::Nanoseconds]),
        think: one_of(choice, "think", [Think::PerProcess, Think::ThreeLevels]),
        alias: one_of(choice, "alias", [Alias::Forced, Alias::Behind]),
        write_back: one_of(choice, "write_back", [WriteBack::Moves, WriteBack::LagsBehind]),
        boost: one_of(choice, "boost", [Boost::Off, Boost::On]),
        groups: if has("groups", "on") { Grouping::On } else { Grouping::Off },
        charge: if has("charge", "requests") { Charge::RequestsWithoutIdling } else { Charge::Time },
    }
}

/// The way that was chosen of all of a mechanism's, in the order of [`MECHANISMS`].
fn one_of<T: Copy, const N: usize>(choice: &Choice, mechanism: &str, ways: [T; N]) -> T {
    let variants = MECHANISMS.iter().find(|known| known.name == mechanism).map_or(&[][..], |known| known.variants);
    assert_eq!(variants.len(), N, "every way of `{mechanism}` has a name");
    let at = variants.iter().position(|variant| variant.name == choice.variant(mechanism));
    ways[at.expect("a parsed name has known variants")]
}
