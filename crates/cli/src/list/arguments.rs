//! The arguments of `list`.

use clap::Args;

use crate::scene::FileName;

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
