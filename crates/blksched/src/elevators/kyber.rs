//! Kyber of 6.1: this many tokens for each kind of operation, and depths that follow from latencies.
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | says which kinds of operation there are, and their first tokens and batches? | `domain` |
//! | takes the next request of a domain? | `domain` |
//! | goes on to the next domain? | `turn` |
//! | hands out tokens by number? | `tokens` |
//! | counts latencies, and says when there are enough to judge? | `latency` |
//! | makes depths from them? | `depth` |
//! | says when that is done? | `statistics` |
//! | puts it all together? | `scheduler` |
//!
//! `README.md` in this folder tells the story.

mod depth;
mod domain;
mod latency;
mod presets;
mod scheduler;
mod statistics;
mod tokens;
mod tunables;
mod turn;

pub use presets::ENTRY;
pub use scheduler::Kyber;
pub use tunables::KyberTunables;
