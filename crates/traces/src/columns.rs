//! Text traces that are read by a one-line description: columns between separators, or words in a pattern.
//!
//! ```text
//! columns=time@100ns,host,disk,op,offset@B,size@B,response@100ns
//! line='[{time@ms} ms] disk{disk} op={op} lba={offset@512B} len={size@B} took={response@us}us'
//! ```
//!
//! | column | its unit after `@` | default |
//! |---|---|---|
//! | `time`, `response` | `s`, `ms`, `us`, `100ns`, `ns`, `ps` | `s` |
//! | `offset`, `size` | `B`, `512B`, `KiB`, `4KiB`, … | `B` |
//! | `op` | words (`R`, `read`, `WS`, …), or digits: `r0w1`, `w0r1`, `flags` (bit 0 set: a read) | words |
//! | `device`, `host`, `disk`, `major`, `minor` | together the device's name | |
//! | `process`, `pid` | together the process's name | |
//! | `-` | an ignored column | |
//! | `*` | at the end: whatever further columns | |
//!
//! Missing values are not invented: a trace without `response` has no completions, one without a device has one device,
//! one without a process has one process for each device.

mod field;
mod reader;
mod spec;

pub use field::{Column, ColumnRole, ToldOp};
pub use reader::{RowReader, TextError, TraceRow};
pub use spec::{ColumnsError, Shape, Spec};
