//! How an experiment's TOML is read: as all TOML is that people write.

pub use blksched_text::document::Complaint as ExperimentError;
pub(crate) use blksched_text::document::{Leaf, Located, Section, Source, TextRange};
