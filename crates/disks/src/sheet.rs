//! A disk's data sheet: the figures of the bare model, without scheduler or host, beside those of its source.
//!
//! Each [`Figure`] is measured on a disk at rest, as manufacturers measure theirs: a fresh SSD, caches as they are set.

use crate::{DiskSpec, SixFigures};

mod bench;
mod figure;
mod truth;

pub use figure::{Figure, FigureUnit};
pub use truth::{Truth, truth};

/// One line of the sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetLine {
    /// The figure.
    pub figure: Figure,
    /// The model's value, in the figure's unit.
    pub model: f64,
    /// The source's value, if it has one.
    pub published: Option<Published>,
}

impl SheetLine {
    /// The model's value over the source's.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.model / self.published.as_ref()?.value as f64)
    }
}

/// A figure as it was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Which figure.
    pub figure: Figure,
    /// The value, in the figure's unit.
    pub value: u64,
    /// Its source.
    pub source: String,
}

/// Measures every figure that is meaningful for this kind of disk. This takes a second of CPU time or less.
pub fn data_sheet(spec: &DiskSpec) -> Vec<SheetLine> {
    let facts = spec.build(SEED).facts();
    let is_published = |figure: Figure| spec.published.iter().any(|published| published.figure == figure);
    let wanted = |figure: &Figure| figure.applies_to(&facts) && (!figure.only_if_published() || is_published(*figure));
    let figures = Figure::ALL.into_iter().filter(wanted);
    figures
        .map(|figure| SheetLine {
            figure,
            model: bench::measure(spec, figure),
            published: spec.published.iter().find(|published| published.figure == figure).cloned(),
        })
        .collect()
}

/// One figure, measured on the model, in its unit.
pub fn figure(spec: &DiskSpec, figure: Figure) -> f64 {
    bench::measure(spec, figure)
}

/// The six figures of `io.cost`, measured on the model: 1 MiB with 16 in flight, 4 KiB with 256 or as many as it takes.
pub fn six_figures(spec: &DiskSpec) -> SixFigures {
    let figures = Figure::ALL.into_iter().filter(|figure| figure.only_if_published());
    let mut values = figures.map(|figure| bench::measure(spec, figure).round() as u64);
    SixFigures::from_array(core::array::from_fn(|_| values.next().expect("six figures")))
}

/// The seed of the disk's angle at time zero and of the random places; nothing published depends on it.
const SEED: u64 = 1;
