//! The recorder of a shard's events, if there is one.

use blksched::author::Request;
use blksched::{Bio, Command, Instant, Submitted, SubmitterId};

use crate::record::BlktraceFile;

/// A trace of what the queue is given and gives, or none.
pub struct Recording(Option<BlktraceFile>);

impl Recording {
    pub fn new(trace: Option<BlktraceFile>) -> Recording {
        Recording(trace)
    }

    /// A client of this export has come.
    pub fn process(&mut self, now: Instant, submitter: SubmitterId, export: &str) {
        if let Some(trace) = &mut self.0 {
            trace.process(now, submitter, export);
        }
    }

    pub fn submitted(&mut self, now: Instant, bio: &Bio, submitted: Submitted) {
        if let Some(trace) = &mut self.0 {
            trace.submitted(now, bio, submitted);
        }
    }

    pub fn issued(&mut self, now: Instant, command: &Command) {
        if let Some(trace) = &mut self.0 {
            trace.issued(now, command);
        }
    }

    pub fn completed(&mut self, now: Instant, request: &Request, error: u16) {
        if let Some(trace) = &mut self.0 {
            trace.completed(now, request, error);
        }
    }
}
