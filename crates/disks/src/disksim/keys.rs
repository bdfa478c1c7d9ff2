//! DiskSim's parameters by name: which of them a disk of ours has, which mean nothing to one disk on its own, and which
//! it has only if they are off.

/// What becomes of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The disk has it.
    Taken,
    /// It means nothing to a single disk that is asked one command at a time, or to any result.
    NoMatter,
    /// The disk has nothing like it: noted unless it is 0.
    OffOnly,
}

use Use::{NoMatter, OffOnly, Taken};

pub(super) const MODEL: &[(&str, Use)] = &[
    ("Number of data surfaces", Taken),
    ("Number of cylinders", Taken),
    ("Block count", Taken),
    ("Layout Model", Taken),
    ("Mechanical Model", Taken),
];

pub(super) const LAYOUT: &[(&str, Use)] = &[
    ("LBN-to-PBN mapping scheme", Taken),
    ("Sparing scheme used", Taken),
    ("Rangesize for sparing", Taken),
    ("Zones", Taken),
    ("Skew units", Taken),
];

pub(super) const ZONE: &[(&str, Use)] = &[
    ("First cylinder number", Taken),
    ("Last cylinder number", Taken),
    ("Blocks per track", Taken),
    ("Offset of first block", Taken),
    ("Skew units", Taken),
    ("Empty space at zone front", Taken),
    ("Skew for track switch", Taken),
    ("Skew for cylinder switch", Taken),
    ("Number of spares", Taken),
    ("slips", Taken),
    ("defects", Taken),
];

pub(super) const MECHANICS: &[(&str, Use)] = &[
    ("Access time type", Taken),
    ("Constant access time", OffOnly),
    ("Seek type", Taken),
    ("Single cylinder seek time", Taken),
    ("Average seek time", Taken),
    ("Constant seek time", Taken),
    ("Full strobe seek time", Taken),
    ("Full seek curve", Taken),
    ("First ten seek times", Taken),
    ("HPL seek equation values", Taken),
    ("Add. write settling delay", Taken),
    ("Head switch time", Taken),
    ("Rotation speed (in rpms)", Taken),
    ("Percent error in rpms", OffOnly),
];

pub(super) const SPECS: &[(&str, Use)] = &[
    ("Model", NoMatter),
    ("Per-request overhead time", Taken),
    ("Time scale for overheads", Taken),
    ("Bulk sector transfer time", Taken),
    ("Hold bus entire read xfer", NoMatter),
    ("Hold bus entire write xfer", NoMatter),
    ("Allow almost read hits", OffOnly),
    ("Allow sneaky full read hits", OffOnly),
    ("Allow sneaky partial read hits", OffOnly),
    ("Allow sneaky intermediate read hits", OffOnly),
    ("Allow read hits on write data", Taken),
    ("Allow write prebuffering", OffOnly),
    ("Preseeking level", OffOnly),
    ("Never disconnect", NoMatter),
    ("Print stats", NoMatter),
    ("Avg sectors per cylinder", NoMatter),
    ("Max queue length", NoMatter),
    ("Scheduler", NoMatter),
    ("Number of buffer segments", Taken),
    ("Maximum number of write segments", Taken),
    ("Segment size (in blks)", Taken),
    ("Use separate write segment", Taken),
    ("Low (write) water mark", Taken),
    ("High (read) water mark", Taken),
    ("Set watermark by reqsize", Taken),
    ("Calc sector by sector", NoMatter),
    ("Enable caching in buffer", Taken),
    ("Buffer continuous read", Taken),
    ("Minimum read-ahead (blks)", OffOnly),
    ("Maximum read-ahead (blks)", Taken),
    ("Read-ahead over requested", Taken),
    ("Read-ahead on idle hit", Taken),
    ("Read any free blocks", Taken),
    ("Fast write level", Taken),
    ("Immediate buffer read", OffOnly),
    ("Immediate buffer write", OffOnly),
    ("Combine seq writes", NoMatter),
    ("Stop prefetch in sector", NoMatter),
    ("Disconnect write if seek", NoMatter),
    ("Write hit stop prefetch", NoMatter),
    ("Read directly to buffer", NoMatter),
    ("Immed transfer partial hit", NoMatter),
    ("Read hit over. after read", Taken),
    ("Read hit over. after write", Taken),
    ("Read miss over. after read", Taken),
    ("Read miss over. after write", Taken),
    ("Write hit over. after read", Taken),
    ("Write hit over. after write", Taken),
    ("Write miss over. after read", Taken),
    ("Write miss over. after write", Taken),
    ("Read completion overhead", Taken),
    ("Write completion overhead", Taken),
    ("Data preparation overhead", Taken),
    ("First reselect overhead", Taken),
    ("Other reselect overhead", OffOnly),
    // A drive disconnects while its arm moves.
    ("Read disconnect afterread", NoMatter),
    ("Read disconnect afterwrite", NoMatter),
    ("Write disconnect overhead", NoMatter),
    ("Extra write disconnect", OffOnly),
    ("Extradisc command overhead", OffOnly),
    ("Extradisc disconnect overhead", OffOnly),
    ("Extradisc inter-disconnect delay", OffOnly),
    ("Extradisc 2nd disconnect overhead", OffOnly),
    ("Extradisc seek delta", OffOnly),
    ("Minimum seek delay", Taken),
];
