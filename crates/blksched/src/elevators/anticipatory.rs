//! The anticipatory scheduler of 2.6: after a read it leaves the disk idle for a moment, because the same process will
//! ask for the sector behind it.
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | waits, and for how long? | `anticipate` |
//! | says that waiting is not worth while? | `breaking` |
//! | says that a request is as near as the awaited one would be? | `close` |
//! | knows how long a process thinks and how far it seeks? | `history` |
//! | knows how often processes leave after one request? | `exits` |
//! | knows a process? | `process` |
//! | chooses between the two classes, and ends a batch? | `batch` |
//! | says how many requests a batch of writes has? | `write_batch` |
//! | says that the oldest request goes first? | `fifo` |
//! | chooses the next request in sector order? | `choose`, with `nearer` of the folder above |
//! | finds a request that a bio may join in front? | `look_up` |
//! | puts all of this together? | `choose`, `wait`, `scheduler` |
//!
//! `README.md` in this folder tells the story.

mod anticipate;
mod batch;
mod breaking;
mod choose;
mod close;
mod exits;
mod fifo;
mod history;
mod look_up;
mod presets;
mod process;
mod scheduler;
mod tunables;
mod wait;
mod write_batch;

pub use presets::ENTRY;
pub use scheduler::Anticipatory;
pub use tunables::AnticipatoryTunables;
