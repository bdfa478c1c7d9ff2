//! Pictures over time: commands by place, and decisions by lane.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::regions::{DiskRegion, place};
use super::{Area, FAINT, INK, Trouble, colour_of, framed, text_style};
use crate::recorded::{RecordedRun, StretchKind};

/// Cells across and down.
const ACROSS: usize = 230;
const DOWN: usize = 110;

/// Commands by place and time; unused parts of the disk are shortened.
pub(super) fn lba(area: &Area<'_>, run: &RecordedRun, names: &[String], used: &[DiskRegion]) -> Result<(), Trouble> {
    let seconds = (run.elapsed_ns as f64 / 1e9).max(1e-9);
    let mut chart = framed(area, &run.name, 62).build_cartesian_2d(0.0..seconds, 0.0..1.0)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(FAINT)
        .axis_style(INK)
        .label_style(text_style(12))
        .disable_y_mesh()
        .y_labels(0)
        .x_desc("seconds")
        .draw()?;
    let right = text_style(12).pos(Pos::new(HPos::Right, VPos::Center));
    for region in used {
        let size = format!("+{}", bytes(region.to - region.from));
        for (label, height) in [(bytes(region.from), region.low), (size, region.high)] {
            chart.draw_series([PathElement::new([(0.0, height), (seconds, height)], FAINT)])?;
            let (x, y) = chart.backend_coord(&(0.0, height));
            let (left, top) = area.get_base_pixel();
            area.draw(&Text::new(label, (x - left - 6, y - top), right.clone()))?;
        }
    }
    // A cell belongs to the process with the most commands in it; equal neighbours are one rectangle.
    let mut counts = vec![0_u32; ACROSS * DOWN * names.len().max(1)];
    let part = |value: f64, cells: usize| ((value * cells as f64) as usize).min(cells - 1);
    for sent in run.sent.iter().filter(|sent| sent.sectors > 0) {
        let job = run.jobs_of.get(sent.process as usize).and_then(|&job| run.jobs.get(job as usize));
        let Some(nth) = job.and_then(|job| names.iter().position(|name| name == job)) else { continue };
        let x = part(sent.issued_ns as f64 / run.elapsed_ns.max(1) as f64, ACROSS);
        let y = part(place(used, sent.sector), DOWN);
        counts[(nth * DOWN + y) * ACROSS + x] += 1;
    }
    let leader = |x: usize, y: usize| {
        let count = |nth: &usize| counts[(nth * DOWN + y) * ACROSS + x];
        (0..names.len()).max_by_key(|nth| (count(nth), usize::MAX - nth)).filter(|nth| count(nth) > 0)
    };
    let step = (seconds / ACROSS as f64, 1.0 / DOWN as f64);
    for y in 0..DOWN {
        let mut x = 0;
        while x < ACROSS {
            let who = leader(x, y);
            let end = (x..ACROSS).find(|&next| leader(next, y) != who).unwrap_or(ACROSS);
            if let Some(nth) = who {
                let from = (x as f64 * step.0, y as f64 * step.1);
                let to = (end as f64 * step.0, from.1 + step.1);
                let style = colour_of(&names[nth], names).filled();
                chart.draw_series([Rectangle::new([from, to], style)])?;
            }
            x = end;
        }
    }
    Ok(())
}

/// This many sectors, in short form.
fn bytes(sectors: u64) -> String {
    let (mut size, mut unit) = (sectors as f64 * 512.0, 0);
    while size >= 1024.0 && unit < 4 {
        (size, unit) = (size / 1024.0, unit + 1);
    }
    let name = ["B", "KiB", "MiB", "GiB", "TiB"][unit];
    if size >= 10.0 || size.fract() == 0.0 { format!("{size:.0} {name}") } else { format!("{size:.1} {name}") }
}

/// The most bars of a lane; the first part of the run that has no more is shown.
const BARS: usize = 60;
/// What lasts has a width, of one of so many: with two of 500 pixels, rounding leaves one of them.
const PIXELS: f64 = 200.0;

/// The part of the runs that is shown \[ns\], the same in all panels: all of it, or the shortest middle part with as
/// many bars as a panel can show.
pub(super) fn window(runs: &[RecordedRun]) -> (u64, u64) {
    let own = |run: &RecordedRun| {
        let most = BARS * run.lanes.len().max(1);
        match run.stretches.len() > most {
            true => {
                let first = run.stretches.len() / 2 - most / 2;
                (run.stretches[first].from_ns, run.stretches[first + most - 1].to_ns)
            }
            false => (0, run.elapsed_ns),
        }
    };
    let windows: Vec<(u64, u64)> = runs.iter().map(own).collect();
    let shortest = windows.iter().copied().min_by_key(|(from, to)| to - from).unwrap_or_default();
    // A window that covers a whole run hides nothing of the longer ones.
    let is_whole = runs.iter().zip(&windows).all(|(run, window)| *window == (0, run.elapsed_ns));
    if is_whole {
        return (0, runs.iter().map(|run| run.elapsed_ns).max().unwrap_or(0));
    }
    // It is moved to where every run was still going.
    let ended = runs.iter().map(|run| run.elapsed_ns).min().unwrap_or(0).max(shortest.1 - shortest.0);
    let late = shortest.1.saturating_sub(ended);
    (shortest.0 - late.min(shortest.0), shortest.1 - late.min(shortest.0))
}

/// The scheduler's decisions in this part of the run.
pub(super) fn timeline(
    area: &Area<'_>,
    run: &RecordedRun,
    names: &[String],
    (from, to): (u64, u64),
) -> Result<(), Trouble> {
    let lanes = run.lanes.len().max(1);
    let seconds = |ns: u64| ns as f64 / 1e9;
    let mut chart =
        framed(area, &run.name, 78).build_cartesian_2d(seconds(from)..seconds(to.max(from + 1)), 0.0..lanes as f64)?;
    let label = |value: &f64| {
        let lane = (lanes as f64 - value).floor() as usize;
        if value.fract() == 0.5 { run.lanes.get(lane).cloned().unwrap_or_default() } else { String::new() }
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(FAINT)
        .axis_style(INK)
        .label_style(text_style(12))
        .x_desc(description(run, (from, to)))
        .y_labels(2 * lanes + 1)
        .y_label_formatter(&label)
        .draw()?;
    let seen = |stretch: &&crate::recorded::Stretch| stretch.to_ns >= from && stretch.from_ns <= to;
    for stretch in run.stretches.iter().filter(|stretch| stretch.kind != StretchKind::Tokens).filter(seen) {
        let top = (lanes - 1 - stretch.lane as usize) as f64;
        let (low, high) = (top + 0.15, top + 0.85);
        let (begin, end) = (seconds(stretch.from_ns.max(from)), seconds(stretch.to_ns.min(to)));
        let end = end.max(begin + seconds(to - from) / PIXELS);
        let lane = &run.lanes[stretch.lane as usize];
        let name = lane.split('/').next().unwrap_or(lane);
        // Batches of reads or writes are nobody's: no process's colour.
        let colour = colour_of(name, names);
        if stretch.kind != StretchKind::Idle {
            chart.draw_series([Rectangle::new([(begin, low), (end, high)], colour.mix(0.8).filled())])?;
            continue;
        }
        chart.draw_series([Rectangle::new([(begin, low), (end, high)], colour.stroke_width(1))])?;
        let gap = seconds(to - from) / 120.0;
        let lines = (0..).map(|nth| begin + f64::from(nth) * gap).take_while(|at| *at < end).take(200);
        for at in lines {
            let until = (at + gap).min(end);
            let part = (until - at) / gap;
            chart.draw_series([PathElement::new([(at, low), (until, low + (high - low) * part)], colour)])?;
        }
    }
    Ok(())
}

/// What is below a panel: the part of the run, if it is not all of it.
fn description(run: &RecordedRun, (from, to): (u64, u64)) -> String {
    let part = if from > 0 || to < run.elapsed_ns {
        format!(" (of {:.1})", run.elapsed_ns as f64 / 1e9)
    } else {
        String::new()
    };
    format!("seconds{part}; hatched: the disk is left idle on purpose")
}
