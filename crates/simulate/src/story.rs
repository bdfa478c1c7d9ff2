//! Where each I/O's time went: stories of single I/Os, and which process waited for which over a whole run.
//!
//! The world and the queue only say what happens ([`Happening`], in order); an [`Onlooker`] folds that stream into what
//! it is after. [`Storyteller`] keeps a timeline of what disk and scheduler were about for as long as the oldest I/O
//! under way may need it, cuts an I/O's time into [`Piece`]s the moment it lands, adds them to the [`Blame`], and keeps
//! the stories that were asked for. Nothing is made without an onlooker.
//!
//! **The rules of attribution**
//! * A moment in which the disk has commands belongs to whom the head works for, if the disk has but one and tells;
//!   else to the command that it completes next.
//! * A command's own service is the last part of its time in the disk, as long as the disk's model says; what lies
//!   before it there belongs to the commands that completed meanwhile, and without any to the disk itself.
//! * An I/O that was split waits for its last piece; a call waits for the last transfer in its name (or, if it writes
//!   or syncs, of write-back) that ended before it went on, and that for the one before.
//! * The pieces of an I/O follow one another without a gap, and add up to its latency.

mod blame;
mod block_trace;
mod calls;
mod decisions;
mod happening;
mod part;
mod path;
mod picture;
mod stance;
mod teller;
mod timeline;

pub use blame::{Blame, Blamed};
pub use block_trace::BlockTrace;
pub use decisions::{Close, DecisionLog, Sent, parting};
pub(crate) use happening::Hears;
pub use happening::{Begun, Happening, IoId, IoRoute, Onlooker, ReasonTee, SharedOnlooker, Together};
pub use part::{Batched, Leg, Part, Piece, Rule, Whose};
pub use picture::{Picture, Words};
pub use teller::{StoriesAsked, Story, Storyteller};
