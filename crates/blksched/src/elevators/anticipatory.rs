//! The anticipatory scheduler of 2.6: after a read it leaves the disk idle for a moment, because the same process will
//! probably read the next sector.
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | waits, and for how long? | `anticipate` |
//! | says that waiting is not worthwhile? | `breaking` |
//! | says that a request is as near as the awaited one would be? | `close` |
//! | knows how long a process thinks and how far it seeks? | `history` |
//! | knows how often processes exit after one request? | `exits` |
//! | knows a process? | `process` |
//! | chooses between the two classes, and ends a batch? | `batch` |
//! | says how many requests a batch of writes has? | `write_batch` |
//! | lets the oldest request go first? | `fifo` |
//! | chooses the next request in sector order? | `choose`, with `nearer` of the folder above |
//! | finds a request that a bio may join in front? | `look_up` |
//! | combines all of this? | `choose`, `wait`, `scheduler` |
//!
//! `README.md` in this folder gives the overview.

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
