//! Where in a job file: byte range for excerpts, line and column for people.

use core::fmt;
use core::ops::Range;

/// A range of a job file's text, within one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPlace {
    /// The text's number, from 0: job files in their order, then what they include.
    pub text: u32,
    /// Bytes from the file's start.
    pub range: Range<usize>,
    /// Line, from 1.
    pub line: u32,
    /// Column of the first character, from 1, counted in characters.
    pub column: u32,
}

impl fmt::Display for TextPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A piece of text and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    pub text: &'a str,
    pub place: TextPlace,
}

/// One line of the file, cut into words by byte positions relative to its start.
#[derive(Clone, Copy)]
pub(crate) struct LineText<'a> {
    pub text: &'a str,
    /// Byte position of the line in the file.
    pub start: usize,
    /// From 1.
    pub number: u32,
    /// The text's number.
    pub of: u32,
}

impl<'a> LineText<'a> {
    /// The part `range` of this line without white space around it.
    pub fn word(&self, range: Range<usize>) -> Word<'a> {
        let part = &self.text[range.clone()];
        let trimmed = part.trim_start();
        let from = range.start + part.len() - trimmed.len();
        let text = trimmed.trim_end();
        let column = self.text[..from].chars().count() as u32 + 1;
        let range = self.start + from..self.start + from + text.len();
        let place = TextPlace { text: self.of, range, line: self.number, column };
        Word { text, place }
    }
}
