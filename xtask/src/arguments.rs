//! The command line: the verbs and their options.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::dist::{Guide, Missing};
use crate::python::Wheel;
use crate::test::{Machine, Tier};

/// What is asked for.
pub enum Verb {
    /// `test --quick`
    Quick,
    /// `test --list`
    List,
    /// `test`
    Test { machine: Machine, tiers: Vec<Tier>, only: Vec<String> },
    /// `tidy`
    Tidy,
    /// `bless`
    Bless,
    /// `wheel`
    Wheel(Wheel),
    /// `dist`
    Dist(Missing, Guide),
    /// `mutants`
    Mutants,
    /// `audit`
    Audit,
    /// `interface`
    Interface { revision: Option<String> },
    /// A verb of the second program, which parses the words itself.
    Other { verb: String, words: Vec<OsString> },
}

/// Verbs of the second program.
const OTHERS: [(&str, &str); 14] = [
    ("docs", "Generate docs/knobs.md, docs/programs.md and docs/which-kernel.md from the tables in the library"),
    ("matrix", "Renew docs/matrix.md and docs/matrix.csv from the present program; takes some minutes"),
    ("what-knobs-do", "Renew the figures of docs/what-knobs-do.md; takes some minutes"),
    ("what-changed", "Renew docs/what-changed.md: what each step to a newer kernel does; takes some minutes"),
    ("transcripts", "Replay transcripts (.jsonl, .jsonl.gz, or folders of them) and report divergences"),
    ("bench", "Run the benchmarks: times, instruction counts (--gate), other programs (--peers), growth (--scale)"),
    ("demerit", "Compare our disk with real drives: DiskSim's files and published response times"),
    ("grids", "Fit models to at most eight cells of each measured grid, and print their errors on the others by class"),
    ("live-kernel", "Compare the running kernel's decisions with ours on a loop device (needs root)"),
    ("nvme-tables", "Compare published throughput and latency of the schedulers on an NVMe drive with the prediction"),
    ("cpu-costs", "Measure what an I/O costs the processors under each scheduler (needs root and fio)"),
    ("reality", "What the running kernel and fio do on simulated disks in real time, beside what is predicted"),
    ("timed-disk", "Run a command beside a file that takes as long as a disk model says (needs root and FUSE)"),
    ("measured-disk", "Measure disk models by the wall clock and compare what is found (needs root and FUSE)"),
];

/// Of this process; whoever mistypes is told what was expected, and the process ends.
pub fn parse() -> Verb {
    let matches = command().get_matches();
    let (verb, matches) = matches.subcommand().expect("clap asks for one");
    of(verb, matches)
}

fn of(verb: &str, matches: &ArgMatches) -> Verb {
    let is = |flag: &str| matches.get_flag(flag);
    match verb {
        "test" if is("quick") => Verb::Quick,
        "test" if is("list") => Verb::List,
        "test" => {
            let tiers = [("slow", Tier::Slow), ("root", Tier::Root)].into_iter().filter(|(flag, _)| is(flag));
            let only = matches.get_many::<String>("only").into_iter().flatten().cloned().collect();
            let machine = if is("install") { Machine::Install } else { Machine::LeaveAlone };
            Verb::Test { machine, tiers: tiers.map(|(_, tier)| tier).collect(), only }
        }
        "tidy" => Verb::Tidy,
        "bless" => Verb::Bless,
        "wheel" => Verb::Wheel(if is("everywhere") { Wheel::Everywhere } else { Wheel::Here }),
        "dist" => Verb::Dist(
            if is("install") { Missing::Install } else { Missing::Say },
            if is("pgo") { Guide::Profile } else { Guide::Estimates },
        ),
        "mutants" => Verb::Mutants,
        "audit" => Verb::Audit,
        "interface" => Verb::Interface { revision: matches.get_one("revision").cloned() },
        other => {
            let words = matches.get_many::<OsString>("words").into_iter().flatten().cloned().collect();
            Verb::Other { verb: other.to_owned(), words }
        }
    }
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
}

fn verb(name: &'static str, about: &'static str) -> Command {
    Command::new(name).about(about)
}

fn command() -> Command {
    let only = Arg::new("only").long("only").value_name("STEP").value_delimiter(',').action(ArgAction::Append);
    let test = verb("test", "Run everything that must hold: format, lints, style, tests, documentation, packages")
        .args([
            flag("install", "First install missing Debian packages, parts of the toolchain, and cargo-nextest"),
            flag(
                "quick",
                "Only format, style and the unit tests of crates that the change touches, or the last commit",
            )
            .conflicts_with_all(["install", "slow", "root"]),
            flag("slow", "Also the tests that take minutes, and wholly what is otherwise checked cheaply"),
            flag("root", "Also the tests that need root: they use loop devices, mounts, schedulers of this machine"),
            flag("list", "Only name the steps: what each checks, its budget, and how long it took last")
                .conflicts_with_all(["install", "quick", "slow", "root"]),
        ])
        .arg(only.help("Only these steps, separated by commas").conflicts_with_all(["quick", "list"]));
    let own = [
        test,
        verb("tidy", "Check the style rules that matter"),
        verb("bless", "Renew golden files and generated documents; look at the difference before you commit it"),
        verb("wheel", "Build Python's package into target/wheels, with tools from PyPI")
            .arg(flag("everywhere", "Also for other systems: glibc 2.17 and musl, linked with zig from PyPI")),
        verb("dist", "Build the files for download: a static program with man pages, as an archive and as a .deb")
            .args([
                flag(
                    "install",
                    "First get what is missing: Rust's library for musl, musl-tools, cargo-deb, llvm-tools",
                ),
                flag("pgo", "Build twice: the second time guided by a profile of the usual commands"),
            ]),
        verb("mutants", "Make small mistakes, one at a time, and show that a test notices each (xtask/mutants.toml)"),
        verb("audit", "Check the dependencies' licences and advisories with cargo deny"),
        verb("interface", "Report changes in the library's public interface, with cargo semver-checks").arg(
            Arg::new("revision").help(
                "The commit to compare with; by default the last release tag, or a named commit before the first",
            ),
        ),
    ];
    let words = Arg::new("words").num_args(0..).trailing_var_arg(true).allow_hyphen_values(true).hide(true);
    let words = words.value_parser(clap::value_parser!(OsString));
    let others = OTHERS.map(|(name, about)| verb(name, about).disable_help_flag(true).arg(words.clone()));
    Command::new("cargo xtask")
        .bin_name("cargo xtask")
        .about("blksched's developer commands")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(own)
        .subcommands(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Verb, clap::Error> {
        let matches = command().try_get_matches_from(std::iter::once("xtask").chain(words.split(' ')))?;
        let (verb, matches) = matches.subcommand().expect("required");
        Ok(of(verb, matches))
    }

    #[test]
    fn the_commands_are_consistent() {
        command().debug_assert();
    }

    #[test]
    fn a_run_of_the_tests_is_read() {
        let Ok(Verb::Test { machine, tiers, only }) = parsed("test --install --slow --only clippy,tests") else {
            panic!("not a run")
        };
        assert_eq!((machine, &tiers[..]), (Machine::Install, &[Tier::Slow][..]));
        assert_eq!(only, ["clippy", "tests"]);
        assert!(matches!(parsed("test --quick"), Ok(Verb::Quick)));
        assert!(matches!(parsed("test --list"), Ok(Verb::List)));
        assert!(parsed("test --quick --slow").is_err());
    }

    #[test]
    fn words_of_the_second_programs_verbs_are_passed_on_as_they_are() {
        for (words, expected) in [("bench --gate --bless", &["--gate", "--bless"][..]), ("reality --help", &["--help"])]
        {
            let Ok(Verb::Other { words, .. }) = parsed(words) else { panic!("{words} is another verb") };
            assert_eq!(words, expected);
        }
    }

    #[test]
    fn a_mistyped_verb_is_answered_with_the_nearest() {
        let error = parsed("tets").err().expect("not a verb").to_string();
        assert!(error.contains("unrecognized subcommand") && error.contains("test"), "{error}");
    }
}
