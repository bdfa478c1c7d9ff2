//! Repeats the calls of a log for an observer, to show the queue's reasons, which the log does not contain.

use std::collections::BTreeMap;

use crate::call_log::{Call, CallLog};
use blksched::author::RequestId;
use blksched::{Bio, Catalogue, Command, Delivery, InFlight, Instant, Listener, Next, Outcome, Submitted, Tag};

use super::{LoggedQueue, convert, unanswered};

/// One step of the log's driver.
#[derive(Clone, Debug, PartialEq)]
pub enum PlayStep {
    /// A bio is about to be submitted.
    Submits(Bio),
    /// The bio was submitted, with this answer.
    Submitted(Bio, Submitted),
    /// The device got this command, which carries these bios.
    Issued(Command, Vec<Tag>),
    /// The device is about to return this request, completed or not.
    Completes(RequestId),
    /// A bio is done.
    Delivered(Tag),
}

/// Repeats every call of `log`; `listener` gets the queue's reasons, `see` gets each step.
///
/// # Errors
/// If the log names an elevator that `catalogue` does not have, or is impossible; with the line.
pub fn play<L: Listener>(
    log: &CallLog,
    catalogue: &Catalogue,
    listener: L,
    see: impl FnMut(Instant, PlayStep),
) -> Result<(), String> {
    let header = &log.header.queue;
    if header.depth == 0 || header.max_sectors == 0 || header.max_segments == 0 {
        return Err("1: the queue's depth, max_sectors and max_segments must be at least 1".to_owned());
    }
    let choice = catalogue.parse(&log.header.elevator).map_err(|error| format!("1: {error}"))?;
    let config = convert::queue_from_file(header);
    let queue = LoggedQueue::new(config, &choice, listener, None);
    let mut player = Player { queue, catalogue, see, in_flight: BTreeMap::new() };
    let mut last = config.born;
    for (nth, record) in log.records.iter().enumerate() {
        let now = Instant::from_ns(record.t);
        if now < last {
            return Err(format!("{}: the log's time runs backwards: {now} after {last}", nth + 2));
        }
        last = now;
        player.step(now, &record.call).map_err(|error| format!("{}: {error}", nth + 2))?;
    }
    Ok(())
}

/// The replay of a log through a queue.
struct Player<'a, L: Listener, S> {
    queue: LoggedQueue<L>,
    catalogue: &'a Catalogue,
    see: S,
    in_flight: BTreeMap<u32, InFlight>,
}

impl<L: Listener, S: FnMut(Instant, PlayStep)> Player<'_, L, S> {
    fn step(&mut self, now: Instant, call: &Call) -> Result<(), String> {
        let queue = &mut self.queue;
        match call {
            Call::Submit(bio) => {
                let bio = convert::bio_from_file(bio).ok_or_else(|| format!("{bio:?} is not a bio"))?;
                (self.see)(now, PlayStep::Submits(bio));
                let became = queue.submit(now, bio);
                (self.see)(now, PlayStep::Submitted(bio, became));
            }
            Call::Next {} => {
                if let Next::Issue(command) = queue.next(now) {
                    let tags = queue.queue().tags(command.rq).collect();
                    (self.see)(now, PlayStep::Issued(command.command(), tags));
                    self.in_flight.insert(command.rq.index() as u32, command);
                }
            }
            Call::Complete { rq, ok } => {
                let command = self.back(*rq)?;
                (self.see)(now, PlayStep::Completes(command.rq));
                self.queue.complete(now, command, if *ok { Outcome::Ok } else { Outcome::Failed });
            }
            Call::Requeue { rq } => {
                let command = self.back(*rq)?;
                self.queue.requeue(now, command);
            }
            Call::Switch { elevator } => {
                let choice = self.catalogue.parse(elevator).map_err(|error| error.to_string())?;
                queue.switch(now, &choice);
            }
            Call::Deliveries {} => {
                let delivered: Vec<Delivery> = queue.deliveries(now).collect();
                for delivery in delivered {
                    if let Delivery::Done { tag, .. } = delivery {
                        (self.see)(now, PlayStep::Delivered(tag));
                    }
                }
            }
            other => unanswered::make(queue, now, other),
        }
        Ok(())
    }

    /// The command that completes or is requeued, if the device has it here too.
    fn back(&mut self, rq: u32) -> Result<InFlight, String> {
        let known = self.in_flight.remove(&rq);
        known.ok_or_else(|| format!("request {rq} comes back from the device, but the device does not have it"))
    }
}
