//! What a section says, typed: the defaults of `[global]` with the job's own options on top.

use std::collections::{BTreeMap, BTreeSet};

use blksched::{PerDir, Span};

use super::place::Place;
use super::values::Extent;

/// How offsets follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each block right behind the last of its direction.
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
    /// Both, by `rwmixread`.
    Both,
}

/// How an engine submits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// One system call per I/O, which returns when the I/O is done: depth 1.
    Synchronous,
    /// Up to `iodepth` in flight.
    Asynchronous,
}

/// A job's settings. Fields carry the names of fio's options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub order: Order,
    pub mix: Mix,
    /// \[bytes\]
    pub bs: PerDir<u64>,
    pub size: Option<Extent>,
    pub io_size: Option<Extent>,
    pub offset: Extent,
    /// \[bytes\]
    pub offset_increment: u64,
    pub number_ios: Option<u64>,
    pub loops: u64,
    pub numjobs: u64,
    pub group_reporting: bool,
    pub new_group: bool,
    pub stonewall: bool,
    pub startdelay: (Span, Span),
    pub runtime: Option<Span>,
    pub time_based: bool,
    pub engine: Engine,
    pub iodepth: u64,
    pub direct: bool,
    pub rwmixread_percent: u64,
    pub thinktime: Span,
    pub thinktime_blocks: u64,
    /// \[bytes/s\]
    pub rate: PerDir<Option<u64>>,
    /// \[1/s\]
    pub rate_iops: PerDir<Option<u64>>,
    pub prio: Option<u64>,
    pub prioclass: Option<u64>,
    pub randrepeat: Option<bool>,
    pub allrandrepeat: bool,
    pub randseed: Option<u64>,
    pub norandommap: bool,
    pub filename: Option<String>,
    pub directory: Option<String>,
    pub name: Option<String>,
    pub description: Option<String>,
    /// Where each option was last said, by its main name.
    pub said: BTreeMap<&'static str, Place>,
    /// Options whose value could not be read: what follows from their absence is no further problem.
    pub unreadable: BTreeSet<&'static str>,
}

impl Default for Settings {
    /// fio's defaults.
    fn default() -> Settings {
        Settings {
            order: Order::Sequential,
            mix: Mix::Read,
            bs: PerDir { read: 4096, write: 4096 },
            size: None,
            io_size: None,
            offset: Extent::Bytes(0),
            offset_increment: 0,
            number_ios: None,
            loops: 1,
            numjobs: 1,
            group_reporting: false,
            new_group: false,
            stonewall: false,
            startdelay: (Span::ZERO, Span::ZERO),
            runtime: None,
            time_based: false,
            engine: Engine::Synchronous,
            iodepth: 1,
            direct: false,
            rwmixread_percent: 50,
            thinktime: Span::ZERO,
            thinktime_blocks: 1,
            rate: PerDir::default(),
            rate_iops: PerDir::default(),
            prio: None,
            prioclass: None,
            randrepeat: None,
            allrandrepeat: false,
            randseed: None,
            norandommap: false,
            filename: None,
            directory: None,
            name: None,
            description: None,
            said: BTreeMap::new(),
            unreadable: BTreeSet::new(),
        }
    }
}

impl Settings {
    /// The smallest block \[bytes\] of the directions in use.
    pub fn min_bs(&self) -> u64 {
        match self.mix {
            Mix::Read => self.bs.read,
            Mix::Write => self.bs.write,
            Mix::Both => self.bs.read.min(self.bs.write),
        }
    }

    /// The largest.
    pub fn max_bs(&self) -> u64 {
        match self.mix {
            Mix::Read => self.bs.read,
            Mix::Write => self.bs.write,
            Mix::Both => self.bs.read.max(self.bs.write),
        }
    }

    /// Where `option` was said, or else `section`.
    pub fn place_of(&self, option: &str, section: &Place) -> Place {
        self.said.get(option).unwrap_or(section).clone()
    }
}
