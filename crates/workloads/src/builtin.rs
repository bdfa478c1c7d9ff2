//! Workloads that come with the program: job files, embedded, each with its reason to be.

use crate::fio::JobFile;

/// A workload by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// As the user says it.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// The job file.
    pub text: &'static str,
}

macro_rules! builtins {
    ($($name:literal: $about:literal;)+) => {
        &[$(Builtin { name: $name, about: $about, text: include_str!(concat!("../builtin/", $name, ".fio")) }),+]
    };
}

/// All of them; the first is what `compare` runs when it is given no job file.
pub const BUILTINS: &[Builtin] = builtins! {
    "reader-and-writer": "a reader that waits for each block beside a streaming writer: does the reader starve?";
    "random-readers": "random reads, 32 in flight: how well is the disk's order used?";
    "mixed": "random reads and writes 70 to 30, 16 in flight: a database";
    "four-streams": "four sequential readers far apart: does the disk seek between every two blocks?";
    "priorities": "three equal readers, one real time, one best effort, one idle: are classes kept?";
    "think-time": "a reader that thinks 2 ms between blocks beside one that never does: is idling worth it?";
    "paced-writers": "a rated log writer beside bulk writers: does its latency hold?";
};

/// The built-in workload called `name`.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|b| b.name == name)
}

impl Builtin {
    /// Its job file, read.
    pub fn job_file(&self) -> JobFile {
        JobFile::parse(self.text, self.name).unwrap_or_else(|errors| panic!("built-in {}:\n{errors}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
