//! `blksched disk`: disk models from known or measured data, and the export of a model's figures. One file per
//! subcommand.

mod fit;
mod grid;
mod guess;
mod import;
mod iocost;
mod measure;
#[cfg(feature = "fit")]
mod results;
#[cfg(not(feature = "fit"))]
#[path = "without/results.rs"]
mod results;

use blksched::Catalogue;
use clap::{Args, Subcommand};

use crate::failure::Failure;
#[cfg(target_os = "linux")]
pub(crate) use fit::of_files as fit_trace_files;
pub(crate) use grid::{MINUTES as GRID_MINUTES, job_file as grid_job};

/// Make, measure and translate models of disks.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiskArguments {
    #[command(subcommand)]
    verb: DiskVerb,
}

const EXAMPLES: &str = "\
Examples:
  blksched disk import cheetah9LP.model > cheetah.toml
                                                    a drive that DiskSim describes, as a disk for --disk
  blksched disk guess smartctl.txt lsblk.json       the preset nearest to a disk that these describe
  blksched disk measure /dev/sdb --out my.toml      a model of your disk, by reading only, with its error
  blksched disk fit sda.blktrace.*                  what a trace reveals about its disk, and what not
  blksched disk fit results/ --out my.toml          a model of fio's results at several depths, and its error
  blksched disk grid --print                        the fio job file that makes such results
  blksched disk iocost nvme-ssd --qos               the lines that io.cost.model and io.cost.qos take";

#[derive(Debug, Subcommand)]
enum DiskVerb {
    /// Name the preset nearest to a disk, by what smartctl, hdparm or lsblk printed about it.
    Guess(guess::GuessArguments),
    /// Print the TOML of a drive that DiskSim's files describe.
    Import(import::ImportArguments),
    /// Measure a disk from outside and write it as a model, with the error of that model.
    Measure(measure::MeasureArguments),
    /// Draw a model from a trace's commands or from benchmark results, and say what they cannot tell.
    Fit(fit::FitArguments),
    /// Print the fio job file whose results `disk fit` takes.
    Grid(grid::GridArguments),
    /// Print what `io.cost.model` takes for a disk: its six figures, measured on the model; optionally also a tuned
    /// `io.cost.qos`.
    Iocost(iocost::IocostArguments),
}

pub(crate) fn run(arguments: &DiskArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    match &arguments.verb {
        DiskVerb::Guess(arguments) => guess::run(arguments),
        DiskVerb::Fit(arguments) => fit::run(arguments),
        DiskVerb::Grid(arguments) => grid::run(arguments),
        DiskVerb::Measure(arguments) => measure::run(arguments),
        DiskVerb::Import(arguments) => import::run(arguments),
        DiskVerb::Iocost(arguments) => iocost::run(arguments, catalogue),
    }
}
