//! Pictures of sums: percentile curves, the blame matrix, shares; and the legend.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Area, COLOURS, FAINT, INK, Trouble, colour, colour_of, framed, text_style, time};
use crate::percentiles::curves as of_run;
use crate::recorded::{Blame, RecordedRun};

/// Names beside their colours.
pub(super) fn legend(area: &Area<'_>, names: &[String]) -> Result<(), Trouble> {
    let mut x = 14;
    for (nth, name) in names.iter().enumerate().take(COLOURS.len()) {
        area.draw(&Rectangle::new([(x, 8), (x + 12, 20)], colour(nth).filled()))?;
        area.draw(&Text::new(name.clone(), (x + 17, 9), text_style(13)))?;
        x += 34 + 8 * name.chars().count() as i32;
    }
    Ok(())
}

/// Jobs and kinds that have enough I/Os for a curve, in the order of the first run.
pub(super) fn curve_titles(runs: &[RecordedRun]) -> Vec<String> {
    let mut titles = Vec::new();
    for run in runs {
        for curve in of_run(run).into_iter().filter(|curve| curve.ios >= 20) {
            let title = format!("{}: {}", run.jobs[curve.job as usize], curve.way.name());
            if !titles.contains(&title) {
                titles.push(title);
            }
        }
    }
    titles
}

pub(super) fn curves(area: &Area<'_>, runs: &[RecordedRun], title: &str) -> Result<(), Trouble> {
    let named = |run: &RecordedRun| {
        let is_meant = |name: &str, way: &str| format!("{name}: {way}") == title;
        of_run(run).into_iter().find(|curve| is_meant(&run.jobs[curve.job as usize], curve.way.name()))
    };
    let found: Vec<_> = runs.iter().map(named).collect();
    let all = || found.iter().flatten().flat_map(|curve| &curve.ns).map(|ns| (*ns).max(1) as f64);
    let low = all().fold(f64::INFINITY, f64::min).log10().floor();
    let high = all().fold(1.0, f64::max).log10().ceil().max(low + 1.0);
    let mut chart = framed(area, title, 56).margin_right(22).build_cartesian_2d(0.0..4.0, low..high)?;
    let percentile = |nines: &f64| match nines {
        n if *n == 0.0 => "p0".to_owned(),
        n if n.fract() == 0.0 => format!("p{}", 100.0 - 100.0 * 10_f64.powi(-(*n as i32))),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(FAINT)
        .axis_style(INK)
        .label_style(text_style(12))
        .x_labels(5)
        .y_labels((high - low) as usize + 1)
        .x_label_formatter(&percentile)
        .y_label_formatter(&|log| time(10_f64.powf(*log)))
        .draw()?;
    for (nth, curve) in found.iter().enumerate() {
        let Some(curve) = curve else { continue };
        let points = curve.ns.iter().enumerate().map(|(step, ns)| (step as f64 / 20.0, ((*ns).max(1) as f64).log10()));
        chart.draw_series(LineSeries::new(points, colour(nth).stroke_width(if nth == 0 { 4 } else { 2 })))?;
    }
    Ok(())
}

/// At most this many rows and columns.
const MOST: usize = 6;

/// Which jobs waited and for which, in an order shared by all panels, and the longest mean wait of any.
pub(super) struct Matrix {
    who: Vec<String>,
    whom: Vec<String>,
    most: f64,
}

impl Matrix {
    pub(super) fn of(runs: &[RecordedRun]) -> Matrix {
        let waits = || runs.iter().flat_map(waits);
        let by_sum = |name: &dyn Fn(&Blame) -> String| {
            let mut sums: Vec<(String, u64)> = Vec::new();
            for row in waits() {
                let key = name(row);
                match sums.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, sum)) => *sum += row.ns,
                    None => sums.push((key, row.ns)),
                }
            }
            sums.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
            sums.into_iter().take(MOST).map(|(key, _)| key).collect::<Vec<_>>()
        };
        let (who, whom) = (by_sum(&|row| row.who.clone()), by_sum(&whom_of));
        let means = runs.iter().flat_map(|run| who.iter().flat_map(|a| whom.iter().map(|b| mean(run, a, b))));
        let most = means.fold(1.0, f64::max);
        Matrix { who, whom, most }
    }
}

fn waits(run: &RecordedRun) -> impl Iterator<Item = &Blame> {
    run.blame.iter().filter(|row| row.leg != 3)
}

fn whom_of(row: &Blame) -> String {
    if row.whom.is_empty() { "nobody".to_owned() } else { row.whom.clone() }
}

/// How long one job's mean I/O waited for another \[ns\].
fn mean(run: &RecordedRun, waiter: &str, name: &str) -> f64 {
    let sum: u64 = waits(run).filter(|row| row.who == waiter && whom_of(row) == name).map(|row| row.ns).sum();
    sum as f64 / run.totals.get(waiter).map_or(1.0, |(ios, _)| (*ios).max(1) as f64)
}

pub(super) fn blame(area: &Area<'_>, run: &RecordedRun, of: &Matrix) -> Result<(), Trouble> {
    let (width, height) = area.dim_in_pixel();
    area.draw(&Text::new(format!("{}: who waited for whom, per I/O", run.name), (14, 8), text_style(15)))?;
    let (left, top) = (96, 58);
    let cell = (
        (width as i32 - left - 14) / of.whom.len().max(1) as i32,
        ((height as i32 - top - 14) / of.who.len().max(1) as i32).min(54),
    );
    let centred = text_style(12).pos(Pos::new(HPos::Center, VPos::Center));
    for (nth, name) in of.whom.iter().enumerate() {
        let at = (left + cell.0 * nth as i32 + cell.0 / 2, top - 12);
        area.draw(&Text::new(short(name, cell.0 / 7), at, centred.clone()))?;
    }
    for (row, waiter) in of.who.iter().enumerate() {
        let y = top + cell.1 * row as i32;
        area.draw(&Text::new(short(waiter, 12), (14, y + cell.1 / 2 - 7), text_style(12)))?;
        for (column, name) in of.whom.iter().enumerate() {
            let x = left + cell.0 * column as i32;
            let ns = mean(run, waiter, name);
            let shade = colour(1).mix(0.75 * (ns / of.most).sqrt());
            area.draw(&Rectangle::new([(x, y), (x + cell.0 - 2, y + cell.1 - 2)], shade.filled()))?;
            if ns > 0.0 {
                let at = (x + cell.0 / 2, y + cell.1 / 2);
                area.draw(&Text::new(time(ns), at, centred.clone()))?;
            }
        }
    }
    Ok(())
}

fn short(name: &str, most: i32) -> String {
    let most = most.max(4) as usize;
    if name.chars().count() <= most { name.to_owned() } else { name.chars().take(most - 1).chain(['…']).collect() }
}

/// A bar per scheduler: each job's part of the disk's time; behind it, as a line, what it asked for.
pub(super) fn shares(area: &Area<'_>, runs: &[RecordedRun], names: &[String]) -> Result<(), Trouble> {
    let (width, height) = area.dim_in_pixel();
    let (left, top) = (110, 34);
    let each = ((height as i32 - top - 20) / runs.len().max(1) as i32).min(48);
    area.draw(&Text::new("parts of the run in which the disk worked for each job", (14, 8), text_style(15)))?;
    let across = f64::from(width as i32 - left - 60);
    for (nth, run) in runs.iter().enumerate() {
        let y = top + each * nth as i32;
        area.draw(&Text::new(short(&run.name, 14), (14, y + each / 2 - 7), text_style(12)))?;
        let mut x = 0.0;
        for (name, _, given) in &run.shares {
            let (from, to) = (left + (x * across) as i32, left + ((x + given) * across) as i32);
            let bar = Rectangle::new([(from, y + 3), (to, y + each - 3)], colour_of(name, names).filled());
            area.draw(&bar)?;
            if to - from > 34 {
                let style = text_style(12).color(&WHITE).pos(Pos::new(HPos::Center, VPos::Center));
                area.draw(&Text::new(format!("{:.0}%", given * 100.0), ((from + to) / 2, y + each / 2), style))?;
            }
            x += given;
        }
    }
    Ok(())
}
