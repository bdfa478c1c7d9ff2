//! Instruction counts: machines are noisy, instructions are not. Beside them mispredicted branches, by cachegrind's
//! model, and bytes, by massif.
//!
//! The benchmarks named `gate` (no harness) are small programs. `gate --list` prints the names of its cases, one a
//! line; `gate CASE N` does that case N times. We count a run's instructions under valgrind for N and for 2 N: the
//! difference divided by N is the cost of one iteration, without start and set-up. Without such arguments it does
//! nothing. `gate --heaps` names the objects whose heap is measured (`heaps`). In addition, a whole `blksched list`
//! is counted, as a measure of start-up.
//!
//! `xtask/gate.toml` holds the counts that were accepted, with the compiler they hold for; `--bless` renews it.
//!
//! Counts do not depend on the machine's other work, so the usual tests count a [chosen](Cases::Chosen) dozen of the
//! cases, which takes a fraction of the time, and the slow ones all of them.

mod counts;
mod heaps;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::Verdict;
use crate::shell;
use counts::{Accepted, Counts, Table};

/// The name of the benchmarks that are counted.
pub const TARGET: &str = "gate";
const ACCEPTED: &str = "xtask/gate.toml";
/// The name of the case that is a whole run of the command line.
const START: &str = "start/list";
/// The repetitions of the shorter run. What is left of start-up's variation after the division is far below the
/// tolerance.
const TIMES: u64 = 2_000;
/// How much more than accepted a case may cost [%].
const TOLERANCE_PERCENT: f64 = 5.0;

/// What to do with the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Compare them with the accepted ones.
    Compare,
    /// Accept them.
    Renew,
}

/// Which cases are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cases {
    /// All, including heaps and start-up.
    All,
    /// One for each part that a change can make more expensive.
    Chosen,
}

/// The usual tests' cases: an elevator of each kind, the merging of bios, the world, traces and a comparison.
const CHOSEN: [&str; 12] = [
    "noop@2.6.33/random/128",
    "deadline@4.20/random/128",
    "mq-deadline/random/128",
    "mq-deadline/sequential/128",
    "kyber/random/128",
    "cfq@4.20/random/4096",
    "bfq/random/4096",
    "world/one/bare/32",
    "world/ncq32/kept/32",
    "sweep/ms",
    "trace/info",
    "trace/recording",
];

impl Cases {
    fn has(self, case: &str) -> bool {
        self == Cases::All || CHOSEN.contains(&case)
    }
}

/// Counts by case, and the accepted counts.
pub struct Gate {
    cases: Cases,
    counted: Counts,
    accepted: Accepted,
    compiler: String,
}

/// # Errors
/// If there is no such benchmark, it does not run, or valgrind does not.
pub fn run(baseline: Baseline) -> Result<Verdict> {
    if !is_possible() {
        println!("skipped: {WITHOUT}");
        return Ok(Verdict::Good);
    }
    let gate = measure(Cases::All)?;
    println!("{gate}");
    if baseline == Baseline::Compare {
        return Ok(gate.verdict());
    }
    let accepted = Accepted { compiler: gate.compiler, counts: gate.counted };
    fs::write(shell::root().join(ACCEPTED), accepted.written()).with_context(|| format!("writing {ACCEPTED}"))?;
    println!("{ACCEPTED} written");
    Ok(Verdict::Good)
}

/// Why nothing can be counted without it.
pub const WITHOUT: &str = "valgrind is not installed (Debian package valgrind)";

/// Whether anything can be counted here.
pub fn is_possible() -> bool {
    shell::find_program("valgrind").is_some()
}

/// Builds, counts, and reads the accepted counts.
///
/// # Errors
/// As [`run`].
pub fn measure(cases: Cases) -> Result<Gate> {
    let mut counted = Counts::default();
    for program in programs()? {
        let chosen: Vec<String> = named(&program)?.into_iter().filter(|case| cases.has(case)).collect();
        for (case, [once, twice]) in chosen.iter().zip(side_by_side(&program, &chosen)?) {
            let one = |once: u64, twice: u64| (twice as f64 - once as f64) / TIMES as f64;
            counted.put(Table::Instructions, case, one(once.instructions, twice.instructions));
            counted.put(Table::Mispredicted, case, one(once.mispredicted, twice.mispredicted));
        }
        if cases == Cases::All {
            heaps::weigh(&program, &mut counted)?;
        }
    }
    if counted.is_empty() {
        bail!("no benchmark called `{TARGET}` has a case");
    }
    if cases == Cases::All {
        let start = Run::of(&command_line()?, &["list"])?;
        counted.put(Table::Instructions, START, start.instructions as f64);
    }
    let file = shell::root().join(ACCEPTED);
    let accepted = if file.is_file() { Accepted::read(&fs::read_to_string(file)?)? } else { Accepted::default() };
    Ok(Gate { cases, counted, accepted, compiler: compiler()? })
}

/// A short and a long run of each case, on all processors: counts do not depend on what else runs.
fn side_by_side(program: &Path, cases: &[String]) -> Result<Vec<[Run; 2]>> {
    let next = AtomicUsize::new(0);
    let both = |case: &String| {
        let times = |times: u64| Run::of(program, &[case, &times.to_string()]);
        Ok([times(TIMES)?, times(2 * TIMES)?])
    };
    let work = || {
        let take = || {
            let at = next.fetch_add(1, Ordering::Relaxed);
            Some((at, both(cases.get(at)?)))
        };
        std::iter::from_fn(take).collect::<Vec<_>>()
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<(usize, Result<[Run; 2]>)> = thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        running.into_iter().flat_map(|worker| worker.join().expect("it does not panic")).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, runs)| runs).collect()
}

/// Builds the benchmark with this case.
///
/// # Errors
/// If none has it, or they do not build.
pub fn program_of(case: &str) -> Result<PathBuf> {
    for program in programs()? {
        if named(&program)?.iter().any(|name| name == case) {
            return Ok(program);
        }
    }
    bail!("no benchmark called `{TARGET}` has the case {case}")
}

/// Builds the benchmarks.
fn programs() -> Result<Vec<PathBuf>> {
    let build = ["bench", "--quiet", "--workspace", "--bench", TARGET, "--no-run", "--message-format", "json"];
    let built = shell::cargo(&build).output().context("starting cargo")?;
    if !built.status.success() {
        bail!("building the benchmark `{TARGET}`:\n{}", String::from_utf8_lossy(&built.stderr));
    }
    let messages =
        String::from_utf8_lossy(&built.stdout).lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    let ours =
        messages.iter().filter(|m| m["target"]["name"] == TARGET && list(&m["target"], "kind").any(|k| k == "bench"));
    Ok(ours.filter_map(|message| Some(PathBuf::from(message["executable"].as_str()?))).collect())
}

/// Builds the command line.
///
/// # Errors
/// If it does not build.
pub fn command_line() -> Result<PathBuf> {
    let build = ["build", "--quiet", "--release", "--package", "blksched-cli", "--bin", "blksched"];
    let built = shell::cargo(&build).output().context("starting cargo")?;
    if !built.status.success() {
        bail!("building the command line:\n{}", String::from_utf8_lossy(&built.stderr));
    }
    Ok(shell::target().join("release").join("blksched"))
}

/// The members of an array; none if it is none.
pub fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

fn named(program: &Path) -> Result<Vec<String>> {
    let finished = shell::capture(shell::command(program, &["--list"]))?;
    if !finished.good {
        bail!("{} --list failed:\n{}", program.display(), finished.output);
    }
    Ok(finished.output.lines().map(str::to_owned).collect())
}

/// The counts of a whole run of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    instructions: u64,
    mispredicted: u64,
}

impl Run {
    fn of(program: &Path, arguments: &[&str]) -> Result<Run> {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=cachegrind", "--cache-sim=no", "--branch-sim=yes", "--cachegrind-out-file=/dev/null"]);
        valgrind.arg(program).args(arguments);
        let shown = arguments.join(" ");
        let finished = shell::capture(valgrind)?;
        if !finished.good {
            bail!("{shown} failed under valgrind:\n{}", finished.output);
        }
        Run::read(&finished.output).with_context(|| format!("no count in what valgrind says of {shown}"))
    }

    /// Parses the lines `==123== I refs: 1,234,567` and `==123== Mispredicts: 1,234 (1,000 cond + 234 ind)`.
    fn read(output: &str) -> Option<Run> {
        let count = |is_so: fn(&str) -> bool| {
            let line = output.lines().find(|line| line.starts_with("==") && is_so(line))?;
            line.rsplit(':').next()?.split_whitespace().next()?.replace(',', "").parse().ok()
        };
        let instructions = count(|line| line.contains(" I ") && line.contains("refs:"))?;
        Some(Run { instructions, mispredicted: count(|line| line.contains("Mispredicts:"))? })
    }
}

/// `1.95.0 x86_64`
fn compiler() -> Result<String> {
    let rustc = shell::capture(shell::command("rustc", &["--version"]))?;
    let version = rustc.output.split(' ').nth(1).context("rustc does not tell its version")?;
    Ok(format!("{} {}", version.trim(), std::env::consts::ARCH))
}

impl Gate {
    /// Bad if a case costs more than accepted, is gone, or its instructions were never accepted; another compiler's
    /// counts are reported but not judged. Of the chosen cases only instructions are judged: mispredicted branches vary
    /// by one or two with the placement of code, which any change elsewhere may affect.
    pub fn verdict(&self) -> Verdict {
        let accepted = &self.accepted.counts;
        let fits = |(table, case, count): (Table, &str, f64)| match accepted.get(table, case) {
            Some(_) if self.cases == Cases::Chosen && table != Table::Instructions => true,
            Some(most) => count <= table.most(most, TOLERANCE_PERCENT),
            None => table != Table::Instructions,
        };
        let gone = self.gone().next().is_some();
        Verdict::when(!self.is_judged() || (self.counted.all().all(fits) && !gone))
    }

    /// Accepted cases that should have been counted but no longer exist.
    fn gone(&self) -> impl Iterator<Item = (Table, &str)> {
        let all = self.accepted.counts.all().filter(|(table, case, _)| match self.cases {
            Cases::All => true,
            Cases::Chosen => *table != Table::Bytes && CHOSEN.contains(case),
        });
        all.filter(|&(table, case, _)| self.counted.get(table, case).is_none()).map(|(table, case, _)| (table, case))
    }

    /// How many cases cost more than accepted, are gone or new, and how far the worst is above; in one line.
    pub fn in_short(&self) -> String {
        let changes = self.counted.all().filter_map(|(table, case, count)| {
            let accepted = self.accepted.counts.get(table, case).filter(|_| table == Table::Instructions)?;
            Some(((count / accepted - 1.0) * 100.0, case))
        });
        let count = self.counted.all().filter(|(table, ..)| *table == Table::Instructions).count();
        let worst = changes.max_by(|one, other| one.0.total_cmp(&other.0));
        let worst = worst.map_or(String::new(), |(change, case)| format!(", at most {change:+.1} % ({case})"));
        let judged = if self.is_judged() { "" } else { "; another compiler's, so not judged" };
        format!("{count} cases counted{worst}{judged}")
    }

    fn is_judged(&self) -> bool {
        self.accepted.counts.is_empty() || self.accepted.compiler == self.compiler
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.counted.all().map(|(_, case, _)| case.chars().count()).max().unwrap_or(0).max(4);
        let accepted = &self.accepted.counts;
        let mut shown = None;
        for (table, case, count) in self.counted.all() {
            if shown != Some(table) {
                let gap = if shown.is_some() { "\n\n" } else { "" };
                write!(f, "{gap}{:<width$} {:>12} {:>12} {:>8}", "case", table.name(), "accepted", "change")?;
                shown = Some(table);
            }
            write!(f, "\n{case:<width$} {count:>12.1}")?;
            match accepted.get(table, case) {
                Some(most) => write!(f, " {most:>12.1} {:>+7.1}%", (count / most - 1.0) * 100.0)?,
                None => write!(f, " {:>12}", "none")?,
            }
        }
        for (table, case) in self.gone() {
            write!(f, "\n{case:<width$} {:>12} ({})", "gone", table.name())?;
        }
        if !self.is_judged() {
            write!(f, "\nnot judged: accepted with {}, counted with {}", self.accepted.compiler, self.compiler)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(counted: &[(&str, f64)], accepted: &[(&str, f64)], compiler: &str) -> Gate {
        let counts = |cases: &[(&str, f64)]| {
            let mut counts = Counts::default();
            cases.iter().for_each(|&(case, count)| counts.put(Table::Instructions, case, count));
            counts
        };
        let accepted = Accepted { compiler: "1.95.0 x86_64".to_owned(), counts: counts(accepted) };
        Gate { cases: Cases::All, counted: counts(counted), accepted, compiler: compiler.to_owned() }
    }

    #[test]
    fn the_usual_tests_miss_no_case_but_their_own() {
        let chosen = CHOSEN.map(|case| (case, 100.0));
        let accepted = [&chosen[..], &[("another", 1.0)]].concat();
        let of = |counted: &[(&str, f64)]| Gate { cases: Cases::Chosen, ..gate(counted, &accepted, "1.95.0 x86_64") };
        assert_eq!(of(&chosen).verdict(), Verdict::Good);
        assert_eq!(of(&chosen[1..]).verdict(), Verdict::Bad);
        let mut missed = of(&chosen);
        for (counts, mispredicted) in [(&mut missed.counted, 9.0), (&mut missed.accepted.counts, 1.0)] {
            counts.put(Table::Mispredicted, CHOSEN[0], mispredicted);
        }
        missed.counted.put(Table::Instructions, "another", 1.0);
        assert_eq!(missed.verdict(), Verdict::Good);
        assert_eq!(Gate { cases: Cases::All, ..missed }.verdict(), Verdict::Bad);
        let dearer = [&chosen[1..], &[(CHOSEN[0], 106.0)]].concat();
        assert_eq!(of(&dearer).verdict(), Verdict::Bad);
        assert_eq!(of(&dearer).in_short(), "12 cases counted, at most +6.0 % (noop@2.6.33/random/128)");
        assert_eq!(Gate { cases: Cases::All, ..of(&chosen) }.verdict(), Verdict::Bad);
    }

    #[test]
    fn every_chosen_case_was_accepted() {
        let accepted = Accepted::read(&fs::read_to_string(shell::root().join(ACCEPTED)).unwrap()).unwrap();
        for case in CHOSEN {
            assert!(accepted.counts.get(Table::Instructions, case).is_some(), "{case}");
        }
    }

    #[test]
    fn a_case_that_costs_more_than_accepted_is_bad() {
        let verdict = |count| gate(&[("a", count)], &[("a", 100.0)], "1.95.0 x86_64").verdict();
        assert_eq!(verdict(50.0), Verdict::Good);
        assert_eq!(verdict(104.9), Verdict::Good);
        assert_eq!(verdict(105.2), Verdict::Bad);
    }

    #[test]
    fn a_new_case_and_one_that_is_gone_are_bad() {
        assert_eq!(gate(&[("a", 1.0), ("b", 1.0)], &[("a", 1.0)], "1.95.0 x86_64").verdict(), Verdict::Bad);
        assert_eq!(gate(&[("a", 1.0)], &[("a", 1.0), ("b", 1.0)], "1.95.0 x86_64").verdict(), Verdict::Bad);
        assert_eq!(gate(&[("a", 1.0)], &[], "1.95.0 x86_64").verdict(), Verdict::Bad);
    }

    #[test]
    fn counts_of_another_compiler_are_told_and_not_judged() {
        let gate = gate(&[("a", 200.0)], &[("a", 100.0)], "1.96.0 x86_64");
        assert_eq!(gate.verdict(), Verdict::Good);
        assert!(gate.to_string().contains("+100.0%") && gate.to_string().contains("not judged"), "{gate}");
    }

    #[test]
    fn valgrinds_counts_are_read_in_the_form_of_old_and_new() {
        let run = |instructions, mispredicted| Some(Run { instructions, mispredicted });
        let old = "==1== \n==12== I   refs:      1,234,567\n==1== Mispredicts:    2,345  (2,000 cond + 345 ind)\n";
        assert_eq!(Run::read(old), run(1_234_567, 2_345));
        assert_eq!(Run::read("==12== I refs:        170\n==12== Mispredicts:  3\n"), run(170, 3));
        assert_eq!(Run::read("==12== D refs:        170\n==12== Mispredicts:  3\n"), None);
    }
}
