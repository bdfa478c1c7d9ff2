//! The arguments of `explain`.

use blksched::Span;
use clap::Args;

use super::watch::Outputs;
use crate::pictures::Pictures;
use crate::rows::RowsOut;
use crate::scene::SceneArguments;

const EXAMPLES: &str = "\
Examples:
  blksched explain                                  why the default load's slowest I/Os are slow: the answer first,
                                                    then each, and who waited for whom
  blksched explain my.fio --elevator bfq --slowest 10
  blksched explain my.fio --process pgdata/3        the slowest of one process
  blksched explain recorded.trace.gz --at 12.5s     everything in flight at one moment
  blksched explain my.fio --request 1234            one I/O, piece by piece
  blksched explain my.fio --blame                   only who waited for whom, under which rule
  blksched explain my.fio --remedies                what would make a slow fsync on a file system faster
  blksched explain my.fio --perfetto run.pftrace    the run as a picture: open it at ui.perfetto.dev
docs/explain.md says how time is attributed.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    pub(crate) scene: SceneArguments,
    /// The scheduler, name[@kernel][+mechanism=variant][:knob=value]; of several disks each disk's, as in
    /// sda=bfq,sdb=none [default: what a kernel gives such a disk]
    #[arg(long, value_name = "NAME")]
    pub(crate) elevator: Option<String>,
    /// How many I/Os to show, the slowest first [default: 5; with --at 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) slowest: Option<u32>,
    /// Only the I/O with this number (in order of submission, from 1), piece by piece
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) request: Option<u64>,
    /// Only I/Os in progress at this moment of the run, as in 2.5s
    #[arg(long, value_name = "TIME", value_parser = moment, allow_hyphen_values = true)]
    pub(crate) at: Option<Span>,
    /// Only I/Os of this process: a job's name, or name/number for one of several
    #[arg(long, value_name = "P")]
    pub(crate) process: Option<String>,
    /// Only show the answer and who waited for whom, over the whole run
    #[arg(long, conflicts_with_all = ["slowest", "request", "at"])]
    pub(crate) blame: bool,
    /// Also try what may make syncs on a file system shorter, each in a run of its own: other schedulers, write_expire,
    /// commit=, the log on a disk of its own, a group's io.max, fdatasync in written files
    #[arg(long)]
    pub(crate) remedies: bool,
    #[command(flatten)]
    pub(crate) outputs: Outputs,
    #[command(flatten)]
    pub(crate) pictures: Pictures,
    #[command(flatten)]
    pub(crate) rows: RowsOut,
    /// Print JSON (docs/schema.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// A moment of the run; a plain number is in seconds.
fn moment(text: &str) -> Result<Span, String> {
    let seconds = text.trim().parse::<f64>().is_ok().then(|| format!("{}s", text.trim()));
    seconds.as_deref().unwrap_or(text).parse::<Span>().map_err(|error| error.to_string())
}
