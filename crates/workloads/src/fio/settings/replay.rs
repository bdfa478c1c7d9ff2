//! A job's settings about a trace that it replays.

use blksched::Op;

/// `read_iolog` and related options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplaySettings {
    /// The trace; several, separated by colons, are for one clone each.
    pub log: Option<String>,
    pub no_stall: bool,
    /// Of the recorded rate \[%\].
    pub time_scale: u64,
    pub scale: u64,
    /// \[bytes\]
    pub align: u64,
    pub skip: Vec<Op>,
}

impl Default for ReplaySettings {
    fn default() -> ReplaySettings {
        ReplaySettings { log: None, no_stall: false, time_scale: 100, scale: 1, align: 512, skip: Vec::new() }
    }
}
