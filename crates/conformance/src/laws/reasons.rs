//! Reasons are complete: every event at the queue's interface is reported, and every change of a deadline.

use blksched::author::RequestId;
use blksched::reasons::IdleFor;
use blksched::{Instant, Reason, Submitted, SubmitterId};

use super::law::Law;
use crate::driver::Seen;

/// A reason that must be reported before this call is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Inserted(RequestId),
    Merged,
    Slept(SubmitterId),
    Completed(RequestId),
    Requeued(RequestId),
}

/// The reasons reported, and the events.
#[derive(Default)]
pub(super) struct Reasons {
    due: Option<Due>,
    /// The request reported as issued; the command must follow.
    issued: Option<RequestId>,
    /// The last deadline reported for each purpose.
    armed: Vec<(IdleFor, Instant)>,
    /// Whether a reason about deadlines was reported during this call.
    spoke_of_time: bool,
    deadline: Option<Instant>,
}

impl Reasons {
    fn said(&mut self, reason: Reason) {
        let heard = match reason {
            Reason::Inserted { rq, .. } => Some(Due::Inserted(rq)),
            Reason::Merged { .. } => Some(Due::Merged),
            Reason::Slept { submitter, .. } => Some(Due::Slept(submitter)),
            Reason::Completed { rq, .. } => Some(Due::Completed(rq)),
            Reason::Requeued { rq } => Some(Due::Requeued(rq)),
            _ => None,
        };
        if heard.is_some() && heard == self.due {
            self.due = None;
        }
        match reason {
            Reason::Issued { rq, .. } => self.issued = Some(rq),
            Reason::Armed { until, why } => {
                self.armed.retain(|&(purpose, _)| purpose != why);
                self.armed.push((why, until));
                self.spoke_of_time = true;
            }
            Reason::Cancelled | Reason::Elapsed | Reason::Switched { .. } => self.spoke_of_time = true,
            _ => {}
        }
    }

    fn over(&mut self, deadline: Option<Instant>) -> Result<(), String> {
        if let Some(due) = self.due.take() {
            return Err(format!("{due:?} happened, but nobody said so"));
        }
        if let Some(rq) = self.issued {
            return Err(format!("{rq:?} was said to be issued, but the device did not get it"));
        }
        if deadline != self.deadline && !self.spoke_of_time {
            return Err(format!("the deadline went from {:?} to {deadline:?} without a word", self.deadline));
        }
        if let Some(until) = deadline.filter(|until| !self.armed.iter().any(|(_, said)| said == until)) {
            return Err(format!("the deadline is {until}, but armed were {:?}", self.armed));
        }
        self.deadline = deadline;
        self.spoke_of_time = false;
        Ok(())
    }
}

impl Law for Reasons {
    fn name(&self) -> &'static str {
        "reasons are complete"
    }

    fn see(&mut self, _now: Instant, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Submitted { bio, became } => {
                self.due = match *became {
                    Submitted::Inserted(rq) => Some(Due::Inserted(rq)),
                    Submitted::Merged { .. } | Submitted::MergedOnInsert { .. } => Some(Due::Merged),
                    Submitted::Asleep => Some(Due::Slept(bio.submitter)),
                    Submitted::Held | Submitted::Done => None,
                };
            }
            Seen::Said(reason) => self.said(*reason),
            Seen::Issued(command) => {
                let said = self.issued.take();
                if said != Some(command.rq) {
                    return Err(format!("the device got {command:?}, but issued was {said:?}"));
                }
            }
            Seen::Ended(command, _) => self.due = Some(Due::Completed(command.rq)),
            Seen::Requeued(command) => self.due = Some(Due::Requeued(command.rq)),
            Seen::CallOver(view) => return self.over(view.elevator_deadline),
            _ => {}
        }
        Ok(())
    }
}
