//! mq-deadline of 6.1 and later: deadline for each priority class, the classes one before the other, and ageing.
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | says which class a request belongs to, and keeps a class's requests? | `class` |
//! | lets a request of a lower class go first when it has waited long enough? | `ageing` |
//! | lets a batch go on, or begins another? | `batch` |
//! | remembers with what a direction goes on? | `position` |
//! | says when a request goes that the device handed back? | `at_head` |
//! | ends a batch, and chooses between reads and writes? | [`deadline`](super::deadline)'s `batch` and `direction` |
//! | says that a request's time is up? | [`deadline`](super::deadline)'s `expiry` |
//! | holds writes back from a device's last tags? | `depth` |
//! | keeps the orders right when requests merge? | `merge` |
//! | puts it all together? | `scheduler` |
//!
//! `README.md` in this folder tells the story.

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

pub use presets::ENTRY;
pub use scheduler::MqDeadline;
pub use tunables::MqDeadlineTunables;
