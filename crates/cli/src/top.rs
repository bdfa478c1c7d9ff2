//! `blksched top`: a server's exports, live: what each requests and gets from its disk, and how long it waits and for
//! what.

mod clients;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;

use blksched::Span;
use blksched_measure::{Cell, Column, Quantity, Table};
use blksched_serve::{Question, ask};
use clap::Args;

use crate::failure::Failure;
use crate::output::{self, TableStyle, render};
use crate::scene::some_time;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct TopArguments {
    /// The server's control socket (serve --control)
    #[arg(value_name = "SOCKET")]
    socket: PathBuf,
    /// The interval between two tables
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = some_time, allow_hyphen_values = true)]
    interval: Span,
    /// Show each client separately
    #[arg(long)]
    clients: bool,
    /// How many tables to print [default: until interrupted]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  blksched top /run/disk.ctl
  blksched top /run/disk.ctl --clients
  blksched top /run/disk.ctl --interval 5s --count 1       one table, of five seconds";

/// What a server reports about one export.
#[derive(Clone, Default)]
struct Export {
    weight: String,
    /// `ok`, `slow`, `stuck` or `broken`.
    health: String,
    /// `clients`, `rios`, … of `stat`.
    counts: BTreeMap<String, u64>,
    /// How many requests wait for what.
    waits: BTreeMap<String, u64>,
    /// How many requests of any kind ended within each bound \[µs\]; `None` is beyond all bounds.
    latency: Vec<(Option<u64>, u64)>,
}

impl Export {
    fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }
}

pub(crate) fn run(arguments: &TopArguments) -> Result<(), Failure> {
    if arguments.interval == Span::ZERO {
        return Err(Failure::Input("--interval 0: expected a time, as in 1s or 500ms".to_owned()));
    }
    let interval = std::time::Duration::from_nanos(arguments.interval.as_ns());
    let screen = std::io::stdout().is_terminal();
    let mut before = TopView::look(arguments)?;
    let mut shown = 0;
    while arguments.count.is_none_or(|most| shown < most) {
        let began = std::time::Instant::now();
        std::thread::sleep(interval);
        let after = TopView::look(arguments)?;
        let table = after.since(&before, began.elapsed().as_secs_f64());
        // Moves the cursor home, and clears what is below.
        let home = if screen { "\x1b[H\x1b[J" } else { "" };
        output::print(&format!("{home}{}", render(&table, TableStyle::Text)))?;
        before = after;
        shown += 1;
    }
    Ok(())
}

/// What is being watched.
enum TopView {
    Exports(BTreeMap<String, Export>),
    Clients(BTreeMap<u64, clients::ClientFigures>),
}

impl TopView {
    fn look(arguments: &TopArguments) -> Result<TopView, Failure> {
        if !arguments.clients {
            return look(arguments).map(TopView::Exports);
        }
        let figures = ask(&arguments.socket, &Question::Figures(String::new()));
        figures.map(|text| TopView::Clients(clients::read(&text))).map_err(|error| Failure::Outside(error.to_string()))
    }

    fn since(&self, before: &TopView, seconds: f64) -> Table {
        match (before, self) {
            (TopView::Exports(before), TopView::Exports(after)) => table(before, after, seconds),
            (TopView::Clients(before), TopView::Clients(after)) => clients::table(before, after, seconds),
            _ => unreachable!("it looks at the same all the time"),
        }
    }
}

/// Reads every export, by its disk (if there are several) and name.
fn look(arguments: &TopArguments) -> Result<BTreeMap<String, Export>, Failure> {
    let text =
        ask(&arguments.socket, &Question::List(String::new())).map_err(|error| Failure::Outside(error.to_string()))?;
    let mut exports: BTreeMap<String, Export> = BTreeMap::new();
    for (name, value) in text.lines().filter_map(|line| line.split_once('\t')) {
        let Some((disk, rest)) = name.split_once("tenants/") else { continue };
        let Some((export, what)) = rest.rsplit_once('/') else { continue };
        let export = exports.entry(format!("{disk}{export}")).or_default();
        match what {
            "weight" => export.weight = value.to_owned(),
            "health" => {
                let state = value.split_whitespace().find_map(|word| word.strip_prefix("state="));
                export.health = state.unwrap_or_default().to_owned();
            }
            "stat" => export.counts = numbers(value),
            "waits" => export.waits = numbers(value),
            "latency" => export.latency = buckets(value),
            _ => {}
        }
    }
    Ok(exports)
}

fn numbers(text: &str) -> BTreeMap<String, u64> {
    let pairs = text.split_whitespace().filter_map(|word| word.split_once('='));
    pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

/// All kinds of requests together.
fn buckets(text: &str) -> Vec<(Option<u64>, u64)> {
    let mut all: Vec<(Option<u64>, u64)> = Vec::new();
    for (_, counts) in text.split_whitespace().filter_map(|word| word.split_once('=')) {
        for (nth, (bound, count)) in counts.split(',').filter_map(|pair| pair.split_once(':')).enumerate() {
            let count: u64 = count.parse().unwrap_or(0);
            match all.get_mut(nth) {
                Some((_, sum)) => *sum += count,
                None => all.push((bound.parse().ok(), count)),
            }
        }
    }
    all
}

/// The bound within which this percentage of the new requests ended.
fn percentile(before: &[(Option<u64>, u64)], after: &[(Option<u64>, u64)], part: u64) -> Cell {
    let old = |nth: usize| before.get(nth).map_or(0, |(_, count)| *count);
    let new: Vec<u64> = after.iter().enumerate().map(|(nth, (_, count))| count.saturating_sub(old(nth))).collect();
    let all: u64 = new.iter().sum();
    let mut sum = 0;
    for ((bound, _), count) in after.iter().zip(&new) {
        sum += count;
        if all > 0 && sum * 100 >= all * part {
            return bound.map_or(Cell::Text("> 10s".to_owned()), |us| Cell::from(Span::from_us(us)));
        }
    }
    Cell::Missing
}

/// The columns of an export or a client after its name.
fn figures() -> [Column; 8] {
    [
        Column::numbers("reads", "reads/s", Quantity::Iops),
        Column::numbers("writes", "writes/s", Quantity::Iops),
        Column::numbers("bandwidth", "bandwidth", Quantity::Bandwidth),
        Column::numbers("time", "disk", Quantity::Fraction),
        Column::numbers("in_progress", "asked", Quantity::Count),
        Column::numbers("p50", "p50 <=", Quantity::Time),
        Column::numbers("p99", "p99 <=", Quantity::Time),
        Column::words("waits", "waits for"),
    ]
}

fn table(before: &BTreeMap<String, Export>, after: &BTreeMap<String, Export>, seconds: f64) -> Table {
    let who = [
        Column::words("export", "export"),
        Column::words("weight", "weight"),
        Column::words("health", "health"),
        Column::numbers("clients", "clients", Quantity::Count),
    ];
    let mut table = Table::new(format!("in the last {seconds:.1} s"), who.into_iter().chain(figures()).collect());
    for (name, new) in after {
        let none = Export::default();
        let old = before.get(name).unwrap_or(&none);
        let rate = |what: &str| new.count(what).saturating_sub(old.count(what)) as f64 / seconds;
        let waits = new.waits.iter().filter(|(_, count)| **count > 0).max_by_key(|(_, count)| **count);
        let waits = waits.map_or(String::new(), |(what, count)| format!("{what} ({count})"));
        table.row([
            name.as_str().into(),
            new.weight.as_str().into(),
            new.health.as_str().into(),
            new.count("clients").into(),
            rate("rios").into(),
            rate("wios").into(),
            (rate("rbytes") + rate("wbytes")).into(),
            (rate("device_us") / 1e6).into(),
            new.count("in_progress").into(),
            percentile(&old.latency, &new.latency, 50),
            percentile(&old.latency, &new.latency, 99),
            waits.into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_what_is_new() {
        let before = buckets("read=100:5,250:0,inf:0 write=100:1,250:0,inf:0");
        let after = buckets("read=100:5,250:98,inf:0 write=100:1,250:0,inf:2");
        assert_eq!(percentile(&before, &after, 50), Cell::from(Span::from_us(250)));
        assert_eq!(percentile(&before, &after, 99), Cell::Text("> 10s".to_owned()));
        assert_eq!(percentile(&after, &after, 99), Cell::Missing);
    }
}
