//! The arguments of `simulate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::explain::Outputs;
use crate::pictures::Pictures;
use crate::rows::RowsOut;
use crate::scene::SceneArguments;

#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub(crate) struct SimulateArguments {
    #[command(flatten)]
    pub(crate) scene: SceneArguments,
    /// The scheduler, name[@kernel][+mechanism=variant][:knob=value]; of several disks each disk's, as in
    /// sda=bfq,sdb=none [default: what a kernel gives such a disk]
    #[arg(long, value_name = "NAME")]
    pub(crate) elevator: Option<String>,
    /// Write a row per request as CSV: all its times, what it waited for, and why its batch began (docs/schema.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) decisions: Option<PathBuf>,
    /// Print JSON instead of tables: what the jobs saw, and why (docs/schema.md)
    #[arg(long, conflicts_with = "output_format")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) outputs: Outputs,
    #[command(flatten)]
    pub(crate) pictures: Pictures,
    #[command(flatten)]
    pub(crate) rows: RowsOut,
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
