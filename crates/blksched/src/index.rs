//! Orders over requests and queues: the FIFO, the sorted tree, the merge hash, the least of many; and places by number.
//!
//! All of them are intrusive in spirit: links live in tables beside the arena, indexed by
//! [`RequestId`](crate::request::RequestId), so that nothing is allocated once the tables have grown, and a request's
//! place is found in one step. Searches report how many nodes they looked at, for those who ask
//! ([`Reason::Searched`](crate::Reason::Searched)).

mod forest;
mod list;
mod lists;
mod numbers;
mod tournament;
mod tree;

pub use forest::{Forest, Root, Summary};
pub use list::List;
pub use lists::{Chain, Lists};
pub use numbers::Numbers;
pub use tournament::Tournament;
pub use tree::Tree;
