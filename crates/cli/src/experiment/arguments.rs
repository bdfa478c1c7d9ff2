//! The arguments of `experiment`.

use clap::{Args, ValueEnum};

use crate::scene::FileName;

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
    #[cfg(feature = "pictures")]
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<std::path::PathBuf>,
    /// Also print each run of the first seed second by second, in vmstat's layout
    #[arg(long, conflicts_with = "json", num_args = 0, default_value = "off", default_missing_value = "running")]
    pub(crate) vmstat: Vmstat,
    /// Instead: what the published numbers prove. Also runs each experiment with no scheduler, with one and the same
    /// scheduler in every column, and with every knob at its default, and says which numbers a scheduler can move and
    /// which of these ours has beyond the best of those null models (several times the time); with --csv all values
    #[cfg_attr(feature = "pictures", arg(long, conflicts_with_all = ["json", "report", "vmstat"]))]
    #[cfg_attr(not(feature = "pictures"), arg(long, conflicts_with_all = ["json", "vmstat"]))]
    pub(crate) null: bool,
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
  blksched experiment horror --null
  blksched experiment my/experiment.toml --seed 21 --seeds 20 --json

Exit code 1: a claimed row lies outside its bound.";

impl ExperimentArguments {
    /// Whether a report is to be written.
    pub(super) fn wants_report(&self) -> bool {
        #[cfg(feature = "pictures")]
        return self.report.is_some();
        #[cfg(not(feature = "pictures"))]
        false
    }
}
