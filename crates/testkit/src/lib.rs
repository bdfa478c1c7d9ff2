//! What the tests of several crates need: a [folder](Folder) that goes with its test, [numbers](Random) that depend on
//! nothing but their seed, [processes](process) that end with their test, [ports](port) that nobody else gets, and
//! whether an outside program [is here](is_here). Nothing of it is published.

#![allow(clippy::disallowed_methods, reason = "the one place that does")]

#[cfg(unix)]
pub mod port;
#[cfg(unix)]
pub mod process;

mod folder;
mod here;
mod random;

pub use folder::Folder;
pub use here::{is_here, program};
#[cfg(unix)]
pub use process::{Process, output, output_within, status};
pub use random::Random;
