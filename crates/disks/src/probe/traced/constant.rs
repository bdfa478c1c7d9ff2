//! **What for**: a trace of something that takes as long for every command, wherever it lies: a loop device, a volume.
//!
//! **Rule**: so many commands at a time as the trace had under way, each the same time and its data's, and a delay that
//! is drawn evenly: nine tenths of the times lie within nine tenths of it. Only if that delay is less than half of the
//! usual time: a delay that makes up for what an arm or a buffer does is no model of them.

use std::fmt::Write;

use super::super::text::{NOT_SEEN, rate, time};
use super::super::value::Measured;
use super::{Seen, Traced, heading, quantile};

/// Fewer commands of a size tell nothing of it.
const ENOUGH: usize = 30;
/// If sizes do not tell \[bytes/s\].
const FAST: f64 = 10e9;
/// Less than that part of the time is no delay that is drawn.
const EVEN: f64 = 0.02;

/// The delay may be that part of the usual time.
const MOST: f64 = 0.5;

/// As a file; `None` if times differ by more than such a thing's.
pub(super) fn constant(name: &str, seen: &Seen, commands: &[Traced]) -> Option<String> {
    let of = |sizes: core::ops::RangeInclusive<u32>| -> Vec<&Traced> {
        commands.iter().filter(|command| sizes.contains(&command.sectors)).collect()
    };
    let middle = |some: &[&Traced]| quantile(&mut some.iter().map(|command| command.took()).collect::<Vec<_>>(), 0.5);
    let bytes = |some: &[&Traced]| {
        some.iter().map(|command| f64::from(command.sectors) * 512.0).sum::<f64>() / some.len().max(1) as f64
    };
    let (small, large) = (of(1..=16), of(64..=u32::MAX));
    let per_byte = (small.len() >= ENOUGH && large.len() >= ENOUGH)
        .then(|| (middle(&large).value - middle(&small).value) / (bytes(&large) - bytes(&small)))
        .filter(|per_byte| *per_byte > 1e9 / FAST);
    let way = |command: &Traced| f64::from(command.sectors) * 512.0 * per_byte.unwrap_or(1e9 / FAST);
    let mut bare: Vec<f64> = commands.iter().map(|command| (command.took() - way(command)).max(0.0)).collect();
    let [quick, slow] = [0.05, 0.95].map(|share| quantile(&mut bare, share).value);
    let (drawn, middle) = ((slow - quick) / 0.9, quantile(&mut bare, 0.5));
    let drawn = if drawn < EVEN * middle.value { 0.0 } else { drawn };
    if drawn > MOST * middle.value {
        return None;
    }
    let service = Measured::new((quick + slow - drawn).max(0.0) / 2.0, middle.spread);
    let mut out = heading("fixed", name, seen);
    let _ = writeln!(out, "# The trace is nearer to this than to a disk that turns or one of flash.");
    let deepest = seen.deepest;
    let _ = writeln!(out, "depth = {deepest}   # READ: as deep as the trace");
    let _ = writeln!(out, "channels = {deepest}   # FIT: as deep as the trace");
    let _ = writeln!(out, "service = {}", time(service, "MEASURED"));
    match per_byte {
        Some(per_byte) => writeln!(out, "rate = {}", rate(Measured::new(1e9 / per_byte, 0.0))).ok(),
        None => writeln!(out, "rate = \"{FAST:.0}B/s\"   # {NOT_SEEN}").ok(),
    };
    if drawn > 0.0 {
        let _ = writeln!(out, "\n[delay]\ntime = \"0us\"   # FIT: in `service`");
        let _ = writeln!(out, "jitter = {}", time(Measured::new(drawn, middle.spread), "MEASURED"));
    }
    Some(out)
}
