//! An elevator's entry in the catalogue: its eras, mechanisms and knobs, how long a request may wait, and its
//! constructor.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::cgroup::blk_iocost::Overflows;
use crate::elevator::Elevator;
use crate::kernel::{Kernel, V6_18};
use crate::queue::{Plugging, Slots};
use crate::tunables::Knob;

/// One elevator's entry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name that a user types.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// The kernels whose version of it is known, oldest first.
    pub presets: &'static [Preset],
    /// Whether mainline kernels have it.
    pub home: Home,
    /// The mechanisms that can be switched separately.
    pub mechanisms: &'static [Mechanism],
    /// Every knob of every era.
    pub knobs: &'static [Knob],
    /// How long a request may wait.
    pub bound: fn(&Choice) -> Bound,
    /// Constructs one.
    pub build: fn(&Choice) -> Box<dyn Elevator>,
}

impl Entry {
    /// The era that is meant if no kernel is named: that of the newest long-term kernel, or the last before it; if all
    /// are later, the last.
    ///
    /// # Panics
    /// If it has no preset.
    pub fn present(&self) -> &'static Preset {
        let until_now = self.presets.iter().rfind(|preset| preset.kernel <= V6_18);
        until_now.or(self.presets.last()).expect("an entry has a preset")
    }
}

/// Where an elevator is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// In kernels from kernel.org.
    Mainline,
    /// In a patch that some distributions apply.
    OutOfTree,
}

/// An era: a row of mechanisms and surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The kernel.
    pub kernel: Kernel,
    /// What was new, and the source for it.
    pub source: &'static str,
    /// The variant of each mechanism that this era has.
    pub row: &'static [(&'static str, &'static str)],
    /// The plug of that kernel.
    pub plugging: Plugging,
    /// The number of requests that kernel allowed, and the order in which sleepers woke.
    pub slots: Slots,
    /// The largest request of that kernel (`max_sectors_kb`) \[512-byte sectors\]; the disk may take less.
    pub max_sectors: u32,
}

impl Preset {
    /// The only era of an elevator that is in no kernel: it has no variants, and 6.1's surroundings.
    pub const fn of_no_kernel(kernel: Kernel, source: &'static str) -> Preset {
        let (plugging, slots) = (Plugging::LINUX_6, Slots::LINUX_6_1);
        Preset { kernel, source, row: &[], plugging, slots, max_sectors: 2560 }
    }
}

/// A mechanism that can be switched separately.
#[derive(Clone, Copy, Debug)]
pub struct Mechanism {
    /// The word that a user types before the `=`.
    pub name: &'static str,
    /// What it decides.
    pub doc: &'static str,
    /// Its variants.
    pub variants: &'static [Variant],
}

/// One way in which a mechanism can work.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// The word that a user types after the `=`.
    pub name: &'static str,
    /// What it does, and the mail or kernel from which it comes.
    pub doc: &'static str,
}

/// The longest wait of a request of each direction, in issues of other requests.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Reads.
    pub reads: Wait,
    /// Writes.
    pub writes: Wait,
}

/// The longest wait of one kind of request.
#[derive(Clone, Copy, Debug)]
pub enum Wait {
    /// At most `(ahead + 1) × batches × batch` other requests are issued between its expiry (`expire` after it was
    /// queued; 0: from the start) and its own issue, where `ahead` requests were queued before it. Requests that a
    /// kernel dispatches out of order (returned ones, ones with the same first sector, those put beside one that is too
    /// large) do not count on either side.
    /// neither way.
    Bounded {
        /// The requests that count as ahead.
        ahead: Ahead,
        /// The knob that determines its expiry, if there is one.
        expire: Option<&'static str>,
        /// The number of batches that may come between two of its own.
        batches: fn(&dyn crate::tunables::Tunables) -> u64,
        /// The number of requests that a batch may have.
        batch: fn(&dyn crate::tunables::Tunables) -> u64,
    },
    /// There is a bound, but in time instead of in issues, for this reason.
    InTime(&'static str),
    /// There is no bound, for this reason; a test shows the starvation.
    None(&'static str),
}

/// The requests that are ahead of a waiting one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// Those queued before it.
    All,
    /// Those of its direction queued before it.
    SameDirection,
}

/// A parsed `name[@kernel][+mechanism=variant]…`, with a variant for every mechanism.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The entry.
    pub entry: Entry,
    /// The era.
    pub preset: Preset,
    pub(crate) row: Vec<(&'static str, &'static str)>,
    /// The requested release, if it is not the era's.
    pub(crate) stands_for: Option<StandsFor>,
    /// `+io.cost`: that controller is in front of it.
    pub io_cost: Option<Overflows>,
    /// `+io.max`, `+io.latency`, `+io.prio.class`: the groups' files that are written only if requested.
    pub asked: Vec<&'static str>,
}

/// A release without a preset of its own.
#[derive(Clone, Debug)]
pub(crate) struct StandsFor {
    /// The release, or the distribution's.
    pub(crate) release: String,
    pub(crate) source: String,
}

impl Choice {
    /// The era's kernel.
    pub fn kernel(&self) -> Kernel {
        self.preset.kernel
    }

    /// The variant of a mechanism.
    ///
    /// # Panics
    /// If this era has no such mechanism.
    pub fn variant(&self, mechanism: &str) -> &'static str {
        let found = self.row.iter().find(|(name, _)| *name == mechanism);
        found.unwrap_or_else(|| panic!("{} has no mechanism `{mechanism}`", self.entry.name)).1
    }

    /// Whether a current mainline kernel can run it. 5.0 removed every scheduler that does not use blk-mq.
    pub fn is_in_present_kernels(&self) -> bool {
        self.kernel() >= Kernel::new(5, 0, 0) && self.entry.home == Home::Mainline
    }

    /// Whether no mainline kernel has ever had it.
    pub fn is_out_of_tree(&self) -> bool {
        self.entry.home == Home::OutOfTree
    }

    /// Whether this era has such a mechanism.
    pub fn has(&self, mechanism: &str) -> bool {
        self.row.iter().any(|(name, _)| *name == mechanism)
    }

    /// A note for a user who requested a release without a preset of its own.
    pub fn note(&self) -> Option<String> {
        let StandsFor { release, source } = self.stands_for.as_ref()?;
        Some(format!("{}@{release} decides as {} ({source})", self.entry.name, self.with_kernel()))
    }

    /// Ticks per second, from the mechanism `hz`.
    pub fn hz(&self) -> u32 {
        self.variant("hz").parse().expect("a variant of `hz` is a number")
    }
}

impl Choice {
    fn with_kernel(&self) -> String {
        let mut text = format!("{}@{}", self.entry.name, self.preset.kernel);
        for (mechanism, variant) in self.row.iter().filter(|pair| !self.preset.row.contains(pair)) {
            match *variant {
                "on" => text += &format!("+{mechanism}"),
                variant => text += &format!("+{mechanism}={variant}"),
            }
        }
        text += match self.io_cost {
            Some(Overflows::Kernel) => "+io.cost",
            Some(Overflows::None) => "+io.cost=wide",
            None => "",
        };
        text.extend(self.asked.iter().flat_map(|file| ["+", file]));
        text
    }

    /// Whether it is meant if no kernel is named: the only one, or that of the newest long-term kernel.
    fn goes_without_saying(&self) -> bool {
        let is_present = self.entry.present().kernel == self.preset.kernel;
        self.entry.presets.len() == 1 || is_present && self.is_in_present_kernels()
    }
}

impl fmt::Display for Choice {
    /// As a user would type it: name, kernel, and what differs from the era's own row. The newest kernel is omitted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.with_kernel();
        if self.goes_without_saying() {
            let kernel = format!("@{}", self.preset.kernel);
            return f.pad(&text.replacen(&kernel, "", 1));
        }
        f.pad(&text)
    }
}
