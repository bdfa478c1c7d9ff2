//! The elevators by name: `name[@kernel][+mechanism=variant]…` becomes an elevator.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::cgroup::blk_throttle::Era as IoMaxEra;
use crate::elevator::Elevator;
use crate::queue::{BlockQueue, Limits, Plugging, QueueConfig, Slots};

mod distributions;
mod error;
mod releases;
mod running;
mod spec;

#[cfg_attr(not(feature = "elevator-author"), allow(unused_imports, reason = "authors name the rest"))]
pub use crate::entry::{Ahead, Bound, Choice, Entry, Home, Mechanism, Preset, Variant, Wait};
#[cfg_attr(not(feature = "elevator-author"), allow(unused_imports, reason = "the tools name the rest"))]
pub use distributions::{DISTRIBUTIONS, Distribution, Known};
pub use error::SpecError;
#[cfg_attr(not(feature = "elevator-author"), allow(unused_imports, reason = "the tools name the rest"))]
pub use releases::{ALIKE, Alike};

/// An elevator and the surroundings of its era.
pub struct Built {
    /// The parsed name.
    pub choice: Choice,
    /// The elevator.
    pub elevator: Box<dyn Elevator>,
    /// The plug of that kernel.
    pub plugging: Plugging,
    /// The number of requests that kernel allowed.
    pub slots: Slots,
    /// The largest request that kernel made \[512-byte sectors\].
    pub max_sectors: u32,
}

impl fmt::Debug for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Built")
            .field("choice", &format_args!("{}", self.choice))
            .field("slots", &self.slots)
            .finish_non_exhaustive()
    }
}

impl Built {
    /// The version of `io.max` of its kernel; of today's, if the elevator is the same in all.
    pub fn io_max(&self) -> IoMaxEra {
        if self.choice.entry.presets.len() > 1 { IoMaxEra::of(self.choice.kernel()) } else { IoMaxEra::default() }
    }

    /// The surroundings of its era on this device, which takes `depth` requests at a time.
    pub fn config(&self, limits: Limits, depth: u32) -> QueueConfig {
        QueueConfig {
            limits: Limits { max_sectors: limits.max_sectors.min(self.max_sectors), ..limits },
            depth,
            plugging: self.plugging,
            slots: self.slots,
            io_max: self.io_max(),
            ..QueueConfig::default()
        }
    }

    /// A queue with this elevator, in the surroundings of its era ([`Built::config`]).
    ///
    /// # Panics
    /// If the device takes nothing: a depth or limits of 0.
    pub fn queue(self, limits: Limits, depth: u32) -> BlockQueue {
        BlockQueue::new(self.config(limits, depth), self.elevator)
    }
}

/// Every elevator that can be named.
#[derive(Clone, Debug)]
pub struct Catalogue {
    entries: Vec<Entry>,
}

impl Catalogue {
    /// The elevators of this crate.
    pub fn builtin() -> Catalogue {
        use crate::elevators::{adios, anticipatory, bfq, cfq, deadline, kyber, linus, mq_deadline, none, noop};
        let historical = [linus::ENTRY, noop::ENTRY, deadline::ENTRY, anticipatory::ENTRY, cfq::ENTRY];
        let present = [none::ENTRY, mq_deadline::ENTRY, kyber::ENTRY, bfq::ENTRY, adios::ENTRY];
        Catalogue { entries: historical.into_iter().chain(present).collect() }
    }

    /// Adds elevators of your own; one with an existing name replaces that.
    pub fn with(mut self, own: &[Entry]) -> Catalogue {
        for entry in own {
            self.entries.retain(|known| known.name != entry.name);
            self.entries.push(*entry);
        }
        self
    }

    /// Every entry.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Every entry at every kernel, with that kernel's own mechanisms, as a user would type it.
    pub fn eras(&self) -> Vec<String> {
        let all = self.entries.iter().flat_map(|entry| entry.presets.iter().map(move |preset| (entry, preset)));
        all.map(|(entry, preset)| spec::of_era(entry, preset).to_string()).collect()
    }

    /// Parses `name[@kernel][+mechanism=variant]…`; the kernel may be a distribution's release, as in `ubuntu-22.04`.
    ///
    /// # Errors
    /// If a word in it is unknown: the error names the word and the nearest that exists.
    pub fn parse(&self, text: &str) -> Result<Choice, SpecError> {
        spec::parse(&self.entries, text)
    }

    /// The elevator `name` of the kernel whose release (`uname -r`, as `6.12.3-amd64`) is given. If nobody examined
    /// that kernel, it is the nearest one that is known, and [`Choice::note`] says so.
    ///
    /// # Errors
    /// If there is no elevator of that name.
    pub fn of_running(&self, name: &str, release: &str) -> Result<Choice, SpecError> {
        running::of_running(&self.entries, name, release)
    }

    /// Parses a name and constructs the elevator.
    ///
    /// # Errors
    /// As [`Catalogue::parse`].
    pub fn build(&self, text: &str) -> Result<Built, SpecError> {
        self.parse(text).map(|choice| choice.build())
    }
}

impl Choice {
    /// Constructs the elevator.
    pub fn build(&self) -> Built {
        Built {
            elevator: (self.entry.build)(self),
            plugging: self.preset.plugging,
            slots: self.preset.slots,
            max_sectors: self.preset.max_sectors,
            choice: self.clone(),
        }
    }
}
