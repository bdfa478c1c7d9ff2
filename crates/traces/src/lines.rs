//! Reading a text line by line, with the positions of invalid input.

use std::io::BufRead;
use std::path::Path;

use blksched_text::utf8;

use crate::elevator_transcript::ReadError;

/// A word, and what it should have been.
pub(crate) type Wrong<'t> = (&'t str, &'static str);

/// The results of `parse` for each line, of which some have none. `path` is for errors, which name line, column and
/// word.
pub(crate) fn each<'p, L: 'p>(
    input: impl BufRead + 'p,
    path: &'p Path,
    parse: impl Fn(&str) -> Result<Option<L>, Wrong<'_>> + 'p,
) -> impl Iterator<Item = Result<L, ReadError>> + 'p {
    Lines::of(input, path).filter_map(move |line| {
        let (line, text) = match line {
            Ok(read) => read,
            Err(error) => return Some(Err(error)),
        };
        let wrong = |(word, expected): Wrong<'_>| {
            let column = text.find(word).filter(|_| !word.is_empty()).unwrap_or(text.len()) + 1;
            let message = format!("`{word}` is not {expected}");
            ReadError::Line { path: path.to_owned(), line, column, message }
        };
        parse(&text).map_err(wrong).transpose()
    })
}

/// The lines of an input, counted.
pub(crate) struct Lines<'p, I> {
    input: I,
    /// The file's path, for errors.
    path: &'p Path,
    /// The number of lines read.
    read: usize,
}

impl<'p, I: BufRead> Lines<'p, I> {
    pub fn of(input: I, path: &'p Path) -> Lines<'p, I> {
        Lines { input, path, read: 0 }
    }

    /// The next line's number, from 1, and its bytes with the end of line, if it has one; `None` after the last.
    pub fn bytes(&mut self) -> Result<Option<(usize, Vec<u8>)>, ReadError> {
        let mut bytes = Vec::new();
        let read = self.input.read_until(b'\n', &mut bytes);
        let read = read.map_err(|source| ReadError::Io { path: self.path.to_owned(), source })?;
        self.read += 1;
        Ok((read > 0).then_some((self.read, bytes)))
    }

    /// The bytes of the line last read, as text.
    pub fn text(&self, bytes: Vec<u8>) -> Result<String, ReadError> {
        utf8(bytes).map_err(|not| ReadError::Line {
            path: self.path.to_owned(),
            line: self.read,
            column: not.column,
            message: not.problem(),
        })
    }
}

/// Yields the number and text of each line, without its end.
impl<I: BufRead> Iterator for Lines<'_, I> {
    type Item = Result<(usize, String), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (line, mut bytes) = match self.bytes() {
            Ok(Some(read)) => read,
            Ok(None) => return None,
            Err(error) => return Some(Err(error)),
        };
        for end in [b'\n', b'\r'] {
            if bytes.last() == Some(&end) {
                bytes.pop();
            }
        }
        Some(self.text(bytes).map(|text| (line, text)))
    }
}
