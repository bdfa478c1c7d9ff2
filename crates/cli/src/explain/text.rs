//! Stories and the blame table, for people.

use blksched::Instant;
use blksched_lab::why::phrase::time;
use blksched_lab::why::{Explanation, IoStory, Remedies};
use blksched_measure::{Cell, Column, Quantity, Table};

use crate::output::{TableStyle, paragraph, render};

/// Rows of the blame table printed beside stories, and without them.
const ROWS: usize = 12;
const ALL_ROWS: usize = 60;
/// How many stories come first in a report.
#[cfg(feature = "pictures")]
const STORIES: usize = 10;

/// What is printed besides the stories' sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Besides {
    /// The costliest waits of the whole run.
    Blame,
    /// All but the cheapest of them.
    WholeBlame,
    /// Each I/O piece by piece.
    Pieces,
    /// Nothing.
    Nothing,
}

pub(crate) fn text(explanation: &Explanation, besides: Besides, remedies: Option<&Remedies>) -> String {
    let Explanation { workload, scheduler, disk, seed, elapsed, ios, notes, .. } = explanation;
    let mut text = paragraph(&format!(
        "{workload} under {scheduler}{}, {ios} I/Os",
        match disk {
            Some(disk) => format!(" on {disk}, seed {seed}: {} of simulated time", time(*elapsed)),
            None => format!(", as a server recorded it: {}", time(*elapsed)),
        },
    ));
    text += "\n";
    if !matches!(besides, Besides::Pieces | Besides::Nothing) {
        let answer = explanation.answer(remedies);
        text += &answer.iter().map(|sentence| paragraph(sentence)).collect::<String>();
        text += "\n";
    }
    for story in &explanation.stories {
        text += &paragraph(&told(story));
        if besides == Besides::Pieces {
            text += "\n";
            text += &render(&pieces(story), TableStyle::Text);
        }
        text += "\n";
    }
    if let Besides::Blame | Besides::WholeBlame = besides {
        let most = if besides == Besides::Blame { ROWS } else { ALL_ROWS };
        text += &render(&explanation.blame.table(most), TableStyle::Text);
    }
    if let Some(remedies) = remedies {
        text += "\n";
        text += &render(&remedies.table(), TableStyle::Text);
    }
    text + &crate::output::notes(notes)
}

/// The answer, the stories, a sentence each, and the blame table, which come first in a report.
#[cfg(feature = "pictures")]
pub(super) fn summary(explanation: &Explanation, remedies: Option<&Remedies>) -> (Vec<String>, Table) {
    let stories = explanation.stories.iter().take(STORIES).map(told);
    (explanation.answer(remedies).into_iter().chain(stories).collect(), explanation.blame.table(ROWS))
}

/// One I/O in words.
fn told(story: &IoStory) -> String {
    let (begun, took) = (moment(story.begun_at), time(story.latency));
    format!("I/O {} at {begun}: {} took {took}. It {}.", story.nth, story.what, story.sentence)
}

/// A moment of the run, to the microsecond.
fn moment(at: Instant) -> String {
    format!("{:.6}s", at.as_ns() as f64 / 1e9)
}

/// One I/O, piece by piece.
fn pieces(story: &IoStory) -> Table {
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
        table.row([
            format!("+{}", time(piece.from.since(story.begun_at))).into(),
            Cell::from(piece.length.as_ns() as f64),
            piece.leg.into(),
            piece.rule.into(),
            piece.whom.as_deref().unwrap_or("-").into(),
            u64::from(piece.commands).into(),
        ]);
    }
    table
}
