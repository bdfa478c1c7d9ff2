//! The figures as a file: one line per step that changes anything, load and disk.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::{Result, ensure};
use blksched_measure::Quantity;

const HEADER: &str = "scheduler,from,to,load,disk,job,figure,unit,old,new,times,low,high,rules,others";
const COLUMNS: usize = 15;

/// A difference that two sets of seeds show.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The job, with its number of processes.
    pub job: String,
    /// `p99 read latency`.
    pub figure: String,
    /// Of the two values: time or bandwidth.
    pub unit: Quantity,
    /// The means over the confirming seeds, in the base unit.
    pub old: f64,
    pub new: f64,
    /// New over old: the geometric mean over the seeds, and the ends of its 95 % interval.
    pub times: f64,
    pub low: f64,
    pub high: f64,
    /// What does it, `wakers=any_time (92 %)`.
    pub rules: Vec<String>,
    /// How many other figures of this load differ, too, with the first seeds.
    pub others: usize,
}

/// One step, load and disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub scheduler: String,
    pub from: String,
    pub to: String,
    pub load: String,
    pub disk: String,
    /// `None`: no difference, or none that chance would not explain.
    pub change: Option<Change>,
}

impl Row {
    pub fn name(&self) -> String {
        let Row { scheduler, from, to, load, disk, .. } = self;
        format!("{scheduler} {from} to {to}, {load} on {disk}")
    }

    /// Its line. No word of it has a comma.
    pub fn text(&self) -> String {
        let Row { scheduler, from, to, load, disk, change } = self;
        let mut line = format!("{scheduler},{from},{to},{load},{disk},");
        match change {
            None => line += &",".repeat(COLUMNS - 6),
            Some(Change { job, figure, unit, old, new, times, low, high, rules, others }) => {
                let (unit, rules) = (unit.unit(), rules.join("; "));
                let ratios = format!("{times:.3},{low:.3},{high:.3}");
                let _ = write!(line, "{job},{figure},{unit},{old:.0},{new:.0},{ratios},{rules},{others}");
            }
        }
        line
    }

    fn read(line: &str) -> Result<Row> {
        let fields: Vec<&str> = line.split(',').collect();
        ensure!(fields.len() == COLUMNS, "expected {COLUMNS} fields, found {}: {line}", fields.len());
        let [scheduler, from, to, load, disk] = [0, 1, 2, 3, 4].map(|nth| fields[nth].to_owned());
        let number = |nth: usize| fields[nth].parse::<f64>();
        let unit = match fields[7] {
            unit if unit == Quantity::Time.unit() => Quantity::Time,
            _ => Quantity::Bandwidth,
        };
        let change = match fields[5] {
            "" => None,
            job => Some(Change {
                job: job.to_owned(),
                figure: fields[6].to_owned(),
                unit,
                old: number(8)?,
                new: number(9)?,
                times: number(10)?,
                low: number(11)?,
                high: number(12)?,
                rules: fields[13].split("; ").filter(|rule| !rule.is_empty()).map(str::to_owned).collect(),
                others: fields[14].parse()?,
            }),
        };
        Ok(Row { scheduler, from, to, load, disk, change })
    }

    /// The same without the rules, which are not sought again.
    pub fn without_rules(&self) -> Row {
        let change = self.change.clone().map(|change| Change { rules: Vec::new(), ..change });
        Row { change, ..self.clone() }
    }

    /// Whether what is written is still true: the same figure moves the same way, if perhaps by another amount, or
    /// still nothing does.
    pub fn still_holds(&self, now: &Row) -> bool {
        match (&self.change, &now.change) {
            (None, None) => true,
            (Some(old), Some(new)) => {
                (&old.job, &old.figure) == (&new.job, &new.figure) && (old.times > 1.0) == (new.times > 1.0)
            }
            _ => false,
        }
    }

    fn drawn_by(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.text().hash(&mut hasher);
        hasher.finish()
    }
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub rows: Vec<Row>,
}

impl Table {
    pub fn text(&self) -> String {
        let lines = self.rows.iter().map(Row::text);
        std::iter::once(HEADER.to_owned()).chain(lines).map(|line| line + "\n").collect()
    }

    /// # Errors
    /// A line that is none of ours.
    pub fn read(text: &str) -> Result<Table> {
        let mut lines = text.lines();
        ensure!(lines.next() == Some(HEADER), "the first line is not {HEADER}");
        Ok(Table { rows: lines.map(Row::read).collect::<Result<_>>()? })
    }

    /// A row with a difference and one without, as if by lot: which they are changes with the figures.
    pub fn drawn(&self) -> impl Iterator<Item = &Row> {
        let of = |differs: bool| {
            let mine = |row: &&Row| row.change.is_some() == differs;
            self.rows.iter().filter(mine).min_by_key(|row| row.drawn_by())
        };
        [of(true), of(false)].into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(change: Option<Change>) -> Row {
        let [scheduler, from, to, load, disk] = ["bfq", "5.10", "5.15", "scrub", "hdd-7200-ideal"].map(str::to_owned);
        Row { scheduler, from, to, load, disk, change }
    }

    fn change(times: f64) -> Change {
        Change {
            job: "service ×2".to_owned(),
            figure: "p99 read latency".to_owned(),
            unit: Quantity::Time,
            old: 1e6,
            new: 1e6 * times,
            times,
            low: 1.5,
            high: 2.5,
            rules: vec!["wakers=any_time (92 %)".to_owned()],
            others: 3,
        }
    }

    #[test]
    fn a_table_reads_back_as_it_was_written() {
        let table = Table { rows: vec![row(None), row(Some(change(2.0)))] };
        assert_eq!(Table::read(&table.text()).unwrap(), table);
        assert_eq!(table.drawn().count(), 2);
        assert!(Table::read("scheduler,from\n").is_err() && Table::read(&format!("{HEADER}\na,b\n")).is_err());
    }

    #[test]
    fn a_row_holds_as_long_as_the_same_figure_moves_the_same_way() {
        let written = row(Some(change(2.0)));
        assert!(written.still_holds(&row(Some(change(1.7)))));
        assert!(!written.still_holds(&row(Some(change(0.6)))) && !written.still_holds(&row(None)));
        assert!(!row(None).still_holds(&written) && row(None).still_holds(&row(None)));
        let other = Change { job: "scrub".to_owned(), ..change(2.0) };
        assert!(!written.still_holds(&row(Some(other))));
    }
}
