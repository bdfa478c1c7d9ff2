//! `trace info`.

use std::fmt::Write;

use blksched::Span;
use blksched_lab::scene::Trace;
use blksched_measure::{Histogram, Quantity};
use blksched_simulate::recording::{Info, LoadAsked, LoadShare, Met, Paired, Stream};
use serde_json::{Value, json};

use super::arguments::InfoArguments;
use crate::failure::Failure;
use crate::input::{OnDisk, traces, uri};
use crate::output;

const KINDS: [&str; 4] = ["read", "write", "discard", "flush"];
/// How many devices and processes are shown.
const SHOWN: usize = 8;

pub(super) fn run(arguments: &InfoArguments) -> Result<(), Failure> {
    let mut all = Vec::new();
    let mut seen: Vec<Trace> = Vec::new();
    for text in &uri::expanded(&arguments.traces).map_err(Failure::Input)? {
        let trace = traces::parse(text).map_err(Failure::Input)?;
        // A shell expands `x.blktrace.*` to all files of one trace.
        if seen.contains(&trace) {
            continue;
        }
        let (mut stream, rest) = trace.stream(&OnDisk)?;
        if !rest.is_empty() {
            return Err(Failure::Input(format!("{text}: `{rest}` is for replays, and nothing is replayed here")));
        }
        let (info, paired) = Info::paired(&mut stream).map_err(Failure::Input)?;
        if arguments.json {
            all.push(as_json(trace.name(), (&info, &paired), &stream));
        } else {
            let gap = if seen.is_empty() { "" } else { "\n" };
            output::print(&format!("{gap}{}", as_text(trace.name(), (&info, &paired), &stream)))?;
        }
        seen.push(trace);
    }
    if arguments.json {
        let document = json!({ "schema": "blksched/trace-info/1", "traces": all });
        output::print(&format!("{document:#}\n"))?;
    }
    Ok(())
}

fn as_text(name: &str, (info, paired): (&Info, &Paired), stream: &Stream) -> String {
    let mut text = String::new();
    let fitness = info.fitness(stream.format(), stream.met());
    text += &output::paragraph(&format!("{name}: {}", stream.format().title()));
    text += &output::paragraph(&format!("  fitness: {fitness}"));
    for note in stream.format().notes().into_iter().chain(met(stream.met())) {
        text += &output::paragraph(&format!("  note: {note}"));
    }
    for doubt in info.doubts() {
        text += &output::paragraph(&format!("  warning: {doubt}"));
    }
    let seconds = info.span().as_secs_f64();
    let rate =
        if seconds > 0.0 { format!(", {:.0} a second on average", info.ios() as f64 / seconds) } else { String::new() };
    let _ = writeln!(text, "  span: {seconds:.3}s, {} I/Os{rate}", info.ios());
    if stream.format().has_place() {
        for (kind, asked) in KINDS.iter().zip(&info.asked).filter(|(_, asked)| asked.ios > 0) {
            let _ = writeln!(text, "  {kind}: {}", in_words(asked, info.ios()));
        }
        let _ = writeln!(text, "  sizes: {}", sizes(info));
    } else {
        // All are counted in one place, whatever they were.
        let took = info.asked[0].latency.as_deref().map_or(String::new(), times);
        let _ = writeln!(text, "  kinds, places and sizes: unknown{took}");
    }
    let _ = writeln!(
        text,
        "  devices: {}",
        shares(info.devices().into_iter().map(|(device, share)| (stream.device(device), share.ios)))
    );
    if let Some(paired) = paired.told(|device| stream.device(device)) {
        text += &output::paragraph(&format!("  stacked: {paired}"));
    }
    let called = |pid: u32| stream.names().get(&pid).map_or_else(|| pid.to_string(), |name| format!("{name} [{pid}]"));
    let _ = writeln!(
        text,
        "  processes: {}",
        shares(info.processes().into_iter().map(|(pid, share)| (called(pid), share.ios)))
    );
    match info.depth() {
        Some(depth) => {
            let open = match info.never_completed() {
                0 => String::new(),
                some => format!("; {some} have no completion and count as in flight to the end"),
            };
            let _ = writeln!(text, "  in flight: {depth:.1} on average, {} at most{open}", info.deepest);
        }
        None => text += "  in flight: unknown, since there are no completions\n",
    }
    text
}

/// "310 (77.5 %), 12.1 MiB, 4 % sequential, took 5.1ms at the median, 22ms at p99"
fn in_words(asked: &LoadAsked, of: u64) -> String {
    let LoadAsked { ios, bytes, sequential, latency } = asked;
    let part = |some: u64, of: u64| 100.0 * some as f64 / of.max(1) as f64;
    let took = latency.as_deref().map_or(String::new(), |latency| {
        let few = if latency.count() < *ios { format!(" ({} of them)", latency.count()) } else { String::new() };
        times(latency) + &few
    });
    let mib = *bytes as f64 / f64::from(1 << 20);
    format!("{ios} ({:.1} %), {mib:.1} MiB, {:.0} % sequential{took}", part(*ios, of), part(*sequential, *ios))
}

/// ", took 5.1ms at the median, 22ms at p99"
fn times(latency: &Histogram) -> String {
    let at = |percent: f64| Quantity::Time.show(latency.percentile(percent).as_ns() as f64);
    format!(", took {} at the median, {} at p99", at(50.0), at(99.0))
}

fn sizes(info: &Info) -> String {
    let mut sizes: Vec<_> = info.sizes().into_iter().collect();
    sizes.sort_by_key(|&(_, ios)| std::cmp::Reverse(ios));
    let called = |sectors: u32| match sectors {
        0 => "other".to_owned(),
        some if some % 2 == 0 => format!("{}KiB", some / 2),
        some => format!("{}B", some * 512),
    };
    shares(sizes.into_iter().map(|(sectors, ios)| (called(sectors), ios)))
}

/// The greatest shares, by number, and how many more there are.
fn shares(of: impl Iterator<Item = (String, u64)>) -> String {
    let mut all: Vec<_> = of.collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let shown: Vec<String> = all.iter().take(SHOWN).map(|(name, ios)| format!("{name} ({ios})")).collect();
    let more = if all.len() > SHOWN { format!(", and {} more", all.len() - SHOWN) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn met(met: Met) -> Vec<String> {
    let told = [
        (met.damaged, "damaged lines or records were skipped"),
        (met.without_kind, "rows do not say whether they read or write and were left out"),
        (met.late, "events came more than a second late"),
        (met.lost, "events were lost while it was recorded"),
        (met.cut_off, "files end inside a line or a packed block: what was cut off is not read"),
    ];
    told.into_iter().filter(|told| told.0 > 0).map(|(count, what)| format!("{count} {what}")).collect()
}

/// What is a part of what, by the devices above and below.
fn parts(paired: &Paired, stream: &Stream) -> Vec<Value> {
    let one = |(&(above, below), count): (&(_, _), &u64)| {
        let (above, below) = (stream.device(above), stream.device(below));
        json!({ "above": above, "below": below, "ios": count })
    };
    paired.parts.iter().map(one).collect()
}

fn own_below(paired: &Paired, stream: &Stream) -> Vec<Value> {
    let one = |(&device, count): (&_, &u64)| json!({ "device": stream.device(device), "ios": count });
    paired.own.iter().map(one).collect()
}

fn as_json(name: &str, (info, paired): (&Info, &Paired), stream: &Stream) -> Value {
    let met = stream.met();
    let fitness = info.fitness(stream.format(), met);
    let places = stream.format().has_place();
    // A trace without kinds has all its I/Os in the first place.
    let names = if places { &KINDS[..] } else { &["unknown"] };
    let kinds: serde_json::Map<String, Value> = names
        .iter()
        .zip(&info.asked)
        .map(|(kind, asked)| {
            let value = json!({
                "ios": asked.ios, "bytes": places.then_some(asked.bytes),
                "sequential_ios": places.then_some(asked.sequential),
                "latency_ns": asked.latency.as_deref().map(latency),
            });
            ((*kind).to_owned(), value)
        })
        .collect();
    let devices: Vec<Value> = info
        .devices()
        .iter()
        .map(|(&device, share)| {
            let mut value = told(share);
            value["name"] = stream.device(device).into();
            value["first_sector"] = places.then_some(share.begin).into();
            value["end_sector"] = places.then_some(share.reach).into();
            value
        })
        .collect();
    let processes: Vec<Value> = info
        .processes()
        .iter()
        .map(|(&pid, share)| {
            let mut value = told(share);
            value["pid"] = pid.into();
            value["name"] = stream.names().get(&pid).cloned().into();
            value
        })
        .collect();
    json!({
        "name": name,
        "format": stream.format().title(),
        "fitness": { "ranks": fitness.ranks(), "why": fitness.to_string() },
        "notes": stream.format().notes(),
        "warnings": info.doubts(),
        "span_ns": info.span().as_ns(),
        "resolution_ns": info.resolution().as_ns(),
        "ios": info.ios(),
        "kinds": kinds,
        "sizes": info.sizes().iter().filter(|_| places).map(size).collect::<Vec<_>>(),
        "devices": devices,
        "parts": parts(paired, stream),
        "own_below": own_below(paired, stream),
        "processes": processes,
        "in_flight": { "mean": info.depth(), "most": info.deepest },
        "damaged": met.damaged, "without_kind": met.without_kind, "late": met.late, "lost": met.lost,
        "cut_off": met.cut_off,
    })
}

fn size((&sectors, &ios): (&u32, &u64)) -> Value {
    json!({ "bytes": u64::from(sectors) * 512, "ios": ios })
}

fn told(share: &LoadShare) -> Value {
    json!({ "ios": share.ios, "bytes": share.bytes })
}

fn latency(of: &Histogram) -> Value {
    let at = |percent: f64| -> u64 { Span::as_ns(of.percentile(percent)) };
    let max = of.max().as_ns();
    json!({ "count": of.count(), "mean": of.mean(), "p50": at(50.0), "p90": at(90.0), "p99": at(99.0), "max": max })
}
