//! Rows of a text trace, one after the other, in constant memory.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead};

use super::field::{Column, ColumnRole, ToldOp, Unit};
use super::moment::{DAY, Moment, moment};
use super::named;
use super::spec::{Shape, Spec, WordyLine};

/// The longest line that is read \[bytes\]; a longer one counts as damaged.
const LONGEST_LINE: usize = 64 << 10;

/// What is added to the times of a trace that has only times of completion \[ns\]: an hour.
const BEFORE_FIRST: u64 = 3_600_000_000_000;

/// A shorter pause of fio's iolog version 2 is none \[us\].
const SHORTEST_WAIT_US: u64 = 100;

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRow {
    /// The time of submission \[ns\], on the trace's own clock; 0 if the trace has none.
    pub time: u64,
    /// The response time \[ns\], if the trace has it.
    pub response: Option<u64>,
    /// The operation.
    pub op: ToldOp,
    /// The offset \[bytes\].
    pub offset: u64,
    /// The length \[bytes\].
    pub bytes: u64,
    /// Its device, as an index of [`RowReader::devices`].
    pub device: u32,
    /// Its process, as an index of [`RowReader::processes`].
    pub process: u32,
}

/// A line that is not a row.
#[derive(Debug)]
pub struct TextError {
    /// Its number, from 1.
    pub line: usize,
    /// The position in it, from 1 \[bytes\].
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

/// Names, numbered in the order of their first occurrence.
#[derive(Clone, Debug, Default)]
struct NumberedNames {
    list: Vec<String>,
    numbers: BTreeMap<String, u32>,
    /// The one last asked for: most rows have the name of the row before.
    last: u32,
}

impl NumberedNames {
    fn number(&mut self, name: &str) -> u32 {
        // Nothing is compared with nothing: libc's comparison of two empty names takes 200 ns on some processors.
        let is = |last: &String| last.len() == name.len() && (name.is_empty() || last == name);
        if !self.list.get(self.last as usize).is_some_and(is) {
            self.last = self.find(name);
        }
        self.last
    }

    fn find(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

/// The parts of a row, collected word by word.
#[derive(Default)]
pub(super) struct Parts {
    time: Option<u64>,
    end: Option<u64>,
    response: Option<u64>,
    queue: u64,
    /// Whether times are those of a clock without a date.
    of_day: bool,
    op: Option<ToldOp>,
    offset: u64,
    bytes: u64,
    device: String,
    process: String,
}

impl Parts {
    /// Empty again; the names keep their memory.
    fn clear(&mut self) {
        let (mut device, mut process) = (std::mem::take(&mut self.device), std::mem::take(&mut self.process));
        device.clear();
        process.clear();
        *self = Parts { device, process, ..Parts::default() };
    }
}

/// A reader of rows.
pub struct RowReader<I> {
    input: I,
    spec: Spec,
    line: usize,
    buffer: Vec<u8>,
    devices: NumberedNames,
    processes: NumberedNames,
    parts: Parts,
    /// The end of the last pause \[ns\], in a trace that has pauses instead of times.
    clock: u64,
    /// Midnights passed since the first row \[ns\], in a trace whose times have no date.
    midnights: u64,
    /// The time of the last row \[ns\], with midnights.
    last: u64,
    /// Where each column is, once the header is read.
    places: Option<Vec<usize>>,
    /// What a row is in a trace that has no kinds at all.
    kindless: Option<ToldOp>,
    /// Whether the last line read had no end.
    is_cut_off: bool,
    /// The number of rows whose kind is blank in the trace.
    pub without_kind: u64,
}

impl<I: BufRead> RowReader<I> {
    /// Creates a reader of the rows of `input`, as `spec` describes them.
    pub fn new(input: I, spec: Spec) -> RowReader<I> {
        let (devices, processes) = (NumberedNames::default(), NumberedNames::default());
        let kindless = (!spec.tells(ColumnRole::Op)).then_some(ToldOp::Unknown);
        RowReader {
            input,
            spec,
            line: 0,
            buffer: Vec::new(),
            devices,
            processes,
            clock: 0,
            midnights: 0,
            last: 0,
            parts: Parts::default(),
            places: None,
            kindless,
            is_cut_off: false,
            without_kind: 0,
        }
    }

    /// The devices' names so far.
    pub fn devices(&self) -> &[String] {
        &self.devices.list
    }

    /// The processes' names so far.
    pub fn processes(&self) -> &[String] {
        &self.processes.list
    }

    /// Whether the last line read had no end: the file may have been cut off inside it.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// The next row; `None` at the end. After a [`TextError`], reading can continue with the next line.
    ///
    /// # Errors
    /// If the input cannot be read; the inner error: if a line does not match the description.
    pub fn row(&mut self) -> io::Result<Option<Result<TraceRow, TextError>>> {
        loop {
            self.buffer.clear();
            let read = read_line(&mut self.input, &mut self.buffer)?;
            if read == 0 {
                return Ok(None);
            }
            self.line += 1;
            self.is_cut_off = read <= LONGEST_LINE && self.buffer.last() != Some(&b'\n');
            if read > LONGEST_LINE {
                return Ok(Some(
                    Err(self.wrong(1, format!("a line of {read} bytes: expected at most {LONGEST_LINE}"))),
                ));
            }
            let buffer = std::mem::take(&mut self.buffer);
            let told = self.told(&buffer);
            self.buffer = buffer;
            match told {
                Ok(None) => {}
                Ok(Some(row)) => return Ok(Some(Ok(row))),
                Err(error) => return Ok(Some(Err(error))),
            }
        }
    }

    fn told(&mut self, bytes: &[u8]) -> Result<Option<TraceRow>, TextError> {
        let text = match str::from_utf8(bytes) {
            Ok(text) => text.trim_end_matches(['\n', '\r']),
            Err(error) => {
                let at = error.valid_up_to();
                return Err(self.wrong(at + 1, format!("the byte 0x{:02x} is not UTF-8: expected text", bytes[at])));
            }
        };
        if self.is_no_row(text) {
            return Ok(None);
        }
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        let row = match self.collect(text, &mut parts) {
            Ok(true) => Ok(self.made(&mut parts)),
            Ok(false) => Ok(None),
            Err((column, message)) => Err(self.wrong(column, message)),
        };
        self.parts = parts;
        row
    }

    /// Collects a line's words; false if it is the header that names the columns.
    fn collect(&mut self, text: &str, parts: &mut Parts) -> Result<bool, Wrong> {
        match &self.spec.shape {
            Shape::Columns { separator: Some(separator), columns, open } => match u8::try_from(*separator) {
                Ok(byte) if byte.is_ascii() => {
                    separated(text, Fields { rest: Some(text), separator: byte }, (columns, *open), None, parts)
                }
                _ => separated(text, text.split(*separator), (columns, *open), None, parts),
            },
            Shape::Columns { separator: None, columns, open } => {
                let wide = if *open { None } else { wide(text, columns) };
                separated(text, text.split_whitespace(), (columns, *open), wide, parts)
            }
            Shape::Pattern { before, columns } => patterned(text, before, columns, parts),
            Shape::Json(columns) => named::of_json(text, columns, parts),
            Shape::Header { separator, columns } => match &self.places {
                Some(places) => named::of_row(text, *separator, columns, places, parts),
                None => {
                    self.places = Some(named::places(text, *separator, columns)?);
                    return Ok(false);
                }
            },
        }
        .map(|()| true)
    }

    /// The row of which these are the parts, if it is an I/O.
    fn made(&mut self, parts: &mut Parts) -> Option<TraceRow> {
        let Some(op) = parts.op.or(self.kindless) else {
            self.without_kind += 1;
            return None;
        };
        match op {
            ToldOp::Other => return None,
            ToldOp::Wait => {
                // fio's manual: everything below 100 is discarded.
                let pause_us = if parts.offset < SHORTEST_WAIT_US { 0 } else { parts.offset };
                self.clock = self.clock.saturating_add(pause_us.saturating_mul(1000));
                return None;
            }
            _ => {}
        }
        let (time, response) = self.times(parts);
        if parts.process.is_empty() {
            parts.process.clone_from(&parts.device);
        }
        let (device, process) = (self.devices.number(&parts.device), self.processes.number(&parts.process));
        let (offset, bytes) = match op {
            // A place of its own, so that its completion is found.
            ToldOp::Unknown => (self.line as u64 * 512, 512),
            _ => (parts.offset, parts.bytes),
        };
        Some(TraceRow { time, response, op, offset, bytes, device, process })
    }

    /// Whether a line is a header, a comment or the like.
    fn is_no_row(&self, text: &str) -> bool {
        let has_digit = || text.bytes().any(|byte| byte.is_ascii_digit());
        let is_headed = matches!(self.spec.shape, Shape::Header { .. });
        // A first line without any digit is a header.
        let is_wordy = (self.line == 1 && !is_headed) || self.spec.wordy == WordyLine::Message;
        self.line <= self.spec.skip || text.trim().is_empty() || text.starts_with('#') || is_wordy && !has_digit()
    }

    /// When it was submitted, and how long it took.
    fn times(&mut self, parts: &Parts) -> (u64, Option<u64>) {
        let mut told = parts.end.or(parts.time).unwrap_or(self.clock);
        if parts.of_day {
            told = told.saturating_add(self.midnights);
            // A clock that falls by more than half a day has passed midnight.
            if told + DAY / 2 < self.last {
                self.midnights += DAY;
                told += DAY;
            }
            self.last = told;
        }
        let response = parts.response.map(|took| took.saturating_add(parts.queue));
        match (parts.end, parts.time) {
            (Some(end), Some(begun)) => (begun, Some(response.unwrap_or(end.saturating_sub(begun)))),
            // An I/O that ended at a recording's first moment began before it.
            (Some(_), None) => (told.saturating_add(BEFORE_FIRST).saturating_sub(response.unwrap_or(0)), response),
            (None, _) => (told, response),
        }
    }

    fn wrong(&self, column: usize, message: String) -> TextError {
        TextError { line: self.line, column, message }
    }
}

/// Reads a line, including its end; one that is too long is skipped, and kept only as far as is needed to recognise it.
fn read_line(input: &mut impl BufRead, into: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        let there = input.fill_buf()?;
        if there.is_empty() {
            return Ok(length);
        }
        let end = memchr::memchr(b'\n', there).map(|at| at + 1);
        let taken = end.unwrap_or(there.len());
        if into.len() <= LONGEST_LINE {
            into.extend_from_slice(&there[..taken]);
        }
        length += taken;
        input.consume(taken);
        if end.is_some() {
            return Ok(length);
        }
    }
}

/// What stands between separators that are one byte of ASCII: as [`str::split`], in half its time on words this short.
struct Fields<'t> {
    rest: Option<&'t str>,
    separator: u8,
}

impl<'t> Iterator for Fields<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let rest = self.rest?;
        let Some(end) = rest.bytes().position(|byte| byte == self.separator) else { return self.rest.take() };
        self.rest = Some(&rest[end + 1..]);
        Some(&rest[..end])
    }
}

/// A column of the line, from 1, and what is wrong there.
pub(super) type Wrong = (usize, String);

/// The column of a process's name, which may contain blanks or be empty, and how many words it has beside the first:
/// the number of the other words tells.
fn wide(text: &str, columns: &[Column]) -> Option<(usize, isize)> {
    let at = columns.iter().position(|column| column.role == ColumnRole::Process)?;
    Some((at, text.split_whitespace().count() as isize - columns.len() as isize))
}

/// Reads the words of a line, which `words` splits; `open`: whether there may be more than the description has.
fn separated<'t>(
    text: &'t str,
    mut words: impl Iterator<Item = &'t str>,
    (columns, open): (&[Column], bool),
    wide: Option<(usize, isize)>,
    parts: &mut Parts,
) -> Result<(), Wrong> {
    let column_of = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize + 1;
    for (at, column) in columns.iter().enumerate() {
        let extra = wide.map_or(0, |(wide, extra)| if wide == at { extra } else { 0 });
        if extra < 0 {
            continue;
        }
        match words.next() {
            Some(word) => parts.put(column, word.trim()).map_err(|message| (column_of(word), message))?,
            // The opening and closing of a file, and a flush, have no position.
            None if matches!(parts.op, Some(ToldOp::Other | ToldOp::Wait | ToldOp::Flush)) => return Ok(()),
            None => {
                let message = format!("{at} columns: expected {}, and `{column}` is missing", columns.len());
                return Err((text.len() + 1, message));
            }
        }
        for _ in 0..extra {
            parts.process.push(' ');
            parts.process.push_str(words.next().unwrap_or_default());
        }
    }
    match words.next() {
        Some(word) if !open && !word.trim().is_empty() => {
            let message = format!("`{}` is one column too many: expected {}", word.trim(), columns.len());
            Err((column_of(word), message))
        }
        _ => Ok(()),
    }
}

fn patterned(text: &str, before: &str, columns: &[(Column, String)], parts: &mut Parts) -> Result<(), Wrong> {
    let column_of = |rest: &str| text.len() - rest.len() + 1;
    let missing = |rest: &str, wanted: &str| (column_of(rest), format!("expected `{wanted}` from here on"));
    let mut rest = text.strip_prefix(before).ok_or_else(|| missing(text, before))?;
    for (column, behind) in columns {
        let end = if behind.is_empty() {
            rest.len()
        } else {
            rest.find(behind.as_str()).ok_or_else(|| missing(rest, behind))?
        };
        let (word, after) = rest.split_at(end);
        parts.put(column, word.trim()).map_err(|message| (column_of(rest), message))?;
        rest = &after[behind.len()..];
    }
    Ok(())
}

impl Parts {
    pub(super) fn put(&mut self, column: &Column, word: &str) -> Result<(), String> {
        let number = |unit: Unit| unit.number(word).ok_or_else(|| format!("`{word}` is not {}", column.expected()));
        match column.role {
            ColumnRole::Skip => {}
            ColumnRole::Time => self.time = Some(self.when(column, word)?),
            ColumnRole::End => self.end = Some(self.when(column, word)?),
            ColumnRole::Response | ColumnRole::Queue if word.is_empty() => {}
            ColumnRole::Response => self.response = Some(number(column.unit)?),
            ColumnRole::Queue => self.queue = number(column.unit)?,
            ColumnRole::Offset => self.offset = number(column.unit)?,
            ColumnRole::Size => self.bytes = number(column.unit)?,
            // A blank: the trace has an I/O of unknown kind.
            ColumnRole::Op if word.is_empty() => {}
            ColumnRole::Op => {
                let kind = column.unit.kind(word);
                self.op = Some(kind.ok_or_else(|| format!("`{word}` is not {}", column.expected()))?);
            }
            ColumnRole::Device => append(&mut self.device, word),
            ColumnRole::Process => append(&mut self.process, word),
        }
        Ok(())
    }

    /// A time, as a number or as a clock shows it.
    fn when(&mut self, column: &Column, word: &str) -> Result<u64, String> {
        let told = match word.contains(':').then(|| moment(word)).flatten() {
            Some(Moment::OfDay(ns)) => {
                self.of_day = true;
                Some(ns)
            }
            Some(Moment::OfYear(ns)) => Some(ns),
            None => column.unit.number(word),
        };
        told.ok_or_else(|| format!("`{word}` is not {}", column.expected()))
    }
}

fn append(name: &mut String, word: &str) {
    if !name.is_empty() {
        name.push('.');
    }
    name.push_str(word);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(spec: Spec, text: &str) -> Vec<Result<TraceRow, String>> {
        let mut rows = RowReader::new(text.as_bytes(), spec);
        std::iter::from_fn(|| rows.row().unwrap()).map(|row| row.map_err(|error| error.to_string())).collect()
    }

    fn msr() -> Spec {
        Spec::columns("time@100ns,host,disk,op,offset,size,response@100ns", ",", 0).unwrap()
    }

    #[test]
    fn a_row_is_what_its_columns_say() {
        let read = rows(msr(), "10,srv,2,Write,4096,512,7\n11,srv,1,Read,0,1024,\n");
        let first = TraceRow {
            time: 1000,
            response: Some(700),
            op: ToldOp::Write,
            offset: 4096,
            bytes: 512,
            device: 0,
            process: 0,
        };
        assert_eq!(read[0], Ok(first));
        let second = read[1].as_ref().unwrap();
        assert_eq!((second.response, second.device), (None, 1));
    }

    #[test]
    fn fields_are_what_split_gives() {
        for text in ["", ",", "a", "a,b", ",a,,ä€,", "1,2,3"] {
            let fields: Vec<&str> = Fields { rest: Some(text), separator: b',' }.collect();
            assert_eq!(fields, text.split(',').collect::<Vec<_>>(), "{text}");
        }
    }

    #[test]
    fn a_damaged_line_is_named_and_the_next_one_is_read() {
        let read =
            rows(msr(), "10,srv,2,Wrte,4096,512,7\n11,srv,1,Read,0\n12,srv,1,Read,0,512,1,9\n13,srv,1,Read,0,512,1\n");
        assert_eq!(read[0], Err("1:10: `Wrte` is not read, write, discard or flush, as in R or Write".to_owned()));
        assert_eq!(read[1], Err("2:16: 5 columns: expected 7, and `size` is missing".to_owned()));
        assert_eq!(read[2], Err("3:23: `9` is one column too many: expected 7".to_owned()));
        assert_eq!(read[3].as_ref().unwrap().time, 1300);
    }

    #[test]
    fn headers_comments_and_blank_lines_are_passed_over() {
        let text = "Timestamp,Hostname,Disk,Type,Offset,Size,Response\n# so\n\n1,a,1,R,0,512,1\n";
        assert_eq!(rows(msr(), text).len(), 1);
    }

    #[test]
    fn a_pattern_reads_what_stands_between_its_texts() {
        let spec =
            Spec::pattern("[{time@ms} ms] disk{disk} op={op} lba={offset@512B} len={size} took={response@us}us", 0);
        let read = rows(spec.unwrap(), "[757.388 ms] disk2 op=wr lba=523480 len=4096 took=6333us\n[757.4] disk2\n");
        let row = read[0].as_ref().unwrap();
        assert_eq!((row.time, row.response, row.offset), (757_388_000, Some(6_333_000), 523_480 * 512));
        assert_eq!(read[1], Err("2:2: expected ` ms] disk` from here on".to_owned()));
    }

    #[test]
    fn a_line_as_long_as_may_be_is_read_and_a_longer_one_is_damage() {
        let row = |blanks: usize| format!("1,{}a,1,R,0,512,1\n", " ".repeat(blanks));
        let short = row(0).len();
        assert!(rows(msr(), &row(LONGEST_LINE - short))[0].is_ok());
        let read = rows(msr(), &format!("{}{}", row(LONGEST_LINE - short + 1), row(0)));
        assert!(read[0].as_ref().unwrap_err().starts_with("1:1: a line of 65537 bytes"), "{:?}", read[0]);
        assert!(read[1].is_ok());
    }
}
