//! From processor time per I/O to the costs of a preset: measured values, and values that had to be estimated.

use core::fmt::Write;

use anyhow::{Context, Result};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

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

/// Where the value of a cost comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// From these loads, with how.
    Measured(&'static str),
    /// Assumed, with why.
    Assumed(&'static str),
}

/// A cost of a preset.
#[derive(Clone, Debug)]
struct Cost {
    table: &'static str,
    key: &'static str,
    us: f64,
    source: Source,
}

/// All costs of a preset, in its order.
struct Fitted(Vec<Cost>);

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

impl Fitted {
    /// # Errors
    /// Which load was not measured.
    fn of(all: &[Measured]) -> Result<Fitted> {
        let least = |load: &Load, scheduler: &str, of: fn(&Measured) -> f64| -> Result<f64> {
            Ok(range(all, load, scheduler, of)?.least)
        };
        let process = |load: &Load| least(load, "none", |one| one.process);
        let switches = |load: &Load| least(load, "none", |one| one.switches);
        let (one, deep, rare) = (process(&ONE)?, process(&DEEP)?, switches(&DEEP)?);
        let switch = ((one - deep) / (switches(&ONE)? - rare).max(0.1)).max(0.0);
        let mut above: Vec<[f64; 3]> = Vec::new();
        for scheduler in SCHEDULERS {
            let total = |load: &Load| least(load, scheduler, Measured::total);
            above.push([total(&BATCHES)?, total(&DEEP)?, total(&TWO)?]);
        }
        let [none, mq_deadline, _, bfq] = above[..] else { unreachable!("there are four") };
        // Its functions run with interrupts off and cannot be sampled: the difference from mq-deadline.
        let more = ((bfq[0] - mq_deadline[0]) + (bfq[1] - mq_deadline[1])) / 2.0;
        let own = [OWN[0], OWN[1], OWN[0] + more.max(0.0)];
        let mut workers: Vec<f64> = above[1..].iter().zip(own).map(|(us, own)| us[1] - none[1] - own).collect();
        workers.sort_by(f64::total_cmp);
        let handover = above[1..].iter().map(|us| (us[2] - none[2]) - (us[1] - none[1])).fold(0.0, f64::max);
        let process = (deep - switch * rare).max(0.0);
        let mut costs = vec![
            Cost { table: "process", key: "submit", us: process * SUBMISSION, source: SPLIT },
            Cost { table: "process", key: "reap", us: process * (1.0 - SUBMISSION), source: WITH_SUBMIT },
            Cost { table: "process", key: "switch", us: switch, source: PER_SWITCH },
            Cost { table: "interrupt", key: "complete", us: INTERRUPT, source: NO_DEVICE },
            Cost { table: "worker", key: "run", us: workers[1].max(0.0), source: PLUGS },
            Cost { table: "lock", key: "handover", us: handover.clamp(0.1, 0.5), source: WAITS },
        ];
        of_calls(all, switch, deep, &mut costs)?;
        for (table, own) in SCHEDULERS[1..].iter().zip(own) {
            let source = match *table {
                "bfq" => Source::Measured("above mq-deadline, with plugs and without, their mean"),
                "kyber" => Source::Assumed("its own functions, sampled with perf on 6.18: 0.35 to 0.6 us; the least"),
                _ => Source::Assumed("its own functions, sampled with perf on 6.18: 0.3 to 0.8 us; the least"),
            };
            let ends = Source::Assumed("a part of 15 %");
            costs.push(Cost { table, key: "submit", us: own * (1.0 - AT_THE_END), source });
            costs.push(Cost { table, key: "complete", us: own * AT_THE_END, source: ends });
        }
        Ok(Fitted(costs))
    }
}

const SPLIT: Source =
    Source::Measured("with reap: fio, none, 32 deep; how it is split is FIT, as no load tells them apart");
const WITH_SUBMIT: Source = Source::Measured("with submit");
const PER_SWITCH: Source = Source::Measured("fio, none, eight jobs of one at a time less one 32 deep, per switch");
const NO_DEVICE: Source = Source::Assumed("a loop device has none; about a microsecond on present machines");
const PLUGS: Source = Source::Measured("what schedulers add without plugs, less with; their median");
const WAITS: Source =
    Source::Assumed("two jobs less one, 0.1 to 0.5 us (noise is greater); how lock waits grow hangs on it");

/// The tables of other calls than libaio's: `switch` is one's cost, `deep` libaio's, 32 deep \[us\].
fn of_calls(all: &[Measured], switch: f64, deep: f64, costs: &mut Vec<Cost>) -> Result<()> {
    let of = |load: Load| -> Result<f64> {
        let us = range(all, &load, "none", |one| one.process)?.least;
        Ok((us - switch * range(all, &load, "none", |one| one.switches)?.least).max(0.0))
    };
    let (sync, uring) = (of(SYNC)?, of(URING)?);
    let (files, buffers) = ((uring - of(FILES)?).max(0.0), (uring - of(BUFFERS)?).max(0.0));
    let ring = (of(THREAD)? - deep * (1.0 - SUBMISSION)).max(0.0);
    let polls = uring * (1.0 - SUBMISSION) + INTERRUPT / 2.0;
    let one_call = Source::Measured("with reap: fio, none, eight jobs of psync, less switches; split as above");
    let ring_call = Source::Measured("with reap: fio, none, io_uring, 32 deep; split as above");
    let saved = Source::Measured("what it takes less with that option");
    let polled = Source::Assumed("reap and half of an interrupt: a loop device cannot be polled");
    let thread = Source::Measured("fio's own thread with sqthread_poll, less reap; it may spin");
    let table = "io_uring";
    costs.extend([
        Cost { table: "psync", key: "submit", us: sync * SUBMISSION, source: one_call },
        Cost { table: "psync", key: "reap", us: sync * (1.0 - SUBMISSION), source: WITH_SUBMIT },
        Cost { table, key: "submit", us: uring * SUBMISSION, source: ring_call },
        Cost { table, key: "reap", us: uring * (1.0 - SUBMISSION), source: WITH_SUBMIT },
        Cost { table, key: "registerfiles", us: files, source: saved },
        Cost { table, key: "fixedbufs", us: buffers, source: saved },
        Cost { table, key: "iopoll", us: polls, source: polled },
        Cost { table, key: "sqpoll", us: ring, source: thread },
    ]);
    Ok(())
}

/// How often the repeats are drawn again for an interval.
const DRAWS: usize = 400;
/// The part of the draws that is left out at each end of an interval.
const BEYOND: f64 = 0.025;
/// An interval that is no wider than this \[us\] is good enough: a tenth of what an I/O takes in all.
const WIDE: f64 = 0.25;

/// What the repeats say.
pub struct Estimated {
    fitted: Fitted,
    /// The costs' intervals \[us\] in their order: the repeats are drawn again, some of them twice and some not at all,
    /// and 95 % of what follows lies between.
    intervals: Vec<Range>,
    /// Each load's least and greatest.
    loads: Vec<String>,
    repeats: usize,
}

impl Estimated {
    /// Of whole repeats: what disturbs one load of a repeat often disturbs its others.
    ///
    /// # Errors
    /// Which load was not measured.
    pub fn of(repeats: &[Vec<Measured>]) -> Result<Estimated> {
        let all = repeats.concat();
        let fitted = Fitted::of(&all)?;
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); fitted.0.len()];
        for _ in 0..DRAWS {
            let again = repeats.iter().flat_map(|_| repeats[random.random_range(0..repeats.len())].clone());
            let costs = Fitted::of(&again.collect::<Vec<_>>())?.0;
            drawn.iter_mut().zip(costs).for_each(|(values, cost)| values.push(cost.us));
        }
        let interval = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            let beyond = (values.len() as f64 * BEYOND) as usize;
            Range { least: values[beyond], most: values[values.len() - 1 - beyond] }
        };
        let scenes = LOADS.into_iter().flat_map(|load| SCHEDULERS.map(|scheduler| (load, scheduler)));
        let mut loads = Vec::new();
        for (load, scheduler) in scenes.chain(CALLS.into_iter().map(|load| (load, "none"))) {
            let Range { least, most } = range(&all, &load, scheduler, Measured::total)?;
            loads.push(format!("{scheduler}, {}: {least:.2} (to {most:.2})", load.name));
        }
        let intervals = drawn.into_iter().map(interval).collect();
        Ok(Estimated { fitted, intervals, loads, repeats: repeats.len() })
    }

    /// Costs that were measured without confidence: their interval is wider than a fifth of them, and than 0.25 us.
    pub fn wide(&self) -> Vec<String> {
        let costs = self.fitted.0.iter().zip(&self.intervals);
        let wide = costs.filter(|(cost, range)| range.most - range.least > WIDE.max(cost.us / 5.0));
        wide.map(|(Cost { table, key, us, .. }, Range { least, most })| {
            format!("[{table}] {key}: {us:.2} us, between {least:.2} and {most:.2} us if the repeats are drawn again")
        })
        .collect()
    }

    /// The TOML of a preset.
    pub fn preset(&self, machine: &Machine) -> String {
        let (Machine { model, cpus, release }, repeats) = (machine, self.repeats);
        let kernel: Vec<&str> = release.split(['.', '-']).take(2).collect();
        let mut text = format!(
            "# What an I/O costs the processors: made by `cargo xtask cpu-costs` on Linux {release}.\n\
             # fio's random reads of 4 KiB on a loop device over a file in memory (libaio, unless another is named);\n\
             # processor time of fio and of the kernel's workers per I/O [us], the least of {repeats} repeats (it did\n\
             # other things), and the greatest:\n"
        );
        self.loads.iter().for_each(|load| writeln!(text, "#   {load}").expect("a string"));
        text += "# In brackets [us]: where 95 % of the costs lie if the repeats are drawn again, some of them twice.\n";
        writeln!(text, "description = \"{model}, {cpus} processors, Linux {release}\"").expect("a string");
        writeln!(text, "kernel = \"{}\"", kernel.join(".")).expect("a string");
        let mut last = "";
        for (Cost { table, key, us, source }, Range { least, most }) in self.fitted.0.iter().zip(&self.intervals) {
            if *table != last {
                writeln!(text, "\n[{table}]").expect("a string");
                last = table;
            }
            let why = match source {
                Source::Measured(how) => format!("MEASURED ({least:.2} to {most:.2}): {how}"),
                Source::Assumed(why) => format!("FIT: {why}"),
            };
            line(&mut text, &format!("{key} = \"{:.0}ns\"", us * 1e3), &why);
            if SCHEDULERS.contains(table) && *key == "complete" {
                let scope = if *table == "kyber" { "hardware-queue" } else { "disk" };
                line(&mut text, &format!("lock = \"{scope}\""), "READ: docs/behaviour/blk-mq-6.x.md, D3");
            }
        }
        text
    }
}

/// A line of a preset.
fn line(text: &mut String, value: &str, why: &str) {
    writeln!(text, "{value:24} # {why}").expect("a string");
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

    /// All loads once, each cost as fitted times `factor`.
    fn repeat(factor: f64) -> Vec<Measured> {
        let scenes = LOADS.into_iter().flat_map(|load| SCHEDULERS.map(|scheduler| measured(load, scheduler)));
        let scenes = scenes.chain(CALLS.into_iter().map(|load| measured(load, "none")));
        scenes.map(|one| Measured { process: one.process * factor, workers: one.workers * factor, ..one }).collect()
    }

    #[test]
    fn costs_are_found_again() {
        let estimated = Estimated::of(&[repeat(1.0), repeat(1.7), repeat(1.0)]).unwrap();
        let us = |table: &str, key: &str| {
            let cost = estimated.fitted.0.iter().find(|cost| (cost.table, cost.key) == (table, key));
            (cost.unwrap().us * 1e6).round() / 1e6
        };
        assert_eq!((us("process", "switch"), us("process", "submit"), us("process", "reap")), (2.0, 3.0, 1.0));
        assert_eq!((us("worker", "run"), us("bfq", "submit"), us("bfq", "complete")), (1.5, 1.7, 0.3));
        assert_eq!((us("io_uring", "submit"), us("io_uring", "registerfiles")), (3.0, 0.5));
        assert_eq!((us("psync", "submit"), us("io_uring", "fixedbufs"), us("lock", "handover")), (3.0, 0.0, 0.1));
        let preset = estimated.preset(&Machine { model: "X".to_owned(), cpus: 2, release: "6.18.44-x".to_owned() });
        assert!(preset.contains("kernel = \"6.18\"") && preset.contains("submit = \"3000ns\""), "{preset}");
        assert!(toml::from_str::<toml::Table>(&preset).is_ok(), "{preset}");
    }

    #[test]
    fn a_least_that_was_reached_once_is_no_measurement() {
        // Of the draws of seven repeats, a third have not the only quiet one, and one in 370 has none of four, which is
        // less than what is left out at an end of an interval.
        let quiet = |count: usize| -> Vec<Vec<Measured>> {
            (0..7).map(|nth| repeat(if nth < count { 1.0 } else { 1.5 })).collect()
        };
        let wide = |repeats: &[Vec<Measured>]| Estimated::of(repeats).unwrap().wide();
        assert_eq!(wide(&quiet(4)), Vec::<String>::new());
        let once = wide(&quiet(1));
        assert!(
            once.iter().any(|line| line.starts_with("[process] switch: 2.00 us, between 2.00 and 3.00 us")),
            "{once:?}"
        );
        // What is known to a quarter of a microsecond is known.
        assert!(!once.iter().any(|line| line.contains("registerfiles")), "{once:?}");
        assert_eq!(wide(&[repeat(1.0)]), Vec::<String>::new(), "one repeat has no interval: the command wants five");
    }

    #[test]
    fn what_was_not_measured_is_named() {
        let error = Estimated::of(&[vec![measured(ONE, "none")]]).err().unwrap().to_string();
        assert!(error.contains("none, 32 deep: not measured"), "{error}");
    }
}
