//! Recorded traces by their names on the command line.

use std::sync::atomic::{AtomicU64, Ordering};

use blksched_lab::scene::{Trace, stem};
use blksched_text::path_of_name;
use blksched_workloads::replay::KEPT_IN_MEMORY;

use super::{files, uri};

/// Of this process: how much of a trace stays in memory \[bytes\]; what is beyond lies in a temporary file.
static MOST_MEMORY: AtomicU64 = AtomicU64::new(KEPT_IN_MEMORY);

/// From now on no more of a trace stays in memory \[bytes\].
#[cfg(feature = "sweep")]
pub(crate) fn at_most(bytes: u64) {
    MOST_MEMORY.store(bytes, Ordering::Relaxed);
}

/// How much of a trace stays in memory \[bytes\].
pub(super) fn most_memory() -> u64 {
    MOST_MEMORY.load(Ordering::Relaxed)
}

/// Parses `FILE[:PARAMETERS]`, if there is such a file; a URI's existence is checked when it is read.
///
/// # Errors
/// If there is no such file, or nothing can be read from there.
pub(crate) fn parse(text: &str) -> Result<Trace, String> {
    let text = &*uri::local(text)?;
    if uri::is_uri(text) {
        let (name, said) = uri::split(text);
        return uri::check(name).map(|()| Trace::of(name, said));
    }
    let is_there = |name: &str| is_one(name) || path_of_name(name).is_file();
    if is_there(text) {
        return Ok(Trace::of(text, ""));
    }
    let colons = text.char_indices().filter(|&(_, c)| c == ':').map(|(at, _)| at);
    colons
        .map(|at| (&text[..at], &text[at + 1..]))
        .find(|(name, said)| is_there(name) && !said.is_empty())
        .map(|(name, said)| Trace::of(name, said))
        .ok_or_else(|| format!("{text}: there is no such file"))
}

/// Whether this is a file of a trace with one per CPU, or the common beginning of their names.
pub(crate) fn is_one(name: &str) -> bool {
    !files::per_cpu(stem(name).unwrap_or(name)).is_empty()
}

/// Whether its name ends like those of traces with a file per CPU.
#[cfg(feature = "sweep")]
pub(crate) fn is_per_cpu(name: &str) -> bool {
    stem(name).is_some()
}

/// The size of a trace's files, compressed as they are \[bytes\].
#[cfg(feature = "sweep")]
pub(crate) fn bytes(trace: &Trace) -> u64 {
    files::bytes(trace.name())
}
