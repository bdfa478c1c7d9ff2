//! Measured and predicted values side by side, and whether the agreement is good enough: 95 % of the cells within 20 %,
//! an error of at most 30 % in nine of ten, and all verdicts right but one of each disk.

use anyhow::Result;
use blksched_simulate::reality::{Cell, RealitySetting, Row, Set, judge};

use super::{Job, of};
use crate::Verdict;

/// # Errors
/// If a job cannot be predicted.
pub fn report(set: &Set, jobs: &[Job], rows: &[Row]) -> Result<Verdict> {
    let mut good = true;
    for setting in &set.settings {
        if of(rows, &setting.name).next().is_some() {
            good &= one(set, setting, jobs, rows).map_err(anyhow::Error::msg)?;
        }
    }
    Ok(Verdict::when(good))
}

fn one(set: &Set, setting: &RealitySetting, jobs: &[Job], rows: &[Row]) -> Result<bool, String> {
    let calibrating = jobs.iter().find(|job| job.name == set.calibrates);
    let chain = match calibrating {
        Some(job) => set.fitted(setting, &job.text, rows)?,
        None => 0.0,
    };
    let bench = set.bench(setting, chain)?;
    let measured: Vec<Row> = of(rows, &setting.name).cloned().collect();
    let mut predicted = Vec::new();
    for job in jobs {
        let mut schedulers: Vec<&str> =
            measured.iter().filter(|row| row.job == job.name).map(|row| row.scheduler.as_str()).collect();
        schedulers.sort_unstable();
        schedulers.dedup();
        predicted.extend(set.predict(&bench, (&job.name, &job.text), schedulers)?);
    }
    predicted.iter_mut().for_each(|row| row.setting.clone_from(&setting.name));
    let cells = Cell::pair(&measured, &predicted);
    let judged = judge(&cells);
    println!("\n{}, the way to it adds {chain:.0} us", setting.name);
    cells.iter().for_each(|cell| println!("{}", line(cell)));
    let (near, all) = judged.within;
    let (median, most) = (100.0 * judged.error(0.5), 100.0 * judged.error(0.9));
    let (held, of) = judged.held;
    println!(
        "within 20 %: {near} of {all}, above 20 KiB/s {held} of {of}; error {median:.0} % / {most:.0} % (median / p90)"
    );
    for (job, ours, real, regret) in &judged.verdicts {
        let what = if *regret <= 0.05 { "right" } else { "WRONG" };
        println!("  {what}: {job}: {ours} predicted, {real} measured best, {:.0} % worse", 100.0 * regret);
    }
    judged
        .misses
        .iter()
        .for_each(|miss| println!("  outside: {} {} {:.2}", miss.place.join(" "), miss.figure, miss.ratio));
    let wrong = judged.verdicts.len() - judged.right();
    Ok(near * 100 >= all * 95 && judged.error(0.9) <= 0.3 && wrong <= 1)
}

fn line(Cell { measured: real, predicted: ours }: &Cell) -> String {
    format!(
        "{:<26} {:<14} {:<12} {:>9.1} {:>9.1} KiB/s {:>5.2} {:>9.2} {:>9.2} ms",
        real.job,
        format!("{} {}", real.process, real.dir),
        real.scheduler,
        real.bandwidth / 1024.0,
        ours.bandwidth / 1024.0,
        ours.bandwidth / real.bandwidth,
        real.latency_us / 1e3,
        ours.latency_us / 1e3
    )
}
