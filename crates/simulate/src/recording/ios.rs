//! Submissions with their latencies, in order of time, in bounded memory.

use std::collections::VecDeque;

use blksched_workloads::replay::{InFlightIos, TraceAction, TraceEvent};

use super::stream::Stream;

/// The most I/Os that wait for a completion; beyond that the oldest goes without.
const MOST_IN_FLIGHT: usize = 1 << 20;

/// One I/O of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceIo {
    /// Its submission.
    pub event: TraceEvent,
    /// Its latency \[ns\], if the trace has it.
    pub response: Option<u64>,
}

/// Reads I/Os.
pub struct Ios {
    stream: Stream,
    /// In the order of their submission; the response is `None` until the completion came.
    waiting: VecDeque<(TraceEvent, Option<u64>)>,
    /// How many have left `waiting`.
    gone: u64,
    /// Those in flight, by their number.
    open: InFlightIos<u64>,
    ended: bool,
}

impl Ios {
    /// The I/Os of a trace.
    pub fn of(stream: Stream) -> Ios {
        Ios { stream, waiting: VecDeque::new(), gone: 0, open: InFlightIos::default(), ended: false }
    }

    /// The stream, for names and notes.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The next I/O; `None` at the end.
    ///
    /// # Errors
    /// If the trace cannot be read or is damaged, and damage is refused.
    pub fn io(&mut self) -> Result<Option<TraceIo>, String> {
        loop {
            let full = self.ended || self.waiting.len() >= MOST_IN_FLIGHT;
            let ready = self.waiting.front().is_some_and(|(_, response)| full || response.is_some());
            if ready {
                let (event, response) = self.waiting.pop_front().expect("it is ready");
                self.gone += 1;
                return Ok(Some(TraceIo { event, response }));
            }
            if self.ended {
                return Ok(None);
            }
            match self.stream.event()? {
                None => self.ended = true,
                Some(event) if event.what == TraceAction::Queue => {
                    let number = self.gone + self.waiting.len() as u64;
                    if self.open.len() < MOST_IN_FLIGHT {
                        self.open.add(&event, number);
                    }
                    self.waiting.push_back((event, None));
                }
                Some(event) if event.what == TraceAction::Complete => self.completed(&event),
                Some(_) => {}
            }
        }
    }

    fn completed(&mut self, event: &TraceEvent) {
        let (gone, waiting) = (self.gone, &mut self.waiting);
        self.open.complete(event, |number| {
            // One that had to go without a completion has left.
            let place = number.checked_sub(gone).and_then(|at| waiting.get_mut(at as usize));
            if let Some((submitted, response)) = place {
                *response = Some(event.time - submitted.time);
            }
        });
    }
}
