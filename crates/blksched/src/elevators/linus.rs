//! linus: the elevator before deadline (2.4, and 2.5 until 2.5.38): one list, the disk takes its head, and a counter
//! per request says how often it may still be passed.
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | says where in the list a new request belongs? | `between` |
//! | charges requests for being passed (2.4.21)? | `passed` |
//! | charges them for being looked at (2.4.18, 2.5.38)? | `scanned` |
//! | lets a lone read jump over writes (read-latency2)? | `read_latency2` |
//! | lets all reads go before all writes (the rework of 2002-09-25)? | `rework` |
//! | never sorts (noop of 2.4)? | `arrival` |
//! | keeps the counters? | `counters` |
//! | does what those decide? | `scheduler` |
//! | says which era has what? | `presets` |
//!
//! No era looks at a clock: "latency" is counted in requests, or sectors, that pass by. `README.md` in this folder
//! gives the overview; the request pool and the plug of 2.4 are the queue's.

mod arrival;
mod between;
mod counters;
mod passed;
mod presets;
mod read_latency2;
mod rework;
mod scanned;
mod scheduler;
mod search;
mod tunables;

pub use presets::ENTRY;
pub use scheduler::Linus;
pub(super) use scheduler::Rule;
pub use tunables::LinusTunables;
