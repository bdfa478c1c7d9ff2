//! Results as fio writes them with `--output-format=json`: one file, or a folder of files as bench-fio leaves it.
//!
//! Depth, processes, `rw` and `bs` are taken from the options that fio repeats in its output. A job's processes are one
//! row with `group_reporting`, and otherwise one row each: then rates are added, and a percentile is the median of
//! theirs, which is not that of all I/Os together. Only direct I/O shows a drive, and only one job at a time a load; a
//! synchronous engine has one I/O in flight, whatever `iodepth` says.

use std::collections::BTreeMap;

use blksched::Dir;
use blksched_disks::Attached;
use blksched_measure::Work;
use blksched_measure::fio_json::{FioResult, FioRow, FioSide};
use blksched_text::units::{bytes_or_letter, number_or_letter};

use crate::cell::{CellFigures, GridLoad, LoadPattern, ResultGrid};

/// Adds the jobs of one output to a grid; `name` is for messages.
///
/// # Errors
/// If it is no output of fio, or a load is there already.
pub fn add(grid: &mut ResultGrid, name: &str, text: &str) -> Result<(), String> {
    let result = FioResult::read(name, text)?;
    let mut rows: BTreeMap<(u64, &str), Vec<&FioRow>> = BTreeMap::new();
    for row in &result.rows {
        rows.entry((row.group, &row.job)).or_default().push(row);
    }
    let mut groups: BTreeMap<u64, &str> = BTreeMap::new();
    for (group, job) in rows.keys() {
        if let Some(other) = groups.insert(*group, job) {
            return Err(format!(
                "{name}: jobs {other} and {job} ran at the same time: expected `stonewall` between them"
            ));
        }
    }
    for ((_, job), rows) in &rows {
        let options = JobOptions { name, job, result: &result, row: rows[0] };
        let Some(load) = options.load()? else {
            grid.left_out += rows.len();
            continue;
        };
        match (grid.attached, options.attached()) {
            (Some(before), Some(here)) if before != here => {
                let (before, here) = (before.word(), here.word());
                return Err(format!("{name}: job {job} is on a drive attached by {here}, others on one by {before}"));
            }
            (before, here) => grid.attached = before.or(here),
        }
        for dir in Dir::BOTH {
            let (word, work) = if dir == Dir::Read { ("read", Work::Read) } else { ("write", Work::Write) };
            let sides = rows.iter().filter_map(|row| row.side(work));
            let sides: Option<Vec<CellFigures>> = sides.map(figures).collect();
            let sides = sides.ok_or_else(|| {
                let expected = "expected 50, 99 and 99.9 in `percentile_list`, and completion latencies";
                format!("{name}: job {job}: its {word}s lack a percentile: {expected}")
            })?;
            if sides.is_empty() {
                continue;
            }
            if !grid.add(load, dir, together(&sides)) {
                return Err(format!("{name}: job {job}: {load} is there already: expected each load once"));
            }
        }
    }
    Ok(())
}

/// The options of a job, and those of all.
struct JobOptions<'a> {
    name: &'a str,
    job: &'a str,
    result: &'a FioResult,
    row: &'a FioRow,
}

impl JobOptions<'_> {
    fn text(&self, option: &str) -> Option<&str> {
        self.result.option(self.row, option)
    }

    fn count(&self, option: &str, usual: u32) -> Result<u32, String> {
        let Some(text) = self.text(option) else { return Ok(usual) };
        let number = text.trim().parse().ok().filter(|number| (1..=65_536).contains(number));
        number.ok_or_else(|| self.wrong(option, text, "a whole number from 1 to 65536"))
    }

    fn wrong(&self, option: &str, text: &str, expected: &str) -> String {
        format!("{}: job {}: `{text}` is not a value of {option}: expected {expected}", self.name, self.job)
    }

    /// The drive's interface, by the name of its device.
    fn attached(&self) -> Option<Attached> {
        let device = self.text("filename")?.rsplit('/').next()?;
        match () {
            () if device.starts_with("nvme") => Some(Attached::Nvme),
            () if device.starts_with("sd") => Some(Attached::Sata),
            () => None,
        }
    }

    /// The share of reads in a mixture \[%\].
    fn reads(&self) -> Result<u32, String> {
        let percent = |option: &str| -> Result<Option<u32>, String> {
            let Some(text) = self.text(option) else { return Ok(None) };
            let number = text.trim().parse().ok().filter(|number| (0..=100).contains(number));
            number.map(Some).ok_or_else(|| self.wrong(option, text, "a whole number from 0 to 100"))
        };
        Ok(match percent("rwmixwrite")? {
            Some(writes) => 100 - writes,
            None => percent("rwmixread")?.unwrap_or(50),
        })
    }

    fn is_direct(&self) -> bool {
        let is = |option: &str, value: &str| self.text(option).is_some_and(|text| text.trim() == value);
        is("direct", "1") || is("buffered", "0") || self.has_flag("direct")
    }

    /// Whether an option stands without a value.
    fn has_flag(&self, option: &str) -> bool {
        self.text(option).is_some_and(|text| text.trim().is_empty())
    }

    fn is_synchronous(&self) -> bool {
        let engine = self.text("ioengine").unwrap_or("psync");
        ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"].contains(&engine.trim())
    }

    /// `None` for what is not random.
    fn load(&self) -> Result<Option<GridLoad>, String> {
        let rw = self.text("rw").or_else(|| self.text("readwrite")).unwrap_or("read");
        let pattern = match rw.split(':').next().unwrap_or_default() {
            "randread" => LoadPattern::Read,
            "randwrite" => LoadPattern::Write,
            "randrw" => match self.reads()? {
                100 => LoadPattern::Read,
                0 => LoadPattern::Write,
                reads => LoadPattern::Mixed(reads),
            },
            _ => return Ok(None),
        };
        if !self.is_direct() {
            return Err(format!("{}: job {}: buffered I/O shows memory: expected `direct=1`", self.name, self.job));
        }
        let text = self.text("bs").or_else(|| self.text("blocksize")).unwrap_or("4k");
        let bytes = number_or_letter(text).or_else(|| bytes_or_letter(text));
        let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok());
        let bytes = bytes.filter(|&bytes| bytes.is_multiple_of(512) && (512..=1 << 22).contains(&bytes));
        let bytes = bytes.ok_or_else(|| self.wrong("bs", text, "one size in whole sectors, as in 4k"))?;
        let (depth, jobs) = (self.count("iodepth", 1)?, self.count("numjobs", 1)?);
        let depth = if self.is_synchronous() { 1 } else { depth };
        Ok(Some(GridLoad { pattern, bytes, depth, jobs }))
    }
}

/// One row's figures in a direction; `None` if it lacks one.
fn figures(side: &FioSide) -> Option<CellFigures> {
    let us = |percent: f64| side.percentile(percent).map(|ns| (ns / 1e3).max(1e-3));
    Some(CellFigures { iops: side.iops, p50_us: us(50.0)?, p99_us: us(99.0)?, p999_us: us(99.9)? })
}

/// Several processes' figures as one.
fn together(sides: &[CellFigures]) -> CellFigures {
    let median = |at: usize| {
        let mut values: Vec<f64> = sides.iter().map(|figures| figures.values()[at]).collect();
        values.sort_by(f64::total_cmp);
        (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
    };
    let iops = sides.iter().map(|figures| figures.iops).sum();
    CellFigures::of([iops, median(1), median(2), median(3)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(options: &str, rows: &str) -> String {
        format!(
            "fio: a warning\n{{\"fio version\": \"fio-3.33\", \"global options\": {{{options}}}, \"jobs\": [{rows}]}}"
        )
    }

    fn row(name: &str, options: &str, iops: f64, p50: u64) -> String {
        let percentiles = format!("{{\"50.000000\": {p50}, \"99.000000\": {}, \"99.900000\": {}}}", 2 * p50, 3 * p50);
        format!(
            "{{\"jobname\": \"{name}\", \"groupid\": 0, \"job options\": {{{options}}}, \
             \"read\": {{\"iops\": {iops}, \"clat_ns\": {{\"percentile\": {percentiles}}}}}, \
             \"write\": {{\"iops\": 0.0}}}}"
        )
    }

    #[test]
    fn processes_are_added_and_options_are_the_jobs_or_all() {
        let options = "\"rw\": \"randread\", \"bs\": \"4096\", \"numjobs\": \"2\", \"direct\": \"1\", \
                       \"ioengine\": \"libaio\", \"filename\": \"/dev/nvme0n1\"";
        let own = "\"iodepth\": \"8\"";
        let text = output(options, &[row("a", own, 1_000.0, 80_000), row("a", own, 3_000.0, 100_000)].join(","));
        let mut grid = ResultGrid::default();
        add(&mut grid, "a.json", &text).unwrap();
        let cell = grid.cells[0];
        assert_eq!(cell.load, GridLoad { pattern: LoadPattern::Read, bytes: 4096, depth: 8, jobs: 2 });
        assert_eq!(cell.figures.read.unwrap().values(), [4_000.0, 90.0, 180.0, 270.0]);
        assert!(cell.figures.write.is_none() && grid.attached == Some(Attached::Nvme));
        let again = add(&mut grid, "b.json", &text).unwrap_err();
        assert!(again.contains("b.json: job a: randread 8x2 is there already"), "{again}");
    }

    #[test]
    fn what_is_no_result_is_told_and_sequential_jobs_are_counted() {
        let mut grid = ResultGrid::default();
        add(&mut grid, "a.json", &output("\"rw\": \"write\"", &row("a", "", 1.0, 1))).unwrap();
        assert_eq!((grid.cells.len(), grid.left_out), (0, 1));
        let wrong = |text: &str| add(&mut ResultGrid::default(), "a.json", text).unwrap_err();
        assert!(wrong("fio: x\n{\"jobs\": [}").starts_with("a.json:2:"), "{}", wrong("fio: x\n{\"jobs\": [}"));
        assert!(wrong("{}").contains("no `jobs`"));
        let direct = "\"rw\": \"randread\", \"direct\": \"1\"";
        let depth = output(direct, &row("a", "\"iodepth\": \"many\"", 1.0, 1));
        assert!(wrong(&depth).contains("job a: `many` is not a value of iodepth"));
        let buffered = output("\"rw\": \"randread\"", &row("a", "", 1.0, 1));
        assert!(wrong(&buffered).contains("a.json: job a: buffered I/O shows memory: expected `direct=1`"));
        let beside = output(direct, &[row("a", "", 1.0, 1), row("b", "", 1.0, 1)].join(","));
        assert!(wrong(&beside).contains("jobs a and b ran at the same time"), "{}", wrong(&beside));
        let lacks = output(direct, &row("a", "", 1.0, 1).replace("99.900000", "99.990000"));
        assert!(wrong(&lacks).contains("job a: its reads lack a percentile"), "{}", wrong(&lacks));
    }

    #[test]
    fn a_synchronous_engine_has_one_io_in_flight_and_a_mixture_of_one_kind_is_none() {
        let load = |options: &str| {
            let mut grid = ResultGrid::default();
            let text = output(&format!("{options}, \"direct\": \"1\", \"iodepth\": \"8\""), &row("a", "", 1.0, 1));
            add(&mut grid, "a.json", &text).map(|()| grid.cells[0].load)
        };
        assert_eq!(load("\"rw\": \"randread\"").unwrap().depth, 1, "psync is fio's default");
        let queued = "\"rw\": \"randrw\", \"ioengine\": \"io_uring\"";
        let mixed = |more: &str| load(&format!("{queued}, {more}")).map(|load| load.pattern);
        assert_eq!(mixed("\"rwmixwrite\": \"30\""), Ok(LoadPattern::Mixed(70)));
        assert_eq!(mixed("\"rwmixread\": \"100\""), Ok(LoadPattern::Read));
        assert!(mixed("\"rwmixread\": \"101\"").unwrap_err().contains("from 0 to 100"));
        assert_eq!(load(queued).unwrap().depth, 8);
    }
}
