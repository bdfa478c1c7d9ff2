//! Distributions, and the kernel that each release shipped with: `bfq@ubuntu-22.04` is understood.
//!
//! A distribution's own patches were examined only where a recording is of its kernel; the source of each row says what
//! was. Later kernels of the same release (Ubuntu's HWE kernels, Debian's backports) are named by their numbers.

use crate::kernel::{Kernel, RHEL_8_3, V4_19, V5_10, V5_15, V6_1, V6_12};

/// A release of a distribution.
#[derive(Clone, Copy, Debug)]
pub struct Distribution {
    /// The word that a user types after the `@`.
    pub name: &'static str,
    /// The kernel that it shipped with.
    pub kernel: Kernel,
    /// How it is known that this kernel decides like the release of that number.
    pub known: Known,
    /// The source for it.
    pub source: &'static str,
    /// Schedulers that the distribution changed, and how: they are refused.
    pub changed: &'static [(&'static str, &'static str)],
}

/// How it is known that a distribution's kernel decides like the release of that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Known {
    /// A recording is of its kernel.
    Recorded,
    /// Its sources were compared with those recorded.
    Read,
    /// Nobody looked; its own patches are unknown.
    NotExamined,
}

impl Known {
    /// In words, as `docs/which-kernel.md` has it.
    pub fn in_words(self) -> &'static str {
        match self {
            Known::Recorded => "recorded",
            Known::Read => "read",
            Known::NotExamined => "not examined",
        }
    }
}

const fn row(name: &'static str, kernel: Kernel, known: Known, source: &'static str) -> Distribution {
    Distribution { name, kernel, known, source, changed: &[] }
}

const fn v(major: u16, minor: u16) -> Kernel {
    Kernel::new(major, minor, 0)
}

const OWN_PATCHES: &str = "its own patches were not looked at";
/// Of docs/behaviour/elevators-4.19-5.15.md.
const CLASSES_OF_5_10: &str = "it has an mq-deadline of its own with classes and ageing, an early form of 6.1's (read \
     in one tree: a lower class waits while a higher one has any request, the knob is aging_expire)";

/// Every distribution that can be named.
pub const DISTRIBUTIONS: &[Distribution] = &[
    row("debian-10", V4_19, Known::Read, "4.19 LTS: 4.19.222 was recorded from a public tree, later 4.19.y not seen"),
    row("debian-11", V5_10, Known::Recorded, "linux-source 5.10.262-1"),
    row("debian-12", V6_1, Known::Recorded, "linux-source-6.1 6.1.192-2"),
    row("debian-13", V6_12, Known::Recorded, "linux-source 6.12.117-1"),
    row("ubuntu-20.04", v(5, 4), Known::NotExamined, "5.4 was not recorded"),
    row("ubuntu-22.04", V5_15, Known::Read, "5.15.167 was recorded; 5.15.100 and 5.15.135 have the same files"),
    row("ubuntu-24.04", v(6, 8), Known::NotExamined, OWN_PATCHES),
    row("ubuntu-26.04", v(7, 0), Known::NotExamined, OWN_PATCHES),
    row("rhel-8.3", RHEL_8_3, Known::Recorded, "4.18.0-240.el8, from one public study copy"),
    row("rhel-8", RHEL_8_3, Known::NotExamined, "8.3 was recorded; 8.1 was read: its BFQ is between 4.19 and 8.3"),
    row("rhel-9", v(5, 14), Known::NotExamined, "5.14 with backports was not looked at"),
    row("rhel-10", V6_12, Known::NotExamined, "6.12 of kernel.org was recorded; Red Hat's was not looked at"),
    row("android-4.19", V4_19, Known::NotExamined, OWN_PATCHES),
    Distribution {
        changed: &[
            ("mq-deadline", CLASSES_OF_5_10),
            ("bfq", "its 5.10.198 has other merge chains and wakers than 5.10.262, which was recorded (read)"),
        ],
        ..row("android-5.10", V5_10, Known::Read, "5.10.198 of an Android tree was read")
    },
    row("android13-5.15", V5_15, Known::Read, "as Ubuntu 22.04"),
    row("android14-5.15", V5_15, Known::Read, "as Ubuntu 22.04"),
    row("android14-6.1", V6_1, Known::NotExamined, OWN_PATCHES),
    row("android15-6.6", v(6, 6), Known::NotExamined, OWN_PATCHES),
    row("android16-6.12", V6_12, Known::NotExamined, OWN_PATCHES),
    row("cachyos", v(6, 18), Known::NotExamined, "it follows the newest release; its ADIOS is `adios`"),
    row(
        "raspberry-pi-os-12",
        V6_12,
        Known::NotExamined,
        "6.1 at first, 6.12 since 2025; its patches were not looked at",
    ),
    row("raspberry-pi-os-13", V6_12, Known::NotExamined, OWN_PATCHES),
];

/// The distribution of this name.
pub(super) fn named(name: &str) -> Option<&'static Distribution> {
    DISTRIBUTIONS.iter().find(|distribution| distribution.name == name)
}
