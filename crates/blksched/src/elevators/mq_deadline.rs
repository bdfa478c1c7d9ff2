//! mq-deadline: deadline for each priority class, strict priority between the classes, and ageing.
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | says which class a request belongs to, and keeps a class's requests? | `class` |
//! | lets a request of a lower class go first when it has waited long enough? | `ageing` |
//! | continues a batch, or begins another? | `batch` |
//! | remembers where a direction continues? | `position` |
//! | says when a request that the device returned is dispatched? | `at_head` |
//! | ends a batch, and chooses between reads and writes? | [`deadline`](super::deadline)'s `batch` and `direction` |
//! | says that a request has expired? | [`deadline`](super::deadline)'s `expiry` |
//! | limits the tags of writes? | `depth` |
//! | updates the orders when requests merge? | `merge` |
//! | combines all of this? | `scheduler` |
//!
//! `README.md` in this folder gives the overview.

mod ageing;
mod at_head;
mod batch;
mod class;
mod depth;
mod merge;
mod position;
mod presets;
mod scheduler;
mod tunables;

pub use class::Classes;
pub use presets::ENTRY;
pub use scheduler::MqDeadline;
pub use tunables::MqDeadlineTunables;
