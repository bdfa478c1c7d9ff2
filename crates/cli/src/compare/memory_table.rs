//! The page cache in a table, and in words if it hides the disk.

use blksched::Dir;
use blksched_measure::{Column, Quantity, Table};

use super::measured::Measured;
use super::tables::below_a_line;

/// One row per scheduler; `None` if no I/O was buffered.
pub(super) fn table(measured: &[Measured]) -> Option<Table> {
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

/// Memory hides the disk: the note appears if, under any scheduler, nearly every call of a direction ends without the
/// disk.
pub(super) fn beyond_reach(measured: &[Measured], dir: Dir) -> Option<String> {
    const LEAST: f64 = 0.95;
    let hits = |m: &Measured| m.memory.as_ref().map_or(0.0, |memory| memory.hits.spread().mean);
    let free = |m: &Measured| {
        let memory = m.memory.as_ref()?;
        (memory.room.mean().is_finite() && memory.dirtied.mean() > 0.0).then(|| memory.throttled.mean())
    };
    match dir {
        Dir::Read => {
            let least = measured.iter().map(hits).fold(f64::INFINITY, f64::min);
            (least >= LEAST).then(|| {
                format!(
                    "Under every scheduler {} of what is read comes from memory, which no scheduler influences; \
                     --host memory=… reduces that, direct=1 bypasses it.",
                    if least < 0.9995 {
                        format!("at least {}", Quantity::Fraction.show(least))
                    } else {
                        "all".to_owned()
                    }
                )
            })
        }
        // A job that syncs does wait for the disk.
        Dir::Write if measured.iter().any(Measured::syncs) => None,
        Dir::Write => measured.iter().all(|m| free(m) == Some(0.0)).then(|| {
            "Under every scheduler no write waits for the disk: all fit below the dirty limit (--host dirty_ratio=…), \
             and what they cost the disk comes later, or falls on others."
                .to_owned()
        }),
    }
}
