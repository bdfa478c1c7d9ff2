//! `blksched list`: everything available, from the same descriptions that the rest of the program reads.

mod arguments;
mod disk;
mod iocost;
mod programs;

use blksched::Catalogue;
use blksched::author::{Entry, Preset};
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

fn elevators(catalogue: &Catalogue) -> Table {
    let columns = [("name", "elevator"), ("kernels", "kernels"), ("summary", "character"), ("knobs", "knobs")];
    let mut table = words("elevators", &columns);
    for entry in catalogue.entries() {
        let kernels: Vec<String> = entry.presets.iter().map(|preset| preset.kernel.to_string()).collect();
        let knobs: Vec<&str> = entry.knobs.iter().map(|knob| knob.name).collect();
        let (kernels, knobs) = (kernels.join(", "), knobs.join(", "));
        table.row([entry.name.into(), kernels.into(), entry.summary.into(), knobs.into()]);
    }
    table.note(
        "name[@kernel][+mechanism=variant] names one; `blksched list NAME` shows what its mechanisms and knobs do",
    );
    table
}

fn disks() -> Table {
    let mut table = words("disks", &[("name", "disk"), ("description", "what it is")]);
    for (name, description) in blksched_disks::preset_descriptions() {
        table.row([name.into(), description.into()]);
    }
    table.note(
        "`blksched list NAME` prints a data sheet; a TOML file of your own works too, and so do raid5:4xhdd-7200 \
         (,failed=1 or ,rebuild=10%) and iocost:MODEL, an SSD of six known figures (`blksched list iocost`)",
    );
    table
}

fn workloads() -> Table {
    let mut table = words("workloads", &[("name", "workload"), ("about", "what it asks")]);
    for builtin in BUILTINS {
        table.row([builtin.name.into(), builtin.about.into()]);
    }
    for program in PROGRAMS {
        table.row([program.name.into(), program.about.into()]);
    }
    let programs: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
    table.note(format!(
        "`blksched list NAME` prints a job file to copy; or any fio job file (`blksched list fio` shows the options), \
         or a recorded trace (`blksched list replay`); {} are programs, which take parameters, as in \
         dd:size=1g,start=5s: `blksched list dd`",
        programs.join(", ")
    ));
    table
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
    for (row, cost) in presets[0].costs.rows().into_iter().enumerate() {
        let times = presets.iter().map(|preset| Cell::from(preset.costs.rows()[row].1));
        table.row(std::iter::once(Cell::from(cost.0)).chain(times));
    }
    table.note("one request of one I/O; the preset's file and docs/host.md say where each number comes from");
    table
}

/// An elevator by its name, with all its kernels or one, or a disk by its name, RAID or file.
fn one(name: &str, catalogue: &Catalogue) -> Result<Vec<Table>, Failure> {
    let plain = name.split(['@', '+']).next().unwrap_or(name);
    if let Some(entry) = catalogue.entries().iter().find(|entry| entry.name == plain) {
        let (entry, note) = if plain == name { (*entry, None) } else { of_one_kernel(name, catalogue)? };
        let mut eras = eras(&entry);
        if let Some(note) = note {
            eras.note(note);
        }
        return Ok(vec![eras, mechanisms(&entry), knobs(&entry, catalogue)]);
    }
    if let Some(program) = program(name) {
        return Ok(vec![programs::programs(std::slice::from_ref(program))]);
    }
    let disks: Vec<String> = blksched_disks::presets().into_iter().map(|disk| disk.name).collect();
    let is_file = name.contains(['/', '\\', ':']) || name.ends_with(".toml") || path_of_name(name).exists();
    if is_file || disks.iter().any(|disk| disk == name) {
        let disk = blksched_disks::load(name).map_err(|error| Failure::Input(error.to_string()))?;
        return Ok(vec![disk::data_sheet(&disk, catalogue)]);
    }
    let topics = ["elevators", "disks", "workloads", "fio", "host", "cpu", "programs", "replay", "measures", "iocost"];
    let elevators = catalogue.entries().iter().map(|entry| entry.name);
    let programs = PROGRAMS.iter().map(|program| program.name);
    let workloads = BUILTINS.iter().map(|builtin| builtin.name);
    let known =
        topics.into_iter().chain(elevators).chain(workloads).chain(disks.iter().map(String::as_str)).chain(programs);
    let known: Vec<&str> = known.collect();
    let near = did_you_mean(name, known.iter().copied());
    Err(Failure::Input(format!("unknown name `{name}`{near} (known: {})", known.join(", "))))
}

/// `deadline@2.5.38`: the elevator with the presets of that kernel alone; with a note if that kernel has none of its
/// own.
fn of_one_kernel(name: &str, catalogue: &Catalogue) -> Result<(Entry, Option<String>), Failure> {
    let choice = catalogue.parse(name).map_err(|error| Failure::Input(format!("{name}:{error}")))?;
    if let Some(at) = name.find('+') {
        let switched = &name[at..];
        let message = format!("{name}:{}: `{switched}` switches a mechanism, but all are shown", at + 1);
        return Err(Failure::Input(format!("{message}: expected {}", &name[..at])));
    }
    let presets = choice.entry.presets;
    let at = presets.iter().position(|preset| preset.kernel == choice.preset.kernel).expect("it is one of them");
    Ok((Entry { presets: &presets[at..=at], ..choice.entry }, choice.note()))
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

fn knobs(entry: &Entry, catalogue: &Catalogue) -> Table {
    let columns = [
        ("name", "knob"),
        ("unit", "unit"),
        ("default", "default"),
        ("range", "range"),
        ("kernels", "kernels"),
        ("doc", "meaning"),
    ];
    let mut table = words(&format!("knobs, each turned by --set {}.KNOB=VALUE", entry.name), &columns);
    for knob in entry.knobs {
        let defaults = defaults(entry, knob.name, catalogue);
        // A knob that none of these kernels has.
        if defaults.is_empty() {
            continue;
        }
        table.row([
            knob.name.into(),
            knob.unit.symbol().into(),
            defaults.into(),
            knob.range().into(),
            knob.kernels.to_string().into(),
            knob.doc.trim().into(),
        ]);
    }
    table
}

/// The default, per kernel where kernels differ.
fn defaults(entry: &Entry, knob: &str, catalogue: &Catalogue) -> String {
    let mut defaults: Vec<(String, Vec<String>)> = Vec::new();
    for preset in entry.presets {
        let spec = format!("{}@{}", entry.name, preset.kernel);
        let Ok(built) = catalogue.build(&spec) else { continue };
        let tunables = built.elevator.tunables();
        let (Some(raw), Ok(found)) = (tunables.get(knob), tunables.find(knob)) else { continue };
        let shown = found.unit.show(raw);
        match defaults.iter_mut().find(|(value, _)| *value == shown) {
            Some((_, kernels)) => kernels.push(preset.kernel.to_string()),
            None => defaults.push((shown, vec![preset.kernel.to_string()])),
        }
    }
    match &defaults[..] {
        [(value, _)] => value.clone(),
        many => {
            let each = |(value, kernels): &(String, Vec<String>)| format!("{value} ({})", kernels.join(", "));
            many.iter().map(each).collect::<Vec<_>>().join("; ")
        }
    }
}
