//! Null models: what an experiment's table looks like if what it is about plays no part.
//!
//! That ours is within 25 % of a published number proves little if a model that knows nothing of the mail's subject is
//! too. So each experiment is also run with no scheduler in any column, with one and the same scheduler in every column
//! (with that, a patch that is a mechanism is off, or on, everywhere; one that is a knob only off), and with every knob
//! at its default. [`Skill`](super::Skill) says what a number then proves.

use blksched::Catalogue;

use super::expression::fits;
use super::spec::{Experiment, ExperimentRun, PublishedRow};

/// One of our schedulers of each kind that the mails compare: no order, deadlines, waiting for a process, fair slices.
const PANEL: [&str; 4] = ["noop", "deadline@2.6.33", "anticipatory@2.6.32", "cfq@2.6.33"];

/// A change to every run of an experiment that takes its subject away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Null {
    /// This scheduler in every column. Knobs that it lacks are left out.
    Everywhere(String),
    /// As written, but every knob at its default.
    DefaultKnobs,
    /// This scheduler in every column, every knob at its default.
    EverywhereWithDefaultKnobs(String),
}

impl Null {
    /// Its name in tables.
    pub fn name(&self) -> String {
        match self {
            Null::Everywhere(elevator) => elevator.clone(),
            Null::DefaultKnobs => "knobs at their defaults".to_owned(),
            Null::EverywhereWithDefaultKnobs(elevator) => format!("{elevator}, knobs at their defaults"),
        }
    }

    fn elevator(&self) -> Option<&str> {
        match self {
            Null::Everywhere(elevator) | Null::EverywhereWithDefaultKnobs(elevator) => Some(elevator),
            Null::DefaultKnobs => None,
        }
    }

    fn keeps_knobs(&self) -> bool {
        matches!(self, Null::Everywhere(_))
    }
}

impl Experiment {
    /// Its null models: each scheduler of the panel and each of its own in every column, and the same with knobs at
    /// their defaults where it sets some. A null that would change no run is left out.
    ///
    /// # Panics
    /// As [`Experiment::under`].
    pub fn nulls(&self, catalogue: &Catalogue) -> Vec<Null> {
        let panel = PANEL.map(|name| catalogue.parse(name).expect("the panel is in the catalogue").to_string());
        let own: Vec<String> = self.runs.iter().map(|run| run.scene.elevator.to_string()).collect();
        let mut elevators = panel.to_vec();
        for elevator in &own {
            if !elevators.contains(elevator) {
                elevators.push(elevator.clone());
            }
        }
        let everywhere = elevators.iter().cloned().map(Null::Everywhere);
        let defaults = elevators.iter().cloned().map(Null::EverywhereWithDefaultKnobs);
        let all = everywhere.chain([Null::DefaultKnobs]).chain(defaults);
        let sets_knobs = self.runs.iter().any(ExperimentRun::turns_a_knob);
        let is_own = |null: &Null| null.elevator().is_none_or(|name| own.iter().any(|own| own == name));
        // A scheduler that is only the panel's has none of the mail's knobs: at their defaults it is one more arm that
        // says nothing.
        let all = all.filter(|null| null.keeps_knobs() || sets_knobs && is_own(null));
        all.filter(|null| self.runs.iter().any(|run| self.changes(null, run))).collect()
    }

    fn changes(&self, null: &Null, run: &ExperimentRun) -> bool {
        null.elevator().is_some_and(|elevator| run.scene.elevator.to_string() != elevator)
            || !null.keeps_knobs() && run.turns_a_knob()
    }

    /// Whether a null changes a run that this row is computed from.
    pub(super) fn changes_row(&self, null: &Null, row: &PublishedRow) -> bool {
        self.runs.iter().filter(|run| row.reads(run)).any(|run| self.changes(null, run))
    }

    /// Its rows whose number counts or that are claimed, and the runs that these read: what a null is judged by.
    pub fn judged(&self) -> Experiment {
        let mut experiment = self.clone();
        (experiment.shows, experiment.whys) = (Vec::new(), Vec::new());
        for table in &mut experiment.tables {
            table.rows.retain(|row| row.is_counted() || row.claimed);
        }
        let rows: Vec<&PublishedRow> = experiment.rows().collect();
        let is_read = |run: &ExperimentRun| rows.iter().any(|row| row.reads(run));
        experiment.runs = self.runs.iter().filter(|run| is_read(run)).cloned().collect();
        experiment
    }

    /// The rows of all its tables, in order.
    pub fn rows(&self) -> impl Iterator<Item = &PublishedRow> {
        self.tables.iter().flat_map(|table| &table.rows)
    }

    /// The experiment under this null.
    ///
    /// # Panics
    /// If `catalogue` lacks one of the null's schedulers; the built-in one has all of the panel, and an experiment's
    /// own were read with its catalogue.
    pub fn under(&self, null: &Null, catalogue: &Catalogue) -> Experiment {
        let mut experiment = self.clone();
        for run in &mut experiment.runs {
            if let Some(elevator) = null.elevator() {
                run.scene.elevator = catalogue.parse(elevator).expect("a scheduler of the catalogue");
            }
            match null.keeps_knobs() {
                false => run.scene.knobs.clear(),
                true => {
                    let built = run.scene.elevator.build();
                    let tunables = built.elevator.tunables();
                    // A value that the other scheduler refuses is as good as a knob that it lacks.
                    let takes = |name: &str, raw| tunables.find(name).is_ok_and(|knob| knob.check(raw).is_ok());
                    run.scene.knobs.retain(|(name, raw)| takes(name, *raw));
                }
            }
        }
        experiment
    }
}

impl ExperimentRun {
    /// Whether one of its knobs is not at its default.
    fn turns_a_knob(&self) -> bool {
        let built = self.scene.elevator.build();
        let tunables = built.elevator.tunables();
        self.scene.knobs.iter().any(|(name, raw)| tunables.get(name) != Some(*raw))
    }
}

impl PublishedRow {
    /// Whether it is computed from this run.
    fn reads(&self, run: &ExperimentRun) -> bool {
        let own = (!self.expression.names_every_run()).then_some(&*self.run);
        self.expression.runs().into_iter().chain(own).any(|pattern| fits(pattern, &run.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::BUILTINS;

    #[test]
    fn a_patch_is_off_and_on_in_every_column_and_a_knob_at_its_default() {
        let catalogue = Catalogue::builtin();
        let of = |name: &str| BUILTINS.iter().find(|builtin| builtin.name == name).unwrap().load(&catalogue).unwrap();
        let names = |name: &str| of(name).nulls(&catalogue).iter().map(Null::name).collect::<Vec<_>>();
        let ramp = names("async-ramp-up");
        for wanted in ["cfq@2.6.32", "cfq@2.6.32+async_depth=remaining_slice"] {
            assert!(ramp.iter().any(|name| name == wanted), "{wanted}: {ramp:?}");
        }
        assert!(ramp[0].starts_with("noop"), "{ramp:?}");
        assert!(names("horror").iter().any(|name| name == "knobs at their defaults"));
        // Under a null, every run has that scheduler, and only knobs that it has.
        let horror = of("horror");
        let noop = horror.under(&Null::Everywhere("noop".to_owned()), &catalogue);
        let elevators: Vec<String> = noop.runs.iter().map(|run| run.scene.elevator.to_string()).collect();
        assert!(elevators.iter().all(|name| name.starts_with("noop")), "{elevators:?}");
        assert!(noop.runs.iter().all(|run| run.scene.knobs.is_empty()));
        let default = horror.under(&Null::DefaultKnobs, &catalogue);
        assert!(default.runs.iter().all(|run| run.scene.knobs.is_empty()));
        assert_eq!(default.runs[0].scene.elevator.to_string(), horror.runs[0].scene.elevator.to_string());
    }

    #[test]
    fn a_scheduler_of_the_panel_that_the_mail_turns_a_knob_of_has_a_null_at_its_defaults() {
        let text = |elevator: &str| {
            format!(
                "title = \"x\"\nsource = \"x\"\nseeds = 1\ntime = \"5s\"\nelevator = \"{elevator}\"\n\
                 disk.preset = \"ide-2002\"\n[[workload]]\nprogram = \"dd\"\n[[run]]\nname = \"turned\"\n\
                 set.knob.fifo_batch = 1\n"
            )
        };
        let catalogue = Catalogue::builtin();
        let none = |file: &str| Err(format!("no file {file}"));
        let names = |elevator: &str| {
            let experiment = Experiment::parse("x", "x.toml", &text(elevator), &catalogue, &none).unwrap();
            experiment.nulls(&catalogue).iter().map(Null::name).collect::<Vec<_>>()
        };
        let own = "deadline@2.6.33, knobs at their defaults".to_owned();
        assert!(names("deadline@2.6.33").contains(&own));
        assert!(!names("deadline@2.5.38").contains(&own), "it is only the panel's there");
    }

    #[test]
    fn what_is_judged_are_rows_that_count_or_are_claimed_and_the_runs_that_they_read() {
        let catalogue = Catalogue::builtin();
        let horror = BUILTINS.iter().find(|builtin| builtin.name == "horror").unwrap().load(&catalogue).unwrap();
        let judged = horror.judged();
        assert!(judged.rows().all(|row| row.is_counted() || row.claimed));
        assert!(judged.rows().count() < horror.rows().count());
        let names: Vec<&str> = judged.runs.iter().map(|run| run.name.as_str()).collect();
        assert!(names.contains(&"batch64") && names.contains(&"expire50"), "{names:?}");
        // Nothing is published of 2.4.21 itself.
        assert!(!names.contains(&"before linus@2.4.21"), "{names:?}");
    }
}
