//! A disk that waits for a tenant which has nothing at the moment.

use blksched::{Instant, Span};

/// That the disk waits for a tenant.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Since then.
    pub since: Instant,
    /// At most until then: what is later is the thread's own lateness, for which no tenant pays.
    pub until: Instant,
}

impl Waiting {
    /// What of it is charged, if it ends now.
    pub fn cost(self, now: Instant) -> Span {
        now.min(self.until).since(self.since)
    }
}
