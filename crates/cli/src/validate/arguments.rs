//! The arguments of `validate`.

use std::path::PathBuf;

use blksched::Span;
use blksched_workloads::host::fs::FsMount;
use clap::Args;

use crate::scene::{FileName, some_time};

const EXAMPLES: &str = "\
Examples:
  blksched validate reads.fio --on /dev/sdb --disk my-disk.toml
  blksched validate mixed.fio --on /dev/sdb --disk my-disk.toml --destroy --repeats 3
  blksched validate db.fio --on /mnt/scratch --disk sata-ssd             in a folder of its own there
  blksched validate mixed.fio --on /mnt/scratch/file --disk sata-ssd --destroy --switch
  blksched validate copy.fio --on sda=/dev/sdb,sdc=/dev/sdd --disk sda=sata-ssd,sdc=usb-stick --destroy
  blksched validate reads.fio --on /dev/sdb --disk my-disk.toml --parse-only    what would be done";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ValidateArguments {
    /// The job file; --on replaces its jobs' file names, or the folder that they are in
    #[arg(value_name = "JOB.fio")]
    pub(crate) job: PathBuf,
    /// The disk, file or folder to run it on: a disk must not be in use, all files become one file, and in a folder the
    /// job's own files are made in a new one, which is removed. For a job on several disks, each by the name that the
    /// job gives it: sda=/dev/sdb,sdc=/mnt/scratch/file
    #[arg(long, value_name = "PATH|NAME=PATH,…")]
    pub(crate) on: String,
    /// The model of that disk: a preset's name or a TOML file (`blksched disk measure` makes one); of several disks
    /// each, as in sda=sata-ssd,sdc=usb-stick
    #[arg(long, value_name = "NAME|FILE", value_parser = FileName)]
    pub(crate) disk: String,
    /// Of several disks, the one whose schedulers are measured; the others keep theirs [default: the first of --on]
    #[arg(long, value_name = "NAME")]
    pub(crate) vary: Option<String>,
    /// The file system below PATH, as in ext4:commit=30 or xfs [default: as /proc/self/mountinfo says]
    #[arg(long, value_name = "NAME[:OPTION,…]", value_parser = FsMount::named)]
    pub(crate) fs: Option<FsMount>,
    /// How long each run lasts
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = some_time)]
    pub(crate) time: Span,
    /// How often to measure each scheduler
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeats: u32,
    /// The schedulers [default: all that the disk's kernel offers]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) elevators: Vec<String>,
    /// The data on PATH may be overwritten; without this, only jobs that read are run, except in a folder
    #[arg(long)]
    pub(crate) destroy: bool,
    /// Change the scheduler of disks that others use too, after asking
    #[arg(long)]
    pub(crate) switch: bool,
    /// Do not ask
    #[arg(long, requires = "switch")]
    pub(crate) yes: bool,
    /// Write measured beside predicted as one HTML file that needs no network (docs/report.md)
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Print what would be done, but do nothing
    #[arg(long)]
    pub(crate) parse_only: bool,
}
