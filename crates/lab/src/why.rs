//! Why: the first moment at which two schedulers differ, and the stories of single I/Os in words.

pub mod blame;
mod capped;
mod explanation;
mod lever;
pub mod names;
pub mod parting;
pub mod phrase;
pub mod reason;
mod remedy;

pub use explanation::{ExplainedRun, Explanation, IoStory, StoryPiece};
pub use remedy::{Remedies, Remedy};
