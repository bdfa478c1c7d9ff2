//! `blksched load`: a lean load for any NBD server, and servers side by side.

mod generator;
mod peers;

use std::path::{Path, PathBuf};

use blksched::{Catalogue, Span};
use blksched_measure::{Cell, Column, Quantity, Table};
use blksched_nbd::Uri;
use blksched_text::units::number_or_letter;
use clap::{Args, ValueEnum};

pub use generator::{LoadOrder, LoadPlan, LoadReport, load};
use peers::Peer;

use crate::failure::Failure;
use crate::output::{self, TableStyle, render};
use crate::private::private_directory;
use crate::rows::RowsOut;
use crate::scene::some_time;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct LoadArguments {
    /// The server and its export, as in nbd://localhost/disk or nbd+unix:///disk?socket=/run/nbd.sock, or under TLS
    /// nbds://HOST/disk?tls-certificates=FOLDER (ca-cert.pem, and client-cert.pem and client-key.pem if need be;
    /// &tls-hostname= if its certificate has another name); {} in the export's name is the connection's number, from 0,
    /// so that each has an export of its own
    #[arg(value_name = "URI", required_unless_present = "peers", conflicts_with = "peers")]
    uri: Option<Uri>,
    /// Measure this server, nbdkit and qemu-nbd with the same file, one after the other
    #[arg(long, value_name = "FILE")]
    peers: Option<PathBuf>,
    /// The scheduler of this server among the peers
    #[arg(long, value_name = "NAME", default_value = "mq-deadline")]
    elevator: String,
    /// The order of the requests
    #[arg(long, value_name = "ORDER", value_enum, default_value_t = Pattern::Random)]
    order: Pattern,
    /// Of 100 requests this many read; the others write, with arbitrary content
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=100))]
    reads: u32,
    /// How large a request is
    #[arg(long, value_name = "SIZE", default_value = "4K")]
    block: String,
    /// How many requests each connection keeps in flight
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1024))]
    depth: u32,
    /// How many connections
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    clients: u32,
    /// For how long
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = some_time, allow_hyphen_values = true)]
    time: Span,
    /// The seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    rows: RowsOut,
}

/// The order of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Pattern {
    /// Anywhere.
    Random,
    /// One after the other, each connection from a place of its own.
    Sequential,
}

const EXAMPLES: &str = "\
Examples:
  blksched load nbd://localhost/disk
  blksched load nbd://localhost/disk --reads 70 --block 64K --depth 8 --clients 2 --time 30s
  blksched load 'nbds://disks.example/a?tls-certificates=/etc/nbd'
  blksched load --peers cached.img          processor time and system calls per request, beside nbdkit and qemu-nbd";

pub(crate) fn run(arguments: &LoadArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    let block = number_or_letter(&arguments.block).and_then(|block| u32::try_from(block).ok());
    let block = block.filter(|block| (512..=32 << 20).contains(block) && block.is_multiple_of(512));
    let error = || Failure::Input(format!("--block {}: expected 512 to 32M, in whole sectors", arguments.block));
    let uri = arguments.uri.clone();
    let plan = LoadPlan {
        uri: uri
            .clone()
            .unwrap_or(Uri { address: blksched_nbd::Address::Unix { path: String::new() }, export: String::new() }),
        order: if arguments.order == Pattern::Random { LoadOrder::Random } else { LoadOrder::Sequential },
        reads: arguments.reads,
        block: block.ok_or_else(error)?,
        depth: arguments.depth,
        clients: arguments.clients,
        time: arguments.time,
        seed: arguments.seed,
    };
    let mut table = table(arguments);
    let mut cut_short = None;
    match (&arguments.peers, uri) {
        (Some(file), _) => {
            let error = |error| Failure::Input(format!("--elevator {}:{error}", arguments.elevator));
            let chosen = catalogue.parse(&arguments.elevator).map_err(error)?;
            if let Some(note) = chosen.note() {
                table.note(note);
            }
            peers(arguments, &plan, file, &mut table)?;
        }
        (None, _) => {
            let report = load(&plan).map_err(Failure::Outside)?;
            row(&mut table, &plan.uri.to_string(), &plan, &report, None, None);
            if let Some(why) = &report.cut_short {
                table.note(format!("it ended after {}: {why}", report.elapsed));
            }
            cut_short = report.cut_short;
        }
    }
    if let Some(place) = arguments.rows.place()? {
        place.as_printed("load", &table)?;
    }
    if arguments.json {
        let value = serde_json::json!({ "schema": "blksched/load/2", "table": table.json() });
        output::print(&format!("{value:#}\n"))?;
    } else {
        output::print(&render(&table, TableStyle::Text))?;
    }
    cut_short.map_or(Ok(()), |why| Err(Failure::Outside(why)))
}

/// Each server in turn, in a folder of its own.
fn peers(arguments: &LoadArguments, plan: &LoadPlan, file: &Path, table: &mut Table) -> Result<(), Failure> {
    std::fs::File::open(file).map_err(|error| Failure::Input(format!("--peers {}: {error}", file.display())))?;
    let own = std::env::current_exe().map_err(|error| Failure::Outside(error.to_string()))?;
    let words = format!(
        "serve --export file={{file}} --page-cache --unix {{socket}} --depth 32 --elevator {}",
        arguments.elevator
    );
    let mut all = vec![Peer {
        name: format!("blksched, {}", arguments.elevator),
        program: own.display().to_string(),
        arguments: words.split(' ').map(str::to_owned).collect(),
    }];
    all.extend(Peer::known());
    let folder = private_directory()?;
    let measured: Result<Vec<_>, _> = all.iter().map(|peer| peer.measure(plan, file, &folder)).collect();
    let _ = std::fs::remove_dir_all(&folder);
    for (peer, cost) in all.iter().zip(measured.map_err(Failure::Outside)?) {
        match cost {
            Some(cost) => row(table, &peer.name, plan, &cost.report, Some(cost.cpu_ns), cost.system_calls),
            None => {
                table.note(format!("{}: {} is not here", peer.name, peer.program));
            }
        }
    }
    Ok(())
}

fn table(arguments: &LoadArguments) -> Table {
    let columns = [
        Column::words("server", "server"),
        Column::numbers("iops", "requests/s", Quantity::Iops),
        Column::numbers("bandwidth", "bandwidth", Quantity::Bandwidth),
        Column::numbers("p50", "p50", Quantity::Time),
        Column::numbers("p99", "p99", Quantity::Time),
        Column::numbers("max", "max", Quantity::Time),
        Column::numbers("errors", "errors", Quantity::Count),
        Column::numbers("client_cpu", "client's CPU/request", Quantity::Time),
        Column::numbers("server_cpu", "server's CPU/request", Quantity::Time),
        Column::numbers("system_calls", "its system calls/request", Quantity::Ratio),
    ];
    let is_shown = |column: &Column| arguments.peers.is_some() || !SERVERS_OWN.contains(&column.key.as_str());
    let shown = columns.into_iter().filter(is_shown);
    let title = format!(
        "{} connections, {} requests in flight on each, {} of {}, {}% reads, for {}",
        arguments.clients,
        arguments.depth,
        if arguments.order == Pattern::Random { "random" } else { "sequential" },
        arguments.block,
        arguments.reads,
        arguments.time
    );
    Table::new(&title, shown.collect())
}

/// What only the peers' table can have.
const SERVERS_OWN: [&str; 2] = ["server_cpu", "system_calls"];

fn row(
    table: &mut Table,
    name: &str,
    plan: &LoadPlan,
    report: &LoadReport,
    cpu_ns: Option<f64>,
    system_calls: Option<f64>,
) {
    let seconds = report.elapsed.as_secs_f64();
    let rate = report.requests as f64 / seconds;
    let own = report.own_cpu.as_ns() as f64 / report.requests.max(1) as f64;
    let mut cells: Vec<Cell> = vec![
        name.into(),
        rate.into(),
        (rate * f64::from(plan.block)).into(),
        report.latency.percentile(50.0).into(),
        report.latency.percentile(99.0).into(),
        report.latency.max().into(),
        report.errors.into(),
        own.into(),
    ];
    if let Some(cpu) = cpu_ns {
        cells.push(cpu.into());
        cells.push(system_calls.into());
    }
    table.row(cells);
}
