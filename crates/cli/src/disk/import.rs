//! `blksched disk import`: a drive that another simulator's files describe, as a TOML file of ours.

use std::path::PathBuf;

use blksched_disks::{disksim, parse};
use clap::Args;

use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// DiskSim's DRIVE.model, with DRIVE.seek and DRIVE.diskspecs beside it
    #[arg(value_name = "FILE.model")]
    model: PathBuf,
    /// DRIVE.diskspecs, if its name is not the model's
    #[arg(value_name = "FILE.diskspecs")]
    specs: Option<PathBuf>,
}

pub(super) fn run(arguments: &ImportArguments) -> Result<(), Failure> {
    let text = match &arguments.specs {
        Some(specs) => disksim::import_with(&arguments.model, specs),
        None => disksim::import(&arguments.model),
    };
    let text = text.map_err(Failure::input)?;
    // What is printed must be a valid disk.
    parse(&arguments.model.display().to_string(), &text).map_err(Failure::input)?;
    Ok(output::print(&text)?)
}
