//! Orders over requests and queues: the FIFO, the sorted tree, the merge hash, the tournament; and tables by number.
//!
//! All of them are intrusive in spirit: links live in tables beside the arena, indexed by
//! [`RequestId`](crate::request::RequestId), so that nothing is allocated once the tables have grown, and a request's
//! position is found in one step. Searches report how many nodes they visited, on request
//! ([`Reason::Searched`](crate::Reason::Searched)).

mod forest;
mod list;
mod lists;
mod numbers;
mod tournament;
mod tree;

pub use forest::{Forest, Root, Steps, Summary};
pub use list::List;
pub use lists::{Chain, Lists};
pub use numbers::Numbers;
pub use tournament::Tournament;
pub use tree::Tree;
