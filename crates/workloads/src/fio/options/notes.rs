//! Options that are accepted with a note: they cannot change a simulated result.

use super::{Category, OptionEntry, Support};

const fn note(name: &'static str, category: Category, doc: &'static str, why: &'static str) -> OptionEntry {
    aliased(name, &[], category, doc, why)
}

const fn aliased(
    name: &'static str,
    aliases: &'static [&'static str],
    category: Category,
    doc: &'static str,
    why: &'static str,
) -> OptionEntry {
    OptionEntry { name, aliases, category, doc, support: Support::Note(why) }
}

const CPU: &str = "the host's memory and nodes are not simulated";
const SPIN: &str = "its process waits for the whole thinktime, and no processor is busy meanwhile";
const CONTENT: &str = "blocks have no content in a simulation";
const VERIFY: &str =
    "blocks have no content to verify, and verifying costs no time; verify reads back what was written";
const BACKLOG: &str = "verify reads at the end of a pass; fio reads as many blocks, between the writes";
const FILES: &str = "files exist before the simulation begins and cost nothing to make or remove";
const CLOCK: &str = "simulated time is exact and costs nothing to read";
const REPORT: &str = "it only changes what fio prints";
const LOG: &str = "bandwidth, I/O and latency logs are written, histograms and compressed logs are not";
const HINT: &str = "it is a hint that no simulated disk or scheduler uses";
const TRUST: &str = "nothing real is read or written";
const CALL: &str = "the processor's time for system calls is not simulated";

const ATOMIC: &str = "a simulated disk does not lose power in the middle of a write";
const OVERLAP: &str =
    "overlapping I/O is not held back, which matters only if a job visits blocks that it has in flight";
const STEADY: &str = "a run goes on until its figures are known, which is what it asks for; runtime still ends a job";

use Category::{Engine, Host, Report, Target};

pub(super) const OPTIONS: &[OptionEntry] = &[
    note("read_iolog_chunked", Target, "read the log bit by bit", "the whole trace is read before the run"),
    note("replay_redirect", Target, "replay onto this device", "traces are replayed onto the only simulated disk"),
    note("thread", Host, "threads instead of processes", "threads and processes submit in the same way"),
    note("threads", Host, "an obsolete word", "fio accepts it and does nothing with it (tried)"),
    note(
        "ioscheduler",
        Host,
        "the kernel's elevator for the device",
        "the elevators to compare are chosen on the command line",
    ),
    note("numa_cpu_nodes", Host, "nodes to run on", CPU),
    note("numa_mem_policy", Host, "nodes to take memory from", CPU),
    aliased("mem", &["iomem"], Host, "kind of memory for blocks", CPU),
    aliased("mem_align", &["iomem_align"], Host, "its alignment", CPU),
    note("lockmem", Host, "memory to lock", CPU),
    note("hugepage-size", Host, "size of huge pages", CPU),
    note("uid", Host, "user to run as", TRUST),
    note("gid", Host, "group to run as", TRUST),
    note("allow_mounted_write", Target, "write to mounted devices", TRUST),
    note("clocksource", Host, "clock to read", CLOCK),
    note("gtod_cpu", Host, "processor that reads the clock", CLOCK),
    note("verifysort", Host, "an obsolete word", "fio accepts it and does nothing with it (tried)"),
    note("verifysort_nr", Host, "an obsolete word", "fio accepts it and does nothing with it (tried)"),
    note("verify_interval", Host, "bytes per checksum", VERIFY),
    note("verify_offset", Host, "place of the checksum", VERIFY),
    note("verify_pattern", Host, "what to write and expect", VERIFY),
    note("verify_async", Host, "threads that verify", VERIFY),
    note("verify_async_cpus", Host, "their processors", VERIFY),
    note("verify_backlog", Host, "verify after this many writes", BACKLOG),
    note("verify_backlog_batch", Host, "verify this many at once", BACKLOG),
    note("cgroup_nodelete", Host, "keep the control group", TRUST),
    note("verify_fatal", Host, "stop at the first mismatch", VERIFY),
    note("verify_dump", Host, "dump mismatches", VERIFY),
    note("verify_state_load", Host, "load the state of verification", VERIFY),
    note("verify_state_save", Host, "save it", VERIFY),
    note("experimental_verify", Host, "another way to verify", VERIFY),
    note("zero_buffers", Host, "write zeros", CONTENT),
    note("refill_buffers", Host, "new content for every write", CONTENT),
    note("scramble_buffers", Host, "change content slightly", CONTENT),
    note("buffer_pattern", Host, "content to write", CONTENT),
    note("buffer_compress_percentage", Host, "how compressible content is", CONTENT),
    note("buffer_compress_chunk", Host, "in pieces of this size", CONTENT),
    note("dedupe_percentage", Host, "share of equal blocks", CONTENT),
    note("dedupe_mode", Host, "which blocks are equal", CONTENT),
    note("dedupe_working_set_percentage", Host, "from how many", CONTENT),
    note("dedupe_global", Host, "across jobs", CONTENT),
    note("create_serialize", Target, "make files one by one", FILES),
    note("create_fsync", Target, "fsync new files", FILES),
    note("allow_file_create", Target, "may make files", FILES),
    note("write_hint", Target, "how long data lives", HINT),
    note("unique_filename", Target, "file names with a client's address", "there is no server mode"),
    note(
        "softrandommap",
        Target,
        "go on without memory for the random map",
        "the order of random blocks needs no memory",
    ),
    note(
        "random_generator",
        Target,
        "kind of random numbers",
        "offsets follow the same distribution from any generator",
    ),
    note("userspace_reap", Engine, "reap without a system call", CALL),
    note("nonvectored", Engine, "plain calls instead of vectored ones", CALL),
    note("force_async", Engine, "every so many I/Os by a kernel thread", CALL),
    note("hipri_percentage", Engine, "share of I/Os that are polled for", CALL),
    note("thp", Engine, "huge pages for the mapping", CPU),
    note("exec_prerun", Host, "program to run before", "no program is run"),
    note("exec_postrun", Host, "program to run after", "no program is run"),
    note("thinktime_spin", Category::Rate, "busy part of thinktime", SPIN),
    note("significant_figures", Report, "digits to print", REPORT),
    note("disk_util", Report, "use of the disk", REPORT),
    note("unit_base", Report, "bits or bytes", REPORT),
    note("bwavgtime", Report, "window of bandwidth", REPORT),
    note("iopsavgtime", Report, "window of IOPS", REPORT),
    note("write_hist_log", Report, "log histograms", LOG),
    note("log_entries", Report, "first size of a log", LOG),
    note("log_hist_msec", Report, "log histograms this often", LOG),
    note("log_hist_coarseness", Report, "bins of histograms", LOG),
    note("log_compression", Report, "compress logs", LOG),
    note("log_compression_cpus", Report, "processors that compress", LOG),
    note("log_store_compressed", Report, "keep logs compressed", LOG),
    note("log_unix_epoch", Report, "wall-clock time in logs", LOG),
    note("log_alternate_epoch", Report, "another clock's time in logs", LOG),
    note("log_alternate_epoch_clock_id", Report, "which clock", LOG),
    note("write_iolog", Report, "write a log of the I/Os", "simulate --blktrace writes a trace of them"),
    note("atomic", Category::Pattern, "writes that are whole or not at all", ATOMIC),
    note("serialize_overlap", Engine, "wait for overlapping I/O", OVERLAP),
    aliased("steadystate", &["ss"], Category::Rate, "stop when results are steady", STEADY),
    aliased("steadystate_duration", &["ss_dur"], Category::Rate, "for how long", STEADY),
    aliased("steadystate_ramp_time", &["ss_ramp"], Category::Rate, "after how long", STEADY),
    aliased("steadystate_check_interval", &["ss_interval"], Category::Rate, "how often to look", STEADY),
    note("verify_write_sequence", Host, "expect each block's number in the order of writes", VERIFY),
    note("verify_header_seed", Host, "expect the seed in each header", VERIFY),
    note("error_dump", Report, "print each error", REPORT),
];
