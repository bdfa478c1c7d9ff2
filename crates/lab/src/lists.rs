//! What there is, as tables: elevators, disks, workloads, knobs.

use blksched::Catalogue;
use blksched::author::Entry;
use blksched_measure::{Column, Table};
use blksched_workloads::BUILTINS;
use blksched_workloads::programs::PROGRAMS;

use crate::effects::{self, OfKnob};
use crate::error::{Error, WordError};

/// A table of words, with these keys and headers.
fn words(title: &str, columns: &[(&str, &str)]) -> Table {
    Table::new(title, columns.iter().map(|(key, header)| Column::words(key, header)).collect())
}

/// Every elevator: name, kernels, character, knobs.
pub fn elevators(catalogue: &Catalogue) -> Table {
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

/// Every built-in disk: name, and what it is.
pub fn disks() -> Table {
    let mut table = words("disks", &[("name", "disk"), ("description", "what it is")]);
    for (name, preset) in blksched_disks::standing_names() {
        table.row([name.into(), format!("stands for {preset}, a drive of this class that was measured").into()]);
    }
    for (name, description) in blksched_disks::preset_descriptions() {
        table.row([name.into(), description.into()]);
    }
    table.note(
        "`blksched list NAME` prints a data sheet; a TOML file of your own works too, and so do raid5:4xhdd-7200 \
         (,failed=1 or ,rebuild=10%) and iocost:MODEL, an SSD of six known figures (`blksched list iocost`)",
    );
    table
}

/// Every built-in workload and program: name, and what it asks.
pub fn workloads() -> Table {
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

/// `deadline`, or `deadline@2.5.38`: the elevator with the presets of that kernel alone, and a note if that kernel has
/// none of its own.
///
/// # Errors
/// The part of the name that is unknown, with its column and the nearest that is known.
pub fn elevator(name: &str, catalogue: &Catalogue) -> Result<(Entry, Option<String>), Error> {
    let choice = catalogue.parse(name).map_err(|error| WordError::scheduler("", name, error))?;
    if let Some(at) = name.find('+') {
        let switched = &name[at..];
        let message = format!("{name}:{}: `{switched}` switches a mechanism, but all are shown", at + 1);
        return Err(Error::Input(format!("{message}: expected {}", &name[..at])));
    }
    let presets = choice.entry.presets;
    let at = presets.iter().position(|preset| preset.kernel == choice.preset.kernel).expect("it is one of them");
    let presets = if name.contains('@') { &presets[at..=at] } else { presets };
    Ok((Entry { presets, ..choice.entry }, choice.note().filter(|_| name.contains('@'))))
}

/// An elevator's knobs: name, unit, default, range, kernels, meaning.
pub fn knobs(entry: &Entry, catalogue: &Catalogue) -> Table {
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

/// What each of its knobs does, by simulation; `None` if that was not measured.
pub fn effects(entry: &Entry) -> Option<Table> {
    let is_its = |one: &OfKnob| one.scheduler.split('@').next() == Some(entry.name);
    let own: Vec<OfKnob> = effects::measured().shown().into_iter().filter(is_its).collect();
    let scheduler = own.first()?.scheduler.clone();
    let columns = [("knob", "knob"), ("way", "which way"), ("price", "the price"), ("no_effect", "when it has none")];
    let mut table = words(&format!("what they do ({scheduler}; docs/what-knobs-do.md)"), &columns);
    for one in &own {
        let at = |nth: usize| one.way(nth).map(|way| format!("{way} ({})", one.loads[0][0].place()));
        let way = at(0).unwrap_or_else(|| "no figure moved by 5 % on any load tried".to_owned());
        let price = one.way(1).unwrap_or_else(|| "-".to_owned());
        table.row([
            one.knob.as_str().into(),
            way.into(),
            price.into(),
            effects::words::no_effect(&one.scheduler, &one.knob).into(),
        ]);
    }
    table.note("Simulated on models of disks, never checked on a drive: which way a knob works, not how far.");
    table.note(effects::words::of_subject(&scheduler).replace("\n\n", " ").replace("**", ""));
    Some(table)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_elevator_and_its_knobs_are_listed() {
        let catalogue = Catalogue::builtin();
        assert_eq!(elevators(&catalogue).rows.len(), catalogue.entries().len());
        for entry in catalogue.entries() {
            let listed = knobs(entry, &catalogue).rows.len();
            assert!(listed <= entry.knobs.len() && (listed == 0) == entry.knobs.is_empty(), "{}", entry.name);
        }
        assert_eq!(workloads().rows.len(), BUILTINS.len() + PROGRAMS.len());
        assert_eq!(disks().rows.len(), blksched_disks::preset_names().count());
    }
}
