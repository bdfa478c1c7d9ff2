//! `bench --peers`: other programs and ours, side by side in one run, by processor time. Programs that are not
//! installed are skipped by name.
//!
//! Three groups. **An I/O**: fio's null engine, which does all that a job asks for but the I/O itself, beside the same
//! job simulated. **An event of a trace**: blkparse and btt beside `trace info` and what `compare` reads for a replay.
//! **A request of DiskSim's own trace**, if available: `disksim` on the search path, and the variable [`DISKSIM`] for
//! the folder with its `ascii.parv` and `ascii.trace`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::cost::Cost;
use crate::{Verdict, shell};
use xtask::gate;

/// The directory of DiskSim's own example.
const DISKSIM: &str = "BLKSCHED_DISKSIM_VALID";
/// The time limit of each program.
const LONGEST: Duration = Duration::from_secs(600);
/// I/Os of the job that fio and the simulator run.
const IOS: u64 = 1_000_000;
/// How often each is run; the least counts, since other processes only add to it.
const TIMES: usize = 3;

/// A program, and how many things it does.
struct Peer {
    name: String,
    command: Option<Command>,
    things: u64,
}

impl Peer {
    fn new(name: &str, things: u64, program: &Path, arguments: &[&str]) -> Peer {
        Peer { name: name.to_owned(), command: Some(shell::command(program, arguments)), things }
    }

    /// A program found by its name on the search path.
    fn found(name: &str, things: u64, program: &str, arguments: &[&str]) -> Peer {
        let command = shell::find_program(program).map(|program| shell::command(program, arguments));
        Peer { name: name.to_owned(), command, things }
    }

    fn within(mut self, folder: &Path) -> Peer {
        self.command.as_mut().map(|command| command.current_dir(folder));
        self
    }
}

/// What all programs of a group do, and the programs.
struct Group {
    title: &'static str,
    /// The name of one thing in the table.
    thing: &'static str,
    peers: Vec<Peer>,
}

/// # Errors
/// If our own program cannot be built, or an installed one fails.
pub fn run() -> Result<Verdict> {
    let ours = gate::command_line()?;
    let folder = shell::target().join("xtask").join(format!("peers-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let done = groups(&ours, &folder).and_then(|groups| groups.into_iter().try_for_each(measure));
    fs::remove_dir_all(&folder)?;
    done.map(|()| Verdict::Good)
}

fn groups(ours: &Path, folder: &Path) -> Result<Vec<Group>> {
    let mut groups = vec![ios(ours, folder)?, events(ours, folder)?];
    groups.extend(disksim(ours)?);
    Ok(groups)
}

fn ios(ours: &Path, folder: &Path) -> Result<Group> {
    let job = format!("[j]\nrw=randread\nbs=4k\niodepth=32\nsize=64g\nnumber_ios={IOS}\n");
    let file = |name: &str, more: &str| -> Result<String> {
        let path = folder.join(name);
        fs::write(&path, format!("{job}{more}"))?;
        Ok(path.display().to_string())
    };
    let null = file("null.fio", "ioengine=null\n")?;
    let simulated = file("simulated.fio", "ioengine=libaio\ndirect=1\nfilename=/dev/sda\n")?;
    let with = |disk: &str, elevator: &str| {
        let name = format!("blksched, {elevator} on {disk}");
        Peer::new(
            &name,
            IOS,
            ours,
            &["simulate", &simulated, "--disk", disk, "--elevator", elevator, "--time", "36000s"],
        )
    };
    let peers = vec![
        Peer::found("fio, engine null", IOS, "fio", &[&null]),
        with("null", "none"),
        with("nvme-ssd-ideal", "none"),
        with("nvme-ssd-ideal", "mq-deadline"),
        with("hdd-7200-ideal", "mq-deadline"),
    ];
    Ok(Group { title: "a job of 4 KiB reads at depth 32", thing: "I/O", peers })
}

fn events(ours: &Path, folder: &Path) -> Result<Group> {
    let trace = folder.join("trace.blktrace.0");
    let name = trace.display().to_string();
    let job = "[j]\nrw=randrw\nbs=4k\niodepth=32\nioengine=libaio\ndirect=1\nfilename=/dev/sda\nnumber_ios=500000\n";
    let file = folder.join("traced.fio");
    fs::write(&file, job)?;
    let file = file.display().to_string();
    let writes =
        ["simulate", &file, "--disk", "nvme-ssd-ideal", "--elevator", "mq-deadline", "--time", "36000s", "--blktrace"];
    Cost::of(shell::command(ours, &[&writes[..], &[&name]].concat()), LONGEST)?;
    let reader = std::io::BufReader::new(fs::File::open(&trace).context("our own trace")?);
    let events = blksched_traces::blktrace::events(reader).count() as u64;
    let dump = folder.join("dump").display().to_string();
    // btt reads what blkparse dumps, so that must exist first.
    if let Some(blkparse) = shell::find_program("blkparse") {
        let mut dumps = shell::command(blkparse, &["-i", "trace", "-O", "-d", &dump]);
        dumps.current_dir(folder);
        Cost::of(dumps, LONGEST)?;
    }
    let dumped = folder.join("dumped").display().to_string();
    let peers = vec![
        Peer::found("blkparse, text", events, "blkparse", &["-i", "trace"]).within(folder),
        Peer::found("blkparse, binary (-O -d)", events, "blkparse", &["-i", "trace", "-O", "-d", &dumped])
            .within(folder),
        Peer::found("btt, of blkparse's binary", events, "btt", &["-i", &dump]).within(folder),
        Peer::new("blksched trace info", events, ours, &["trace", "info", &name]),
        Peer::new("blksched compare --parse-only", events, ours, &["compare", &name, "--parse-only"]),
    ];
    Ok(Group { title: "a trace that `simulate --blktrace` wrote", thing: "event", peers })
}

/// DiskSim's example and a similar load of ours: requests one at a time.
fn disksim(ours: &Path) -> Result<Option<Group>> {
    let (Some(program), Some(folder)) = (shell::find_program("disksim"), std::env::var_os(DISKSIM)) else {
        println!("skipped: disksim is not on the search path, or {DISKSIM} does not name its folder `valid`\n");
        return Ok(None);
    };
    let folder = PathBuf::from(folder);
    let trace = folder.join("ascii.trace");
    let requests = fs::read(&trace).with_context(|| format!("reading {}", trace.display()))?;
    let requests = requests.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let job = shell::target().join("xtask").join("like-disksim.fio");
    fs::write(
        &job,
        format!("[j]\nrw=randread\nbs=4k\ndirect=1\nfilename=/dev/sda\niodepth=1\nnumber_ios={requests}\n"),
    )?;
    let job = job.display().to_string();
    let simulates = ["simulate", &job, "--disk", "hdd-7200-ideal", "--elevator", "deadline@4.20", "--time", "36000s"];
    let peers = vec![
        Peer::new("DiskSim, ascii.parv", requests, &program, &["ascii.parv", "/dev/null", "ascii", "ascii.trace", "0"])
            .within(&folder),
        Peer::new("blksched, deadline@4.20 on hdd-7200-ideal", requests, ours, &simulates),
    ];
    Ok(Some(Group { title: "requests one at a time", thing: "request", peers }))
}

/// Runs each in turn, and all of that repeatedly, so that a busy moment affects all of them.
fn measure(group: Group) -> Result<()> {
    let Group { title, thing, peers } = group;
    let mut rows = Vec::new();
    for Peer { name, command, things } in peers {
        let Some(command) = command else {
            println!("skipped: {name} is not installed");
            continue;
        };
        rows.push((name, command, things, None::<Cost>));
    }
    for _ in 0..TIMES {
        for (name, command, _, least) in &mut rows {
            let cost = Cost::of(again(command), LONGEST).with_context(|| name.clone())?;
            *least = Some(least.filter(|least| least.processor <= cost.processor).unwrap_or(cost));
        }
    }
    let told: Vec<Row> = rows.into_iter().filter_map(|(name, _, things, cost)| Some((name, things, cost?))).collect();
    println!("{}\n", table(title, thing, &told));
    Ok(())
}

type Row = (String, u64, Cost);

fn table(title: &str, thing: &str, rows: &[Row]) -> String {
    let width = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0).max(thing.len());
    let each = format!("ns per {thing}");
    let mut text = format!("{title}; processor time, the least of {TIMES} runs\n");
    text += &format!("{:<width$} {:>14} {:>12} {:>10}", "program", each, format!("{thing}s"), "memory MB");
    for (name, things, cost) in rows {
        let (ns, memory) = (cost.each(*things), cost.memory as f64 / 1e6);
        text += &format!("\n{name:<width$} {ns:>14.0} {things:>12} {memory:>10.1}");
    }
    text
}

/// A copy of the command.
fn again(command: &Command) -> Command {
    let mut same = Command::new(command.get_program());
    same.args(command.get_args());
    command.get_current_dir().map(|folder| same.current_dir(folder));
    same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_what_one_thing_costs() {
        let cost = Cost { processor: Duration::from_millis(1500), memory: 12_000_000 };
        let table = table("a load", "I/O", &[("fio, engine null".to_owned(), 1_000_000, cost)]);
        let row: Vec<_> = table.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(row, ["fio,", "engine", "null", "1500", "1000000", "12.0"]);
    }

    #[test]
    fn a_program_that_is_not_here_has_no_command() {
        assert!(Peer::found("none", 1, "no-such-program", &[]).command.is_none());
        let peer = Peer::found("sh", 1, "sh", &["-c", "true"]).within(Path::new("/"));
        let same = again(peer.command.as_ref().unwrap());
        assert_eq!(same.get_current_dir(), Some(Path::new("/")));
        assert_eq!(same.get_args().collect::<Vec<_>>(), ["-c", "true"]);
    }
}
