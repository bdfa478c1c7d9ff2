//! The call log: every call to a [`BlockQueue`](blksched::BlockQueue) written down with its answer, and replayed.
//!
//! The bridge between the two worlds: a server in real time records with [`LoggedQueue`], and [`replay`] makes the same
//! calls at the same moments in virtual time. The queue is deterministic, so every answer must come again; where one
//! differs, somebody changed a decision. The file format is [`blksched_traces::call_log`].

mod convert;
mod logged;
mod play;
mod replay;
mod unanswered;

pub use logged::LoggedQueue;
pub use play::{Step, play};
pub use replay::{LogError, LogReport, replay};
