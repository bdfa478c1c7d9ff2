//! From measured figures to a verdict. Nothing here runs anything.

pub mod action;
pub mod clones;
pub mod contrast;
pub mod figure;
pub mod goal;
#[cfg(test)]
mod null;
pub mod processors;
pub mod reach;
pub mod recorded;
pub mod role;
mod value;
pub mod words;
