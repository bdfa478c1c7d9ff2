//! `blksched trace`: summarises a recorded trace, and converts it.

mod convert;
mod info;
mod parquet;
mod write;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::output;
use crate::scene::FileName;
use blksched_measure::Table;
use blksched_traces::presets::presets;

pub(crate) use write::To;

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

/// Runs the verb.
pub(crate) fn run(verb: &TraceVerb) -> Result<(), Failure> {
    match verb {
        TraceVerb::Info(arguments) => info::run(arguments),
        TraceVerb::Convert(arguments) => convert::run(arguments, convert::Change::None),
        TraceVerb::Cut(arguments) => convert::run(arguments, convert::Change::Part),
        TraceVerb::Anonymise(arguments) => convert::run(arguments, convert::Change::Anonymous),
        TraceVerb::Formats => Ok(output::print(&output::render(&formats(), output::Look::Text))?),
    }
}

fn formats() -> Table {
    let columns = [("format", "format"), ("title", "what"), ("lines", "how to describe its lines")];
    let mut table = crate::list::words("text formats; a trace's format is recognised by its content", &columns);
    for preset in presets() {
        table.row([preset.name.into(), preset.title.into(), preset.described.into()]);
    }
    table.note("binary formats, and kernels' text: blktrace, blkparse, tracefs, VMware vscsi 1 and 2");
    table.note(
        "any other: FILE:columns=…[,separator=;][,skip_lines=1], FILE:line='… {time@ms} … {op} …', or a description in",
    );
    table.note(
        "TOML as FILE:format=mine.toml; a column is time@s|ms|us|100ns|ns|ps, response@…, op or op@r0w1|w0r1|flags,",
    );
    table.note("offset@B|512B|4KiB|…, size@…, device, host, disk, major, minor, process, pid, or - for one to ignore");
    table
}
