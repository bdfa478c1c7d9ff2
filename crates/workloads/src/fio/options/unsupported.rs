//! Options that are refused for now, each with what it would need.

use super::{Category, OptionEntry, Support};

const fn later(name: &'static str, category: Category, doc: &'static str, needs: &'static str) -> OptionEntry {
    OptionEntry { name, aliases: &[], category, doc, support: Support::Later(needs) }
}

const FILES: &str = "several files per job";
const SYNC: &str = "flushes from a job file";
const TRIM: &str = "trims";
const ZONES: &str = "zones";
const REPLAY: &str = "replay of recorded I/O";
const FAULTS: &str = "disks that fail";

use Category::{Host, Pattern, Report, Target};

pub(super) const OPTIONS: &[OptionEntry] = &[
    later("opendir", Target, "use every file in a directory tree", FILES),
    later("write_barrier", Pattern, "a barrier every N writes", SYNC),
    later("trim_percentage", Pattern, "share of blocks to trim", TRIM),
    later("trim_verify_zero", Pattern, "check trimmed blocks", TRIM),
    later("trim_backlog", Pattern, "trim after this many writes", TRIM),
    later("trim_backlog_batch", Pattern, "trim this many at once", TRIM),
    later("block_error_percentiles", Report, "errors per block", FAULTS),
    later("merge_blktrace_file", Target, "merge traces", REPLAY),
    later("merge_blktrace_scalars", Target, "scale traces", REPLAY),
    later("merge_blktrace_iters", Target, "repeat traces", REPLAY),
    later("zonecapacity", Target, "usable length of a zone", ZONES),
    later("read_beyond_wp", Target, "read beyond the write pointer", ZONES),
    later("max_open_zones", Target, "open zones", ZONES),
    later("job_max_open_zones", Target, "open zones of a job", ZONES),
    later("ignore_zone_limits", Target, "ignore the limits on zones", ZONES),
    later("zone_reset_threshold", Target, "when to reset zones", ZONES),
    later("zone_reset_frequency", Target, "how often to reset zones", ZONES),
    later("profile", Host, "a built-in test of fio's", "fio's profiles"),
];
