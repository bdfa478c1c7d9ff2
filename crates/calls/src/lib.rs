//! The call log: a record of every call to a [`BlockQueue`](blksched::BlockQueue) with its answer.
//!
//! It is the bridge between real and virtual time: a server records with [`LoggedQueue`]; [`play`] repeats the same
//! calls at the same times in virtual time for an onlooker, and `blksched-conformance` repeats them and compares every
//! answer. The file format is [`blksched_traces::call_log`].

#![forbid(unsafe_code)]

pub mod convert;
mod logged;
mod play;
pub mod unanswered;

pub use logged::LoggedQueue;
pub use play::{PlayStep, play};
