//! Releases between those that have a preset, and which preset decides as each does.
//!
//! A release is named here only if it was examined: by recordings, its changes, or its documentation. Nothing is known
//! of the others, and their names are refused.

use crate::kernel::{Kernel, Kernels, RHEL_8_3, V5_10, V5_15, V6_1, V6_12, V6_18, V7_3};

/// Releases that make the same decisions as a preset.
#[derive(Clone, Copy, Debug)]
pub struct Alike {
    /// The elevator.
    pub elevator: &'static str,
    /// The releases.
    pub releases: Kernels,
    /// The preset.
    pub preset: Kernel,
    /// The mechanisms that differ from the preset's.
    pub switched: &'static [(&'static str, &'static str)],
    /// The source for it.
    pub source: &'static str,
}

const fn v(major: u16, minor: u16) -> Kernel {
    Kernel::new(major, minor, 0)
}

const V2_6_33: Kernel = Kernel::new(2, 6, 33);
const PER_WORD: &[(&str, &str)] = &[("tags", "per_word")];

const MQ_6_6: &str = "6.6.87 replays every recording of 6.12, with limits counted per tag word and requests handed \
     back going to their class as in 6.1; the change that remembers a position is of 2023-05-18 (log of its commits), \
     and no source says that 6.5 is the first to have it";
const BFQ_6_6: &str = "6.6.87 replays every recording of 6.12, with groups and without, with limits counted per tag \
     word as in 6.1; 6.2 to 6.5 were not examined";
const BEFORE_6_18: &str = "6.12.117 and 6.18.2 replay each other's recordings; those between were not examined";
const AFTER_6_18: &str = "7.2.12 and 7.3.4 replay the recordings of 6.12; 6.19 was not examined";
const BEFORE_7_3: &str = "7.2.12 and 7.3.4 replay the recordings of 6.12; 7.0 and 7.1 were not examined";

const LINUS_2_4_18: &str = "2.4.18 was recorded; no source says that the releases before it and 2.4.19 decide alike";
const LINUS_2_4: &str = "elevator.c of 2.4.37.10 is word for word that of 2.4.20, which was recorded";

const NO_SCHEDULER: &str = "there is nothing to decide but merging, which is that of 6.1; tags and plugs of these \
     releases were not examined";
const NOOP_4_20: &str = "first in, first out; the plug and the largest request are those of 2.6.33, not of 4.20";
const RHEL_8: &str = "4.18.0-240.el8 replays every recording of it";

/// The same, for one release.
const fn only(release: Kernel) -> Kernels {
    Kernels::between(release, release)
}

const fn alike_to(elevator: &'static str, releases: Kernels, preset: Kernel, source: &'static str) -> Alike {
    Alike { elevator, releases, preset, switched: &[], source }
}

/// Every such release.
pub const ALIKE: &[Alike] = &[
    alike_to("noop", Kernels::between(v(4, 19), v(4, 20)), V2_6_33, NOOP_4_20),
    alike_to("none", only(RHEL_8_3), V6_1, NO_SCHEDULER),
    alike_to("none", only(V5_10), V6_1, NO_SCHEDULER),
    alike_to("none", only(V5_15), V6_1, NO_SCHEDULER),
    alike_to("none", Kernels::between(v(6, 2), v(6, 11)), V6_1, NO_SCHEDULER),
    alike_to("none", Kernels::between(V6_12, v(6, 17)), V6_18, "plugs and tags are as recorded from 6.12.117"),
    alike_to("none", Kernels::between(v(6, 19), V7_3), V6_18, "nothing is known to have changed; 7.x not examined"),
    alike_to("mq-deadline", only(RHEL_8_3), V5_10, RHEL_8),
    alike_to("kyber", only(RHEL_8_3), V6_1, RHEL_8),
    Alike {
        elevator: "linus",
        releases: Kernels::between(Kernel::new(2, 4, 0), Kernel::new(2, 4, 17)),
        preset: Kernel::new(2, 4, 18),
        switched: &[],
        source: LINUS_2_4_18,
    },
    Alike {
        elevator: "linus",
        releases: Kernels::between(Kernel::new(2, 4, 19), Kernel::new(2, 4, 19)),
        preset: Kernel::new(2, 4, 18),
        switched: &[],
        source: LINUS_2_4_18,
    },
    Alike {
        elevator: "linus",
        releases: Kernels::between(Kernel::new(2, 4, 20), Kernel::new(2, 4, 20)),
        preset: Kernel::new(2, 4, 21),
        switched: &[],
        source: LINUS_2_4,
    },
    Alike {
        elevator: "linus",
        releases: Kernels::between(Kernel::new(2, 4, 22), Kernel::new(2, 4, 37)),
        preset: Kernel::new(2, 4, 21),
        switched: &[],
        source: LINUS_2_4,
    },
    Alike {
        elevator: "noop",
        releases: Kernels::between(Kernel::new(2, 4, 20), Kernel::new(2, 4, 20)),
        preset: Kernel::new(2, 4, 21),
        switched: &[],
        source: LINUS_2_4,
    },
    Alike {
        elevator: "noop",
        releases: Kernels::between(Kernel::new(2, 4, 22), Kernel::new(2, 4, 37)),
        preset: Kernel::new(2, 4, 21),
        switched: &[],
        source: LINUS_2_4,
    },
    Alike {
        elevator: "deadline",
        releases: Kernels::between(Kernel::new(2, 6, 31), Kernel::new(2, 6, 32)),
        preset: V2_6_33,
        switched: &[],
        source: "2.6.31, 2.6.32 and 2.6.33 decide alike (recordings)",
    },
    Alike {
        elevator: "deadline",
        releases: Kernels::between(v(4, 19), v(4, 19)),
        preset: v(4, 20),
        switched: &[],
        source: "4.19 and 4.20 decide alike (recordings)",
    },
    Alike {
        elevator: "cfq",
        releases: Kernels::between(v(4, 19), v(4, 19)),
        preset: v(4, 20),
        switched: &[],
        source: "4.19 and 4.20 decide alike (recordings)",
    },
    Alike {
        elevator: "mq-deadline",
        releases: Kernels::between(v(6, 2), v(6, 4)),
        preset: V6_1,
        switched: &[],
        source: "the change that remembers a position is of 2023-05-18 (log of its commits): too late for 6.4",
    },
    Alike {
        elevator: "mq-deadline",
        releases: Kernels::between(v(6, 5), v(6, 11)),
        preset: V6_12,
        switched: &[("tags", "per_word"), ("at_head", "class")],
        source: MQ_6_6,
    },
    Alike {
        elevator: "mq-deadline",
        releases: Kernels::between(v(6, 13), v(6, 17)),
        preset: V6_18,
        switched: &[],
        source: BEFORE_6_18,
    },
    Alike {
        elevator: "mq-deadline",
        releases: Kernels::between(v(6, 19), v(6, 19)),
        preset: V6_18,
        switched: &[],
        source: AFTER_6_18,
    },
    Alike {
        elevator: "mq-deadline",
        releases: Kernels::between(v(7, 0), v(7, 2)),
        preset: V7_3,
        switched: &[],
        source: BEFORE_7_3,
    },
    Alike {
        elevator: "kyber",
        releases: Kernels::between(v(6, 2), v(6, 11)),
        preset: V6_12,
        switched: PER_WORD,
        source: "6.6.87 replays every recording, with limits counted per tag word as in 6.1",
    },
    Alike {
        elevator: "kyber",
        releases: Kernels::between(v(6, 13), v(6, 17)),
        preset: V6_18,
        switched: &[],
        source: BEFORE_6_18,
    },
    Alike {
        elevator: "kyber",
        releases: Kernels::between(v(6, 19), v(6, 19)),
        preset: V6_18,
        switched: &[],
        source: "6.18.2 and 7.2.12 were examined; 6.19, between them, was not, and may limit synchronous writes, too",
    },
    Alike {
        elevator: "kyber",
        releases: Kernels::between(v(7, 0), v(7, 2)),
        preset: V7_3,
        switched: &[],
        source: "7.2.12 and 7.3.4 limit synchronous writes, too; 7.0 and 7.1 were not examined",
    },
    Alike {
        elevator: "bfq",
        releases: Kernels::between(v(6, 6), v(6, 11)),
        preset: V6_12,
        switched: PER_WORD,
        source: BFQ_6_6,
    },
    Alike {
        elevator: "bfq",
        releases: Kernels::between(v(6, 13), v(6, 17)),
        preset: V6_18,
        switched: &[],
        source: BEFORE_6_18,
    },
    Alike {
        elevator: "bfq",
        releases: Kernels::between(v(6, 19), v(6, 19)),
        preset: V6_18,
        switched: &[],
        source: AFTER_6_18,
    },
    Alike {
        elevator: "bfq",
        releases: Kernels::between(v(7, 0), v(7, 2)),
        preset: V7_3,
        switched: &[],
        source: BEFORE_7_3,
    },
];

/// The preset that decides as this release of an elevator does, if the release is not a preset itself and was examined.
pub(super) fn alike(elevator: &str, release: Kernel) -> Option<&'static Alike> {
    ALIKE.iter().find(|alike| alike.elevator == elevator && alike.releases.contain(release))
}
