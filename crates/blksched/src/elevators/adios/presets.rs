//! ADIOS in the catalogue.

use alloc::boxed::Box;

use super::scheduler::Adios;
use super::tunables::{AdiosTunables, V6_18};
use crate::elevators::hz::hz;
use crate::entry::{Bound, Choice, Entry, Home, Preset, Wait};
use crate::queue::{Plugging, Slots};

/// ADIOS in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "adios",
    summary: "deadlines from learned latencies, reads before write-back; out of tree (in CachyOS's kernels)",
    presets: &[Preset {
        kernel: V6_18,
        source: "recordings of ADIOS 3.1.9 on 6.18.2; the patches for 6.12 and 6.19 hold the same scheduler",
        row: &[("hz", "250")],
        plugging: Plugging::LINUX_6,
        slots: Slots::LINUX_6_12,
        max_sectors: 2560,
    }],
    home: Home::OutOfTree,
    mechanisms: &[hz("the kernel's ticks per second (CONFIG_HZ): when models are updated")],
    knobs: AdiosTunables::KNOBS,
    bound,
    build: |choice: &Choice| Box::new(Adios::new(AdiosTunables::of(choice.kernel()), choice.hz())),
};

/// Once a request is due, the other side is charged for each request that is dispatched before it, until its own side
/// is favoured; the number of those requests depends on the predicted costs of both.
fn bound(_: &Choice) -> Bound {
    let why = "past its deadline a request is passed over only as long as the other side can pay, in predicted time";
    Bound { reads: Wait::InTime(why), writes: Wait::InTime(why) }
}
