//! Disks around a disk: each is a [`Disk`] itself, takes any other inside, and changes one thing.
//!
//! From the inside out, as a file's tables build them: [`fault`] lets commands fail or makes them slow, [`delay`] adds
//! time to all of them, [`tracer`] writes down what passes. What a wrapper adds is not the disk's work: neither the
//! ledger nor `service` shows it.

mod caps;
mod delay;
mod fault;
mod tracer;

pub(crate) use caps::Caps;
pub(crate) use delay::Delay;
pub(crate) use fault::Faults;
pub use tracer::{Record, Trace, Tracer};
