//! The heap use of one object of each kind.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::counts::{Counts, Table};
use crate::shell;

/// Measures the cases of `gate --heaps`: each line has the name of one thing, and twice a case and how many things it
/// has.
pub(super) fn weigh(program: &Path, counted: &mut Counts) -> Result<()> {
    let named = shell::capture(shell::command(program, &["--heaps"]))?;
    if !named.good {
        bail!("{} --heaps failed:\n{}", program.display(), named.output);
    }
    for line in named.output.lines() {
        let heap = Heap::read(line).with_context(|| format!("`{line}` names no heap"))?;
        let weights = [peak(program, heap.cases[0])?, peak(program, heap.cases[1])?];
        counted.put(Table::Bytes, heap.what, heap.each(weights));
    }
    Ok(())
}

#[derive(Debug, PartialEq)]
struct Heap<'a> {
    what: &'a str,
    cases: [&'a str; 2],
    numbers: [f64; 2],
}

impl Heap<'_> {
    fn read(line: &str) -> Option<Heap<'_>> {
        let parts: Vec<&str> = line.split('\t').collect();
        let [what, few, fewer, many, more] = parts[..] else { return None };
        Some(Heap { what, cases: [few, many], numbers: [fewer.parse().ok()?, more.parse().ok()?] })
    }

    fn each(&self, weights: [u64; 2]) -> f64 {
        (weights[1] as f64 - weights[0] as f64) / (self.numbers[1] - self.numbers[0])
    }
}

/// The peak heap size of a run of a case \[bytes\].
fn peak(program: &Path, case: &str) -> Result<u64> {
    let out = shell::target().join(format!("massif.{}", std::process::id()));
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=massif", "--depth=1", "--peak-inaccuracy=0.0"]);
    valgrind.arg(format!("--massif-out-file={}", out.display())).arg(program).args([case, "1"]);
    let finished = shell::capture(valgrind)?;
    let text = fs::read_to_string(&out);
    let _ = fs::remove_file(&out);
    if !finished.good {
        bail!("{case} failed under valgrind:\n{}", finished.output);
    }
    let text = text.with_context(|| format!("reading {}", out.display()))?;
    greatest(&text).with_context(|| format!("massif tells nothing of {case}"))
}

/// Parses the lines `mem_heap_B=123456` of massif's snapshots.
fn greatest(massif: &str) -> Option<u64> {
    massif.lines().filter_map(|line| line.strip_prefix("mem_heap_B=")?.parse().ok()).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_of_all_snapshots_is_the_peak() {
        let massif = "snapshot=0\nmem_heap_B=0\nmem_heap_extra_B=9\nsnapshot=1\nmem_heap_B=512\nmem_heap_B=80\n";
        assert_eq!(greatest(massif), Some(512));
        assert_eq!(greatest("cmd: a\n"), None);
    }

    #[test]
    fn what_one_takes_is_the_difference() {
        let heap = Heap::read("a request\tfew/10\t10\tmany/50\t50").unwrap();
        assert_eq!((heap.cases, heap.each([1000, 5000])), (["few/10", "many/50"], 100.0));
        assert_eq!(Heap::read("a request\tfew/10\tten\tmany/50\t50"), None);
    }
}
