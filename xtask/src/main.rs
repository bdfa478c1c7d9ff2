//! blksched's developer commands, `cargo xtask VERB`; one file per verb.
//!
//! * `test [--install]`: all checks, in order, with one line per step; `--install` installs what is missing; `--quick`
//!   is a short check during work, `--slow` and `--root` add the tests that take long or change the machine
//! * `tidy`: the style rules that matter, checked ([`tidy`] has one file per rule)
//! * `docs [--check]`: generates `docs/knobs.md`, `docs/programs.md`, `docs/which-kernel.md` from the library's tables
//! * `matrix`: renews docs/matrix.md and docs/matrix.csv, in some minutes
//! * `bless`: renews golden files and generated documents
//! * `transcripts PATH…`: replays recorded decisions and reports differences
//! * `bench [--gate | --peers | --scale]`: times for people, instruction counts for the gate, a comparison with other
//!   programs, and growth with size
//! * `demerit [FOLDER]`: our disk compared with real drives, from DiskSim's files and measured response times
//! * `live-kernel`: the running kernel's schedulers compared with ours, if the machine allows it
//! * `measured-disk`: `blksched disk measure` on disk models by the wall clock, compared with the models
//! * `reality`: the running kernel and fio on a simulated disk in real time, compared with the prediction
//! * `timed-disk DISK COMMAND`: a disk model as a file that takes as long as the model says, by the wall clock
//! * `cpu-costs`: the processor cost of an I/O on this machine under each scheduler, as a preset
//! * `wheel [--everywhere]`: the Python package, for systems like this one, or for all of Linux
//! * `dist [--install]`: the program for any Linux, with man pages and completions, as an archive and a Debian package
//! * `audit`: licences and advisories of the dependencies
//! * `interface [REV]`: changes of the library's public interface since a commit

mod audit;
mod bench;
mod bless;
#[cfg(target_os = "linux")]
mod cpu_costs;
mod demerit;
mod dist;
mod docs;
mod interface;
#[cfg(target_os = "linux")]
mod live_kernel;
#[cfg(target_os = "linux")]
mod loop_device;
mod matrix;
#[cfg(target_os = "linux")]
mod measured_disk;
mod python;
#[cfg(target_os = "linux")]
mod reality;
mod shell;
mod test;
mod tidy;
#[cfg(target_os = "linux")]
mod timed_disk;
mod transcripts;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// blksched's developer commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run everything that must hold: format, lints, style, tests, documentation, transcripts, outside programs
    Test {
        /// First install missing Debian packages and parts of the Rust toolchain
        #[arg(long)]
        install: bool,
        /// A quick check only: format, style and the unit tests of the crates that the change touches, or the last
        /// commit
        #[arg(long, conflicts_with_all = ["install", "slow", "root"])]
        quick: bool,
        /// Also the tests that take minutes
        #[arg(long)]
        slow: bool,
        /// Also the tests that need root: they use loop devices, mounts and schedulers of this machine
        #[arg(long)]
        root: bool,
    },
    /// Check the style rules that matter
    Tidy,
    /// Generate docs/knobs.md, docs/programs.md and docs/which-kernel.md from the tables in the library
    Docs {
        /// Write nothing; fail if a file differs from what would be generated
        #[arg(long)]
        check: bool,
    },
    /// Renew docs/matrix.md and docs/matrix.csv from the present program; takes some minutes
    Matrix,
    /// Renew golden files and generated documents; look at the difference before you commit it
    Bless,
    /// Replay transcripts (.jsonl, .jsonl.gz, or folders of them) and report divergences
    Transcripts {
        /// Files and folders, searched recursively
        #[arg(required = true)]
        paths: Vec<PathBuf>,
    },
    /// Build Python's package into target/wheels, with tools from PyPI
    Wheel {
        /// Also for other systems: glibc 2.17 and musl, linked with zig from PyPI
        #[arg(long)]
        everywhere: bool,
    },
    /// Run the benchmarks
    Bench {
        /// Count instructions under valgrind and compare them with xtask/gate.toml
        #[arg(long)]
        gate: bool,
        /// With --gate: write the counts to xtask/gate.toml
        #[arg(long, requires = "gate")]
        bless: bool,
        /// Run fio's null engine, blkparse, btt and DiskSim beside ours, as far as installed, by processor time
        #[arg(long, conflicts_with = "gate")]
        peers: bool,
        /// Run everything that can be large at two sizes: the cost of one, and the memory
        #[arg(long, conflicts_with_all = ["gate", "peers"])]
        scale: bool,
    },
    /// Compare our disk with real drives: DiskSim's files and published response times
    Demerit {
        /// The directory with DRIVE.model, .seek, .diskspecs and .trace.gz; by default testdata/disksim
        folder: Option<PathBuf>,
    },
    /// Compare the running kernel's decisions with ours on a loop device (needs root; skipped by name elsewhere)
    #[cfg(target_os = "linux")]
    LiveKernel,
    /// Measure what an I/O costs the processors under each scheduler (needs root and fio; skipped by name elsewhere)
    #[cfg(target_os = "linux")]
    CpuCosts {
        /// How often to run each load; the least counts
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
        repeats: u32,
        /// Also write the preset to this file
        #[arg(long, value_name = "FILE")]
        write: Option<PathBuf>,
    },
    /// What the running kernel and fio do on simulated disks in real time, beside what is predicted (needs root)
    #[cfg(target_os = "linux")]
    Reality(reality::Arguments),
    /// Run a command beside a file that takes as long as a disk model says, by the wall clock (needs root and FUSE)
    #[cfg(target_os = "linux")]
    TimedDisk {
        /// A preset's name or a TOML file
        disk: String,
        /// The shell command; `$file` is the file's path
        command: String,
    },
    /// Measure disk models by the wall clock and compare what is found (needs root and FUSE; skipped by name elsewhere)
    #[cfg(target_os = "linux")]
    MeasuredDisk {
        /// Presets or TOML files of spinning disks; by default all presets of that kind
        disks: Vec<String>,
    },
    /// Build the files for download: a static program with man pages and completions, as an archive and as a .deb
    Dist {
        /// First get what is missing: Rust's library for musl, musl-tools (Debian), cargo-deb, and llvm-tools (--pgo)
        #[arg(long)]
        install: bool,
        /// Build twice: the second time guided by a profile of the usual commands
        #[arg(long)]
        pgo: bool,
    },
    /// Check the dependencies' licences and advisories with cargo deny
    Audit,
    /// Report changes in the library's public interface, with cargo semver-checks (skipped by name without it)
    Interface {
        /// The commit to compare with; by default the last release tag
        revision: Option<String>,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().verb {
        Verb::Test { quick: true, .. } => test::quick::run(),
        Verb::Test { install, slow, root, .. } => {
            let machine = if install { test::Machine::Install } else { test::Machine::LeaveAlone };
            let tiers = [(slow, test::Tier::Slow), (root, test::Tier::Root)];
            let asked: Vec<_> = tiers.into_iter().filter_map(|(asked, tier)| asked.then_some(tier)).collect();
            test::run(machine, &asked)
        }
        Verb::Tidy => tidy::run(),
        Verb::Docs { check } => docs::run(if check { docs::Mode::Check } else { docs::Mode::Write }),
        Verb::Matrix => matrix::run(),
        Verb::Bless => bless::run(),
        Verb::Demerit { folder } => demerit::run(folder),
        Verb::Transcripts { paths } => transcripts::run(&paths),
        Verb::Bench { peers: true, .. } => bench::peers::run(),
        Verb::Bench { scale: true, .. } => bench::scale::run(),
        Verb::Bench { gate: false, .. } => bench::run(),
        Verb::Bench { gate: true, bless, .. } => {
            bench::gate::run(if bless { bench::gate::Baseline::Renew } else { bench::gate::Baseline::Compare })
        }
        #[cfg(target_os = "linux")]
        Verb::LiveKernel => live_kernel::run(),
        #[cfg(target_os = "linux")]
        Verb::CpuCosts { repeats, write } => cpu_costs::run(repeats, write.as_deref()),
        #[cfg(target_os = "linux")]
        Verb::Reality(arguments) => reality::run(&arguments),
        #[cfg(target_os = "linux")]
        Verb::TimedDisk { disk, command } => timed_disk::run(&disk, &command),
        #[cfg(target_os = "linux")]
        Verb::MeasuredDisk { disks } => measured_disk::run(&disks),
        Verb::Wheel { everywhere } => {
            let what = if everywhere { python::Wheel::Everywhere } else { python::Wheel::Here };
            python::wheel(what).map(|()| Verdict::Good)
        }
        Verb::Dist { install, pgo } => dist::run(
            if install { dist::Missing::Install } else { dist::Missing::Say },
            if pgo { dist::Guide::Profile } else { dist::Guide::Estimates },
        ),
        Verb::Audit => audit::run(),
        Verb::Interface { revision } => interface::run(revision.as_deref()),
    };
    match result {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Bad) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A verb's result; it has already printed the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything is as it should be.
    Good,
    /// Something is not.
    Bad,
}

impl Verdict {
    /// Good if `holds`.
    pub fn when(holds: bool) -> Verdict {
        if holds { Verdict::Good } else { Verdict::Bad }
    }
}
