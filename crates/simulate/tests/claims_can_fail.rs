//! Negative controls: every claimed row of every experiment falls outside of its bound when something that it is about
//! is taken away or exchanged. A row that everything fits into would prove nothing.
//!
//! A control says what is changed and which rows break; together they name every claimed row. One seed is enough: a row
//! that only the mean over seeds can break is claimed too narrowly to be shown here.

use std::collections::{BTreeMap, BTreeSet};

use blksched::Catalogue;
use blksched_simulate::experiment::{BUILTINS, Experiment, Outcome, Row};

mod claims {
    pub mod bfq;
    pub mod cfq;
    pub mod controllers;
    pub mod deadline;
    pub mod nvme;
}

/// What is changed. Runs go by patterns: one `*` stands for anything.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// These runs are under this scheduler; knobs that it lacks are left out.
    Elevator(&'static str, &'static str),
    /// This knob of theirs is set.
    Knob(&'static str, &'static str, i64),
    /// The experiment's file says this instead.
    Text(&'static str, &'static str),
    /// The second run's outcome stands in for the first one's.
    Run(&'static str, &'static str),
}

/// Changes and the rows that they break, by their table's place and the labels; `*` stands for anything.
pub struct Control {
    /// What is changed.
    pub changes: &'static [Change],
    /// Which rows break.
    pub breaks: &'static [(usize, &'static [&'static str])],
}

/// The controls of one experiment, which name every row that it claims.
pub fn every_claim_fails_under(name: &str, controls: &[Control]) {
    let mut simulated = BTreeMap::new();
    let mut broken = BTreeSet::new();
    for control in controls {
        let breaks = rows_that_break(name, control, &mut simulated);
        broken.extend(breaks);
    }
    let experiment = load(name, &[]);
    let rows = claimed(&experiment).map(|(place, row)| (place, row.label.clone()));
    let unbroken: Vec<RowName> = rows.filter(|row| !broken.contains(row)).collect();
    assert!(unbroken.is_empty(), "{name}: no control breaks {unbroken:?}");
}

type RowName = (usize, String);

fn rows_that_break(name: &str, control: &Control, simulated: &mut BTreeMap<String, Outcome>) -> Vec<RowName> {
    let mut experiment = load(name, control.changes);
    let meant = |place: usize, label: &str| {
        let labels = control.breaks.iter().filter(|(table, _)| *table == place).flat_map(|(_, labels)| *labels);
        labels.into_iter().any(|wanted| fits(wanted, label))
    };
    for (place, table) in experiment.tables.iter_mut().enumerate() {
        table.rows.retain(|row| row.claimed && meant(place, &row.label));
    }
    let named: usize = control.breaks.iter().map(|(_, labels)| labels.len()).sum();
    let rows: Vec<RowName> = claimed(&experiment).map(|(place, row)| (place, row.label.clone())).collect();
    assert!(rows.len() >= named, "{name}: a control names a row that is not claimed: {:?}", control.breaks);
    (experiment.shows, experiment.whys) = (Vec::new(), Vec::new());
    let outcomes = outcomes(&mut experiment, control.changes, simulated);
    let answer = experiment.answer(&outcomes);
    let still = answer.rows().zip(&rows).filter(|(row, _)| row.inside == Some(true));
    let still: Vec<String> = still.map(|(row, (place, label))| format!("{place} `{label}`: {}", row.ours)).collect();
    assert!(still.is_empty(), "{name}: still inside under {:?}:\n{}", control.changes, still.join("\n"));
    rows
}

/// One outcome per run that its rows need; the others are dropped.
fn outcomes(
    experiment: &mut Experiment,
    changes: &[Change],
    simulated: &mut BTreeMap<String, Outcome>,
) -> Vec<Outcome> {
    let all = experiment.runs.clone();
    let needed = needed(experiment);
    experiment.runs.retain(|run| needed.iter().any(|pattern| fits(pattern, &run.name)));
    let mut of = |name: &str| {
        let stands_in = changes.iter().find_map(|change| match change {
            Change::Run(instead_of, wrong) if *instead_of == name => Some(*wrong),
            _ => None,
        });
        let name = stands_in.unwrap_or(name);
        let mut run = all.iter().find(|run| run.name == name).unwrap_or_else(|| panic!("no run {name}")).clone();
        if !changed(&mut run, changes) && !changes.iter().any(|change| matches!(change, Change::Text(..))) {
            let outcome = simulated.entry(name.to_owned()).or_insert_with(|| run.simulate(1).expect("it runs"));
            return outcome.clone();
        }
        run.simulate(1).expect("it runs")
    };
    experiment.runs.iter().map(|run| of(&run.name)).collect()
}

/// Sets what `changes` say of this run; is it another one then?
fn changed(run: &mut blksched_simulate::experiment::Run, changes: &[Change]) -> bool {
    let mut is_changed = false;
    for change in changes {
        match change {
            Change::Elevator(runs, elevator) if fits(runs, &run.name) => {
                run.scene.elevator = Catalogue::builtin().parse(elevator).expect("a scheduler");
                let built = run.scene.elevator.build();
                run.scene.knobs.retain(|(name, _)| built.elevator.tunables().find(name).is_ok());
            }
            Change::Knob(runs, knob, value) if fits(runs, &run.name) => {
                run.scene.knobs.retain(|(name, _)| name != knob);
                run.scene.knobs.push(((*knob).to_owned(), *value));
            }
            _ => continue,
        }
        is_changed = true;
    }
    is_changed
}

fn load(name: &str, changes: &[Change]) -> Experiment {
    let builtin = BUILTINS.iter().find(|builtin| builtin.name == name).expect("built in");
    let mut text = builtin.text.to_owned();
    for change in changes {
        if let Change::Text(from, to) = change {
            assert!(text.contains(from), "{name}: {from}");
            text = text.replace(from, to);
        }
    }
    let beside = |file: &str| {
        let found = builtin.files.iter().find(|(name, _)| *name == file);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("no file {file}"))
    };
    Experiment::parse(name, name, &text, &Catalogue::builtin(), &beside).unwrap_or_else(|error| panic!("{error}"))
}

fn claimed(experiment: &Experiment) -> impl Iterator<Item = (usize, &Row)> {
    let tables = experiment.tables.iter().enumerate();
    tables.flat_map(|(place, table)| table.rows.iter().filter(|row| row.claimed).map(move |row| (place, row)))
}

/// Patterns of the runs that its rows need.
fn needed(experiment: &Experiment) -> Vec<String> {
    let of = |(_, row): (usize, &Row)| {
        let own = (!row.expression.names_every_run()).then(|| row.run.clone());
        row.expression.runs().into_iter().map(str::to_owned).chain(own).collect::<Vec<_>>()
    };
    claimed(experiment).flat_map(of).collect()
}

fn fits(pattern: &str, name: &str) -> bool {
    pattern.split_once('*').map_or(pattern == name, |(before, behind)| {
        name.len() >= before.len() + behind.len() && name.starts_with(before) && name.ends_with(behind)
    })
}

#[test]
fn there_are_controls_for_every_experiment_that_claims_something() {
    let of_all = [
        claims::deadline::NAMES,
        claims::cfq::NAMES,
        claims::bfq::NAMES,
        claims::controllers::NAMES,
        claims::nvme::NAMES,
    ];
    let known: BTreeSet<&str> = of_all.concat().into_iter().collect();
    for builtin in BUILTINS {
        let claims = claimed(&load(builtin.name, &[])).next().is_some();
        assert_eq!(claims, known.contains(builtin.name), "{}", builtin.name);
    }
}
