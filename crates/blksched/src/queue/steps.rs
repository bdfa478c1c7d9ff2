//! The queue's steps; their state is in one file of the same name for each, beside this folder.

mod calls;
mod cgroup;
mod compiled;
mod complete;
mod dispatch_list;
mod elapse;
mod flush;
mod insert;
mod plug;
mod rq_qos;
mod sequence;
mod tasks;
mod unplug;
mod waiters;

pub use calls::{Caller, Compiled};
