//! A picture of a figure over a number that doubles: a line for each name, and published points beside it.

use plotters::prelude::*;

use crate::plot::colour;

/// Width and height \[pixels\].
const SIZE: (u32, u32) = (560, 320);
const FAINT: RGBColor = RGBColor(222, 226, 230);
const INK: RGBColor = RGBColor(40, 44, 52);

type Trouble = Box<dyn std::error::Error>;

/// What one name did.
#[derive(Clone, Debug, Default)]
pub struct CurveLine {
    /// The name.
    pub name: String,
    /// By the number, which is at least 1: what we say.
    pub ours: Vec<(f64, f64)>,
    /// What others published, which is drawn as rings.
    pub published: Vec<(f64, f64)>,
}

/// The picture as SVG; `across` is what the number counts.
///
/// # Errors
/// If there is nothing to draw, or drawing fails.
pub fn curves(title: &str, across: &str, lines: &[CurveLine]) -> Result<String, String> {
    let all = || lines.iter().flat_map(|line| line.ours.iter().chain(&line.published)).copied();
    if all().next().is_none() {
        return Err("there is no curve to draw".to_owned());
    }
    drawn(title, across, lines, all().fold((1.0, 0.0), |most, point| (point.0.max(most.0), point.1.max(most.1))))
        .map_err(|error| error.to_string())
}

fn drawn(title: &str, across: &str, lines: &[CurveLine], (most, high): (f64, f64)) -> Result<String, Trouble> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let style = |size: u32| ("sans-serif", size).into_font().color(&INK);
        let doublings = most.log2().max(1.0);
        let mut chart = ChartBuilder::on(&root)
            .caption(title, style(15))
            .margin(8)
            .margin_right(16)
            .x_label_area_size(34)
            .y_label_area_size(58)
            .build_cartesian_2d(-0.1..doublings + 0.1, 0.0..1.1 * high.max(f64::MIN_POSITIVE))?;
        let label = |log: &f64| if log.fract() == 0.0 { format!("{:.0}", 2_f64.powf(*log)) } else { String::new() };
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(FAINT)
            .axis_style(INK)
            .label_style(style(12))
            .x_labels(doublings.ceil() as usize + 1)
            .x_label_formatter(&label)
            .x_desc(across)
            .draw()?;
        for (nth, line) in lines.iter().enumerate() {
            let ink = colour(nth);
            let at = |(x, y): &(f64, f64)| (x.log2(), *y);
            chart.draw_series(LineSeries::new(line.ours.iter().map(at), ink.stroke_width(2)))?;
            chart.draw_series(line.ours.iter().map(|point| Circle::new(at(point), 3, ink.filled())))?;
            chart.draw_series(line.published.iter().map(|point| Circle::new(at(point), 5, ink.stroke_width(2))))?;
            let (x, y) = (72 + 118 * (nth as i32 % 4), 30 + 15 * (nth as i32 / 4));
            root.draw(&Rectangle::new([(x, y), (x + 9, y + 9)], ink.filled()))?;
            root.draw(&Text::new(line.name.clone(), (x + 13, y - 1), style(12)))?;
        }
        root.present()?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_points_and_the_published_ones_are_rings() {
        let line = |name: &str| CurveLine {
            name: name.to_owned(),
            ours: vec![(1.0, 300.0), (2.0, 380.0), (10.0, 470.0)],
            published: vec![(1.0, 310.0), (10.0, 470.0)],
        };
        let svg = curves("fig 7", "processes", &[line("none"), line("bfq")]).unwrap();
        assert_eq!(svg.matches("<circle").count(), 2 * 5, "{svg}");
        let lines = svg.split("<polyline").filter(|part| part.contains("stroke-width=\"2\"")).count();
        assert!(lines >= 2, "{svg}");
        assert!(svg.contains("processes") && svg.contains("bfq") && svg.contains("fig 7"));
        assert!(curves("x", "y", &[CurveLine::default()]).is_err());
    }
}
