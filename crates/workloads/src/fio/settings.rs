//! A section's settings, typed: the defaults of `[global]` overridden by the job's own options.

mod ending;
mod files;
mod pace;
mod replay;
mod report;
mod zones;

use std::collections::{BTreeMap, BTreeSet};

use crate::calls::{CallInterface, CallWay};
use crate::cpus::CpuSet;
use crate::fio::ddir::{Ddir, PerDdir};
use crate::host::fs::FsMount;
use blksched::Span;

use super::blocks::Blocks;
use super::buffered::RangePlan;
use super::distribution::Distribution;
use super::place::TextPlace;
use super::values::{KbBase, LengthOrShare};
pub(crate) use ending::{EndSettings, ExitWhat, GroupFile, GroupFileWrite};
pub(crate) use files::{FileSettings, FileTurn, Service};
pub use pace::RateProcess;
pub(crate) use pace::{AfterThinking, PaceSettings, ThinksAfter};
pub(crate) use replay::ReplaySettings;
pub use report::{Latency, LogNames, LogValue, Logs, Reporting, Unified};
pub(crate) use zones::Zones;

/// How offsets follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetOrder {
    /// Each block directly after the last of its direction.
    Sequential,
    /// Anywhere in the region.
    Random,
}

/// Which directions a job uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Reads and writes, by `rwmixread`.
    Both,
    /// Trims only.
    Trim,
    /// Each block is trimmed, then written.
    TrimWrite,
}

/// How an engine submits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoEngine {
    /// One system call per I/O, which returns when the I/O is done: depth 1.
    Synchronous,
    /// Loads and stores in a mapping of the file: depth 1, always through the page cache.
    Mapped,
    /// Up to `iodepth` in flight.
    Asynchronous,
    /// One command at a time, bypassing the page cache, which returns when it is done.
    SynchronousCommands,
    /// Up to `iodepth` of them in flight.
    AsynchronousCommands,
    /// Asynchronous for direct I/O; submitting buffered I/O sleeps until it is done (`libaio`).
    AsynchronousIfDirect,
}

/// What a job tells the kernel about its order (`posix_fadvise`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Nothing.
    None,
    /// The actual order: sequential or random.
    Own,
    /// This order.
    Said(OffsetOrder),
}

/// What the number after `rw=` does to a random job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequencer {
    /// Blocks follow one another until the next jump.
    Sequential,
    /// The same block again until the next jump.
    Identical,
}

/// Whether writes must be stable when they complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// Not required.
    No,
    /// Each of them (`O_DSYNC`).
    Data,
    /// Each of them with all metadata (`O_SYNC`).
    All,
}

impl Durable {
    /// Whether it is required.
    pub fn is_required(self) -> bool {
        self != Durable::No
    }
}

/// How a file gets its blocks before it is written (`fallocate`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preallocated {
    /// It has places, where nothing has been written.
    #[default]
    Yes,
    /// It is empty.
    No,
}

/// I/O of one size with a priority of its own, by `cmdprio_bssplit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommandShare {
    /// \[bytes\]
    pub bs: u64,
    /// Class and level, if given.
    pub own: Option<(u64, u64)>,
}

/// How the processes of a job share its processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuPolicy {
    /// Each may use all.
    Shared,
    /// Each has one.
    Split,
}

/// A job's settings. Fields carry the names of fio's options.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    pub order: OffsetOrder,
    pub mix: Mix,
    /// \[bytes\]
    pub bs: PerDdir<u64>,
    pub bs_is_seq_rand: bool,
    pub size: Option<LengthOrShare>,
    pub io_size: Option<LengthOrShare>,
    pub offset: LengthOrShare,
    pub offset_increment: LengthOrShare,
    pub number_ios: Option<u64>,
    pub loops: u64,
    pub numjobs: u64,
    pub cpus: CpuSettings,
    pub group_reporting: bool,
    pub new_group: bool,
    pub stonewall: bool,
    pub startdelay: (Span, Span),
    pub runtime: Option<Span>,
    pub time_based: bool,
    pub engine: IoEngine,
    pub iodepth: u64,
    pub direct: bool,
    pub invalidate: bool,
    pub pre_read: bool,
    pub fadvise_hint: Hint,
    pub rwmixread_percent: u64,
    pub prio: Option<u64>,
    pub prioclass: Option<u64>,
    pub randrepeat: Option<bool>,
    pub allrandrepeat: bool,
    pub randseed: Option<u64>,
    pub norandommap: bool,
    pub rare: RareSettings,
    pub files: FileSettings,
    pub pace: PaceSettings,
    pub ending: EndSettings,
    /// `sg` sends verifications for writes.
    pub sg_verifies: bool,
    pub zones: Zones,
    pub report: Reporting,
    /// Whether its own threads submit for it.
    pub offload: bool,
    pub name: Option<String>,
    pub description: Option<String>,
    pub kb_base: KbBase,
    /// \[bytes\]; overrides `bs`
    pub bsrange: PerDdir<Option<(u64, u64)>>,
    /// \[bytes, %\]; if not empty, overrides both
    pub bssplit: PerDdir<Vec<(u64, u64)>>,
    /// \[bytes\]
    pub blockalign: PerDdir<Option<u64>>,
    /// The meaning of a number after `rw=`.
    pub jumps: Jumps,
    pub rw_sequencer: Sequencer,
    /// \[%\]
    pub percentage_random: PerDdir<u64>,
    pub random_distribution: PerDdir<Distribution>,
    /// \[bytes\]
    pub offset_align: u64,
    /// \[writes\]
    pub fsync: u64,
    /// \[writes\]
    pub fdatasync: u64,
    pub end_fsync: bool,
    pub sync: Durable,
    pub iodepth_batch: u64,
    pub iodepth_batch_complete_min: u64,
    pub iodepth_batch_complete_max: Option<u64>,
    pub iodepth_low: Option<u64>,
    pub nice: i64,
    /// \[%\]
    pub cmdprio_percentage: PerDdir<u64>,
    pub cmdprio_class: PerDdir<Option<u64>>,
    pub cmdprio: PerDdir<Option<u64>>,
    pub cmdprio_bssplit: PerDdir<Vec<(CommandShare, u64)>>,
    pub wait_for: Option<String>,
    /// Where each option was last set, by its main name.
    pub said: BTreeMap<&'static str, TextPlace>,
    /// Options whose value could not be parsed: consequences of their absence are not reported as well.
    pub unreadable: BTreeSet<&'static str>,
}

/// The number after `rw=`, as in `rw=read:12k` and `rw=randread:8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jumps {
    /// The number after `rw=` of a sequential job \[bytes\].
    pub stride: i64,
    /// That of a random job \[I/Os\].
    pub every: u64,
}

/// Which processors a job's processes may run on; by default any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSettings {
    pub allowed: CpuSet,
    pub policy: CpuPolicy,
    /// What is called for I/O, as far as processors feel it.
    pub calls: CallWay,
}

impl Default for CpuSettings {
    fn default() -> CpuSettings {
        let calls = CallWay { interface: CallInterface::Sync, ..CallWay::default() };
        CpuSettings { allowed: CpuSet::ALL, policy: CpuPolicy::Shared, calls }
    }
}

/// Rarely used options.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RareSettings {
    /// Blocks of several sizes need not be multiples of the least.
    pub bs_unaligned: bool,
    /// It begins where its files end.
    pub file_append: bool,
    /// What was written is read back, unless `do_verify` is off.
    pub verify: bool,
    pub skips_verify: bool,
    /// It only reads back.
    pub only_verifies: bool,
    pub sync_file_range: Option<RangePlan>,
    pub fsync_on_close: bool,
    pub preallocated: Preallocated,
    pub overwrite: bool,
    /// Its processes lock their files.
    pub locks: bool,
    pub fs: Option<FsMount>,
    /// Its files come to be when they are opened.
    pub create_on_open: bool,
    /// They are removed after each pass, or at its end.
    pub unlink_each_loop: bool,
    pub unlink: bool,
}

impl Default for Settings {
    /// fio's defaults.
    fn default() -> Settings {
        Settings {
            order: OffsetOrder::Sequential,
            mix: Mix::Read,
            bs: PerDdir { read: 4096, write: 4096, trim: 4096 },
            bs_is_seq_rand: false,
            size: None,
            io_size: None,
            offset: LengthOrShare::Bytes(0),
            offset_increment: LengthOrShare::Bytes(0),
            number_ios: None,
            loops: 1,
            numjobs: 1,
            cpus: CpuSettings::default(),
            group_reporting: false,
            new_group: false,
            stonewall: false,
            startdelay: (Span::ZERO, Span::ZERO),
            runtime: None,
            time_based: false,
            engine: IoEngine::Synchronous,
            iodepth: 1,
            direct: false,
            invalidate: true,
            pre_read: false,
            fadvise_hint: Hint::Own,
            rwmixread_percent: 50,
            prio: None,
            prioclass: None,
            randrepeat: None,
            allrandrepeat: false,
            randseed: None,
            norandommap: false,
            rare: RareSettings::default(),
            files: FileSettings::default(),
            pace: PaceSettings::default(),
            ending: EndSettings::default(),
            sg_verifies: false,
            zones: Zones::default(),
            report: Reporting::default(),
            offload: false,
            name: None,
            description: None,
            kb_base: KbBase::Binary,
            bsrange: PerDdir::default(),
            bssplit: PerDdir::default(),
            blockalign: PerDdir::default(),
            jumps: Jumps { stride: 0, every: 1 },
            rw_sequencer: Sequencer::Sequential,
            percentage_random: PerDdir { read: 100, write: 100, trim: 100 },
            random_distribution: PerDdir::default(),
            offset_align: 0,
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            sync: Durable::No,
            iodepth_batch: 1,
            iodepth_batch_complete_min: 1,
            iodepth_batch_complete_max: None,
            iodepth_low: None,
            nice: 0,
            cmdprio_percentage: PerDdir::default(),
            cmdprio_class: PerDdir::default(),
            cmdprio: PerDdir::default(),
            cmdprio_bssplit: PerDdir::default(),
            wait_for: None,
            said: BTreeMap::new(),
            unreadable: BTreeSet::new(),
        }
    }
}

impl Settings {
    /// The block sizes of a direction; for a random job with `bs_is_seq_rand`, those of its jumps.
    pub fn blocks(&self, ddir: Ddir) -> Blocks {
        self.blocks_said(match (self.bs_is_seq_rand, self.order) {
            (false, _) => ddir,
            (true, OffsetOrder::Sequential) => Ddir::Read,
            (true, OffsetOrder::Random) => Ddir::Write,
        })
    }

    /// The block sizes of I/Os of a random job that do not jump, if they have their own.
    pub fn blocks_onward(&self) -> Option<Blocks> {
        let own = self.bs_is_seq_rand && self.order == OffsetOrder::Random;
        own.then(|| self.blocks_said(Ddir::Read))
    }

    fn blocks_said(&self, dir: Ddir) -> Blocks {
        match (&self.bssplit[dir], self.bsrange[dir]) {
            (parts, _) if !parts.is_empty() => Blocks::Split(parts.clone()),
            (_, Some((from, to))) => Blocks::Range(from, to),
            _ => Blocks::One(self.bs[dir]),
        }
    }

    /// Whether it visits no block twice in a pass.
    pub fn keeps_map(&self) -> bool {
        let drawn = |ddir: &Ddir| self.random_distribution[*ddir] != Distribution::Random;
        self.order == OffsetOrder::Sequential || !(self.norandommap || self.dirs().iter().any(drawn))
    }

    /// The directions in use.
    pub fn dirs(&self) -> &'static [Ddir] {
        match self.mix {
            Mix::Read => &[Ddir::Read],
            Mix::Write => &[Ddir::Write],
            Mix::Both => &[Ddir::Read, Ddir::Write],
            Mix::Trim => &[Ddir::Trim],
            Mix::TrimWrite => &[Ddir::Trim, Ddir::Write],
        }
    }

    /// The block sizes of the directions in use.
    pub fn all_blocks(&self) -> impl Iterator<Item = Blocks> {
        self.dirs().iter().map(|ddir| self.blocks(*ddir)).chain(self.blocks_onward())
    }

    /// The smallest block \[bytes\] of the directions in use.
    pub fn min_bs(&self) -> u64 {
        self.all_blocks().map(|blocks| blocks.min()).min().unwrap_or(0)
    }

    /// The largest block \[bytes\].
    pub fn max_bs(&self) -> u64 {
        self.all_blocks().map(|blocks| blocks.max()).max().unwrap_or(0)
    }

    /// Where `option` was set, or else `section`.
    pub fn place_of(&self, option: &str, section: &TextPlace) -> TextPlace {
        self.said.get(option).unwrap_or(section).clone()
    }
}
