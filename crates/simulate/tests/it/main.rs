//! The world's tests that need no program of their own: conservation, replays, tenants, stories, experiments' files.
//! `golden_hashes`, `reality` and `claims_can_fail` stand beside this one.

mod bfq_promise;
mod buffered;
mod conservation;
mod cpu;
mod experiment;
mod experiment_mutations;
mod file_systems;
mod forms;
mod fs_recordings;
mod guest_stacks;
mod hardware_queues;
mod loop_device;
mod mapped_files;
mod messages;
mod nvme_experiments;
mod nvme_tables;
mod one_memory;
mod paired;
mod priorities;
mod replays;
mod several_disks;
mod shared_journal;
mod slots;
mod small_files;
mod stack;
mod stories;
mod tenants;
mod trace_mutations;
