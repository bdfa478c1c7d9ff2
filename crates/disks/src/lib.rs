//! Disk models: the service of a command between `start` and `finish`, in virtual time.
//!
//! A [`Disk`] is a state machine without a clock, like the rest of blksched: the driver passes in the time, hands over
//! commands with [`Disk::start`], asks [`Disk::next`] when to come back, and collects completions with [`Disk::finish`]
//! until there are none. A disk is built from a [`DiskSpec`], which is a preset or the user's own TOML file, and a
//! seed. The same specification, seed and calls give the same completions on every platform.
//!
//! ```
//! use blksched::author::RequestId;
//! use blksched::{Command, Instant, Op, Sector, SubmitterId};
//! use blksched_disks::load;
//!
//! let mut disk = load("sata-2009").unwrap().build(1);
//! let read = Command {
//!     rq: RequestId::from_index(0),
//!     op: Op::Read,
//!     start: Sector(1_000_000),
//!     sectors: 8,
//!     fua: false,
//!     submitter: SubmitterId(1),
//! };
//! disk.start(Instant::ZERO, read);
//! let then = disk.next().unwrap();
//! let done = disk.finish(then).unwrap();
//! assert_eq!(done.rq, read.rq);
//! assert_eq!(done.service.sum(), done.at.since(Instant::ZERO));
//! ```
//!
//! The models: `null` (ends at once), `fixed` (constant service time on parallel channels), `hdd` and `ssd` (see the
//! module heads in `hdd/` and `ssd/`, one per mechanism), and `raid` over any of them. Faults, a delay and a tracer
//! (`middleware/`) can be put around each of them. The presets' comments say where each number comes from.

mod attached;
mod disk;
pub mod disksim;
mod draw;
mod endings;
mod fixed;
mod hdd;
mod ledger;
mod middleware;
mod null;
pub mod probe;
mod raid;
pub mod sheet;
mod spec;
mod ssd;
pub mod stack;
mod stint;
mod timeline;

pub use attached::Attached;
pub use disk::{CommandOutcome, Disk, Facts, Finished, IoError};
pub use draw::Chance;
pub use ledger::{Activity, Ledger};
pub use middleware::{CommandRecord, CommandTrace, Tracer};
pub use spec::{
    AfterHit, Before, Begins, BufferSpec, CacheOrder, CapSpec, CapsSpec, CaseOverheads, CoalescingSpec, CollectionSpec,
    CommandOverheads, ControllerCacheSpec, CountsFrom, DelaySpec, Delivered, DestageSpec, DiskError, DiskSpec,
    DriveState, Duplex, FaultAction, FaultSpec, Fit, FixedCost, FixedSpec, FlashSpec, FlushMode, GeometrySpec, HddSpec,
    HeadOrder, IDEAL, Interference, InterferenceSpec, IocostModel, LayoutSpec, Level, LookAheadRules, LookAheadSpec,
    MapCacheSpec, MapSpec, MiddlewareSpec, MirrorReads, Model, NcqSpec, NullSpec, OverheadSpec, Overwritten,
    PageMapSpec, PageTimes, Passing, PowerLoss, PowerSpec, QueueOrder, RaidSpec, RareDelay, Rate, Reach, RebuildSpec,
    RetrySpec, SeekSpec, SixFigures, SlcSpec, SlcWhenFull, SsdInterfaceSpec, SsdOverheadSpec, SsdSpec, StallSpec,
    TailOf, TailsSpec, Turn, Validated, Watermark, Watermarks, WriteCacheSpec, WrittenData, ZoneSpec, ZonesSpec,
    builtin, class, fitted_in, iocost_models, load, load_changed, parse, preset_descriptions, preset_names, preset_of,
    presets, standing_names, stands_for,
};
pub use stint::{Stint, StintWork};
