//! Which era has what: the rows of the table.

use super::arrival::WhileIdling;
use super::async_ramp::AsyncDepth;
use super::books::Cfq;
use super::cooperator::{Cooperation, Seeks};
use super::depth::Depth;
use super::fifo::Fifo;
use super::idle::Idling;
use super::ncq::Ncq;
use super::next_request::NextRequest;
use super::preempt::Preemption;
use super::service_tree::Trees;
use super::slice::Residual;
use super::tunables::{CfqTunables, V2_6_31, V2_6_32, V2_6_33};
use crate::catalogue::{Bound, Choice, Entry, Mechanism, Preset, Variant, Wait};
use crate::queue::{Plugging, Slots};

/// Everything that can be switched by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mechanisms {
    /// What becomes of close cooperators.
    pub cooperation: Cooperation,
    /// Whose seeks are averaged.
    pub seeks: Seeks,
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
}

/// CFQ in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "cfq",
    summary: "a queue and a share of the disk's time per process, by priority; idles for who reads in order",
    presets: &[
        Preset {
            kernel: V2_6_31,
            source: "recordings of 2.6.31; `fairness` is the patch of the mail of 2009-09-03",
            row: &[
                ("cooperation", "jump"),
                ("seeks", "per_process"),
                ("async_depth", "unlimited"),
                ("trees", "single"),
                ("residual", "added"),
                ("idling", "unless_seeky"),
                ("preempt", "close"),
                ("depth", "quantum"),
                ("next", "kept"),
                ("fifo", "since_made"),
                ("ncq", "recurring"),
                ("while_idling", "mark_after_run"),
                ("hz", "1000"),
            ],
            plugging: Plugging::LINUX_2_6,
            slots: Slots::LINUX_2_6,
            max_sectors: 1024,
        },
        Preset {
            kernel: V2_6_32,
            source: "recordings of 2.6.32, and of it with the patch of the mail of 2009-11-26 (async_depth)",
            row: &[
                ("cooperation", "jump"),
                ("seeks", "per_process"),
                ("async_depth", "since_last_sync"),
                ("trees", "single"),
                ("residual", "subtracted"),
                ("idling", "seeky_shortly"),
                ("preempt", "close_once"),
                ("depth", "drain"),
                ("next", "from_disk"),
                ("fifo", "since_inserted"),
                ("ncq", "recurring"),
                ("while_idling", "mark_after_run"),
                ("hz", "1000"),
            ],
            plugging: Plugging::LINUX_2_6,
            slots: Slots::LINUX_2_6,
            max_sectors: 1024,
        },
        Preset {
            kernel: V2_6_33,
            source: "recordings of 2.6.33.7; merged queues are the mail of 2009-10-23",
            row: &[
                ("cooperation", "merge_split"),
                ("seeks", "per_queue"),
                ("async_depth", "since_delayed_sync"),
                ("trees", "by_workload"),
                ("residual", "subtracted"),
                ("idling", "unless_shallow"),
                ("preempt", "class_first"),
                ("depth", "drain_or_alone"),
                ("next", "from_taken"),
                ("fifo", "since_inserted"),
                ("ncq", "until_yes"),
                ("while_idling", "mark_or_run"),
                ("hz", "1000"),
            ],
            plugging: Plugging::LINUX_2_6,
            slots: Slots::LINUX_2_6,
            max_sectors: 1024,
        },
    ],
    mechanisms: MECHANISMS,
    knobs: CfqTunables::KNOBS,
    bound,
    build: |choice: &Choice| {
        let knobs = CfqTunables::defaults(choice.kernel(), choice.hz());
        Box::new(Cfq::new(knobs, mechanisms(choice), choice.hz()))
    },
};

const fn variant(name: &'static str, doc: &'static str) -> Variant {
    Variant { name, doc }
}

const MECHANISMS: &[Mechanism] = &[
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
        doc: "whose seeks are averaged",
        variants: &[
            variant("per_process", "each process's, with its write-back: 2.6.31, 2.6.32"),
            variant("per_queue", "each queue's: 2.6.33"),
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
        ],
    },
    Mechanism {
        name: "residual",
        doc: "what becomes of time left over when a turn ends early",
        variants: &[
            variant("added", "the queue waits longer, a wrong sign: 2.6.31"),
            variant("subtracted", "the queue comes earlier: 2.6.32"),
        ],
    },
    Mechanism {
        name: "idling",
        doc: "for whom the disk may idle",
        variants: &[
            variant("unless_seeky", "not for who seeks, if the disk queues: 2.6.31"),
            variant("seeky_shortly", "for who seeks if it thinks at most 2 ms: 2.6.32"),
            variant("unless_shallow", "not for who seeks, unless four requests are queued at once: 2.6.33"),
        ],
    },
    Mechanism {
        name: "preempt",
        doc: "which arrivals take the disk from the queue being served",
        variants: &[
            variant("close", "also whoever is close while the disk idles: 2.6.31"),
            variant("close_once", "whoever is close, once per cooperator: 2.6.32"),
            variant("class_first", "classes are asked first: 2.6.33"),
        ],
    },
    Mechanism {
        name: "depth",
        doc: "how many requests of a queue may be in flight",
        variants: &[
            variant("quantum", "quantum, alone four times that: 2.6.31"),
            variant("drain", "write-back drains before a reader is served: 2.6.32"),
            variant("drain_or_alone", "as drain, alone without limit: 2.6.33"),
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
            variant("since_inserted", "from when it was inserted, by its own knob: 2.6.32"),
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
        name: "hz",
        doc: "the kernel's ticks per second",
        variants: &[
            variant("100", "10 ms ticks: idling is off by default"),
            variant("250", "4 ms ticks: Debian"),
            variant("1000", "1 ms ticks: desktops"),
        ],
    },
];

fn mechanisms(choice: &Choice) -> Mechanisms {
    let is = |mechanism, variant| choice.variant(mechanism) == variant;
    Mechanisms {
        cooperation: match choice.variant("cooperation") {
            "none" => Cooperation::None,
            "jump" => Cooperation::Jump,
            _ => Cooperation::MergeSplit,
        },
        seeks: if is("seeks", "per_process") { Seeks::PerProcess } else { Seeks::PerQueue },
        async_depth: match choice.variant("async_depth") {
            "unlimited" => AsyncDepth::Unlimited,
            "since_last_sync" => AsyncDepth::SinceLastSync,
            "since_delayed_sync" => AsyncDepth::SinceDelayedSync,
            _ => AsyncDepth::RemainingSlice,
        },
        trees: if is("trees", "single") { Trees::Single } else { Trees::ByWorkload },
        residual: if is("residual", "added") { Residual::Added } else { Residual::Subtracted },
        idling: match choice.variant("idling") {
            "unless_seeky" => Idling::UnlessSeeky,
            "seeky_shortly" => Idling::SeekyShortly,
            _ => Idling::UnlessSeekyAndShallow,
        },
        preemption: match choice.variant("preempt") {
            "close" => Preemption::Close,
            "close_once" => Preemption::CloseOnce,
            _ => Preemption::ClassFirst,
        },
        depth: match choice.variant("depth") {
            "quantum" => Depth::Quantum,
            "drain" => Depth::Drain,
            _ => Depth::DrainOrAlone,
        },
        next_request: match choice.variant("next") {
            "kept" => NextRequest::Kept,
            "from_disk" => NextRequest::FromDisk,
            _ => NextRequest::FromTaken,
        },
        fifo: if is("fifo", "since_made") { Fifo::SinceMade } else { Fifo::SinceInserted },
        ncq: if is("ncq", "recurring") { Ncq::Recurring } else { Ncq::UntilYes },
        while_idling: if is("while_idling", "mark_or_run") {
            WhileIdling::MarkOrRun
        } else {
            WhileIdling::MarkAfterRun
        },
    }
}

/// Turns come round in time, not in requests; and classes are absolute.
fn bound(_: &Choice) -> Bound {
    let none = Wait::None("the idle class waits for everybody else, and a queue's requests only for its turn");
    Bound { reads: none, writes: none }
}
