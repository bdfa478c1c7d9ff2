//! The arguments of the command line.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};

use crate::list::ListArguments;
use crate::output::Colour;

/// Linux's disk I/O schedulers, outside the kernel: which one, which knobs, and why?
#[derive(Debug, Parser)]
#[command(name = "blksched", version, max_term_width = 120, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) everywhere: Everywhere,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Options of every verb.
#[derive(Debug, Args)]
pub(crate) struct Everywhere {
    /// Whether to use colours: auto is on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t, hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    pub(crate) color: Colour,
}

impl Arguments {
    /// Parses these words. If they ask for help or are not understood, prints that and ends the process.
    pub(crate) fn of(words: Vec<OsString>) -> Arguments {
        Arguments::parse_from(words)
    }
}

const EXAMPLES: &str = "\
Examples:
  blksched compare                                  a desktop and a log beside a backup, under every scheduler
  blksched compare my.fio --disk sata-2009          your fio job on one of the built-in disks
  blksched compare dd cat:start=5s                  programs: cat of a directory while dd writes
  blksched compare x.blktrace.0:timing=closed       a recorded trace, its processes waiting as they did
  blksched compare my.fio --elevators deadline@2.6.33,deadline@4.20 --set deadline.fifo_batch=1
  blksched simulate my.fio --elevator deadline --output-format json
  blksched explain my.fio --slowest 5               why were the slowest I/Os slow, and who is to blame?
  blksched experiment horror                        a published table beside ours, and why
  blksched list                                     elevators, disks and workloads
  blksched list deadline                            its kernels, mechanisms and knobs
  blksched list nvme-ssd                            a disk's data sheet: our model beside its source

Exit codes: 0 done; 1 something outside failed (a file, a server), or a claim of an experiment does not hold; 2 the \
input was not understood. COLUMNS sets the length of lines [default: the terminal's, 120 in a pipe]; PAGER shows what \
does not fit the terminal; --color auto, always or never [default: auto, a terminal without NO_COLOR].";

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run one workload under several schedulers, and say what differs and why.
    Compare(crate::compare::CompareArguments),
    /// Ask every question on every class of disk: one page and one CSV of which scheduler wins, and by how much.
    Matrix(crate::compare::MatrixArguments),
    /// Run one workload under one scheduler, in depth.
    Simulate(crate::simulate::SimulateArguments),
    /// Tell where each I/O's time went, and who waited for whom, under which rule.
    Explain(crate::explain::ExplainArguments),
    /// Run a job on a real disk under each of its schedulers, beside what is predicted, and say how far that was right.
    #[cfg(all(feature = "pictures", target_os = "linux"))]
    Validate(crate::validate::ValidateArguments),
    /// Run experiments: published tables beside ours, and why they differ; without a name, list them.
    Experiment(crate::experiment::ExperimentArguments),
    /// Run a plan (loads, disks, schedulers, knobs, seeds) into Parquet files; resume where it stopped.
    #[cfg(feature = "sweep")]
    Sweep(crate::sweep::SweepArguments),
    /// Show elevators, disks, workloads, fio options; or one elevator with its knobs.
    List(ListArguments),
    /// Make, measure and translate models of disks.
    Disk(crate::disk::DiskArguments),
    /// Inspect recorded traces, and convert or cut them.
    Trace(crate::trace::TraceArguments),
    /// Say what a disk's processes wait for, and which change is worth a trial, from a minute of its load.
    #[cfg(target_os = "linux")]
    Advise(crate::advise::AdviseArguments),
    /// Record the I/O of this machine's disks as a trace that compare reads.
    #[cfg(target_os = "linux")]
    Record(crate::record::RecordArguments),
    /// Let a live disk's schedulers and knobs take turns under its own load, compare them, and put all back.
    #[cfg(target_os = "linux")]
    Trial(crate::trial::TrialArguments),
    /// Serve real disks over NBD, shared by weight and ordered by a scheduler.
    #[cfg(all(feature = "serve", target_os = "linux"))]
    Serve(crate::serve::ServeArguments),
    /// Inspect and change a running server.
    #[cfg(all(feature = "serve", target_os = "linux"))]
    Ctl(crate::serve::CtlArguments),
    /// Watch a server's exports: what each asks for and gets, and what it waits for.
    #[cfg(all(feature = "serve", target_os = "linux"))]
    Top(crate::top::TopArguments),
    /// Show exports of an NBD server as files in a directory (FUSE), for programs without NBD.
    #[cfg(all(feature = "serve", target_os = "linux"))]
    Mount(crate::mount::MountArguments),
    /// Show this machine's ublk devices (serve --ublk), or remove one whose server was killed.
    #[cfg(all(feature = "serve", target_os = "linux"))]
    Ublk(crate::ublk::UblkArguments),
    /// Put a load on one NBD server, or on several side by side, and measure the cost of a request.
    #[cfg(all(feature = "serve", target_os = "linux"))]
    Load(crate::load::LoadArguments),
    /// Print a completion script for a shell.
    #[cfg(feature = "completions")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write man pages into a directory.
    #[cfg(feature = "completions")]
    Man {
        /// The directory; created if it does not exist.
        directory: std::path::PathBuf,
    },
}
