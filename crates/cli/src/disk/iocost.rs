//! `blksched disk iocost`: a disk's parameters for the kernel's `io.cost.model` and `io.cost.qos`.

use std::sync::Arc;

use blksched::{Catalogue, Dir};
use blksched_disks::sheet::six_figures;
use blksched_disks::{SixFigures, load};
use blksched_measure::{Column, Quantity, Table};
use blksched_simulate::{Point, TunedQos, tuned_qos};
use clap::Args;

use crate::failure::Failure;
use crate::output;
use crate::scene::FileName;

#[derive(Debug, Args)]
pub(crate) struct IocostArguments {
    /// The disk: a preset's name, iocost:MODEL or a TOML file
    #[arg(value_name = "NAME|FILE", value_parser = FileName)]
    disk: String,
    /// The device's number, as in /sys/block/sda/dev
    #[arg(long, value_name = "MAJOR:MINOR", default_value = "8:0", value_parser = device)]
    device: String,
    /// Search for a tuned `io.cost.qos` too, and print its line after the model's; this takes a few seconds
    #[arg(long)]
    qos: bool,
    /// With --qos: the figures behind it, as a table on standard error
    #[arg(long, requires = "qos")]
    why: bool,
}

/// Parses `8:16`.
fn device(text: &str) -> Result<String, String> {
    let is_number = |part: &str| part.parse::<u32>().is_ok();
    match text.split_once(':') {
        Some((major, minor)) if is_number(major) && is_number(minor) => Ok(text.to_owned()),
        _ => Err("expected a device's two numbers, as in 8:0".to_owned()),
    }
}

pub(super) fn run(arguments: &IocostArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    let disk = load(&arguments.disk).map_err(Failure::input)?;
    let figures = six_figures(&disk).to_array();
    let words = SixFigures::NAMES.iter().zip(figures).map(|(name, figure)| format!(" {name}={figure}"));
    let mut lines = format!("{} ctrl=user model=linear{}\n", arguments.device, words.collect::<String>());
    if arguments.qos {
        let none = catalogue.parse("none").map_err(Failure::input)?;
        let tuned = tuned_qos(&Arc::new(disk), &none);
        let tuned = tuned.map_err(|why| Failure::Input(format!("{}: {why}", arguments.disk)))?;
        lines += &format!("{} {}\n", arguments.device, tuned.text());
        if arguments.why {
            eprint!("{}", output::render(&table(&tuned), output::TableStyle::Text));
        }
    }
    Ok(output::print(&lines)?)
}

fn table(tuned: &TunedQos) -> Table {
    let columns = [
        Column::words("rate", "of the model"),
        Column::words("rtook", "a read takes"),
        Column::words("wtook", "a write takes"),
    ];
    let mut table =
        Table::new("4 KiB at random from four jobs of depth 64, after io.cost has let it through", columns.into());
    for Point { percent, took } in &tuned.points {
        let of = |dir: Dir| Quantity::Time.show(took[dir].as_ns() as f64);
        let cells = [format!("{percent} %")].into_iter().chain(Dir::BOTH.map(of));
        table.row(cells.map(Into::into));
    }
    let bound = |dir: Dir| Quantity::Time.show(tuned.bounds[dir].as_ns() as f64);
    table.note(format!(
        "max={} is the last rate before a read takes more than {} or a write more than {}: \
         twice what they take at 10 %; min is half of it",
        tuned.max,
        bound(Dir::Read),
        bound(Dir::Write)
    ));
    table
}
