//! Stories and the blame table, for people.

use blksched::{Instant, Span};
use blksched_measure::{Cell, Column, Quantity, Table};
use blksched_simulate::story::Story;

use super::explained::Explained;
use crate::output::{TableStyle, paragraph, render};
use blksched_lab::why::blame::Rows;
use blksched_lab::why::phrase::{leg, rule, sentence, time, what};

/// Rows of the blame table printed beside stories, and without them.
const ROWS: usize = 12;
const ALL_ROWS: usize = 60;
/// How many stories come first in a report.
#[cfg(feature = "pictures")]
const STORIES: usize = 10;

pub(super) fn text(explained: &Explained<'_>) -> String {
    let Explained { arguments, workload, scheduler, disk, elapsed, names, plan, teller, notes } = explained;
    let ios: u64 = teller.blame().totals().map(|(_, total)| total.ios).sum();
    let mut text = paragraph(&format!(
        "{workload} under {scheduler}{}, {ios} I/Os",
        match disk {
            Some(disk) => format!(" on {disk}, seed {}: {} of simulated time", arguments.scene.seed, time(*elapsed)),
            None => format!(", as a server recorded it: {}", time(*elapsed)),
        },
    ));
    text += "\n";
    for story in teller.stories() {
        text += &paragraph(&format!(
            "I/O {} at {}: {} took {}. It {}.",
            story.nth,
            moment(story.begun_at),
            what(story, names),
            time(story.latency()),
            sentence(story, names)
        ));
        if arguments.request.is_some() {
            text += "\n";
            text += &render(&pieces(story, explained), TableStyle::Text);
        }
        text += "\n";
    }
    if arguments.request.is_none() && arguments.at.is_none() {
        let rows = Rows::of(teller.blame(), names, &teller.asked().by);
        text += &render(&rows.table(if arguments.blame { ALL_ROWS } else { ROWS }), TableStyle::Text);
        text += "\n";
        text += &rows.culprit(*plan).map(|culprit| paragraph(&culprit)).unwrap_or_default();
    }
    text + &crate::output::notes(notes)
}

/// The stories, a sentence each, and the blame table, which come first in a report.
#[cfg(feature = "pictures")]
pub(super) fn summary(explained: &Explained<'_>) -> (Vec<String>, Table) {
    let Explained { names, teller, plan, .. } = explained;
    let tell = |story: &Story| {
        let (begun, took) = (moment(story.begun_at), time(story.latency()));
        format!("I/O {} at {begun}: {} took {took}. It {}.", story.nth, what(story, names), sentence(story, names))
    };
    let rows = Rows::of(teller.blame(), names, &teller.asked().by);
    let stories = teller.stories().iter().take(STORIES).map(tell);
    (rows.culprit(*plan).into_iter().chain(stories).collect(), rows.table(ROWS))
}

/// A moment of the run, to the microsecond.
fn moment(at: Instant) -> String {
    format!("{:.6}s", at.as_ns() as f64 / 1e9)
}

/// One I/O, piece by piece.
fn pieces(story: &Story, explained: &Explained<'_>) -> Table {
    let mut table = Table::new(
        "piece by piece",
        vec![
            Column::words("from", "from"),
            Column::numbers("length", "length", Quantity::Time),
            Column::words("where", "where"),
            Column::words("what", "what"),
            Column::words("whom", "for whom"),
            Column::numbers("commands", "commands", Quantity::Count),
        ],
    );
    for piece in &story.pieces {
        let whose = piece.part.whose();
        let whom = match whose {
            blksched_simulate::story::Whose::Nobody => "-".to_owned(),
            whose => explained.names.whose(whose),
        };
        let after: Span = piece.from.since(story.begun_at);
        table.row([
            format!("+{}", time(after)).into(),
            Cell::from(piece.length().as_ns() as f64),
            leg(piece.part.leg()).into(),
            rule(piece.part).into(),
            whom.into(),
            u64::from(piece.commands).into(),
        ]);
    }
    table
}
