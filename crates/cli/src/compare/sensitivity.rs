//! What a verdict depends on, as a table and as JSON.

use blksched::Catalogue;
use blksched_disks::sheet::{self, SheetLine};
use blksched_disks::{DiskSpec, Fit};
use blksched_lab::FitSearch;
use blksched_lab::search::sensitivity::{Moved, QUESTION, SEEDS, Sensitivity, of_disk};
use blksched_measure::Table;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::input::OnDisk;
use crate::output::words;
use crate::progress::Followed;

/// Which figures of the bare disk move when this fitted value is set to this text, in words.
type Moves<'a> = &'a dyn Fn(&Fit, &str) -> String;

/// The sensitivity of a disk by itself: each fitted value at both ends of its range, the figures of the bare disk that
/// move, and the verdict of the default load. `None` if nothing was fitted.
pub(crate) fn disk_table(disk: &DiskSpec, catalogue: &Catalogue) -> Result<Option<Table>, Failure> {
    let Some(found) = of_disk(&disk.name, catalogue, &OnDisk, &Followed::new())? else { return Ok(None) };
    let before = sheet::data_sheet(disk);
    let moves = |fit: &Fit, end: &str| match disk.changed(&[(fit.key.clone(), end.to_owned())]) {
        Ok(changed) => figures_that_move(&before, &sheet::data_sheet(&changed)),
        Err(error) => error.to_string(),
    };
    let mut table = table(&found, Some(&moves));
    table.note(format!(
        "verdict: of `blksched compare {QUESTION} --disk {}` with {SEEDS} seeds; {}",
        disk.name,
        found.sentence()
    ));
    Ok(Some(table))
}

/// `sequential_read -6 %`, for the figures that move by at least one per cent.
fn figures_that_move(before: &[SheetLine], after: &[SheetLine]) -> String {
    let moved = |line: &SheetLine| {
        let now = after.iter().find(|other| other.figure == line.figure)?.model;
        let percent = 100.0 * (now / line.model - 1.0);
        (percent.abs() >= 1.0).then(|| format!("{} {percent:+.0} %", line.figure.name()))
    };
    let moved: Vec<String> = before.iter().filter_map(moved).collect();
    if moved.is_empty() { "none".to_owned() } else { moved.join(", ") }
}

/// A row for each value and end.
pub(super) fn table(of: &Sensitivity, figures: Option<Moves<'_>>) -> Table {
    let mut columns = vec![("key", "fitted value"), ("value", "here"), ("end", "end of its range")];
    columns.extend(figures.map(|_| ("figures", "bare figures that move")));
    columns.push(("verdict", "verdict there"));
    let title =
        format!("What depends on the fitted values of {} (with them as they are: {})", of.disk, of.base.in_words());
    let mut table = words(&title, &columns);
    let verdict = |moved: &Moved| match &moved.verdict {
        None => "- (a disk of another size)".to_owned(),
        Some(said) if said.verdict == of.base.verdict => said.in_words(),
        Some(said) => format!("{} (!)", said.in_words()),
    };
    for moved in &of.moved {
        let [(key, end)] = &moved.changes[..] else { continue };
        // What is no number of the disk or the host: that processes begin together.
        let fit = of.fits.iter().find(|fit| fit.key == *key);
        let value = fit.map_or("drawn", |fit| fit.value.as_str());
        let mut cells = vec![key.as_str().into(), value.into(), end.as_str().into()];
        cells.extend(figures.map(|figures| fit.map_or_else(String::new, |fit| figures(fit, end)).into()));
        cells.push(verdict(moved).into());
        table.row(cells);
    }
    for (nth, moved) in of.corners().enumerate() {
        let mut cells = vec!["all together".into(), "".into(), format!("drawn, {}", nth + 1).into()];
        cells.extend(figures.map(|_| "".into()));
        cells.push(verdict(moved).into());
        table.row(cells);
    }
    table.note("(!): another verdict; the ranges, under [fit] in the disk's file, are plausible, not measured");
    table
}

pub(super) fn json(of: &Sensitivity) -> Value {
    let change = |(key, value): &(String, String)| json!({ "key": key, "value": value });
    let moved_to = |moved: &Moved| {
        json!({
            "changes": moved.changes.iter().map(change).collect::<Vec<_>>(),
            "verdict": moved.verdict.as_ref().map(|said| &said.verdict),
            "times_better": moved.verdict.as_ref().and_then(|said| said.ratio),
            "turns": of.turns(moved),
        })
    };
    json!({
        "fitted": of.fits.len(),
        "tried": of.tried,
        "one_at_a_time": of.how == FitSearch::Each,
        "verdict": of.base.verdict,
        "moved": of.moved.iter().map(moved_to).collect::<Vec<_>>(),
    })
}
