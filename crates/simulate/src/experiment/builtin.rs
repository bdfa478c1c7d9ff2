//! The experiments that come with the program: the folders of `experiments/`, embedded.

use blksched::Catalogue;

use super::reader::ExperimentError;
use super::spec::Experiment;

/// An experiment by name.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its folder's name.
    pub name: &'static str,
    /// Its `experiment.toml`.
    pub text: &'static str,
}

macro_rules! builtins {
    ($($name:literal),+ $(,)?) => {
        &[$(Builtin {
            name: $name,
            text: include_str!(concat!("../../../../experiments/", $name, "/experiment.toml")),
        }),+]
    };
}

/// All of them, in the order in which they are listed.
pub const BUILTINS: &[Builtin] =
    builtins!["horror", "readers-vs-dd", "rbtree-scores", "dump", "nfs", "four-dd", "fairness-fio", "async-ramp-up"];

impl Builtin {
    /// It, read.
    ///
    /// # Errors
    /// If `catalogue` lacks a scheduler that it needs.
    pub fn load(&self, catalogue: &Catalogue) -> Result<Experiment, ExperimentError> {
        let file = format!("experiments/{}/experiment.toml", self.name);
        let no_files = |name: &str| Err(format!("a built-in experiment has no file `{name}`"));
        Experiment::parse(self.name, &file, self.text, catalogue, &no_files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_loads_claims_something_and_says_why() {
        for builtin in BUILTINS {
            let experiment = builtin.load(&Catalogue::builtin()).unwrap_or_else(|e| panic!("{e}"));
            assert!(experiment.tables.iter().flat_map(|table| &table.rows).any(|row| row.claimed), "{}", builtin.name);
            assert!(!experiment.whys.is_empty(), "{}", builtin.name);
        }
    }
}
