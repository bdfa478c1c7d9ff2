//! The answer for people: each table beside the published one, and the reasons.

use blksched_measure::{Align, Cell, Column, Table};
use blksched_simulate::experiment::{Experiment, RowAnswer, TableAnswer, short};

use super::arguments::Vmstat;
use super::{Answered, vmstat};
use crate::output::{self, Paint, TableStyle};

/// The list of experiments, and how to run one.
pub(super) fn list(experiments: &[Experiment]) -> String {
    let columns = vec![
        Column::words("name", "experiment"),
        Column::words("title", "what it shows"),
        Column::words("source", "published by"),
        right("rows", "rows claimed"),
        right("fits", "values fitted: here + in presets"),
    ];
    let mut table = Table::new("", columns);
    for experiment in experiments {
        let rows = || experiment.tables.iter().flat_map(|table| &table.rows);
        let claimed = format!("{} of {}", rows().filter(|row| row.claimed).count(), rows().count());
        let (fits, in_presets) = fitted(experiment);
        let fits = format!("{fits} + {in_presets}");
        let Experiment { name, title, source, .. } = experiment;
        let words = [name, title, source, &claimed, &fits].map(|text| Cell::from(text.as_str()));
        table.row(words);
    }
    let how = "`blksched experiment NAME…` or `--all` runs them; `blksched experiment my.toml` runs one of your own.";
    format!("{}\n{how}\n", output::render(&table, TableStyle::Text))
}

/// One experiment's page.
pub(super) fn text(answered: &Answered, vmstat: Vmstat) -> String {
    let Answered { experiment, answer, seeds, outcomes, .. } = answered;
    let plural = if *seeds == 1 { "" } else { "s" };
    let Experiment { name, title, source, .. } = experiment;
    let machine = experiment.machine.as_ref().map_or(String::new(), |machine| format!("; on {machine}"));
    let mut text =
        format!("{name}: {title}\n{source}; {seeds} seed{plural} from {}{machine}\n\n", experiment.first_seed);
    if vmstat == Vmstat::Running {
        text += &vmstat::text(experiment, outcomes, *seeds as usize);
    }
    for table in &answer.tables {
        text += &paint(experiment, table);
        text += "\n";
    }
    for show in &answer.shows {
        text += &format!("{}\n\n", show.trim_end());
    }
    for sentence in &answer.why {
        text += &output::paragraph(sentence);
    }
    if !experiment.fits.is_empty() {
        let fits: Vec<String> = experiment.fits.iter().map(|fit| format!("{} = {}", fit.what, fit.value)).collect();
        text += &output::paragraph(&format!("\nFitted: {}.", fits.join("; ")));
    }
    text
}

fn paint(experiment: &Experiment, answer: &TableAnswer) -> String {
    let columns = vec![
        Column::words("label", ""),
        right("mail", "published"),
        right("ours", "ours"),
        Column::words("range", "[min–max]"),
        right("ratio", "ratio"),
        Column::words("bound", "bound"),
        Column::words("inside", ""),
    ];
    let claimed = answer.rows.iter().filter(|row| row.claimed).count();
    let (rows, (fits, in_presets)) = (answer.rows.len(), fitted(experiment));
    let presets: Vec<&str> = experiment.presets().into_iter().collect();
    let beside = if in_presets == 0 { String::new() } else { format!(", {in_presets} in {}", presets.join(" and ")) };
    let title = format!("{}: {claimed} of {rows} rows claimed, {fits} values fitted{beside}", answer.title);
    let mut table = Table::new(title, columns);
    for row in &answer.rows {
        table.row(cells(row).map(Cell::Text));
    }
    let outside = output::paint("OUTSIDE", Paint::Red);
    output::render(&table, TableStyle::Text).replace("OUTSIDE", &outside)
}

/// The values fitted in the experiment and its machine, and those in the presets that it leans on.
fn fitted(experiment: &Experiment) -> (usize, usize) {
    (experiment.fits.len(), experiment.presets().into_iter().map(blksched_disks::fitted_in).sum())
}

fn right(key: &str, header: &str) -> Column {
    Column { align: Align::Right, ..Column::words(key, header) }
}

fn cells(row: &RowAnswer) -> [String; 7] {
    let shown = |value: Option<f64>| value.map_or("-".to_owned(), short);
    let unit = if row.unit.is_empty() { String::new() } else { format!(" [{}]", row.unit) };
    let ratio = row.mail.filter(|mail| *mail != 0.0).map_or("-".to_owned(), |mail| short(row.ours / mail));
    let bound = match (row.low, row.high) {
        (None, None) if row.covers_mail => "min–max includes it".to_owned(),
        (None, None) => "-".to_owned(),
        (Some(low), None) => format!("≥ {}", short(low)),
        (None, Some(high)) => format!("≤ {}", short(high)),
        (Some(low), Some(high)) => format!("{}–{}", short(low), short(high)),
    };
    let inside = match (row.inside, row.claimed) {
        (Some(true), true) => "inside",
        (Some(false), true) => "OUTSIDE",
        (Some(true), false) => "inside, not claimed",
        (Some(false), false) => "outside, not claimed",
        (None, _) => "not claimed",
    };
    [
        format!("{}{unit}", row.label),
        shown(row.mail),
        short(row.ours),
        format!("[{}–{}]", short(row.ours_min), short(row.ours_max)),
        ratio,
        bound,
        inside.to_owned(),
    ]
}
