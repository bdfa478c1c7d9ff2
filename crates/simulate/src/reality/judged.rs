//! How far predictions can be trusted.
//!
//! **Tolerances** Bandwidth within 15 % where it is above 20 KiB/s; mean latency within 20 %, the median within 25 %,
//! p99 within a factor of two; no process below a tenth of its real bandwidth. With few I/Os latencies are random and
//! not checked. The *verdict* of a job is the scheduler with the highest geometric mean of its processes' bandwidths;
//! it is right if its measured bandwidth is at most 5 % worse than the best.

use super::row::Row;

/// A greater bandwidth \[bytes/s\] must be within tolerance.
const SLOW: f64 = 20.0 * 1024.0;
/// The bandwidth assumed of a process that got nothing \[bytes/s\].
const NOTHING: f64 = 100.0;
/// How many I/Os are enough for a mean or a median, and how many for p99.
const FEW: u64 = 30;
const FEW_FOR_P99: u64 = 200;

/// One process's reads or writes under one scheduler, measured and predicted: means over its runs, and for p99 the
/// median.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The measurement; `repeat` is the number of runs.
    pub measured: Row,
    /// The prediction; all zeros for a process that did nothing.
    pub predicted: Row,
}

/// A figure outside of its tolerance.
#[derive(Clone, Debug, PartialEq)]
pub struct Miss {
    /// Setting, job, scheduler, process, direction.
    pub place: [String; 5],
    /// Which figure.
    pub figure: &'static str,
    /// Predicted over measured.
    pub ratio: f64,
}

/// The results of a set of jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// The number of cells whose bandwidth is predicted within 20 %, and of all cells.
    pub within: (usize, usize),
    /// The same of the cells with a tolerance: above 20 KiB/s.
    pub held: (usize, usize),
    /// The errors of all cells' bandwidths \[parts\], ascending.
    pub errors: Vec<f64>,
    /// Jobs with more than one scheduler: name, predicted best, measured best, regret \[parts\].
    pub verdicts: Vec<(String, String, String, f64)>,
    /// Pairs of schedulers that really differ by more than 10 % for a process, and those predicted in the same
    /// direction.
    pub pairs: (usize, usize),
    /// What lies outside of its tolerance.
    pub misses: Vec<Miss>,
}

impl Judged {
    /// The greatest error of this part of all cells \[parts\].
    pub fn error(&self, part: f64) -> f64 {
        let at = (self.errors.len() as f64 * part).ceil() as usize;
        self.errors.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
    }

    /// The number of verdicts that cost at most 5 %.
    pub fn right(&self) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.3 <= 0.05).count()
    }
}

impl Cell {
    /// Pairs rows of the same place; repeats become one row.
    pub fn pair(measured: &[Row], predicted: &[Row]) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        for row in measured {
            if !cells.iter().any(|cell| same_place(&cell.measured, row)) {
                let all = |rows: &[Row]| mean(&rows.iter().filter(|other| same_place(other, row)).collect::<Vec<_>>());
                let found = predicted.iter().any(|other| same_place(other, row));
                let nothing = Row { bandwidth: 0.0, ios: 0, latency_us: 0.0, p50_us: 0.0, p99_us: 0.0, ..row.clone() };
                let predicted = if found { all(predicted) } else { nothing };
                cells.push(Cell { measured: all(measured), predicted });
            }
        }
        cells
    }

    fn place(&self) -> [String; 5] {
        let Row { setting, job, scheduler, process, dir, .. } = &self.measured;
        [setting, job, scheduler, process, dir].map(Clone::clone)
    }

    fn misses(&self) -> impl Iterator<Item = Miss> + '_ {
        let (real, ours) = (&self.measured, &self.predicted);
        let far = |ratio: f64, tolerance: f64| !(1.0 - tolerance..=1.0 + tolerance).contains(&ratio);
        let bandwidth = ours.bandwidth / real.bandwidth.max(1.0);
        let figures = [
            ("bandwidth", bandwidth, real.bandwidth > SLOW && far(bandwidth, 0.15)),
            ("starved", bandwidth, bandwidth < 0.1),
            (
                "latency",
                ours.latency_us / real.latency_us,
                real.ios >= FEW && far(ours.latency_us / real.latency_us, 0.2),
            ),
            ("p50", ours.p50_us / real.p50_us, real.ios >= FEW && far(ours.p50_us / real.p50_us, 0.25)),
            ("p99", ours.p99_us / real.p99_us, {
                let ratio = ours.p99_us / real.p99_us;
                real.ios >= FEW_FOR_P99 && !(0.5..=2.0).contains(&ratio)
            }),
        ];
        let missed = figures.into_iter().filter(|figure| figure.2);
        missed.map(|(figure, ratio, _)| Miss { place: self.place(), figure, ratio })
    }

    fn error(&self) -> f64 {
        (self.predicted.bandwidth / self.measured.bandwidth.max(1.0) - 1.0).abs()
    }
}

fn same_place(a: &Row, b: &Row) -> bool {
    (&a.setting, &a.job, &a.scheduler, &a.process, &a.dir) == (&b.setting, &b.job, &b.scheduler, &b.process, &b.dir)
}

fn mean(rows: &[&Row]) -> Row {
    let count = rows.len() as f64;
    let of = |figure: fn(&Row) -> f64| rows.iter().map(|row| figure(row)).sum::<f64>() / count;
    let mut p99: Vec<f64> = rows.iter().map(|row| row.p99_us).collect();
    p99.sort_by(f64::total_cmp);
    Row {
        repeat: rows.len() as u32,
        ios: of(|row| row.ios as f64) as u64,
        bandwidth: of(|row| row.bandwidth),
        latency_us: of(|row| row.latency_us),
        p50_us: of(|row| row.p50_us),
        p99_us: p99[p99.len() / 2],
        ..rows[0].clone()
    }
}

/// Judges these cells.
pub fn judge(cells: &[Cell]) -> Judged {
    let mut judged = Judged::default();
    for cell in cells {
        judged.errors.push(cell.error());
        judged.within.1 += 1;
        judged.within.0 += usize::from(cell.error() <= 0.2);
        if cell.measured.bandwidth > SLOW {
            judged.held.1 += 1;
            judged.held.0 += usize::from(cell.error() <= 0.2);
        }
        judged.misses.extend(cell.misses());
    }
    judged.errors.sort_by(f64::total_cmp);
    let mut jobs: Vec<(&str, &str)> = Vec::new();
    for Cell { measured, .. } in cells {
        let job = (measured.setting.as_str(), measured.job.as_str());
        if !jobs.contains(&job) {
            jobs.push(job);
        }
    }
    for (setting, job) in jobs {
        let own: Vec<&Cell> =
            cells.iter().filter(|cell| cell.measured.setting == setting && cell.measured.job == job).collect();
        judged
            .verdicts
            .extend(verdict(&own).map(|(ours, real, regret)| (format!("{setting} {job}"), ours, real, regret)));
        count_pairs(&own, &mut judged.pairs);
    }
    judged
}

/// The scheduler predicted to be best, the one that really is, and what the difference costs.
fn verdict(cells: &[&Cell]) -> Option<(String, String, f64)> {
    let mut schedulers: Vec<&str> = cells.iter().map(|cell| cell.measured.scheduler.as_str()).collect();
    schedulers.sort_unstable();
    schedulers.dedup();
    if schedulers.len() < 2 {
        return None;
    }
    let score = |scheduler: &str, row: fn(&Cell) -> &Row| {
        let own = cells.iter().filter(|cell| cell.measured.scheduler == scheduler);
        let logs: Vec<f64> = own.map(|cell| row(cell).bandwidth.max(NOTHING).ln()).collect();
        (logs.iter().sum::<f64>() / logs.len() as f64).exp()
    };
    let best = |row: fn(&Cell) -> &Row| {
        schedulers.iter().copied().max_by(|a, b| score(a, row).total_cmp(&score(b, row))).unwrap_or_default()
    };
    let (ours, real) = (best(|cell| &cell.predicted), best(|cell| &cell.measured));
    let measured = |scheduler| score(scheduler, |cell| &cell.measured);
    Some((ours.to_owned(), real.to_owned(), 1.0 - measured(ours) / measured(real)))
}

fn count_pairs(cells: &[&Cell], (all, right): &mut (usize, usize)) {
    for (nth, a) in cells.iter().enumerate() {
        for b in &cells[nth + 1..] {
            let same = (&a.measured.process, &a.measured.dir) == (&b.measured.process, &b.measured.dir);
            let (low, high) = if a.measured.bandwidth < b.measured.bandwidth { (a, b) } else { (b, a) };
            if same && high.measured.bandwidth > 1.1 * low.measured.bandwidth {
                *all += 1;
                *right += usize::from(high.predicted.bandwidth > low.predicted.bandwidth);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scheduler: &str, process: &str, bandwidth: f64) -> Row {
        let text = str::to_owned;
        Row {
            job: text("j"),
            scheduler: text(scheduler),
            process: text(process),
            dir: text("read"),
            ios: 1000,
            bandwidth,
            latency_us: 10.0,
            p50_us: 10.0,
            p99_us: 20.0,
            ..Row::default()
        }
    }

    #[test]
    fn a_verdict_that_costs_little_is_right_and_repeats_are_one_cell() {
        let real = [row("none", "a", 100e3), row("none", "a", 102e3), row("bfq", "a", 104e3)];
        let ours = [row("none", "a", 110e3), row("bfq", "a", 104e3)];
        let judged = judge(&Cell::pair(&real, &ours));
        assert_eq!((judged.within, judged.right(), judged.verdicts.len()), ((2, 2), 1, 1));
        assert_eq!(judged.verdicts[0].1, "none");
        let worse = [row("none", "a", 200e3), row("bfq", "a", 300e3)];
        let judged = judge(&Cell::pair(&worse, &ours));
        assert_eq!((judged.right(), judged.pairs), (0, (1, 0)));
    }

    #[test]
    fn what_lies_outside_is_named_and_a_starved_process_too() {
        let cells = Cell::pair(&[row("none", "a", 100e3)], &[Row { p99_us: 50.0, ..row("none", "a", 120e3) }]);
        let figures: Vec<_> = judge(&cells).misses.iter().map(|miss| miss.figure).collect();
        assert_eq!(figures, ["bandwidth", "p99"]);
        let cells = Cell::pair(&[row("none", "a", 10e3)], &[]);
        let figures: Vec<_> = judge(&cells).misses.iter().map(|miss| miss.figure).collect();
        assert_eq!(figures, ["starved", "latency", "p50", "p99"]);
    }
}
