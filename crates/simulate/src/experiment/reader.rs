//! Reads an experiment's TOML in the same way as all TOML that people write.

pub use blksched_text::document::Complaint as ExperimentError;
pub(crate) use blksched_text::document::{Leaf, Located, Section, Source, TextRange};
