//! `simulate --decisions FILE`: a row per request that the disk got, as CSV. docs/schema.md says what each column is.

use std::fmt::Write;
use std::path::Path;

use blksched::Span;
use blksched_measure::{BeganBy, Cause, DiskDecision, Serving};
use blksched_simulate::Findings;

use crate::failure::Failure;
use crate::quoted::quoted;
use blksched_lab::scene::Stage;

const HEADER: &str = "nth,job,process,op,sector,sectors,fua,queued_ns,issued_ns,completed_ns,waited_ns,in_disk_ns,\
                      batch_began,waited_for\n";

pub(super) fn write(file: &Path, stage: &Stage, findings: &Findings) -> Result<(), Failure> {
    let rows = findings.reasons.decisions();
    let mut text = HEADER.to_owned();
    for (nth, (row, command)) in rows.iter().zip(&findings.issued).enumerate() {
        let job = stage.plan.jobs.iter().find(|job| job.submitter == row.submitter);
        // Write-back belongs to no process.
        let name = job.map_or_else(|| "kernel".to_owned(), |job| quoted(&job.name));
        let (queued, completed) = (row.queued_at.map(|at| at.as_ns()), row.completed_at.map(|at| at.as_ns()));
        let issued = row.issued_at.as_ns();
        let waited = queued.map(|queued| issued - queued);
        let in_disk = completed.map(|completed| completed - issued);
        let show = |ns: Option<u64>| ns.map(|ns| ns.to_string()).unwrap_or_default();
        let (op, start, sectors, fua) = (command.op, command.start.0, command.sectors, u8::from(command.fua));
        let line = writeln!(
            text,
            "{nth},{name},{},{op:?},{start},{sectors},{fua},{},{issued},{},{},{},{},{}",
            row.submitter.0,
            show(queued),
            show(completed),
            show(waited),
            show(in_disk),
            began(row.serving),
            causes(row),
        );
        line.expect("memory takes any text");
    }
    std::fs::write(file, text).map_err(|error| Failure::Outside(format!("{}: {error}", file.display())))
}

/// Why the batch that it belongs to began.
pub(crate) fn began(serving: Serving) -> &'static str {
    match serving {
        Serving::Flush => "flush",
        Serving::Destaging => "destaging",
        Serving::Batch(_, BeganBy::Moved) => "moved at once",
        Serving::Batch(_, BeganBy::Starved) => "writes starved",
        Serving::Batch(_, BeganBy::Alone) => "nothing else waited",
        Serving::Batch(_, BeganBy::Expired) => "expired",
        Serving::Batch(_, BeganBy::Turn) => "its turn",
        Serving::Batch(_, BeganBy::Unbatched) => "no batches",
    }
}

/// `reads ahead of it=1200; …` \[ns\], the longest first.
fn causes(row: &DiskDecision) -> String {
    let show = |(cause, span): &(Cause, Span)| format!("{}={}", cause.name_for(row.dir), span.as_ns());
    quoted(&row.causes().iter().map(show).collect::<Vec<_>>().join("; "))
}
