//! Trace formats: one file per format, reader and writer together, each tested by a round trip.
//!
//! [`elevator_transcript`] holds the recorded decisions of real kernels' schedulers, [`blk_mq_transcript`] those of the
//! layers around them, [`call_log`] every call to one of our queues and its answer, [`blktrace`] what a kernel (or our
//! server) did with each I/O, [`blkparse`] blkparse's text of it, [`tracefs`] a kernel's own text of the same;
//! [`snoop`] the tables of programs like biosnoop; `perfetto` is written for its viewer.

pub mod blk_mq_transcript;
pub mod blkparse;
pub mod blktrace;
pub mod call_log;
pub mod calls;
pub mod columns;
pub mod elevator_transcript;
pub mod fs_recording;
pub mod groups;
mod lines;
pub mod machine;
#[cfg(feature = "perfetto")]
pub mod perfetto;
pub mod presets;
pub mod snoop;
pub mod tracefs;
pub mod unpack;
pub mod vscsi;
