//! ADIOS 3.1: deadlines from learned latencies, filled into batches. Out of tree.
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | says which kinds of request there are, and which side each is on? | `kind` |
//! | says what a request will cost, and learns it? | `model`, its samples in `samples` |
//! | takes a completion for a sample, and says when models are renewed? | `learning` |
//! | gives a request its deadline, and keeps requests in that order? | `order` |
//! | chooses between reads and the rest? | `bias` |
//! | fills a batch? | `fill` |
//! | takes the next request of a batch, up or down? | `page` |
//! | lets a discard hold everything behind it back? | `barrier` |
//! | counts what is under way? | `flight` |
//! | puts it all together? | `scheduler` |
//!
//! `README.md` in this folder tells the story, and where it wins and loses.

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
