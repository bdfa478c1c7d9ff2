//! Output: tables that fit the terminal, colours only where they are visible.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use blksched_measure::{Borders, Column, Table};
use blksched_text::shown_name;
use clap::ValueEnum;
use terminal_size::{Height, Width, terminal_size_of};

use crate::failure::Failure;
use crate::half;

/// How tables look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableStyle {
    Text,
    Markdown,
}

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// In pipes and files, too.
    Always,
    /// Not at all.
    Never,
}

impl Colour {
    /// From now on.
    pub(crate) fn apply(self) {
        match self {
            Colour::Auto => anstream::ColorChoice::Auto,
            Colour::Always => anstream::ColorChoice::Always,
            Colour::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// What is set off, as a terminal is told; it is taken away again where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// A heading, or what to keep.
    Bold,
    /// What to do.
    Green,
    /// What is not to be done, though it looks good.
    Yellow,
    /// What is wrong.
    Red,
}

/// Every line of a text, set off.
pub(crate) fn paint(text: &str, paint: Paint) -> String {
    let code = match paint {
        Paint::Bold => "1",
        Paint::Green => "1;32",
        Paint::Yellow => "33",
        Paint::Red => "1;31",
    };
    let line = |line: &str| match line.strip_suffix('\n') {
        Some(line) => format!("\x1b[{code}m{line}\x1b[0m\n"),
        None => format!("\x1b[{code}m{line}\x1b[0m"),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// What a test keeps instead of printing it, as a process would print it into a pipe.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptOutput {
    pub(crate) text: String,
    /// What goes to standard error.
    pub(crate) errors: String,
    /// How wide lines may be.
    columns: u16,
}

thread_local! {
    static KEPT: RefCell<Option<KeptOutput>> = const { RefCell::new(None) };
}

/// What `work` prints on this thread, instead of printing it.
pub(crate) fn kept_for_test<T>(columns: u16, work: impl FnOnce() -> T) -> (T, KeptOutput) {
    KEPT.set(Some(KeptOutput { columns, ..KeptOutput::default() }));
    let result = work();
    (result, KEPT.take().unwrap_or_default())
}

/// Whether a test keeps what is printed on this thread.
pub(crate) fn is_kept_for_test() -> bool {
    KEPT.with_borrow(Option::is_some)
}

/// Print a line to standard error, without its colours where they are not wanted.
pub(crate) fn warn(text: &str) {
    let text = shown_name(text);
    let is_kept = KEPT.with_borrow_mut(|kept| {
        let kept = kept.as_mut()?;
        kept.errors += &anstream::adapter::strip_str(&text).to_string();
        kept.errors.push('\n');
        Some(())
    });
    if is_kept.is_none() {
        anstream::eprintln!("{text}");
    }
}

thread_local! {
    /// What was printed so far, for a file.
    static FOR_FILE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work`; what it prints goes into this file, if there is one.
pub(crate) fn into(file: Option<String>, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    match file {
        Some(file) => into_file(Path::new(&file), work),
        None => work(),
    }
}

/// Runs `work` and writes into `file`, when all is done, what it prints.
fn into_file(file: &Path, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    FOR_FILE.set(Some(String::new()));
    let done = work();
    let text = FOR_FILE.take().unwrap_or_default();
    done?;
    half::write(file, &text).map_err(|error| Failure::Outside(format!("{}: {error}", file.display())))
}

/// Print `text`, without its colours where they are not wanted.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let text = &shown_name(text);
    let is_kept = FOR_FILE.with_borrow_mut(|kept| {
        *kept.as_mut()? += &anstream::adapter::strip_str(text).to_string();
        Some(())
    });
    if is_kept.is_some() {
        return Ok(());
    }
    let is_kept = KEPT.with_borrow_mut(|kept| {
        kept.as_mut()?.text += &anstream::adapter::strip_str(text).to_string();
        Some(())
    });
    if is_kept.is_some() || paged(text) {
        return Ok(());
    }
    if memchr::memchr(b'\x1b', text.as_bytes()).is_none() {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        return out.flush();
    }
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// What does not fit on a terminal goes through `PAGER` (`less -FRX` unless it is said; empty: none). False if it was
/// not shown.
fn paged(text: &str) -> bool {
    let Some((_, Height(rows))) = terminal_size_of(io::stdout()).filter(|_| io::stdout().is_terminal()) else {
        return false;
    };
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less -FRX".to_owned());
    if text.lines().count() < usize::from(rows) || pager.trim().is_empty() {
        return false;
    }
    let spawned = Command::new("sh").args(["-c", &pager]).stdin(Stdio::piped()).spawn();
    let Ok(mut pager) = spawned else { return false };
    let text = match anstream::AutoStream::choice(&io::stdout()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        _ => text.to_owned(),
    };
    // A user who leaves the pager early has seen enough.
    let _ = pager.stdin.take().map(|mut stdin| stdin.write_all(text.as_bytes()));
    pager.wait().is_ok_and(|status| status.success())
}

/// A table of words, with these keys and headers.
pub(crate) fn words(title: &str, columns: &[(&str, &str)]) -> Table {
    Table::new(title, columns.iter().map(|(key, header)| Column::words(key, header)).collect())
}

/// A table, ready to print.
pub(crate) fn render(table: &Table, style: TableStyle) -> String {
    match style {
        TableStyle::Text => {
            let text = table.text(width(), Borders::Light);
            let plain = matches!(anstream::AutoStream::choice(&io::stdout()), anstream::ColorChoice::Never);
            if plain { text } else { bold_headers(&text) }
        }
        TableStyle::Markdown => table.markdown(),
    }
}

/// The lines between the first two rules of three are a header.
fn bold_headers(text: &str) -> String {
    let mut rules = 0;
    let mut line = |line: &str| {
        let is_rule = line.starts_with('─') && line.trim_end().chars().all(|c| c == '─');
        rules += usize::from(is_rule);
        if !is_rule && rules % 3 == 1 { paint(line, Paint::Bold) } else { line.to_owned() }
    };
    text.split_inclusive('\n').map(&mut line).collect()
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
    if let Some(columns) = KEPT.with_borrow(|kept| kept.as_ref().map(|kept| kept.columns)) {
        return (columns < u16::MAX).then_some(columns.max(NARROWEST));
    }
    if WIDE.load(Ordering::Relaxed) {
        return None;
    }
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse::<u16>().ok());
    let terminal = || terminal_size_of(io::stdout()).filter(|_| io::stdout().is_terminal());
    let columns = said.or_else(|| terminal().map(|(Width(columns), _)| columns)).unwrap_or(PIPE);
    Some(columns.max(NARROWEST))
}

/// In a pipe or a file.
const PIPE: u16 = 120;
/// No table is narrower.
const NARROWEST: u16 = 40;
static WIDE: AtomicBool = AtomicBool::new(false);

/// From now on lines are as long as they like.
pub(crate) fn be_wide() {
    let is_kept = KEPT.with_borrow_mut(|kept| {
        kept.as_mut()?.columns = u16::MAX;
        Some(())
    });
    if is_kept.is_none() {
        WIDE.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_bold_and_nothing_else_of_a_table() {
        let text = "───\n a\n───\n 1\n───\nnote\n───\n b\n───\n 2\n───\n";
        let bold = bold_headers(text);
        assert_eq!(bold.matches("\x1b[1m").count(), 2);
        assert!(bold.contains("\x1b[1m a\x1b[0m\n") && bold.contains("\x1b[1m b\x1b[0m\n"), "{bold}");
        assert_eq!(anstream::adapter::strip_str(&bold).to_string(), text);
    }
}
