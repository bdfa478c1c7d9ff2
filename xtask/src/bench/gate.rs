//! Instruction counts: machines are noisy, instructions are not.
//!
//! The benchmarks named `gate` (no harness) are small programs. `gate --list` prints the names of its cases, one a
//! line; `gate CASE N` does that case N times. We count a run's instructions under valgrind for N and for 2 N: the
//! difference, by N, is what one time costs, without start and set-up. Without such arguments it does nothing.
//!
//! `xtask/gate.toml` holds the counts that were accepted, with the compiler they hold for; `--bless` renews it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::list;
use crate::Verdict;
use crate::shell;

/// The name of the benchmarks that are counted.
pub const TARGET: &str = "gate";
const ACCEPTED: &str = "xtask/gate.toml";
/// Times of the shorter run. What is left of start-up's variation after the division is far below the tolerance.
const TIMES: u64 = 2_000;
/// How much more than accepted a case may cost [%].
const TOLERANCE_PERCENT: f64 = 5.0;

/// What to do with what was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Compare it with what was accepted.
    Compare,
    /// Accept it.
    Renew,
}

/// Counts by case, and what was accepted.
pub struct Gate {
    counted: BTreeMap<String, f64>,
    accepted: Accepted,
    compiler: String,
}

/// `xtask/gate.toml`
#[derive(Debug, Default, PartialEq)]
struct Accepted {
    /// The compiler and the machine's kind: counts differ between them.
    compiler: String,
    /// Instructions a time.
    instructions: BTreeMap<String, f64>,
}

/// # Errors
/// If there is no such benchmark, it does not run, or valgrind does not.
pub fn run(baseline: Baseline) -> Result<Verdict> {
    if shell::find_program("valgrind").is_none() {
        println!("skipped: valgrind is not installed (Debian package valgrind)");
        return Ok(Verdict::Good);
    }
    let gate = measure()?;
    println!("{gate}");
    if baseline == Baseline::Compare {
        return Ok(gate.verdict());
    }
    let accepted = Accepted { compiler: gate.compiler, instructions: gate.counted };
    fs::write(shell::root().join(ACCEPTED), accepted.written()).with_context(|| format!("writing {ACCEPTED}"))?;
    println!("{ACCEPTED} written");
    Ok(Verdict::Good)
}

/// Build, count, and read what was accepted.
///
/// # Errors
/// As [`run`].
pub fn measure() -> Result<Gate> {
    let mut counted = BTreeMap::new();
    for program in programs()? {
        for case in cases(&program)? {
            let (once, twice) = (count(&program, &case, TIMES)?, count(&program, &case, 2 * TIMES)?);
            counted.insert(case, (twice as f64 - once as f64) / TIMES as f64);
        }
    }
    if counted.is_empty() {
        bail!("no benchmark called `{TARGET}` has a case");
    }
    let file = shell::root().join(ACCEPTED);
    let accepted = if file.is_file() { Accepted::read(&fs::read_to_string(file)?)? } else { Accepted::default() };
    Ok(Gate { counted, accepted, compiler: compiler()? })
}

/// The benchmarks, built.
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

fn cases(program: &Path) -> Result<Vec<String>> {
    let finished = shell::capture(shell::command(program, &["--list"]))?;
    if !finished.good {
        bail!("{} --list failed:\n{}", program.display(), finished.output);
    }
    Ok(finished.output.lines().map(str::to_owned).collect())
}

/// Instructions of a whole run.
fn count(program: &Path, case: &str, times: u64) -> Result<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    valgrind.arg(program).arg(case).arg(times.to_string());
    let finished = shell::capture(valgrind)?;
    if !finished.good {
        bail!("{case} failed under valgrind:\n{}", finished.output);
    }
    instructions(&finished.output).with_context(|| format!("no count in what valgrind says:\n{}", finished.output))
}

/// From the line `==123== I   refs:      1,234,567`.
fn instructions(output: &str) -> Option<u64> {
    let line = output.lines().find(|line| line.contains(" I ") && line.contains("refs:"))?;
    line.rsplit(':').next()?.trim().replace(',', "").parse().ok()
}

/// `1.95.0 x86_64`
fn compiler() -> Result<String> {
    let rustc = shell::capture(shell::command("rustc", &["--version"]))?;
    let version = rustc.output.split(' ').nth(1).context("rustc does not tell its version")?;
    Ok(format!("{} {}", version.trim(), std::env::consts::ARCH))
}

impl Accepted {
    fn read(text: &str) -> Result<Accepted> {
        let table: toml::Table = text.parse().with_context(|| format!("reading {ACCEPTED}"))?;
        let compiler = table.get("compiler").and_then(toml::Value::as_str);
        let counts = table.get("instructions").and_then(toml::Value::as_table);
        let mut instructions = BTreeMap::new();
        for (case, count) in counts.with_context(|| format!("{ACCEPTED}: no table `instructions`"))? {
            let count =
                count.as_float().with_context(|| format!("{ACCEPTED}: `{case}` is not a number with a point"))?;
            instructions.insert(case.clone(), count);
        }
        Ok(Accepted {
            compiler: compiler.with_context(|| format!("{ACCEPTED}: no `compiler`"))?.to_owned(),
            instructions,
        })
    }

    fn written(&self) -> String {
        let mut text = String::from("# Instructions a time, written by `cargo xtask bench --gate --bless`.\n\n");
        text += &format!("compiler = \"{}\"\n\n[instructions]\n", self.compiler);
        for (case, count) in &self.instructions {
            text += &format!("\"{case}\" = {count:.1}\n");
        }
        text
    }
}

impl Gate {
    /// Bad if a case costs more than was accepted, was never accepted, or is gone; another compiler's counts are told
    /// and not judged.
    pub fn verdict(&self) -> Verdict {
        let known =
            self.counted.iter().all(|(case, &count)| self.change(case, count).is_some_and(|c| c <= TOLERANCE_PERCENT));
        let gone = self.accepted.instructions.keys().any(|case| !self.counted.contains_key(case));
        Verdict::when(!self.is_judged() || (known && !gone))
    }

    fn is_judged(&self) -> bool {
        self.accepted.instructions.is_empty() || self.accepted.compiler == self.compiler
    }

    /// Change against what was accepted [%].
    fn change(&self, case: &str, count: f64) -> Option<f64> {
        self.accepted.instructions.get(case).map(|accepted| (count / accepted - 1.0) * 100.0)
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.counted.keys().map(|case| case.chars().count()).max().unwrap_or(0).max(4);
        write!(f, "{:<width$} {:>12} {:>12} {:>8}", "case", "instructions", "accepted", "change")?;
        for (case, &count) in &self.counted {
            write!(f, "\n{case:<width$} {count:>12.1}")?;
            match (self.accepted.instructions.get(case), self.change(case, count)) {
                (Some(accepted), Some(change)) => write!(f, " {accepted:>12.1} {change:>+7.1}%")?,
                _ => write!(f, " {:>12}", "none")?,
            }
        }
        for case in self.accepted.instructions.keys().filter(|case| !self.counted.contains_key(*case)) {
            write!(f, "\n{case:<width$} {:>12}", "gone")?;
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

    fn counts(counts: &[(&str, f64)]) -> BTreeMap<String, f64> {
        counts.iter().map(|(case, count)| ((*case).to_owned(), *count)).collect()
    }

    fn gate(counted: &[(&str, f64)], accepted: &[(&str, f64)], compiler: &str) -> Gate {
        let accepted = Accepted { compiler: "1.95.0 x86_64".to_owned(), instructions: counts(accepted) };
        Gate { counted: counts(counted), accepted, compiler: compiler.to_owned() }
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
    fn what_is_written_reads_back() {
        let accepted =
            Accepted { compiler: "1.95.0 x86_64".to_owned(), instructions: counts(&[("deadline 128", 512.5)]) };
        assert_eq!(Accepted::read(&accepted.written()).unwrap(), accepted);
        assert!(Accepted::read("compiler = \"x\"\n").is_err());
    }

    #[test]
    fn valgrinds_count_is_read_in_the_form_of_old_and_new() {
        assert_eq!(instructions("==1== \n==12== I   refs:      1,234,567\n"), Some(1_234_567));
        assert_eq!(instructions("==12== I refs:        170\n"), Some(170));
        assert_eq!(instructions("==12== D refs:        170\n"), None);
    }
}
