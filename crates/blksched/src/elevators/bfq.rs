//! BFQ, budget fair queueing, as of 6.1 and later: each process has a queue, and queues get shares of the disk's
//! throughput by their weights, one budget of sectors at a time.
//!
//! Where is the rule that…
//!
//! | … | file |
//! |---|---|
//! | says what is known of a process, and which queues it uses? | `context` |
//! | says what a queue is? | `queue`, `sharing` |
//! | ranks classes and levels? | `priority` |
//! | orders queues, and lets virtual time pass? | `entity`, `service_tree`, `wf2q` |
//! | lets groups share? | `groups`, `hierarchy`, `moving` |
//! | says how much a turn may serve, and what that costs? | `budget` |
//! | keeps the disk for a queue, or gives it to another? | `select`, `expire` |
//! | idles? | `idling`, `symmetry`, `weights` |
//! | says how many tags a process may use? | `limit` |
//! | sends something else meanwhile? | `injection`, `waker` |
//! | raises weights, and whose not? | `raising`, `burst` |
//! | makes queues one, and parts them? | `cooperator`, `merge`, `split` |
//! | chooses among a queue's requests? | `next_request` |
//! | meets a new request, a queue that wakes up, or a request that comes back? | `arrival`, `busy`, `completion` |
//! | learns about queues and the device? | `habits`, `peak_rate`, `ncq` |
//! | says how long is long? | `terms` |
//! | says which era has what? | `presets`, `scheduling` |
//!
//! `README.md` in this folder tells the story and draws the states.

mod arrival;
mod budget;
mod burst;
mod busy;
mod completion;
mod context;
mod cooperator;
mod elevator;
mod entity;
mod expire;
mod groups;
mod habits;
mod hierarchy;
mod idling;
mod injection;
mod limit;
mod links;
mod merge;
mod moving;
mod ncq;
mod next_request;
mod peak_rate;
mod presets;
mod priority;
mod qid;
mod queue;
mod raising;
mod scheduling;
mod select;
mod service_tree;
mod sharing;
mod split;
mod state;
mod symmetry;
mod terms;
mod tunables;
mod waker;
mod weights;
mod wf2q;

pub use groups::Groups;
pub use presets::ENTRY;
pub use state::Bfq;
pub use tunables::BfqTunables;
