//! ADIOS 3.1: deadlines from learned latencies, filled into batches. Out of tree.
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | says which kinds of request there are, and which side each is on? | `kind` |
//! | predicts and learns a request's cost? | `model`, its samples in `samples` |
//! | turns completions into samples, and says when models are updated? | `learning` |
//! | assigns deadlines, and keeps requests in that order? | `order` |
//! | chooses between reads and the rest? | `bias` |
//! | fills a batch? | `fill` |
//! | takes the next request of a batch, up or down? | `page` |
//! | makes a discard hold back everything behind it? | `barrier` |
//! | counts requests in flight? | `flight` |
//! | puts it all together? | `scheduler` |
//!
//! `README.md` in this folder gives the overview, and says where it wins and loses.

mod barrier;
mod bias;
mod fill;
mod flight;
mod kind;
mod learning;
mod model;
mod order;
mod page;
mod presets;
mod samples;
mod scheduler;
mod store;
mod tunables;

pub use presets::ENTRY;
pub use scheduler::Adios;
pub use tunables::AdiosTunables;
