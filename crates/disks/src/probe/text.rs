//! Numbers as written in a disk's file, with their origin.

use std::fmt::Write;

use super::ProbeError;
use super::held_back::HeldBack;
use super::target::TargetFacts;
use super::value::Measured;

/// A class's usual behaviour, where this disk's was not observed.
pub(super) const NOT_SEEN: &str = "FIT: not measured, a class's usual value";

/// `"8.5ms"   # MEASURED ±0.1ms`.
pub(super) fn time(measured: Measured, known: &str) -> String {
    let ns = measured.value.max(0.0).round();
    let spread = if known == "MEASURED" { format!(" ±{:.1}us", measured.spread / 1e3) } else { String::new() };
    format!("\"{ns}ns\"   # {known}{spread}")
}

/// `"120000000B/s"   # MEASURED ±1MB/s`.
pub(super) fn rate(measured: Measured) -> String {
    let value = measured.value.clamp(100_000.0, 99e9).round();
    format!("\"{value}B/s\"   # MEASURED ±{:.2}MB/s", measured.spread / 1e6)
}

/// Reads and writes differ if it is by more than this part, and by more than the spread of both.
const APART: f64 = 0.02;

/// Whether they differ.
fn apart([read, write]: [Measured; 2]) -> bool {
    let off = (read.value - write.value).abs();
    off > APART * read.value.max(write.value) && off > read.spread + write.spread
}

/// The times of a read and a write: one time if they do not differ, in the form of [`time`], otherwise
/// `{ read = "3ms", write = "4ms" }`.
pub(super) fn times(each: [Measured; 2]) -> String {
    if !apart(each) {
        return time(each[0], "MEASURED");
    }
    let [read, write] = each.map(|one| one.value.max(0.0).round());
    let [of_read, of_write] = each.map(|one| one.spread / 1e3);
    format!("{{ read = \"{read}ns\", write = \"{write}ns\" }}   # MEASURED ±{of_read:.1}us, ±{of_write:.1}us")
}

/// The same for rates.
pub(super) fn rates(each: [Measured; 2]) -> String {
    if !apart(each) {
        return rate(each[0]);
    }
    let [read, write] = each.map(|one| one.value.clamp(100_000.0, 99e9).round());
    let [of_read, of_write] = each.map(|one| one.spread / 1e6);
    format!("{{ read = \"{read}B/s\", write = \"{write}B/s\" }}   # MEASURED ±{of_read:.2}MB/s, ±{of_write:.2}MB/s")
}

/// The beginning of every measured file: the kind of disk, its visible performance (`figures`), why that is not all,
/// and what its host reports.
pub(super) fn head(kind: &str, figures: &str, facts: &TargetFacts, stopped: Option<&ProbeError>) -> String {
    let name = facts.name.replace(['"', '\\', '\n'], "_");
    let mut out = format!("kind = \"{kind}\"\ndescription = \"{name}, measured: {figures}\"\n");
    if let Some(stopped) = stopped {
        let _ = writeln!(out, "# Not all of it was measured: {stopped}.");
    }
    let _ = writeln!(out, "capacity = \"{}B\"   # MEASURED: exact", facts.sectors * 512);
    let _ = writeln!(out, "max_command = \"{}KiB\"   # READ: what the host sends at most", facts.max_sectors / 2);
    out
}

/// The number of commands at a time.
pub(super) fn depth(facts: &TargetFacts) -> String {
    format!("depth = {}   # READ: what the host sends at most\n", facts.depth)
}

/// The file of a disk that takes no time.
pub(super) fn null(facts: &TargetFacts) -> String {
    let note = "# MEASURED: a random read takes no time\n";
    head("null", "no time at all", facts, None) + &depth(facts) + note
}

/// The file with its error at the beginning.
pub(super) fn with_error(toml: &str, held_back: &[HeldBack]) -> String {
    let mut out = String::from(
        "# Measured from outside. MEASURED: how far it spreads. READ: what the host says. FIT: why it stands there.\n",
    );
    for part in held_back {
        let _ = writeln!(
            out,
            "# Held back: {}: mean {:.3}ms measured, {:.3}ms predicted; demerit {:.3}ms, {:.1}%",
            part.name,
            part.measured_mean / 1e6,
            part.predicted_mean / 1e6,
            part.demerit / 1e6,
            100.0 * part.relative()
        );
    }
    out + toml
}

/// What the model was compared with, as tables for the file's end.
pub(super) fn validated(held_back: &[HeldBack]) -> String {
    let mut out = String::new();
    for part in held_back {
        let (name, percent) = (part.name.replace(['"', '\\'], "'"), 100.0 * part.relative());
        let _ = writeln!(out, "\n[[validated]]\nagainst = \"held back: {name}\"\nerror = \"{percent:.1}%\"");
    }
    out
}
