//! The reasons for a process to give up, and the other processes it ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use blksched::{Instant, SubmitterId, Tag};

use super::profile::DepthVerdict;
use super::{Ddir, Phase, Process, Script};
use crate::{Emission, GaveUp, Trouble};

/// The message to processes that must end.
pub(super) const STOP: u64 = 1 << 56;

/// The processes that a process ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndsProcesses {
    /// When it exits.
    pub at_exit: Option<Arc<[SubmitterId]>>,
    /// When it gives up.
    pub at_error: Option<Arc<[SubmitterId]>>,
}

impl EndsProcesses {
    pub fn tell(&self, own: SubmitterId, trouble: Trouble, out: &mut Vec<Emission>) {
        let at_error = self.at_error.iter().filter(|_| trouble.gave_up.is_some());
        let others = self.at_exit.iter().chain(at_error).flat_map(|others| others.iter());
        out.extend(others.filter(|other| **other != own).map(|&to| Emission::Tell { to, word: STOP }));
    }
}

/// What is in flight: since when, the direction, the length \[bytes\]. Kept only for jobs that need it.
#[derive(Clone, Debug, Default)]
pub(super) struct Ages(BTreeMap<Tag, (Instant, Ddir, u64)>);

impl Ages {
    pub fn submitted(&mut self, script: &Script, tag: Tag, what: (Instant, Ddir, u64)) {
        let tolerant = Ddir::ALL.into_iter().any(|ddir| script.tolerates[ddir]);
        if script.max_latency.is_some() || script.floor.is_some() || script.profile.is_some() || tolerant {
            self.0.insert(tag, what);
        }
    }
}

impl Process {
    /// Handles a completion; returns whether the process continues.
    pub(super) fn judge(&mut self, now: Instant, tag: Tag, failed: bool) {
        let what = self.ages.0.remove(&tag);
        self.trouble.errors += u64::from(failed);
        if failed && !what.is_some_and(|(_, ddir, _)| self.script.tolerates[ddir]) {
            self.give_up(GaveUp::Io);
        }
        let Some((since, ddir, bytes)) = what else { return };
        if self.script.max_latency.is_some_and(|most| now.since(since) > most) {
            self.give_up(GaveUp::MaxLatency);
        }
        match self.profile.as_mut().map(|profile| profile.completed(now, now.since(since))) {
            Some(DepthVerdict::Depth(depth)) if depth != self.reaper.depth() => self.reaper.set_depth(depth),
            Some(DepthVerdict::Ends) => self.stopped = true,
            _ => {}
        }
        if self.floor.as_mut().is_some_and(|floor| floor.completed(now, ddir, bytes)) {
            self.give_up(GaveUp::RateMin);
        }
    }

    fn give_up(&mut self, why: GaveUp) {
        self.stopped = true;
        self.trouble.gave_up.get_or_insert(why);
    }

    pub(super) fn told(&mut self, now: Instant, word: u64) {
        if word != STOP {
            let about_the_flow = self.flow.as_mut().is_some_and(|flow| flow.told(word));
            self.ready = if about_the_flow { self.ready.max(now) } else { self.ready };
            return;
        }
        self.stopped = true;
        match self.phase {
            Phase::Behind(_) | Phase::Begins(_) => {
                self.phase = Phase::Begins(now);
                // Nothing was written.
                self.flushed_at_end = true;
            }
            Phase::Running => self.ready = now,
            Phase::Finished => {}
        }
    }
}
