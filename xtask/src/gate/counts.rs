//! The counts, by table and case, and their form in `xtask/gate.toml`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::ACCEPTED;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// Instructions per repetition, or of a whole run.
    Instructions,
    /// Mispredicted branches per repetition, or of a whole run.
    Mispredicted,
    /// Bytes on the heap, for each of something.
    Bytes,
}

impl Table {
    const ALL: [Table; 3] = [Table::Instructions, Table::Mispredicted, Table::Bytes];

    pub fn name(self) -> &'static str {
        match self {
            Table::Instructions => "instructions",
            Table::Mispredicted => "mispredicted",
            Table::Bytes => "bytes",
        }
    }

    /// The greatest count that passes. Where mispredictions are rare, one in four repetitions is tolerated.
    pub fn most(self, accepted: f64, tolerance_percent: f64) -> f64 {
        let slack = if self == Table::Mispredicted { 0.25 } else { 0.0 };
        accepted * (1.0 + tolerance_percent / 100.0) + slack
    }
}

/// Counts by table and case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts(BTreeMap<Table, BTreeMap<String, f64>>);

impl Counts {
    pub fn put(&mut self, table: Table, case: &str, count: f64) {
        self.0.entry(table).or_default().insert(case.to_owned(), count);
    }

    pub fn get(&self, table: Table, case: &str) -> Option<f64> {
        self.0.get(&table)?.get(case).copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn all(&self) -> impl Iterator<Item = (Table, &str, f64)> {
        self.0.iter().flat_map(|(&table, cases)| cases.iter().map(move |(case, &count)| (table, case.as_str(), count)))
    }
}

/// `xtask/gate.toml`
#[derive(Debug, Default, PartialEq)]
pub struct Accepted {
    /// The compiler and the machine's architecture: counts differ between them.
    pub compiler: String,
    pub counts: Counts,
}

impl Accepted {
    pub fn read(text: &str) -> Result<Accepted> {
        let file: toml::Table = text.parse().with_context(|| format!("reading {ACCEPTED}"))?;
        let compiler = file.get("compiler").and_then(toml::Value::as_str);
        let compiler = compiler.with_context(|| format!("{ACCEPTED}: no `compiler`"))?.to_owned();
        let mut counts = Counts::default();
        for table in Table::ALL {
            for (case, count) in file.get(table.name()).and_then(toml::Value::as_table).into_iter().flatten() {
                let no_number = || format!("{ACCEPTED}: `{case}` is not a number with a point");
                counts.put(table, case, count.as_float().with_context(no_number)?);
            }
        }
        Ok(Accepted { compiler, counts })
    }

    pub fn written(&self) -> String {
        let mut text = String::from(
            "# Instructions, mispredicted branches and bytes, written by `cargo xtask bench --gate --bless`.\n\n",
        );
        text += &format!("compiler = \"{}\"\n", self.compiler);
        for table in Table::ALL {
            let cases = self.counts.0.get(&table).into_iter().flatten();
            let rows: String = cases.map(|(case, count)| format!("\"{case}\" = {count:.1}\n")).collect();
            if !rows.is_empty() {
                text += &format!("\n[{}]\n{rows}", table.name());
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let mut counts = Counts::default();
        counts.put(Table::Instructions, "deadline 128", 512.5);
        counts.put(Table::Mispredicted, "deadline 128", 11.6);
        counts.put(Table::Bytes, "a queued request", 160.0);
        let accepted = Accepted { compiler: "1.95.0 x86_64".to_owned(), counts };
        assert_eq!(Accepted::read(&accepted.written()).unwrap(), accepted);
        assert_eq!(Accepted::read("compiler = \"x\"\n").unwrap().counts, Counts::default());
        assert!(Accepted::read("compiler = \"x\"\n[bytes]\na = \"b\"\n").is_err());
        assert!(Accepted::read("[bytes]\na = 1.0\n").is_err());
    }

    #[test]
    fn a_quarter_of_a_misprediction_is_no_news() {
        assert_eq!(Table::Mispredicted.most(0.0, 5.0), 0.25);
        assert_eq!(Table::Bytes.most(100.0, 5.0), 105.0);
    }
}
