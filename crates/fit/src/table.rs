//! Results as a table: comma-separated, one row for each load and direction.
//!
//! Columns, in any order: `iodepth`, `numjobs`, `rw` (`randread`, `randwrite`, `randrw`), `dir` (`read`, `write`; the
//! direction that the row is about), `iops`, `p50_us`, `p99_us`, `p999_us`; and, if there are any, `device`, `path`,
//! `rwmixread` (50 if empty), `bs` (4k if empty). Others are not read.

use std::io::Read;

use blksched::Dir;
use blksched_disks::Attached;
use blksched_text::did_you_mean;
use blksched_text::units::{bytes_or_letter, number_or_letter};
use csv::{ReaderBuilder, StringRecord, Trim};

use crate::cell::{CellFigures, GridLoad, LoadPattern, ResultGrid};

/// The columns that every table has.
const NEEDED: [&str; 8] = ["iodepth", "numjobs", "rw", "dir", "iops", "p50_us", "p99_us", "p999_us"];

/// Reads every grid of a table, in the order in which they begin; `name` is for messages.
///
/// # Errors
/// What is wrong, with line and column.
pub fn read(name: &str, from: impl Read) -> Result<Vec<ResultGrid>, String> {
    let mut grids = Vec::new();
    add(&mut grids, name, from)?;
    Ok(grids)
}

/// Adds every grid of a further table; one that is there already gets more cells.
///
/// # Errors
/// As [`read`].
pub fn add(grids: &mut Vec<ResultGrid>, name: &str, from: impl Read) -> Result<(), String> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(from);
    let header = reader.headers().map_err(|error| format!("{name}: {error}"))?.clone();
    let words = || header.iter();
    for needed in NEEDED {
        if !words().any(|word| word == needed) {
            let nearest = did_you_mean(needed, words());
            return Err(format!("{name}:1: no column `{needed}`: expected {}{nearest}", NEEDED.join(", ")));
        }
    }
    for record in reader.records() {
        let record = record.map_err(|error| format!("{name}: {error}"))?;
        let row = TableRow { name, header: &header, record: &record };
        let (device, path) = (row.text("device"), row.text("path"));
        let known = grids.iter().position(|grid| grid.device == device && grid.path == path);
        let at = known.unwrap_or_else(|| {
            let (device, path, attached) = (device.to_owned(), path.to_owned(), attached(device, path));
            grids.push(ResultGrid { device, path, attached, ..ResultGrid::default() });
            grids.len() - 1
        });
        match row.load()? {
            None => grids[at].left_out += 1,
            Some((load, dir)) => {
                if !grids[at].add(load, dir, row.figures()?) {
                    return Err(row.error(&format!("{load} ({dir}) is in an earlier row: expected each load once")));
                }
            }
        }
    }
    match grids.iter().any(|grid| !grid.cells.is_empty()) {
        true => Ok(()),
        false => Err(format!("{name}: no row of randread, randwrite or randrw")),
    }
}

/// By what the drive hangs on, and else by its name; a path that is not NVMe's is taken for SATA's.
fn attached(device: &str, path: &str) -> Option<Attached> {
    let is_nvme = |text: &str| text.to_lowercase().contains("nvme");
    match () {
        () if is_nvme(path) || is_nvme(device) => Some(Attached::Nvme),
        () => (!path.is_empty()).then_some(Attached::Sata),
    }
}

/// One line.
struct TableRow<'a> {
    name: &'a str,
    header: &'a StringRecord,
    record: &'a StringRecord,
}

impl TableRow<'_> {
    /// A field; empty if there is no such column.
    fn text(&self, column: &str) -> &str {
        self.header.iter().position(|word| word == column).and_then(|at| self.record.get(at)).unwrap_or_default()
    }

    /// What is wrong with a field.
    fn wrong(&self, column: &str, expected: &str) -> String {
        let line = self.record.position().map_or(0, csv::Position::line);
        let at = self.header.iter().position(|word| word == column).map_or(0, |at| at + 1);
        format!(
            "{}:{line}: column {at}: `{}` is not a value of {column}: expected {expected}",
            self.name,
            self.text(column)
        )
    }

    fn error(&self, what: &str) -> String {
        format!("{}:{}: {what}", self.name, self.record.position().map_or(0, csv::Position::line))
    }

    fn number(&self, column: &str) -> Result<f64, String> {
        let number = self.text(column).parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
        number.ok_or_else(|| self.wrong(column, "a number above 0"))
    }

    fn count(&self, column: &str, most: u32) -> Result<u32, String> {
        let number = self.text(column).parse().ok().filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| self.wrong(column, &format!("a whole number from 1 to {most}")))
    }

    /// The load and the direction; `None` for loads that are not random.
    fn load(&self) -> Result<Option<(GridLoad, Dir)>, String> {
        let dir = match self.text("dir") {
            "read" => Dir::Read,
            "write" => Dir::Write,
            other => return Err(self.wrong("dir", "read or write") + &did_you_mean(other, ["read", "write"])),
        };
        let pattern = match self.text("rw") {
            "randread" => LoadPattern::Read,
            "randwrite" => LoadPattern::Write,
            "randrw" => LoadPattern::Mixed(match self.text("rwmixread") {
                "" => 50,
                _ => self.count("rwmixread", 99)?,
            }),
            "read" | "write" | "rw" | "readwrite" => return Ok(None),
            other => {
                let near = did_you_mean(other, ["randread", "randwrite", "randrw"]);
                return Err(self.wrong("rw", "randread, randwrite or randrw") + &near);
            }
        };
        if matches!((pattern, dir), (LoadPattern::Read, Dir::Write) | (LoadPattern::Write, Dir::Read)) {
            return Err(self.error(&format!("dir is `{}`, and {pattern} has none of that", self.text("dir"))));
        }
        let bytes = match self.text("bs") {
            "" => 4096,
            text => {
                let bytes = number_or_letter(text)
                    .or_else(|| bytes_or_letter(text))
                    .and_then(|bytes| u32::try_from(bytes).ok());
                let bytes = bytes.filter(|&bytes| bytes.is_multiple_of(512) && (512..=1 << 22).contains(&bytes));
                bytes.ok_or_else(|| self.wrong("bs", "a size in whole sectors up to 4 MiB, as in 4k"))?
            }
        };
        let (depth, jobs) = (self.count("iodepth", 65_536)?, self.count("numjobs", 65_536)?);
        Ok(Some((GridLoad { pattern, bytes, depth, jobs }, dir)))
    }

    fn figures(&self) -> Result<CellFigures, String> {
        Ok(CellFigures {
            iops: self.number("iops")?,
            p50_us: self.number("p50_us")?,
            p99_us: self.number("p99_us")?,
            p999_us: self.number("p999_us")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "device,path,rw,rwmixread,dir,bs,iodepth,numjobs,iops,p50_us,p99_us,p999_us,fio\n";

    fn read_text(rows: &str) -> Result<Vec<ResultGrid>, String> {
        read("grids.csv", format!("{HEAD}{rows}").as_bytes())
    }

    #[test]
    fn rows_of_one_load_are_one_cell_and_devices_are_apart() {
        let grids = read_text(
            "a,ahci,randrw,,read,4k,1,2,100.5,90,200,300,fio-3\na,ahci,randrw,,write,4k,1,2,50,30,40,50,fio-3\n\
             b,ahci,randread,,read,,8,1,7,1,2,3,\nb,ahci,read,,read,4k,8,1,7,1,2,3,\n",
        )
        .unwrap();
        assert_eq!((grids.len(), grids[0].cells.len(), grids[1].left_out), (2, 1, 1));
        let cell = grids[0].cells[0];
        assert_eq!(cell.load, GridLoad { pattern: LoadPattern::Mixed(50), bytes: 4096, depth: 1, jobs: 2 });
        assert_eq!(cell.iops(), 150.5);
        assert_eq!(cell.figures.write.unwrap().values(), [50.0, 30.0, 40.0, 50.0]);
        assert_eq!(grids[1].name(), "b on ahci");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let row = |text: &str| read_text(text).unwrap_err();
        let error = row("a,ahci,randread,,read,4k,0,1,7,1,2,3,\n");
        assert_eq!(
            error,
            "grids.csv:2: column 7: `0` is not a value of iodepth: expected a whole number from 1 to 65536"
        );
        assert!(row("a,,randread,,read,4k,1,1,7,1,,3,\n").contains("column 11: `` is not a value of p99_us"));
        assert!(
            row("a,,randread,,write,4k,1,1,7,1,2,3,\n")
                .contains("grids.csv:2: dir is `write`, and randread has none of that")
        );
        assert!(row("a,,randraed,,read,4k,1,1,7,1,2,3,\n").contains("randrw; did you mean `randread`?"));
        let twice = "a,,randread,,read,4k,1,1,7,1,2,3,\n";
        assert!(row(&format!("{twice}{twice}")).contains("grids.csv:3: randread 1x1 (read) is in an earlier row"));
        assert!(row("a,,read,,read,4k,1,1,7,1,2,3,\n").contains("no row of randread"));
        assert!(row("a,,randread\n").contains("grids.csv"), "{}", row("a,,randread\n"));
        let head = read("x.csv", "iodepth,numjobs,rw,dir,iops,p50_us,p99us,p999_us\n".as_bytes()).unwrap_err();
        assert!(head.contains("no column `p99_us`") && head.contains("did you mean `p99us`?"), "{head}");
    }
}
