//! `blksched list iocost`: the SSDs known by six figures, and the figures that contradict each other.

use blksched_disks::{SixFigures, iocost_models};
use blksched_measure::{Column, Table};

pub(super) fn models() -> Table {
    let mut columns = vec![Column::words("model", "model"), Column::words("rows", "rows")];
    columns.extend(SixFigures::NAMES.map(|name| Column::words(name, name)));
    columns.push(Column::words("contradictions", "contradicts itself"));
    let mut table = Table::new("SSDs by their six figures, each `--disk iocost:MODEL`", columns);
    for model in iocost_models() {
        let many = model.rows.len() > 1;
        row(&mut table, &model.name, &model.rows.len().to_string(), &model.median());
        let contradicting = |figures: &SixFigures| !figures.contradictions().is_empty();
        for (nth, figures) in model.rows.iter().enumerate().filter(|(_, figures)| many && contradicting(figures)) {
            row(&mut table, &format!("{}#{}", model.name, nth + 1), "", figures);
        }
    }
    table.note("measured by resctl-bench (iocost-benchmarks, Apache-2.0); medians of rows; #2 picks the second");
    table.note(
        "bytes/s at 1 MiB, operations/s at 4 KiB; where 4 KiB operations move more than large ones, the byte rate \
         is raised by at most 9% towards them, and what lies beyond is not reached",
    );
    table
}

fn row(table: &mut Table, name: &str, rows: &str, figures: &SixFigures) {
    let rate = |bytes: u64| format!("{:.0}MB/s", bytes as f64 / 1e6);
    let shown = figures.to_array().into_iter().zip(SixFigures::NAMES);
    let figure = |(value, name): (u64, &str)| if name.ends_with("bps") { rate(value) } else { format!("{value}/s") };
    let mut cells = vec![name.to_owned(), rows.to_owned()];
    cells.extend(shown.map(figure));
    cells.push(figures.contradictions().join("; "));
    table.row(cells.into_iter().map(Into::into));
}
