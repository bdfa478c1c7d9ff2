//! Trace formats: one file per format, reader and writer together, each tested by a round trip.
//!
//! So far: [`elevator_transcript`], the recorded decisions of real kernels.

pub mod elevator_transcript;
