//! A table for a terminal: light rules, numbers to the right, no wider than it may be.
//!
//! Cells break between words. Columns that still do not fit beside each other go below, the leading columns of words
//! repeated, so that a wide table stays readable on a narrow terminal.

use std::borrow::Cow;

use super::layout::{Lines, Needs, lines, width_of, widths};
use super::{Align, Table};

/// Blanks to the left and right of a cell.
const PADDING: usize = 2;
/// Blanks between two columns.
const GAP: usize = 1;

/// What the rules of a text table are drawn with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Borders {
    /// `─` above, below and under the header.
    #[default]
    Light,
    /// The same with `-`.
    Ascii,
}

impl Borders {
    fn rule(self) -> &'static str {
        match self {
            Borders::Light => "─",
            Borders::Ascii => "-",
        }
    }
}

/// A cell's text, and what is asked of it more than once.
struct Shown<'a> {
    text: Cow<'a, str>,
    /// The width of its longest line.
    widest: usize,
    /// Whether it has more than one line.
    several: bool,
}

impl<'a> Shown<'a> {
    fn of(text: Cow<'a, str>) -> Shown<'a> {
        let several = memchr::memchr(b'\n', text.as_bytes()).is_some();
        let widest = if several { text.split('\n').map(width_of).max().unwrap_or(0) } else { width_of(&text) };
        Shown { text, widest, several }
    }

    /// Its lines, broken between words to `width`.
    fn lines(&self, width: usize) -> Lines<'_> {
        if self.several || self.widest > width { lines(&self.text, width) } else { Lines::whole(&self.text) }
    }

    /// The width of one of its lines, which is known if that is the whole cell.
    fn width_of(&self, line: &str) -> usize {
        if line.len() == self.text.len() { self.widest } else { width_of(line) }
    }

    /// Its widest line if it is broken to `width`.
    fn widest(&self, width: usize) -> usize {
        if self.widest <= width { self.widest } else { self.lines(width).map(width_of).max().unwrap_or(0) }
    }
}

impl Table {
    /// The table as text, at most `width` characters wide if its words allow; `None` for no limit. No line ends in a
    /// blank; the last ends in a newline.
    pub fn text(&self, width: Option<u16>, borders: Borders) -> String {
        let mut out = String::new();
        push_wrapped(&mut out, &self.title, width);
        let header = self.columns.iter().map(|column| Shown::of(Cow::Borrowed(&column.header))).collect();
        let cells = self.rows.iter().map(|row| self.shown(row).map(Shown::of).collect());
        // The header first.
        let rows: Vec<Vec<Shown>> = std::iter::once(header).chain(cells).collect();
        let longest_word =
            |column: usize| rows.iter().map(|row| &row[column].text).fold(0, |most, text| longest_of(most, text));
        let words: Vec<usize> = (0..self.columns.len()).map(longest_word).collect();
        for columns in self.parts(&words, width) {
            self.grid(&mut out, (&rows, &words), &columns, width, borders);
        }
        self.notes.iter().for_each(|note| push_wrapped(&mut out, note, width));
        out
    }

    /// Which columns are beside each other, part by part from the top; `words` is the longest word of each.
    fn parts(&self, words: &[usize], width: Option<u16>) -> Vec<Vec<usize>> {
        let room = width.map_or(usize::MAX, |width| usize::from(width) + GAP);
        let lead = self.columns.iter().take_while(|column| column.align == Align::Left).count();
        let lead: Vec<usize> = (0..if lead < self.columns.len() { lead } else { 0 }).collect();
        let least = |column: usize| words[column] + PADDING + GAP;
        let lead_width: usize = lead.iter().map(|&column| least(column)).sum();
        let (mut parts, mut used) = (vec![lead.clone()], lead_width);
        for column in lead.len()..self.columns.len() {
            let part = parts.last().expect("there is always a part");
            if used + least(column) > room && part.len() > lead.len() {
                parts.push(lead.clone());
                used = lead_width;
            }
            used += least(column);
            parts.last_mut().expect("there is always a part").push(column);
        }
        parts
    }

    /// Some of the columns, beside each other.
    fn grid(
        &self,
        out: &mut String,
        (rows, words): (&[Vec<Shown>], &[usize]),
        columns: &[usize],
        width: Option<u16>,
        borders: Borders,
    ) {
        let widest = |column: usize, width: usize| rows.iter().map(|row| row[column].widest(width)).max().unwrap_or(0);
        let needs =
            |&column: &usize| Needs { all: widest(column, usize::MAX).max(words[column]), least: words[column] };
        let needs: Vec<Needs> = columns.iter().map(needs).collect();
        let blanks = columns.len() * PADDING + columns.len().saturating_sub(1) * GAP;
        let widths = match width {
            None => needs.iter().map(|needs| needs.all).collect(),
            Some(width) => {
                widths(&needs, usize::from(width).saturating_sub(blanks), |nth, width| widest(columns[nth], width))
            }
        };
        let rule = borders.rule().repeat(widths.iter().sum::<usize>() + blanks) + "\n";
        *out += &rule;
        let mut lines = Vec::with_capacity(columns.len());
        for (nth, row) in rows.iter().enumerate() {
            lines.clear();
            lines.extend(columns.iter().zip(&widths).map(|(&column, &width)| row[column].lines(width)));
            self.push_row(out, row, &mut lines, columns, &widths);
            if nth == 0 {
                *out += &rule;
            }
        }
        *out += &rule;
    }

    /// `lines`: those of the row's cells in these columns.
    fn push_row(&self, out: &mut String, row: &[Shown], lines: &mut [Lines], columns: &[usize], widths: &[usize]) {
        while lines.iter().any(Lines::has_more) {
            // Blanks are written only when a word follows, so that no line ends in one.
            let mut blanks = 0;
            for ((lines, &column), &width) in lines.iter_mut().zip(columns).zip(widths) {
                let text = lines.next().unwrap_or("").trim_end();
                let free = width.saturating_sub(row[column].width_of(text));
                let (left, right) = match self.columns[column].align {
                    Align::Left => (0, free),
                    Align::Right => (free, 0),
                };
                blanks += left + 1;
                if !text.is_empty() {
                    push_blanks(out, blanks);
                    out.push_str(text);
                    blanks = 0;
                }
                blanks += right + 1 + GAP;
            }
            out.push('\n');
        }
    }
}

/// That many blanks, some at a time.
fn push_blanks(out: &mut String, blanks: usize) {
    const SOME: &str = "                                                                ";
    let mut left = blanks;
    while left > 0 {
        let now = left.min(SOME.len());
        out.push_str(&SOME[..now]);
        left -= now;
    }
}

/// The length of the longest word in characters, if that is greater than `longest`; otherwise `longest`.
fn longest_of(longest: usize, text: &str) -> usize {
    // No word has more characters than bytes.
    if text.len() <= longest {
        return longest;
    }
    if !text.is_ascii() {
        return text.split_whitespace().map(|word| word.chars().count()).fold(longest, usize::max);
    }
    // Like `char::is_whitespace`, including the vertical tab.
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let (mut rest, mut longest) = (text.as_bytes(), longest);
    // A longer word has no blank among its first `longest` + 1 bytes: what is before the last blank is skipped.
    while let Some(next) = rest.get(..=longest) {
        match next.iter().rposition(is_space) {
            Some(blank) => rest = &rest[blank + 1..],
            None => longest = rest.iter().position(is_space).unwrap_or(rest.len()),
        }
    }
    longest
}

/// A paragraph broken between words, so that no line has more than `width` characters unless a word does.
///
/// ```
/// assert_eq!(blksched_measure::wrapped("one two three", 8), "one two\nthree\n");
/// ```
pub fn wrapped(text: &str, width: u16) -> String {
    let mut out = String::new();
    push_wrapped(&mut out, text, Some(width));
    out
}

/// `text` broken between words so that no line exceeds `width` characters unless a word does.
fn push_wrapped(out: &mut String, text: &str, width: Option<u16>) {
    let limit = width.map_or(usize::MAX, usize::from);
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > limit {
            out.push('\n');
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    if used > 0 {
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_word_is_counted_in_characters() {
        for (text, longest) in [("", 0), ("  ", 0), ("ab cde\tf", 3), ("a\u{b}bcd", 3), ("±ä €€€", 3), ("abcd", 4)]
        {
            assert_eq!(longest_of(0, text), longest, "{text:?}");
            assert_eq!(longest_of(2, text), longest.max(2), "{text:?}");
            assert_eq!(text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0), longest);
        }
    }

    #[test]
    fn numbers_lean_right_and_nothing_stands_behind_the_last_word() {
        let expected = "\
Reads beside a streaming writer
──────────────────────────────────────────────
 elevator          read bw   read p99    busy
──────────────────────────────────────────────
 noop            4094KiB/s          -    100%
 deadline   88.7 ±1.3MiB/s     12.3ms   76.4%
──────────────────────────────────────────────
2 seeds.
";
        for width in [None, Some(80)] {
            let text = Table::sample().text(width, Borders::Light);
            assert_eq!(text, expected, "\n{text}");
        }
    }

    #[test]
    fn a_narrower_terminal_breaks_cells_between_words() {
        let expected = "\
Reads beside a streaming writer
---------------------------------------
 elevator     read bw     read    busy
                           p99
---------------------------------------
 noop       4094KiB/s        -    100%
 deadline        88.7   12.3ms   76.4%
            ±1.3MiB/s
---------------------------------------
2 seeds.
";
        let text = Table::sample().text(Some(40), Borders::Ascii);
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn columns_that_do_not_fit_go_below() {
        let text = Table::sample().text(Some(26), Borders::Ascii);
        assert!(text.lines().all(|line| line.chars().count() <= 26), "\n{text}");
        assert_eq!(text.matches("elevator").count(), 3, "\n{text}");
        assert!(text.contains("4094KiB/s") && text.contains("76.4%"), "\n{text}");
    }

    #[test]
    fn long_notes_wrap_between_words() {
        let mut out = String::new();
        push_wrapped(&mut out, "one two three four", Some(9));
        assert_eq!(out, "one two\nthree\nfour\n");
    }
}
