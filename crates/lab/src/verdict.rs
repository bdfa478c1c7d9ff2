//! From measured figures to a verdict. Nothing here runs anything.

pub mod action;
mod answer;
pub mod brief;
pub mod cause;
pub(crate) mod clock;
pub mod clones;
pub mod contrast;
pub mod figure;
pub mod goal;
pub mod halves;
#[cfg(test)]
mod null;
pub mod phases;
pub mod price;
pub mod processors;
pub mod reach;
pub mod recorded;
pub mod role;
mod score;
pub mod tails;
pub mod validation;
mod value;
pub mod words;

pub use answer::{JobRole, Proposal, Verdict};
