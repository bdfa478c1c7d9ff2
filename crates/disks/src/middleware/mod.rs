//! Wrappers around a disk: each is a [`Disk`] itself, contains any other, and changes one thing.
//!
//! From the inside out, as a file's tables build them: [`fault`] lets commands fail or makes them slow, [`power`] sends
//! the disk to sleep, [`window`] says how many commands are inside at a time, [`controller_cache`] holds writes,
//! [`caps`] says how many pass per second, [`coalescing`] reports several together, [`delay`] adds time to all of them,
//! [`tracer`] records what passes. The time that a wrapper adds is not the disk's work: neither the ledger nor
//! `service` shows it.

/// Delegates everything else to the disk inside.
macro_rules! as_inside {
    (with its trace) => {
        as_inside!();

        fn trace(&self) -> Option<&crate::CommandTrace> {
            self.inner.trace()
        }
    };
    () => {
        fn fetches(&self) -> blksched::Instant {
            self.inner.fetches()
        }

        fn ledger(&self) -> std::borrow::Cow<'_, crate::Ledger> {
            self.inner.ledger()
        }

        fn parts(&self) -> u32 {
            self.inner.parts()
        }

        fn watch(&mut self) {
            self.inner.watch();
        }

        fn stints(&mut self, to: &mut Vec<crate::Stint>) {
            self.inner.stints(to);
        }
    };
}

mod caps;
mod coalescing;
mod controller_cache;
mod delay;
mod fault;
mod power;
mod tracer;
mod window;

pub(crate) use caps::Caps;
pub(crate) use coalescing::Coalescing;
pub(crate) use controller_cache::ControllerCache;
pub(crate) use delay::Delay;
pub(crate) use fault::Faults;
pub(crate) use power::Power;
pub use tracer::{CommandRecord, CommandTrace, Tracer};
pub(crate) use window::CommandWindow;
