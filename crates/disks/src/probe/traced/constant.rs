//! **What for**: a trace of a device that takes the same time for every command, whatever its position: a loop device,
//! a volume.
//!
//! **Rule**: a number of commands at a time, each with the same time plus its data's, or one time for reads and one for
//! writes. Each number up to the trace's depth is tried: a command is served from when one of that many places was
//! free, in the order of dispatches, until it ended. If there are as many places as commands in flight, none waited
//! inside, and the times may be drawn evenly, starting at the shortest, so that the mean is the trace's. The replay of
//! the trace's own commands decides which is nearest. A random delay may not replace the effect of an arm or a buffer:
//! it is less than half of the usual time, or at most all of it if the trace shows that near commands take as long as
//! distant ones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;

use blksched::{Instant, Op};

use super::super::text::{NOT_SEEN, rates, time, times};
use super::super::value::Measured;
use super::{TraceSeen, Traced, heading, quantile};

/// Fewer commands of a kind say nothing about it.
const ENOUGH: usize = 30;
/// The rate if sizes do not tell \[bytes/s\].
const FAST: f64 = 10e9;
/// A delay that is a smaller part of the time is not taken for a random one.
const DRAWN: f64 = 0.02;
/// The greatest random delay as a part of the usual time, where places do not tell.
const MOST: f64 = 0.5;
/// Near and far are the same if their means differ by less than this part.
const SAME: f64 = 0.1;
/// This many channel counts are tried one by one, then every power of two.
const ONE_BY_ONE: u32 = 8;
/// The most channels of a model.
const MOST_CHANNELS: u32 = 1024;

/// A random delay must be nearer than an internal queue by this factor: the queue also predicts times with fewer
/// commands, and a delay in place of waiting predicts them wrongly. The same applies to two times instead of one: flash
/// with few commands at a time looks like that. FIT: chosen with the six recordings of docs/disks.md in view; it
/// decides as which kind a device of many places is written.
const HANDICAP: f64 = 1.25;

/// Candidate files, each with what counts for its distance, the first as deep as the trace; only if times differ by no
/// more than such a device's.
pub(super) fn constants(name: &str, seen: &TraceSeen, commands: &[Traced]) -> Vec<(String, f64)> {
    let deepest = seen.deepest.min(MOST_CHANNELS);
    let powers = (4..).map(|power| 1 << power).take_while(|channels| *channels < deepest);
    let fewer = (1..=ONE_BY_ONE).filter(|channels| *channels < deepest).chain(powers);
    let all: Vec<(u32, Vec<Served<'_>>)> =
        std::iter::once(deepest).chain(fewer).map(|channels| (channels, served(commands, channels))).collect();
    let alike = all.iter().filter_map(|(channels, served)| {
        let cost = CommandCost::of(served);
        constant((name, seen, *channels), served, [cost, cost])
    });
    // A device where nothing waits inside and that writes faster than it reads is flash rather than this. Waiting hides
    // which of two kinds took how long: only with the right number of channels does each take the same time whenever it
    // comes.
    let apart = all.iter().filter(|(channels, _)| *channels < deepest).filter_map(|(channels, served)| {
        let costs = apart(served)?;
        let off = mean(served.iter().map(|one| (of(&costs, one.0).bare(one) - of(&costs, one.0).usual.value).abs()));
        Some((off, (*channels, served, costs)))
    });
    let steadiest = apart.min_by(|a, b| a.0.total_cmp(&b.0));
    let apart = steadiest.and_then(|(_, (channels, served, costs))| constant((name, seen, channels), served, costs));
    alike.chain(apart.map(|(toml, _)| (toml, HANDICAP))).collect()
}

/// The cost of this command.
fn of<'c>([read, write]: &'c [CommandCost; 2], command: &Traced) -> &'c CommandCost {
    if command.op == Op::Write { write } else { read }
}

/// A command, and its service time \[ns\].
type Served<'a> = (&'a Traced, f64);

/// The cost of commands.
#[derive(Clone, Copy)]
struct CommandCost {
    /// The usual time beyond the data transfer \[ns\].
    usual: Measured,
    /// Its mean \[ns\].
    mean: f64,
    /// The time per byte, if sizes tell \[ns\].
    per_byte: Option<f64>,
}

impl CommandCost {
    fn of(served: &[Served<'_>]) -> CommandCost {
        let pick = |sizes: core::ops::RangeInclusive<u32>| -> Vec<(f64, f64)> {
            let some = served.iter().filter(|(command, _)| sizes.contains(&command.sectors));
            some.map(|(command, took)| (bytes(command), *took)).collect()
        };
        let (small, large) = (pick(1..=16), pick(64..=u32::MAX));
        let middle =
            |some: &[(f64, f64)]| quantile(&mut some.iter().map(|(_, took)| *took).collect::<Vec<_>>(), 0.5).value;
        let size = |some: &[(f64, f64)]| mean(some.iter().map(|(bytes, _)| *bytes));
        let per_byte = (small.len() >= ENOUGH && large.len() >= ENOUGH)
            .then(|| (middle(&large) - middle(&small)) / (size(&large) - size(&small)))
            .filter(|per_byte| *per_byte > 1e9 / FAST);
        let mut cost = CommandCost { usual: Measured::new(0.0, 0.0), mean: 0.0, per_byte };
        let mut bare: Vec<f64> = served.iter().map(|served| cost.bare(served)).collect();
        cost.mean = mean(bare.iter().copied());
        cost.usual = quantile(&mut bare, 0.5);
        cost
    }

    /// A command's time without its data transfer \[ns\].
    fn bare(&self, (command, took): &Served<'_>) -> f64 {
        (took - bytes(command) * self.per_byte.unwrap_or(1e9 / FAST)).max(0.0)
    }
}

/// The costs of reads and of writes; only if there are enough of both, and they differ.
fn apart(served: &[Served<'_>]) -> Option<[CommandCost; 2]> {
    let of = |op| served.iter().filter(|(command, _)| command.op == op).copied().collect::<Vec<_>>();
    let kinds = [of(Op::Read), of(Op::Write)];
    let costs = kinds.iter().all(|kind| kind.len() >= ENOUGH).then(|| kinds.map(|kind| CommandCost::of(&kind)));
    costs.filter(|[read, write]| (read.mean - write.mean).abs() > SAME * read.mean.max(write.mean))
}

/// A constant model; reads cost the first of `costs`, writes the second.
fn constant(
    (name, seen, channels): (&str, &TraceSeen, u32),
    served: &[Served<'_>],
    costs: [CommandCost; 2],
) -> Option<(String, f64)> {
    let cost = |command: &Traced| of(&costs, command);
    let (services, drawn) = if channels < seen.deepest {
        // What waits inside waits for the mean of those before it.
        (costs.map(|cost| cost.mean), 0.0)
    } else {
        // How much more than usual for its kind each took. The 5 % quantile of a uniform distribution is a twentieth of
        // it beyond its beginning, and the mean half of it.
        let mut beyond: Vec<f64> = served.iter().map(|one| cost(one.0).bare(one) - cost(one.0).usual.value).collect();
        let average = mean(beyond.iter().copied());
        let drawn = ((average - quantile(&mut beyond, 0.05).value) / 0.45).max(0.0);
        let least = costs[0].usual.value.min(costs[1].usual.value);
        let most = if even(served, cost) { 1.0 } else { MOST };
        if drawn > most * least {
            return None;
        }
        if drawn < DRAWN * least {
            (costs.map(|cost| cost.usual.value), 0.0)
        } else {
            (costs.map(|cost| cost.usual.value + average - drawn / 2.0), drawn)
        }
    };
    let spread = costs[0].usual.spread.max(costs[1].usual.spread);
    let mut out = heading("fixed", name, seen);
    let _ = writeln!(out, "# This fits the trace better than a spinning disk or flash does.");
    let _ = writeln!(out, "depth = {}   # READ: as deep as the trace", seen.deepest);
    let _ = writeln!(out, "channels = {channels}   # FIT: with this number its own commands come out nearest");
    let [read, write] = services.map(|service| Measured::new(service.max(0.0), spread));
    let on_what = if channels < seen.deepest { ", if `channels` is right" } else { "" };
    let _ = writeln!(out, "service = {}{on_what}", times([read, write]));
    match costs.map(|cost| cost.per_byte) {
        [None, None] => writeln!(out, "rate = \"{FAST:.0}B/s\"   # {NOT_SEEN}").ok(),
        each => {
            let each = each.map(|per_byte| Measured::new(per_byte.map_or(FAST, |per_byte| 1e9 / per_byte), 0.0));
            writeln!(out, "rate = {}", rates(each)).ok()
        }
    };
    if drawn > 0.0 {
        let _ = writeln!(out, "\n[delay]\ntime = \"0us\"   # FIT: in `service`");
        let _ = writeln!(out, "jitter = {}", time(Measured::new(drawn, spread), "MEASURED"));
    }
    Some((out, if drawn > 0.0 { HANDICAP } else { 1.0 }))
}

fn bytes(command: &Traced) -> f64 {
    f64::from(command.sectors) * 512.0
}

/// The service time of each, if this many are served at a time, in the order of dispatch \[ns\].
fn served(commands: &[Traced], channels: u32) -> Vec<Served<'_>> {
    let mut free: BinaryHeap<Reverse<Instant>> = (0..channels).map(|_| Reverse(Instant::ZERO)).collect();
    let mut one = |command: &Traced| {
        let Reverse(place) = free.pop().unwrap_or(Reverse(Instant::ZERO));
        free.push(Reverse(command.completed));
        let begun = place.max(command.issued);
        // For one that overtook the previous one, the service time is taken as zero.
        if begun < command.completed { command.completed.since(begun).as_ns() as f64 } else { 0.0 }
    };
    commands.iter().map(|command| (command, one(command))).collect()
}

/// Whether commands near the previous one take as long as distant ones, separately for reads and writes. Only if the
/// trace has enough of both.
fn even<'c>(served: &[Served<'_>], cost: impl Fn(&Traced) -> &'c CommandCost) -> bool {
    let reach = served.iter().map(|(command, _)| command.end()).max().unwrap_or(0) / 50;
    let mut told = false;
    for op in [Op::Read, Op::Write] {
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for pair in served.windows(2).filter(|pair| pair[1].0.op == op) {
            let bare = cost(pair[1].0).bare(&pair[1]);
            if pair[1].0.start.abs_diff(pair[0].0.end()) < reach { near.push(bare) } else { far.push(bare) }
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
