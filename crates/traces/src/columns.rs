//! Text traces that are read by a one-line description: columns between separators, or words in a pattern.
//!
//! ```text
//! columns=time@100ns,host,disk,op,offset@B,size@B,response@100ns
//! line='[{time@ms} ms] disk{disk} op={op} lba={offset@512B} len={size@B} took={response@us}us'
//! ```
//!
//! | column | its unit after `@` | default |
//! |---|---|---|
//! | `time` of submission, `end` of completion | `s`, `ms`, `us`, `100ns`, `ns`, `ps`; clocks and dates | `s` |
//! | `response`; `queue`: what passed before the response time began | `s`, `ms`, `us`, `100ns`, `ns`, `ps` | `s` |
//! | `offset`, `size` | `B`, `512B`, `KiB`, `4KiB`, … | `B` |
//! | `op` | words (`R`, `WS`, …), digits: `r0w1`, `w0r1`, `flags` (bit 0: a read), `scsi` (`28`, `2a`) | words |
//! | `device`, `host`, `disk`, `major`, `minor` | together the device's name | |
//! | `process`, `pid` | together the process's name | |
//! | `-` | an ignored column | |
//! | `*` | at the end: whatever further columns | |
//!
//! Numbers may be hexadecimal (`0x1000`). Times may be `17:58:57.814` or `2026-11-28T17:58:57Z`. With `end` instead of
//! `time`, a row was submitted at `end` less `response` and `queue`. Between blanks, a process may have a name with
//! blanks. `ROLE:NAME` finds a column by its name in the first line, and in JSON lines by its keys (`io.lba`).
//!
//! Missing values are not invented: a trace without `response` has no completions, one without a device has one device,
//! one without a process has one process for each device.

mod field;
mod moment;
mod named;
mod reader;
mod spec;

pub use field::{Column, ColumnRole, ToldOp};
pub use reader::{RowReader, TextError, TraceRow};
pub use spec::{ColumnsError, Shape, Spec, WordyLine};
