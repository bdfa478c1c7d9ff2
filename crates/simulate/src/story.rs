//! Where each I/O's time went: stories of single I/Os, and which process waited for which over a whole run.
//!
//! The world and the queue only report events ([`Happening`], in order); an [`Onlooker`] folds that stream into its own
//! result. [`Storyteller`] keeps a timeline of the activity of disk and scheduler for as long as the oldest I/O under
//! way may need it, divides an I/O's time into [`Piece`]s when it completes, adds them to the [`Blame`], and keeps the
//! requested stories. Without an onlooker no events are made.
//!
//! **The rules of attribution**
//! * A moment in which the disk has commands is attributed to the process that the head works for, if the disk has a
//!   single head and reports this; otherwise to the command that it completes next.
//! * A command's own service is the last part of its time in the disk, as long as the disk's model says; the time
//!   before it in the disk is attributed to the commands that completed meanwhile, and if there are none to the disk
//!   itself.
//! * An I/O that was split waits for its last piece; a call waits for the last transfer in its name (or, if it writes
//!   or syncs, of write-back or of the file system's journal) that ended before it continued, and that one waits for
//!   the one before.
//! * The pieces of an I/O follow one another without a gap, and add up to its latency.

mod blame;
mod block_trace;
mod calls;
mod decisions;
mod happening;
mod part;
mod path;
#[cfg(feature = "perfetto")]
mod picture;
mod stance;
mod teller;
mod timeline;

pub use blame::{Blame, Blamed};
pub use block_trace::BlockTrace;
pub use calls::ForJournal;
pub use decisions::{Close, DecisionLog, Sent, parting};
pub use happening::{Begun, Happening, IoId, IoRoute, Onlooker, ReasonTee, SharedOnlooker, Together};
pub(crate) use happening::{Hears, works};
pub use part::{Batched, Leg, Part, Piece, Rule, Whose};
#[cfg(feature = "perfetto")]
pub use picture::{Picture, Words};
pub use teller::{StoriesAsked, Story, Storyteller};
