//! A picture of a knob: what moves most, and what moves the other way, over its values, each in parts of what it is at
//! the default.

use anyhow::{Result, anyhow};
use blksched_lab::effects::{Effect, KnobRow, OfKnob};
use plotters::prelude::*;

const SIZE: (u32, u32) = (520, 240);
/// Okabe and Ito's blue and vermilion, which the colour-blind can distinguish.
const COLOURS: [RGBColor; 2] = [RGBColor(0, 114, 178), RGBColor(213, 94, 0)];
const FAINT: RGBColor = RGBColor(222, 226, 230);
const INK: RGBColor = RGBColor(40, 44, 52);

type Trouble = Box<dyn std::error::Error>;

/// The file's name, from the root, and its text.
///
/// # Errors
/// If drawing fails.
pub fn of(knob: &OfKnob) -> Result<(String, String)> {
    let text = drawn(knob).map_err(|error| anyhow!("{} {}: {error}", knob.scheduler, knob.knob))?;
    Ok((format!("docs/knobs/{}", name(knob)), text))
}

/// `mq-deadline.fifo_batch.svg`.
pub fn name(knob: &OfKnob) -> String {
    format!("{}.{}.svg", knob.scheduler, knob.knob)
}

fn drawn(knob: &OfKnob) -> Result<String, Trouble> {
    let load = &knob.loads[0];
    let rows = knob.by_size();
    let base = &load[0];
    let lines: Vec<Vec<(f64, f64)>> = (0..base.figures.len())
        .map(|nth| {
            let part = |row: &&KnobRow| row.figures[nth].mean / base.figures[nth].mean.max(f64::MIN_POSITIVE);
            rows.iter().enumerate().map(|(at, row)| (at as f64, part(row).max(1e-3).log10())).collect()
        })
        .collect();
    let all = || lines.iter().flatten().map(|(_, y)| *y);
    let (low, high) = (all().fold(-0.1, f64::min) - 0.1, all().fold(0.1, f64::max) + 0.1);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let style = ("sans-serif", 12).into_font().color(&INK);
        let title = format!("{} {}: {}", knob.scheduler, knob.knob, base.place());
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 14).into_font().color(&INK))
            .margin(8)
            .margin_right(24)
            .x_label_area_size(24)
            .y_label_area_size(48)
            .build_cartesian_2d(-0.2..rows.len() as f64 - 0.8, low..high)?;
        let label = |at: &f64| {
            let row = (at.fract() == 0.0 && *at >= 0.0).then(|| rows.get(*at as usize)).flatten();
            row.map_or_else(String::new, |row| match row.value == base.value {
                true => format!("{} (default)", row.value),
                false => row.value.clone(),
            })
        };
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(FAINT)
            .axis_style(INK)
            .label_style(style.clone())
            .x_labels(rows.len())
            .y_labels(5)
            .x_label_formatter(&label)
            .y_label_formatter(&|log| format!("× {:.2}", 10_f64.powf(*log)))
            .draw()?;
        for (nth, line) in lines.iter().enumerate() {
            chart.draw_series(LineSeries::new(line.iter().copied(), COLOURS[nth].stroke_width(2)))?;
            chart.draw_series(line.iter().map(|point| Circle::new(*point, 3, COLOURS[nth].filled())))?;
            let shown = &base.figures[nth];
            let named = format!("{}: {}", shown.job, shown.figure);
            let y = 30 + 15 * nth as i32;
            root.draw(&Rectangle::new([(64, y), (74, y + 8)], COLOURS[nth].filled()))?;
            root.draw(&Text::new(named, (80, y - 1), style.clone()))?;
        }
        if base.effect != Effect::Figure {
            root.draw(&Text::new("no figure moves by 5 % on any of these loads", (80, 100), style))?;
        }
        root.present()?;
    }
    Ok(text + "\n")
}
