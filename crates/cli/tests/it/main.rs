//! The command line's tests that need no program of their own: pages held to what they say, schemas, sweeps, fio beside
//! ours. `command`, `experiments`, `uri`, `serve`, `fairness` and `guests` stand beside this one.

mod advise;
mod arguments;
mod begin_together;
mod curves;
mod disk_results;
mod disks;
mod experiment_command;
mod features;
mod have_run;
mod install;
mod json_schema;
mod like_fio;
mod measured_disk;
mod messages;
mod parquet;
mod pictures;
#[path = "../printed/mod.rs"]
mod printed;
mod schema;
mod sweep;
mod sweep_engines;
mod tutorials;
