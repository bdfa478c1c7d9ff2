//! The health of an export, as its operator sees it: in `blksched ctl`, in `blksched top` and in the metrics.

use blksched::{Instant, Span};

/// A command in the device for this long makes its export slow.
const SLOW: Span = Span::from_secs(1);
/// A command in the device for this long makes its export stuck: a drive has then given up several retries.
const STUCK: Span = Span::from_secs(10);

/// The state of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HealthState {
    /// It is served.
    Ok,
    /// A command has been in the device for a second.
    Slow,
    /// A command has been in the device for ten seconds.
    Stuck,
    /// A sync of its device has failed: writes that were answered may be lost.
    Broken,
}

impl HealthState {
    /// All of them, the best first.
    pub const ALL: [HealthState; 4] = [HealthState::Ok, HealthState::Slow, HealthState::Stuck, HealthState::Broken];

    /// Its name in files and metrics.
    pub fn name(self) -> &'static str {
        match self {
            HealthState::Ok => "ok",
            HealthState::Slow => "slow",
            HealthState::Stuck => "stuck",
            HealthState::Broken => "broken",
        }
    }
}

/// An error of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastError {
    /// When it was reported.
    pub at: Instant,
    /// Linux's number of it.
    pub code: i32,
    /// What failed: `read`, `write`, `discard` or `sync`.
    pub what: &'static str,
}

/// What is remembered of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// When it was opened.
    pub opened: Instant,
    /// When a sync of its device failed.
    pub broken: Option<Instant>,
    /// Its last error.
    pub last_error: Option<LastError>,
}

impl Health {
    /// Of an export that is opened now.
    pub fn new(opened: Instant) -> Health {
        Health { opened, broken: None, last_error: None }
    }

    /// Its state, and since when, if its oldest command has been in the device since `oldest`.
    pub fn state(&self, now: Instant, oldest: Option<Instant>) -> (HealthState, Instant) {
        let waits = oldest.map_or(Span::ZERO, |since| now.since(since));
        match (self.broken, oldest) {
            (Some(since), _) => (HealthState::Broken, since),
            (None, Some(since)) if waits >= STUCK => (HealthState::Stuck, since),
            (None, Some(since)) if waits >= SLOW => (HealthState::Slow, since),
            (None, _) => (HealthState::Ok, self.opened),
        }
    }

    /// The text of `tenants/NAME/health`.
    pub fn shown(&self, now: Instant, oldest: Option<Instant>) -> String {
        let seconds = |since: Instant| now.since(since).as_ns() / 1_000_000_000;
        let (state, since) = self.state(now, oldest);
        let mut text = format!("state={} for_s={}", state.name(), seconds(since));
        if let Some(LastError { at, code, what }) = self.last_error {
            text.push_str(&format!(" last_error={what}:{code} last_error_s={}", seconds(at)));
        }
        text
    }
}

/// An error's number as Linux names it, for a log: `Input/output error (os error 5)`.
pub fn named(code: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_stays_makes_an_export_slow_then_stuck_and_a_failed_sync_breaks_it() {
        let at = |ms: u64| Instant::ZERO + Span::from_ms(ms);
        let mut health = Health::new(at(5));
        assert_eq!(health.state(at(9000), None), (HealthState::Ok, at(5)));
        let state = |health: &Health, ms: u64| health.state(at(ms), Some(at(1000))).0;
        assert_eq!(state(&health, 1999), HealthState::Ok, "just below a second");
        assert_eq!(state(&health, 2000), HealthState::Slow);
        assert_eq!(state(&health, 10_999), HealthState::Slow, "just below ten");
        assert_eq!(state(&health, 11_000), HealthState::Stuck);
        assert_eq!(health.shown(at(11_000), Some(at(1000))), "state=stuck for_s=10");
        health.broken = Some(at(3000));
        health.last_error = Some(LastError { at: at(3000), code: 5, what: "sync" });
        assert_eq!(health.shown(at(8000), None), "state=broken for_s=5 last_error=sync:5 last_error_s=5");
    }
}
