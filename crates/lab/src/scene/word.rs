//! One name of a load: a job file, a program, a recorded trace.

use blksched_text::nearest;
use blksched_workloads::fio::Text;
use blksched_workloads::programs::{PROGRAMS, Start, program};
use blksched_workloads::{BUILTINS, builtin};

use super::trace::Trace;
use crate::error::Error;

/// What one name of a load means.
pub enum Word {
    /// A job file.
    Jobs(Text),
    /// A program with its parameters.
    Program(Start),
    /// A recorded trace.
    Trace(Trace),
}

impl Word {
    /// A built-in workload, or a program with its parameters; `None` if the name is neither.
    pub fn builtin(name: &str) -> Option<Result<Word, Error>> {
        if let Some(known) = builtin(name) {
            return Some(Ok(Word::Jobs(Text { name: known.name.to_owned(), text: known.text.to_owned() })));
        }
        name.split(':').next().and_then(program)?;
        let start = Start::parse(name).map_err(|problem| Error::Input(format!("{name}: {problem}")));
        Some(start.map(Word::Program))
    }

    /// The error about a name that means nothing, with the nearest that does; `typed`: whether fio's options were given
    /// besides.
    pub fn unknown(name: &str, typed: bool) -> Error {
        let plain = name.split(':').next().unwrap_or(name);
        let builtins: Vec<&str> = BUILTINS.iter().map(|known| known.name).collect();
        let programs: Vec<&str> = PROGRAMS.iter().map(|known| known.name).collect();
        let all = builtins.iter().chain(&programs).copied();
        let hint = nearest(plain, all).map(|near| format!("; the nearest workload is `{near}`"));
        let value = if typed { "; the value of an option of fio's goes after `=`, as in --rw=read" } else { "" };
        Error::Input(format!(
            "`{name}` is neither a file nor a workload{}{value} (known: {}; programs: {})",
            hint.unwrap_or_default(),
            builtins.join(", "),
            programs.join(", ")
        ))
    }
}
