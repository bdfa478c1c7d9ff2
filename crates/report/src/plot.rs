//! Static pictures for documents, as SVG: a panel for each scheduler, side by side.
//!
//! Points are counted into cells first, so that a picture's size does not depend on the run's.

mod cells;
mod regions;
mod shapes;

use plotters::prelude::*;

use crate::recorded::RecordedRun;

/// Which picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotKind {
    /// Where on the disk the commands lie, over time.
    Lba,
    /// Latency by percentile.
    Latency,
    /// What the scheduler decided.
    Timeline,
    /// Who waited for whom.
    Blame,
    /// What each job got of the disk's time.
    Shares,
}

/// Width of a panel, and its height \[pixels\].
const PANEL: (u32, u32) = (460, 300);
/// Side by side.
const ACROSS: usize = 2;
/// Okabe and Ito's colours, which the colour-blind can distinguish, on light and on dark.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(93, 58, 155),
];
const FAINT: RGBColor = RGBColor(222, 226, 230);
const INK: RGBColor = RGBColor(40, 44, 52);

/// An error of drawing.
type Trouble = Box<dyn std::error::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// The picture of these runs.
///
/// # Errors
/// If there is no run to draw, or drawing fails.
pub fn svg(runs: &[RecordedRun], kind: PlotKind) -> Result<String, String> {
    if runs.is_empty() {
        return Err("there is no run to draw".to_owned());
    }
    let together = matches!(kind, PlotKind::Latency | PlotKind::Shares);
    let panels = if kind == PlotKind::Latency { shapes::curve_titles(runs).len() } else { runs.len() };
    let panels = if kind == PlotKind::Shares { 1 } else { panels }.max(1);
    let rows = panels.div_ceil(ACROSS) as u32;
    let across = panels.min(ACROSS) as u32;
    let names = if together { Vec::new() } else { jobs(runs) };
    let legend = if kind == PlotKind::Blame { 0 } else { 26 };
    let size = (PANEL.0 * across, PANEL.1 * rows + legend);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let drawn = draw(&root, runs, kind, &names, (rows as usize, across as usize, legend));
        drawn.and_then(|()| root.present().map_err(Into::into)).map_err(|error: Trouble| error.to_string())?;
    }
    Ok(text)
}

fn draw(
    root: &Area<'_>,
    runs: &[RecordedRun],
    kind: PlotKind,
    names: &[String],
    (rows, across, legend): (usize, usize, u32),
) -> Result<(), Trouble> {
    root.fill(&WHITE)?;
    let (top, rest) = root.split_vertically(legend);
    if legend > 0 {
        let told: Vec<String> = match kind {
            PlotKind::Latency => runs.iter().map(|run| run.name.clone()).collect(),
            PlotKind::Shares => jobs(runs),
            _ => names.to_vec(),
        };
        shapes::legend(&top, &told)?;
    }
    let areas = rest.split_evenly((rows, across));
    match kind {
        PlotKind::Latency => {
            for (area, title) in areas.iter().zip(shapes::curve_titles(runs)) {
                shapes::curves(area, runs, &title)?;
            }
        }
        PlotKind::Shares => shapes::shares(&areas[0], runs, &jobs(runs))?,
        PlotKind::Lba => {
            let used = regions::regions(runs);
            for (area, run) in areas.iter().zip(runs) {
                cells::lba(area, run, names, &used)?;
            }
        }
        PlotKind::Timeline => {
            let window = cells::window(runs);
            for (area, run) in areas.iter().zip(runs) {
                cells::timeline(area, run, names, window)?;
            }
        }
        PlotKind::Blame => {
            let all = shapes::Matrix::of(runs);
            for (area, run) in areas.iter().zip(runs) {
                shapes::blame(area, run, &all)?;
            }
        }
    }
    Ok(())
}

/// Every job of any run, in order.
fn jobs(runs: &[RecordedRun]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in runs.iter().flat_map(|run| &run.jobs) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

pub(crate) fn colour(nth: usize) -> RGBColor {
    COLOURS[nth % COLOURS.len()]
}

/// A job's colour, by its index among all.
fn colour_of(name: &str, names: &[String]) -> RGBColor {
    names.iter().position(|known| known == name).map_or(RGBColor(122, 122, 122), colour)
}

/// A picture with its name above it, and room for labels of this width on its left.
fn framed<'a, 'b>(area: &'a Area<'b>, name: &str, left: u32) -> ChartBuilder<'a, 'b, SVGBackend<'b>> {
    let mut chart = ChartBuilder::on(area);
    chart.caption(name, text_style(16)).margin(8).x_label_area_size(34).y_label_area_size(left);
    chart
}

fn text_style(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

/// A time, short.
fn time(ns: f64) -> String {
    let (size, unit) = match ns {
        ns if ns >= 1e9 => (ns / 1e9, "s"),
        ns if ns >= 1e6 => (ns / 1e6, "ms"),
        ns if ns >= 1e3 => (ns / 1e3, "µs"),
        ns => (ns, "ns"),
    };
    if size >= 100.0 || size.fract() == 0.0 { format!("{size:.0}{unit}") } else { format!("{size:.1}{unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::{Blame, RecordedCommand, RecordedIo, Stretch, StretchKind, Way};

    /// A process that writes sequentially, and one that reads at random.
    pub(super) fn two() -> RecordedRun {
        let mut run = RecordedRun {
            name: "planted".to_owned(),
            elapsed_ns: 1_000_000,
            disk_sectors: 1_000,
            processes: vec!["writer".to_owned(), "reader".to_owned()],
            jobs: vec!["writer".to_owned(), "reader".to_owned()],
            jobs_of: vec![0, 1],
            lanes: vec!["writer".to_owned()],
            words: vec![String::new()],
            ..RecordedRun::default()
        };
        for nth in 0..100_u64 {
            let sector = if nth % 2 == 0 { nth * 5 } else { (nth * 379) % 1_000 };
            let issued_ns = nth * 10_000;
            run.sent.push(RecordedCommand {
                process: (nth % 2) as u32,
                way: Way::Write,
                sector,
                sectors: 5,
                queued_ns: issued_ns,
                issued_ns,
                ended_ns: issued_ns + 9_000,
                io: nth + 1,
            });
            run.ios.push(RecordedIo {
                nth: nth + 1,
                process: (nth % 2) as u32,
                way: Way::Write,
                sector,
                sectors: 5,
                begun_ns: issued_ns,
                latency_ns: 1_000 * (nth + 1),
                pieces: (0, 0),
            });
        }
        run.stretches.push(Stretch { lane: 0, kind: StretchKind::Turn, from_ns: 0, to_ns: 500_000, why: 0 });
        run.stretches.push(Stretch { lane: 0, kind: StretchKind::Idle, from_ns: 500_000, to_ns: 600_000, why: 0 });
        let (who, whom, rule) = ("reader".to_owned(), "writer".to_owned(), "held its turn".to_owned());
        run.blame.push(Blame { who, whom, rule, leg: 1, ns: 5_000_000, ios: 50 });
        run.totals.insert("reader".to_owned(), (50, 9_000_000));
        run.shares = vec![("reader".to_owned(), 0.9, 0.3), ("writer".to_owned(), 0.5, 0.5)];
        run
    }

    #[test]
    fn every_picture_is_drawn_and_names_what_it_shows() {
        let runs = [two(), RecordedRun { name: "again".to_owned(), ..two() }];
        let words = [
            (PlotKind::Lba, "again"),
            (PlotKind::Latency, "reader: write"),
            (PlotKind::Timeline, "writer"),
            (PlotKind::Blame, "reader"),
            (PlotKind::Shares, "planted"),
        ];
        for (kind, word) in words {
            let text = svg(&runs, kind).unwrap();
            assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{kind:?}");
            assert!(text.contains(word), "{kind:?} does not name {word}");
        }
        assert!(svg(&[], PlotKind::Lba).is_err());
    }

    #[test]
    fn a_timeline_shows_the_same_part_of_every_run_and_nothing_without_a_width() {
        let batch = |nth: u64| Stretch {
            lane: 0,
            kind: StretchKind::Batch,
            from_ns: nth * 1_000,
            to_ns: nth * 1_000 + 1,
            why: 0,
        };
        let of = |batches: u64| RecordedRun {
            lanes: vec!["writes".to_owned()],
            stretches: (0..batches).map(batch).collect(),
            ..two()
        };
        let runs = [of(1_000), of(10)];
        let (from, to) = cells::window(&runs);
        assert!(from > 0 && to < 1_000_000, "{from} to {to}: 60 of 1000 bars");
        assert_eq!(cells::window(&[of(10), of(20)]), (0, 1_000_000), "all of it");
        let text = svg(&runs, PlotKind::Timeline).unwrap();
        assert_eq!(text.matches("(of 0.0)").count(), 2, "both panels say that they show a part");
        assert!(!text.contains("width=\"0\""), "a batch that cannot be seen");
        assert!(text.matches("fill=\"#7A7A7A\"").count() >= 50, "the batches of the first");
        for colour in ["#0072B2", "#D55E00"] {
            let bars = text.matches(&format!("fill=\"{colour}\"")).count();
            assert!(bars <= 1, "a batch of writes has a process's colour: {bars} × {colour}");
        }
    }

    #[test]
    fn a_run_with_a_million_commands_is_no_larger_picture() {
        let mut run = two();
        let one = run.sent[1];
        let many =
            (0..200_000_u64).map(|nth| RecordedCommand { sector: (nth * 7919) % 1_000, issued_ns: nth * 5, ..one });
        run.sent = many.collect();
        let text = svg(&[run], PlotKind::Lba).unwrap();
        assert!(text.len() < 1 << 20, "{} bytes", text.len());
    }

    #[test]
    fn a_name_is_text_in_an_svg() {
        let run = RecordedRun { name: "<script>alert(1)</script>".to_owned(), ..two() };
        assert!(!svg(&[run], PlotKind::Lba).unwrap().contains("<script>"));
    }
}
