//! Latency matrices: what random reads take beside a sequential writer, at pairs of rates.
//!
//! [diskplorer](https://github.com/scylladb/diskplorer) measures such a matrix: readers that come at random (Poisson,
//! 512 bytes, `iodepth=1000` each) beside a writer of 128 KiB at depth 32 with a `rate`. [`add_fio`] reads its result,
//! fio's JSON with jobs named `job(r_idx=1,w_idx=2,write_bw=80000000,r_iops=20000)`; [`add_table`] reads a table with
//! one row for each load and quantile. [`MatrixChoice::of`] takes at most eight loads, [`fit_matrix`] fits a drive to
//! them, and [`MatrixJudgement::of`] says how far it is off on the others.

mod drive;
mod judge;
mod run;
mod search;

use std::io::Read;

use blksched_disks::Attached;
use blksched_measure::Work;
use blksched_measure::fio_json::{FioResult, FioRow};
use blksched_text::did_you_mean;
use csv::{ReaderBuilder, StringRecord, Trim};

pub use drive::{FlashValues, MatrixDrive};
pub use judge::{MatrixBounds, MatrixJudgement, MatrixShares};
pub use run::{MatrixEffort, simulated_matrix};
pub use search::{FittedMatrix, MatrixChoice, fit_matrix};

/// A load: its place in the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MatrixPlace {
    /// The step of the read rate.
    pub reads: u32,
    /// The step of the write rate.
    pub writes: u32,
}

/// A quantile of the reads' latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixFigure {
    /// Microseconds.
    pub us: f64,
    /// The chart ends here: it was at least that.
    pub is_least: bool,
}

/// What was measured for a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixCell {
    /// Its place.
    pub place: MatrixPlace,
    /// Reads asked for \[1/s\]; 0 for ten, by one reader.
    pub read_iops: f64,
    /// Bytes written \[1/s\].
    pub write_rate: f64,
    /// Median and 95th percentile of the reads' completion latency.
    pub figures: [Option<MatrixFigure>; 2],
}

/// The names of the two figures.
pub const QUANTILES: [&str; 2] = ["p50", "p95"];

/// The results of one drive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyMatrix {
    /// The drive's name in the results.
    pub device: String,
    /// How it is attached; `None` if the results do not tell.
    pub attached: Option<Attached>,
    /// How many processes read.
    pub readers: u32,
    /// The size of a read \[bytes\].
    pub bytes: u32,
    /// The loads.
    pub cells: Vec<MatrixCell>,
}

/// diskplorer's readers, and the size of their reads.
const READERS: u32 = 3;
const BYTES: u32 = 512;

impl LatencyMatrix {
    /// An empty one, of the usual readers.
    pub fn new(device: &str) -> LatencyMatrix {
        LatencyMatrix { device: device.to_owned(), attached: None, readers: READERS, bytes: BYTES, cells: Vec::new() }
    }

    /// The cell at a place.
    pub fn cell(&self, place: MatrixPlace) -> Option<&MatrixCell> {
        self.cells.iter().find(|cell| cell.place == place)
    }

    /// The median of the slowest reads alone: those of the lowest rate \[us\].
    pub fn single_us(&self) -> Option<f64> {
        let alone = self.cells.iter().filter(|cell| cell.place.writes == 0 && cell.place.reads <= 1);
        alone.max_by_key(|cell| cell.place.reads).and_then(|cell| Some(cell.figures[0]?.us))
    }

    /// The highest steps of reads and of writes.
    pub fn steps(&self) -> (u32, u32) {
        let most = |of: fn(&MatrixCell) -> u32| self.cells.iter().map(of).max().unwrap_or(0);
        (most(|cell| cell.place.reads), most(|cell| cell.place.writes))
    }

    fn at(&mut self, place: MatrixPlace, read_iops: f64, write_rate: f64) -> &mut MatrixCell {
        let known = self.cells.iter().position(|cell| cell.place == place);
        let at = known.unwrap_or_else(|| {
            self.cells.push(MatrixCell { place, read_iops, write_rate, figures: [None; 2] });
            self.cells.len() - 1
        });
        &mut self.cells[at]
    }

    /// Marks figures at the chart's ceiling, which is [`CEILING`] times its smallest value.
    fn mark_ceiling(&mut self) {
        let all = || self.cells.iter().flat_map(|cell| cell.figures.into_iter().flatten());
        let Some(least) = all().map(|figure| figure.us).reduce(f64::min) else { return };
        for figure in self.cells.iter_mut().flat_map(|cell| cell.figures.iter_mut().flatten()) {
            figure.is_least = figure.us >= 0.995 * CEILING * least;
        }
    }
}

/// Charts end at so many times their smallest value.
const CEILING: f64 = 50.0;

/// The columns of a table.
pub const COLUMNS: [&str; 7] = ["device", "quantile", "r_idx", "w_idx", "read_iops", "write_bytes_per_s", "latency_ms"];

/// Adds the matrices of a table, whose columns are [`COLUMNS`] in any order; `name` is for messages.
///
/// # Errors
/// What is wrong, with line and column.
pub fn add_table(all: &mut Vec<LatencyMatrix>, name: &str, from: impl Read) -> Result<(), String> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(from);
    let header = reader.headers().map_err(|error| format!("{name}: {error}"))?.clone();
    for needed in COLUMNS {
        if !header.iter().any(|word| word == needed) {
            let nearest = did_you_mean(needed, header.iter());
            return Err(format!("{name}:1: no column `{needed}`: expected {}{nearest}", COLUMNS.join(", ")));
        }
    }
    for record in reader.records() {
        let record = record.map_err(|error| format!("{name}: {error}"))?;
        MatrixRow { name, header: &header, record: &record }.add_to(all)?;
    }
    if all.iter().all(|matrix| matrix.cells.is_empty()) {
        return Err(format!("{name}: no row"));
    }
    all.iter_mut().for_each(LatencyMatrix::mark_ceiling);
    Ok(())
}

/// One line.
struct MatrixRow<'a> {
    name: &'a str,
    header: &'a StringRecord,
    record: &'a StringRecord,
}

impl MatrixRow<'_> {
    fn text(&self, column: &str) -> &str {
        self.header.iter().position(|word| word == column).and_then(|at| self.record.get(at)).unwrap_or_default()
    }

    fn wrong(&self, column: &str, expected: &str) -> String {
        let line = self.record.position().map_or(0, csv::Position::line);
        let at = self.header.iter().position(|word| word == column).map_or(0, |at| at + 1);
        let text = self.text(column);
        format!("{}:{line}: column {at}: `{text}` is not a value of {column}: expected {expected}", self.name)
    }

    fn number(&self, column: &str) -> Result<f64, String> {
        let number = self.text(column).parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| self.wrong(column, "a number, 0 or more"))
    }

    fn step(&self, column: &str) -> Result<u32, String> {
        let number = self.text(column).parse().ok().filter(|number| *number <= 1_000);
        number.ok_or_else(|| self.wrong(column, "a whole number from 0 to 1000"))
    }

    fn add_to(&self, all: &mut Vec<LatencyMatrix>) -> Result<(), String> {
        let quantile = self.text("quantile");
        let Some(at) = QUANTILES.iter().position(|word| *word == quantile) else {
            return Err(self.wrong("quantile", "p50 or p95") + &did_you_mean(quantile, QUANTILES));
        };
        let place = MatrixPlace { reads: self.step("r_idx")?, writes: self.step("w_idx")? };
        let us = 1e3 * self.number("latency_ms")?;
        if us <= 0.0 {
            return Err(self.wrong("latency_ms", "a number above 0"));
        }
        let device = self.text("device");
        let known = all.iter().position(|matrix| matrix.device == device);
        let matrix = known.unwrap_or_else(|| {
            all.push(LatencyMatrix::new(device));
            all.len() - 1
        });
        let cell = all[matrix].at(place, self.number("read_iops")?, self.number("write_bytes_per_s")?);
        if cell.figures[at].replace(MatrixFigure { us, is_least: false }).is_some() {
            let MatrixPlace { reads, writes } = place;
            let line = self.record.position().map_or(0, csv::Position::line);
            return Err(format!(
                "{}:{line}: {quantile} of r_idx {reads}, w_idx {writes} is in an earlier row",
                self.name
            ));
        }
        Ok(())
    }
}

/// As many steps of a rate at most.
const MOST_STEPS: f64 = 1000.0;

/// Whether this is diskplorer's result: its jobs have their rates in their names.
pub fn is_matrix(result: &FioResult) -> bool {
    result.rows.iter().any(|row| rates(&row.job).is_some())
}

/// Adds a result of diskplorer's to a matrix; `name` is for messages.
///
/// # Errors
/// If a job's name or options are not diskplorer's, or it lacks a percentile.
pub fn add_fio(matrix: &mut LatencyMatrix, name: &str, result: &FioResult) -> Result<(), String> {
    for row in &result.rows {
        let Some([reads, writes, write_rate, read_iops]) = rates(&row.job) else {
            // What is named as diskplorer's loads are, and is none.
            if row.job.starts_with("job(") {
                return Err(format!("{name}: {}: expected job(r_idx=N,w_idx=N,write_bw=N,r_iops=N)", row.job));
            }
            continue;
        };
        // A writer that prepares something, or writes alone.
        let Some(side) = row.side(Work::Read) else { continue };
        if !row.job.starts_with("job(") {
            continue;
        }
        let is_step = |step: f64| step.fract() == 0.0 && (0.0..=MOST_STEPS).contains(&step);
        let is_rate = |rate: f64| rate.is_finite() && rate >= 0.0;
        if ![reads, writes].into_iter().all(is_step) || ![write_rate, read_iops].into_iter().all(is_rate) {
            let expected = format!("r_idx and w_idx from 0 to {MOST_STEPS}, and rates that are not negative");
            return Err(format!("{name}: {}: expected {expected}", row.job));
        }
        let option = |option: &str| result.option(row, option);
        let lacks =
            |what: &str| format!("{name}: {}: its reads lack p{what}: expected it in `percentile_list`", row.job);
        let us = |percent: f64, what: &str| {
            let ns = side.percentile(percent).ok_or_else(|| lacks(what))?;
            Ok::<_, String>(Some(MatrixFigure { us: (ns / 1e3).max(1e-3), is_least: false }))
        };
        let figures = [us(50.0, "50")?, us(95.0, "95")?];
        if matrix.attached.is_none() {
            matrix.attached = option("filename").and_then(attached);
        }
        if let Some(bytes) = option("bs") {
            let wrong = |_| format!("{name}: {}: `{bytes}` is not a value of bs: expected bytes", row.job);
            matrix.bytes = bytes.parse().map_err(wrong)?;
        }
        if read_iops > 0.0 {
            matrix.readers = readers(row, result, read_iops).unwrap_or(matrix.readers);
        }
        let place = MatrixPlace { reads: reads as u32, writes: writes as u32 };
        let cell = matrix.at(place, read_iops, write_rate);
        if cell.figures != [None; 2] {
            return Err(format!("{name}: {} is there already: expected each load once", row.job));
        }
        cell.figures = figures;
    }
    Ok(())
}

/// The processes that share the reads: each has its own rate.
fn readers(row: &FioRow, result: &FioResult, read_iops: f64) -> Option<u32> {
    let each: f64 = result.option(row, "rate_iops")?.parse().ok().filter(|each| *each > 0.0)?;
    Some((read_iops / each).round().clamp(1.0, 64.0) as u32)
}

fn attached(file: &str) -> Option<Attached> {
    let device = file.rsplit('/').next()?;
    match () {
        () if device.starts_with("nvme") => Some(Attached::Nvme),
        () if device.starts_with("sd") => Some(Attached::Sata),
        () => None,
    }
}

/// `r_idx`, `w_idx`, `write_bw` and `r_iops` of a job's name.
fn rates(job: &str) -> Option<[f64; 4]> {
    let inside = job.split_once('(')?.1.strip_suffix(')')?;
    let value = |key: &str| -> Option<f64> {
        let pair = inside.split(',').find_map(|pair| pair.trim().strip_prefix(key)?.strip_prefix('='))?;
        pair.parse().ok()
    };
    Some([value("r_idx")?, value("w_idx")?, value("write_bw")?, value("r_iops")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "device,quantile,r_idx,w_idx,read_iops,write_bytes_per_s,latency_ms\n";

    fn table(rows: &str) -> Result<Vec<LatencyMatrix>, String> {
        let mut all = Vec::new();
        add_table(&mut all, "m.csv", format!("{HEAD}{rows}").as_bytes()).map(|()| all)
    }

    #[test]
    fn a_tables_rows_are_cells_and_the_charts_end_is_a_lower_bound() {
        let all = table("a,p50,1,0,100,0,0.1\na,p95,1,0,100,0,0.2\na,p95,2,3,200,5e6,5.0\nb,p50,1,0,7,0,9\n").unwrap();
        assert_eq!(all.iter().map(|matrix| matrix.cells.len()).collect::<Vec<_>>(), [2, 1]);
        let cell = all[0].cell(MatrixPlace { reads: 2, writes: 3 }).unwrap();
        assert_eq!(cell.figures, [None, Some(MatrixFigure { us: 5_000.0, is_least: true })]);
        assert_eq!((cell.read_iops, cell.write_rate, all[0].single_us()), (200.0, 5e6, Some(100.0)));
    }

    #[test]
    fn what_is_wrong_in_a_table_is_named_with_its_place() {
        let wrong = |rows: &str| table(rows).unwrap_err();
        assert!(wrong("a,p59,1,0,1,0,1\n").contains("m.csv:2: column 2: `p59` is not a value of quantile"));
        assert!(wrong("a,p50,x,0,1,0,1\n").contains("column 3: `x` is not a value of r_idx"));
        assert!(wrong("a,p50,1,0,1,0,0\n").contains("expected a number above 0"));
        assert!(wrong("a,p50,1,0,1,0,1\na,p50,1,0,1,0,2\n").contains("m.csv:3: p50 of r_idx 1, w_idx 0 is in an ear"));
        assert_eq!(wrong(""), "m.csv: no row");
        let text = HEAD.replace("r_idx", "ridx");
        let wrong = add_table(&mut Vec::new(), "m.csv", text.as_bytes()).unwrap_err();
        assert!(wrong.contains("m.csv:1: no column `r_idx`") && wrong.contains("did you mean `ridx`?"), "{wrong}");
    }

    #[test]
    fn diskplorers_json_is_read_by_the_names_of_its_jobs() {
        let row = |job: &str, options: &str, p95: &str| {
            format!(
                "{{\"jobname\": \"{job}\", \"groupid\": 0, \"job options\": {{\"bs\": \"512\", {options}}}, \"read\": \
                 {{\"iops\": 9.0, \"total_ios\": 3, \"clat_ns\": {{\"percentile\": {{\"50.000000\": 113152{p95}}}}}}}}}"
            )
        };
        let p95 = ", \"95.000000\": 132096";
        let text = |rows: &[String]| {
            let global = "\"filename\": \"/dev/nvme0n1\"";
            format!(
                "{{\"fio version\": \"fio-3.28\", \"global options\": {{{global}}}, \"jobs\": [{}]}}",
                rows.join(",")
            )
        };
        let read = |rows: &[String]| {
            let result = FioResult::read("d.json", &text(rows))?;
            assert!(is_matrix(&result));
            let mut matrix = LatencyMatrix::new("d");
            add_fio(&mut matrix, "d.json", &result).map(|()| matrix)
        };
        let alone = row("job(r_idx=0,w_idx=0,write_bw=0,r_iops=0)", "\"rate_iops\": \"10\"", p95);
        let name = "job(r_idx=1,w_idx=2,write_bw=80000000,r_iops=20628)";
        let beside = row(name, "\"rate_iops\": \"2578\"", p95);
        let matrix = read(&[alone.clone(), beside.clone()]).unwrap();
        assert_eq!((matrix.cells.len(), matrix.readers, matrix.bytes), (2, 8, 512));
        assert_eq!(matrix.attached, Some(Attached::Nvme));
        let cell = matrix.cell(MatrixPlace { reads: 1, writes: 2 }).unwrap();
        assert_eq!((cell.read_iops, cell.write_rate), (20_628.0, 80e6));
        assert_eq!(cell.figures.map(|figure| figure.unwrap().us), [113.152, 132.096]);
        assert!(read(&[beside.clone(), beside]).unwrap_err().contains("is there already"));
        assert!(read(&[row(name, "\"rate_iops\": \"1\"", "")]).unwrap_err().contains("its reads lack p95"));
        for named in ["r_idx=1001,w_idx=2", "r_idx=1,w_idx=-1", "r_idx=0.5,w_idx=2", "r_idx=x,w_idx=2", "w_idx=2"] {
            let job = format!("job({named},write_bw=1,r_iops=1)");
            let wrong = read(&[alone.clone(), row(&job, "\"rate_iops\": \"1\"", p95)]).unwrap_err();
            assert!(wrong.contains(&format!("d.json: {job}: expected ")), "{wrong}");
        }
        let most = row("job(r_idx=1000,w_idx=0,write_bw=0,r_iops=1)", "\"rate_iops\": \"1\"", p95);
        assert!(read(&[most]).is_ok());
        let size = row(name, "\"bs\": \"4k\"", p95).replace("\"bs\": \"512\", ", "");
        assert!(read(&[size]).unwrap_err().contains("`4k` is not a value of bs: expected bytes"));
        let prepares = row("prepare_data(r_idx=1,w_idx=2,write_bw=1,r_iops=1)", "\"rate_iops\": \"1\"", p95);
        assert_eq!(read(&[alone, prepares]).unwrap().cells.len(), 1);
    }
}
