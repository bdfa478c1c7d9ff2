//! The figures of one process in one direction, and the format of their table.

use std::fmt::Write as _;

/// One process's reads or writes in one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Which disk and how many tags.
    pub setting: String,
    /// The job file, without its ending.
    pub job: String,
    /// The scheduler.
    pub scheduler: String,
    /// The number of the repeat.
    pub repeat: u32,
    /// The process's job.
    pub process: String,
    /// `read`, `write` or [`SYNC`](super::SYNC).
    pub dir: String,
    /// The number of I/Os.
    pub ios: u64,
    /// \[bytes/s\]
    pub bandwidth: f64,
    /// Mean latency from submission to completion \[us\].
    pub latency_us: f64,
    /// Median completion latency \[us\].
    pub p50_us: f64,
    /// \[us\]
    pub p99_us: f64,
}

const COLUMNS: [&str; 11] =
    ["setting", "job", "scheduler", "repeat", "process", "dir", "ios", "bw_bytes", "lat_us", "p50_us", "p99_us"];

/// Reads the rows of a table with tabs between columns, whose first line names them; unknown columns are ignored.
///
/// # Errors
/// Which line, which column, and what was expected.
pub fn read(name: &str, text: &str) -> Result<Vec<Row>, String> {
    let mut lines = text.lines().enumerate();
    let names: Vec<&str> = lines.next().map(|(_, line)| line.split('\t').collect()).unwrap_or_default();
    let place = |wanted: &str| {
        let found = names.iter().position(|name| *name == wanted);
        found.ok_or_else(|| format!("{name}:1: no column `{wanted}`: expected {}", COLUMNS.join(", ")))
    };
    let places = COLUMNS.into_iter().map(place).collect::<Result<Vec<_>, _>>()?;
    let row = |(nth, line): (usize, &str)| {
        let words: Vec<&str> = line.split('\t').collect();
        let word = |column: usize| {
            let found = words.get(places[column]).copied();
            found.ok_or_else(|| format!("{name}:{}: no `{}` in this line", nth + 1, COLUMNS[column]))
        };
        let number = |column: usize| {
            let word = word(column)?;
            let wrong = || format!("{name}:{}: `{}` is `{word}`: expected a number", nth + 1, COLUMNS[column]);
            word.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0).ok_or_else(wrong)
        };
        Ok(Row {
            setting: word(0)?.to_owned(),
            job: word(1)?.to_owned(),
            scheduler: word(2)?.to_owned(),
            repeat: number(3)? as u32,
            process: word(4)?.to_owned(),
            dir: word(5)?.to_owned(),
            ios: number(6)? as u64,
            bandwidth: number(7)?,
            latency_us: number(8)?,
            p50_us: number(9)?,
            p99_us: number(10)?,
        })
    };
    lines.filter(|(_, line)| !line.is_empty()).map(row).collect()
}

/// Writes the table that [`read`] reads.
pub fn write(rows: &[Row]) -> String {
    let mut text = COLUMNS.join("\t") + "\n";
    for row in rows {
        let Row { setting, job, scheduler, repeat, process, dir, ios, bandwidth, latency_us, p50_us, p99_us } = row;
        let _ = writeln!(
            text,
            "{setting}\t{job}\t{scheduler}\t{repeat}\t{process}\t{dir}\t{ios}\t{bandwidth:.0}\t{latency_us:.0}\t\
             {p50_us:.0}\t{p99_us:.0}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_written_and_a_bad_one_names_line_and_column() {
        let row = Row { setting: "s".into(), job: "j".into(), dir: "read".into(), ios: 7, ..Row::default() };
        let text = write(std::slice::from_ref(&row));
        assert_eq!(read("t", &text), Ok(vec![row]));
        let bad = text.replace("\t7\t", "\tmany\t");
        assert_eq!(read("t", &bad), Err("t:2: `ios` is `many`: expected a number".to_owned()));
        assert!(read("t", "a\tb\n").unwrap_err().contains("t:1: no column `setting`"));
        assert!(read("t", &(COLUMNS.join("\t") + "\ns\tj")).unwrap_err().contains("t:2: no `scheduler`"));
    }
}
