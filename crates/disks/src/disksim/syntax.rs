//! The syntax of DiskSim's parameter files: `kind NAME { Some key = value, … }`, lists in brackets, `#` comments.

use core::ops::Range;

use crate::DiskError;

/// A file and its name, for error messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct File<'t> {
    pub(super) name: &'t str,
    pub(super) text: &'t str,
}

impl File<'_> {
    pub(super) fn invalid(&self, at: usize, problem: String, nearest: Option<&str>) -> DiskError {
        let before = &self.text[..at.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        DiskError::Invalid {
            file: self.name.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            problem,
            nearest: nearest.map(str::to_owned),
        }
    }
}

/// A value after an equals sign.
#[derive(Clone, Debug)]
pub(super) enum Value<'t> {
    /// A number or a word, or `source FILE`.
    Text(&'t str),
    List(Vec<(Value<'t>, usize)>),
    Block(Block<'t>),
}

/// `kind NAME { … }`; without a name in a list.
#[derive(Clone, Debug)]
pub(super) struct Block<'t> {
    pub(super) kind: &'t str,
    pub(super) name: &'t str,
    pub(super) at: usize,
    pub(super) entries: Vec<Assignment<'t>>,
}

/// `Some key = value`.
#[derive(Clone, Debug)]
pub(super) struct Assignment<'t> {
    pub(super) key: &'t str,
    pub(super) key_at: usize,
    pub(super) value: Value<'t>,
    pub(super) at: usize,
}

impl<'t> Block<'t> {
    pub(super) fn entry(&self, key: &str) -> Option<&Assignment<'t>> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

/// The blocks of this kind in a file; an error if it has none.
pub(super) fn parse<'t>(file: &File<'t>, kind: &str) -> Result<Vec<Block<'t>>, DiskError> {
    let mut parser = ParameterParser { file: *file, at: 0 };
    let mut blocks: Vec<Block<'t>> = Vec::new();
    while blocks.is_empty() || parser.peek().is_some() {
        let head = match parser.head() {
            Err(_) if blocks.is_empty() && !file.text.contains('{') => {
                let problem = format!(
                    "no block: expected `{kind} NAME {{ … }}`, as DiskSim 3 and 4 write it; the older `key: value` \
                     files are not read"
                );
                return Err(file.invalid(0, problem, None));
            }
            head => head?,
        };
        blocks.push(parser.block(head, 0)?);
    }
    let first = blocks[0].clone();
    blocks.retain(|block| block.kind == kind);
    match blocks.is_empty() {
        true => Err(file.invalid(
            first.at,
            format!("`{}` is not a block of it: expected `{kind} NAME {{ … }}`", first.kind),
            None,
        )),
        false => Ok(blocks),
    }
}

/// Statements that may be beside blocks, and build a system of several parts.
const STATEMENTS: [&str; 3] = ["source", "instantiate", "topology"];

/// Blocks within blocks; no file nests deeper than four.
const DEEPEST: usize = 8;

struct ParameterParser<'t> {
    file: File<'t>,
    at: usize,
}

impl<'t> ParameterParser<'t> {
    /// Skips white space, a byte order mark, and comments.
    fn skip(&mut self) {
        loop {
            let rest = &self.file.text[self.at..];
            let space = rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len();
            self.at += space;
            if !self.file.text[self.at..].starts_with('#') {
                return;
            }
            let rest = &self.file.text[self.at..];
            self.at += rest.find('\n').unwrap_or(rest.len());
        }
    }

    fn peek(&mut self) -> Option<char> {
        self.skip();
        self.file.text[self.at..].chars().next()
    }

    /// The text up to one of `stops`, trimmed.
    fn until(&mut self, stops: &[char]) -> Result<Range<usize>, DiskError> {
        self.skip();
        let (begin, rest) = (self.at, &self.file.text[self.at..]);
        let length = rest.find(|c| c == '#' || stops.contains(&c)).unwrap_or(rest.len());
        self.at += length;
        self.skip();
        if self.file.text[self.at..].starts_with(stops) {
            return Ok(begin..begin + rest[..length].trim_end().len());
        }
        let expected = stops.iter().map(|stop| format!("`{stop}`")).collect::<Vec<_>>().join(" or ");
        let found = if self.at == self.file.text.len() { "the file ends" } else { "behind the comment it goes on" };
        Err(self.file.invalid(self.at, format!("{found}: expected {expected}"), None))
    }

    /// What is before a file's next block: its kind and its name.
    fn head(&mut self) -> Result<Range<usize>, DiskError> {
        self.skip();
        let begin = self.at;
        let word = self.file.text[begin..].split(char::is_whitespace).next().unwrap_or("");
        if STATEMENTS.contains(&word) {
            let problem = format!(
                "a `{word}` statement: expected `kind NAME {{ … }}`; another file is read only as a drive's `Model`"
            );
            return Err(self.file.invalid(begin, problem, None));
        }
        let head = self.until(&['{'])?;
        match self.text(head.clone()).find(['}', '=', ',', '[', ']']) {
            None => Ok(head),
            Some(at) => {
                let found = &self.file.text[begin + at..=begin + at];
                Err(self.file.invalid(begin + at, format!("`{found}`: expected `kind NAME {{ … }}`"), None))
            }
        }
    }

    fn text(&self, range: Range<usize>) -> &'t str {
        &self.file.text[range]
    }

    /// Parses a block with this head, from its opening brace.
    fn block(&mut self, head: Range<usize>, depth: usize) -> Result<Block<'t>, DiskError> {
        let at = head.start;
        if depth > DEEPEST {
            return Err(self.file.invalid(at, format!("blocks within blocks, deeper than {DEEPEST}"), None));
        }
        let head = self.text(head);
        let (kind, name) = head.split_once(char::is_whitespace).unwrap_or((head, ""));
        self.at += 1;
        let mut entries = Vec::new();
        loop {
            match self.peek() {
                Some('}') => {
                    self.at += 1;
                    return Ok(Block { kind, name: name.trim(), at, entries });
                }
                Some(',') => self.at += 1,
                _ => {
                    let key = self.until(&['=', '}'])?;
                    let key_at = key.start;
                    if self.peek() != Some('=') {
                        let problem = format!("`{}` has no value: expected `key = value`", self.text(key));
                        return Err(self.file.invalid(key_at, problem, None));
                    }
                    self.at += 1;
                    let (value, at) = self.value(depth)?;
                    entries.push(Assignment { key: self.text(key), key_at, value, at });
                }
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<(Value<'t>, usize), DiskError> {
        if self.peek() == Some('[') {
            let at = self.at;
            if depth > DEEPEST {
                return Err(self.file.invalid(at, format!("lists within lists, deeper than {DEEPEST}"), None));
            }
            self.at += 1;
            return Ok((Value::List(self.list(depth + 1)?), at));
        }
        let text = self.until(&[',', '{', '}', ']', '='])?;
        let at = text.start;
        if self.peek() == Some('=') {
            let problem = "`=` in a value: expected `,` before the next parameter".to_owned();
            return Err(self.file.invalid(self.at, problem, None));
        }
        if self.peek() == Some('{') {
            return Ok((Value::Block(self.block(text, depth + 1)?), at));
        }
        Ok((Value::Text(self.text(text)), at))
    }

    fn list(&mut self, depth: usize) -> Result<Vec<(Value<'t>, usize)>, DiskError> {
        let mut items = Vec::new();
        loop {
            match self.peek() {
                Some(']') => {
                    self.at += 1;
                    return Ok(items);
                }
                Some(',') => self.at += 1,
                Some('}') => {
                    return Err(self.file.invalid(self.at, "`}` in a list: expected `,` or `]`".to_owned(), None));
                }
                _ => items.push(self.value(depth)?),
            }
        }
    }
}
