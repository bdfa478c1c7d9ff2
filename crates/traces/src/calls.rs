//! The call log at work: a queue that writes it, and its repetition.
//!
//! It is the bridge between real and virtual time: a server records with [`LoggedQueue`]; [`play`] repeats the same
//! calls at the same times in virtual time for an onlooker, and `blksched-conformance` repeats them and compares every
//! answer. The file format is [`call_log`](crate::call_log).

pub mod convert;
mod logged;
mod play;
pub mod unanswered;

pub use logged::LoggedQueue;
pub use play::{PlayStep, play};
