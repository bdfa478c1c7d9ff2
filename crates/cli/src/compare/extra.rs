//! The tables below a comparison's own: what each knob of a search is worth, and recorded beside simulated latencies.

use blksched_lab::Compared;
use blksched_lab::search::tune::KnobWorth;
use blksched_lab::verdict::contrast::{ALPHA, between, times};
use blksched_lab::verdict::recorded::{RecordedComparison, RecordedRow};
use blksched_measure::{Cell, Column, Quantity, Table};

/// All of them that the comparison has.
pub(super) fn tables(compared: &Compared) -> impl Iterator<Item = Table> {
    worth(&compared.worth).into_iter().chain(compared.recorded.as_ref().map(recorded))
}

/// What each knob is worth, on seeds that the search has not seen; `None` if none was changed.
pub(super) fn worth(knobs: &[KnobWorth]) -> Option<Table> {
    if knobs.is_empty() {
        return None;
    }
    let columns = vec![
        Column::words("knob", "knob"),
        Column::words("value", "value"),
        Column::words("default", "default"),
        Column::words("worth", "better with it"),
        Column::words("interval", "95 % interval"),
        Column::numbers("p", "p", Quantity::Ratio),
    ];
    let mut table = Table::new("what each knob is worth", columns);
    for KnobWorth { name, control, better, .. } in knobs {
        let worth = better.map(|score| if score.ratio < 1.0 { "nothing".to_owned() } else { times(score.ratio) });
        table.row([
            name.as_str().into(),
            control.as_ref().map(|control| control.value.clone()).into(),
            control.as_ref().map(|control| control.default.clone().unwrap_or_else(|| "the kernel's".to_owned())).into(),
            worth.into(),
            better.map(|score| between(score.low, score.high)).into(),
            better.map_or(Cell::Missing, |score| score.p.into()),
        ]);
    }
    table.note(format!("one knob at a time reset to its default; p above {ALPHA}: chance would explain it"));
    Some(table)
}

pub(super) fn recorded(comparison: &RecordedComparison) -> Table {
    let mut table = Table::new(
        format!("recorded, and simulated under {} on {}", comparison.scheduler, comparison.disk),
        vec![
            Column::words("what", "what"),
            Column::numbers("ios", "recorded I/Os", Quantity::Count),
            Column::numbers("recorded", "recorded mean", Quantity::Time),
            Column::numbers("recorded_p99", "recorded p99", Quantity::Time),
            Column::numbers("simulated", "simulated mean", Quantity::Time),
            Column::numbers("times", "simulated / recorded", Quantity::Ratio),
        ],
    );
    for RecordedRow { word, recorded, simulated } in &comparison.rows {
        table.row([
            (*word).into(),
            recorded.ios.into(),
            Cell::from(recorded.mean),
            Cell::from(recorded.p99),
            Cell::from(*simulated),
            Cell::from(simulated / recorded.mean),
        ]);
    }
    table
}
