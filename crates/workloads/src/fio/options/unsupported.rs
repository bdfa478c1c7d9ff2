//! Options that are refused for now, each with what it would need.

use super::{Category, OptionEntry, Support};

const fn later(name: &'static str, category: Category, doc: &'static str, needs: &'static str) -> OptionEntry {
    OptionEntry { name, aliases: &[], category, doc, support: Support::Later(needs) }
}

const FILES: &str = "the files of a directory on a real machine";
const SYNC: &str = "barriers among writes, which kernels had before 2.6.37";
const TRIM: &str = "trims of what was written, between other I/O";
const ZONES: &str = "disks whose zones must be written in order";
const FUA: &str = "commands that go past the cache of the drive";
const REPLAY: &str = "replay of recorded I/O";
const FAULTS: &str = "disks that fail";

use Category::{Engine, Host, Pattern, Report, Target};

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
    later("readfua", Engine, "read from the medium", FUA),
    later("writefua", Engine, "write to the medium", FUA),
    later("stream_id", Engine, "the drive's stream for writes", "streams of a drive"),
    later("uncached", Engine, "buffered I/O that stays in memory for its time only", "pages that leave memory at once"),
    later("profile", Host, "a built-in test of fio's", "fio's profiles"),
];
