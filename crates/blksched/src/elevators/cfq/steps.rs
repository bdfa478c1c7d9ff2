//! What the life of a request does, in its order: prepare, arrival, dispatch, completion, timer; and what these have in
//! common. The README tells it as a story.

mod arrival;
mod completion;
mod cooperator;
mod dispatch;
mod fifo;
mod group_idle;
mod groups;
mod idle;
mod isolation;
mod learning;
mod merge_split;
mod preempt;
mod prepare;
mod release;
mod select;
mod service_tree;
mod slice;
mod timer;
mod workload;
