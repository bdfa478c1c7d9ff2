//! Pictures of what a disk scheduler did: one HTML file for people ([`html`]), and SVGs for documents ([`plot`]).
//!
//! The file needs no network and no other file. The answer, which comes first, is plain HTML ([`ShownAnswer`]); below
//! it the page draws the run ([`RecordedRun`]) from packed columns ([`columns`]). Whatever a run's size, the file stays
//! below [`MOST_BYTES`]: if a run does not fit in full, densities and its slowest part are shown ([`Detail`]).
//!
//! Nothing here depends on a scheduler or a simulator.

mod answer;
pub mod columns;
mod curve;
mod density;
mod fit;
mod page;
mod percentiles;
pub mod plot;
mod recorded;
mod series;

pub use curve::{CurveLine, curves};
pub use fit::{Detail, MOST_BYTES};
pub use page::{Html, html, modules};
pub use recorded::{
    Against, Blame, Download, Grid, Mark, MarkKind, Published, PublishedRow, RecordedCommand, RecordedIo, RecordedRun,
    Report, ShownAnswer, Stretch, StretchKind, TimePart, TimePiece, Way,
};
