//! `bench`: times for people, by criterion, as one table; `bench --gate` counts instructions ([`xtask::gate`]),
//! `--peers` compares with other programs ([`peers`]), `--scale` measures large sizes ([`scale`]).

mod cost;
pub mod peers;
pub mod scale;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::Verdict;
use crate::shell;
use xtask::gate::{self, list};

/// One benchmark's result.
struct Timing {
    name: String,
    /// The mean of nanoseconds per round, and its standard error.
    mean_ns: f64,
    error_ns: f64,
    /// The elements per round, if the benchmark gives them.
    elements: Option<f64>,
}

/// # Errors
/// If there is no benchmark, one fails, or criterion's files cannot be read.
pub fn run() -> Result<Verdict> {
    let begun = SystemTime::now();
    let benches = targets()?;
    let benches: Vec<_> = benches.iter().filter(|bench| bench.as_str() != gate::TARGET).collect();
    if benches.is_empty() {
        bail!("no package of the workspace has a benchmark");
    }
    let mut arguments = vec!["bench", "--workspace"];
    arguments.extend(benches.iter().flat_map(|bench| ["--bench", bench.as_str()]));
    shell::attached(shell::cargo(&arguments))?;
    let mut timings = Vec::new();
    collect(&shell::target().join("criterion"), begun, &mut timings)?;
    timings.sort_by(|a, b| a.name.cmp(&b.name));
    println!("\n{}", table(&timings));
    Ok(Verdict::Good)
}

/// Names of the workspace's benchmarks.
///
/// # Errors
/// If cargo does not list them.
pub fn targets() -> Result<Vec<String>> {
    let finished = shell::cargo(&["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let metadata: Value = serde_json::from_slice(&finished.stdout).context("reading cargo metadata")?;
    Ok(benches(&metadata))
}

fn benches(metadata: &Value) -> Vec<String> {
    let targets = list(metadata, "packages").flat_map(|package| list(package, "targets"));
    let benches = targets.filter(|target| list(target, "kind").any(|kind| kind == "bench"));
    benches.filter_map(|target| Some(target["name"].as_str()?.to_owned())).collect()
}

/// Every `new/estimates.json` written since `begun`, at or below `folder`.
fn collect(folder: &Path, begun: SystemTime, timings: &mut Vec<Timing>) -> Result<()> {
    let estimates = folder.join("new/estimates.json");
    if estimates.metadata().and_then(|file| file.modified()).is_ok_and(|written| written >= begun) {
        let benchmark = read(folder.join("new/benchmark.json"))?;
        timings.push(timing(&benchmark, &read(estimates)?).with_context(|| format!("in {}", folder.display()))?);
    }
    for entry in fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, begun, timings)?;
        }
    }
    Ok(())
}

fn read(path: PathBuf) -> Result<Value> {
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("reading {}", path.display()))
}

fn timing(benchmark: &Value, estimates: &Value) -> Result<Timing> {
    let name = benchmark["full_id"].as_str().context("no full_id")?.to_owned();
    let mean = &estimates["mean"];
    let mean_ns = mean["point_estimate"].as_f64().context("no mean")?;
    let error_ns = mean["standard_error"].as_f64().context("no standard error")?;
    Ok(Timing { name, mean_ns, error_ns, elements: benchmark["throughput"]["Elements"].as_f64() })
}

fn table(timings: &[Timing]) -> String {
    let width = timings.iter().map(|timing| timing.name.chars().count()).max().unwrap_or(0).max(9);
    let mut text =
        format!("{:<width$} {:>14} {:>8} {:>14} {:>14}", "benchmark", "ns", "± ns", "ns/element", "elements/s");
    for Timing { name, mean_ns, error_ns, elements } in timings {
        text += &format!("\n{name:<width$} {mean_ns:>14.1} {error_ns:>8.1}");
        if let Some(elements) = elements {
            text += &format!(" {:>14.2} {:>14.0}", mean_ns / elements, elements * 1e9 / mean_ns);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn benchmarks_are_found_in_cargos_metadata() {
        let target = |kind: &str, name: &str| json!({"kind": [kind], "name": name});
        let metadata = json!({"packages": [
            {"targets": [target("lib", "a"), target("bench", "one")]},
            {"targets": [target("bench", "two"), target("example", "b")]},
        ]});
        assert_eq!(benches(&metadata), ["one", "two"]);
    }

    #[test]
    fn a_benchmark_that_counts_elements_is_told_per_element() {
        let benchmark = json!({"full_id": "deadline/128", "throughput": {"Elements": 100}});
        let estimates = json!({"mean": {"point_estimate": 5000.0, "standard_error": 12.5}});
        let table = table(&[timing(&benchmark, &estimates).unwrap()]);
        let row: Vec<_> = table.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(row, ["deadline/128", "5000.0", "12.5", "50.00", "20000000"]);
    }

    #[test]
    fn estimates_without_a_mean_are_an_error() {
        assert!(timing(&json!({"full_id": "a"}), &json!({})).is_err());
    }
}
