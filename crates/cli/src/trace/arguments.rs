//! The arguments of `trace`.

use clap::{Args, Subcommand};

use super::write::To;
use crate::scene::FileName;

/// What to do with a trace.
#[derive(Debug, Args)]
pub(crate) struct TraceArguments {
    #[command(subcommand)]
    pub(crate) verb: TraceVerb,
}

/// What can be done with traces.
#[derive(Debug, Subcommand)]
pub(crate) enum TraceVerb {
    /// Show what a trace contains, and first of all whether it can support a verdict about queueing.
    Info(InfoArguments),
    /// Write a trace, or a part of it, in another format.
    Convert(ConvertArguments),
    /// Write a part of a trace: give at least one of device=, process=, from=, to=, op= after the file's name.
    Cut(ConvertArguments),
    /// Write a trace without names and addresses; order and distances are kept.
    Anonymise(ConvertArguments),
    /// Show the known text formats, and how to describe each.
    Formats,
}

#[derive(Debug, Args)]
#[command(after_help = INFO_EXAMPLES)]
pub(crate) struct InfoArguments {
    /// The trace: a file, one of several per CPU, or the common beginning of their names, or s3://BUCKET/KEY; gzip,
    /// zstd and bzip2 are unpacked
    #[arg(value_name = "TRACE[:NAME=VALUE,…]", required = true, value_parser = FileName)]
    pub(crate) traces: Vec<String>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

const INFO_EXAMPLES: &str = "\
Examples:
  blksched trace info sda.blktrace.0                           all CPUs' files of this trace
  blksched trace info week.csv.gz:device=srv.2,from=1h,to=2h   a part of it
  blksched trace info 's3://traces/2026/*.csv.gz'              from an object store (docs/traces.md)
  blksched trace info 'x.log:line=\"[{time@ms} ms] disk{disk} op={op} lba={offset@512B} len={size}\"'
  blksched trace info x.csv:columns=time@us,op,offset@B,size@B,damage=skipped";

#[derive(Debug, Args)]
#[command(after_help = CONVERT_EXAMPLES)]
pub(crate) struct ConvertArguments {
    /// The trace, as for info
    #[arg(value_name = "TRACE[:NAME=VALUE,…]", value_parser = FileName)]
    pub(crate) trace: String,
    /// The file to write; it must not exist
    #[arg(value_name = "OUT")]
    pub(crate) out: std::path::PathBuf,
    /// The format [default: by the ending of OUT: .csv, .iolog, .blktrace.0, .parquet]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) to: Option<To>,
    /// Overwrite OUT if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

const CONVERT_EXAMPLES: &str = "\
Submissions and completions are written; merges, plugs and messages are not.

Examples:
  blksched trace convert week.csv.bz2:device=7 volume-7.blktrace.0
  blksched trace convert sda.blktrace.0 sda.parquet
  blksched trace cut sda.blktrace.0:from=10s,to=20s,process=mysqld ten-seconds.csv
  blksched trace anonymise production.blktrace.0 to-mail.csv";
