//! Explanations as Parquet: the pieces of the reported I/Os, the I/Os, and the blame table.

use blksched_lab::why::phrase::leg;
use blksched_lab::why::{Explanation, IoStory, StoryPiece};

use crate::rows::{Filled, ParquetTarget, To, WriteResult, piece_columns};

/// The columns that the two tables of I/Os share.
macro_rules! io_columns {
    () => {
        "
  required int64 io;
  required binary process (STRING);
  required binary op (STRING);
  required int64 sector;
  required int64 sectors;
  required int64 begun_ns;
  required int64 latency_ns;"
    };
}

const PIECES: &str = concat!("message pieces {", io_columns!(), piece_columns!(), "}");

const STORIES: &str = concat!("message stories {", io_columns!(), "\n  required binary sentence (STRING);\n}");

const BLAME: &str = "\
message blame {
  required binary who (STRING);
  optional binary for_whom (STRING);
  required binary rule (STRING);
  required binary where (STRING);
  required int64 ns;
  required int64 ios;
}";

pub(super) fn write(place: &ParquetTarget, explanation: &Explanation) -> WriteResult {
    let Explanation { stories, blame, .. } = explanation;
    place.table("pieces", true, PIECES, |to| {
        let all = stories.iter().flat_map(|story| story.pieces.iter().map(move |piece| (story, piece)));
        all.into_iter().try_for_each(|(story, one)| piece(to, story, one))
    })?;
    place.table("stories", false, STORIES, |to| {
        stories.iter().try_for_each(|story| to.row(begun(story).into_iter().chain([story.sentence.as_str().into()])))
    })?;
    place.table("blame", false, BLAME, |to| {
        blame.rows.iter().try_for_each(|(key, time, ios)| {
            to.row([
                key.who.as_str().into(),
                key.whom.as_deref().into(),
                key.rule.into(),
                leg(key.leg).into(),
                time.as_ns().into(),
                (*ios).into(),
            ])
        })
    })
}

/// The first cells of both tables of I/Os.
fn begun(story: &IoStory) -> [crate::rows::CellValue; 7] {
    [
        story.nth.into(),
        story.process.as_str().into(),
        story.op.as_str().into(),
        story.sector.into(),
        story.sectors.into(),
        story.begun_at.as_ns().into(),
        story.latency.as_ns().into(),
    ]
}

fn piece(to: &mut To, story: &IoStory, piece: &StoryPiece) -> Filled {
    to.row(begun(story).into_iter().chain([
        piece.from.as_ns().into(),
        piece.length.as_ns().into(),
        piece.leg.into(),
        piece.rule.into(),
        piece.whom.as_deref().into(),
        piece.commands.into(),
    ]))
}
