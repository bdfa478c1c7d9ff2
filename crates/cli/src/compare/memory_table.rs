//! The page cache in a table.

use std::sync::Arc;

use blksched_lab::runs::measured::Measured;
use blksched_measure::{Column, Quantity, Table};

use super::lines::below_a_line;

/// One row per scheduler; `None` if no I/O was buffered.
pub(super) fn table(measured: &[Arc<Measured>]) -> Option<Table> {
    let columns = vec![
        Column::words("elevator", "scheduler"),
        Column::numbers("hits", "read from memory", Quantity::Fraction),
        Column::numbers("read_ahead", "read ahead", Quantity::Bytes),
        Column::numbers("dirtied", "written to memory", Quantity::Bytes),
        Column::numbers("written", "of it to the disk", Quantity::Bytes),
        Column::numbers("throttled", "writers throttled", Quantity::Count),
        Column::numbers("room", "per write", Quantity::Time),
        Column::numbers("left", "left dirty", Quantity::Bytes),
    ];
    let mut table = Table::new("", columns);
    for (nth, elevator) in measured.iter().enumerate() {
        let memory = elevator.memory.as_ref()?;
        below_a_line(&mut table, measured, nth);
        table.row([
            elevator.label().into(),
            (&memory.hits).into(),
            (&memory.read_ahead).into(),
            (&memory.dirtied).into(),
            (&memory.written).into(),
            (&memory.throttled).into(),
            (&memory.room).into(),
            (&memory.left).into(),
        ]);
    }
    Some(table)
}
