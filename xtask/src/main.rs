//! blksched's developer commands, `cargo xtask VERB`; one file per verb. This program has no crate of ours, so that it
//! is built within seconds; others have what takes longer to compile, and are built when called ([`workbench`]).
//!
//! * `test [--install]`: all checks, in order, with one line per step; `--install` installs what is missing; `--quick`
//!   is a short check during work, `--slow` and `--root` add the tests that take long or change the machine; `--list`
//!   names the steps with their last times
//! * `tidy`: the style rules that matter, checked (`xtask/tidy` has one file per rule)
//! * `bless`: renews golden files and generated documents
//! * `wheel [--everywhere]`: the Python package, for systems like this one, or for all of Linux
//! * `dist [--install]`: the program for any Linux, with man pages and completions, as an archive and a Debian package
//! * `mutants`: small mistakes, each of which a named test must notice (`xtask/mutants.toml`)
//! * `audit`: licences and advisories of the dependencies
//! * `interface [REV]`: changes of the library's public interface since a commit
//! * `docs`, `matrix`, `what-changed`, `what-knobs-do`, `transcripts`, `bench`, `demerit`, `grids`, `live-kernel`,
//!   `measured-disk`, `reality`, `timed-disk`, `cpu-costs`, `nvme-tables`: of `xtask/workbench`

#![allow(clippy::disallowed_methods, reason = "what starts programs here is no test")]

mod arguments;
mod audit;
mod bless;
mod dist;
mod interface;
mod mutants;
mod python;
mod test;
mod workbench;

use std::process::ExitCode;

use xtask::{Verdict, gate, shell};

use arguments::Verb;

fn main() -> ExitCode {
    Verdict::exit(match arguments::parse() {
        Verb::Quick => test::quick::run(),
        Verb::List => test::list(),
        Verb::Test { machine, tiers, only } => test::run(machine, &tiers, &only),
        Verb::Tidy => workbench::tidy(),
        Verb::Bless => bless::run(),
        Verb::Wheel(what) => python::wheel(what).map(|()| Verdict::Good),
        Verb::Dist(missing, guide) => dist::run(missing, guide),
        Verb::Mutants => mutants::run(),
        Verb::Audit => audit::run(),
        Verb::Interface { revision } => interface::run(revision.as_deref()),
        Verb::Other { verb, words } => workbench::run(&verb, &words),
    })
}
