//! `blksched list`: everything available, from the same descriptions that the rest of the program reads.

mod arguments;
mod disk;
mod iocost;
mod programs;

use blksched::Catalogue;
use blksched::author::{Entry, Preset};
use blksched_disks::class;
use blksched_lab::lists::{disks, effects, elevator, elevators, knobs, workloads};
use blksched_measure::{Cell, Column, Quantity, Table};
use blksched_simulate::cpu::{CPU_PRESETS, CpuPreset};
use blksched_text::{did_you_mean, path_of_name};
use blksched_workloads::fio::options::all_options;
use blksched_workloads::host::HostKnobs;
use blksched_workloads::programs::{PROGRAMS, program};
use blksched_workloads::{BUILTINS, builtin};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{self, TableStyle, render, words};
pub(crate) use arguments::ListArguments;

pub(crate) fn run(arguments: &ListArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    let tables = match arguments.what.as_deref() {
        Some(name) if arguments.sensitivity => disk::sensitivity(name, catalogue)?,
        None => vec![elevators(catalogue), disks(), workloads()],
        Some("elevators") => vec![elevators(catalogue)],
        Some("disks") => vec![disks()],
        Some("workloads") => vec![workloads()],
        Some("fio") => vec![fio()],
        Some("host") => vec![host()],
        Some("cpu") => vec![cpu()],
        Some("programs") => vec![programs::programs(PROGRAMS)],
        Some("replay") => vec![programs::replay()],
        Some("iocost") => vec![iocost::models()],
        Some("measures") => vec![programs::measures()],
        Some(name) if !arguments.json && builtin(name).is_some() => {
            let builtin = builtin(name).expect("it was just found");
            return Ok(output::print(builtin.text)?);
        }
        Some(name) => one(name, catalogue)?,
    };
    if arguments.json {
        let value = json!({
            "schema": "blksched/list/1",
            "version": env!("CARGO_PKG_VERSION"),
            "tables": tables.iter().map(Table::json).collect::<Vec<_>>(),
        });
        return Ok(output::print(&format!("{value:#}\n"))?);
    }
    let text: Vec<String> = tables.iter().map(|table| render(table, TableStyle::Text)).collect();
    Ok(output::print(&text.join("\n"))?)
}

fn fio() -> Table {
    let columns = [("name", "option"), ("aliases", "also"), ("takes", "takes"), ("doc", "meaning")];
    let mut table = words("fio's options, and what becomes of each", &columns);
    let mut options: Vec<_> = all_options().collect();
    options.sort_by_key(|option| (option.category, option.name));
    for option in options {
        table.row([
            option.name.into(),
            option.aliases.join(", ").into(),
            brief(option.status()).into(),
            option.doc.into(),
        ]);
    }
    table.note("options without effect cannot change a result and are accepted with a note; `not yet` is an error");
    table
}

/// The first of many values: a line with all of them would be wider than a page, and the error for a wrong one names
/// each.
fn brief(takes: String) -> String {
    const WIDEST: usize = 100;
    if takes.len() <= WIDEST || !takes.contains('|') {
        return takes;
    }
    let values: Vec<&str> = takes.split('|').collect();
    let first: Vec<&str> = values
        .iter()
        .scan(0, |width, value| {
            *width += value.len() + 1;
            (*width <= WIDEST - 20).then_some(*value)
        })
        .collect();
    format!("{}|… ({} in all)", first.join("|"), values.len())
}

/// The parameters of the host's memory.
fn host() -> Table {
    let columns = [
        ("name", "parameter"),
        ("unit", "unit"),
        ("default", "default"),
        ("range", "range"),
        ("kernels", "kernels"),
        ("doc", "meaning"),
    ];
    let mut table = words("the host's memory, for buffered I/O; each set by --host NAME=VALUE,…", &columns);
    for knob in HostKnobs::KNOBS {
        table.row([
            knob.name.into(),
            knob.unit.symbol().into(),
            knob.unit.show(knob.default).into(),
            knob.range().into(),
            knob.kernels.to_string().into(),
            knob.doc.trim().into(),
        ]);
    }
    table
}

/// The processor costs of I/O in every preset.
fn cpu() -> Table {
    let mut table = words("what an I/O costs the processors; --host cpu=NAME", &[("name", "cost")]);
    let presets: Vec<CpuPreset> =
        CPU_PRESETS.iter().map(|(name, _)| CpuPreset::builtin(name).expect("a test reads them all")).collect();
    for preset in &presets {
        table.columns.push(Column::numbers("time", &preset.name, Quantity::Time));
        table.note(format!("{}: {}", preset.name, preset.description));
    }
    let costs: Vec<_> = presets.iter().map(|preset| preset.costs.rows()).collect();
    for (row, (name, _)) in costs[0].iter().enumerate() {
        let times = costs.iter().map(|rows| Cell::from(rows[row].1));
        table.row(std::iter::once(Cell::from(name.clone())).chain(times));
    }
    table.note("one request of one I/O; the preset's file and docs/host.md say where each number comes from");
    table
}

/// An elevator by its name, with all its kernels or one, or a disk by its name, RAID or file.
fn one(name: &str, catalogue: &Catalogue) -> Result<Vec<Table>, Failure> {
    let plain = name.split(['@', '+']).next().unwrap_or(name);
    if catalogue.entries().iter().any(|entry| entry.name == plain) {
        let (entry, note) = elevator(name, catalogue)?;
        let mut eras = eras(&entry);
        if let Some(note) = note {
            eras.note(note);
        }
        let tables = [eras, mechanisms(&entry), knobs(&entry, catalogue)].into_iter();
        return Ok(tables.chain(effects(&entry)).collect());
    }
    if let Some(program) = program(name) {
        return Ok(vec![programs::programs(std::slice::from_ref(program))]);
    }
    let disks: Vec<&str> = blksched_disks::preset_names().collect();
    let is_file = name.contains(['/', '\\', ':']) || name.ends_with(".toml") || path_of_name(name).exists();
    if is_file || disks.contains(&class(name)) {
        let disk = blksched_disks::load(name).map_err(|error| Failure::Input(error.to_string()))?;
        return Ok(vec![disk::data_sheet(&disk, catalogue)]);
    }
    let topics = ["elevators", "disks", "workloads", "fio", "host", "cpu", "programs", "replay", "measures", "iocost"];
    let elevators = catalogue.entries().iter().map(|entry| entry.name);
    let programs = PROGRAMS.iter().map(|program| program.name);
    let workloads = BUILTINS.iter().map(|builtin| builtin.name);
    let known = topics.into_iter().chain(elevators).chain(workloads).chain(disks.iter().copied()).chain(programs);
    let known: Vec<&str> = known.collect();
    let near = did_you_mean(name, known.iter().copied());
    Err(Failure::Input(format!("unknown name `{name}`{near} (known: {})", known.join(", "))))
}

fn eras(entry: &Entry) -> Table {
    let mut table = words(entry.summary, &[("name", "as of"), ("source", "known from"), ("row", "mechanisms")]);
    for Preset { kernel, source, row, .. } in entry.presets {
        let row: Vec<String> = row.iter().map(|(mechanism, variant)| format!("{mechanism}={variant}")).collect();
        table.row([format!("{}@{kernel}", entry.name).into(), (*source).into(), row.join(" ").into()]);
    }
    table
}

fn mechanisms(entry: &Entry) -> Table {
    let columns = [("mechanism", "mechanism"), ("variant", "variant"), ("doc", "meaning")];
    let mut table = words("mechanisms, each switched by +mechanism=variant", &columns);
    for mechanism in entry.mechanisms {
        table.row([mechanism.name.into(), "".into(), mechanism.doc.into()]);
        for variant in mechanism.variants {
            table.row(["".into(), variant.name.into(), variant.doc.into()]);
        }
    }
    table
}
