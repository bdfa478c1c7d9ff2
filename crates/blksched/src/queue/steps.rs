//! What the queue does, where it keeps state of its own for it: one file for each kind of state beside this folder.

mod calls;
mod calm;
mod cgroup;
mod compiled;
mod dispatch_list;
mod flush;
mod plug;
mod rq_qos;
mod sequence;
mod tasks;
mod waiters;

pub use calls::CalmSteps;
