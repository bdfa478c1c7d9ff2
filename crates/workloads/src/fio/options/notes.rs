//! Options that are accepted with a note: they cannot change a simulated result.

use super::{Category, OptionEntry, Support};

const fn note(name: &'static str, category: Category, why: &'static str) -> OptionEntry {
    OptionEntry { name, aliases: &[], category, doc: "", support: Support::Note(why) }
}

const fn aliased(name: &'static str, alias: &'static [&'static str], why: &'static str) -> OptionEntry {
    OptionEntry { name, aliases: alias, category: Category::Host, doc: "", support: Support::Note(why) }
}

const CPU: &str = "the host's processors and memory are not simulated";
const CONTENT: &str = "blocks have no content in a simulation";
const VERIFY: &str = "blocks have no content to verify; fio's pass of reads after the writes is not simulated";
const FILES: &str = "files exist before the simulation begins and cost nothing to make or remove";
const CLOCK: &str = "simulated time is exact and costs nothing to read";
const REPORT: &str = "it only changes what fio prints";
const LOG: &str = "log files are not written yet";
const CACHE: &str = "direct I/O leaves the page cache alone";
const HINT: &str = "it is a hint that no simulated disk or scheduler takes";
const TRUST: &str = "nothing real is read or written";
const CALL: &str = "the processor's time for system calls is not simulated";

use Category::{Engine, Host, Report, Target};

pub(super) const OPTIONS: &[OptionEntry] = &[
    note("thread", Host, "a thread and a process submit alike"),
    note("ioscheduler", Host, "the elevators to compare are chosen on the command line"),
    note("cpumask", Host, CPU),
    note("cpus_allowed", Host, CPU),
    note("cpus_allowed_policy", Host, CPU),
    note("numa_cpu_nodes", Host, CPU),
    note("numa_mem_policy", Host, CPU),
    aliased("mem", &["iomem"], CPU),
    aliased("mem_align", &["iomem_align"], CPU),
    note("lockmem", Host, CPU),
    note("hugepage-size", Host, CPU),
    note("uid", Host, TRUST),
    note("gid", Host, TRUST),
    note("allow_mounted_write", Target, TRUST),
    note("clocksource", Host, CLOCK),
    note("gtod_reduce", Host, CLOCK),
    note("gtod_cpu", Host, CLOCK),
    note("verify", Host, VERIFY),
    note("do_verify", Host, VERIFY),
    note("verify_interval", Host, VERIFY),
    note("verify_offset", Host, VERIFY),
    note("verify_pattern", Host, VERIFY),
    note("verify_fatal", Host, VERIFY),
    note("verify_dump", Host, VERIFY),
    note("verify_state_load", Host, VERIFY),
    note("verify_state_save", Host, VERIFY),
    note("experimental_verify", Host, VERIFY),
    note("zero_buffers", Host, CONTENT),
    note("refill_buffers", Host, CONTENT),
    note("scramble_buffers", Host, CONTENT),
    note("buffer_pattern", Host, CONTENT),
    note("buffer_compress_percentage", Host, CONTENT),
    note("buffer_compress_chunk", Host, CONTENT),
    note("dedupe_percentage", Host, CONTENT),
    note("dedupe_mode", Host, CONTENT),
    note("dedupe_working_set_percentage", Host, CONTENT),
    note("dedupe_global", Host, CONTENT),
    note("fallocate", Target, FILES),
    note("create_serialize", Target, FILES),
    note("create_fsync", Target, FILES),
    note("create_on_open", Target, FILES),
    note("allow_file_create", Target, FILES),
    note("overwrite", Target, FILES),
    note("unlink", Target, FILES),
    note("invalidate", Target, CACHE),
    note("fadvise_hint", Target, CACHE),
    note("write_hint", Target, HINT),
    note("unique_filename", Target, "there is no server mode"),
    note("softrandommap", Target, "the order of random blocks needs no memory"),
    note("random_generator", Target, "offsets follow the same distribution from any generator"),
    note("userspace_reap", Engine, CALL),
    note("fixedbufs", Engine, CALL),
    note("registerfiles", Engine, CALL),
    note("nonvectored", Engine, CALL),
    note("rate_cycle", Category::Rate, "it is the window of rate_min, which is not supported"),
    note("exec_prerun", Host, "no program is run"),
    note("exec_postrun", Host, "no program is run"),
    note("disable_lat", Report, REPORT),
    note("disable_clat", Report, REPORT),
    note("disable_slat", Report, REPORT),
    OptionEntry {
        name: "disable_bw_measurement",
        aliases: &["disable_bw"],
        category: Report,
        doc: "",
        support: Support::Note(REPORT),
    },
    note("clat_percentiles", Report, REPORT),
    note("lat_percentiles", Report, REPORT),
    note("slat_percentiles", Report, REPORT),
    note("percentile_list", Report, REPORT),
    note("significant_figures", Report, REPORT),
    note("unified_rw_reporting", Report, REPORT),
    note("disk_util", Report, REPORT),
    note("unit_base", Report, REPORT),
    note("bwavgtime", Report, REPORT),
    note("iopsavgtime", Report, REPORT),
    note("per_job_logs", Report, LOG),
    note("write_bw_log", Report, LOG),
    note("write_lat_log", Report, LOG),
    note("write_iops_log", Report, LOG),
    note("write_hist_log", Report, LOG),
    note("log_entries", Report, LOG),
    note("log_avg_msec", Report, LOG),
    note("log_hist_msec", Report, LOG),
    note("log_hist_coarseness", Report, LOG),
    note("log_max_value", Report, LOG),
    note("log_offset", Report, LOG),
    note("log_prio", Report, LOG),
    note("log_compression", Report, LOG),
    note("log_compression_cpus", Report, LOG),
    note("log_store_compressed", Report, LOG),
    note("log_unix_epoch", Report, LOG),
    note("log_alternate_epoch", Report, LOG),
    note("log_alternate_epoch_clock_id", Report, LOG),
    note("error_dump", Report, REPORT),
];
