//! `blksched trial`: settings of a live disk take turns under the load that is there, and are compared.
//!
//! What is decided is in `blksched_lab::live`; here are the machine, the journal of what was there, and the process
//! that gives it back if this one is killed.

mod checked;
mod counters;
mod disk;
pub(crate) mod groups;
mod journal;
mod machine;
pub(crate) mod predicted;
mod report;
mod watchdog;
mod written;

use std::path::PathBuf;

use blksched::Span;
use blksched_lab::live::{
    Finish, Guard, GuardedFigure, LiveArm, LivePlan, Place, SETTLE, SETTLE_IO_COST, Saved, check_cost, conduct, plan,
};
use clap::Args;

use crate::compare::Emit;
use crate::failure::Failure;
use crate::output;
pub(crate) use disk::mounted_on;
use journal::Journal;
use machine::QueueFiles;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TrialArguments {
    /// The disk, by its name in /sys/block; all the members of an array, separated by commas, which then always have
    /// the same setting
    #[arg(value_name = "DISK")]
    pub(crate) disk: Option<String>,
    /// The settings to compare: schedulers, with knobs of theirs and of the queue, and files of control groups; the
    /// first is what others are compared with. The scheduler that is in use keeps its knobs as they are
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) elevators: Vec<String>,
    /// The length of a period
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = some_minutes)]
    pub(crate) every: Span,
    /// How long in all, at most
    #[arg(long = "for", value_name = "TIME", default_value = "20min", value_parser = some_minutes)]
    pub(crate) length: Span,
    /// What is left out after each switch [default: 5s; 15s if a setting has io.cost, which finds its rate in steps]
    #[arg(long, value_name = "TIME", value_parser = some_minutes)]
    pub(crate) settle: Option<Span>,
    /// End it if this happens, as in 'p99 read > 500ms for 20s', 'psi full > 80% for 30s'; may be repeated
    #[arg(long, value_name = "GUARD")]
    pub(crate) abort_if: Vec<Guard>,
    /// Draws the order of the periods
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON instead of text (docs/schema.md)
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) json: bool,
    /// Print the setting that was proven to be better as a file for the system, with the evidence as comments
    #[arg(long, value_name = "WHAT", value_enum, conflicts_with_all = ["json", "dry_run"])]
    pub(crate) emit: Option<Emit>,
    /// Also write a report that can be sent to others: no names of machines, disks or files (docs/trial.md)
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub(crate) share: Option<PathBuf>,
    /// Leave the processes' names in that report
    #[arg(long, requires = "share")]
    pub(crate) share_processes: bool,
    /// Do not ask before the first switch
    #[arg(long)]
    pub(crate) yes: bool,
    /// Give back what a trial that was cut off (power, a kill of all its processes) has left changed
    #[arg(long, conflicts_with_all = ["elevators", "dry_run", "json", "emit", "share"])]
    pub(crate) restore: bool,
    /// Where the journal of what was there is kept
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/blksched")]
    pub(crate) journal: PathBuf,
    /// Waits for the end of a trial, and restores if need be
    #[arg(long, hide = true, value_name = "FILE")]
    pub(crate) watchdog: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Needs root and tracefs. Periods come in an order drawn block by block; figures are compared within blocks by the
statistics of compare. All settings are given back at the end, on Ctrl-C, on kill, by a second process after kill -9,
and by --restore after a reboot. Something else that changes a setting meanwhile ends the trial, and keeps what it set.

Examples:
  blksched trial sda --elevators mq-deadline,bfq --dry-run
  blksched trial sda --elevators mq-deadline,bfq --every 30s --for 20min --abort-if 'p99 read > 500ms for 20s'
  blksched trial nvme0n1 --elevators none,mq-deadline:nr_requests=64:wbt_lat_usec=0,kyber:read_lat_nsec=1000000
  blksched trial sda --elevators mq-deadline,mq-deadline:dirty_bytes=67108864 --every 60s
  blksched trial sda --elevators 'none,none:io.cost.qos=enable=1 min=50.00 max=150.00' --every 60s --for 40min
  blksched trial sda --elevators none,none:system.slice/backup.service/io.max=wbps=20971520
  blksched trial sda --elevators mq-deadline,bfq --emit udev > 60-io-scheduler.rules
  blksched trial sda,sdb --elevators mq-deadline,none      the members of an array, always under the same setting
  blksched trial --restore                           after a power cut in the middle of one

Exit codes: 0 done; 1 ended by a guard, by a signal or by another's change, not confirmed, or refused by the kernel;
2 not understood, or not a disk for it.";

/// A time, as anywhere else or in minutes.
pub(crate) fn some_minutes(text: &str) -> Result<Span, String> {
    if let Some(minutes) = text.strip_suffix("min") {
        let minutes = minutes.trim().parse::<u64>().ok().filter(|minutes| (1..=100_000).contains(minutes));
        return minutes
            .map(|minutes| Span::from_secs(60 * minutes))
            .ok_or_else(|| format!("`{text}`: expected as in 20min"));
    }
    let span = text.parse::<Span>().map_err(|error| format!("{error}, or minutes as in 20min"))?;
    let most = Span::from_secs(60 * 100_000);
    if span <= most { Ok(span) } else { Err(format!("`{text}`: expected at most {most}")) }
}

/// The same, and longer than nothing.
pub(crate) fn some_time(text: &str) -> Result<Span, String> {
    match some_minutes(text)? {
        Span::ZERO => Err(format!("`{text}`: expected longer than nothing, as in 60s")),
        span => Ok(span),
    }
}

pub(crate) fn run(arguments: &TrialArguments) -> Result<(), Failure> {
    if let Some(journal) = &arguments.watchdog {
        return watchdog::wait(journal);
    }
    if arguments.restore {
        return watchdog::restore_all(&arguments.journal, arguments.disk.as_deref());
    }
    let Some(name) = arguments.disk.as_deref() else {
        return Err(Failure::Input(
            "trial: which disk? as in `blksched trial sda --elevators mq-deadline,bfq`".to_owned(),
        ));
    };
    let names = named(name)?;
    let disks: Vec<&str> = names.iter().map(String::as_str).collect();
    let name = &*disks.join(",");
    let devices = crate::record::machine::read("/".as_ref(), &names).map_err(Failure::Input)?;
    disk::refuse(&disks)?;
    disks_are_alike(&disks)?;
    let arms = arms(arguments, &disks)?;
    let usual = if arms.iter().any(LiveArm::sets_io_cost) { SETTLE_IO_COST } else { SETTLE };
    let settle = arguments.settle.unwrap_or(usual);
    let plan = plan(arms.len(), arguments.every, arguments.length, settle, arguments.seed);
    let plan = plan.map_err(Failure::Input)?;
    let (files, saved) = prepared(arguments, name, &arms)?;
    let counted = counted(&files, arguments)?;
    let is_counted = !counted.is_empty();
    let foretold = predicted::of(name);
    let told = told(name, &arms, &plan, &saved, arguments) + &counted + &report::foretold(foretold.as_ref(), &arms);
    say(arguments, &told)?;
    if arguments.dry_run {
        return Ok(());
    }
    checked::privileges()?;
    confirm(arguments, name)?;
    let journal = Journal { disk: name.to_owned(), process: std::process::id(), saved: saved.clone() };
    // First who gives back, then the tracer's instance, the journal, the first switch: a kill at any moment is covered.
    let watchdog = watchdog::start(&journal.path(&arguments.journal))?;
    let mut machine = files.watched(&devices).map_err(Failure::Outside)?;
    let written = journal.write(&arguments.journal)?;
    let tell = &mut |nth: usize, arm: usize| {
        let of = plan.blocks.len() * arms.len();
        crate::output::warn(&format!("period {} of {of}: {}", nth + 1, arms[arm]));
    };
    let sat = conduct(&plan, &arms, &arguments.abort_if, &saved, &mut machine, tell);
    let lost = machine.lost();
    drop(machine);
    if sat.restored.is_ok() {
        std::fs::remove_file(&written).map_err(|error| Failure::Outside(format!("{}: {error}", written.display())))?;
    }
    watchdog.end();
    let of = written::TrialReport {
        disk: name,
        arms: &arms,
        plan: &plan,
        sat: &sat,
        lost,
        is_counted,
        foretold: foretold.as_ref(),
    };
    let wrote = of.write(arguments, &devices);
    // What was not put back matters more than what was not printed.
    if let Err(why) = &sat.restored {
        return Err(Failure::Outside(format!("{why}; `blksched trial --restore` tries again")));
    }
    wrote?;
    match sat.finish {
        Finish::Whole | Finish::Clear => Ok(()),
        other => Err(Failure::Outside(report::ended(&other, &arms))),
    }
}

/// Says what is about to be done; to standard error if what is printed is for programs, or a file.
fn say(arguments: &TrialArguments, told: &str) -> Result<(), Failure> {
    match arguments.json || arguments.emit.is_some() {
        true => output::warn(told.trim_end()),
        false => output::print(told)?,
    }
    Ok(())
}

/// The disk's files and what they read now, if these arms can be tried on it.
fn prepared(arguments: &TrialArguments, name: &str, arms: &[LiveArm]) -> Result<(QueueFiles, Saved), Failure> {
    let mut files = QueueFiles::of(name);
    let saved = Saved::read_for(&mut files, arms).map_err(Failure::Outside)?;
    check_cost(&mut files, arms).map_err(Failure::Input)?;
    checked::knobs(arms, &saved)?;
    checked::guards(&arguments.abort_if, machine::PRESSURE.as_ref())?;
    checked::share(arguments.share.as_deref())?;
    Ok((files, saved))
}

/// The disks' names, in the order of their names, so that one array has one journal.
fn named(name: &str) -> Result<Vec<String>, Failure> {
    let mut disks: Vec<String> = name.split(',').map(|disk| crate::record::machine::name_of(disk.trim())).collect();
    disks.sort_unstable();
    match disks.windows(2).find(|two| two[0] == two[1]) {
        Some(two) => Err(Failure::Input(format!("trial {name}: {} is named twice", two[0]))),
        None => Ok(disks),
    }
}

/// What is to be said where I/O is only counted; nothing where it is traced.
fn counted(files: &QueueFiles, arguments: &TrialArguments) -> Result<String, Failure> {
    let Some(said) = files.only_counted().map_err(Failure::Outside)? else { return Ok(String::new()) };
    let needs_each = |guard: &&Guard| !matches!(guard.figure, GuardedFigure::PsiFull(_));
    match arguments.abort_if.iter().find(needs_each) {
        Some(guard) => Err(Failure::Input(format!("--abort-if '{guard}': expected `psi full > …`: {said}"))),
        None => Ok(said + "\n"),
    }
}

/// Refuses members whose settings differ: they could not all be given back.
fn disks_are_alike(disks: &[&str]) -> Result<(), Failure> {
    let read = |disk: &&str| Saved::read(&mut QueueFiles::of(disk)).map_err(Failure::Outside);
    let Some((first, others)) = disks.split_first() else { return Ok(()) };
    let Saved(of_first) = read(first)?;
    for other in others {
        let Saved(of_other) = read(other)?;
        let differs = |(one, other): (&(Place, String), &(Place, String))| one != other;
        let at = of_first.iter().zip(&of_other).position(differs);
        if at.is_some() || of_first.len() != of_other.len() {
            let (place, value) = at.map_or(("a file".to_owned(), ""), |at| (of_first[at].0.path(), &of_first[at].1));
            return Err(Failure::Input(format!(
                "{first} and {other} have other settings ({place} is {value} on {first}): expected the same on all \
                 members, which then get them back"
            )));
        }
    }
    Ok(())
}

fn arms(arguments: &TrialArguments, disks: &[&str]) -> Result<Vec<LiveArm>, Failure> {
    let name = disks[0];
    let arms: Result<Vec<LiveArm>, String> = arguments.elevators.iter().map(|word| LiveArm::parse(word)).collect();
    let arms = arms.map_err(Failure::Input)?;
    let offered = disk::schedulers(name)?;
    if let Some(other) = arms.iter().find(|arm| !offered.contains(&arm.scheduler)) {
        let near = blksched_text::did_you_mean(&other.scheduler, offered.iter().map(String::as_str));
        let all = offered.join(", ");
        return Err(Failure::Input(format!(
            "{name} has no scheduler `{}`: expected one of {all}{near}",
            other.scheduler
        )));
    }
    Ok(arms)
}

/// What is about to be done.
fn told(name: &str, arms: &[LiveArm], plan: &LivePlan, saved: &Saved, arguments: &TrialArguments) -> String {
    let words: Vec<String> = arms.iter().map(ToString::to_string).collect();
    let mut text = format!(
        "{name} (now {}): {} take turns, {} periods of {}, of which the first {} are left out: {} at most.\n",
        saved.scheduler(),
        words.join(" and "),
        plan.blocks.len() * arms.len(),
        plan.every,
        plan.settle,
        in_minutes(plan.length())
    );
    let on = |disk: &str| if disk == name { disk::on_it(disk) } else { format!("{disk}: {}", disk::on_it(disk)) };
    text += &format!("On it: {}.\n", name.split(',').map(on).collect::<Vec<_>>().join("; "));
    if arms.iter().any(LiveArm::sets_memory) {
        text += "The limits of dirty pages are those of all disks together.\n";
    }
    let sets = |file: &str| arms.iter().flat_map(LiveArm::groups).any(|(place, _)| place.path().ends_with(file));
    if sets("/io.max") {
        text += "What io.max holds back is seen when it is let through, by a worker of the kernel's: its waiting \
                 before that is in no latency, but in the KiB/s.\n";
    }
    if sets("/io.latency") || sets("/io.weight") || sets("io.cost.qos") || sets("io.cost.model") {
        text += "What io.cost and io.latency hold back waits in the process that submits it: of several I/Os at a time \
                 one has that wait in its latency, so judge such a setting by the KiB/s.\n";
    }
    if arms.iter().any(LiveArm::sets_io_cost) && arguments.settle.is_none() {
        text += "So much is left out as io.cost finds its rate in steps (--settle).\n";
    }
    for guard in &arguments.abort_if {
        text += &format!("Ends if {guard}.\n");
    }
    if arguments.dry_run {
        let numbered = words.iter().enumerate().map(|(nth, arm)| format!("{} = {arm}", nth + 1));
        let numbered = numbered.collect::<Vec<_>>().join("; ");
        let block = |block: &Vec<usize>| block.iter().map(|arm| (arm + 1).to_string()).collect::<Vec<_>>().join(" ");
        let order = plan.blocks.iter().map(block).collect::<Vec<_>>().join(", ");
        text += &format!("Order of the periods: {order} ({numbered}).\n");
        text += "Given back at the end, in this order, where it reads otherwise:\n";
        let is_used = |(place, value): &&(Place, String)| value != "0" || !matches!(place, Place::Memory(_));
        for (place, value) in saved.0.iter().filter(is_used) {
            text += &format!("  {} = {value}\n", place.path());
        }
    }
    text
}

/// A trial's length, in words.
fn in_minutes(length: Span) -> String {
    match length.as_secs_f64() {
        seconds @ ..119.5 => format!("{seconds:.0} seconds"),
        seconds => format!("{:.0} minutes", seconds / 60.0),
    }
}

fn confirm(arguments: &TrialArguments, name: &str) -> Result<(), Failure> {
    if arguments.yes {
        return Ok(());
    }
    eprint!("Let these settings of {name} take turns now? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::Outside("nothing was done: it was not confirmed (--yes does)".to_owned())),
    }
}
