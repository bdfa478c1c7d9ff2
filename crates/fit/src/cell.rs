//! What was measured: loads, and their figures.

use std::fmt;

use blksched::Dir;
use blksched::author::PerDir;
use blksched_disks::Attached;

/// The direction of a load's I/Os, all at random places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoadPattern {
    /// `rw=randread`.
    Read,
    /// `rw=randwrite`.
    Write,
    /// `rw=randrw`, with this share of reads \[%\].
    Mixed(u32),
}

impl LoadPattern {
    /// fio's options for it.
    pub fn options(self) -> String {
        match self {
            LoadPattern::Read => "rw=randread".to_owned(),
            LoadPattern::Write => "rw=randwrite".to_owned(),
            LoadPattern::Mixed(reads) => format!("rw=randrw\nrwmixread={reads}"),
        }
    }
}

impl fmt::Display for LoadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadPattern::Read => f.write_str("randread"),
            LoadPattern::Write => f.write_str("randwrite"),
            LoadPattern::Mixed(reads) => write!(f, "randrw {reads} % reads"),
        }
    }
}

/// A closed loop of several processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GridLoad {
    /// Which I/Os.
    pub pattern: LoadPattern,
    /// The size of each \[bytes\].
    pub bytes: u32,
    /// `iodepth` of each process.
    pub depth: u32,
    /// `numjobs`.
    pub jobs: u32,
}

impl GridLoad {
    /// How many I/Os are in flight.
    pub fn in_flight(self) -> u32 {
        self.depth.saturating_mul(self.jobs)
    }
}

impl fmt::Display for GridLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}x{}", self.pattern, self.depth, self.jobs)
    }
}

/// The results of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellFigures {
    /// I/Os per second, of all processes.
    pub iops: f64,
    /// Percentiles of completion latency \[us\].
    pub p50_us: f64,
    /// The 99th.
    pub p99_us: f64,
    /// The 99.9th.
    pub p999_us: f64,
}

impl CellFigures {
    /// All four, in this order: rate, median, p99, p99.9.
    pub fn values(&self) -> [f64; 4] {
        [self.iops, self.p50_us, self.p99_us, self.p999_us]
    }

    /// The reverse.
    pub fn of(values: [f64; 4]) -> CellFigures {
        let [iops, p50_us, p99_us, p999_us] = values;
        CellFigures { iops, p50_us, p99_us, p999_us }
    }
}

/// One load's results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridCell {
    /// The load.
    pub load: GridLoad,
    /// Its reads' and writes' figures; `None` for a direction that it does not have.
    pub figures: PerDir<Option<CellFigures>>,
}

impl GridCell {
    /// Its directions with their figures.
    pub fn sides(&self) -> impl Iterator<Item = (Dir, CellFigures)> {
        Dir::BOTH.into_iter().filter_map(|dir| Some((dir, self.figures[dir]?)))
    }

    /// I/Os per second, of both directions.
    pub fn iops(&self) -> f64 {
        self.sides().map(|(_, figures)| figures.iops).sum()
    }
}

/// The results of one drive on one path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultGrid {
    /// The drive's name in the results.
    pub device: String,
    /// What it hung on.
    pub path: String,
    /// How the drive is attached; `None` if the results do not tell.
    pub attached: Option<Attached>,
    /// The cells, by load.
    pub cells: Vec<GridCell>,
    /// How many rows were left out, because they are not of random I/Os.
    pub left_out: usize,
}

impl ResultGrid {
    /// Both names.
    pub fn name(&self) -> String {
        if self.path.is_empty() { self.device.clone() } else { format!("{} on {}", self.device, self.path) }
    }

    /// The cell of this load.
    pub fn cell(&self, load: GridLoad) -> Option<&GridCell> {
        self.cells.iter().find(|cell| cell.load == load)
    }

    /// The sizes of its I/Os \[bytes\].
    pub fn sizes(&self) -> Vec<u32> {
        let mut sizes: Vec<u32> = self.cells.iter().map(|cell| cell.load.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Its kinds of load.
    pub fn patterns(&self) -> Vec<LoadPattern> {
        let mut patterns: Vec<LoadPattern> = self.cells.iter().map(|cell| cell.load.pattern).collect();
        patterns.sort_unstable();
        patterns.dedup();
        patterns
    }

    /// Adds one direction of a cell; false if it is there already.
    pub(crate) fn add(&mut self, load: GridLoad, dir: Dir, figures: CellFigures) -> bool {
        let known = self.cells.iter().position(|cell| cell.load == load);
        let at = known.unwrap_or_else(|| {
            self.cells.push(GridCell { load, figures: PerDir { read: None, write: None } });
            self.cells.len() - 1
        });
        let place = &mut self.cells[at].figures[dir];
        place.replace(figures).is_none()
    }
}
