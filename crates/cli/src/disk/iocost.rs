//! `blksched disk iocost`: a disk's six figures, as the kernel's `io.cost.model` takes them.

use blksched_disks::sheet::six_figures;
use blksched_disks::{SixFigures, load};
use clap::Args;

use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct IocostArguments {
    /// The disk: a preset's name, iocost:MODEL or a TOML file
    #[arg(value_name = "NAME|FILE")]
    disk: String,
    /// The device's number, as in /sys/block/sda/dev
    #[arg(long, value_name = "MAJOR:MINOR", default_value = "8:0", value_parser = device)]
    device: String,
}

/// `8:16`.
fn device(text: &str) -> Result<String, String> {
    let is_number = |part: &str| part.parse::<u32>().is_ok();
    match text.split_once(':') {
        Some((major, minor)) if is_number(major) && is_number(minor) => Ok(text.to_owned()),
        _ => Err("expected a device's two numbers, as in 8:0".to_owned()),
    }
}

pub(super) fn run(arguments: &IocostArguments) -> Result<(), Failure> {
    let disk = load(&arguments.disk).map_err(Failure::input)?;
    let figures = six_figures(&disk).to_array();
    let words = SixFigures::NAMES.iter().zip(figures).map(|(name, figure)| format!(" {name}={figure}"));
    let line = format!("{} ctrl=user model=linear{}\n", arguments.device, words.collect::<String>());
    Ok(output::print(&line)?)
}
