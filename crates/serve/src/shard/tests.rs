//! A shard's promises, without sockets and disks.

mod answers;
mod clients;
mod durability;
mod limits;
mod rig;
mod random;
mod scheduling;
