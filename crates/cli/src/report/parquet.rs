//! Runs as Parquet: every I/O, every piece of its time, every command and every decision.

use blksched_report::{RecordedRun, Way};
use parquet::data_type::ByteArray;

use super::collect::LEGS;
use crate::rows::{CellValue, Filled, ParquetTarget, To, WriteResult, piece_columns};
use blksched_lab::why::phrase;

const IOS: &str = "\
message ios {
  required binary scheduler (STRING);
  required int64 io;
  required binary process (STRING);
  required binary job (STRING);
  required binary op (STRING);
  required int64 sector;
  required int64 sectors;
  required int64 begun_ns;
  required int64 latency_ns;
}";

const PIECES: &str =
    concat!("message pieces {\n  required binary scheduler (STRING);\n  required int64 io;", piece_columns!(), "}");

const COMMANDS: &str = "\
message commands {
  required binary scheduler (STRING);
  required binary process (STRING);
  required binary job (STRING);
  required binary op (STRING);
  required int64 sector;
  required int64 sectors;
  required int64 queued_ns;
  required int64 issued_ns;
  required int64 ended_ns;
  optional int64 io;
}";

const DECISIONS: &str = "\
message decisions {
  required binary scheduler (STRING);
  required binary of (STRING);
  required binary what (STRING);
  required int64 from_ns;
  optional int64 to_ns;
  required binary why (STRING);
}";

/// The tables' names.
pub(super) const TABLES: [&str; 4] = ["ios", "pieces", "commands", "decisions"];

/// Writes everything: a table per kind, each with all runs.
pub(super) fn write(place: &ParquetTarget, runs: &[RecordedRun]) -> WriteResult {
    let [named_ios, named_pieces, named_commands, named_decisions] = TABLES;
    place.table(named_ios, false, IOS, |to| runs.iter().try_for_each(|run| ios(to, run)))?;
    place.table(named_pieces, false, PIECES, |to| runs.iter().try_for_each(|run| pieces(to, run)))?;
    place.table(named_commands, false, COMMANDS, |to| runs.iter().try_for_each(|run| commands(to, run)))?;
    place.table(named_decisions, false, DECISIONS, |to| runs.iter().try_for_each(|run| decisions(to, run)))
}

/// Names shared by many rows, kept in memory once each.
struct SharedNames {
    scheduler: ByteArray,
    processes: Vec<(ByteArray, ByteArray)>,
    nobody: (ByteArray, ByteArray),
    ways: [ByteArray; 4],
}

impl SharedNames {
    fn of(run: &RecordedRun) -> SharedNames {
        let job =
            |nth: usize| run.jobs_of.get(nth).and_then(|&job| run.jobs.get(job as usize)).map_or("", String::as_str);
        let names = run.processes.iter().enumerate().map(|(nth, name)| (name.as_str().into(), job(nth).into()));
        SharedNames {
            scheduler: run.name.as_str().into(),
            processes: names.collect(),
            nobody: ("".into(), "".into()),
            ways: Way::ALL.map(|way| way.name().into()),
        }
    }

    fn process(&self, nth: u32) -> [CellValue; 2] {
        let (name, job) = self.processes.get(nth as usize).unwrap_or(&self.nobody);
        [name.into(), job.into()]
    }

    fn way(&self, way: Way) -> CellValue {
        (&self.ways[way as usize]).into()
    }
}

fn ios(to: &mut To, run: &RecordedRun) -> Filled {
    let shared = SharedNames::of(run);
    run.ios.iter().try_for_each(|io| {
        let [process, job] = shared.process(io.process);
        to.row([
            (&shared.scheduler).into(),
            io.nth.into(),
            process,
            job,
            shared.way(io.way),
            io.sector.into(),
            io.sectors.into(),
            io.begun_ns.into(),
            io.latency_ns.into(),
        ])
    })
}

fn pieces(to: &mut To, run: &RecordedRun) -> Filled {
    let shared = SharedNames::of(run);
    let parts = run.parts.iter().map(|part| {
        let whom = Some(part.whom.as_str()).filter(|whom| !whom.is_empty()).map(ByteArray::from);
        let leg = LEGS.get(usize::from(part.leg)).map_or("", |leg| phrase::leg(*leg));
        (ByteArray::from(leg), ByteArray::from(part.rule.as_str()), whom)
    });
    let parts: Vec<_> = parts.collect();
    for io in &run.ios {
        let (first, count) = (io.pieces.0 as usize, io.pieces.1 as usize);
        let mut from = io.begun_ns;
        for piece in run.pieces.get(first..first + count).unwrap_or_default() {
            let Some((leg, rule, whom)) = parts.get(piece.part as usize) else { continue };
            to.row([
                (&shared.scheduler).into(),
                io.nth.into(),
                from.into(),
                piece.ns.into(),
                leg.into(),
                rule.into(),
                whom.as_ref().into(),
                piece.commands.into(),
            ])?;
            from += piece.ns;
        }
    }
    Ok(())
}

fn commands(to: &mut To, run: &RecordedRun) -> Filled {
    let shared = SharedNames::of(run);
    run.sent.iter().try_for_each(|sent| {
        let [process, job] = shared.process(sent.process);
        to.row([
            (&shared.scheduler).into(),
            process,
            job,
            shared.way(sent.way),
            sent.sector.into(),
            sent.sectors.into(),
            sent.queued_ns.into(),
            sent.issued_ns.into(),
            sent.ended_ns.into(),
            Some(sent.io).filter(|io| *io > 0).into(),
        ])
    })
}

fn decisions(to: &mut To, run: &RecordedRun) -> Filled {
    let texts = |all: &[String]| all.iter().map(|text| ByteArray::from(text.as_str())).collect::<Vec<_>>();
    let (lanes, words, scheduler) = (texts(&run.lanes), texts(&run.words), ByteArray::from(run.name.as_str()));
    let mut put = |lane: u32, what: &str, (from, end): (u64, Option<u64>), why: u32| {
        let (Some(lane), Some(why)) = (lanes.get(lane as usize), words.get(why as usize)) else { return Ok(()) };
        to.row([(&scheduler).into(), lane.into(), what.into(), from.into(), end.into(), why.into()])
    };
    for one in &run.stretches {
        put(one.lane, one.kind.name(), (one.from_ns, Some(one.to_ns)), one.why)?;
    }
    run.marks.iter().try_for_each(|one| put(one.lane, one.kind.name(), (one.at_ns, None), one.why))
}
