//! The command line as a library: [`main_with`] runs `compare`, `simulate` and `list` with an elevator of your own.
//!
//! There is one file per verb. Each verb reads its `input`, runs it in the simulator, and prints one value as text or
//! JSON.
//!
//! Exit codes: 0 done; 1 something outside failed (a file could not be written, say), or an experiment's claim does not
//! hold; 2 the input is invalid.

#![allow(clippy::disallowed_methods, reason = "what starts programs here is no test")]

#[cfg(target_os = "linux")]
mod advise;
mod args;
mod compare;
mod disk;
mod experiment;
mod explain;
mod failure;
mod fuzz;
#[cfg(feature = "completions")]
mod generate;
mod half;
mod input;
mod interrupt;
#[cfg(feature = "sweep")]
pub mod library;
mod list;
#[cfg(all(feature = "serve", target_os = "linux"))]
#[doc(hidden)]
pub mod load;
#[cfg(all(feature = "serve", target_os = "linux"))]
mod mount;
mod output;
#[cfg(feature = "pictures")]
mod pictures;
#[cfg(not(feature = "pictures"))]
#[path = "without/pictures.rs"]
mod pictures;
#[cfg(all(feature = "serve", target_os = "linux"))]
mod private;
mod progress;
mod quoted;
#[cfg(target_os = "linux")]
mod record;
#[cfg(feature = "serve")]
mod replayed;
#[cfg(feature = "pictures")]
mod report;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(not(feature = "parquet"))]
#[path = "without/rows.rs"]
mod rows;
mod scene;
#[cfg(all(feature = "serve", target_os = "linux"))]
mod serve;
mod simulate;
#[cfg(target_os = "linux")]
mod state;
#[cfg(feature = "sweep")]
mod sweep;
#[cfg(all(feature = "serve", target_os = "linux"))]
mod top;
mod trace;
#[cfg(target_os = "linux")]
mod trial;
mod typed;
#[cfg(all(feature = "serve", target_os = "linux"))]
mod ublk;
mod used;
#[cfg(all(feature = "pictures", target_os = "linux"))]
mod validate;

use std::ffi::OsString;
use std::process::ExitCode;

use blksched::Catalogue;
use blksched::author::Entry;
use clap::Parser;

use args::{Arguments, Verb};
use blksched_workloads::fio::Typed;
use failure::Failure;
#[doc(hidden)]
pub use fuzz::{fuzz_arguments, fuzz_inside};

/// Runs the command line with the built-in elevators and these.
pub fn main_with(own: &[Entry]) -> ExitCode {
    let (rest, typed) = typed::split(std::env::args_os());
    match main_of(rest, typed, own) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// For tests: the exit code of these words and what they print to standard output and standard error, in a pipe of this
/// width, without a process of their own.
#[doc(hidden)]
pub fn printed(words: &[&str], columns: u16) -> (u8, String, String) {
    printed_by(words, columns, |verb, catalogue| {
        #[cfg(all(feature = "serve", target_os = "linux"))]
        if let Verb::Serve(arguments) = verb {
            // The process's signals are its own.
            let never = blksched_serve::StopSwitch::new().map_err(Failure::input)?;
            return serve::run(arguments, catalogue, blksched_serve::Ending::Caller(never));
        }
        run(verb, catalogue)
    })
}

/// The same, and what is remembered between runs is in this folder.
#[doc(hidden)]
pub fn printed_remembering(words: &[&str], columns: u16, folder: &std::path::Path) -> (u8, String, String) {
    state::within(folder, || printed(words, columns))
}

/// The same of `serve`, until it is stopped by this switch.
#[cfg(all(feature = "serve", target_os = "linux"))]
#[doc(hidden)]
pub fn served(words: &[&str], switch: std::sync::Arc<blksched_serve::StopSwitch>) -> (u8, String, String) {
    printed_by(words, 1000, move |verb, catalogue| match verb {
        Verb::Serve(arguments) => serve::run(arguments, catalogue, blksched_serve::Ending::Caller(switch)),
        other => run(other, catalogue),
    })
}

fn printed_by(
    words: &[&str],
    columns: u16,
    work: impl FnOnce(&Verb, &Catalogue) -> Result<(), Failure>,
) -> (u8, String, String) {
    let words = std::iter::once("blksched").chain(words.iter().copied()).map(OsString::from);
    let (rest, typed) = typed::split(words);
    let mut arguments = match Arguments::try_parse_from(rest) {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => return (2, String::new(), error.render().to_string()),
        Err(help) => return (0, help.render().to_string(), String::new()),
    };
    let file = typed.output.clone();
    arguments.verb.take(typed);
    let work = || work(&arguments.verb, &Catalogue::builtin());
    let (code, kept) = output::kept_for_test(columns, || match output::into(file, work) {
        Ok(()) => 0,
        Err(failure) => failure.print(),
    });
    (code, kept.text, kept.errors)
}

/// Runs these words as a command line.
fn main_of(rest: Vec<OsString>, typed: Typed, own: &[Entry]) -> Result<(), Failure> {
    let arguments = Arguments::of(rest);
    arguments.everywhere.color.apply();
    run_arguments(arguments, typed, own)
}

fn run_arguments(mut arguments: Arguments, typed: Typed, own: &[Entry]) -> Result<(), Failure> {
    let file = typed.output.clone();
    arguments.verb.take(typed);
    output::into(file, || run(&arguments.verb, &Catalogue::builtin().with(own)))
}

fn run(verb: &Verb, catalogue: &Catalogue) -> Result<(), Failure> {
    match verb {
        Verb::Compare(arguments) => compare::run(arguments, catalogue),
        Verb::Matrix(arguments) => compare::matrix(arguments, catalogue),
        Verb::Simulate(arguments) => simulate::run(arguments, catalogue),
        Verb::Explain(arguments) => explain::run(arguments, catalogue),
        Verb::Experiment(arguments) => experiment::run(arguments, catalogue),
        #[cfg(feature = "sweep")]
        Verb::Sweep(arguments) => sweep::run(arguments, catalogue),
        Verb::Disk(arguments) => disk::run(arguments, catalogue),
        Verb::List(arguments) => list::run(arguments, catalogue),
        #[cfg(all(feature = "pictures", target_os = "linux"))]
        Verb::Validate(arguments) => validate::run(arguments),
        Verb::Trace(arguments) => trace::run(&arguments.verb),
        #[cfg(target_os = "linux")]
        Verb::Advise(arguments) => advise::run(arguments, catalogue),
        #[cfg(target_os = "linux")]
        Verb::Record(arguments) => record::run(arguments),
        #[cfg(target_os = "linux")]
        Verb::Trial(arguments) => trial::run(arguments),
        #[cfg(all(feature = "serve", target_os = "linux"))]
        Verb::Serve(arguments) => serve::run(arguments, catalogue, blksched_serve::Ending::Signals),
        #[cfg(all(feature = "serve", target_os = "linux"))]
        Verb::Ctl(arguments) => serve::ctl(arguments),
        #[cfg(all(feature = "serve", target_os = "linux"))]
        Verb::Top(arguments) => top::run(arguments),
        #[cfg(all(feature = "serve", target_os = "linux"))]
        Verb::Load(arguments) => load::run(arguments, catalogue),
        #[cfg(all(feature = "serve", target_os = "linux"))]
        Verb::Mount(arguments) => mount::run(arguments),
        #[cfg(all(feature = "serve", target_os = "linux"))]
        Verb::Ublk(arguments) => ublk::run(arguments),
        #[cfg(feature = "completions")]
        Verb::Completions { shell } => generate::completions(*shell),
        #[cfg(feature = "completions")]
        Verb::Man { directory } => generate::man_pages(directory),
    }
}
