//! The result of an experiment: each row beside the published value, and whether it is inside its bound.

use super::expression::Expression;
use super::outcome::RunOutcome;
use super::spec::{Experiment, PublishedRow, Sentence, SentencePart, Statistic, TableSpec};

/// The results of an experiment.
#[derive(Clone, Debug)]
pub struct ExperimentAnswer {
    /// Table by table.
    pub tables: Vec<TableAnswer>,
    /// Output in the source's own layout.
    pub shows: Vec<String>,
    /// The reasons, in sentences.
    pub why: Vec<String>,
}

/// One table.
#[derive(Clone, Debug)]
pub struct TableAnswer {
    /// Its heading.
    pub title: String,
    /// Its rows.
    pub rows: Vec<RowAnswer>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowAnswer {
    /// What it is.
    pub label: String,
    /// The unit of all its numbers.
    pub unit: String,
    /// What was published.
    pub mail: Option<f64>,
    /// Our value: the row's statistic over the seeds; NaN if a run did not get that far.
    pub ours: f64,
    /// Our value in each seed.
    pub values: Vec<f64>,
    /// The least over the seeds.
    pub ours_min: f64,
    /// The greatest over the seeds.
    pub ours_max: f64,
    /// The lower bound.
    pub low: Option<f64>,
    /// The upper bound.
    pub high: Option<f64>,
    /// Whether the published value must lie between our least and our greatest.
    pub covers_mail: bool,
    /// Whether every seed must lie inside, not only their statistic.
    pub each_seed: bool,
    /// How the seeds' values are combined.
    pub statistic: Statistic,
    /// Whether ours is inside; `None` if there is no bound.
    pub inside: Option<bool>,
    /// Whether it is an error to be outside.
    pub claimed: bool,
}

impl ExperimentAnswer {
    /// Every row.
    pub fn rows(&self) -> impl Iterator<Item = &RowAnswer> {
        self.tables.iter().flat_map(|table| &table.rows)
    }

    /// The claimed rows that lie outside of their bounds.
    pub fn broken(&self) -> impl Iterator<Item = &RowAnswer> {
        self.rows().filter(|row| row.claimed && row.inside != Some(true))
    }
}

pub(super) fn answer(experiment: &Experiment, outcomes: &[RunOutcome]) -> ExperimentAnswer {
    let seeds = outcomes.len() / experiment.runs.len();
    let seen = Seen { experiment, outcomes, seeds };
    let table = |table: &TableSpec| TableAnswer {
        title: table.title.clone(),
        rows: table.rows.iter().map(|row| seen.row(row)).collect(),
    };
    ExperimentAnswer {
        tables: experiment.tables.iter().map(table).collect(),
        shows: experiment.shows.iter().map(|sentence| seen.sentence(sentence, 1)).collect(),
        why: experiment.whys.iter().map(|sentence| seen.sentence(sentence, seeds)).collect(),
    }
}

struct Seen<'a> {
    experiment: &'a Experiment,
    outcomes: &'a [RunOutcome],
    seeds: usize,
}

impl Seen<'_> {
    /// One value per seed: the mean, if there are several.
    fn per_seed(&self, run: &str, expression: &Expression) -> Vec<f64> {
        let of_seed = |nth: usize| {
            let values = expression.values(run, &|name| self.experiment.of_seed(self.outcomes, self.seeds, nth, name));
            values.iter().sum::<f64>() / values.len() as f64
        };
        (0..self.seeds).map(of_seed).collect()
    }

    fn row(&self, row: &PublishedRow) -> RowAnswer {
        let values = self.per_seed(&row.run, &row.expression);
        let fold = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick).unwrap_or(f64::NAN);
        let (ours, ours_min, ours_max) = (row.statistic.of(&values), fold(f64::min), fold(f64::max));
        RowAnswer {
            inside: inside(row, ours, (ours_min, ours_max)),
            label: row.label.clone(),
            unit: row.unit.clone(),
            mail: row.mail,
            ours,
            ours_min,
            ours_max,
            low: row.low,
            high: row.high,
            covers_mail: row.covers_mail,
            each_seed: row.each_seed,
            statistic: row.statistic,
            claimed: row.claimed,
            values,
        }
    }

    /// A sentence with numbers that are means over the first `seeds` seeds.
    fn sentence(&self, sentence: &Sentence, seeds: usize) -> String {
        let part = |part: &SentencePart| match part {
            SentencePart::Words(words) => words.clone(),
            SentencePart::Number(expression, places) => {
                let values = self.per_seed(&sentence.run, expression);
                let values = &values[..seeds.min(values.len())];
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                places.map_or_else(|| short(mean), |places| format!("{mean:.places$}"))
            }
        };
        sentence.parts.iter().map(part).collect()
    }
}

/// Whether our value is inside the row's bound; `None` if it has none.
fn inside(row: &PublishedRow, ours: f64, (least, greatest): (f64, f64)) -> Option<bool> {
    if row.low.is_none() && row.high.is_none() && !row.covers_mail {
        return None;
    }
    // NaN is outside of any bound.
    let fits = |value: f64| {
        !value.is_nan() && row.low.is_none_or(|low| value >= low) && row.high.is_none_or(|high| value <= high)
    };
    let covers = |mail: f64| least <= mail && mail <= greatest;
    let covered = !row.covers_mail || row.mail.is_some_and(covers);
    let each = !row.each_seed || fits(least) && fits(greatest);
    Some(fits(ours) && each && covered)
}

/// A number with three significant digits, as in tables.
pub fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => "-".to_owned(),
        _ if size == 0.0 => "0".to_owned(),
        _ if size >= 99.95 => format!("{value:.0}"),
        _ if size >= 9.995 => format!("{value:.1}"),
        _ if size >= 0.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(low: Option<f64>, high: Option<f64>) -> PublishedRow {
        PublishedRow {
            label: "x".to_owned(),
            run: String::new(),
            expression: Expression::parse("1").unwrap(),
            unit: "s".to_owned(),
            mail: Some(2.0),
            low,
            high,
            covers_mail: false,
            each_seed: false,
            claimed: true,
            statistic: Statistic::Mean,
            again: false,
            draw: false,
            largest: false,
        }
    }

    #[test]
    fn a_bound_may_have_one_side_and_includes_its_ends() {
        let both = row(Some(1.0), Some(2.0));
        assert_eq!(inside(&both, 2.0, (0.0, 9.0)), Some(true));
        assert_eq!(inside(&both, 2.1, (0.0, 9.0)), Some(false));
        assert_eq!(inside(&row(Some(1.0), None), 50.0, (0.0, 0.0)), Some(true));
        assert_eq!(inside(&row(None, None), 50.0, (0.0, 0.0)), None);
    }

    #[test]
    fn a_run_that_did_not_get_there_is_outside() {
        assert_eq!(inside(&row(Some(0.0), None), f64::NAN, (f64::NAN, f64::NAN)), Some(false));
    }

    #[test]
    fn every_seed_may_be_asked_for_and_the_mails_value_to_lie_among_ours() {
        let each = PublishedRow { each_seed: true, ..row(Some(1.0), Some(2.0)) };
        assert_eq!(inside(&each, 1.5, (1.2, 2.5)), Some(false));
        let covers = PublishedRow { covers_mail: true, ..row(None, None) };
        assert_eq!((inside(&covers, 9.0, (1.5, 9.5)), inside(&covers, 9.0, (2.5, 9.5))), (Some(true), Some(false)));
    }

    #[test]
    fn numbers_show_three_digits() {
        let shown = [0.0, 0.1734, 4.804, 12.63, 30_595.4, f64::NAN].map(short);
        assert_eq!(shown, ["0", "0.173", "4.80", "12.6", "30595", "-"]);
    }
}
