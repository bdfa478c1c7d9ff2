//! From processor time per I/O to the costs of a preset: measured values, and values that had to be estimated.

use core::fmt::Write;

use anyhow::{Context, Result};

use super::load::{BATCHES, BUFFERS, CALLS, DEEP, FILES, LOADS, Load, Measured, ONE, SYNC, THREAD, TWO, URING};

/// The schedulers that are measured, the one without costs first.
pub const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// The machine that was measured.
pub struct Machine {
    pub model: String,
    pub cpus: usize,
    pub release: String,
}

/// The least and the greatest of all repeats \[us\].
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    least: f64,
    most: f64,
}

/// Costs \[us\] with their sources.
pub struct Fitted {
    /// The process's cost per I/O at depth, without switches.
    process: f64,
    switch: f64,
    /// The costs of schedulers in the order of [`SCHEDULERS`], without `none`.
    own: [f64; 3],
    worker: f64,
    handover: f64,
    calls: OtherCalls,
    sources: Vec<String>,
}

/// What a process's other calls than libaio's take for an I/O \[us\], without switches.
struct OtherCalls {
    sync: f64,
    uring: f64,
    files: f64,
    buffers: f64,
    /// Of the process whose submissions a thread makes.
    ring: f64,
}

/// A line of a preset.
fn line(text: &mut String, key: &str, us: f64, why: &str) {
    let value = format!("{key} = \"{:.0}ns\"", us * 1e3);
    writeln!(text, "{value:24} # {why}").expect("a string");
}

/// The part of the process's time that submission takes; the rest is taking completions.
const SUBMISSION: f64 = 0.75;
/// The part of a scheduler's cost at the end of a request.
const AT_THE_END: f64 = 0.15;
/// The costs of mq-deadline and Kyber inside their lock \[us\]: their own functions, sampled with perf on 6.18, the
/// least (up to 0.8 and 0.6). With plugs they cost no more than `none` in all, since they save it work.
const OWN: [f64; 2] = [0.3, 0.35];
/// The cost of a device's interrupt and the completion of a request \[us\].
const INTERRUPT: f64 = 1.0;

fn range(all: &[Measured], load: &Load, scheduler: &str, of: fn(&Measured) -> f64) -> Result<Range> {
    let values = all.iter().filter(|one| one.load == *load && one.scheduler == scheduler).map(of);
    let range = values.fold(None, |range: Option<Range>, value| {
        let Range { least, most } = range.unwrap_or(Range { least: value, most: value });
        Some(Range { least: least.min(value), most: most.max(value) })
    });
    range.with_context(|| format!("{scheduler}, {}: not measured", load.name))
}

/// The least of a load's repeats counts, so it has to be reached twice, up to this factor.
const AGAIN: f64 = 1.1;

/// Loads whose least cost was reached only once: the machine was too busy, or there were too few repeats.
pub fn unsettled(all: &[Measured]) -> Vec<String> {
    let mut found = Vec::new();
    let calls = CALLS.into_iter().filter(|load| all.iter().any(|one| one.load == *load));
    for load in LOADS.into_iter().chain(calls) {
        for scheduler in SCHEDULERS {
            if CALLS.contains(&load) && scheduler != "none" {
                continue;
            }
            let ours = all.iter().filter(|one| one.load == load && one.scheduler == scheduler);
            let mut totals: Vec<f64> = ours.map(Measured::total).collect();
            totals.sort_by(f64::total_cmp);
            let [least, second, ..] = totals[..] else {
                found.push(format!("{scheduler}, {}: measured {} times", load.name, totals.len()));
                continue;
            };
            if second > AGAIN * least {
                found.push(format!("{scheduler}, {}: {least:.2} us once, then {second:.2} us", load.name));
            }
        }
    }
    found
}

impl Fitted {
    pub fn of(all: &[Measured]) -> Result<Fitted> {
        let mut sources = Vec::new();
        let mut least = |load: &Load, scheduler: &str, of: fn(&Measured) -> f64, what: &str| -> Result<f64> {
            let Range { least, most } = range(all, load, scheduler, of)?;
            sources.push(format!("{scheduler}, {}, {what}: {least:.2} (to {most:.2})", load.name));
            Ok(least)
        };
        let process = |one: &Measured| one.process;
        let switches = |one: &Measured| one.switches;
        let (one, deep) = (least(&ONE, "none", process, "us of fio")?, least(&DEEP, "none", process, "us of fio")?);
        let (rare, often) = (least(&DEEP, "none", switches, "switches")?, least(&ONE, "none", switches, "switches")?);
        let switch = ((one - deep) / (often - rare).max(0.1)).max(0.0);
        let mut total = |load: &Load, scheduler: &str| least(load, scheduler, Measured::total, "us in all");
        let mut above: Vec<[f64; 3]> = Vec::new();
        for scheduler in SCHEDULERS {
            above.push([total(&BATCHES, scheduler)?, total(&DEEP, scheduler)?, total(&TWO, scheduler)?]);
        }
        let [none, mq_deadline, _, bfq] = above[..] else { unreachable!("there are four") };
        // Its functions run with interrupts off and cannot be sampled: the difference from mq-deadline.
        let more = ((bfq[0] - mq_deadline[0]) + (bfq[1] - mq_deadline[1])) / 2.0;
        let own = [OWN[0], OWN[1], OWN[0] + more.max(0.0)];
        let mut workers: Vec<f64> = above[1..].iter().zip(own).map(|(us, own)| us[1] - none[1] - own).collect();
        let handovers = above[1..].iter().map(|us| (us[2] - none[2]) - (us[1] - none[1]));
        workers.sort_by(f64::total_cmp);
        let mut of_calls = |load: &Load| -> Result<f64> {
            let us = least(load, "none", process, "us of fio")?;
            Ok((us - switch * least(load, "none", switches, "switches")?).max(0.0))
        };
        let [sync, uring, files, buffers, thread] = [SYNC, URING, FILES, BUFFERS, THREAD].map(|load| of_calls(&load));
        let (uring, reap) = (uring?, deep * (1.0 - SUBMISSION));
        let calls = OtherCalls {
            sync: sync?,
            uring,
            files: (uring - files?).max(0.0),
            buffers: (uring - buffers?).max(0.0),
            ring: (thread? - reap).max(0.0),
        };
        let process = (deep - switch * rare).max(0.0);
        let handover = handovers.fold(0.0, f64::max).clamp(0.1, 0.5);
        Ok(Fitted { process, switch, own, worker: workers[1].max(0.0), handover, calls, sources })
    }

    /// The TOML of a preset.
    pub fn preset(&self, machine: &Machine, repeats: u32) -> String {
        let Machine { model, cpus, release } = machine;
        let kernel: Vec<&str> = release.split(['.', '-']).take(2).collect();
        let mut text = format!(
            "# What an I/O costs the processors: made by `cargo xtask cpu-costs` on Linux {release}.\n\
             # fio's random reads of 4 KiB (libaio) on a loop device over a file in memory; processor time of fio and\n\
             # of the kernel's workers per I/O [us], the least of {repeats} repeats (it did other things), and\n\
             # the greatest:\n"
        );
        for source in &self.sources {
            writeln!(text, "#   {source}").expect("a string");
        }
        let kernel = kernel.join(".");
        writeln!(text, "description = \"{model}, {cpus} processors, Linux {release}\"").expect("a string");
        writeln!(text, "kernel = \"{kernel}\"").expect("a string");
        text += "\n[process]\n";
        let split = "how it is split is FIT, as no load tells them apart";
        line(
            &mut text,
            "submit",
            self.process * SUBMISSION,
            &format!("MEASURED with reap: fio, none, 32 deep; {split}"),
        );
        line(&mut text, "reap", self.process * (1.0 - SUBMISSION), "MEASURED with submit");
        line(&mut text, "switch", self.switch, "MEASURED: fio, none, one at a time less 32 deep, per switch");
        text += "\n[interrupt]\n";
        line(&mut text, "complete", INTERRUPT, "FIT: a loop device has none; about a microsecond on present machines");
        text += "\n[worker]\n";
        line(&mut text, "run", self.worker, "MEASURED: what schedulers add without plugs, less with; their median");
        text += "\n[lock]\n";
        let why = "FIT: two jobs less one, 0.1 to 0.5 us (noise is greater); how lock waits grow hangs on it";
        line(&mut text, "handover", self.handover, why);
        self.of_calls(&mut text);
        for (name, own) in SCHEDULERS[1..].iter().zip(self.own) {
            let scope = if *name == "kyber" { "hardware-queue" } else { "disk" };
            let source = match *name {
                "bfq" => "MEASURED: above mq-deadline, with plugs and without, their mean",
                "kyber" => "MEASURED: its own functions, sampled with perf: 0.35 to 0.6 us; the least",
                _ => "MEASURED: its own functions, sampled with perf: 0.3 to 0.8 us; the least",
            };
            writeln!(text, "\n[{name}]").expect("a string");
            line(&mut text, "submit", own * (1.0 - AT_THE_END), source);
            line(&mut text, "complete", own * AT_THE_END, "FIT: a part of 15 %");
            let lock = format!("lock = \"{scope}\"");
            writeln!(text, "{lock:24} # READ: docs/behaviour/blk-mq-6.x.md, D3").expect("a string");
        }
        text
    }
}

impl Fitted {
    /// The tables of calls.
    fn of_calls(&self, text: &mut String) {
        let OtherCalls { sync, uring, files, buffers, ring } = self.calls;
        *text += "\n[psync]\n";
        line(
            text,
            "submit",
            sync * SUBMISSION,
            "MEASURED with reap: fio, none, psync, less its switches; split as above",
        );
        line(text, "reap", sync * (1.0 - SUBMISSION), "MEASURED with submit");
        *text += "\n[io_uring]\n";
        line(text, "submit", uring * SUBMISSION, "MEASURED with reap: fio, none, io_uring, 32 deep; split as above");
        line(text, "reap", uring * (1.0 - SUBMISSION), "MEASURED with submit");
        line(text, "registerfiles", files, "MEASURED: what it takes less with that option");
        line(text, "fixedbufs", buffers, "MEASURED: what it takes less with that option");
        let polls = uring * (1.0 - SUBMISSION) + INTERRUPT / 2.0;
        line(text, "iopoll", polls, "FIT: reap and half of an interrupt: a loop device cannot be polled");
        line(text, "sqpoll", ring, "MEASURED: fio's own thread with sqthread_poll, less reap; it may spin");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which all costs are as fitted.
    fn measured(load: Load, scheduler: &str) -> Measured {
        let own = match scheduler {
            "none" => 0.0,
            "mq-deadline" => 0.3,
            "kyber" => 0.35,
            _ => 2.0,
        };
        let saved = if load == FILES { 0.5 } else { 0.0 };
        let worker = if scheduler == "none" || load.batch > 2 { 0.0 } else { 1.5 };
        let switches = if load.depth == 1 { 1.0 } else { 0.25 };
        let process = 4.0 + 2.0 * switches + own - saved;
        Measured { load, scheduler: scheduler.to_owned(), ios: 1000, process, workers: 3.0 + worker, switches }
    }

    #[test]
    fn costs_are_found_again() {
        let scenes = LOADS.into_iter().flat_map(|load| SCHEDULERS.map(|scheduler| measured(load, scheduler)));
        let scenes = scenes.chain(CALLS.into_iter().map(|load| measured(load, "none")));
        let mut all: Vec<Measured> = scenes.collect();
        let disturbed = all.iter().map(|one| Measured { process: one.process * 1.7, ..one.clone() });
        all.extend(disturbed.collect::<Vec<_>>());
        let fitted = Fitted::of(&all).unwrap();
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(near(fitted.switch, 2.0) && near(fitted.process, 4.0), "{} {}", fitted.switch, fitted.process);
        assert!(near(fitted.worker, 1.5) && near(fitted.own[2], 2.0), "{} {:?}", fitted.worker, fitted.own);
        assert!(near(fitted.calls.uring, 4.0) && near(fitted.calls.files, 0.5), "{}", fitted.calls.files);
        assert!(near(fitted.calls.sync, 4.0) && near(fitted.calls.buffers, 0.0));
        assert!(near(fitted.handover, 0.1), "{}", fitted.handover);
        let machine = Machine { model: "X".to_owned(), cpus: 2, release: "6.18.44-x".to_owned() };
        let preset = fitted.preset(&machine, 2);
        assert!(preset.contains("kernel = \"6.18\"") && preset.contains("submit = \"3000ns\""), "{preset}");
        assert!(toml::from_str::<toml::Table>(&preset).is_ok(), "{preset}");
    }

    #[test]
    fn a_least_that_was_reached_once_is_no_measurement() {
        let all = |second: f64| -> Vec<Measured> {
            let scenes = || LOADS.into_iter().flat_map(|load| SCHEDULERS.map(|scheduler| measured(load, scheduler)));
            let again =
                scenes().map(|one| Measured { process: one.process * second, workers: one.workers * second, ..one });
            scenes().chain(again).collect()
        };
        assert_eq!(unsettled(&all(1.09)), Vec::<String>::new());
        assert_eq!(unsettled(&all(1.11)).len(), LOADS.len() * SCHEDULERS.len());
        let once: Vec<Measured> = vec![measured(ONE, "none")];
        assert!(unsettled(&once).contains(&"none, one at a time: measured 1 times".to_owned()));
    }

    #[test]
    fn what_was_not_measured_is_named() {
        let error = Fitted::of(&[measured(ONE, "none")]).err().unwrap().to_string();
        assert!(error.contains("none, 32 deep: not measured"), "{error}");
    }
}
