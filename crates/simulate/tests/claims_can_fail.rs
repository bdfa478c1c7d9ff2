//! Negative controls: every claimed row of every experiment falls outside of its bound when something that it is about
//! is taken away or exchanged. A row that everything fits into would prove nothing.
//!
//! A control says what is changed and which rows break; together they name every claimed row. What is changed is a
//! scheduler, a knob, a disk or a load that is wrong for what the row says, never two results exchanged. Each is run
//! with two seeds (or two groups of seeds, where a row speaks of a distribution), and without the change the row is
//! inside at those very seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use blksched::Catalogue;
use blksched_simulate::experiment::{BUILTINS, Experiment, PublishedRow, RunOutcome};

mod claims {
    pub mod bfq;
    pub mod cfq;
    pub mod controllers;
    pub mod deadline;
    pub mod null;
    pub mod nvme;
    pub mod page;
}

/// An experiment, the number of seeds that its rows combine, and its controls.
pub type Controls = (&'static str, u64, &'static [Control]);

const CONTROLS: [&[Controls]; 5] =
    [claims::deadline::ALL, claims::cfq::ALL, claims::bfq::ALL, claims::controllers::ALL, claims::nvme::ALL];

/// A change. Runs are selected by patterns: one `*` stands for anything.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// Puts these runs under this scheduler; knobs that it lacks are left out.
    Elevator(&'static str, &'static str),
    /// Sets this knob of theirs.
    Knob(&'static str, &'static str, i64),
    /// Replaces this text in the experiment's file.
    Text(&'static str, &'static str),
    /// Also sets this address to this value in the `[[run]]` with this name.
    Set(&'static str, &'static str, &'static str),
}

/// The lines of a text that are not comments or empty.
fn lines(text: &str) -> Vec<&str> {
    text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect()
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Elevator("*", elevator) => write!(f, "{elevator}"),
            Change::Elevator(runs, elevator) => write!(f, "`{runs}` under {elevator}"),
            Change::Knob(runs, knob, value) => write!(f, "{knob} {value} in `{runs}`"),
            Change::Set(run, address, value) => write!(f, "{address} {value} in `{run}`"),
            Change::Text(from, to) => {
                let old = lines(from);
                let new: Vec<&str> = lines(to).into_iter().filter(|part| !old.contains(part)).collect();
                match new.is_empty() {
                    true => write!(f, "without `{}`", from.trim()),
                    false => write!(f, "`{}`", new.join(", ").replace('`', "")),
                }
            }
        }
    }
}

/// Changes and the rows that they break, by their table's number and their labels; `*` stands for anything.
pub struct Control {
    /// The changes.
    pub changes: &'static [Change],
    /// The rows that break.
    pub breaks: &'static [(usize, &'static [&'static str])],
}

/// Checks that the controls of one experiment break every row that it claims.
pub fn every_claim_fails(name: &str) {
    let of_all = CONTROLS.iter().flat_map(|all| all.iter());
    let (_, together, controls) = of_all.into_iter().find(|(of, ..)| *of == name).expect("it has controls");
    let mut simulated = BTreeMap::new();
    let mut broken = BTreeSet::new();
    for control in *controls {
        for group in 0..2 {
            let seeds = 1 + group * together..1 + (group + 1) * together;
            broken.extend(rows_that_break(name, control, seeds, &mut simulated));
        }
    }
    let experiment = load(name, &[]);
    let rows = claimed(&experiment).map(|(place, row)| (place, row.label.clone()));
    let unbroken: Vec<RowName> = rows.filter(|row| !broken.contains(row)).collect();
    assert!(unbroken.is_empty(), "{name}: no control breaks {unbroken:?}");
}

type RowName = (usize, String);
/// The outcomes of unchanged runs, by name and seed.
type Simulated = BTreeMap<(String, u64), RunOutcome>;

fn rows_that_break(name: &str, control: &Control, seeds: Range<u64>, simulated: &mut Simulated) -> Vec<RowName> {
    let meant = |place: usize, label: &str| {
        let labels = control.breaks.iter().filter(|(table, _)| *table == place).flat_map(|(_, labels)| *labels);
        labels.into_iter().any(|wanted| fits(wanted, label))
    };
    let with = |changes: &[Change]| {
        let mut experiment = load(name, changes);
        for (place, table) in experiment.tables.iter_mut().enumerate() {
            table.rows.retain(|row| row.claimed && meant(place, &row.label));
        }
        (experiment.shows, experiment.whys) = (Vec::new(), Vec::new());
        experiment
    };
    let mut usual = with(&[]);
    let named: usize = control.breaks.iter().map(|(_, labels)| labels.len()).sum();
    let rows: Vec<RowName> = claimed(&usual).map(|(place, row)| (place, row.label.clone())).collect();
    assert!(rows.len() >= named, "{name}: a control names a row that is not claimed: {:?}", control.breaks);
    let mut judge = |experiment: &mut Experiment, changes: &[Change], expected: bool, how: &str| {
        let outcomes = outcomes(experiment, changes, seeds.clone(), simulated);
        let answer = experiment.answer(&outcomes);
        let wrong = answer.rows().zip(&rows).filter(|(row, _)| (row.inside == Some(true)) != expected);
        let wrong: Vec<String> =
            wrong.map(|(row, (place, label))| format!("{place} `{label}`: {}", row.ours)).collect();
        assert!(wrong.is_empty(), "{name}, seeds {seeds:?}: {how} {changes:?}:\n{}", wrong.join("\n"));
    };
    judge(&mut usual, &[], true, "outside without any change");
    judge(&mut with(control.changes), control.changes, false, "still inside under");
    rows
}

/// One outcome per seed and run that its rows need; the other runs are dropped.
fn outcomes(
    experiment: &mut Experiment,
    changes: &[Change],
    seeds: Range<u64>,
    simulated: &mut Simulated,
) -> Vec<RunOutcome> {
    let needed = needed(experiment);
    experiment.runs.retain(|run| needed.iter().any(|pattern| fits(pattern, &run.name)));
    let is_new_text = changes.iter().any(|change| matches!(change, Change::Text(..) | Change::Set(..)));
    let of = |run: &mut blksched_simulate::experiment::ExperimentRun| {
        let is_usual = !changed(run, changes) && !is_new_text;
        let of_seed = |seed: u64| match is_usual {
            true => {
                let usual = || run.simulate(seed).expect("it runs");
                simulated.entry((run.name.clone(), seed)).or_insert_with(usual).clone()
            }
            false => run.simulate(seed).expect("it runs"),
        };
        seeds.clone().map(of_seed).collect::<Vec<_>>()
    };
    experiment.runs.iter_mut().flat_map(of).collect()
}

/// Applies `changes` to this run; returns whether it is then another one.
fn changed(run: &mut blksched_simulate::experiment::ExperimentRun, changes: &[Change]) -> bool {
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

/// The experiment of this name, with its file changed.
pub fn load(name: &str, changes: &[Change]) -> Experiment {
    let builtin = BUILTINS.iter().find(|builtin| builtin.name == name).expect("built in");
    let mut text = builtin.text.to_owned();
    for change in changes {
        if let Change::Text(from, to) = change {
            assert!(text.contains(from), "{name}: {from}");
            text = text.replace(from, to);
        }
        if let Change::Set(run, address, value) = change {
            let head = format!("name = \"{run}\"\n");
            assert!(text.contains(&head), "{name}: {run}");
            text = text.replace(&head, &format!("{head}set.{address} = \"{value}\"\n"));
        }
    }
    let beside = |file: &str| {
        let found = builtin.files.iter().find(|(name, _)| *name == file);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("no file {file}"))
    };
    Experiment::parse(name, name, &text, &Catalogue::builtin(), &beside).unwrap_or_else(|error| panic!("{error}"))
}

fn claimed(experiment: &Experiment) -> impl Iterator<Item = (usize, &PublishedRow)> {
    let tables = experiment.tables.iter().enumerate();
    tables.flat_map(|(place, table)| table.rows.iter().filter(|row| row.claimed).map(move |row| (place, row)))
}

/// Patterns of the runs that its rows need.
fn needed(experiment: &Experiment) -> Vec<String> {
    let of = |(_, row): (usize, &PublishedRow)| {
        let own = (!row.expression.names_every_run()).then(|| row.run.clone());
        row.expression.runs().into_iter().map(str::to_owned).chain(own).collect::<Vec<_>>()
    };
    claimed(experiment).flat_map(of).collect()
}

/// Whether the pattern, with at most one `*`, matches this name.
pub fn fits(pattern: &str, name: &str) -> bool {
    pattern.split_once('*').map_or(pattern == name, |(before, behind)| {
        name.len() >= before.len() + behind.len() && name.starts_with(before) && name.ends_with(behind)
    })
}

#[test]
fn there_are_controls_for_every_experiment_that_claims_something() {
    let known: BTreeSet<&str> = CONTROLS.concat().into_iter().map(|(name, ..)| name).collect();
    for builtin in BUILTINS {
        let claims = claimed(&load(builtin.name, &[])).next().is_some();
        assert_eq!(claims, known.contains(builtin.name), "{}", builtin.name);
    }
}

#[test]
fn every_value_that_a_row_hangs_on_is_fitted_given_or_assumed_in_so_many_words() {
    for builtin in BUILTINS {
        let silent = load(builtin.name, &[]).undeclared();
        assert!(
            silent.is_empty(),
            "{}: say of {silent:?} why it is so: [[fit]], [[given]] or [[assumed]]",
            builtin.name
        );
    }
}

#[test]
fn the_page_of_the_mails_is_what_comes_out_of_their_experiments() {
    let page = claims::page::text(CONTROLS.concat().as_slice());
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mails.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &page).expect("docs/ can be written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(there, page, "BLESS=1 writes docs/mails.md anew");
}

/// What the program tells below several experiments without running their nulls.
#[test]
fn what_is_beyond_the_null_is_what_the_null_models_of_each_experiment_say() {
    let mut text = "experiment,reproduced,movable,claims\n".to_owned();
    let (mut reproduced, mut movable) = (0, 0);
    for name in claims::page::of_mails() {
        let judged = claims::page::judged(&name);
        let skill = &judged.skill;
        let claims = judged.rows().iter().filter(|row| row.claimed).count() - skill.empty_claims.len();
        text += &format!("{name},{},{},{claims}\n", skill.reproduced(), skill.movable());
        reproduced += skill.reproduced();
        movable += skill.movable();
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/beyond-null.csv");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("experiments/ can be written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(there, text, "BLESS=1 writes experiments/beyond-null.csv anew");
    let readme = include_str!("../../../README.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let headline = format!("{reproduced} of the {movable} published numbers that a scheduler can move");
    assert!(readme.contains(&headline), "README.md lacks `{headline}`");
}
