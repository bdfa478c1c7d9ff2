//! CFQ's state of queues, processes, groups and trees. Nothing here knows the elevator.

pub(crate) mod active;
pub(crate) mod clock;
pub(crate) mod cooperation;
pub(crate) mod group_tree;
pub(crate) mod groups;
pub(crate) mod idle_window;
pub(crate) mod in_device;
pub(crate) mod ncq;
pub(crate) mod positions;
pub(crate) mod process;
pub(crate) mod queue;
pub(crate) mod references;
pub(crate) mod seeks;
pub(crate) mod service_trees;
pub(crate) mod slice;
pub(crate) mod think;
pub(crate) mod vdisktime;
pub(crate) mod workload;
