//! A shard's guarantees, without sockets and disks.

mod admission;
mod answers;
mod apart;
mod clients;
mod depth;
mod durability;
mod limits;
mod matrix;
mod policies;
mod power;
mod random;
mod rig;
mod scheduling;
mod stalls;
