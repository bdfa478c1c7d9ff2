//! Densities of points: the picture of a run that has too many points to be drawn, or stored, one by one.

use serde_json::{Value, json};

use crate::columns::Columns;

/// Columns and rows of a density.
pub const COLUMNS: usize = 2048;
/// Rows.
pub const ROWS: usize = 128;

/// Points counted by cell, and the process to which most of each cell belongs.
#[derive(Clone, Debug)]
pub struct Density {
    counts: Vec<u32>,
    /// A cell's process so far, and by how much it leads (Boyer and Moore's vote: correct if one has the majority).
    leads: Vec<(u32, u32)>,
}

impl Density {
    /// An empty density.
    pub fn new() -> Density {
        Density { counts: vec![0; COLUMNS * ROWS], leads: vec![(0, 0); COLUMNS * ROWS] }
    }

    /// Adds a point of `process` at these parts of width and height (0 to 1).
    pub fn add(&mut self, x: f64, y: f64, process: u32) {
        let place = |part: f64, of: usize| ((part * of as f64) as usize).min(of - 1);
        let cell = place(y, ROWS) * COLUMNS + place(x, COLUMNS);
        self.counts[cell] += 1;
        let (leader, by) = &mut self.leads[cell];
        match *leader == process {
            true => *by += 1,
            false if *by == 0 => (*leader, *by) = (process, 1),
            false => *by -= 1,
        }
    }

    /// The data for the page.
    pub fn pack(&self, columns: &mut Columns) -> Value {
        json!({
            "columns": COLUMNS,
            "rows": ROWS,
            "counts": columns.plain(self.counts.iter().map(|&count| u64::from(count))),
            "process": columns.plain(self.leads.iter().map(|&(process, _)| u64::from(process))),
        })
    }
}

impl Default for Density {
    fn default() -> Density {
        Density::new()
    }
}

/// Latencies have a logarithmic axis from 100 ns to 1000 s.
pub const LATENCY_FROM: f64 = 1e2;
/// Its end \[ns\].
pub const LATENCY_TO: f64 = 1e12;

/// A latency's position on that axis.
pub fn latency_part(ns: u64) -> f64 {
    let log = (ns as f64).clamp(LATENCY_FROM, LATENCY_TO).log10();
    (log - LATENCY_FROM.log10()) / (LATENCY_TO.log10() - LATENCY_FROM.log10())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_counts_its_points_and_knows_who_has_most_of_them() {
        let mut density = Density::new();
        for process in [3, 1, 3, 2, 3] {
            density.add(0.0, 1.0, process);
        }
        density.add(1.0, 0.0, 7);
        let cell = (ROWS - 1) * COLUMNS;
        assert_eq!((density.counts[cell], density.leads[cell].0), (5, 3));
        assert_eq!((density.counts[COLUMNS - 1], density.leads[COLUMNS - 1].0), (1, 7));
        assert_eq!(density.counts.iter().sum::<u32>(), 6);
    }

    #[test]
    fn ten_decades_of_latency_have_ten_equal_parts() {
        assert!((latency_part(100) - 0.0).abs() < 1e-9 && (latency_part(1_000) - 0.1).abs() < 1e-9);
        assert!((latency_part(0) - 0.0).abs() < 1e-9 && (latency_part(u64::MAX) - 1.0).abs() < 1e-9);
    }
}
