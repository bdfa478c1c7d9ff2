//! `blksched list DISK`: its data sheet, its accuracy, and its settings on a host.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_disks::DiskSpec;
use blksched_disks::sheet::{self, FigureUnit};
use blksched_lab::scene::{HostSettings, PRESENT};
use blksched_measure::{Column, Quantity, Table};
use blksched_simulate::{Surroundings, Trial};
use blksched_workloads::Plan;

use crate::failure::Failure;
use crate::used;

/// A disk's data sheet, and what depends on its fitted values.
pub(super) fn sensitivity(name: &str, catalogue: &Catalogue) -> Result<Vec<Table>, Failure> {
    let disk = blksched_disks::load(name).map_err(|error| Failure::Input(error.to_string()))?;
    let mut tables = vec![data_sheet(&disk, catalogue)];
    match crate::compare::disk_table(&disk, catalogue)? {
        Some(table) => tables.push(table),
        None => {
            tables[0]
                .note("its file names no fitted values with plausible ranges under [fit], so there is nothing to try");
        }
    }
    Ok(tables)
}

/// Figures of the disk alone, beside those of its source.
pub(super) fn data_sheet(disk: &DiskSpec, catalogue: &Catalogue) -> Table {
    let columns = [
        Column::words("figure", "figure"),
        Column::words("meaning", "what it is"),
        Column::words("model", "our model"),
        Column::words("published", "its source says"),
        Column::numbers("ratio", "ours/source", Quantity::Ratio),
        Column::words("source", "source"),
    ];
    let mut table = Table::new(format!("{}: {}", disk.name, disk.description), columns.to_vec());
    for line in sheet::data_sheet(disk) {
        let show = |value| match line.figure.unit() {
            FigureUnit::Rate => format!("{:.1}MB/s", value / 1e6),
            FigureUnit::PerSecond => format!("{value:.0}/s"),
            FigureUnit::Time => Quantity::Time.show(value),
        };
        let published = line.published.as_ref().map(|published| show(published.value as f64));
        table.row([
            line.figure.name().into(),
            line.figure.meaning_on(disk).into(),
            show(line.model).into(),
            published.into(),
            line.ratio().into(),
            line.published.as_ref().map(|published| published.source.clone()).into(),
        ]);
    }
    table.note(
        "measured on the bare model at rest, without scheduler or host; rates in powers of 1000 as on data sheets",
    );
    if let Some(line) = around(disk, catalogue) {
        table.note(line);
    }
    table.note(format!("validated: {}", sheet::truth(disk).sentence()));
    let fitted = disk.fitted();
    if !fitted.is_empty() {
        let keys: Vec<&str> = fitted.iter().map(|fit| fit.key.as_str()).collect();
        table.note(format!("fitted: {}; --sensitivity shows what depends on each", keys.join(", ")));
    }
    table
}

/// Tags, hardware queues and limits of such a disk on the default host.
fn around(disk: &DiskSpec, catalogue: &Catalogue) -> Option<String> {
    let host = HostSettings::default();
    let (disk, plan) = (Arc::new(disk.clone()), Arc::new(Plan::default()));
    let trial = |name: &&str| {
        let surroundings = Surroundings { host: host.memory, cpus: host.processors(), ..Surroundings::default() };
        let elevator = catalogue.parse(name).ok()?;
        let (disk, plan) = (disk.clone(), plan.clone());
        let trial = Trial {
            elevator,
            knobs: Vec::new(),
            surroundings,
            disk,
            plan,
            seed: 1,
            limit: Span::ZERO,
            other_disks: Vec::new(),
            beside: Default::default(),
        };
        Some(((*name).to_owned(), trial))
    };
    let trials: Vec<(String, Trial)> = PRESENT.iter().filter_map(trial).collect();
    (!trials.is_empty()).then(|| format!("{} Nothing else was running.", used::line(&trials, host.cpu_name())))
}
