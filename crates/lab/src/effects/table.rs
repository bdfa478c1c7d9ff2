//! The figures as a file: a line for each value of each knob on each load.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use blksched_measure::Quantity;

const HEADER: &str = "scheduler,knob,load,disk,value,effect,job,figure,unit,mean,other_job,other_figure,other_unit,\
                      other_mean,times,low,high";
const COLUMNS: usize = 17;

/// What the values of a knob change on a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Nothing: the disk got the same commands at the same times under all of them.
    None,
    /// Something, but no figure by 5 % beyond chance.
    Small,
    /// A figure.
    Figure,
}

impl Effect {
    const ALL: [(Effect, &'static str); 3] =
        [(Effect::None, "none"), (Effect::Small, "small"), (Effect::Figure, "figure")];
}

/// A figure of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownFigure {
    /// The job, with its number of processes.
    pub job: String,
    /// `p99 read latency`.
    pub figure: String,
    /// Of the mean.
    pub unit: Quantity,
    /// In the base unit.
    pub mean: f64,
}

/// One value on one load.
#[derive(Clone, Debug, PartialEq)]
pub struct KnobRow {
    /// The scheduler as typed, or the controller.
    pub scheduler: String,
    /// The knob.
    pub knob: String,
    /// The load …
    pub load: String,
    /// … and the disk.
    pub disk: String,
    /// As typed; the default's line is the first of its load.
    pub value: String,
    /// What all values together change on this load.
    pub effect: Effect,
    /// What moves most, and the price: what moves most the other way, if anything does; none unless there is an effect.
    pub figures: Vec<ShownFigure>,
    /// The first figure over the default's: the mean of the seeds' ratios, and the ends of its 95 % interval.
    pub times: Option<[f64; 3]>,
}

/// The file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnobTable {
    /// Its lines.
    pub rows: Vec<KnobRow>,
}

/// What is known of one knob.
#[derive(Clone, Debug)]
pub struct OfKnob {
    /// The scheduler as typed, or the controller.
    pub scheduler: String,
    /// The knob.
    pub knob: String,
    /// Its lines by load, the load with the greatest effect first.
    pub loads: Vec<Vec<KnobRow>>,
}

impl KnobRow {
    fn text(&self) -> String {
        let KnobRow { scheduler, knob, load, disk, value, effect, figures, times } = self;
        let word = Effect::ALL.iter().find(|(known, _)| known == effect).map_or("", |(_, word)| *word);
        let mut line = format!("{scheduler},{knob},{load},{disk},{value},{word}");
        for nth in 0..2 {
            match figures.get(nth) {
                Some(ShownFigure { job, figure, unit, mean }) => {
                    let _ = write!(line, ",{job},{figure},{},{mean:.0}", unit.unit());
                }
                None => line.push_str(",,,,"),
            }
        }
        match times {
            Some([times, low, high]) => {
                let _ = write!(line, ",{times:.3},{low:.3},{high:.3}");
            }
            None => line.push_str(",,,"),
        }
        line
    }

    fn read(line: &str) -> Result<KnobRow, String> {
        let fields: Vec<&str> = line.split(',').collect();
        if fields.len() != COLUMNS {
            return Err(format!("expected {COLUMNS} fields, found {}: {line}", fields.len()));
        }
        let [scheduler, knob, load, disk, value] = [0, 1, 2, 3, 4].map(|nth| fields[nth].to_owned());
        let effect = Effect::ALL.iter().find(|(_, word)| *word == fields[5]);
        let (effect, _) = effect.ok_or_else(|| format!("`{}` is no effect: {line}", fields[5]))?;
        let parse = |nth: usize| fields[nth].parse::<f64>().map_err(|error| format!("`{}`: {error}", fields[nth]));
        let mut figures = Vec::new();
        for at in [6, 10].into_iter().filter(|at| !fields[*at].is_empty()) {
            let unit = [Quantity::Time, Quantity::Bandwidth].into_iter().find(|unit| unit.unit() == fields[at + 2]);
            figures.push(ShownFigure {
                job: fields[at].to_owned(),
                figure: fields[at + 1].to_owned(),
                unit: unit.unwrap_or(Quantity::Iops),
                mean: parse(at + 3)?,
            });
        }
        let times = if fields[14].is_empty() { None } else { Some([parse(14)?, parse(15)?, parse(16)?]) };
        Ok(KnobRow { scheduler, knob, load, disk, value, effect: *effect, figures, times })
    }

    /// `pg-oltp on hdd-7200-ideal`.
    pub fn place(&self) -> String {
        format!("{} on {}", self.load, self.disk)
    }
}

impl KnobTable {
    /// The file.
    pub fn text(&self) -> String {
        let lines: Vec<String> = self.rows.iter().map(KnobRow::text).collect();
        format!("{HEADER}\n{}\n", lines.join("\n"))
    }

    /// Reads the file.
    ///
    /// # Errors
    /// The line that is none, and why.
    pub fn read(text: &str) -> Result<KnobTable, String> {
        let mut lines = text.lines();
        if lines.next() != Some(HEADER) {
            return Err(format!("expected the columns {HEADER}"));
        }
        Ok(KnobTable { rows: lines.map(KnobRow::read).collect::<Result<_, String>>()? })
    }

    /// Knob by knob, in the file's order.
    pub fn shown(&self) -> Vec<OfKnob> {
        let mut knobs: Vec<OfKnob> = Vec::new();
        for row in &self.rows {
            let known = knobs.iter_mut().find(|one| one.scheduler == row.scheduler && one.knob == row.knob);
            let one = match known {
                Some(known) => known,
                None => {
                    let (scheduler, knob) = (row.scheduler.clone(), row.knob.clone());
                    knobs.push(OfKnob { scheduler, knob, loads: Vec::new() });
                    knobs.last_mut().expect("it was just added")
                }
            };
            match one.loads.iter_mut().find(|load| load[0].place() == row.place()) {
                Some(load) => load.push(row.clone()),
                None => one.loads.push(vec![row.clone()]),
            }
        }
        for one in &mut knobs {
            one.loads.sort_by(|a, b| greatest(b).total_cmp(&greatest(a)));
        }
        knobs
    }

    /// Two knobs on one load each: one with an effect and one without, chosen by the figures.
    pub fn drawn(&self) -> Vec<Vec<KnobRow>> {
        let mut hasher = DefaultHasher::new();
        self.text().hash(&mut hasher);
        let draw = hasher.finish() as usize;
        let all: Vec<Vec<KnobRow>> = self.shown().into_iter().flat_map(|one| one.loads).collect();
        let (with, without): (Vec<_>, Vec<_>) = all.into_iter().partition(|load| load[0].effect == Effect::Figure);
        [with, without]
            .into_iter()
            .filter(|some| !some.is_empty())
            .map(|some| some[draw % some.len()].clone())
            .collect()
    }
}

impl OfKnob {
    /// The lines of the load on which its values differ most, by the size of the value.
    pub fn by_size(&self) -> Vec<&KnobRow> {
        let mut rows: Vec<&KnobRow> = self.loads[0].iter().collect();
        rows.sort_by(|a, b| size(&a.value).total_cmp(&size(&b.value)));
        rows
    }

    /// One of the two figures at the two values between which the first differs most, the lesser value first: "reader:
    /// mean read latency 6.31ms at 1, 41.2ms at 64"; `None` if nothing moves.
    pub fn way(&self, nth: usize) -> Option<String> {
        let rows = self.by_size();
        let mean = |at: &usize| rows[*at].figures.first().map_or(0.0, |shown| shown.mean);
        let least = (0..rows.len()).min_by(|a, b| mean(a).total_cmp(&mean(b)))?;
        // Of equal ones the last: where it begins to be so is in the table.
        let most = (0..rows.len()).max_by(|a, b| mean(a).total_cmp(&mean(b)))?;
        let (first, last) = (rows[least.min(most)], rows[least.max(most)]);
        let ShownFigure { job, figure, .. } = first.figures.get(nth)?;
        let shown = |row: &KnobRow| row.figures.get(nth).map(|shown| shown.unit.show(shown.mean));
        Some(format!("{job}: {figure} {} at {}, {} at {}", shown(first)?, first.value, shown(last)?, last.value))
    }

    /// The loads on which its values have this effect.
    pub fn places(&self, effect: Effect) -> Vec<String> {
        self.loads.iter().filter(|load| load[0].effect == effect).map(|load| load[0].place()).collect()
    }
}

/// `500ms` is more than `2us`.
fn size(value: &str) -> f64 {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
    let unit = match &value[digits.len()..] {
        "s" => 1e9,
        "ms" => 1e6,
        "us" => 1e3,
        _ => 1.0,
    };
    digits.parse::<f64>().unwrap_or(0.0) * unit
}

/// How far the values move the first figure at most: a logarithm.
fn greatest(load: &[KnobRow]) -> f64 {
    let logs = load.iter().filter_map(|row| row.times).map(|[times, ..]| times.max(1e-9).ln().abs());
    logs.fold(0.0, f64::max) + f64::from(load[0].effect as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(knob: &str, load: &str, value: &str, effect: Effect, times: Option<[f64; 3]>) -> KnobRow {
        let (scheduler, disk) = ("bfq".to_owned(), "hdd-7200-ideal".to_owned());
        let shown =
            ShownFigure { job: "a".into(), figure: "mean read latency".into(), unit: Quantity::Time, mean: 12.0 };
        let figures = if effect == Effect::Figure { vec![shown] } else { Vec::new() };
        let [knob, load, value] = [knob, load, value].map(str::to_owned);
        KnobRow { scheduler, knob, load, disk, value, effect, figures, times }
    }

    #[test]
    fn values_are_ordered_by_size() {
        let mut values = ["500ms", "2s", "16", "0ms", "300us", "8"];
        values.sort_by(|a, b| size(a).total_cmp(&size(b)));
        assert_eq!(values, ["0ms", "8", "16", "300us", "500ms", "2s"]);
    }

    #[test]
    fn what_is_written_is_read_and_the_greatest_effect_comes_first() {
        let rows = vec![
            row("slice_idle", "scrub", "8ms", Effect::None, None),
            row("slice_idle", "mixed", "8ms", Effect::Figure, None),
            row("slice_idle", "mixed", "0ms", Effect::Figure, Some([0.5, 0.4, 0.6])),
            row("low_latency", "scrub", "1", Effect::Small, None),
        ];
        let table = KnobTable { rows };
        assert_eq!(KnobTable::read(&table.text()).unwrap(), table);
        let shown = table.shown();
        assert_eq!(shown.iter().map(|one| one.knob.as_str()).collect::<Vec<_>>(), ["slice_idle", "low_latency"]);
        assert_eq!(shown[0].loads[0][1].value, "0ms");
        assert_eq!(table.drawn().len(), 2);
        assert!(KnobTable::read("a,b\n").is_err() && KnobTable::read(&format!("{HEADER}\na,b\n")).is_err());
    }
}
