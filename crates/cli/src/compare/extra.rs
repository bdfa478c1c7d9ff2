//! The tables below a comparison's own: what each knob of a search is worth, and recorded beside simulated latencies.

use blksched_lab::Compared;
use blksched_lab::search::targets::KyberTargets;
use blksched_lab::search::tune::KnobWorth;
use blksched_lab::verdict::contrast::{ALPHA, between, times};
use blksched_lab::verdict::recorded::{RecordedBy, RecordedComparison, RecordedRow};
use blksched_measure::{Cell, Column, Quantity, Table};

/// All of them that the comparison has.
pub(super) fn tables(compared: &Compared) -> impl Iterator<Item = Table> {
    let targets = compared.kyber.as_ref().map(targets);
    worth(&compared.worth).into_iter().chain(targets).chain(compared.recorded.as_ref().map(recorded))
}

/// What Kyber's targets give and cost on this disk.
pub(super) fn targets(targets: &KyberTargets) -> Table {
    let figures = |dir: &str| {
        [
            Column::numbers(&format!("{dir}_iops"), &format!("{dir}s a second"), Quantity::Iops),
            Column::numbers(&format!("{dir}_mean"), "mean", Quantity::Time),
            Column::numbers(&format!("{dir}_p99"), "p99", Quantity::Time),
        ]
    };
    let columns = [("read", "reads' target"), ("write", "writes' target")];
    let columns = columns.map(|(dir, name)| Column::numbers(&format!("{dir}_target"), name, Quantity::Time));
    let columns = columns.into_iter().chain(figures("read")).chain(figures("write")).collect();
    let mut table = Table::new("kyber's targets on this disk under this load", columns);
    let mut present = None;
    for (nth, row) in targets.rows.iter().enumerate() {
        if row.is_present {
            present = Some(nth + 1);
        }
        let done = row.done.iter().flat_map(|done| match done {
            Some(done) => [done.iops, done.mean, done.p99].map(Cell::from),
            None => [Cell::Missing, Cell::Missing, Cell::Missing],
        });
        table.row(row.targets.iter().map(|ns| Cell::from(*ns as f64)).chain(done));
    }
    let in_device = |nth: usize, word: &str| {
        targets.in_device[nth].map(|ns| format!("a {word} takes {} in the device", Quantity::Time.show(ns)))
    };
    let taken: Vec<String> = [in_device(0, "read"), in_device(1, "write")].into_iter().flatten().collect();
    let present = present.map_or_else(String::new, |nth| format!("; row {nth} is in force"));
    table.note(format!(
        "read_lat_nsec and write_lat_nsec, one run each{present}; {}; checked against ICPE'24's tables: the direction \
         of the effect on a reader right in 21 of 21 pairs, its size within 20 % in 66 of 93 figures, p99 never \
         (docs/processors.md)",
        taken.join(", ")
    ));
    if targets.is_too_short() {
        table.note(format!(
            "kyber measures for 100 ms before it changes anything, so in runs of {} no target has an effect and all \
             rows are alike: --time 1s or longer",
            targets.length
        ));
    }
    table
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
