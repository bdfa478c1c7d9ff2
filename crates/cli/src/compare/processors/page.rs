//! `compare --host cpus=1..64 --report FILE.html`: the curves drawn, above what the terminal shows.

use std::path::Path;

use blksched_lab::Curve;
use blksched_lab::runs::measured::Measured;
use blksched_report::CurveLine;

use crate::failure::Failure;

/// A picture's title, and its figure.
type Picture<'a> = (&'a str, &'a dyn Fn(&Measured) -> f64);

/// Writes the page.
///
/// # Errors
/// If it cannot be drawn or written.
pub(super) fn write(file: &Path, curve: &Curve, text: &str) -> Result<(), Failure> {
    let thousands = |one: &Measured| one.iops() / 1e3;
    let held = |one: &Measured| 100.0 * super::held(one);
    let pictures: [Picture<'_>; 3] = [
        ("thousands of I/Os a second", &thousands),
        ("processor seconds per 100,000 I/Os", &super::seconds),
        ("the busiest lock is held [% of the time]", &held),
    ];
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title></head>\n\
         <body style=\"font-family:sans-serif;max-width:76em;margin:1em auto\">\n<h1>{0} on {1}</h1>\n",
        escaped(&curve.stage.workload.name),
        escaped(&curve.stage.on_what())
    );
    for (title, figure) in pictures {
        let lines: Vec<CurveLine> = (0..curve.points[0].measured.len()).map(|nth| line(curve, nth, figure)).collect();
        page += &blksched_report::curves(title, "processors", &lines).map_err(Failure::Outside)?;
        page.push('\n');
    }
    page += &format!("<pre>{}</pre>\n</body></html>\n", escaped(text));
    std::fs::write(file, page).map_err(|error| Failure::Outside(format!("{}: {error}", file.display())))
}

fn line(curve: &Curve, nth: usize, figure: &dyn Fn(&Measured) -> f64) -> CurveLine {
    let ours = curve.points.iter().map(|point| (f64::from(point.cpus), figure(&point.measured[nth])));
    let ours = ours.filter(|(_, value)| value.is_finite()).collect();
    CurveLine { name: curve.points[0].measured[nth].label(), ours, published: Vec::new() }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
