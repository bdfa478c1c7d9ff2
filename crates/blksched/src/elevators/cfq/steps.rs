//! The steps of a request's life, in order: prepare, arrival, dispatch, completion, timer; and what they have in
//! common. The README describes the whole path.

mod arrival;
mod charge;
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
