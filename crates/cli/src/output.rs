//! The way out: tables that fit the terminal, colours only where they show.

use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use blksched_measure::{Borders, Table};

/// How tables look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Text,
    Markdown,
}

/// Print `text` as it is.
pub(crate) fn print(text: &str) -> io::Result<()> {
    if paged(text) {
        return Ok(());
    }
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// What does not fit on a terminal goes through `PAGER` (`less -FRX` unless it is said; empty: none). False if it was
/// not shown.
fn paged(text: &str) -> bool {
    let Some((rows, _)) = console::Term::stdout().size_checked().filter(|_| io::stdout().is_terminal()) else {
        return false;
    };
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less -FRX".to_owned());
    if text.lines().count() < usize::from(rows) || pager.trim().is_empty() {
        return false;
    }
    let spawned = Command::new("sh").args(["-c", &pager]).stdin(Stdio::piped()).spawn();
    let Ok(mut pager) = spawned else { return false };
    // Who leaves the pager early has seen enough.
    let _ = pager.stdin.take().map(|mut stdin| stdin.write_all(text.as_bytes()));
    pager.wait().is_ok_and(|status| status.success())
}

/// A table, ready to print.
pub(crate) fn render(table: &Table, look: Look) -> String {
    match look {
        Look::Text => table.text(width(), Borders::Light),
        Look::Markdown => table.markdown(),
    }
}

/// A paragraph: broken between words to fit, further lines indented.
pub(crate) fn paragraph(text: &str) -> String {
    let width = width().map_or(usize::MAX, usize::from);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a line");
        if !last.trim().is_empty() && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("  {word}"));
        } else {
            let gap = if last.is_empty() { "" } else { " " };
            *last += &format!("{gap}{word}");
        }
    }
    lines.join("\n") + "\n"
}

/// What a user should know besides, a paragraph each.
pub(crate) fn notes(notes: &[String]) -> String {
    notes.iter().map(|note| paragraph(&format!("note: {note}"))).collect()
}

/// How wide lines may be: as `COLUMNS` says, else as the terminal is, and [`PIPE`] where there is none; anything after
/// [`be_wide`].
fn width() -> Option<u16> {
    if WIDE.load(Ordering::Relaxed) {
        return None;
    }
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse::<u16>().ok());
    let terminal = || console::Term::stdout().size_checked().filter(|_| io::stdout().is_terminal());
    let columns = said.or_else(|| terminal().map(|(_, columns)| columns)).unwrap_or(PIPE);
    Some(columns.max(NARROWEST))
}

/// In a pipe or a file.
const PIPE: u16 = 120;
/// No table is narrower.
const NARROWEST: u16 = 40;
static WIDE: AtomicBool = AtomicBool::new(false);

/// From now on lines are as long as they like.
pub(crate) fn be_wide() {
    WIDE.store(true, Ordering::Relaxed);
}
