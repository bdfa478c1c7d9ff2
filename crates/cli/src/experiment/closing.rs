//! What stands below the pages of several experiments: one line each, and where to look.

use std::time::Duration;

use blksched_measure::{Align, Cell, Column, Table};
use blksched_simulate::experiment::{BUILTINS, BeyondNull, Experiment, PublishedRow};

use super::{Answered, ExperimentArguments};
use crate::output::{self, Paint, TableStyle};

/// One experiment's line.
pub(super) struct ClosingLine {
    pub(super) name: String,
    /// Published numbers that count.
    pub(super) numbers: usize,
    /// Those within 25 %.
    pub(super) near: usize,
    /// How many of those that can be moved are reproduced beyond their null; `None` if that is not known.
    pub(super) beyond: Option<(usize, usize)>,
    /// Claims that a null changes and breaks; all of them where that is not known.
    pub(super) claims: usize,
    /// Claims outside their bounds, or, beside nulls, those that hold under their null.
    pub(super) misses: usize,
    pub(super) took: Duration,
}

impl ClosingLine {
    fn of(answered: &Answered, is_as_built: bool) -> ClosingLine {
        let Answered { experiment, answer, took, .. } = answered;
        let rows: Vec<&PublishedRow> = experiment.rows().collect();
        let known = is_as_built.then(|| known(experiment)).flatten();
        let near = rows.iter().zip(answer.rows()).filter(|(row, ours)| row.is_counted() && row.is_near(ours.ours));
        ClosingLine {
            name: experiment.name.clone(),
            numbers: rows.iter().filter(|row| row.is_counted()).count(),
            near: near.count(),
            beyond: known.map(|known| (known.reproduced, known.movable)),
            claims: known.map_or_else(|| rows.iter().filter(|row| row.claimed).count(), |known| known.claims),
            misses: answer.broken().count(),
            took: *took,
        }
    }
}

/// What `--null` said of this experiment as it comes with the program.
fn known(experiment: &Experiment) -> Option<BeyondNull> {
    BUILTINS.iter().find(|builtin| builtin.name == experiment.name)?.beyond_null()
}

/// The closing table of several experiments; nothing below a single one.
pub(super) fn text(arguments: &ExperimentArguments, answered: &[Answered]) -> String {
    if answered.len() < 2 {
        return String::new();
    }
    let is_as_built = arguments.seed.is_none() && arguments.seeds.is_none();
    let lines: Vec<ClosingLine> = answered.iter().map(|one| ClosingLine::of(one, is_as_built)).collect();
    let notes = [
        "beyond null: reproduced where a scheduler, a patch or a knob can move the number and a model without the \
         mail's subject misses it, as `--null` found with the seeds that come with the program; `-`: not known. \
         claims: without those that hold under their null or that no null changes, where that is known; \
         misses: of all.",
        "`blksched experiment NAME` shows one, `--null` its numbers beside those of models that know nothing of its \
         subject; docs/mails.md has every published number, `--report FILE.html` one page with pictures.",
    ];
    format!("\n{}\n{}", table(&lines, "misses"), notes.map(output::paragraph).concat())
}

/// The table, with a line for the sum.
pub(super) fn table(lines: &[ClosingLine], misses: &'static str) -> String {
    let right = |key: &str, header: &str| Column { align: Align::Right, ..Column::words(key, header) };
    let columns = vec![
        Column::words("name", "experiment"),
        right("numbers", "numbers"),
        right("near", "within 25 %"),
        right("beyond", "beyond null"),
        right("claims", "claims"),
        right("misses", misses),
        right("seconds", "seconds"),
    ];
    let mut table = Table::new("", columns);
    let cells = |line: &ClosingLine| {
        let beyond = line.beyond.map_or("-".to_owned(), |(beyond, movable)| format!("{beyond} of {movable}"));
        let [numbers, near, claims, misses] =
            [line.numbers, line.near, line.claims, line.misses].map(|count| count.to_string());
        [line.name.clone(), numbers, near, beyond, claims, misses, format!("{:.1}", line.took.as_secs_f64())]
    };
    let sum = |of: fn(&ClosingLine) -> usize| lines.iter().map(of).sum();
    let together = |of: fn((usize, usize)) -> usize| lines.iter().filter_map(|line| line.beyond).map(of).sum();
    let all = ClosingLine {
        name: "all".to_owned(),
        numbers: sum(|line| line.numbers),
        near: sum(|line| line.near),
        beyond: lines.iter().any(|line| line.beyond.is_some()).then(|| (together(|b| b.0), together(|b| b.1))),
        claims: sum(|line| line.claims),
        misses: sum(|line| line.misses),
        took: lines.iter().map(|line| line.took).sum(),
    };
    for line in lines.iter().chain([&all]) {
        table.row(cells(line).map(Cell::Text));
    }
    let text = output::render(&table, TableStyle::Text);
    if all.misses == 0 { text } else { output::paint(&text, Paint::Bold) }
}
