//! The description of a text trace's lines.

use super::field::{Column, ColumnRole};

/// The rules for reading lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Columns or a pattern.
    pub shape: Shape,
    /// The number of lines at the beginning that are not rows.
    pub skip: usize,
    /// What a line without any digit is, after the first.
    pub wordy: WordyLine,
}

/// A line without any digit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WordyLine {
    /// Damage, as any line that is no row.
    #[default]
    Damage,
    /// A message of the recording program (`Detaching...`), which is passed over.
    Message,
}

/// The layout of a line's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Between separators.
    Columns {
        /// The character between two columns; `None`: blanks, any number of them.
        separator: Option<char>,
        /// The columns, in order.
        columns: Vec<Column>,
        /// Whether further columns may follow.
        open: bool,
    },
    /// Between separators, each found by its name in the first line.
    Header {
        /// As of `Columns`.
        separator: Option<char>,
        /// The columns, in any order.
        columns: Vec<Column>,
    },
    /// A JSON object per line, in which each is found by its keys, with dots between them.
    Json(
        /// The columns, in any order.
        Vec<Column>,
    ),
    /// Between texts: an initial text, then each column with the text after it.
    Pattern {
        /// The text with which a line begins.
        before: String,
        /// Columns, each with the text that ends it; the last one's may be empty.
        columns: Vec<(Column, String)>,
    },
}

/// An error in a description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ColumnsError {
    /// The word that is wrong.
    pub word: String,
    /// What is wrong with it, and what was expected.
    pub message: String,
}

impl ColumnsError {
    pub(super) fn new(word: &str, message: impl Into<String>) -> ColumnsError {
        ColumnsError { word: word.to_owned(), message: message.into() }
    }
}

impl Spec {
    /// Parses columns, as in `time@100ns,host,disk,op,offset@B,size@B,response@100ns`; `separator` is a character,
    /// `tab` or `blanks`.
    ///
    /// # Errors
    /// If a column or its unit is unknown, or a required one is missing or given twice.
    pub fn columns(text: &str, separator: &str, skip: usize) -> Result<Spec, ColumnsError> {
        let separator = match separator {
            "blanks" | "blank" | "space" => None,
            "tab" => Some('\t'),
            word => match word.chars().collect::<Vec<_>>()[..] {
                [' '] => None,
                [one] => Some(one),
                _ => {
                    let message = format!("`{word}` is not a separator: expected a character, `tab` or `blanks`");
                    return Err(ColumnsError::new(word, message));
                }
            },
        };
        let mut words: Vec<&str> = text.split(',').map(str::trim).collect();
        let open = words.last() == Some(&"*");
        if open {
            words.pop();
        }
        let columns = words.into_iter().map(Column::parse).collect::<Result<Vec<_>, _>>()?;
        complete(columns.iter(), text)?;
        let shape = match all_named(&columns, text)? {
            true => Shape::Header { separator, columns },
            false => Shape::Columns { separator, columns, open },
        };
        Ok(Spec::of(shape, skip))
    }

    /// Parses columns of lines of JSON, as in `time@ns:header.timestamp,op:io.operation,offset@512B:io.lba,…`.
    ///
    /// # Errors
    /// As of [`Spec::columns`], or if one has no keys.
    pub fn json(text: &str, skip: usize) -> Result<Spec, ColumnsError> {
        let columns = text.split(',').map(Column::parse).collect::<Result<Vec<_>, _>>()?;
        complete(columns.iter(), text)?;
        if !all_named(&columns, text)? {
            let message = format!("`{text}` has no keys: expected ROLE:KEY, as in offset@512B:io.lba");
            return Err(ColumnsError::new(text, message));
        }
        Ok(Spec::of(Shape::Json(columns), skip))
    }

    /// With these columns between blanks, for a program whose messages may stand among its rows.
    pub(crate) fn of_tool(columns: Vec<Column>, skip: usize) -> Spec {
        let shape = Shape::Columns { separator: None, columns, open: false };
        Spec { shape, skip, wordy: WordyLine::Message }
    }

    fn of(shape: Shape, skip: usize) -> Spec {
        Spec { shape, skip, wordy: WordyLine::Damage }
    }

    /// Parses a pattern, as in `[{time@ms} ms] disk{disk} op={op} lba={offset@512B} len={size}`.
    ///
    /// # Errors
    /// If a column or its unit is unknown, a required one is missing or given twice, or two are adjacent.
    pub fn pattern(text: &str, skip: usize) -> Result<Spec, ColumnsError> {
        let mut pieces = text.split('{');
        let before = pieces.next().unwrap_or_default().to_owned();
        let mut columns: Vec<(Column, String)> = Vec::new();
        for piece in pieces {
            let Some((column, behind)) = piece.split_once('}') else {
                return Err(ColumnsError::new(
                    piece,
                    format!("`{{{piece}` has no `}}`: expected a column, as in {{time@ms}}"),
                ));
            };
            if let Some((other, text)) = columns.last()
                && text.is_empty()
            {
                let message = format!("`{{{other}}}` and `{{{column}}}` are adjacent: expected text between them");
                return Err(ColumnsError::new(column, message));
            }
            columns.push((Column::parse(column)?, behind.to_owned()));
        }
        complete(columns.iter().map(|(column, _)| column), text)?;
        Ok(Spec::of(Shape::Pattern { before, columns }, skip))
    }

    /// The meanings of its columns, in order.
    pub fn roles(&self) -> Vec<ColumnRole> {
        match &self.shape {
            Shape::Columns { columns, .. } | Shape::Header { columns, .. } | Shape::Json(columns) => {
                columns.iter().map(|column| column.role).collect()
            }
            Shape::Pattern { columns, .. } => columns.iter().map(|(column, _)| column.role).collect(),
        }
    }

    /// Whether it has this column.
    pub fn tells(&self, role: ColumnRole) -> bool {
        self.roles().contains(&role)
    }
}

/// Whether all have names; some with and some without is an error.
fn all_named(columns: &[Column], text: &str) -> Result<bool, ColumnsError> {
    let named = columns.iter().filter(|column| column.named.is_some()).count();
    match columns.iter().find(|column| column.named.is_none()) {
        Some(column) if named > 0 => {
            let message =
                format!("`{column}` has no name, but other columns of `{text}` have: expected `{column}:NAME`");
            Err(ColumnsError::new(&column.written, message))
        }
        _ => Ok(named > 0),
    }
}

/// Checks that required columns are present, and that none that must be unique is given twice.
fn complete<'c>(columns: impl Iterator<Item = &'c Column> + Clone, text: &str) -> Result<(), ColumnsError> {
    let count = |role| columns.clone().filter(|column| column.role == role).count();
    let needed = [(ColumnRole::Op, "op"), (ColumnRole::Offset, "offset"), (ColumnRole::Size, "size")];
    if let Some((_, name)) = needed.into_iter().find(|&(role, _)| count(role) == 0) {
        let message =
            format!("`{text}` has no column `{name}`: expected at least op, offset and size, and time if there is one");
        return Err(ColumnsError::new(text, message));
    }
    if count(ColumnRole::End) > 0 && count(ColumnRole::Time) + count(ColumnRole::Response) == 0 {
        let message =
            format!("`{text}` has `end` but no `response`: expected it, since a row begins at end - response");
        return Err(ColumnsError::new("end", message));
    }
    let single = [
        (ColumnRole::Time, "time"),
        (ColumnRole::End, "end"),
        (ColumnRole::Response, "response"),
        (ColumnRole::Queue, "queue"),
        (ColumnRole::Op, "op"),
        (ColumnRole::Offset, "offset"),
        (ColumnRole::Size, "size"),
    ];
    match single.into_iter().find(|&(role, _)| count(role) > 1) {
        Some((_, name)) => Err(ColumnsError::new(name, format!("`{text}` has `{name}` twice: expected it once"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_says_what_a_trace_tells() {
        let spec = Spec::columns("time@100ns,host,disk,op,offset,size,response@100ns", ",", 0).unwrap();
        assert!(spec.tells(ColumnRole::Response) && spec.tells(ColumnRole::Device) && !spec.tells(ColumnRole::Process));
    }

    #[test]
    fn what_is_missing_or_there_twice_is_named() {
        let columns = |text: &str| Spec::columns(text, ",", 0).unwrap_err().message;
        assert!(columns("time,op,size").contains("no column `offset`"));
        assert!(columns("time,op,offset,size,time").contains("`time` twice"));
        assert!(Spec::columns("op,offset,size", "ab", 0).unwrap_err().message.contains("not a separator"));
    }

    #[test]
    fn a_patterns_columns_have_texts_between_them() {
        let spec = Spec::pattern("[{time@ms} ms] {op} {offset@512B}+{size}", 0).unwrap();
        let Shape::Pattern { before, columns } = &spec.shape else { panic!("{spec:?}") };
        assert_eq!((before.as_str(), columns[0].1.as_str(), columns[3].1.as_str()), ("[", " ms] ", ""));
        assert!(Spec::pattern("{op}{offset} {size}", 0).unwrap_err().message.contains("are adjacent"));
        assert!(Spec::pattern("{op} {offset {size}", 0).is_err());
    }
}
