//! DiskSim's parameters by name: the form of their values, which of them our disks have, which have no meaning for a
//! single disk, and which are supported only when off.

/// The form of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A number, which may have a sign.
    Number,
    /// A whole number up to this.
    Whole(u64),
    /// A number from 0 to 1.
    Part,
    /// Up to this many milliseconds.
    Ms(u32),
    Word,
    List,
    /// `kind { … }`.
    Block,
    /// `source FILE`, or the block itself.
    Source,
}

/// How a parameter is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The disk has it.
    Taken,
    /// It does not matter to a single disk that gets one command at a time, or to any result.
    NoMatter,
    /// The disk has nothing like it: noted unless it is 0.
    OffOnly,
    /// It matters only with several commands in flight: noted unless it is 0.
    Several,
}

/// A parameter: its name, the form of its values, and how it is used.
pub(super) type Key = (&'static str, Form, Use);

use Form::{Block, List, Ms, Number, Part, Source, Whole, Word};
use Use::{NoMatter, OffOnly, Several, Taken};

/// On or off.
const SWITCH: Form = Whole(1);
/// A time of the electronics.
const OVERHEAD: Form = Ms(100);
/// A time of the arm.
const MOVE: Form = Ms(500);
/// Any count.
const COUNT: Form = Whole(2_000_000_000_000);

pub(super) const MODEL: &[Key] = &[
    ("Number of data surfaces", COUNT, Taken),
    ("Number of cylinders", COUNT, Taken),
    ("Block count", COUNT, Taken),
    ("Layout Model", Source, Taken),
    ("Mechanical Model", Block, Taken),
];

pub(super) const LAYOUT: &[Key] = &[
    ("LBN-to-PBN mapping scheme", COUNT, Taken),
    ("Sparing scheme used", COUNT, Taken),
    ("Rangesize for sparing", COUNT, Taken),
    ("Zones", List, Taken),
    ("Skew units", Word, Taken),
];

pub(super) const ZONE: &[Key] = &[
    ("First cylinder number", COUNT, Taken),
    ("Last cylinder number", COUNT, Taken),
    ("Blocks per track", COUNT, Taken),
    ("Offset of first block", Number, Taken),
    ("Skew units", Word, Taken),
    ("Empty space at zone front", COUNT, Taken),
    ("Skew for track switch", Number, Taken),
    ("Skew for cylinder switch", Number, Taken),
    ("Number of spares", COUNT, Taken),
    ("slips", List, Taken),
    ("defects", List, Taken),
];

pub(super) const MECHANICS: &[Key] = &[
    ("Access time type", Word, Taken),
    ("Constant access time", Number, OffOnly),
    ("Seek type", Word, Taken),
    ("Single cylinder seek time", MOVE, Taken),
    ("Average seek time", MOVE, Taken),
    ("Constant seek time", MOVE, Taken),
    ("Full strobe seek time", MOVE, Taken),
    ("Full seek curve", Word, Taken),
    ("First ten seek times", List, Taken),
    ("HPL seek equation values", List, Taken),
    ("Add. write settling delay", MOVE, Taken),
    ("Head switch time", MOVE, Taken),
    ("Rotation speed (in rpms)", Number, Taken),
    ("Percent error in rpms", Number, OffOnly),
];

pub(super) const SPECS: &[Key] = &[
    ("Model", Source, NoMatter),
    ("Per-request overhead time", OVERHEAD, Taken),
    ("Time scale for overheads", Number, Taken),
    ("Bulk sector transfer time", Ms(5), Taken),
    ("Hold bus entire read xfer", SWITCH, NoMatter),
    ("Hold bus entire write xfer", SWITCH, NoMatter),
    ("Allow almost read hits", SWITCH, Taken),
    ("Allow sneaky full read hits", SWITCH, Several),
    ("Allow sneaky partial read hits", SWITCH, Several),
    ("Allow sneaky intermediate read hits", SWITCH, Several),
    ("Allow read hits on write data", SWITCH, Taken),
    ("Allow write prebuffering", SWITCH, Several),
    ("Preseeking level", Whole(2), Several),
    ("Never disconnect", SWITCH, NoMatter),
    ("Print stats", Number, NoMatter),
    ("Avg sectors per cylinder", Number, NoMatter),
    ("Max queue length", COUNT, NoMatter),
    ("Scheduler", Block, NoMatter),
    ("Number of buffer segments", COUNT, Taken),
    ("Maximum number of write segments", COUNT, Taken),
    ("Segment size (in blks)", COUNT, Taken),
    ("Use separate write segment", SWITCH, Taken),
    ("Low (write) water mark", Part, Taken),
    ("High (read) water mark", Part, Taken),
    ("Set watermark by reqsize", SWITCH, Taken),
    ("Calc sector by sector", SWITCH, NoMatter),
    ("Enable caching in buffer", Whole(2), Taken),
    ("Buffer continuous read", Whole(4), Taken),
    ("Minimum read-ahead (blks)", COUNT, Taken),
    ("Maximum read-ahead (blks)", COUNT, Taken),
    ("Read-ahead over requested", SWITCH, Taken),
    ("Read-ahead on idle hit", SWITCH, Taken),
    ("Read any free blocks", SWITCH, Taken),
    ("Fast write level", Whole(2), Taken),
    ("Immediate buffer read", SWITCH, OffOnly),
    ("Immediate buffer write", SWITCH, OffOnly),
    ("Combine seq writes", SWITCH, NoMatter),
    ("Stop prefetch in sector", SWITCH, NoMatter),
    ("Disconnect write if seek", SWITCH, NoMatter),
    ("Write hit stop prefetch", SWITCH, NoMatter),
    ("Read directly to buffer", SWITCH, NoMatter),
    ("Immed transfer partial hit", SWITCH, NoMatter),
    ("Read hit over. after read", OVERHEAD, Taken),
    ("Read hit over. after write", OVERHEAD, Taken),
    ("Read miss over. after read", OVERHEAD, Taken),
    ("Read miss over. after write", OVERHEAD, Taken),
    ("Write hit over. after read", OVERHEAD, Taken),
    ("Write hit over. after write", OVERHEAD, Taken),
    ("Write miss over. after read", OVERHEAD, Taken),
    ("Write miss over. after write", OVERHEAD, Taken),
    ("Read completion overhead", OVERHEAD, Taken),
    ("Write completion overhead", OVERHEAD, Taken),
    ("Data preparation overhead", OVERHEAD, Taken),
    ("First reselect overhead", OVERHEAD, Taken),
    ("Other reselect overhead", Number, OffOnly),
    // A drive disconnects while its arm moves.
    ("Read disconnect afterread", Number, NoMatter),
    ("Read disconnect afterwrite", Number, NoMatter),
    ("Write disconnect overhead", Number, NoMatter),
    ("Extra write disconnect", SWITCH, OffOnly),
    ("Extradisc command overhead", Number, OffOnly),
    ("Extradisc disconnect overhead", Number, OffOnly),
    ("Extradisc inter-disconnect delay", Number, OffOnly),
    ("Extradisc 2nd disconnect overhead", Number, OffOnly),
    ("Extradisc seek delta", Number, OffOnly),
    ("Minimum seek delay", MOVE, Taken),
];

/// Parameters of the drive's own queue, which holds one command at a time here.
pub(super) const SCHEDULER: &[Key] = &[
    ("Scheduling policy", COUNT, NoMatter),
    ("Cylinder mapping strategy", COUNT, NoMatter),
    ("Write initiation delay", Number, OffOnly),
    ("Read initiation delay", Number, OffOnly),
    ("Sequential stream scheme", COUNT, NoMatter),
    ("Maximum concat size", COUNT, NoMatter),
    ("Overlapping request scheme", COUNT, NoMatter),
    ("Sequential stream diff maximum", COUNT, NoMatter),
    ("Scheduling timeout scheme", COUNT, NoMatter),
    ("Timeout time/weight", Number, NoMatter),
    ("Timeout scheduling", COUNT, NoMatter),
    ("Scheduling priority scheme", COUNT, NoMatter),
    ("Priority scheduling", COUNT, NoMatter),
];
