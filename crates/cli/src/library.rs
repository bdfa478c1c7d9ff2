//! What other languages' packages call: `blksched_lab` with this machine's files, results as Arrow, and the renderings
//! of what it answers.

mod compared;
mod many;
mod one;
mod planned;
mod tuning;

use blksched_lab::why::Explanation;

use crate::failure::Failure;
pub use crate::input::OnDisk;
pub use crate::scene::host;
use crate::typed;
pub use compared::{compare, figures, rendered};
pub use many::{Spec, many};
pub use one::{Simulation, blame};
pub use planned::{plan_rows, plan_size};
pub use tuning::{CheckedSettings, Tuning};

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
    /// The word that was not understood, if it is one.
    pub word: Option<String>,
    /// The word that was probably meant.
    pub nearest: Option<String>,
    /// Whether the input was wrong, as opposed to something outside.
    pub is_input: bool,
}

/// An answer as the command line prints it.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// For people.
    pub text: String,
    /// The document of docs/schema.md.
    pub json: String,
    /// Its tables, for a notebook.
    pub html: String,
}

/// An explanation as the command line prints it.
pub fn explained(explanation: &Explanation) -> Rendered {
    let (text, json) = crate::explain::rendered(explanation);
    Rendered { text: anstream::adapter::strip_str(&text).to_string(), json, html: explanation.blame.table(60).html() }
}

/// Runs the whole command line, for packages that include it, and returns its exit code.
pub fn main(words: &[String]) -> u8 {
    let (rest, typed) = typed::split(words.iter().map(std::ffi::OsString::from));
    match crate::main_of(rest, typed, &[]) {
        Ok(()) => 0,
        Err(failure) => failure.print(),
    }
}

impl Error {
    /// Input that was not understood, with the place that the text names.
    pub fn input(text: &str) -> Error {
        Error::of_text(text, true)
    }

    /// An error with the place that its text names.
    fn of_text(text: &str, is_input: bool) -> Error {
        let message = anstream::adapter::strip_str(text.trim()).to_string();
        let message = message.strip_prefix("error: ").unwrap_or(&message).to_owned();
        let place = message.lines().find_map(|line| line.trim_start().strip_prefix("--> "));
        let (file, line, column) = match place.or(Some(&message)).and_then(placed) {
            Some((file, line, column)) => (Some(file.to_owned()), Some(line), column),
            None => (None, None, None),
        };
        Error { message, file, line, column, word: None, nearest: None, is_input }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error::of_text(&failure.text(), matches!(failure, Failure::Input(_) | Failure::Excerpts(_)))
    }
}

impl From<blksched_lab::Error> for Error {
    fn from(error: blksched_lab::Error) -> Error {
        let (place, is_word) = (error.place(), matches!(error, blksched_lab::Error::Word(_)));
        let (word, nearest) = (error.word().map(str::to_owned), error.nearest().map(str::to_owned));
        let error = Error { word, nearest, ..Failure::from(error).into() };
        match place {
            Some(at) => Error {
                file: Some(at.file),
                line: u32::try_from(at.line).ok(),
                column: u32::try_from(at.column).ok(),
                ..error
            },
            // `--elevators bfqq:1: …` is a place in no file.
            None if is_word => Error { file: None, line: None, column: None, ..error },
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
    use blksched_lab::{Comparison, Scene};
    use std::sync::atomic::AtomicBool;

    fn asked(job: &str, elevators: &[&str]) -> Result<Rendered, Error> {
        let scene = Scene { time: "10ms".parse().ok(), ..Scene::of_jobs("my.fio", job, "null") };
        let elevators = elevators.iter().map(|&name| name.to_owned()).collect();
        let comparison = Comparison { elevators, ..Comparison::of(scene, 2) };
        compare(&comparison, &[], &AtomicBool::new(false)).map(|compared| rendered(&compared))
    }

    #[test]
    fn a_mistake_has_its_file_line_and_column() {
        let error = asked("[a]\nrw=raedrand\n", &[]).unwrap_err();
        assert_eq!((error.file.as_deref(), error.line, error.column), (Some("my.fio"), Some(2), Some(4)), "{error:?}");
        assert!(error.is_input && !error.message.contains('\x1b'), "{error:?}");
        let error = asked("[a]\nrw=read\nsize=1m\n", &["none", "bfqq"]).unwrap_err();
        assert!(error.message.contains("bfqq") && error.file.is_none() && error.is_input, "{error:?}");
        assert_eq!((error.word.as_deref(), error.nearest.as_deref()), (Some("bfqq"), Some("bfq")));
    }

    #[test]
    fn a_comparison_comes_as_text_json_and_html() {
        let job = "[a]\nrw=randread\nsize=1m\ntime_based\nruntime=1\n";
        let answer = asked(job, &["none", "mq-deadline"]).unwrap();
        assert!(answer.json.starts_with('{') && answer.json.contains("blksched/compare/"), "{}", answer.json);
        assert!(answer.text.contains("mq-deadline") && answer.html.contains("<td"), "{answer:?}");
    }

    #[test]
    fn an_explanation_comes_as_values_and_as_text_and_json() {
        let job = "[a]\nrw=randread\nsize=1m\ntime_based\nruntime=1\n";
        let scene = Scene { time: "10ms".parse().ok(), ..Scene::of_jobs("my.fio", job, "fixed") };
        let explanation = Simulation::run(&scene, None, &[]).unwrap().explain(2).unwrap();
        assert_eq!(explanation.stories.len(), 2);
        let printed = explained(&explanation);
        assert!(printed.json.contains("blksched/explain/1") && printed.html.contains("<td"), "{printed:?}");
        assert!(printed.text.contains(&explanation.stories[0].what), "{printed:?}");
    }

    #[test]
    fn places_are_told_from_other_numbers() {
        assert_eq!(placed("a.toml:3:14: wrong"), Some(("a.toml", 3, Some(14))));
        assert_eq!(placed("x.csv:7: wrong"), Some(("x.csv", 7, None)));
        assert_eq!(placed("no place"), None);
    }
}
