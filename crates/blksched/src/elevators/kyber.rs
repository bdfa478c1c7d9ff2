//! Kyber: a number of tokens for each kind of operation, adapted to the measured latencies.
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | says which kinds of operation there are, and their first tokens and batches? | `domain` |
//! | takes the next request of a domain? | `domain` |
//! | moves on to the next domain? | `turn` |
//! | says which of several hardware queues runs, and which waits for tokens? | `hardware_queues` |
//! | hands out tokens by number? | `tokens` |
//! | counts latencies, and says when there are enough to judge? | `latency` |
//! | computes depths from them? | `depth` |
//! | does both in 4.19? | `means` |
//! | says when that is done? | `statistics` |
//! | combines all of this? | `scheduler` |
//!
//! `README.md` in this folder gives the overview.

mod depth;
mod domain;
mod hardware_queues;
mod latency;
mod means;
mod presets;
mod scheduler;
mod statistics;
mod tokens;
mod tunables;
mod turn;

pub use presets::ENTRY;
pub use scheduler::Kyber;
pub use tunables::KyberTunables;
