//! Disk models: data sheets, laws of commands, each mechanism, and what broken files answer.

mod buffer;
mod disk;
mod disksim;
mod disksim_parameters;
mod fixed;
mod hosted;
mod iocost;
mod laws;
mod mechanism;
mod middleware;
mod mutations;
mod parity;
mod probe;
mod probe_traces;
mod probe_variants;
mod queue;
mod raid;
mod sheet;
mod spec;
mod ssd;
mod stack;
mod stints;
mod stripes;
mod support;
mod switches;
mod tails;
