//! `bench --scale`: everything that can be large, at two sizes that differ by a factor of ten: the cost of one unit,
//! and the memory it takes. Anything no worse than n log n costs hardly more per unit at the large size; exceeded
//! caches also show.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::cost::{self, Cost};
use crate::{Verdict, shell};
use xtask::gate;

/// The time limit of each command.
const LONGEST: Duration = Duration::from_secs(1800);
/// The greatest memory of a comparison of 4,096 processes and five seeds \[bytes\].
const MOST_OF_A_COMPARISON: u64 = 1_000_000_000;
/// Requests that go through a queue.
const REQUESTS: u64 = 1_000_000;

/// The measurement at one size.
struct Row {
    what: String,
    /// The size: how many there are of what is large.
    size: u64,
    /// The time of a request, an I/O or an event \[ns\].
    each: f64,
    /// The peak memory \[bytes\].
    memory: u64,
}

/// # Errors
/// If a program cannot be built, or one fails.
pub fn run() -> Result<Verdict> {
    let ours = gate::command_line()?;
    let folder = shell::target().join("xtask").join(format!("scale-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let done = measured(&ours, &folder);
    fs::remove_dir_all(&folder)?;
    done
}

fn measured(ours: &Path, folder: &Path) -> Result<Verdict> {
    println!("{}", Row::header());
    let tell = |row: Row| println!("{row}");
    let program = gate::program_of("noop@2.6.33/random/128")?;
    for elevator in ["noop@2.6.33", "deadline@4.20", "mq-deadline", "kyber", "cfq@4.20", "bfq"] {
        for queued in [100_000, 1_000_000] {
            tell(queue(&program, elevator, queued)?);
        }
    }
    for processes in [1_000, 10_000] {
        tell(simulated(ours, folder, "processes", processes, "nvme-ssd-ideal", 200_000)?);
    }
    for members in [100, 1_000] {
        tell(simulated(
            ours,
            folder,
            "disks of an array",
            members,
            &format!("raid0:{members}xhdd-7200-ideal"),
            200_000,
        )?);
    }
    for tenants in [100, 1_000] {
        tell(served(ours, folder, tenants)?);
    }
    for ios in [100_000, 1_000_000] {
        traced(ours, folder, ios)?.into_iter().for_each(tell);
    }
    let comparison = compared(ours, folder)?;
    let holds = comparison.memory <= MOST_OF_A_COMPARISON;
    tell(comparison);
    if !holds {
        println!("a comparison has more than {} MB", MOST_OF_A_COMPARISON / 1_000_000);
    }
    Ok(Verdict::when(holds))
}

/// Keeps this many requests queued all the time.
fn queue(program: &Path, elevator: &str, queued: u64) -> Result<Row> {
    let case = format!("{elevator}/random/{queued}");
    let of = |times: u64| Cost::of(shell::command(program, &[&case, &times.to_string()]), LONGEST);
    let (filled, run) = (of(0)?, of(REQUESTS)?);
    let each = run.processor.saturating_sub(filled.processor).as_nanos() as f64 / REQUESTS as f64;
    Ok(Row { what: format!("queued requests, {elevator}"), size: queued, each, memory: run.memory })
}

/// A job of 4 KiB reads, `ios` of them in all, by this many processes, or at depth 1,024 on an array.
fn simulated(ours: &Path, folder: &Path, what: &str, size: u64, disk: &str, ios: u64) -> Result<Row> {
    let (processes, depth) = if what == "processes" { (size, 1) } else { (1, 1_024) };
    let job = format!(
        "[j]\nrw=randread\nbs=4k\nioengine=libaio\ndirect=1\nfilename=/dev/sda\niodepth={depth}\nnumjobs={processes}\n\
         number_ios={}\n",
        ios / processes
    );
    let file = written(folder, "large.fio", &job)?;
    let simulates = ["simulate", &file, "--disk", disk, "--elevator", "mq-deadline", "--time", "36000s", "--json"];
    let cost = Cost::of(shell::command(ours, &simulates), LONGEST)?;
    Ok(Row { what: what.to_owned(), size, each: cost.each(ios), memory: cost.memory })
}

/// Exports in memory, with a client of each that keeps four reads in flight.
fn served(ours: &Path, folder: &Path, tenants: u64) -> Result<Row> {
    let socket = folder.join(format!("{tenants}.sock"));
    let unix = socket.display().to_string();
    let mut server = shell::command(ours, &["serve", "--elevator", "bfq", "--unix", &unix]);
    (0..tenants).for_each(|tenant| _ = server.args(["--export", &format!("t{tenant}=mem:1M")]));
    server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = Server(server.spawn().context("starting the server")?);
    let begun = Instant::now();
    while !socket.exists() {
        if server.0.try_wait()?.is_some() || begun.elapsed() > LONGEST {
            bail!("a server of {tenants} exports does not start");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let uri = format!("nbd+unix:///t{{}}?socket={unix}");
    let clients = tenants.to_string();
    let load = ["load", &uri, "--clients", &clients, "--depth", "4", "--time", "10s", "--json"];
    let before = cost::so_far(server.0.id())?;
    let load = shell::capture(shell::command(ours, &load))?;
    let after = cost::so_far(server.0.id())?;
    let requests = requests(&load.output).with_context(|| format!("the load says no rate:\n{}", load.output))?;
    let each = after.processor.saturating_sub(before.processor).as_nanos() as f64 / requests;
    Ok(Row { what: "tenants of a server, bfq".to_owned(), size: tenants, each, memory: after.memory })
}

/// A server that ends with us.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// The requests of ten seconds.
fn requests(json: &str) -> Option<f64> {
    let value: Value = serde_json::from_str(json).ok()?;
    Some(value["table"]["rows"][0]["iops"].as_f64()? * 10.0)
}

/// A trace of this many I/Os is summarised, and read for a replay.
fn traced(ours: &Path, folder: &Path, ios: u64) -> Result<Vec<Row>> {
    let job = "[j]\nrw=randrw\nbs=4k\niodepth=32\nioengine=libaio\ndirect=1\nfilename=/dev/sda\n";
    let file = written(folder, "traced.fio", &format!("{job}number_ios={ios}\n"))?;
    let trace = folder.join("trace.blktrace.0");
    let name = trace.display().to_string();
    let writes =
        ["simulate", &file, "--disk", "nvme-ssd-ideal", "--elevator", "none", "--time", "36000s", "--blktrace", &name];
    Cost::of(shell::command(ours, &writes), LONGEST)?;
    let reader = std::io::BufReader::new(fs::File::open(&trace)?);
    let mut events = blksched_traces::blktrace::events(reader);
    let (mut event, mut size) = (blksched_traces::blktrace::BlktraceEvent::default(), 0);
    while events.next_into(&mut event)? {
        size += 1;
    }
    let of = |what: &str, words: &[&str]| -> Result<Row> {
        let cost = Cost::of(shell::command(ours, words), LONGEST)?;
        Ok(Row { what: what.to_owned(), size, each: cost.each(size), memory: cost.memory })
    };
    Ok(vec![
        of("events, trace info", &["trace", "info", &name])?,
        of("events, read for a replay", &["compare", &name, "--parse-only"])?,
    ])
}

/// Six schedulers, five seeds, 4,096 processes.
fn compared(ours: &Path, folder: &Path) -> Result<Row> {
    let job = "[j]\nrw=randread\nbs=4k\ndirect=1\nfilename=/dev/sda\nnumjobs=4096\n";
    let file = written(folder, "many.fio", job)?;
    let compares = ["compare", &file, "--disk", "nvme-ssd-ideal", "--time", "100ms", "--seeds", "5"];
    let cost = Cost::of(shell::command(ours, &compares), LONGEST)?;
    // The cost depends on how many I/Os each scheduler completes in the time.
    Ok(Row { what: "processes of a comparison".to_owned(), size: 4096, each: f64::NAN, memory: cost.memory })
}

fn written(folder: &Path, name: &str, text: &str) -> Result<String> {
    let path: PathBuf = folder.join(name);
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    Ok(path.display().to_string())
}

impl Row {
    fn header() -> String {
        format!("{:<34} {:>10} {:>10} {:>11} {:>11}", "what", "how many", "ns each", "memory MB", "bytes/one")
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Row { what, size, each, memory } = self;
        let each = if each.is_nan() { "-".to_owned() } else { format!("{each:.0}") };
        write!(f, "{what:<34} {size:>10} {each:>10} {:>11.1} {:>11}", *memory as f64 / 1e6, memory / size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_costs_and_memory() {
        let row = Row { what: "tenants".to_owned(), size: 1000, each: 1234.4, memory: 64_000_000 };
        let words: Vec<_> = row.to_string().split_whitespace().map(str::to_owned).collect();
        assert_eq!(words, ["tenants", "1000", "1234", "64.0", "64000"]);
        assert_eq!(Row::header().len(), row.to_string().len());
    }

    #[test]
    fn a_loads_rate_is_read() {
        assert_eq!(requests(r#"{"table":{"rows":[{"iops":12.5}]}}"#), Some(125.0));
        assert_eq!(requests("no"), None);
    }
}
