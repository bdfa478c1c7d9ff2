//! The preset of each kernel: the mechanisms that it has.

use alloc::boxed::Box;

use super::scheduler::{Joins, Linus, Rule};
use super::tunables::{LinusTunables, V2_4_20};
use crate::elevator::Elevator;
use crate::entry::{Ahead, Bound, Choice, Entry, Home, Preset, Wait};
use crate::kernel::Kernel;
use crate::mechanism;
use crate::queue::{Plugging, Slots};
use crate::tunables::Tunables;

const V2_4_18: Kernel = Kernel::new(2, 4, 18);
const V2_5_38: Kernel = Kernel::new(2, 5, 38);

mechanism! {
    /// whether a lone read jumps over the writes (2.4.20; knob max_bomb_segments): the patch of 2002-11-10
    pub enum ReadLatency2 = "read-latency2" {
        /// as released
        Off = "off",
        /// patched
        On = "on",
    }
}

mechanism! {
    /// whether all reads go before all writes (2.5.38): the rework of 2002-09-25, present for one day
    pub enum Rework = "rework" {
        /// as released
        Off = "off",
        /// patched
        On = "on",
    }
}

/// linus in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "linus",
    summary: "one list in sector order for reads and writes; a counter per request says how often it may be passed",
    presets: &[
        Preset {
            kernel: V2_4_18,
            source: "recordings of 2.4.18; 2.4.0 to 2.4.19 decide alike (MEMORY)",
            row: &[],
            plugging: Plugging::TaskQueue,
            slots: Slots::LINUX_2_4_18,
            max_sectors: 255,
        },
        Preset {
            kernel: V2_5_38,
            source: "reconstructed from three published patches, no recording; with +rework recordings of its text",
            row: &[Joins::Charged.row(), Rework::Off.row()],
            plugging: Plugging::LINUX_2_5,
            slots: Slots::LINUX_2_5,
            max_sectors: 256,
        },
        Preset {
            kernel: Kernel::new(2, 4, 21),
            source: "recordings of 2.4.20, which is the same text as 2.4.21 to 2.4.37",
            row: &[ReadLatency2::Off.row()],
            plugging: Plugging::TaskQueue,
            slots: Slots::LINUX_2_4,
            max_sectors: 128,
        },
    ],
    home: Home::Mainline,
    mechanisms: &[ReadLatency2::MECHANISM, Rework::MECHANISM, Joins::MECHANISM],
    knobs: LinusTunables::KNOBS,
    bound,
    build,
};

fn is_reworked(choice: &Choice) -> bool {
    choice.way_if_any() == Some(Rework::On)
}

fn is_patched(choice: &Choice) -> bool {
    choice.way_if_any() == Some(ReadLatency2::On)
}

fn build(choice: &Choice) -> Box<dyn Elevator> {
    let patched = is_patched(choice);
    let defaults = LinusTunables::of(if patched { V2_4_20 } else { choice.kernel() });
    let (rule, read_latency, write_latency) = match choice.kernel() {
        V2_4_18 => (Rule::Scanned, 8192, 16384),
        V2_5_38 if is_reworked(choice) => (Rule::Rework, 1024, 2048),
        V2_5_38 => (Rule::Linux2_5 { joins: choice.way() }, 1024, 2048),
        _ if patched => (Rule::ReadLatency2, 2048, 8192),
        _ => (Rule::Passed, 2048, 8192),
    };
    Box::new(Linus::new(rule, LinusTunables { read_latency, write_latency, ..defaults }))
}

/// The number of requests dispatched before a request is bounded by those already queued and those that may pass it.
fn bound(choice: &Choice) -> Bound {
    if is_reworked(choice) {
        return Bound {
            reads: Wait::None("every read of a lower sector goes before it, for ever"),
            writes: Wait::None("every read goes before it, for ever"),
        };
    }
    // A read that jumps is inserted behind at least one write, so at most one does so for each write that leaves the
    // list.
    let batches = if is_patched(choice) { |_: &dyn Tunables| 2 } else { |_: &dyn Tunables| 1 };
    let wait = |batch| Wait::Bounded { ahead: Ahead::All, expire: None, batches, batch };
    Bound { reads: wait(passes_of_a_read), writes: wait(passes_of_a_write) }
}

/// The number of requests that may pass, since each costs at least 1.
fn passes(tunables: &dyn Tunables, knob: &str) -> u64 {
    tunables.get(knob).unwrap_or(0).max(0) as u64 + 1
}

fn passes_of_a_read(tunables: &dyn Tunables) -> u64 {
    passes(tunables, "read_latency")
}

fn passes_of_a_write(tunables: &dyn Tunables) -> u64 {
    passes(tunables, "write_latency")
}
