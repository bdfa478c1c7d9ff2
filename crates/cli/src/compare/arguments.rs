//! The arguments of `compare`.

use blksched::Span;
use blksched_lab::verdict::price::MOST as MAX_PRICE;
use blksched_lab::{Comparison, FitSearch};
use clap::{Args, ValueEnum};

use crate::pictures::Pictures;
use crate::rows::RowsOut;
use crate::scene::{SceneArguments, some_time};

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct CompareArguments {
    #[command(flatten)]
    pub(crate) scene: SceneArguments,
    /// The schedulers, name[@kernel][+mechanism=variant][:knob=value[/value…]]; the first is your default, with which
    /// the others are compared; nr_requests, queue_depth, read_ahead_kb, max_sectors_kb and wbt_lat_usec are knobs too;
    /// of several disks each by its name, as in sda=bfq,mq-deadline,sdb=none (docs/stack.md)
    /// [default: those of present kernels, the kernel's own choice for such a disk first]
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
    #[arg(group = "as_many_runs_as_it_takes")]
    pub(crate) tune: Option<String>,
    /// Run more seeds, doubling them each time, until the question is decided or --budget is reached
    #[arg(long, group = "as_many_runs_as_it_takes")]
    pub(crate) until_sure: bool,
    /// How many seeds --until-sure runs at most [default: 40], or how many runs --tune makes [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    #[arg(requires = "as_many_runs_as_it_takes")]
    pub(crate) budget: Option<u32>,
    /// How many threads run at a time [default: one per core]; the results are the same on any number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// For how long nothing counts at the beginning of each job, so that io.cost's rate, limits and caches settle; the
    /// length, --time too, comes after it [default: as a pilot finds; 5s more where io.latency is asked for]
    #[arg(long, value_name = "TIME", value_parser = some_time, allow_hyphen_values = true)]
    pub(crate) settle: Option<Span>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Print Markdown tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print CSV: a row per scheduler, seed, job and figure (docs/schema.md)
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub(crate) csv: bool,
    /// Print everything that was found: every table, difference, cause and note
    #[arg(long, conflicts_with_all = ["json", "csv", "emit"])]
    pub(crate) details: bool,
    /// The same with all columns, in lines as long as they need
    #[arg(long)]
    pub(crate) wide: bool,
    /// Also run schedulers that no present kernel has: deadline and cfq
    #[arg(long, conflicts_with_all = ["elevators", "tune"])]
    pub(crate) historical: bool,
    /// How many times worse a key figure of a job that is not background may become for the sake of other jobs; beyond
    /// that, nothing is proposed unless --goal says what counts
    #[arg(long, value_name = "TIMES", default_value_t = MAX_PRICE, value_parser = max_price)]
    pub(crate) max_price: f64,
    /// How much may be simulated: 1 is about ten seconds of a processor for five seeds; more makes runs longer, where
    /// that is what limits them
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = effort)]
    pub(crate) effort: f64,
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
    pub(crate) pictures: Pictures,
    #[command(flatten)]
    pub(crate) rows: RowsOut,
    /// The disk that --emit is for: its name on this machine, as in sda, or model:TEXT, or path:TEXT
    #[arg(long, value_name = "DISK", requires = "emit")]
    pub(crate) on: Option<String>,
}

impl CompareArguments {
    /// The question, without how its answer is printed.
    pub(crate) fn comparison(&self) -> Comparison {
        Comparison {
            elevators: self.elevators.clone(),
            until_sure: self.until_sure,
            tune: self.tune.clone(),
            budget: self.budget,
            threads: self.threads,
            settle: self.settle,
            goal: self.goal.clone(),
            historical: self.historical,
            max_price: self.max_price,
            effort: self.effort,
            // Rows of samples, and a file for the system, have no place for what a verdict depends on.
            fits: match (self.csv || self.emit.is_some(), self.sensitivity) {
                (true, _) => FitSearch::None,
                (false, true) => FitSearch::Each,
                (false, false) => FitSearch::Tables,
            },
            ..Comparison::of(self.scene.scene(), self.seeds)
        }
    }
}

/// Parses how many times worse something may become.
fn max_price(text: &str) -> Result<f64, String> {
    between(text, (1.0, 1e6), "1.5")
}

/// Parses how much may be simulated.
pub(crate) fn effort(text: &str) -> Result<f64, String> {
    between(text, (0.01, 1e4), "10")
}

fn between(text: &str, (least, most): (f64, f64), example: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("expected a number from {least} to {most}, as in {example}"))
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
    /// A unit for systemd, which writes into sysfs at every start.
    Systemd,
}

impl Emit {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Emit::Udev => "udev",
            Emit::Tuned => "tuned",
            Emit::Sysfs => "sysfs",
            Emit::Systemd => "systemd",
        }
    }
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  blksched compare
  blksched compare my.fio --disk my-disk.toml --seeds 10 --details
  blksched compare my.fio --goal 'db: p99 read, wal: p99 fsync, backup: finish < 2h' --until-sure
  blksched compare my.fio --elevators mq-deadline,mq-deadline:fifo_batch=1/4/64,bfq:slice_idle=0
  blksched compare my.fio --disk sata-ssd --emit udev --on sda
  blksched compare my.fio --disk sda=hdd,sdb=usb --elevators sda=bfq,mq-deadline,sdb=none
  blksched compare my.fio --tune mq-deadline --budget 200
  blksched compare my.fio --disk nvme --host cpus=1..64,cpu=icpe-10core     curves over the number of processors
  blksched compare my.fio --why mq-deadline,bfq     the first decision that differs, with both reasons
  blksched compare priorities --goal priorities     are I/O priorities kept?
  blksched compare four-streams --elevators noop,deadline --depth 1
  blksched compare my.fio --elevators deadline@2.5.45,deadline@2.5.45+order=tree --json";
