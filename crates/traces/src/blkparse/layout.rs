//! Lines that `blkparse -f FORMAT` printed, by that format.
//!
//! **Rule** (blkparse's manual) `%` begins a field, perhaps with a width; the letter says which. Other characters stand
//! for themselves. Blanks count as one blank, since widths pad with them.

use super::Line;
use crate::lines::Wrong;

/// A field of the format, and what ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Action,
    Command,
    Cpu,
    Device,
    Kind,
    Major,
    Minor,
    Blocks,
    Bytes,
    Pid,
    Sequence,
    Sector,
    Seconds,
    Nanoseconds,
    /// Error, payload, elapsed time, packet.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// A text without blanks.
    Text(String),
    Blank,
    Field(Field),
}

/// A format of `blkparse -f`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pieces: Vec<Piece>,
    written: String,
}

const FIELDS: [(char, Field); 19] = [
    ('a', Field::Action),
    ('C', Field::Command),
    ('c', Field::Cpu),
    ('D', Field::Device),
    ('d', Field::Kind),
    ('M', Field::Major),
    ('m', Field::Minor),
    ('n', Field::Blocks),
    ('N', Field::Bytes),
    ('p', Field::Pid),
    ('s', Field::Sequence),
    ('S', Field::Sector),
    ('T', Field::Seconds),
    ('t', Field::Nanoseconds),
    ('e', Field::Other),
    ('P', Field::Other),
    ('u', Field::Other),
    ('U', Field::Other),
    ('r', Field::Other),
];

impl Layout {
    /// Parses a format, as in `%D %2c %8s %5T.%9t %5p %2a %3d %S + %n [%C]\n`.
    ///
    /// # Errors
    /// If a letter is unknown, or the action, the kind of I/O, the sector, a length or the time is missing.
    pub fn parse(format: &str) -> Result<Layout, String> {
        let mut pieces: Vec<Piece> = Vec::new();
        let written = format.to_owned();
        let plain = format.replace("\\n", "\n").replace("\\t", "\t");
        let mut letters = plain.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                match (letter.is_whitespace(), pieces.last_mut()) {
                    (true, Some(Piece::Blank)) => {}
                    (true, _) => pieces.push(Piece::Blank),
                    (false, Some(Piece::Text(text))) => text.push(letter),
                    (false, _) => pieces.push(Piece::Text(letter.to_string())),
                }
                continue;
            }
            let field = letters.by_ref().find(|c| !c.is_ascii_digit() && *c != '-').unwrap_or(' ');
            let known = FIELDS.iter().find(|row| row.0 == field).map(|row| row.1);
            let known = known.ok_or_else(|| {
                let all: String = FIELDS.iter().map(|row| row.0).collect();
                format!("`%{field}` is not a field of blkparse's: expected one of the letters {all}")
            })?;
            pieces.push(Piece::Field(known));
        }
        let has = |field: Field| pieces.contains(&Piece::Field(field));
        let needed = [
            (has(Field::Action), "%a, the action"),
            (has(Field::Kind), "%d, the kind of I/O"),
            (has(Field::Sector), "%S, the sector"),
            (has(Field::Blocks) || has(Field::Bytes), "%n or %N, the length"),
            (has(Field::Seconds) && has(Field::Nanoseconds), "%T.%t, the time"),
        ];
        match needed.iter().find(|(is_there, _)| !is_there) {
            Some((_, what)) => Err(format!("the format `{format}` lacks {what}")),
            None => Ok(Layout { pieces, written }),
        }
    }

    /// The format as written.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Parses a line.
    ///
    /// # Errors
    /// A word that is not what the format says.
    pub(crate) fn line<'t>(&self, text: &'t str) -> Result<Option<Line>, Wrong<'t>> {
        let mut line = Line::default();
        let (mut place, mut command): (Place, &str) = (Place::default(), "");
        let mut left = text.trim();
        if left.is_empty() {
            return Ok(None);
        }
        for (at, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::Blank => left = left.trim_start(),
                Piece::Text(wanted) => {
                    let rest = left.trim_start().strip_prefix(wanted.as_str());
                    left = rest.ok_or((left, "the text of the format there"))?;
                }
                Piece::Field(field) => {
                    left = left.trim_start();
                    let end = match self.pieces.get(at + 1) {
                        Some(Piece::Text(text)) => left.find(text.as_str()).unwrap_or(left.len()),
                        None => left.len(),
                        Some(Piece::Blank) if at + 2 >= self.pieces.len() => left.len(),
                        Some(_) => left.find(char::is_whitespace).unwrap_or(left.len()),
                    };
                    let (word, rest) = left.split_at(end);
                    left = rest;
                    match field {
                        Field::Command => command = word,
                        Field::Action => line.action = word.to_owned(),
                        Field::Kind => line.rwbs = word.to_owned(),
                        _ => place.put(*field, word, &mut line)?,
                    }
                }
            }
        }
        line.time = place.seconds.saturating_mul(1_000_000_000).saturating_add(place.nanoseconds);
        line.rest = format!("{} + {} [{command}]", place.sector, place.sectors);
        Ok(Some(line))
    }
}

/// The numbers of a line that are put together afterwards.
#[derive(Default)]
struct Place {
    sector: u64,
    sectors: u64,
    seconds: u64,
    nanoseconds: u64,
}

impl Place {
    fn put<'t>(&mut self, field: Field, word: &'t str, line: &mut Line) -> Result<(), Wrong<'t>> {
        let number = || word.parse::<u64>().map_err(|_| (word, "a number, as the format says"));
        let small = || word.parse::<u32>().map_err(|_| (word, "a number, as the format says"));
        match field {
            Field::Sector => self.sector = number()?,
            Field::Blocks => self.sectors = number()?,
            Field::Bytes => self.sectors = number()?.div_ceil(512),
            Field::Seconds => self.seconds = number()?,
            Field::Nanoseconds => self.nanoseconds = number()?,
            Field::Cpu => line.cpu = small()?,
            Field::Pid => line.pid = small()?,
            Field::Sequence => line.sequence = small()?,
            Field::Major => line.device.0 = small()?,
            Field::Minor => line.device.1 = small()?,
            Field::Device => line.device = super::device(word).ok_or((word, "a device, as in 8,0"))?,
            Field::Action | Field::Kind | Field::Command | Field::Other => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_by_its_format() {
        let format = r"%D %2c %8s %5T.%9t %5p %2a %3d %S + %N [%C]\n";
        let layout = Layout::parse(format).unwrap();
        let line =
            layout.line("  8,0    3       11     0.009507758   697  C   W 223490 + 4096 [a b]").unwrap().unwrap();
        assert_eq!((line.device, line.cpu, line.time, line.pid), ((8, 0), 3, 9_507_758, 697));
        assert_eq!((line.action.as_str(), line.rwbs.as_str(), line.place()), ("C", "W", Some((223_490, 8))));
        assert_eq!(line.process(), Some("a b"));
        let layout = Layout::parse("%T.%t,%M,%m,%a,%d,%S,%n,%C").unwrap();
        let line = layout.line("1.000000002,8,16,Q,RA,64,8,fio").unwrap().unwrap();
        assert_eq!((line.device, line.time, line.place()), ((8, 16), 1_000_000_002, Some((64, 8))));
    }

    #[test]
    fn what_a_format_lacks_and_what_a_line_has_instead_is_named() {
        assert!(Layout::parse("%a %d %S %T.%t").unwrap_err().contains("%n or %N, the length"));
        assert!(Layout::parse("%x").unwrap_err().contains("`%x` is not a field"));
        let layout = Layout::parse("%T.%t %a %d %S + %n").unwrap();
        assert_eq!(layout.line("0.0 Q R x + 8").unwrap_err().0, "x");
        assert!(layout.line("0.0 Q R 8 - 8").is_err());
        assert_eq!(layout.line("  ").unwrap(), None);
    }
}
