//! From the names that a user gives to what they lead to: texts of files, traces here and in object stores, disks.

mod device;
pub(crate) mod files;
mod inside;
mod listed;
mod on_disk;
pub(crate) mod stacked;
pub(crate) mod texts;
pub(crate) mod traces;
mod turns;
pub(crate) mod uri;

pub(crate) use inside::job_in;
pub use on_disk::OnDisk;
pub(crate) use texts::{bytes_of, text_of, text_of_file};
pub(crate) use turns::in_turn;
