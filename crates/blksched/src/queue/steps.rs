//! The queue's steps; their state is in one file of the same name for each, beside this folder.

mod cgroup;
mod compiled;
mod dispatch_list;
mod flush;
mod plug;
mod rq_qos;
mod sequence;
mod tasks;
mod waiters;

pub use compiled::Compiled;
