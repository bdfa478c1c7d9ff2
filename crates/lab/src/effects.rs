//! What each knob does: measured by simulation, and said in words.
//!
//! The figures are in `effects/effects.csv`; `cargo xtask what-knobs-do` measures them, and docs/what-knobs-do.md is
//! made from them.

mod table;
pub mod words;

pub use table::{Effect, KnobRow, KnobTable, OfKnob, ShownFigure};

/// The figures that this program was built with.
///
/// # Panics
/// Never: a test reads them.
pub fn measured() -> KnobTable {
    KnobTable::read(include_str!("effects/effects.csv")).expect("a test reads it")
}
