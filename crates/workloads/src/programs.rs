//! Programs: what people run, as workloads. `dd` of a large file, `cat` of a tree, a benchmark with many threads.
//!
//! A [`Program`] has a name, parameters (each described once: kind, default, meaning) and a function that makes its
//! processes: one [`Source`](crate::Source) each. Programs describe loads that a job file cannot express: reads that
//! depend on earlier ones, writers limited only by request slots, processes that communicate.
//!
//! ```
//! use blksched_workloads::programs::{Launch, Settings, program};
//!
//! let dd = program("dd").unwrap();
//! let settings = Settings::of(dd, [("size", "64MiB")]).unwrap();
//! let processes = dd.start(&Launch::new("dd", &settings, 1 << 24));
//! assert_eq!(processes.unwrap().len(), 1);
//! ```

mod cat;
mod cp;
mod dd;
mod dd_reader;
mod dump;
mod launch;
mod nfsd;
mod parameter;
mod reader_with_writeback;
mod settings;
mod start;
mod stepper;
mod tiobench;
mod tree;
mod tree_readers;

use std::fmt;

pub use launch::{Launch, ProgramProcess};
pub use parameter::{DiskPlace, Parameter, ParameterKind, ParameterValue};
pub use settings::{Settings, SettingsError};
pub(crate) use start::ParametersSaid;
pub use start::{COMMON, Common, Start};
pub use stepper::{Io, Step, Stepper, Steps};

/// A built-in program.
#[derive(Clone, Copy)]
pub struct Program {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does to a disk, in one line.
    pub about: &'static str,
    /// Its source: author, date, place.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Makes its processes; called by [`Program::start`].
    pub(crate) processes: fn(&Launch<'_>) -> Result<Vec<ProgramProcess>, String>,
}

/// Only the name: a function's address differs between processes, and a caller that hashes a run's settings must always
/// get the same.
impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Program {
    /// The processes of one run. Their submitters are numbered in order, from [`Launch::first`].
    ///
    /// # Errors
    /// If it does not fit on the disk, or its parameters contradict each other.
    pub fn start(&self, launch: &Launch<'_>) -> Result<Vec<ProgramProcess>, String> {
        let processes = (self.processes)(launch)?;
        for (nth, process) in processes.iter().enumerate() {
            assert_eq!(process.source.submitter(), launch.submitter(nth as u32), "{} numbers its processes", self.name);
        }
        Ok(processes)
    }
}

/// All of them.
pub const PROGRAMS: &[Program] = &[
    cat::PROGRAM,
    cp::PROGRAM,
    dd::PROGRAM,
    dd_reader::PROGRAM,
    dump::PROGRAM,
    nfsd::PROGRAM,
    reader_with_writeback::PROGRAM,
    tiobench::PROGRAM,
    tree_readers::PROGRAM,
];

/// The program with this name.
pub fn program(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_starts_with_nothing_said() {
        for program in PROGRAMS {
            let settings = Settings::of(program, []).unwrap_or_else(|e| panic!("{}: {e}", program.name));
            let processes = program.start(&Launch::new(program.name, &settings, 156_250_000));
            assert!(!processes.unwrap_or_else(|e| panic!("{}: {e}", program.name)).is_empty());
        }
    }

    #[test]
    fn no_program_is_called_as_a_built_in_workload() {
        assert!(PROGRAMS.iter().all(|program| crate::builtin(program.name).is_none()));
    }

    #[test]
    fn parameters_are_described_and_their_names_differ() {
        for program in PROGRAMS {
            for (nth, parameter) in program.parameters.iter().enumerate() {
                assert!(!parameter.doc.is_empty() && !parameter.doc.ends_with('.'), "{}", parameter.name);
                let twin = program.parameters[..nth].iter().any(|other| other.name == parameter.name);
                let common = COMMON.iter().any(|common| common.name == parameter.name);
                assert!(!twin && !common, "{} of {}", parameter.name, program.name);
            }
        }
    }
}
