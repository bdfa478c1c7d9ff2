//! A shard's promises, without sockets and disks.

mod answers;
mod clients;
mod durability;
mod rig;
mod scheduling;
