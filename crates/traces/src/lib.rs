//! Trace formats: one file per format, reader and writer together, each tested by a round trip.
//!
//! [`elevator_transcript`] holds the recorded decisions of real kernels, [`call_log`] every call to a queue of ours and
//! its answer.

pub mod call_log;
pub mod elevator_transcript;
