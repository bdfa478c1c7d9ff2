//! The first moment at which two runs of one load decide differently.

use std::collections::BTreeMap;

use blksched::{Command, Dir, Instant, Op, Reason, Sector, SubmitterId};

use super::happening::{Happening, Onlooker};

/// A command that the disk got, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The time.
    pub at: Instant,
    /// The operation.
    pub op: Op,
    /// Its first sector.
    pub start: Sector,
    /// Its length \[512-byte sectors\].
    pub sectors: u32,
    /// Its submitter.
    pub by: SubmitterId,
}

impl Sent {
    fn of(at: Instant, command: &Command) -> Sent {
        Sent { at, op: command.op, start: command.start, sectors: command.sectors, by: command.submitter }
    }
}

/// Records every command that the disk got, in order; 40 bytes a command.
#[derive(Clone, Debug, Default)]
pub struct DecisionLog {
    /// In the order of time.
    pub sent: Vec<Sent>,
}

impl Onlooker for DecisionLog {
    fn sees(&mut self, at: Instant, what: &Happening) {
        if let Happening::Started { command } = what {
            self.sent.push(Sent::of(at, command));
        }
    }
}

/// How many commands two runs have in common from the beginning; `None` if they do not differ at all.
pub fn parting(one: &[Sent], other: &[Sent]) -> Option<usize> {
    let alike = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    (alike < one.len() || alike < other.len()).then_some(alike)
}

/// How many of the latest reasons before the command in question are kept.
const MOST: usize = 64;

/// Examines one decision: the reasons since the previous command, and what there was to choose from.
#[derive(Clone, Debug)]
pub struct Close {
    nth: usize,
    seen: usize,
    /// The reasons since the previous command, in order.
    pub said: Vec<(Instant, Reason)>,
    queued: BTreeMap<usize, (SubmitterId, Dir)>,
    /// How many requests of each submitter and direction the scheduler had when the command was issued.
    pub choice: Vec<(SubmitterId, Dir, usize)>,
    /// The command, if it came.
    pub sent: Option<Sent>,
}

impl Close {
    /// Examines the command with this number, from 0.
    pub fn on(nth: usize) -> Close {
        Close { nth, seen: 0, said: Vec::new(), queued: BTreeMap::new(), choice: Vec::new(), sent: None }
    }

    fn heard(&mut self, at: Instant, reason: Reason) {
        match reason {
            Reason::Inserted { rq, submitter, dir, .. } => drop(self.queued.insert(rq.index(), (submitter, dir))),
            Reason::Coalesced { victim: rq, .. } => drop(self.queued.remove(&rq.index())),
            Reason::Issued { rq, .. } => {
                if self.seen == self.nth {
                    self.choose();
                }
                self.queued.remove(&rq.index());
            }
            Reason::Requeued { .. } | Reason::Completed { .. } | Reason::Searched { .. } | Reason::Merged { .. } => {}
            decision => {
                self.said.push((at, decision));
                if self.said.len() > MOST {
                    self.said.remove(0);
                }
            }
        }
    }

    fn choose(&mut self) {
        let mut choice: BTreeMap<(SubmitterId, Dir), usize> = BTreeMap::new();
        self.queued.values().for_each(|of| *choice.entry(*of).or_default() += 1);
        self.choice = choice.into_iter().map(|((by, dir), count)| (by, dir, count)).collect();
    }
}

impl Onlooker for Close {
    fn sees(&mut self, at: Instant, what: &Happening) {
        if self.sent.is_some() {
            return;
        }
        match what {
            Happening::Heard(reason) => self.heard(at, *reason),
            Happening::Started { command } => {
                if self.seen == self.nth {
                    self.sent = Some(Sent::of(at, command));
                } else {
                    self.said.clear();
                }
                self.seen += 1;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_part_where_a_command_or_its_moment_differs() {
        let sent = |at: u64, start: u64| Sent {
            at: Instant::from_ns(at),
            op: Op::Read,
            start: Sector(start),
            sectors: 8,
            by: SubmitterId(1),
        };
        let one = [sent(1, 10), sent(2, 20), sent(3, 30)];
        assert_eq!(parting(&one, &one), None);
        assert_eq!(parting(&one, &[sent(1, 10), sent(2, 30)]), Some(1));
        assert_eq!(parting(&one, &[sent(1, 10), sent(2, 20), sent(4, 30)]), Some(2));
        assert_eq!(parting(&one, &one[..2]), Some(2));
    }
}
