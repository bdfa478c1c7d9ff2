//! A shard's guarantees, without sockets and disks.

mod admission;
mod answers;
mod clients;
mod depth;
mod durability;
mod limits;
mod matrix;
mod neighbours;
mod policies;
mod power;
mod random;
mod retry;
mod rig;
mod scheduling;
mod stalls;
