//! Built-in workloads: embedded job files, each with its purpose.

use crate::fio::JobFile;

/// A built-in workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// The job file.
    pub text: &'static str,
}

macro_rules! builtins {
    ($($name:literal: $about:literal;)+) => {
        &[$(Builtin { name: $name, about: $about, text: include_str!(concat!("../builtin/", $name, ".fio")) }),+]
    };
}

/// All of them; the first is what `compare` runs without a job file.
pub const BUILTINS: &[Builtin] = builtins! {
    "beside-a-backup": "an interactive reader and a log that is committed, beside a backup with ionice -c3: who waits?";
    "plain-backup": "the same beside a backup without a priority class: who waits for whom?";
    "reader-and-writer": "a reader that waits for each block beside a streaming writer: does the reader starve?";
    "random-readers": "random reads, 32 in flight: how well is the disk's order used?";
    "mixed": "random reads and writes 70 to 30, 16 in flight: a database";
    "four-streams": "four sequential readers far apart: does the disk seek between every two blocks?";
    "priorities": "three equal readers, one real time, one best effort, one idle: are classes kept?";
    "think-time": "a reader that thinks 2 ms between blocks beside one that never does: is idling worth it?";
    "paced-writers": "a rated log writer beside bulk writers: does its latency hold?";
    "throughput": "ten readers and writers at once: how much does the disk do for all together?";
    "start-up": "an application starts while others read and write: how long does it take?";
    "fairness": "readers in order and at random at two levels of best effort: does each get its share?";
    "clients": "a client with modest needs among greedy ones: what bandwidth and latency is it guaranteed?";
    "interleaved": "five processes read one image piece by piece in turn: is it seen that they belong together?";
    "video": "a video of 25 frames a second while others read and write: which frames take longer than 40 ms?";
    "backup": "a file server and a backup, groups of weight 100 and 10: does anybody notice the backup?";
    "scrub": "a scrub in the idle class while a service reads a little: does it yield?";
    "pg-oltp": "PostgreSQL: backends, a log synced at every commit, a checkpointer: how long does a commit take?";
    "lsm-compaction": "RocksDB and its kin: point reads and a log while tables are compacted: do reads wait?";
    "desktop-start": "an application starts while large files are copied: does the desktop hang?";
    "vm-host": "a web server, a database, a build and a restore as guests of one disk: who suffers?";
    "mixed-nvme": "four deep mixed loads beside one that waits for every read: what does a fast disk need?";
    "development": "a compiler and a checkout while others read and write: how long do they take?";
};

/// Workloads with the questions of the benchmark suite S (<https://github.com/Algodev-github/S>), with direct I/O: its
/// throughput, start-up times, fairness, per-client guarantees, interleaved I/O, video playing and development tasks.
pub const SUITE: [&str; 7] = ["throughput", "start-up", "fairness", "clients", "interleaved", "video", "development"];

/// Workloads named after common questions; the matrix runs them.
pub const QUESTIONS: [&str; 8] =
    ["beside-a-backup", "backup", "scrub", "desktop-start", "pg-oltp", "lsm-compaction", "vm-host", "mixed-nvme"];

/// The built-in workload with this name.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|b| b.name == name)
}

impl Builtin {
    /// Its parsed job file.
    pub fn job_file(&self) -> JobFile {
        JobFile::parse(self.text, self.name).unwrap_or_else(|errors| panic!("built-in {}:\n{errors}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_is_built_in() {
        assert!(SUITE.iter().chain(&QUESTIONS).all(|name| builtin(name).is_some()));
    }

    #[test]
    fn every_built_in_loads_without_a_note_and_fits_on_the_smallest_disk_preset() {
        for builtin in BUILTINS {
            let file = builtin.job_file();
            assert_eq!(file.notes(), [], "{}", builtin.name);
            // 40 GB: smaller than any disk sold since 2002.
            let plan = file.plan(40_000_000_000 / 512).unwrap_or_else(|e| panic!("{e}"));
            assert!(plan.jobs.len() > 1 || builtin.name == "random-readers" || builtin.name == "mixed");
        }
    }
}
