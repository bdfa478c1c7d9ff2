//! The arguments of the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::output::Colour;
use crate::scene::{FileName, Scene};
use crate::trace::TraceVerb;

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

/// The command line of `list` alone, parsed without building the options of all other verbs, which takes longer.
#[derive(Debug, Parser)]
#[command(name = "blksched", disable_help_subcommand = true)]
struct Listing {
    #[command(flatten)]
    everywhere: Everywhere,
    #[command(subcommand)]
    verb: OnlyList,
}

#[derive(Debug, Subcommand)]
enum OnlyList {
    List(ListArguments),
}

impl Arguments {
    /// Parses these words. If they ask for help or are not understood, prints that and ends the process.
    pub(crate) fn of(words: Vec<OsString>) -> Arguments {
        Arguments::of_list(&words).unwrap_or_else(|| Arguments::parse_from(words))
    }

    /// The arguments of a plain `list`; `None` for anything else, whose errors the whole command line reports.
    fn of_list(words: &[OsString]) -> Option<Arguments> {
        words.get(1).filter(|verb| *verb == "list")?;
        let Listing { everywhere, verb: OnlyList::List(arguments) } = Listing::try_parse_from(words).ok()?;
        Some(Arguments { everywhere, verb: Verb::List(arguments) })
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
  blksched list hdd-7200                            a disk's data sheet: our model beside its source

Exit codes: 0 done; 1 something outside failed (a file, a server), or a claim of an experiment does not hold; 2 the \
input was not understood. COLUMNS sets the length of lines [default: the terminal's, 120 in a pipe]; PAGER shows what \
does not fit the terminal; --color auto, always or never [default: auto, a terminal without NO_COLOR].";

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run one workload under several schedulers, and say what differs and why.
    Compare(CompareArguments),
    /// Ask every question on every class of disk: one page and one CSV of which scheduler wins, and by how much.
    Matrix(crate::compare::MatrixArguments),
    /// Run one workload under one scheduler, in depth.
    Simulate(SimulateArguments),
    /// Tell where each I/O's time went, and who waited for whom, under which rule.
    Explain(crate::explain::ExplainArguments),
    /// Run a job on a real disk under each of its schedulers, beside what is predicted, and say how far that was right.
    #[cfg(target_os = "linux")]
    Validate(crate::validate::ValidateArguments),
    /// Run experiments: published tables beside ours, and why they differ; without a name, list them.
    Experiment(ExperimentArguments),
    /// Run a plan (loads, disks, schedulers, knobs, seeds) into Parquet files; resume where it stopped.
    #[cfg(feature = "sweep")]
    Sweep(crate::sweep::SweepArguments),
    /// Show elevators, disks, workloads, fio options; or one elevator with its knobs.
    List(ListArguments),
    /// Make, measure and translate models of disks.
    Disk(crate::disk::DiskArguments),
    /// Inspect recorded traces, and convert or cut them.
    Trace(TraceArguments),
    /// Record the I/O of this machine's disks as a trace that compare reads.
    #[cfg(target_os = "linux")]
    Record(crate::record::RecordArguments),
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
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write man pages into a directory.
    Man {
        /// The directory; created if it does not exist.
        directory: PathBuf,
    },
}

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct CompareArguments {
    #[command(flatten)]
    pub(crate) scene: Scene,
    /// The schedulers, name[@kernel][+mechanism=variant][:knob=value[/value…]]; the first is your default, with which
    /// the others are compared; nr_requests, queue_depth, read_ahead_kb, max_sectors_kb and wbt_lat_usec are knobs too
    /// [default: those of present kernels, the kernel's own choice for such a disk first, and historical ones]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) elevators: Vec<String>,
    /// Instead of a table: the first moment at which these two schedulers decide differently, with both reasons
    #[arg(long, value_name = "A,B", value_delimiter = ',', conflicts_with_all = ["elevators", "tune", "until_sure"])]
    #[arg(conflicts_with_all = ["goal", "emit", "csv", "markdown", "seeds", "budget", "threads", "wide"])]
    pub(crate) why: Option<Vec<String>>,
    /// How many seeds to run each with
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: u32,
    /// Search the knobs of this scheduler, and of the queue around it, for the goal, with --budget runs; the result is
    /// checked on seeds that the search has not seen
    #[arg(long, value_name = "NAME", conflicts_with_all = ["elevators", "until_sure"])]
    pub(crate) tune: Option<String>,
    /// Run more seeds, doubling them each time, until the question is decided or --budget is reached
    #[arg(long)]
    pub(crate) until_sure: bool,
    /// How many seeds --until-sure runs at most [default: 40], or how many runs --tune makes [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) budget: Option<u32>,
    /// How many threads run at a time [default: one per core]; the results are the same on any number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Print Markdown tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print CSV: a row per scheduler, seed, job and figure (docs/schema.md)
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub(crate) csv: bool,
    /// Print all columns, in lines as long as they need
    #[arg(long)]
    pub(crate) wide: bool,
    /// What counts: JOB: FIGURE, …, as in 'db: p99 read, wal: p99 fsync, backup: finish < 2h'; or one of balance,
    /// read-latency, write-latency, read-bandwidth, write-bandwidth, fairness, priorities [default: balance: every job
    /// by its role]
    #[arg(long, value_name = "GOAL")]
    pub(crate) goal: Option<String>,
    /// Print the recommended change as a file for the system instead of tables
    #[arg(long, value_name = "WHAT", value_enum, conflicts_with_all = ["json", "csv", "markdown"])]
    pub(crate) emit: Option<Emit>,
    /// Try every fitted value of the disk's model at both ends of its plausible range, one at a time: does the verdict
    /// depend on it? (Without this option, one table of the file at a time, for a few seconds at most.)
    #[arg(long, conflicts_with_all = ["tune", "csv", "emit"])]
    pub(crate) sensitivity: bool,
    #[command(flatten)]
    pub(crate) pictures: crate::report::Pictures,
    #[command(flatten)]
    pub(crate) rows: crate::rows::RowsOut,
    /// The disk that --emit is for: its name on this machine, as in sda, or model:TEXT, or path:TEXT
    #[arg(long, value_name = "DISK", requires = "emit")]
    pub(crate) on: Option<String>,
}

/// What to do with a trace.
#[derive(Debug, Args)]
pub(crate) struct TraceArguments {
    #[command(subcommand)]
    pub(crate) verb: TraceVerb,
}

impl CompareArguments {
    /// The comparison of this scene with this many seeds, all else at its default.
    pub(crate) fn of(scene: Scene, seeds: u32, threads: Option<u32>) -> CompareArguments {
        CompareArguments {
            scene,
            elevators: Vec::new(),
            why: None,
            seeds,
            tune: None,
            until_sure: false,
            budget: None,
            threads,
            json: false,
            markdown: false,
            csv: false,
            wide: false,
            goal: None,
            emit: None,
            sensitivity: false,
            on: None,
            pictures: crate::report::Pictures::default(),
            rows: crate::rows::RowsOut::default(),
        }
    }
}

/// What makes a scheduler better than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Goal {
    /// Every job by its role: latency-bound jobs by how long reads and syncs take, bulk jobs by bandwidth, background
    /// jobs not at all.
    Balance,
    /// The mean latency of reads.
    ReadLatency,
    /// The mean latency of writes.
    WriteLatency,
    /// The bandwidth of all reads.
    ReadBandwidth,
    /// The bandwidth of all writes.
    WriteBandwidth,
    /// Jain's index of the disk time that jobs got for what they asked for.
    Fairness,
    /// The part of the disk's time that goes where I/O priorities ask.
    Priorities,
}

impl Goal {
    /// The words after "2.00 times better than …".
    pub(crate) fn name(self) -> &'static str {
        match self {
            Goal::Balance => "on each job's key figures",
            Goal::ReadLatency => "in read latency",
            Goal::WriteLatency => "in write latency",
            Goal::ReadBandwidth => "in read bandwidth",
            Goal::WriteBandwidth => "in write bandwidth",
            Goal::Fairness => "in fairness",
            Goal::Priorities => "in keeping the priorities",
        }
    }
}

/// Files that a comparison can be turned into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Emit {
    /// A udev rule, with the lines that apply and undo it, and the evidence as comments.
    Udev,
    /// A profile for tuned, which restores the previous state when another profile is chosen.
    Tuned,
    /// A script that writes into sysfs, and restores the previous state.
    Sysfs,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  blksched compare
  blksched compare my.fio --disk my-disk.toml --seeds 10
  blksched compare my.fio --goal 'db: p99 read, wal: p99 fsync, backup: finish < 2h' --until-sure
  blksched compare my.fio --elevators mq-deadline,mq-deadline:fifo_batch=1/4/64,bfq:slice_idle=0
  blksched compare my.fio --disk sata-ssd --emit udev --on sda
  blksched compare my.fio --tune mq-deadline --budget 200
  blksched compare my.fio --why mq-deadline,bfq     the first decision that differs, with both reasons
  blksched compare priorities --goal priorities     are I/O priorities kept?
  blksched compare four-streams --elevators noop,deadline --depth 1
  blksched compare my.fio --elevators deadline@2.5.45,deadline@2.5.45+order=tree --json";

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct SimulateArguments {
    #[command(flatten)]
    pub(crate) scene: Scene,
    /// The scheduler, name[@kernel][+mechanism=variant][:knob=value] [default: what a kernel gives such a disk]
    #[arg(long, value_name = "NAME")]
    pub(crate) elevator: Option<String>,
    /// Write a row per request as CSV: all its times, what it waited for, and why its batch began (docs/schema.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) decisions: Option<PathBuf>,
    /// Print JSON instead of tables: what the jobs saw, and why (docs/schema.md)
    #[arg(long, conflicts_with = "output_format")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) outputs: crate::explain::Outputs,
    #[command(flatten)]
    pub(crate) pictures: crate::report::Pictures,
    #[command(flatten)]
    pub(crate) rows: crate::rows::RowsOut,
    /// How to print what the jobs did
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = OutputFormat::Normal)]
    pub(crate) output_format: OutputFormat,
}

/// fio's own output formats, as far as they are supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Tables, with the reasons.
    Normal,
    /// fio's own JSON: same keys, same units.
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = EXPERIMENT_EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct ExperimentArguments {
    /// Experiments that come with the program, or TOML files of your own (docs/experiments.md shows how)
    #[arg(value_name = "NAME|FILE", value_parser = FileName)]
    pub(crate) names: Vec<String>,
    /// Run every experiment that comes with the program
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    /// The first seed [default: the experiment's, usually 1]
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// How many seeds to run each with [default: the experiment's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: Option<u32>,
    /// Print JSON instead of tables: an object, or a list of them for several experiments
    #[arg(long)]
    pub(crate) json: bool,
    /// Print CSV: a line per row of the table and seed (docs/schema.md)
    #[arg(long, conflicts_with_all = ["json", "vmstat"])]
    pub(crate) csv: bool,
    /// Write published values beside ours as one HTML file that needs no network (docs/report.md)
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Also print each run of the first seed second by second, in vmstat's layout
    #[arg(long, conflicts_with = "json", num_args = 0, default_value = "off", default_missing_value = "running")]
    pub(crate) vmstat: Vmstat,
    /// Load and check everything, but run nothing
    #[arg(long)]
    pub(crate) parse_only: bool,
}

/// Whether to print the seconds of each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Vmstat {
    /// Do not.
    Off,
    /// All of them.
    Running,
}

const EXPERIMENT_EXAMPLES: &str = "\
Examples:
  blksched experiment
  blksched experiment horror
  blksched experiment readers-vs-dd --vmstat
  blksched experiment --all
  blksched experiment my/experiment.toml --seed 21 --seeds 20 --json

Exit code 1: a claimed row lies outside its bound.";

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// `elevators`, `disks`, `workloads`, `fio`, `host`, `cpu`, `programs`, `measures`,
    /// `iocost`, or the name of an elevator (name[@kernel]) or a disk [default: the first three]
    #[arg(value_parser = FileName)]
    pub(crate) what: Option<String>,
    /// Of a disk: try every fitted value of its model at both ends of its plausible range; which of its basic figures
    /// depend on it, and does the verdict of a plain `blksched compare`
    #[arg(long, requires = "what")]
    pub(crate) sensitivity: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_list_is_understood_as_by_the_whole_command_line() {
        let words = |line: &str| -> Vec<OsString> { line.split(' ').map(OsString::from).collect() };
        let plain = ["list", "list disks", "list hdd-7200 --sensitivity", "list --json --color never", "list -- fio"];
        for line in plain.map(|line| words(&format!("blksched {line}"))) {
            let whole = Arguments::try_parse_from(&line).expect("it is right");
            assert_eq!(format!("{:?}", Arguments::of_list(&line).expect("it is plain")), format!("{whole:?}"));
        }
        for line in ["blksched list --help", "blksched list --jsn", "blksched list --sensitivity", "blksched"] {
            assert!(Arguments::of_list(&words(line)).is_none(), "{line}");
        }
    }
}
