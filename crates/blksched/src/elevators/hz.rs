//! The kernel's ticks per second, as each elevator's mechanism `hz`.
//!
//! **In the kernel** `CONFIG_HZ`.

use crate::entry::{Mechanism, Variant};

const HZ_100: Variant = Variant { name: "100", doc: "10 ms ticks: servers" };
const HZ_250: Variant = Variant { name: "250", doc: "4 ms ticks: Debian" };
const HZ_300: Variant = Variant { name: "300", doc: "3.3 ms ticks" };
const HZ_1000: Variant = Variant { name: "1000", doc: "1 ms ticks: 2.5, desktops" };

/// `doc`: what depends on it in this elevator.
pub(super) const fn hz(doc: &'static str) -> Mechanism {
    Mechanism { name: "hz", doc, variants: &[HZ_100, HZ_250, HZ_300, HZ_1000] }
}

/// As [`hz`], where no test tells 300 from 250.
pub(super) const fn hz_without_300(doc: &'static str) -> Mechanism {
    Mechanism { name: "hz", doc, variants: &[HZ_100, HZ_250, HZ_1000] }
}
