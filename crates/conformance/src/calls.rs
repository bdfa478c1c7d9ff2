//! Repeats the calls of a call log, at their times, and compares every answer.
//!
//! The queue is deterministic, so every answer must be the same; if one differs, a decision has changed. Logs are
//! written by [`blksched_traces::calls::LoggedQueue`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use blksched::reasons::NoListener;
use blksched::text::SpecError;
use blksched::{Catalogue, Choice, InFlight, Instant, Next, Outcome, QueueConfig};
use blksched_traces::call_log::{Call, CallLog, Record};
use blksched_traces::calls::{LoggedQueue, convert, unanswered};

use crate::replay::Divergence;

/// Why a log cannot be replayed at all.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// There is no such elevator.
    #[error("line {line}: {source}")]
    Elevator {
        /// The line of the log.
        line: usize,
        /// What is wrong with its name.
        source: SpecError,
    },
    /// The header describes no queue.
    #[error("line 1: {0}")]
    Queue(String),
}

/// The result of a replay.
#[derive(Clone, Debug)]
pub struct LogReport {
    /// The elevator at the start.
    pub elevator: String,
    /// How many calls were answered as recorded.
    pub calls: usize,
    /// The first call that was not.
    pub divergence: Option<Divergence>,
}

/// The queue's answers to the repeated calls.
type Heard = Arc<Mutex<VecDeque<Record>>>;

/// Repeats every call of `log`.
///
/// # Errors
/// If it names an elevator that `catalogue` does not have, or its queue can hold nothing.
pub fn replay(log: &CallLog, catalogue: &Catalogue) -> Result<LogReport, LogError> {
    let queue = &log.header.queue;
    if queue.depth == 0 || queue.max_sectors == 0 || queue.max_segments == 0 {
        return Err(LogError::Queue("the queue's depth, max_sectors and max_segments must be at least 1".to_owned()));
    }
    let parse = |line, name: &str| catalogue.parse(name).map_err(|source| LogError::Elevator { line, source });
    let choice = parse(1, &log.header.elevator)?;
    let mut replayer = CallReplayer::new(convert::queue_from_file(queue), &choice);
    for (nth, record) in log.records.iter().enumerate() {
        let switched_to = match &record.call {
            Call::Switch { elevator } => Some(parse(nth + 2, elevator)?),
            _ => None,
        };
        if let Err(what) = replayer.step(record, switched_to.as_ref()) {
            let before = log.records[nth.saturating_sub(20)..=nth].iter().map(Record::to_json).collect();
            let divergence = Some(Divergence { line: nth + 2, what, before });
            return Ok(LogReport { elevator: choice.to_string(), calls: nth, divergence });
        }
    }
    Ok(LogReport { elevator: choice.to_string(), calls: log.records.len(), divergence: None })
}

/// The replay of a log through a queue.
struct CallReplayer {
    queue: LoggedQueue,
    heard: Heard,
    in_flight: BTreeMap<u32, InFlight>,
    last: Instant,
}

impl CallReplayer {
    fn new(config: QueueConfig, choice: &Choice) -> CallReplayer {
        let heard = Heard::default();
        let ear = heard.clone();
        let sink = Box::new(move |record: &Record| ear.lock().expect("one thread").push_back(record.clone()));
        let queue = LoggedQueue::new(config, choice, NoListener, Some(sink));
        CallReplayer { queue, heard, in_flight: BTreeMap::new(), last: config.born }
    }

    /// Replays one record; `Err` says what was recorded and what happened instead.
    fn step(&mut self, record: &Record, switched_to: Option<&Choice>) -> Result<(), String> {
        let now = Instant::from_ns(record.t);
        if now < self.last {
            return Err(format!("the log's time runs backwards: {now} after {}", self.last));
        }
        self.last = now;
        match switched_to {
            Some(choice) => self.queue.switch(now, choice),
            None => self.again(now, &record.call)?,
        }
        let heard = self.heard.lock().expect("one thread").pop_front();
        difference(record, heard).map_or(Ok(()), Err)
    }

    /// Repeats one call. A log is input, so a call that must never be made of a queue is an error here.
    fn again(&mut self, now: Instant, call: &Call) -> Result<(), String> {
        let queue = &mut self.queue;
        match call {
            Call::Submit(bio) => {
                let bio = convert::bio_from_file(bio).ok_or_else(|| format!("{bio:?} is not a bio"))?;
                queue.submit(now, bio);
            }
            Call::Next {} => {
                if let Next::Issue(command) = queue.next(now) {
                    self.in_flight.insert(command.rq.index() as u32, command);
                }
            }
            Call::Complete { rq, ok } => {
                let outcome = if *ok { Outcome::Ok } else { Outcome::Failed };
                queue.complete(now, back(&mut self.in_flight, *rq)?, outcome);
            }
            Call::Requeue { rq } => queue.requeue(now, back(&mut self.in_flight, *rq)?),
            Call::Deliveries {} => queue.deliveries(now).for_each(drop),
            Call::Switch { .. } => unreachable!("a switch comes with its elevator"),
            other => unanswered::make(queue, now, other),
        }
        Ok(())
    }
}

/// The command that completes or is requeued, if the device has it here too.
fn back(in_flight: &mut BTreeMap<u32, InFlight>, rq: u32) -> Result<InFlight, String> {
    let known = in_flight.remove(&rq);
    known.ok_or_else(|| format!("request {rq} comes back from the device, but here the device does not have it"))
}

/// What was recorded and what the queue answered instead.
fn difference(record: &Record, heard: Option<Record>) -> Option<String> {
    match heard {
        Some(heard) if heard == *record => None,
        Some(heard) if heard.said == record.said => {
            Some(format!("the deadline was {:?}, but here {:?}", record.deadline, heard.deadline))
        }
        Some(heard) => Some(format!("the answer was {:?}, but here {:?}", record.said, heard.said)),
        None => Some(format!("the answer was {:?}, but here there is none", record.said)),
    }
}
