//! Each request is issued once, and each bio is delivered once: across splits, merges, requeues and switches.

use std::collections::BTreeMap;

use blksched::author::RequestId;
use blksched::{Command, Delivery, Instant, Op, Reason, SubmitterId, Tag};

use super::law::Law;
use crate::driver::Seen;

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whereabouts {
    Queued,
    InFlight,
}

/// The state of requests, bios and sleepers.
pub(super) struct Once {
    /// Whether there is a listener; only listeners hear of insertions and coalescings.
    listening: bool,
    requests: BTreeMap<RequestId, Whereabouts>,
    bios: BTreeMap<Tag, Owed>,
    /// How often each submitter was put to sleep and not woken yet.
    asleep: BTreeMap<SubmitterId, u32>,
    /// The request returned during this call; an elevator that never had it gets it as a new one.
    handed_back: Option<RequestId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    Yes,
    Paid,
}

impl Once {
    pub(super) fn new(listening: bool) -> Once {
        let (requests, bios, asleep) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Once { listening, requests, bios, asleep, handed_back: None }
    }

    fn moves(
        &mut self,
        rq: RequestId,
        from: Option<Whereabouts>,
        to: Option<Whereabouts>,
        how: &str,
    ) -> Result<(), String> {
        let was = match to {
            Some(to) => self.requests.insert(rq, to),
            None => self.requests.remove(&rq),
        };
        if was == from { Ok(()) } else { Err(format!("{rq:?} was {how} and should be {from:?}, but is {was:?}")) }
    }

    fn said(&mut self, reason: Reason) -> Result<(), String> {
        match reason {
            Reason::Inserted { rq, .. } if self.handed_back.take() == Some(rq) => Ok(()),
            Reason::Inserted { rq, .. } => self.moves(rq, None, Some(Whereabouts::Queued), "inserted"),
            Reason::Coalesced { victim, .. } => self.moves(victim, Some(Whereabouts::Queued), None, "absorbed"),
            Reason::Switched { requests } => {
                let queued = self.requests.len();
                self.requests.retain(|_, at| *at != Whereabouts::Queued);
                let handed_over = queued - self.requests.len();
                let all = handed_over == requests as usize;
                if all { Ok(()) } else { Err(format!("{handed_over} were queued, but {requests} were handed over")) }
            }
            Reason::Slept { submitter, .. } => {
                *self.asleep.entry(submitter).or_default() += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn command(&mut self, command: &Command, seen: &Seen<'_>) -> Result<(), String> {
        let rq = command.rq;
        if !self.listening || command.op == Op::Flush {
            return Ok(());
        }
        let (queued, in_flight) = (Some(Whereabouts::Queued), Some(Whereabouts::InFlight));
        match seen {
            Seen::Issued(_) => self.moves(rq, queued, in_flight, "issued"),
            Seen::Requeued(_) => {
                self.handed_back = Some(rq);
                self.moves(rq, in_flight, queued, "handed back")
            }
            _ => self.moves(rq, in_flight, None, "completed"),
        }
    }

    fn delivered(&mut self, delivery: Delivery) -> Result<(), String> {
        match delivery {
            Delivery::Done { tag, .. } => match self.bios.insert(tag, Owed::Paid) {
                Some(Owed::Yes) => Ok(()),
                Some(Owed::Paid) => Err(format!("{tag:?} was delivered twice")),
                None => Err(format!("{tag:?} was delivered, but never submitted")),
            },
            Delivery::Awake(submitter) if self.listening => {
                let asleep = self.asleep.entry(submitter).or_default();
                *asleep = asleep.checked_sub(1).ok_or_else(|| format!("{submitter:?} woke, but did not sleep"))?;
                Ok(())
            }
            Delivery::Awake(_) | Delivery::Runnable(_) => Ok(()),
        }
    }
}

impl Law for Once {
    fn name(&self) -> &'static str {
        "exactly once"
    }

    fn see(&mut self, _now: Instant, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::CallBegins => {
                self.handed_back = None;
                Ok(())
            }
            Seen::Submitted { bio, .. } => {
                self.bios.insert(bio.tag, Owed::Yes);
                Ok(())
            }
            Seen::Said(reason) => self.said(*reason),
            Seen::Issued(command) | Seen::Ended(command, _) | Seen::Requeued(command) => self.command(command, seen),
            Seen::Delivered(delivery) => self.delivered(*delivery),
            Seen::CallOver(view) if self.listening => {
                let queued = self.requests.values().filter(|&&at| at == Whereabouts::Queued).count();
                let same = queued == view.queued as usize;
                if same { Ok(()) } else { Err(format!("{queued} are queued, but the queue says {}", view.queued)) }
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<(), String> {
        if let Some((tag, _)) = self.bios.iter().find(|(_, owed)| **owed == Owed::Yes) {
            return Err(format!("{tag:?} never came back"));
        }
        if let Some((submitter, _)) = self.asleep.iter().find(|(_, times)| **times > 0) {
            return Err(format!("{submitter:?} sleeps for ever"));
        }
        match self.requests.iter().next() {
            Some((rq, at)) => Err(format!("{rq:?} is left {at:?}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blksched::{Bio, Dir, Outcome, Sector, Submitted};

    const SUBMITTER: SubmitterId = SubmitterId(1);

    fn rq() -> RequestId {
        RequestId::from_index(0)
    }

    fn law(seen: &[Seen<'_>]) -> Result<(), String> {
        let mut law = Once::new(true);
        seen.iter().try_for_each(|seen| law.see(Instant::ZERO, seen))?;
        law.finish()
    }

    fn inserted() -> Seen<'static> {
        Seen::Said(Reason::Inserted { rq: rq(), dir: Dir::Read, start: Sector(0), sectors: 8, submitter: SUBMITTER })
    }

    fn command() -> Command {
        Command { rq: rq(), op: Op::Read, start: Sector(0), sectors: 8, fua: false, submitter: SUBMITTER }
    }

    #[test]
    fn a_life_from_submission_to_delivery_is_lawful_also_with_a_requeue() {
        let bio = Bio::read(7, SUBMITTER, Sector(0), 8);
        let came = Seen::Submitted { bio: &bio, became: Submitted::Inserted(rq()) };
        let done = Seen::Delivered(Delivery::Done { tag: Tag(7), outcome: Outcome::Ok });
        let (issued, ended) = (Seen::Issued(command()), Seen::Ended(command(), Outcome::Ok));
        assert_eq!(law(&[came, inserted(), issued, ended, done]), Ok(()));
        assert_eq!(law(&[came, inserted(), issued, Seen::Requeued(command()), issued, ended, done]), Ok(()));
    }

    #[test]
    fn a_request_issued_twice_or_never_is_found() {
        let issued = Seen::Issued(command());
        assert!(law(&[inserted(), issued, issued]).unwrap_err().contains("issued"));
        assert!(law(&[issued]).unwrap_err().contains("issued"));
        assert!(law(&[inserted()]).unwrap_err().contains("left Queued"));
        let coalesced = Seen::Said(Reason::Coalesced { into: RequestId::from_index(1), victim: rq() });
        assert!(law(&[inserted(), coalesced, issued]).is_err());
    }

    #[test]
    fn a_switch_hands_over_what_is_queued_and_nothing_less() {
        let switched = |requests| Seen::Said(Reason::Switched { requests });
        let (issued, ended) = (Seen::Issued(command()), Seen::Ended(command(), Outcome::Ok));
        assert_eq!(law(&[inserted(), switched(1), inserted(), issued, switched(0), ended]), Ok(()));
        assert!(law(&[inserted(), switched(0)]).unwrap_err().contains("handed over"));
    }

    #[test]
    fn a_bio_delivered_twice_never_or_out_of_nowhere_is_found() {
        let bio = Bio::read(7, SUBMITTER, Sector(0), 8);
        let came = Seen::Submitted { bio: &bio, became: Submitted::Held };
        let done = Seen::Delivered(Delivery::Done { tag: Tag(7), outcome: Outcome::Ok });
        assert_eq!(law(&[came, done]), Ok(()));
        assert!(law(&[came, done, done]).unwrap_err().contains("twice"));
        assert!(law(&[came]).unwrap_err().contains("never came back"));
        assert!(law(&[done]).unwrap_err().contains("never submitted"));
    }

    #[test]
    fn a_sleeper_that_nobody_wakes_and_a_wake_that_nobody_slept_for_are_found() {
        let slept = Seen::Said(Reason::Slept { submitter: SUBMITTER, dir: Dir::Read });
        let awake = Seen::Delivered(Delivery::Awake(SUBMITTER));
        assert_eq!(law(&[slept, awake]), Ok(()));
        assert!(law(&[slept]).unwrap_err().contains("sleeps for ever"));
        assert!(law(&[awake]).unwrap_err().contains("did not sleep"));
    }
}
