//! The tables below a comparison's own: what each knob of a search is worth, and recorded beside simulated latencies.

use blksched_lab::Compared;
use blksched_lab::search::tune::KnobWorth;
use blksched_lab::verdict::contrast::{ALPHA, between, times};
use blksched_lab::verdict::recorded::{RecordedBy, RecordedComparison, RecordedRow};
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
    let (was, is) = match comparison.by {
        RecordedBy::Trace => ("recorded", "simulated"),
        RecordedBy::Fio => ("measured", "predicted"),
    };
    let mut columns = vec![
        Column::words("what", "what"),
        Column::numbers("ios", &format!("{was} I/Os"), Quantity::Count),
        Column::numbers("recorded", &format!("{was} mean"), Quantity::Time),
        Column::numbers("recorded_p99", &format!("{was} p99"), Quantity::Time),
        Column::numbers("simulated", &format!("{is} mean"), Quantity::Time),
        Column::numbers("times", &format!("{is} / {was}"), Quantity::Ratio),
    ];
    if comparison.by == RecordedBy::Fio {
        columns.push(Column::numbers("recorded_iops", "measured IOPS", Quantity::Count));
        columns.push(Column::numbers("simulated_iops", "predicted IOPS", Quantity::Count));
    }
    let (scheduler, disk) = (&comparison.scheduler, &comparison.disk);
    let mut table = Table::new(format!("{was}, and {is} under {scheduler} on {disk}"), columns);
    for RecordedRow { word, recorded, simulated, rates } in &comparison.rows {
        let times = [recorded.mean, recorded.p99, *simulated, simulated / recorded.mean].map(Cell::from);
        let rates = rates.iter().flatten().map(|rate| Cell::from(*rate));
        table.row([word.as_str().into(), recorded.ios.into()].into_iter().chain(times).chain(rates));
    }
    table
}
