//! The advice as one screen.

use std::collections::BTreeMap;

use blksched_lab::advise::{Advised, ModelFrom, ModelTried, WaitingStream, last_part};
use blksched_lab::live::LiveKind;
use blksched_lab::verdict::brief::Advice;
use blksched_measure::{Cell, Quantity, Table};
use blksched_simulate::reality::so_far;
use blksched_traces::machine::Device;

use crate::compare;
use crate::output::{self, Paint, TableStyle, paragraph};
use crate::trial::predicted::so_far_here;

/// So many processes have a row.
const SHOWN: usize = 6;
/// Of whom a row names the work.
const NAMED: usize = 2;
/// Work of a smaller part is not named.
const TO_NAME: f64 = 0.05;

pub(super) fn text(advised: &Advised, name: &str, disk: &str, next: Option<&str>) -> String {
    let mut text = paragraph(&heading(advised, name)) + "\n";
    text += &output::paint(&paragraph(&now(advised)), Paint::Bold);
    text += &output::render(&processes(advised), TableStyle::Text);
    text += "\n";
    text += &weights(advised, disk).map_or_else(String::new, |said| paragraph(&said));
    text += &paragraph(&models(advised));
    match &advised.compared {
        Some(compared) => {
            text += &compare::brief_lines(&compared.verdict.brief);
            text += &advised.culprit.as_ref().map_or_else(String::new, |culprit| {
                paragraph(&format!("In the simulation of the present setting: {culprit}"))
            });
        }
        None => text += &output::paint(&paragraph(&refusal(advised)), Paint::Bold),
    }
    let class = advised.compared.as_ref().map(|compared| so_far::kind(&compared.stage.disk.model));
    let so_far = class.and_then(so_far_here);
    text += &so_far.map_or_else(String::new, |so_far| paragraph(&format!("Predictions so far: {so_far}.")));
    text + &paragraph(&next.map_or_else(|| nothing_next(advised, disk), |next| format!("Next, the proof: {next}")))
}

fn heading(advised: &Advised, name: &str) -> String {
    let load = &advised.load;
    let what = advised.device.as_ref().map_or_else(|| "a disk that it does not describe".to_owned(), disk);
    let is_known = advised.device.as_ref().is_some_and(|device| device.word("scheduler").is_some());
    let assumed = advised.compared.as_ref().and_then(|compared| compared.contenders.first()).filter(|_| !is_known);
    let assumed = assumed.map_or(String::new(), |one| {
        format!(" It does not say under which scheduler: {} is assumed (--elevators, the first).", one.label())
    });
    let ios = if load.ios == 1 { "one I/O".to_owned() } else { format!("{} I/Os", load.ios) };
    format!("{name}: {what}; {ios} in {:.1} s.{assumed}", load.lasts.as_secs_f64())
}

/// "sda (WDC WD40), turns, one hardware queue, under mq-deadline of 6.12"
fn disk(device: &Device) -> String {
    let word = |name: &str| device.word(name);
    let mut parts = vec![word("name").unwrap_or("a disk").to_owned()];
    if let Some(model) = word("model") {
        parts[0] += &format!(" ({})", model.replace('_', " ").trim());
    }
    match word("rotational") {
        Some("1") => parts.push("turns".to_owned()),
        Some("0") => parts.push("flash".to_owned()),
        _ => {}
    }
    parts.extend(word("hw_queues").map(|queues| match queues {
        "1" => "one hardware queue".to_owned(),
        queues => format!("{queues} hardware queues"),
    }));
    parts.extend(word("queue_depth").map(|depth| format!("{depth} commands at a time")));
    parts.extend(word("nr_requests").map(|requests| format!("nr_requests {requests}")));
    let kernel = word("kernel").map_or(String::new(), |kernel| format!(" of {kernel}"));
    parts.extend(word("scheduler").map(|scheduler| format!("under {scheduler}{kernel}")));
    parts.extend(word("mounted").map(|mounted| format!("on it {}", mounted.replace(',', ", "))));
    parts.join(", ")
}

/// The work of a kind, in words.
fn work(kind: LiveKind) -> &'static str {
    match kind {
        LiveKind::Read => "reads",
        LiveKind::SyncWrite => "sync writes",
        LiveKind::Write => "writes",
        LiveKind::Any => "I/O",
    }
}

fn time(ns: f64) -> String {
    Quantity::Time.show(ns)
}

/// What the machine suffers from, as recorded.
fn now(advised: &Advised) -> String {
    let load = &advised.load;
    let is_timed = load.streams.iter().any(|stream| !stream.waits.is_empty());
    match load.victim() {
        _ if !is_timed => "Recorded: no completions, so nobody's waiting is known.".to_owned(),
        None => "Recorded: no process that somebody waits for takes much longer beside others.".to_owned(),
        Some(victim) => {
            let served = victim.culprit().expect("a victim has one");
            let whose = if served.process == victim.process {
                format!("another {}", served.process)
            } else {
                served.process.clone()
            };
            let alone = match victim.alone.count() {
                0..10 => String::new(),
                some => format!("; {some} of them, beside nobody else's, took {}", time(victim.alone.mean())),
            };
            let culprits = load.stream_of(served).and_then(|stream| stream.group.as_deref());
            format!(
                "Recorded: {}'s {}{} took {} on average, {} at p99; of all I/Os that ended meanwhile {:.0} % were \
                 others', most of them {whose}'s {}{}{alone}.",
                victim.process,
                work(victim.kind),
                within(&victim.process, victim.group.as_deref()),
                time(victim.waits.mean()),
                time(victim.waits.percentile(99.0).as_ns() as f64),
                100.0 * victim.of_others(),
                work(served.kind),
                within(&served.process, culprits)
            )
        }
    }
}

/// " (in postgresql.service)", unless the process's name says it.
fn within(process: &str, group: Option<&str>) -> String {
    let said = |group: &&str| !process.ends_with(&format!(" in {}", last_part(group)));
    group.filter(said).map_or_else(String::new, |group| format!(" (in {})", last_part(group)))
}

/// Weights of control groups that nothing obeys on this disk.
fn weights(advised: &Advised, disk: &str) -> Option<String> {
    let ignored = advised.load.ignored_weights(advised.device.as_ref());
    let each = |(group, weights): &(&str, &BTreeMap<String, u32>)| {
        let said: Vec<String> = weights.iter().map(|(file, weight)| format!("{file} {weight}")).collect();
        format!("{} has {}", group.trim_start_matches('/'), said.join(", "))
    };
    let all: Vec<String> = ignored.iter().map(each).collect();
    let scheduler = advised.device.as_ref()?.word("scheduler")?;
    (!all.is_empty()).then(|| {
        format!(
            "Weights that nothing obeys on this disk: {}. bfq obeys io.bfq.weight; io.weight is io.cost's, which is \
             not on here. `blksched trial {disk} --elevators '{scheduler},bfq,{scheduler}:io.cost.qos=enable=1'` tries \
             both.",
            all.join("; ")
        )
    })
}

/// Each process's recorded waiting.
fn processes(advised: &Advised) -> Table {
    let has_groups = advised.load.streams.iter().any(|stream| stream.group.is_some());
    let groups = has_groups.then_some("group");
    let columns = ["process"].into_iter().chain(groups);
    let columns = columns.chain(["kind", "I/Os", "MiB/s", "mean", "p99", "what ended meanwhile"]);
    let columns: Vec<_> = columns.map(|column| (column, column)).collect();
    let mut table = output::words("", &columns);
    let seconds = advised.load.lasts.as_secs_f64().max(1e-9);
    for stream in advised.load.streams.iter().take(SHOWN) {
        let is_timed = !stream.waits.is_empty();
        let timed = |ns: f64| if is_timed { time(ns) } else { "-".to_owned() };
        let group = stream.group.as_deref().map_or("-", last_part).to_owned();
        let first = [stream.process.clone()].into_iter().chain(has_groups.then_some(group));
        let row = [
            stream.kind.name().to_owned(),
            stream.ios.to_string(),
            format!("{:.1}", stream.bytes as f64 / f64::from(1 << 20) / seconds),
            timed(stream.waits.mean()),
            timed(stream.waits.percentile(99.0).as_ns() as f64),
            meanwhile(stream),
        ];
        table.row(first.chain(row).map(Cell::from));
    }
    let others = advised.load.streams.len().saturating_sub(SHOWN);
    if others > 0 {
        table.note(format!("{others} more, which waited less in all: --json has them"));
    }
    table
}

/// "cp's writes 83 %, its own reads 12 %"
fn meanwhile(stream: &WaitingStream) -> String {
    let named = stream.served.iter().filter(|one| one.part >= TO_NAME).take(NAMED);
    let said = named.map(|one| {
        let whose = match one.process == stream.process {
            true if one.kind != stream.kind && one.of_others > one.part / 2.0 => format!("another {}'s", one.process),
            true => "its own".to_owned(),
            false => format!("{}'s", one.process),
        };
        format!("{whose} {} {:.0} %", work(one.kind), 100.0 * one.part)
    });
    said.collect::<Vec<_>>().join(", ")
}

/// Which model answers, and how far each is from the recording.
fn models(advised: &Advised) -> String {
    let misses = |one: &ModelTried| match &one.misses {
        Ok(misses) => {
            let of = one.missed.as_ref().map_or(String::new(), |missed| format!(" in {missed}"));
            format!("{} ({}): off by a factor of {misses:.2}{of}", one.offered.name, one.offered.from.word())
        }
        Err(why) => format!("{} ({}): {why}", one.offered.name, one.offered.from.word()),
    };
    let all: Vec<String> = advised.models.iter().map(misses).collect();
    let mut text = format!("Models against the recorded mean latencies: {}.", all.join("; "));
    if let Some(one) = advised.nearest.map(|nearest| &advised.models[nearest]) {
        text += &format!(" Taken: {}, {}.", one.offered.name, one.replayed.word());
        // The prediction names them itself.
        let means = one.means.as_ref().filter(|_| advised.compared.is_none());
        text += &means.map_or_else(String::new, |means| format!(" {means}"));
        if let ModelFrom::Fitted(held_back) = &one.offered.from {
            text += &format!(" It was fitted to two thirds of the same recording; {held_back}.");
        }
    }
    text
}

fn refusal(advised: &Advised) -> String {
    match advised.nearest.map(|nearest| &advised.models[nearest]) {
        Some(one) => format!(
            "No verdict: the nearest model, {}, is off by a factor of {:.1}; only within 2.0 may a prediction rest on \
             it.",
            one.offered.name,
            one.misses.as_ref().map_or(f64::NAN, |misses| *misses)
        ),
        None => "No verdict: no model could be held against the recording.".to_owned(),
    }
}

fn nothing_next(advised: &Advised, disk: &str) -> String {
    let unranked = advised.compared.as_ref().is_some_and(|compared| compared.verdict.unranked.is_some());
    let is_near = advised.nearest.is_some_and(|nearest| advised.models[nearest].is_near());
    match &advised.compared {
        Some(compared) if compared.verdict.brief.advice != Advice::NoVerdict => {
            "Next: nothing; `blksched trial` tries another setting under the load that is there (docs/trial.md)."
                .to_owned()
        }
        _ if !advised.load.has_completions || unranked && is_near => format!(
            "Next: record again, longer and with all events (`blksched advise {disk} --time 5min`): what this \
             recording lacks, no model has."
        ),
        _ => format!(
            "Next: measure the disk, which only reads from it (`blksched disk measure /dev/{disk} --out my.toml`), and \
             give --disk my.toml; or try settings under the load that is there, as in `blksched trial {disk} \
             --elevators none,mq-deadline`."
        ),
    }
}
