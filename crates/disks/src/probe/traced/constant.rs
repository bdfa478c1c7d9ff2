//! **What for**: a trace of something that takes as long for every command, wherever it lies: a loop device, a volume.
//!
//! **Rule**: a number of commands at a time, each the same time and its data's. Of the numbers up to the trace's depth
//! each is tried: a command is served from when one of that many places was free, in the order of dispatches, until it
//! ended. If the places are as many as the commands under way, none waited inside, and what they take may be drawn
//! evenly from the shortest on, so that the mean is the trace's. The replay of the trace's own commands says which is
//! the nearest. A delay that is drawn may not make up for what an arm or a buffer does: it is less than half of the
//! usual time, or at most all of it where the trace shows that what is near takes as long as what is far.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;

use blksched::{Instant, Op};

use super::super::text::{NOT_SEEN, rate, time};
use super::super::value::Measured;
use super::{Seen, Traced, heading, quantile};

/// Fewer commands of a kind tell nothing of it.
const ENOUGH: usize = 30;
/// If sizes do not tell \[bytes/s\].
const FAST: f64 = 10e9;
/// Less than that part of the time is no delay that is drawn.
const DRAWN: f64 = 0.02;
/// The delay may be that part of the usual time, where places do not tell.
const MOST: f64 = 0.5;
/// Near and far are the same if their means differ by less than that part.
const SAME: f64 = 0.1;
/// This many numbers are tried one by one, then every power of two.
const ONE_BY_ONE: u32 = 8;
/// No model serves more at a time.
const MOST_CHANNELS: u32 = 1024;

/// By this factor a drawn delay must be nearer than a queue inside: the queue says what fewer commands at a time take,
/// too, and a delay that stands for waiting says it wrongly. FIT: chosen with the six recordings of docs/disks.md in
/// view; on them hangs which of the two kinds a device of many places is written as.
const HANDICAP: f64 = 1.25;

/// As files, each with what its distance counts, the first as deep as the trace; that only if times differ by no more
/// than such a thing's.
pub(super) fn constants(name: &str, seen: &Seen, commands: &[Traced]) -> Vec<(String, f64)> {
    let deepest = seen.deepest.min(MOST_CHANNELS);
    let powers = (4..).map(|power| 1 << power).take_while(|channels| *channels < deepest);
    let fewer = (1..=ONE_BY_ONE).filter(|channels| *channels < deepest).chain(powers);
    std::iter::once(deepest).chain(fewer).filter_map(|channels| constant(name, seen, commands, channels)).collect()
}

fn constant(name: &str, seen: &Seen, commands: &[Traced], channels: u32) -> Option<(String, f64)> {
    let served = served(commands, channels);
    let pick = |sizes: core::ops::RangeInclusive<u32>| -> Vec<(f64, f64)> {
        let all = commands.iter().zip(&served).filter(|(command, _)| sizes.contains(&command.sectors));
        all.map(|(command, served)| (f64::from(command.sectors) * 512.0, *served)).collect()
    };
    let (small, large) = (pick(1..=16), pick(64..=u32::MAX));
    let middle = |some: &[(f64, f64)]| quantile(&mut some.iter().map(|(_, took)| *took).collect::<Vec<_>>(), 0.5).value;
    let bytes = |some: &[(f64, f64)]| mean(some.iter().map(|(bytes, _)| *bytes));
    let per_byte = (small.len() >= ENOUGH && large.len() >= ENOUGH)
        .then(|| (middle(&large) - middle(&small)) / (bytes(&large) - bytes(&small)))
        .filter(|per_byte| *per_byte > 1e9 / FAST);
    let way = |command: &Traced| f64::from(command.sectors) * 512.0 * per_byte.unwrap_or(1e9 / FAST);
    let bare: Vec<f64> =
        commands.iter().zip(&served).map(|(command, served)| (served - way(command)).max(0.0)).collect();
    let (middle, average) = (quantile(&mut bare.clone(), 0.5), mean(bare.iter().copied()));
    let (service, drawn) = if channels < seen.deepest {
        // What waits inside does so for the mean of those before it.
        (average, 0.0)
    } else {
        // The twentieth of an even draw lies a twentieth of it beyond its begin, and the mean half of it.
        let quick = quantile(&mut bare.clone(), 0.05).value;
        let drawn = ((average - quick) / 0.45).max(0.0);
        let most = if even(commands, &bare) { 1.0 } else { MOST };
        if drawn > most * middle.value {
            return None;
        }
        if drawn < DRAWN * middle.value { (middle.value, 0.0) } else { (average - drawn / 2.0, drawn) }
    };
    let mut out = heading("fixed", name, seen);
    let _ = writeln!(out, "# The trace is nearer to this than to a disk that turns or one of flash.");
    let _ = writeln!(out, "depth = {}   # READ: as deep as the trace", seen.deepest);
    let _ = writeln!(out, "channels = {channels}   # FIT: with so many its own commands come out nearest");
    let _ = writeln!(out, "service = {}", time(Measured::new(service.max(0.0), middle.spread), "MEASURED"));
    match per_byte {
        Some(per_byte) => writeln!(out, "rate = {}", rate(Measured::new(1e9 / per_byte, 0.0))).ok(),
        None => writeln!(out, "rate = \"{FAST:.0}B/s\"   # {NOT_SEEN}").ok(),
    };
    if drawn > 0.0 {
        let _ = writeln!(out, "\n[delay]\ntime = \"0us\"   # FIT: in `service`");
        let _ = writeln!(out, "jitter = {}", time(Measured::new(drawn, middle.spread), "MEASURED"));
    }
    Some((out, if drawn > 0.0 { HANDICAP } else { 1.0 }))
}

/// How long each was served, if that many are at a time, in the order of dispatches \[ns\].
fn served(commands: &[Traced], channels: u32) -> Vec<f64> {
    let mut free: BinaryHeap<Reverse<Instant>> = (0..channels).map(|_| Reverse(Instant::ZERO)).collect();
    let one = |command: &Traced| {
        let Reverse(place) = free.pop().unwrap_or(Reverse(Instant::ZERO));
        free.push(Reverse(command.completed));
        let begun = place.max(command.issued);
        // One that overtook the one before it was served no time at all, as far as this tells.
        if begun < command.completed { command.completed.since(begun).as_ns() as f64 } else { 0.0 }
    };
    commands.iter().map(one).collect()
}

/// Does what lies near the command before it take as long as what lies far from it, reads and writes each for itself?
/// Only if the trace has enough of both.
fn even(commands: &[Traced], bare: &[f64]) -> bool {
    let reach = commands.iter().map(Traced::end).max().unwrap_or(0) / 50;
    let mut told = false;
    for op in [Op::Read, Op::Write] {
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for (pair, bare) in commands.windows(2).zip(&bare[1..]).filter(|(pair, _)| pair[1].op == op) {
            if pair[1].start.abs_diff(pair[0].end()) < reach { near.push(*bare) } else { far.push(*bare) }
        }
        if near.len() < ENOUGH || far.len() < ENOUGH {
            continue;
        }
        let (near, far) = (mean(near.into_iter()), mean(far.into_iter()));
        if (near - far).abs() > SAME * near.max(far) {
            return false;
        }
        told = true;
    }
    told
}

fn mean(some: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = some.len().max(1) as f64;
    some.sum::<f64>() / count
}
