//! The deadline scheduler, 2.5.38 to 4.20: one order by sector and one by age for each direction, and batches.
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | ends a batch? | `batch` |
//! | chooses between reads and writes? | `direction` |
//! | says that a request has expired? | `expiry` |
//! | keeps requests in sector order, and finds the position of a new one? | `order` |
//! | moves a whole batch at once (2.5)? | `moving` |
//! | takes one request at a time (2.6 to 4.20)? | `stepping` |
//! | says which era has what? | `presets` |
//!
//! There are two implementations. Until 2.5 a batch is *moved* as a whole to a dispatch list, where its requests may
//! still merge but where everything that arrives later waits behind all of them; since 2.6 a batch is a *count* of
//! requests taken one at a time. `README.md` in this folder gives the overview.

mod batch;
mod direction;
mod expiry;
mod moving;
mod order;
mod presets;
mod stepping;
mod tunables;

pub use batch::Cost;
pub(super) use batch::goes_on;
pub(super) use direction::Starved;
pub use expiry::Expiry;
pub(super) use expiry::{Fifo, InTicks, LastTick};
pub use moving::Moving;
pub use order::Order;
pub use presets::ENTRY;
pub(super) use presets::bounded;
pub use stepping::{Alias, Stepping};
pub use tunables::DeadlineTunables;
