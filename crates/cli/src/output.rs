//! The way out: tables that fit the terminal, colours only where they show.

use std::io::{self, IsTerminal, Write};

use blksched_measure::{Borders, Table};

/// How tables look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Text,
    Markdown,
}

/// Print `text` as it is.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A table, ready to print.
pub(crate) fn render(table: &Table, look: Look) -> String {
    match look {
        Look::Text => table.text(width(), Borders::Light),
        Look::Markdown => table.markdown(),
    }
}

/// A paragraph: on a terminal broken between words to fit it, further lines indented; else one line.
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

/// The terminal's width; none where the output is no terminal, so that files do not depend on one.
fn width() -> Option<u16> {
    let columns = console::Term::stdout().size_checked().map(|(_, columns)| columns);
    columns.filter(|&columns| io::stdout().is_terminal() && columns >= 40)
}
