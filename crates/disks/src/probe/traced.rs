//! A model from a trace: from the times of commands from dispatch to completion.
//!
//! A prober chooses its commands; a trace's were chosen by others. So only parameters that the trace happens to show
//! can be derived from it: the rest keep the class's values, are marked so, and are listed as unknown from the trace.

use std::fmt::Write;

use blksched::{Instant, Op};

use super::ProbeError;
use super::held_back::HeldBack;
use super::text::{NOT_SEEN, rate, time};
use super::value::{Measured, median};
use crate::spec::parse_changed;
use crate::{DiskError, DiskSpec};

mod constant;
mod replay;

use replay::replay;

/// A command of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// Read or write; others are left out.
    pub op: Op,
    /// First sector.
    pub start: u64,
    /// Length \[sectors\].
    pub sectors: u32,
    /// When the device got it.
    pub issued: Instant,
    /// When it completed.
    pub completed: Instant,
}

impl Traced {
    fn took(&self) -> f64 {
        self.completed.since(self.issued).as_ns() as f64
    }

    fn end(&self) -> u64 {
        self.start + u64::from(self.sectors)
    }
}

/// The result for a trace.
#[derive(Clone, Debug)]
pub struct TraceFit {
    /// The disk's file.
    pub toml: String,
    /// The parsed file.
    pub spec: DiskSpec,
    /// The last third of the trace, which was not used for the model.
    pub held_back: Option<HeldBack>,
    /// What this trace cannot tell, in sentences.
    pub unknown: Vec<String>,
}

/// Fewer commands are not enough for a model.
const LEAST: usize = 200;

/// What is known from a trace.
struct TraceSeen {
    /// The end of the last sector that was touched.
    sectors: u64,
    deepest: u32,
    largest: u32,
    /// Small single reads far from the previous command, and writes \[ns\].
    reads: Vec<f64>,
    writes: Vec<f64>,
    /// Those reads that are within a fiftieth of the disk \[ns\].
    near: Vec<f64>,
    /// Single reads that continue where the last ended \[ns\].
    next: Vec<f64>,
    /// The rates of the fastest streams over eight commands or more \[bytes/s\], by place.
    streams: Vec<(u64, f64)>,
    /// The greatest rate of small reads over a hundred of them.
    most: f64,
}

/// Makes a model from a trace's commands, in any order.
///
/// # Errors
/// If there are too few.
pub fn fit_trace(name: &str, mut commands: Vec<Traced>) -> Result<TraceFit, ProbeError> {
    commands.retain(|command| matches!(command.op, Op::Read | Op::Write) && command.sectors > 0);
    // Among those dispatched at the same time, the first to complete was the first.
    commands.sort_by_key(|command| (command.issued, command.completed, command.start));
    if commands.len() < LEAST {
        let count = commands.len();
        let problem = format!("{count} commands with dispatch and completion; expected {LEAST} or more");
        return Err(ProbeError::Failed(problem));
    }
    let held = commands.len() * 2 / 3;
    let known = &commands[..held];
    let mut seen = look(known);
    let alone = seen.alone();
    if alone < LEAST / 4 {
        seen.one_by_one(known);
    }
    seen.sectors = commands.iter().map(Traced::end).max().unwrap_or(0).max(1 << 21);
    seen.largest = commands.iter().map(|command| command.sectors).max().unwrap_or(8).max(8);
    seen.deepest = deepest(&commands);
    let turns = median(&mut seen.reads.clone()) > super::TURNS_NS;
    let mut unknown = vec![
        "the capacity: it is as large as the last sector that was touched".to_owned(),
        "the queue's depth: it is as deep as the trace was".to_owned(),
        "what the host's part of a completion is: it is in every time".to_owned(),
    ];
    let general = unknown.len();
    let mut toml = if turns { turning(name, &mut seen, &mut unknown) } else { flash(name, &mut seen, &mut unknown) };
    let model = |toml: &str| {
        parse_changed(name, toml, &[])
            .map_err(|error| ProbeError::Unclear(format!("what the trace shows does not describe a disk: {error}")))
    };
    let mut spec = model(&toml)?;
    // Judged by what both are made from.
    let mut nearest = replay(&spec, known, 0).demerit;
    for (constant, handicap) in constant::constants(name, &seen, known) {
        let even = model(&constant)?;
        let distance = handicap * replay(&even, known, 0).demerit;
        if distance < nearest {
            (toml, spec, nearest) = (constant, even, distance);
            unknown.truncate(general);
            unknown.push("what is inside: every command takes the same here, wherever it lies".to_owned());
            if alone < LEAST / 4 {
                let were = match alone {
                    0 => "none was".to_owned(),
                    1 => "one was".to_owned(),
                    some => format!("{some} were"),
                };
                unknown.push(format!(
                    "what a command takes alone: {were}; how many end per second is known, how long each is served \
                     and how many at a time less surely"
                ));
            }
        }
    }
    let held_back = Some(replay(&spec, &commands, held));
    Ok(TraceFit { toml: with_notes(&toml, &unknown, held_back.as_ref()), spec, held_back, unknown })
}

impl TraceFit {
    /// The same model, longer: a trace shows only how far it reached.
    ///
    /// # Errors
    /// If no such disk can be that long.
    pub fn of_length(&self, sectors: u64) -> Result<DiskSpec, DiskError> {
        let longer = [("capacity".to_owned(), format!("{}B", sectors * 512))];
        parse_changed(&self.spec.name, &self.toml, &longer)
    }
}

/// The most commands at the device at once.
fn deepest(commands: &[Traced]) -> u32 {
    let mut edges: Vec<(Instant, i32)> =
        commands.iter().flat_map(|command| [(command.issued, 1), (command.completed, -1)]).collect();
    edges.sort_unstable();
    let (mut depth, mut deepest) = (0, 1);
    for (_, by) in edges {
        depth += by;
        deepest = deepest.max(depth);
    }
    deepest as u32
}

fn look(commands: &[Traced]) -> TraceSeen {
    let mut seen = TraceSeen {
        sectors: 0,
        deepest: 1,
        largest: 8,
        reads: Vec::new(),
        writes: Vec::new(),
        near: Vec::new(),
        next: Vec::new(),
        streams: Vec::new(),
        most: 0.0,
    };
    let (mut free, mut last_end) = (Instant::ZERO, u64::MAX);
    let reach = commands.iter().map(Traced::end).max().unwrap_or(0) / 50;
    let mut stream: Vec<Traced> = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        let follows = command.start == last_end;
        let later = commands.get(at + 1).is_none_or(|next| next.issued >= command.completed);
        if command.issued >= free && later && command.sectors <= 64 {
            match command.op {
                Op::Write => seen.writes.push(command.took()),
                _ if follows => seen.next.push(command.took()),
                _ => {
                    seen.reads.push(command.took());
                    seen.near.extend((command.start.abs_diff(last_end) < reach).then(|| command.took()));
                }
            }
        }
        if !follows {
            seen.end_stream(&mut stream);
        }
        stream.push(*command);
        (free, last_end) = (free.max(command.completed), command.end());
    }
    seen.end_stream(&mut stream);
    let mut ends: Vec<u64> = commands
        .iter()
        .filter(|command| command.op == Op::Read && command.sectors <= 16)
        .map(|command| command.completed.as_ns())
        .collect();
    ends.sort_unstable();
    let windows = ends.windows(100).map(|window| 99e9 / (window[99] - window[0]).max(1) as f64);
    seen.most = windows.fold(0.0, f64::max);
    seen
}

impl TraceSeen {
    /// How many small commands were alone at the device.
    fn alone(&self) -> usize {
        self.reads.len() + self.next.len() + self.writes.len()
    }

    /// Where commands were hardly ever alone: a read's time from the previous completion, if it was submitted by then.
    /// It reveals an arm, since nearby reads are faster than distant ones.
    fn one_by_one(&mut self, commands: &[Traced]) {
        let reach = commands.iter().map(Traced::end).max().unwrap_or(0) / 50;
        let mut ended: Vec<&Traced> = commands.iter().collect();
        ended.sort_by_key(|command| (command.completed, command.issued));
        for pair in ended.windows(2) {
            let [before, command] = [pair[0], pair[1]];
            if command.op != Op::Read || command.sectors > 64 || command.issued > before.completed {
                continue;
            }
            let gap = command.completed.since(before.completed).as_ns() as f64;
            if command.start == before.end() {
                self.next.push(gap);
            } else {
                self.reads.push(gap);
                self.near.extend((command.start.abs_diff(before.end()) < reach).then_some(gap));
            }
        }
    }

    fn end_stream(&mut self, stream: &mut Vec<Traced>) {
        if stream.len() >= 8 {
            let sectors: u64 = stream[1..].iter().map(|command| u64::from(command.sectors)).sum();
            let from = stream[0].completed;
            let to = stream.iter().map(|command| command.completed).max().unwrap_or(from);
            let seconds = to.since(from).as_secs_f64();
            if seconds > 0.0 {
                self.streams.push((stream[0].start, sectors as f64 * 512.0 / seconds));
            }
        }
        stream.clear();
    }

    /// The fastest stream, of the outer or of the inner part.
    fn fastest(&self, inner: bool) -> Option<Measured> {
        let here = |start: u64| !inner || start > self.sectors / 3 * 2;
        let mut rates: Vec<f64> =
            self.streams.iter().filter(|(start, _)| here(*start)).map(|(_, rate)| *rate).collect();
        rates.sort_by(f64::total_cmp);
        let best = *rates.last()?;
        let second = rates.len().checked_sub(2).map_or(best, |at| rates[at]);
        Some(Measured::new(best, best - second))
    }
}

/// A quantile of sorted times, with the difference to its neighbours.
fn quantile(times: &mut [f64], share: f64) -> Measured {
    times.sort_by(f64::total_cmp);
    let last = times.len().saturating_sub(1);
    let at = |share: f64| times.get((last as f64 * share.clamp(0.0, 1.0)) as usize).copied().unwrap_or(0.0);
    Measured::new(at(share), (at(share + 0.02) - at(share - 0.02)) / 2.0)
}

/// Common speeds of spinning disks \[rpm\].
const SPEEDS: [f64; 5] = [5_400.0, 5_900.0, 7_200.0, 10_000.0, 15_000.0];

fn turning(name: &str, seen: &mut TraceSeen, unknown: &mut Vec<String>) -> String {
    // Nearby reads take between hardly anything and a revolution.
    let spread = quantile(&mut seen.near, 0.95).value - quantile(&mut seen.near, 0.05).value;
    let off = |speed: &&f64| (60e9 / **speed * 0.9 - spread).abs();
    let fits = SPEEDS.iter().min_by(|a, b| off(a).total_cmp(&off(b))).filter(|_| seen.near.len() >= 50);
    let rpm = fits.copied().unwrap_or(7_200.0);
    unknown.push(match fits {
        Some(_) => format!("the speed exactly: {rpm}rpm is the usual one that fits reads near each other"),
        None => "the speed: too few reads near each other".to_owned(),
    });
    let half = 30e9 / rpm;
    let middle = quantile(&mut seen.reads, 0.5);
    let command = match seen.next.is_empty() {
        true => Measured::new(150_000.0, 0.0),
        false => Measured::new(quantile(&mut seen.next, 0.1).value.clamp(20_000.0, 1e6), 0.0),
    };
    let average = middle.less(half + command.value);
    let outer = seen.fastest(false);
    let inner = seen.fastest(true).filter(|inner| outer.is_some_and(|outer| inner.value <= outer.value));
    unknown.push("heads, skews, head switch and the seek curve beside its average".to_owned());
    unknown.push("look-ahead, the cache's size and how it is drained, the queue's order and patience".to_owned());
    let unseen = |what: &str, rate: Option<Measured>| rate.is_none().then(|| format!("{what}: no stream there"));
    unknown.extend(unseen("the outer rate", outer).into_iter().chain(unseen("the inner rate", inner)));
    let outer_rate = outer.unwrap_or(Measured::new(150e6, 0.0));
    let said = |seen: Option<Measured>, value: Measured| match seen {
        Some(_) => rate(value),
        None => format!("\"{:.0}B/s\"   # {NOT_SEEN}", value.value),
    };
    let cached = !seen.writes.is_empty() && median(&mut seen.writes) < 0.5 * half;
    let mut out = heading("hdd", name, seen);
    let known = if fits.is_some() { "FIT: of the usual speeds the one that fits" } else { NOT_SEEN };
    let _ = writeln!(out, "speed = \"{rpm}rpm\"   # {known}");
    let _ = writeln!(out, "\n[zones]\ncount = 20   # {NOT_SEEN}");
    let _ = writeln!(out, "outer = {}", said(outer, outer_rate));
    let _ = writeln!(out, "inner = {}", said(inner, inner.unwrap_or(outer_rate.times(0.5))));
    let _ = writeln!(out, "\n[geometry]\nheads = 4   # {NOT_SEEN}");
    let _ = writeln!(out, "track_skew = \"0.15rev\"   # {NOT_SEEN}\ncylinder_skew = \"0.15rev\"   # {NOT_SEEN}");
    let least = Measured::new(average.value.min(600_000.0), 0.0);
    let _ = writeln!(out, "\n[seek]\nmin = {}", time(least, NOT_SEEN));
    let _ = writeln!(out, "average = {}", time(average, "MEASURED"));
    let _ = writeln!(out, "max = {}", time(average.times(2.0), NOT_SEEN));
    let _ = writeln!(out, "head_switch = \"0.5ms\"   # {NOT_SEEN}\nwrite_settle = \"0.7ms\"   # {NOT_SEEN}");
    let _ = writeln!(out, "\n[overhead]\ncommand = {}", time(command, "MEASURED"));
    let _ = writeln!(out, "queued = \"20us\"   # {NOT_SEEN}\n\n[interface]\nrate = \"300MB/s\"   # {NOT_SEEN}");
    let _ = writeln!(out, "\n[look_ahead]\nstate = \"on\"   # {NOT_SEEN}\nsegment = \"1MiB\"   # {NOT_SEEN}");
    let _ = writeln!(out, "segments = 8   # {NOT_SEEN}\nhold = \"256KiB\"   # {NOT_SEEN}");
    if cached {
        let _ =
            writeln!(out, "\n[write_cache]\norder = \"position\"   # MEASURED: writes end sooner than a platter turns");
        let _ = writeln!(out, "size = \"16MiB\"   # {NOT_SEEN}\nextents = 512   # {NOT_SEEN}");
        let _ = writeln!(out, "chunk = \"128KiB\"   # {NOT_SEEN}\nreach = 16   # {NOT_SEEN}");
    }
    if seen.deepest > 1 {
        let _ = writeln!(out, "\n[ncq]\norder = \"positioning\"   # {NOT_SEEN}");
        let _ = writeln!(
            out,
            "depth = {}   # READ: as deep as the trace\nage_limit = \"1s\"   # {NOT_SEEN}",
            seen.deepest.min(256)
        );
    }
    out
}

fn flash(name: &str, seen: &mut TraceSeen, unknown: &mut Vec<String>) -> String {
    let mut alone = seen.reads.clone();
    alone.extend(&seen.next);
    let read = quantile(&mut alone, 0.5);
    let write = (!seen.writes.is_empty()).then(|| quantile(&mut seen.writes, 0.5));
    let stream = seen.fastest(false);
    unknown.push("dies, channels, pages and what a program takes".to_owned());
    unknown.push("the buffer's size, collection, and what reads wait beside writes".to_owned());
    unknown.push("the most it can do: the rates are the most that this load asked for".to_owned());
    let wire = stream.unwrap_or(Measured::new(500e6, 0.0));
    let command = write.filter(|write| write.value < read.value).unwrap_or(Measured::new(0.15 * read.value, 0.0));
    let command = Measured::new(command.value.clamp(1e3, 10e6), command.spread);
    let sense = read.less(command.value + 4096e9 / wire.value);
    let interval = Measured::new((1e9 / seen.most.max(1.0)).min(command.value), 0.0);
    let mut out = heading("ssd", name, seen);
    let _ = writeln!(out, "depth = {}   # READ: as deep as the trace", seen.deepest);
    let known = if write.is_some() { "MEASURED" } else { NOT_SEEN };
    let _ = writeln!(out, "\n[overhead]\ncommand = {}", time(command, known));
    let _ = writeln!(out, "interval = {}", time(interval, "FIT: the most small reads per second of the trace"));
    let said = if stream.is_some() { rate(wire) } else { format!("\"{:.0}B/s\"   # {NOT_SEEN}", wire.value) };
    let _ = writeln!(out, "\n[interface]\nrate = {said}\nduplex = \"full\"   # {NOT_SEEN}");
    let _ = writeln!(
        out,
        "\n[flash]\nchannels = 8   # {NOT_SEEN}\ndies = 8   # {NOT_SEEN}\npage = \"16KiB\"   # {NOT_SEEN}"
    );
    let _ = writeln!(
        out,
        "program_size = \"32KiB\"   # {NOT_SEEN}\nread = {}",
        time(Measured::new(sense.value.min(9e6), sense.spread), "MEASURED")
    );
    let _ = writeln!(out, "program = \"700us\"   # {NOT_SEEN}\nchannel_rate = \"1GB/s\"   # {NOT_SEEN}");
    let _ = writeln!(out, "\n[interference]\nstate = \"suspend\"   # {NOT_SEEN}\nsuspend = \"20us\"   # {NOT_SEEN}");
    let _ = writeln!(out, "patience = 8   # {NOT_SEEN}");
    if write.is_some_and(|write| write.value < 2.0 * read.value) {
        let _ = writeln!(out, "\n[buffer]\nstate = \"on\"   # MEASURED: writes end as soon as reads");
        let _ = writeln!(out, "size = \"32MiB\"   # {NOT_SEEN}\npower_loss = \"lost\"   # {NOT_SEEN}");
    }
    out
}

fn heading(kind: &str, name: &str, seen: &TraceSeen) -> String {
    let name = name.replace(['"', '\\', '\n'], "_");
    format!(
        "kind = \"{kind}\"\ndescription = \"{name}, fitted to a trace\"\n\
         capacity = \"{}B\"   # READ: the last sector of the trace\n\
         max_command = \"{}KiB\"   # READ: the largest command of the trace\n",
        seen.sectors * 512,
        seen.largest.div_ceil(8) * 4
    )
}

fn with_notes(toml: &str, unknown: &[String], held_back: Option<&HeldBack>) -> String {
    let mut out = super::text::with_error("", held_back.map_or(&[], core::slice::from_ref));
    for what in unknown {
        let _ = writeln!(out, "# The trace cannot tell {what}.");
    }
    out + toml + &super::text::validated(held_back.map_or(&[], core::slice::from_ref))
}
