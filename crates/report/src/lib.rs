//! What a disk scheduler did, as pictures: one HTML file for people ([`html`]), and SVGs for documents ([`plot`]).
//!
//! The file needs no network and no other file. What stands first, the answer, is plain HTML ([`ShownAnswer`]); below
//! it the page draws what happened ([`RecordedRun`]) from packed columns ([`columns`]). Whatever a run's size, the file
//! stays below
//! [`MOST_BYTES`]: what does not fit in full is told by densities and by its slowest part ([`Detail`]).
//!
//! Nothing here knows a scheduler or a simulator.

mod answer;
pub mod columns;
mod density;
mod fit;
mod page;
mod percentiles;
pub mod plot;
mod recorded;
mod series;

pub use fit::{Detail, MOST_BYTES};
pub use page::{Html, html, modules};
pub use recorded::{
    Against, Blame, Download, Grid, Mark, MarkKind, Published, PublishedRow, RecordedCommand, RecordedIo, RecordedRun,
    Report, ShownAnswer, Stretch, StretchKind, TimePart, TimePiece, Way,
};
