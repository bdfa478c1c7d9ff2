//! One column: its meaning, its unit, and the parser of its words.

use std::fmt;

use super::spec::ColumnsError;
use crate::vscsi;

/// The meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnRole {
    /// The time of submission.
    Time,
    /// The time of completion.
    End,
    /// The response time.
    Response,
    /// The time from submission until the response time begins.
    Queue,
    /// The operation: read, write, discard or flush.
    Op,
    /// The offset.
    Offset,
    /// The length.
    Size,
    /// A part of the device's name.
    Device,
    /// A part of the process's name.
    Process,
    /// A column that is ignored.
    Skip,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The description as written: `time@ms`.
    pub written: String,
    /// Its meaning.
    pub role: ColumnRole,
    /// Its unit.
    pub(super) unit: Unit,
    /// Its name in the trace's header, or its keys in a line of JSON, if it is found by them.
    pub(super) named: Option<String>,
}

/// The unit of a column's numbers or words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// One unit is `times / per` nanoseconds.
    Time { times: u64, per: u64 },
    /// Bytes.
    Bytes(u64),
    /// A kind of I/O.
    Kind(Kinds),
    /// A word that is kept as it is.
    Word,
}

/// The notation of a kind of I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kinds {
    Words,
    ReadIsZero,
    WriteIsZero,
    /// Bit 0 is set for a read.
    Flags,
    /// SCSI's operation codes, hexadecimal.
    Scsi,
}

/// A kind of I/O, as given in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToldOp {
    /// Disk to memory.
    Read,
    /// Memory to disk; a process may wait for it.
    Write,
    /// A discard.
    Discard,
    /// A flush.
    Flush,
    /// An I/O of which the trace tells neither kind nor place.
    Unknown,
    /// Opening, closing and the like, which are not I/O.
    Other,
    /// A pause: in a trace without times, the offset is how long after the previous pause it ends \[us\].
    Wait,
}

const ROLES: [(&str, ColumnRole); 14] = [
    ("time", ColumnRole::Time),
    ("end", ColumnRole::End),
    ("response", ColumnRole::Response),
    ("queue", ColumnRole::Queue),
    ("op", ColumnRole::Op),
    ("offset", ColumnRole::Offset),
    ("size", ColumnRole::Size),
    ("device", ColumnRole::Device),
    ("host", ColumnRole::Device),
    ("disk", ColumnRole::Device),
    ("major", ColumnRole::Device),
    ("minor", ColumnRole::Device),
    ("process", ColumnRole::Process),
    ("pid", ColumnRole::Process),
];

const TIMES: [(&str, u64, u64); 9] = [
    // Moments are known by their form.
    ("clock", 1_000_000_000, 1),
    ("iso", 1_000_000_000, 1),
    ("s", 1_000_000_000, 1),
    ("ms", 1_000_000, 1),
    ("us", 1_000, 1),
    ("\u{b5}s", 1_000, 1),
    ("100ns", 100, 1),
    ("ns", 1, 1),
    ("ps", 1, 1000),
];

impl Column {
    /// Parses `time@ms`, or `time@ms:NAME`.
    ///
    /// # Errors
    /// If there is no such column or unit.
    pub fn parse(written: &str) -> Result<Column, ColumnsError> {
        let written = written.trim();
        let (described, named) = match written.split_once(':') {
            Some((_, "")) => {
                let message = format!("`{written}` has no name after `:`: expected one from the trace's header");
                return Err(ColumnsError::new(written, message));
            }
            Some((described, named)) => (described, Some(named.trim().to_owned())),
            None => (written, None),
        };
        let (name, unit) = described.split_once('@').map_or((described, None), |(name, unit)| (name, Some(unit)));
        let role = match name {
            "-" | "_" => ColumnRole::Skip,
            _ => ROLES.iter().find(|(known, _)| *known == name).map(|row| row.1).ok_or_else(|| unknown(name))?,
        };
        let unit = match (role, unit) {
            (ColumnRole::Time | ColumnRole::End, unit) => {
                time(unit.unwrap_or("s")).ok_or("s, ms, us, 100ns, ns, ps, clock or iso")
            }
            (ColumnRole::Response | ColumnRole::Queue, unit) => time(unit.unwrap_or("s"))
                .filter(|_| !matches!(unit, Some("clock" | "iso")))
                .ok_or("s, ms, us, 100ns, ns or ps"),
            (ColumnRole::Offset | ColumnRole::Size, unit) => {
                bytes(unit.unwrap_or("B")).ok_or("B, 512B, KiB, 4KiB or the like")
            }
            (ColumnRole::Op, unit) => kinds(unit).ok_or("r0w1, w0r1, flags or scsi, or no unit for words"),
            (_, None) => Ok(Unit::Word),
            (_, Some(_)) => Err("no unit there"),
        };
        let wrong = |expected| {
            ColumnsError::new(written, format!("`{written}` has a unit that is unknown: expected {expected}"))
        };
        Ok(Column { written: written.to_owned(), role, unit: unit.map_err(wrong)?, named })
    }

    /// What messages expect instead of an invalid word: "a time in ms".
    pub(super) fn expected(&self) -> &'static str {
        match (self.role, self.unit) {
            (ColumnRole::Time | ColumnRole::End, _) => "a time, as in 12.5 or 17:58:57.814",
            (ColumnRole::Response | ColumnRole::Queue, _) => "a length of time, as in 0.25",
            (ColumnRole::Offset, _) => "an offset, as in 4096",
            (ColumnRole::Size, _) => "a length, as in 4096",
            (ColumnRole::Op, Unit::Kind(Kinds::Words)) => "read, write, discard or flush, as in R or Write",
            (ColumnRole::Op, Unit::Kind(Kinds::Flags)) => "a kind of I/O as flags, as in 1",
            (ColumnRole::Op, Unit::Kind(Kinds::Scsi)) => "a SCSI operation code, as in 28 or 2a",
            (ColumnRole::Op, _) => "0 or 1",
            _ => "a word",
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

fn unknown(name: &str) -> ColumnsError {
    let names: Vec<&str> = ROLES.iter().map(|row| row.0).collect();
    let near = blksched_text::did_you_mean(name, names.iter().copied());
    let message = format!("`{name}` is not a column: expected one of {} or -{}", names.join(", "), near);
    ColumnsError::new(name, message)
}

fn time(unit: &str) -> Option<Unit> {
    TIMES.iter().find(|row| row.0 == unit).map(|&(_, times, per)| Unit::Time { times, per })
}

/// Parses `B`, `512B`, `KiB`, `4KiB`, `MiB`; `sectors` are 512 bytes.
fn bytes(unit: &str) -> Option<Unit> {
    if unit == "sectors" {
        return Some(Unit::Bytes(512));
    }
    let digits = unit.find(|c: char| !c.is_ascii_digit())?;
    let (count, name) = unit.split_at(digits);
    let count: u64 = if count.is_empty() { 1 } else { count.parse().ok().filter(|&count| count > 0)? };
    let one: u64 = match name {
        "B" => 1,
        "KiB" | "k" => 1 << 10,
        "MiB" | "m" => 1 << 20,
        _ => return None,
    };
    count.checked_mul(one).filter(|&bytes| bytes <= 1 << 30).map(Unit::Bytes)
}

fn kinds(unit: Option<&str>) -> Option<Unit> {
    Some(Unit::Kind(match unit {
        None => Kinds::Words,
        Some("r0w1") => Kinds::ReadIsZero,
        Some("w0r1") => Kinds::WriteIsZero,
        Some("flags") => Kinds::Flags,
        Some("scsi") => Kinds::Scsi,
        Some(_) => return None,
    }))
}

impl Unit {
    /// A word as nanoseconds or bytes; fractions of one are truncated.
    pub(super) fn number(self, word: &str) -> Option<u64> {
        let (times, per) = match self {
            Unit::Time { times, per } => (times, per),
            Unit::Bytes(bytes) => return whole(word)?.checked_mul(bytes),
            Unit::Kind(_) | Unit::Word => return None,
        };
        // Most times are whole numbers of a unit that is a multiple of a nanosecond.
        if let (1, Some(units)) = (per, whole(word)) {
            return units.checked_mul(times);
        }
        if word.starts_with("0x") {
            return u64::try_from(u128::from(whole(word)?) * u128::from(times) / u128::from(per)).ok();
        }
        let (seconds, fraction) = word.split_once('.').unwrap_or((word, ""));
        if seconds.is_empty() && fraction.is_empty() {
            return None;
        }
        let units = if seconds.is_empty() { 0 } else { whole(seconds)? };
        if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        // More than 18 decimal places are beyond any unit.
        let places = &fraction[..fraction.len().min(18)];
        let behind = if places.is_empty() { 0 } else { u128::from(whole(places)?) };
        let scale = 10_u128.pow(places.len() as u32);
        let all = (u128::from(units) * scale + behind) * u128::from(times) / (scale * u128::from(per));
        u64::try_from(all).ok()
    }

    /// A word as a kind of I/O.
    pub(super) fn kind(self, word: &str) -> Option<ToldOp> {
        let Unit::Kind(kinds) = self else { return None };
        match (kinds, word) {
            (Kinds::ReadIsZero, "0") | (Kinds::WriteIsZero, "1") => Some(ToldOp::Read),
            (Kinds::ReadIsZero, "1") | (Kinds::WriteIsZero, "0") => Some(ToldOp::Write),
            (Kinds::Flags, digits) => {
                whole(digits).map(|flags| if flags & 1 == 1 { ToldOp::Read } else { ToldOp::Write })
            }
            (Kinds::Words, word) => in_words(word),
            (Kinds::Scsi, word) => scsi(word),
            _ => None,
        }
    }
}

/// The kind as traces, fio, Windows and blkparse write it; none for a blank.
fn in_words(word: &str) -> Option<ToldOp> {
    // Nearly all are one letter.
    match word.as_bytes() {
        [b'R' | b'r'] => return Some(ToldOp::Read),
        [b'W' | b'w'] => return Some(ToldOp::Write),
        _ => {}
    }
    const LONGEST: usize = "diskwriteinit".len();
    let mut lower = [0; LONGEST];
    let lower = lower.get_mut(..word.len())?;
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    Some(match str::from_utf8(lower).ok()? {
        "rd" | "read" | "randread" | "diskread" => ToldOp::Read,
        "wr" | "write" | "wz" | "randwrite" | "diskwrite" => ToldOp::Write,
        "discard" | "trim" | "unmap" => ToldOp::Discard,
        "flush" | "sync" | "datasync" | "fsync" | "fdatasync" | "diskflush" => ToldOp::Flush,
        "add" | "open" | "close" | "diskreadinit" | "diskwriteinit" | "diskflushinit" => ToldOp::Other,
        "wait" => ToldOp::Wait,
        letters => return of_letters(letters),
    })
}

/// blkparse's letters in lower case: `f` for a flush before it, the kind, then the properties of the kind.
fn of_letters(word: &str) -> Option<ToldOp> {
    let plain = word.strip_prefix('f').filter(|rest| !rest.is_empty()).unwrap_or(word);
    let op = match plain.chars().next()? {
        'r' => ToldOp::Read,
        'w' => ToldOp::Write,
        'd' => ToldOp::Discard,
        'f' => ToldOp::Flush,
        // Without data: a flush if it says so, else a command of a driver or a tool.
        'n' => return (plain.len() == 1).then_some(if word == plain { ToldOp::Other } else { ToldOp::Flush }),
        _ => return None,
    };
    plain[1..].chars().all(|letter| "fsmau".contains(letter)).then_some(op)
}

/// The kind of a SCSI operation code, with or without `0x`; what moves no blocks is no I/O.
fn scsi(word: &str) -> Option<ToldOp> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let code = u16::from_str_radix(digits, 16).ok().filter(|_| digits.len() <= 2)?;
    Some(match vscsi::kind(code) {
        Some(vscsi::ScsiKind::Read) => ToldOp::Read,
        Some(vscsi::ScsiKind::Write) => ToldOp::Write,
        Some(vscsi::ScsiKind::Discard) => ToldOp::Discard,
        Some(vscsi::ScsiKind::Flush) => ToldOp::Flush,
        None => ToldOp::Other,
    })
}

/// A number of digits only, or hexadecimal behind `0x`.
fn whole(word: &str) -> Option<u64> {
    if let [b'0', b'x' | b'X', ..] = word.as_bytes() {
        let digits = &word[2..];
        let hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        return u64::from_str_radix(digits, 16).ok().filter(|_| hexadecimal);
    }
    if word.is_empty() || word.len() > 20 {
        return None;
    }
    word.bytes().try_fold(0_u64, |so_far, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { so_far.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(column: &str, word: &str) -> Option<u64> {
        Column::parse(column).unwrap().unit.number(word)
    }

    #[test]
    fn times_are_exact_in_every_unit() {
        assert_eq!(number("time@100ns", "128166372010635508"), Some(12_816_637_201_063_550_800));
        assert_eq!(number("time@s", "1455522600.769418000"), Some(1_455_522_600_769_418_000));
        assert_eq!(number("time@ms", "757.388"), Some(757_388_000));
        assert_eq!(number("time@ps", "1999"), Some(1));
        assert_eq!((number("time", "."), number("time", "1e3"), number("time", "-1")), (None, None, None));
        assert_eq!(number("time@s", "99999999999999999999"), None);
        // A letter of two bytes where 18 decimal places end.
        assert_eq!(number("time@s", "5.12345678901234567\u{125}"), None);
    }

    #[test]
    fn offsets_have_their_units() {
        assert_eq!(
            (number("offset@512B", "8"), number("size@4KiB", "2"), number("offset", "7")),
            (Some(4096), Some(8192), Some(7))
        );
        assert_eq!(number("offset@512B", "18446744073709551615"), None);
        assert_eq!(
            (number("offset@512B", "0x10"), number("offset", "0x"), number("offset", "0xg")),
            (Some(8192), None, None)
        );
        assert_eq!(number("time@us", "0x10"), Some(16_000));
    }

    #[test]
    fn kinds_are_words_or_digits() {
        let kind = |column: &str, word: &str| Column::parse(column).unwrap().unit.kind(word);
        assert_eq!((kind("op", "FDataSync"), kind("op", "fdatasyncs")), (Some(ToldOp::Flush), None));
        assert_eq!(
            (kind("op", "Read"), kind("op", "w"), kind("op", "x")),
            (Some(ToldOp::Read), Some(ToldOp::Write), None)
        );
        assert_eq!(
            ["RSM", "FWFSM", "WFS", "FN", "FF", "F", "DS", "N", "NS"].map(|word| kind("op", word)),
            [
                Some(ToldOp::Read),
                Some(ToldOp::Write),
                Some(ToldOp::Write),
                Some(ToldOp::Flush),
                Some(ToldOp::Flush),
                Some(ToldOp::Flush),
                Some(ToldOp::Discard),
                Some(ToldOp::Other),
                None
            ]
        );
        assert_eq!(
            ["28", "2a", "0x42", "35", "12", "128", "r"].map(|word| kind("op@scsi", word)),
            [
                Some(ToldOp::Read),
                Some(ToldOp::Write),
                Some(ToldOp::Discard),
                Some(ToldOp::Flush),
                Some(ToldOp::Other),
                None,
                None
            ]
        );
        assert_eq!((kind("op", "DiskRead"), kind("op", "DiskWriteInit")), (Some(ToldOp::Read), Some(ToldOp::Other)));
        assert_eq!((kind("op@r0w1", "0"), kind("op@w0r1", "0")), (Some(ToldOp::Read), Some(ToldOp::Write)));
        assert_eq!(
            (kind("op@flags", "3"), kind("op@flags", "2"), kind("op@r0w1", "2")),
            (Some(ToldOp::Read), Some(ToldOp::Write), None)
        );
    }

    #[test]
    fn an_unknown_column_or_unit_is_named_with_the_nearest() {
        assert!(Column::parse("ofset").unwrap_err().message.contains("did you mean `offset`?"));
        assert!(Column::parse("time@min").unwrap_err().message.contains("expected s, ms, us"));
        assert!(Column::parse("disk@s").unwrap_err().message.contains("no unit there"));
        assert!(Column::parse("size@0B").is_err());
    }
}
