//! VMware's vscsi traces, versions 1 and 2: records of 32 or 40 bytes, little endian.
//!
//! Layout: as libCacheSim's documentation describes it. Version 1: serial number, length \[bytes\], number of
//! scatter-gather elements (u32 each), SCSI command, version (u16 each), first block of 512 bytes, time \[us\] (u64
//! each). Version 2: command, version (u16), serial number, length, elements (u32), first block, time, response time
//! \[us\] (u64).

use std::io::{self, Read};

use crate::blktrace::{Filled, filled};

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The time \[us\], on a clock with an arbitrary origin.
    pub time_us: u64,
    /// The response time \[us\]; version 2 only.
    pub response_us: Option<u64>,
    /// The SCSI command.
    pub command: u16,
    /// First block of 512 bytes.
    pub block: u64,
    /// Length \[bytes\].
    pub bytes: u32,
}

/// The layout of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 32 bytes.
    One,
    /// 40 bytes, with response times.
    Two,
}

impl Version {
    /// The version, by a file's first bytes: they must be three records of one version (or as many as there are).
    pub fn of(beginning: &[u8]) -> Option<Version> {
        [Version::One, Version::Two].into_iter().find(|version| {
            let records = beginning.chunks_exact(version.length()).take(3);
            records.len() > 0 && records.clone().all(|bytes| version.is_record(bytes))
        })
    }

    fn length(self) -> usize {
        match self {
            Version::One => 32,
            Version::Two => 40,
        }
    }

    /// Whether the version number is in its place and the command is a SCSI block command.
    fn is_record(self, bytes: &[u8]) -> bool {
        let (version, command) = match self {
            Version::One => (short(bytes, 14), short(bytes, 12)),
            Version::Two => (short(bytes, 2), short(bytes, 0)),
        };
        let number = if self == Version::One { 1 } else { 2 };
        version >> 8 == number && kind(command).is_some()
    }

    fn read(self, bytes: &[u8]) -> Record {
        match self {
            Version::One => Record {
                time_us: long(bytes, 24),
                response_us: None,
                command: short(bytes, 12),
                block: long(bytes, 16),
                bytes: word(bytes, 4),
            },
            Version::Two => Record {
                time_us: long(bytes, 24),
                response_us: Some(long(bytes, 32)),
                command: short(bytes, 0),
                block: long(bytes, 16),
                bytes: word(bytes, 8),
            },
        }
    }
}

/// The kind of a SCSI command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScsiKind {
    /// READ(6), (10), (12), (16).
    Read,
    /// WRITE(6), (10), (12), (16).
    Write,
    /// UNMAP.
    Discard,
    /// SYNCHRONIZE CACHE.
    Flush,
}

/// The kind of a command; `None` if it is not I/O.
pub fn kind(command: u16) -> Option<ScsiKind> {
    match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(ScsiKind::Read),
        0x0a | 0x2a | 0xaa | 0x8a => Some(ScsiKind::Write),
        0x42 => Some(ScsiKind::Discard),
        0x35 | 0x91 => Some(ScsiKind::Flush),
        _ => None,
    }
}

/// Reads records one after the other. A file that ends inside a record is read up to there.
pub struct Records<I> {
    input: I,
    version: Version,
    is_cut_off: bool,
}

impl<I: Read> Records<I> {
    /// Creates a reader of the records of `input`.
    pub fn new(input: I, version: Version) -> Records<I> {
        Records { input, version, is_cut_off: false }
    }

    /// Whether the input ended inside a record, or inside a packed block.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }
}

impl<I: Read> Iterator for Records<I> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<io::Result<Record>> {
        let mut buffer = [0; 40];
        let bytes = &mut buffer[..self.version.length()];
        match filled(&mut self.input, bytes) {
            Ok(Filled::Whole) => Some(Ok(self.version.read(bytes))),
            Ok(part) => {
                self.is_cut_off = part == Filled::InPart;
                None
            }
            Err(error) => Some(Err(error)),
        }
    }
}

fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from(short(bytes, at)) | u32::from(short(bytes, at + 2)) << 16
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(command: u16, block: u64, time_us: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        [0u32, 4096, 1].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        [command, 0x0100].iter().for_each(|short| bytes.extend(short.to_le_bytes()));
        [block, time_us].iter().for_each(|long| bytes.extend(long.to_le_bytes()));
        bytes
    }

    fn two(command: u16, response: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        [command, 0x0200].iter().for_each(|short| bytes.extend(short.to_le_bytes()));
        [7u32, 8192, 2].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        [100, 5, response].iter().for_each(|long: &u64| bytes.extend(long.to_le_bytes()));
        bytes
    }

    #[test]
    fn both_versions_are_known_by_their_bytes() {
        assert_eq!(Version::of(&one(0x28, 1, 2)), Some(Version::One));
        assert_eq!(Version::of(&two(0x2a, 9).repeat(3)), Some(Version::Two));
        assert_eq!(Version::of(&one(0x77, 1, 2)), None);
        assert_eq!((Version::of(&[0; 31]), Version::of(&[0; 96])), (None, None));
    }

    #[test]
    fn records_are_read_up_to_where_the_file_ends() {
        let mut bytes = one(0x28, 523_480, 757_387);
        bytes.extend(&one(0x2a, 8, 757_400)[..31]);
        let read: Vec<Record> = Records::new(&bytes[..], Version::One).map(Result::unwrap).collect();
        let record = Record { time_us: 757_387, response_us: None, command: 0x28, block: 523_480, bytes: 4096 };
        assert_eq!(read, [record]);
        let read: Vec<Record> = Records::new(&two(0x2a, 9)[..], Version::Two).map(Result::unwrap).collect();
        assert_eq!((read[0].response_us, read[0].block, read[0].bytes, read[0].time_us), (Some(9), 100, 8192, 5));
        assert_eq!((kind(0x2a), kind(0x35), kind(0x12)), (Some(ScsiKind::Write), Some(ScsiKind::Flush), None));
    }
}
