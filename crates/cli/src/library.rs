//! What other languages' packages call: `blksched_lab` with this machine's files, results as Arrow, and a comparison's
//! renderings. [`answer`] runs a verb by its words and returns what it prints.

mod compared;
mod many;
mod one;
mod planned;
mod tuning;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use blksched::Catalogue;
use blksched::author::Entry;
use blksched_workloads::fio::Text;
use clap::Parser;

use crate::args::{Arguments, Verb};
use crate::failure::Failure;
pub use crate::input::OnDisk;
pub use crate::scene::host;
use crate::{interrupt, output, typed};
pub use compared::{compare, figures, rendered};
pub use many::{Spec, many};
pub use one::Simulation;
pub use planned::{plan_rows, plan_size};
pub use tuning::{CheckedSettings, Tuning};

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct LibraryJob {
    /// Words of the command line: built-in workloads, programs, files.
    pub words: Vec<String>,
    /// A job file in memory: its name for messages, and its text.
    pub text: Option<(String, String)>,
}

/// An error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The whole message, for people.
    pub message: String,
    /// The file with the error, as it was named.
    pub file: Option<String>,
    /// Counted from 1.
    pub line: Option<u32>,
    /// Counted from 1.
    pub column: Option<u32>,
    /// Whether the input was wrong, as opposed to something outside.
    pub is_input: bool,
}

/// A verb's answer.
#[derive(Clone, Debug, Default)]
pub struct VerbAnswer {
    /// The printed text.
    pub text: String,
    /// The output of `--json`; empty if the verb has none.
    pub json: String,
    /// Its tables, for a notebook.
    pub html: String,
}

/// Runs a verb with these elevators besides the built-in ones, and returns what it prints; it ends early once `stop` is
/// true.
///
/// # Errors
/// The verb's own.
pub fn answer(
    verb: &str,
    job: &LibraryJob,
    options: &[String],
    own: &[Entry],
    stop: &Arc<AtomicBool>,
) -> Result<VerbAnswer, Error> {
    interrupt::by_caller(stop.clone());
    let verb = parse(verb, job, options)?;
    let (done, kept) = output::kept(|| crate::run(&verb, &Catalogue::builtin().with(own)));
    done?;
    Ok(VerbAnswer { text: kept.text, json: kept.json, html: kept.html })
}

/// Parses a verb and its words.
fn parse(verb: &str, job: &LibraryJob, options: &[String]) -> Result<Verb, Error> {
    let words = ["blksched", verb].into_iter().chain(options.iter().map(String::as_str));
    let words = words.chain(["--"]).chain(job.words.iter().map(String::as_str));
    let words = words.filter(|word| *word != "--" || !job.words.is_empty());
    let parsed = Arguments::try_parse_from(words).map_err(|error| Error::said(&error.to_string(), true))?;
    let mut verb = parsed.verb;
    let text = job.text.clone().map(|(name, text)| Text { name, text });
    match &mut verb {
        Verb::Compare(compare) => compare.scene.typed = text,
        Verb::Simulate(simulate) => simulate.scene.typed = text,
        Verb::Explain(explain) => explain.scene.typed = text,
        _ => {}
    }
    Ok(verb)
}

/// Runs the whole command line, for packages that include it, and returns its exit code.
pub fn main(words: &[String]) -> u8 {
    let (rest, said) = typed::split(words.iter().map(std::ffi::OsString::from));
    match crate::main_of(rest, said, &[]) {
        Ok(()) => 0,
        Err(failure) => failure.print(),
    }
}

impl Error {
    /// Input that was not understood, with the place that the text names.
    pub fn input(text: &str) -> Error {
        Error::said(text, true)
    }

    /// An error with the place that its text names.
    fn said(text: &str, is_input: bool) -> Error {
        let message = anstream::adapter::strip_str(text.trim()).to_string();
        let message = message.strip_prefix("error: ").unwrap_or(&message).to_owned();
        let place = message.lines().find_map(|line| line.trim_start().strip_prefix("--> "));
        let (file, line, column) = match place.or(Some(&message)).and_then(placed) {
            Some((file, line, column)) => (Some(file.to_owned()), Some(line), column),
            None => (None, None, None),
        };
        Error { message, file, line, column, is_input }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error::said(&failure.text(), matches!(failure, Failure::Input(_) | Failure::Excerpts(_)))
    }
}

impl From<blksched_lab::Error> for Error {
    fn from(error: blksched_lab::Error) -> Error {
        let place = error.place();
        let error: Error = Failure::from(error).into();
        match place {
            Some(at) => Error {
                file: Some(at.file),
                line: u32::try_from(at.line).ok(),
                column: u32::try_from(at.column).ok(),
                ..error
            },
            None => error,
        }
    }
}

/// Splits `FILE:LINE:COLUMN` or `FILE:LINE` off the beginning.
fn placed(text: &str) -> Option<(&str, u32, Option<u32>)> {
    let colons = text.char_indices().filter(|&(_, c)| c == ':').map(|(at, _)| at);
    for at in colons {
        let behind = &text[at + 1..];
        let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        let Ok(line) = behind[..digits].parse() else { continue };
        let column = behind[digits..].strip_prefix(':').and_then(|rest| {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..digits].parse().ok()
        });
        return Some((&text[..at], line, column));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(text: &str) -> LibraryJob {
        LibraryJob { words: Vec::new(), text: Some(("my.fio".to_owned(), text.to_owned())) }
    }

    fn ask(verb: &str, job: &LibraryJob, options: &[&str]) -> Result<VerbAnswer, Error> {
        let options: Vec<String> = options.iter().map(|word| (*word).to_owned()).collect();
        answer(verb, job, &options, &[], &Arc::default())
    }

    #[test]
    fn a_mistake_has_its_file_line_and_column() {
        let error = ask("compare", &job("[a]\nrw=raedrand\n"), &[]).unwrap_err();
        assert_eq!((error.file.as_deref(), error.line, error.column), (Some("my.fio"), Some(2), Some(4)), "{error:?}");
        assert!(error.is_input && !error.message.contains('\x1b'), "{error:?}");
        let error = ask("compare", &job("[a]\nrw=read\nsize=1m\n"), &["--frobnicate"]).unwrap_err();
        assert!(error.message.contains("--frobnicate") && error.file.is_none(), "{error:?}");
    }

    #[test]
    fn a_comparison_comes_as_text_json_and_html() {
        let options = ["--disk", "null", "--time", "10ms", "--seeds", "2", "--elevators", "none,mq-deadline"];
        let answer = ask("compare", &job("[a]\nrw=randread\nsize=1m\ntime_based\nruntime=1\n"), &options).unwrap();
        assert!(answer.json.starts_with('{') && answer.json.contains("blksched/compare/"), "{}", answer.json);
        assert!(answer.text.contains("mq-deadline") && answer.html.contains("<td"), "{answer:?}");
    }

    #[test]
    fn places_are_told_from_other_numbers() {
        assert_eq!(placed("a.toml:3:14: wrong"), Some(("a.toml", 3, Some(14))));
        assert_eq!(placed("x.csv:7: wrong"), Some(("x.csv", 7, None)));
        assert_eq!(placed("no place"), None);
    }
}
