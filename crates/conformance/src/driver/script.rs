//! Scripts: a queue's environment, and the operations on it.

use blksched::{Group, GroupId, Hints, Outcome, Priority, QueueConfig, Span};

use super::decode;

/// The script that a run plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Device, depth, plug and slots.
    pub config: QueueConfig,
    /// Whether submitters that are put to sleep really sleep.
    pub sleep_policy: SleepPolicy,
    /// What happens, in order.
    pub steps: Vec<ScriptStep>,
}

impl Script {
    /// The script that these bytes encode. Any bytes are valid; a script is never longer than its bytes.
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

/// Whether submitters that the queue puts to sleep really sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepPolicy {
    /// They do nothing until they are woken, like processes in a kernel.
    Patient,
    /// They continue, as clients of a server may.
    Impatient,
}

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptStep {
    /// A bio is submitted.
    Submit(BioPlan),
    /// Two bios with room for a third between them, and then the third, which joins two requests.
    Bridge(BioPlan),
    /// A submitter waits for its I/O.
    Waits {
        /// The submitter (modulo their number).
        who: u8,
    },
    /// A submitter exits, and a new one takes its place.
    Forget {
        /// The submitter (modulo their number).
        who: u8,
    },
    /// The device asks until the queue has nothing more for it.
    Ask,
    /// A command in flight ends.
    Complete {
        /// The command's or knob's index (modulo their number).
        nth: u8,
        /// Its outcome.
        outcome: Outcome,
    },
    /// A command in flight is returned untried.
    Requeue {
        /// The command's or knob's index (modulo their number).
        nth: u8,
    },
    /// A knob is set.
    Set {
        /// The command's or knob's index (modulo their number).
        nth: u8,
        /// The new value.
        value: KnobValue,
    },
    /// A group is created, or its weights change.
    Group(GroupId, Group),
    /// A group is removed, even if requests of it are queued.
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
    /// The kind of I/O.
    pub what: BioKind,
    /// Its position.
    pub place: BioPlace,
    /// Its length.
    pub length: Length,
    /// Its priority.
    pub priority: Priority,
    /// Its group.
    pub group: GroupId,
    /// Its hints.
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
    /// A write preceded by a flush.
    Preflush,
    /// A write preceded by a flush, and stable when it completes.
    PreflushFua,
}

/// Where a bio lies, relative to the last one submitted by any process.
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
    /// This many sectors, or the device's maximum if that is less.
    Sectors(u32),
    /// This many times the device's maximum, plus one sector.
    Oversize(u32),
}

/// A value for a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobValue {
    /// One of the values worth trying.
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
    /// By this much.
    By(Span),
    /// Exactly to the queue's deadline, if it has one.
    ToDeadline,
    /// To this long after the queue's deadline: a late wake-up.
    PastDeadline(Span),
}

/// The elevator that takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Successor {
    /// A new elevator of the kind under test.
    Fresh,
    /// Another elevator, by its name in the catalogue.
    Other(&'static str),
}
