//! The call log: every call to a [`BlockQueue`](blksched::BlockQueue) written down with its answer.
//!
//! The bridge between the two worlds: a server in real time records with [`LoggedQueue`]; [`play`] makes the same calls
//! at the same moments in virtual time for an onlooker, and `blksched-conformance` makes them and compares every
//! answer. The file format is [`blksched_traces::call_log`].

#![forbid(unsafe_code)]

pub mod convert;
mod logged;
mod play;
pub mod unanswered;

pub use logged::LoggedQueue;
pub use play::{PlayStep, play};
