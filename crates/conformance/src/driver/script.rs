//! Scripts: a queue's environment, and the operations on it.

use blksched::{Group, GroupId, Hints, Outcome, Priority, QueueConfig, Span};

use super::decode;

/// What a run plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Device, depth, plug and slots.
    pub config: QueueConfig,
    /// Whether submitters that sleep do sleep.
    pub sleep_policy: SleepPolicy,
    /// What happens, in order.
    pub steps: Vec<ScriptStep>,
}

impl Script {
    /// The script that these bytes spell. Any bytes spell one; a script is never longer than its bytes.
    pub fn from_bytes(bytes: &[u8]) -> Script {
        decode::script(bytes)
    }

    /// A script of about `steps` steps, from a seed.
    pub fn from_seed(seed: u64, steps: usize) -> Script {
        let mut state = seed;
        let words = (0..steps.div_ceil(3) + 2).map(|_| split_mix(&mut state));
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        Script::from_bytes(&bytes)
    }
}

/// SplitMix64: one multiplicative hash of a counter per word.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let word = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// Whether submitters that the queue puts to sleep do sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepPolicy {
    /// They do nothing until they are woken, as processes in a kernel.
    Patient,
    /// They go on, as clients of a server may.
    Impatient,
}

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptStep {
    /// A bio is submitted.
    Submit(BioPlan),
    /// Two bios with room for a third between them, and then the third: two requests become one.
    Bridge(BioPlan),
    /// A submitter waits for its I/O.
    Waits {
        /// Which (modulo the number of submitters).
        who: u8,
    },
    /// A submitter goes, and a new one takes its place.
    Forget {
        /// Which.
        who: u8,
    },
    /// The device asks until the queue has nothing more for it.
    Ask,
    /// A command in flight ends.
    Complete {
        /// Which (modulo their number).
        nth: u8,
        /// How.
        outcome: Outcome,
    },
    /// A command in flight is handed back untried.
    Requeue {
        /// Which (modulo their number).
        nth: u8,
    },
    /// A knob is set.
    Set {
        /// Which (modulo their number).
        nth: u8,
        /// To what.
        value: KnobValue,
    },
    /// A group is made, or its weights change.
    Group(GroupId, Group),
    /// A group goes, whatever it still has queued.
    Ungroup(GroupId),
    /// Time passes, and the queue is not told until the next step.
    Pass(Pass),
    /// Another elevator takes over.
    Switch(Successor),
}

/// A bio to submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BioPlan {
    /// The submitter.
    pub who: u8,
    /// What.
    pub what: BioKind,
    /// Where.
    pub place: BioPlace,
    /// How long.
    pub length: Length,
    /// With which priority.
    pub priority: Priority,
    /// For which group.
    pub group: GroupId,
    /// With which hints.
    pub hints: Hints,
}

/// What a bio asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BioKind {
    /// A read.
    Read,
    /// A read that no process waits for.
    ReadAhead,
    /// A write that no process waits for.
    WriteBack,
    /// A write that a process waits for.
    Write,
    /// A discard.
    Discard,
    /// A flush.
    Flush,
    /// A write that is stable when it completes.
    Fua,
    /// A write behind a flush.
    Preflush,
    /// A write behind a flush that is itself stable when it completes.
    PreflushFua,
}

/// Where a bio lies, compared with the last one submitted by any process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BioPlace {
    /// At this sector.
    At(u32),
    /// Right behind the last bio.
    Behind,
    /// Right before the last bio.
    Before,
    /// Behind the last bio, with room for one of eight sectors between them.
    BehindAHole,
    /// Where the last bio starts.
    Same,
    /// In the middle of the last bio.
    Inside,
}

/// How long a bio is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// This many sectors, or the most the device takes if that is less.
    Sectors(u32),
    /// This many times the most that the device takes, and one sector.
    Oversize(u32),
}

/// A value for a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobValue {
    /// One of those worth trying.
    Sweep(u8),
    /// Its default.
    Default,
    /// The least.
    Least,
    /// The greatest.
    Greatest,
    /// One below the least.
    Below,
    /// One above the greatest.
    Above,
}

/// How time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// So long.
    By(Span),
    /// Exactly to the queue's deadline, if it has one.
    ToDeadline,
    /// To so long behind the queue's deadline: a late wake-up.
    PastDeadline(Span),
}

/// The elevator that takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Successor {
    /// A new elevator of the kind under test.
    Fresh,
    /// Another one, by its name in the catalogue.
    Other(&'static str),
}
