//! The built-in experiments: the folders of `experiments/`, embedded.

use blksched::Catalogue;

use super::reader::ExperimentError;
use super::spec::Experiment;

/// A built-in experiment.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its directory's name.
    pub name: &'static str,
    /// Its `experiment.toml`.
    pub text: &'static str,
    /// The job files beside it, by name.
    pub files: &'static [(&'static str, &'static str)],
}

macro_rules! builtins {
    ($($name:literal $(with $file:literal)*),+ $(,)?) => {
        &[$(Builtin {
            name: $name,
            text: include_str!(concat!("../../experiments/", $name, "/experiment.toml")),
            files: &[$(($file, include_str!(concat!("../../experiments/", $name, "/", $file)))),*],
        }),+]
    };
}

/// All of them, in the order in which they are listed.
pub const BUILTINS: &[Builtin] = builtins![
    "horror" with "../machines/morton-2002.toml",
    "horror-scsi",
    "readers-vs-dd" with "../machines/morton-2002.toml",
    "rbtree-scores",
    "morton-2003",
    "axboe-2004" with "load.fio" with "../machines/axboe-2004.toml",
    "dump",
    "nfs",
    "four-dd" with "../machines/moyer-2009.toml",
    "fairness-fio" with "../machines/moyer-2009.toml",
    "async-ramp-up",
    "cfq-on-ssd" with "random-reads.fio",
    "bfq-doc" with "load.fio",
    "bfq-video" with "load.fio",
    "icpe24" with "load.fio",
    "suite-throughput" with "load.fio",
    "suite-fairness" with "load.fio",
    "suite-clients" with "load.fio",
    "suite-interleaved",
    "suite-development" with "load.fio",
    "isol-bench" with "load.fio",
];

/// Of each experiment with published numbers, how many: [`BeyondNull`].
const BEYOND_NULL: &str = include_str!("../../experiments/beyond-null.csv");

/// What of an experiment is left beside its nulls, with its own seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeyondNull {
    /// Published numbers that are reproduced beyond their null.
    pub reproduced: usize,
    /// Those that can be moved.
    pub movable: usize,
    /// Claims that a null changes and breaks.
    pub claims: usize,
}

impl Builtin {
    /// What is left of it beside its nulls; `None` if it has not been run beside them.
    pub fn beyond_null(&self) -> Option<BeyondNull> {
        let line = BEYOND_NULL.lines().find_map(|line| line.strip_prefix(self.name)?.strip_prefix(','))?;
        let mut counts = line.split(',').map(str::parse);
        let mut next = || counts.next()?.ok();
        Some(BeyondNull { reproduced: next()?, movable: next()?, claims: next()? })
    }

    /// Reads the experiment.
    ///
    /// # Errors
    /// If `catalogue` lacks a scheduler that it needs.
    pub fn load(&self, catalogue: &Catalogue) -> Result<Experiment, ExperimentError> {
        let file = format!("experiments/{}/experiment.toml", self.name);
        let beside = |name: &str| {
            let found = self.files.iter().find(|(file, _)| *file == name);
            found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("this experiment has no file `{name}`"))
        };
        Experiment::parse(self.name, &file, self.text, catalogue, &beside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_loads_says_why_and_claims_something_if_anything_was_published() {
        for builtin in BUILTINS {
            let experiment = builtin.load(&Catalogue::builtin()).unwrap_or_else(|e| panic!("{e}"));
            let claims = experiment.tables.iter().flat_map(|table| &table.rows).any(|row| row.claimed);
            // The S suite asks questions; there are no published figures to compare with.
            assert_eq!(claims, !builtin.name.starts_with("suite-"), "{}", builtin.name);
            assert!(!experiment.whys.is_empty(), "{}", builtin.name);
        }
    }
}
