//! `--null`: what an experiment's published numbers prove, beside models that know nothing of its subject.

use std::fmt::Write;
use std::time::Instant;

use blksched::Catalogue;
use blksched_measure::{Align, Cell, Column, Table};
use blksched_simulate::experiment::{Arm, Beside, Experiment, Proof, PublishedRow, Skill, short};

use super::closing::{self, ClosingLine};
use super::{ExperimentArguments, PageByPage, each};
use crate::failure::Failure;
use crate::output::{self, TableStyle};
use crate::progress::Progress;
use crate::quoted::quoted;

/// An experiment that was run beside its nulls.
struct NullJudged<'a> {
    beside: &'a Beside,
    arms: Vec<Arm>,
    skill: Skill,
}

/// Runs each experiment and all its null models, and prints the judgement.
pub(super) fn run(
    arguments: &ExperimentArguments,
    experiments: &[Experiment],
    catalogue: &Catalogue,
) -> Result<(), Failure> {
    let besides: Vec<Beside> = experiments.iter().map(|experiment| Beside::of(experiment, catalogue)).collect();
    let seeds = |beside: &Beside| arguments.seeds.unwrap_or(beside.experiment.seeds);
    let progress = Progress::new(besides.iter().map(|beside| beside.runs() * seeds(beside) as usize).sum());
    let interrupted = crate::interrupt::noticed();
    let (mut pages, mut lines, mut csv) = (PageByPage::default(), Vec::new(), CSV.to_owned());
    for beside in &besides {
        let (began, experiment) = (Instant::now(), &beside.experiment);
        let seed = |nth: u32| experiment.first_seed.wrapping_add(u64::from(nth));
        let all: Vec<(usize, u64)> =
            (0..beside.runs()).flat_map(|run| (0..seeds(beside)).map(move |nth| (run, seed(nth)))).collect();
        let outcomes = each(&all, &|run, seed| beside.simulate(run, seed), &progress, &interrupted)
            .map_err(|error| Failure::Input(format!("{}: {error}", experiment.name)))?
            .ok_or_else(|| Failure::Outside(format!("interrupted: {} has no null to compare with", experiment.name)))?;
        let arms = beside.arms(&outcomes);
        let skill = Skill::of(&beside.rows(), &arms);
        let judged = NullJudged { beside, arms, skill };
        lines.push(line(&judged, began.elapsed()));
        match arguments.csv {
            true => csv += &judged.csv(),
            false => progress.aside(|| pages.page(&judged.page()))?,
        }
    }
    progress.finish();
    if arguments.csv {
        return Ok(output::print(&csv)?);
    }
    let closing =
        if lines.len() < 2 { String::new() } else { format!("\n{}", closing::table(&lines, "none beside null")) };
    pages.last(&closing)
}

fn line(judged: &NullJudged<'_>, took: std::time::Duration) -> ClosingLine {
    let NullJudged { beside, skill, .. } = judged;
    ClosingLine {
        name: beside.experiment.name.clone(),
        numbers: skill.counted,
        near: skill.near,
        beyond: Some((skill.reproduced(), skill.movable())),
        claims: beside.rows().iter().filter(|row| row.claimed).count(),
        misses: skill.empty_claims.len(),
        took,
    }
}

fn right(key: &str, header: &str) -> Column {
    Column { align: Align::Right, ..Column::words(key, header) }
}

impl NullJudged<'_> {
    fn page(&self) -> String {
        let NullJudged { beside, skill, .. } = self;
        let rows = beside.rows();
        let mut text = format!("{}: what its published numbers prove\n\n", beside.experiment.name);
        text += &output::render(&self.overview(&rows), TableStyle::Text);
        text += "\n";
        if rows.iter().any(|row| row.mail.is_some()) {
            text += &output::render(&self.by_row(&rows), TableStyle::Text);
            text += "\n";
        }
        text += &output::paragraph(&format!(
            "Skill: {} of the {} numbers that can be moved are reproduced beyond their null; {} of {} counted numbers \
             are levels, which no scheduler, patch or knob moves by more than 25 %. Within 25 %: ours {}, their \
             nulls {}. A number's null is, of the models that change it, the one that is near most numbers of the \
             experiment.",
            skill.reproduced(),
            skill.movable(),
            skill.count(Proof::Level),
            skill.counted,
            skill.near,
            skill.null_near,
        ));
        for nth in &skill.empty_claims {
            let why = match skill.null[*nth] {
                Some(_) => "Holds under its null as well",
                None => "No null changes it",
            };
            text += &output::paragraph(&format!("{why}, so it is no claim: {}.", rows[*nth].label));
        }
        text
    }

    /// Every arm: the numbers that it is near, and the claims that hold.
    fn overview(&self, rows: &[&PublishedRow]) -> Table {
        let near = format!("within 25 % of {}", self.skill.counted);
        let claims = rows.iter().filter(|row| row.claimed).count();
        let held = format!("claims that hold, of {claims}");
        let columns = vec![Column::words("model", "model"), right("near", &near), right("held", &held)];
        let mut table = Table::new("", columns);
        for arm in &self.arms {
            let holds = rows.iter().zip(&arm.inside).filter(|(row, inside)| row.claimed && **inside == Some(true));
            let words = [arm.name.clone(), arm.near(rows).to_string(), holds.count().to_string()];
            table.row(words.map(Cell::Text));
        }
        table
    }

    /// The value of row `nth` under its null, and that null's name.
    fn null(&self, nth: usize) -> Option<(f64, &str)> {
        self.skill.null[nth].map(|arm| (self.arms[arm].values[nth], &*self.arms[arm].name))
    }

    /// Every published number: ours, the null's, the least and greatest of all models, and what it proves.
    fn by_row(&self, rows: &[&PublishedRow]) -> Table {
        let columns = vec![
            Column::words("label", "number"),
            right("mail", "published"),
            right("ours", "ours"),
            right("null", "null"),
            Column::words("model", "which is"),
            Column::words("range", "[all models]"),
            Column::words("proves", "proves"),
        ];
        let mut table = Table::new("", columns);
        for (nth, row) in rows.iter().enumerate() {
            let Some(mail) = row.mail else { continue };
            let values = || self.arms.iter().map(|arm| arm.values[nth]).filter(|value| value.is_finite());
            let fold = |pick: fn(f64, f64) -> f64| values().reduce(pick).map_or("-".to_owned(), short);
            let (null, of) = self.null(nth).unwrap_or((f64::NAN, "-"));
            let unit = if row.unit.is_empty() { String::new() } else { format!(" [{}]", row.unit) };
            let words = [
                format!("{}{unit}", row.label),
                short(mail),
                short(self.arms[0].values[nth]),
                short(null),
                of.to_owned(),
                format!("[{}–{}]", fold(f64::min), fold(f64::max)),
                self.skill.proofs[nth].name().to_owned(),
            ];
            table.row(words.map(Cell::Text));
        }
        table
    }

    /// A line per judged row and model: docs/schema.md.
    fn csv(&self) -> String {
        let mut text = String::new();
        let name = &self.beside.experiment.name;
        for (place, table) in self.beside.experiment.tables.iter().enumerate() {
            let before: usize = self.beside.experiment.tables[..place].iter().map(|table| table.rows.len()).sum();
            for (nth, row) in table.rows.iter().enumerate() {
                let label = quoted(&row.label);
                for arm in &self.arms {
                    let (value, inside) = (arm.values[before + nth], arm.inside[before + nth]);
                    let value = if value.is_finite() { value.to_string() } else { String::new() };
                    let inside = inside.map_or_else(String::new, |inside| inside.to_string());
                    writeln!(text, "{name},{},{label},{},{value},{inside}", place + 1, quoted(&arm.name))
                        .expect("memory takes any text");
                }
            }
        }
        text
    }
}

const CSV: &str = "experiment,table,row,model,value,inside\n";
