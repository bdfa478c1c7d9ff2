//! The features that only ADIOS's recordings have: plugs whose flush is an event, knobs written as text, merges inside
//! a dispatch.

use blksched::author::{RequestId, Stage};
use blksched::surroundings::ListedBio;
use blksched::{Bio, Instant, Submitted};
use blksched_traces::elevator_transcript::Add;

use super::expect::Said;
use super::inputs::Replayer;

impl Replayer {
    /// Submits a bio whose request waits in a plug.
    pub(super) fn keep(&mut self, now: Instant, add: &Add, bio: Bio) -> Result<Said, String> {
        let kept = self.queue.keep(now, bio);
        let said = self.said();
        if add.shallow.is_some_and(|shallow| shallow != said.shallow) {
            return Err(format!("the depth allowed was {:?}, but here it is {}", add.shallow, said.shallow));
        }
        match kept {
            ListedBio::Outside(rq) => {
                self.ids.insert(add.id, rq);
                Ok(said)
            }
            ListedBio::Merged { into, end } => {
                Err(format!("recorded plugged, but here it merged at the {end:?} of {}", self.name(into)))
            }
        }
    }

    /// Flushes the plug.
    pub(super) fn insert_from_list(
        &mut self,
        now: Instant,
        ids: &[u64],
        merged: &[(u64, u64)],
    ) -> Result<Said, String> {
        let mut absorbed = Vec::new();
        for id in ids {
            let outside = |rq: &RequestId| self.queue.requests()[*rq].stage == Stage::Prepared;
            let rq = self.ids.get(id).copied().filter(outside);
            let rq = rq.ok_or_else(|| format!("{id} is inserted, but waits in no plug here"))?;
            self.queue.listener_mut().clear();
            if let Submitted::MergedOnInsert { into } = self.queue.insert_from_list(now, rq) {
                absorbed.push((into, rq));
            }
            absorbed.extend(self.said().coalesced);
        }
        self.queue.listener_mut().clear();
        self.check_absorbed(merged, &absorbed)?;
        Ok(Said::default())
    }

    /// Checks the recorded merges, pairs of victim and survivor in order, and forgets the victims.
    pub(super) fn check_absorbed(
        &mut self,
        recorded: &[(u64, u64)],
        here: &[(RequestId, RequestId)],
    ) -> Result<(), String> {
        let named = |id: &u64| self.ids.get(id).copied();
        let same = recorded.len() == here.len()
            && recorded.iter().zip(here).all(|((victim, into), (survivor, absorbed))| {
                named(victim) == Some(*absorbed) && named(into) == Some(*survivor)
            });
        if !same {
            let here: Vec<_> = here.iter().map(|(into, victim)| (self.name(*victim), self.name(*into))).collect();
            return Err(format!("absorbed were {recorded:?}, but here {here:?}"));
        }
        for (victim, _) in recorded {
            self.ids.remove(victim);
        }
        Ok(())
    }

    /// Writes a text to a knob.
    pub(super) fn store(&mut self, now: Instant, name: &str, value: &str, result: &str) -> Result<Said, String> {
        match (self.queue.set_text(now, name, value), result == "ok") {
            (Ok(()), true) | (Err(_), false) => Ok(Said::default()),
            (Ok(()), false) => Err(format!("{name}={value} was refused ({result}), but not here")),
            (Err(error), true) => Err(format!("{name}={value} was taken, but here {error}")),
        }
    }
}
