//! The device does exactly what was submitted, and data that must be stable is stable.
//!
//! **Rule** A bio is delivered as successful only if commands that were issued after its arrival and succeeded cover
//! all its sectors. A flush completes only if a flush command issued after its arrival has completed. Data with a
//! preflush is issued only after the end of a flush that was issued after its arrival. Data with FUA is written
//! through, or a flush is issued after it ends. Without a volatile cache no flush is ever sent.

use std::collections::BTreeMap;

use blksched::author::RequestId;
use blksched::{Bio, Command, Delivery, Durability, Instant, Op, Outcome, Tag};

use super::law::Law;
use crate::driver::Seen;

/// A point in the order of events \[events\].
type Moment = u64;

/// A command that ended.
#[derive(Clone, Copy, Debug)]
struct Done {
    command: Command,
    issued: Moment,
    ended: Moment,
    outcome: Outcome,
}

/// The device's log.
pub(super) struct Data {
    volatile_cache: bool,
    moment: Moment,
    bios: BTreeMap<Tag, (Moment, Bio)>,
    flying: BTreeMap<RequestId, Moment>,
    done: Vec<Done>,
}

impl Data {
    pub(super) fn new(volatile_cache: bool) -> Data {
        Data { volatile_cache, moment: 0, bios: BTreeMap::new(), flying: BTreeMap::new(), done: Vec::new() }
    }

    /// Without a volatile cache everything is stable at once, so durability requires nothing.
    fn submitted(&mut self, bio: &Bio) {
        if self.volatile_cache {
            self.bios.insert(bio.tag, (self.moment, *bio));
        } else if bio.op != Op::Flush {
            self.bios.insert(bio.tag, (self.moment, Bio { durability: Durability::default(), ..*bio }));
        }
    }

    fn issued(&mut self, command: &Command) -> Result<(), String> {
        if command.op == Op::Flush && !self.volatile_cache {
            return Err("a flush was sent to a device that has no volatile cache".to_owned());
        }
        self.flying.insert(command.rq, self.moment);
        Ok(())
    }

    fn ended(&mut self, command: Command, outcome: Outcome) -> Result<(), String> {
        let issued = self.flying.remove(&command.rq).ok_or_else(|| format!("{command:?} ended, but was not issued"))?;
        self.done.push(Done { command, issued, ended: self.moment, outcome });
        Ok(())
    }

    fn delivered(&mut self, tag: Tag, outcome: Outcome) -> Result<(), String> {
        let Some((came, bio)) = self.bios.remove(&tag) else { return Ok(()) };
        let since = |done: &&Done| done.issued > came;
        if outcome == Outcome::Failed {
            let blame = self.done.iter().filter(since).any(|done| done.outcome == Outcome::Failed);
            return if blame { Ok(()) } else { Err(format!("{tag:?} failed, but nothing since it came did")) };
        }
        self.well_done(came, &bio)
    }

    /// Checks that everything that `bio` requires was done, in one of the possible ways.
    fn well_done(&self, came: Moment, bio: &Bio) -> Result<(), String> {
        let good = || self.done.iter().filter(|done| done.outcome == Outcome::Ok);
        let flushes = |after: Moment| {
            let flush = good().filter(move |done| done.command.op == Op::Flush && done.issued > after);
            flush.map(|done| done.ended).min()
        };
        if bio.op == Op::Flush {
            return flushes(came).map(|_| ()).ok_or_else(|| format!("no flush was sent for {:?}", bio.tag));
        }
        let from = match bio.durability.preflush {
            true => flushes(came).ok_or_else(|| format!("no flush was sent before {:?}", bio.tag))?,
            false => came,
        };
        let wrote = || good().filter(|done| done.command.op == bio.op && done.issued > from);
        let covered = |stable: bool| {
            let stands = |done: &&Done| !stable || done.command.fua || flushes(done.ended).is_some();
            covers(bio, wrote().filter(stands).map(|done| done.command))
        };
        if !covered(false) {
            return Err(format!("{:?} was delivered, but not all of its sectors were done: {bio:?}", bio.tag));
        }
        if bio.durability.fua && !covered(true) {
            return Err(format!("{:?} was delivered, but is not stable", bio.tag));
        }
        Ok(())
    }
}

/// Whether these commands cover every sector of `bio`.
fn covers(bio: &Bio, commands: impl Iterator<Item = Command>) -> bool {
    let mut parts: Vec<(u64, u64)> =
        commands.map(|command| (command.start.0, command.start.0 + u64::from(command.sectors))).collect();
    parts.sort_unstable();
    let mut reached = bio.start.0;
    for (start, end) in parts {
        if start <= reached {
            reached = reached.max(end);
        }
    }
    reached >= bio.end().0
}

impl Law for Data {
    fn name(&self) -> &'static str {
        "done as asked"
    }

    fn see(&mut self, _now: Instant, seen: &Seen<'_>) -> Result<(), String> {
        self.moment += 1;
        match seen {
            Seen::Submitted { bio, .. } => self.submitted(bio),
            Seen::Issued(command) => self.issued(command)?,
            Seen::Requeued(command) => {
                self.flying.remove(&command.rq);
            }
            Seen::Ended(command, outcome) => self.ended(*command, *outcome)?,
            Seen::Delivered(Delivery::Done { tag, outcome }) => self.delivered(*tag, *outcome)?,
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blksched::{Sector, Submitted, SubmitterId};

    fn command(nth: u32, op: Op, start: u64, sectors: u32, fua: bool) -> Command {
        let (rq, start) = (RequestId::from_index(nth), Sector(start));
        Command { rq, op, start, sectors, fua, submitter: SubmitterId(1) }
    }

    /// Submits the bio, runs the commands one after the other, and delivers the bio.
    fn law(bio: Bio, commands: &[(Command, Outcome)], outcome: Outcome) -> Result<(), String> {
        let mut law = Data::new(true);
        law.see(Instant::ZERO, &Seen::Submitted { bio: &bio, became: Submitted::Held })?;
        for &(command, outcome) in commands {
            law.see(Instant::ZERO, &Seen::Issued(command))?;
            law.see(Instant::ZERO, &Seen::Ended(command, outcome))?;
        }
        law.see(Instant::ZERO, &Seen::Delivered(Delivery::Done { tag: bio.tag, outcome }))
    }

    #[test]
    fn a_bio_of_which_a_sector_or_everything_was_not_done_is_found() {
        let bio = Bio::read(1, SubmitterId(1), Sector(8), 16);
        let low = (command(0, Op::Read, 0, 16, false), Outcome::Ok);
        let high = (command(1, Op::Read, 16, 8, false), Outcome::Ok);
        assert_eq!(law(bio, &[high, low], Outcome::Ok), Ok(()));
        let short = (command(1, Op::Read, 17, 8, false), Outcome::Ok);
        let wrote = (command(1, Op::Write, 16, 8, false), Outcome::Ok);
        let failed = (command(1, Op::Read, 16, 8, false), Outcome::Failed);
        for wrong in [short, wrote, failed] {
            assert!(law(bio, &[low, wrong], Outcome::Ok).unwrap_err().contains("not all"));
        }
        assert_eq!(law(bio, &[low, failed], Outcome::Failed), Ok(()));
        assert!(law(bio, &[low, high], Outcome::Failed).unwrap_err().contains("nothing since it came did"));
    }

    #[test]
    fn fua_data_that_was_neither_written_through_nor_flushed_is_found() {
        let durability = Durability { fua: true, preflush: false };
        let bio = Bio { durability, ..Bio::write(1, SubmitterId(1), Sector(0), 8) };
        let through = (command(0, Op::Write, 0, 8, true), Outcome::Ok);
        let plain = (command(0, Op::Write, 0, 8, false), Outcome::Ok);
        let flush = (command(1, Op::Flush, 0, 0, false), Outcome::Ok);
        assert_eq!(law(bio, &[through], Outcome::Ok), Ok(()));
        assert_eq!(law(bio, &[plain, flush], Outcome::Ok), Ok(()));
        assert!(law(bio, &[plain], Outcome::Ok).unwrap_err().contains("not stable"));
        assert!(law(bio, &[flush, plain], Outcome::Ok).unwrap_err().contains("not stable"));
    }

    #[test]
    fn data_that_went_before_its_preflush_is_found() {
        let durability = Durability { fua: false, preflush: true };
        let bio = Bio { durability, ..Bio::write(1, SubmitterId(1), Sector(0), 8) };
        let plain = (command(0, Op::Write, 0, 8, false), Outcome::Ok);
        let flush = (command(1, Op::Flush, 0, 0, false), Outcome::Ok);
        assert_eq!(law(bio, &[flush, plain], Outcome::Ok), Ok(()));
        assert!(law(bio, &[plain, flush], Outcome::Ok).is_err());
        assert!(law(bio, &[plain], Outcome::Ok).is_err());
    }

    #[test]
    fn a_flush_that_was_never_sent_and_one_that_nobody_needs_are_found() {
        let flush = (command(1, Op::Flush, 0, 0, false), Outcome::Ok);
        assert_eq!(law(Bio::flush(1, SubmitterId(1)), &[flush], Outcome::Ok), Ok(()));
        assert!(law(Bio::flush(1, SubmitterId(1)), &[], Outcome::Ok).is_err());
        assert!(Data::new(false).see(Instant::ZERO, &Seen::Issued(flush.0)).is_err());
    }
}
