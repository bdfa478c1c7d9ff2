//! Requests, rule by rule.

use super::*;

fn limits() -> Limits {
    let block_size = BlockSize { minimum: 512, ..BlockSize::default() };
    Limits { size: 1 << 20, features: Features::default(), block_size, allocation: true }
}

fn parse(limits: Limits, framing: Framing, request: Request) -> Parsed {
    let mut bytes = Vec::new();
    request.encode(framing, &mut bytes);
    let (used, parsed) = RequestReader::new(framing, limits).read(&bytes).unwrap();
    assert_eq!(used, bytes.len());
    parsed
}

fn refused(limits: Limits, command: Command, offset: u64, length: u64) -> Option<Errno> {
    match parse(limits, Framing::Structured, Request { cookie: 1, command, offset, length }) {
        Parsed::Refused(_, _, errno) => Some(errno),
        _ => None,
    }
}

const WRITE: Command = Command::Write(Persist::Lazily);
const ZERO: Command = Command::WriteZeroes { persist: Persist::First, holes: Holes::Refused, speed: Speed::Fast };

#[test]
fn every_command_reads_back_as_it_was_written() {
    let commands = [
        Command::Read,
        WRITE,
        Command::Write(Persist::First),
        Command::Trim(Persist::Lazily),
        Command::Cache,
        ZERO,
        Command::BlockStatus { extents: Extents::One },
        Command::BlockStatus { extents: Extents::Many },
    ];
    for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
        for command in commands {
            let request = Request { cookie: 77, command, offset: 512, length: 1024 };
            let payload = if matches!(command, Command::Write(_)) { 1024 } else { 0 };
            assert_eq!(parse(limits(), framing, request), Parsed::Request(request, payload));
        }
    }
}

#[test]
fn a_request_outside_the_export_has_the_documents_error() {
    assert_eq!(refused(limits(), Command::Read, 1 << 20, 512), Some(Errno::Inval));
    assert_eq!(refused(limits(), WRITE, (1 << 20) - 512, 1024), Some(Errno::NoSpc));
    assert_eq!(refused(limits(), ZERO, u64::MAX - 511, 512), Some(Errno::NoSpc));
    assert_eq!(refused(limits(), Command::Read, (1 << 20) - 512, 512), None);
}

#[test]
fn a_request_of_broken_blocks_or_no_length_is_refused() {
    assert_eq!(refused(limits(), Command::Read, 1, 512), Some(Errno::Inval));
    assert_eq!(refused(limits(), WRITE, 0, 513), Some(Errno::Inval));
    assert_eq!(refused(limits(), Command::Read, 0, 0), Some(Errno::Inval));
}

#[test]
fn a_write_to_a_read_only_export_is_not_permitted() {
    let features = Features { read_only: true, ..Features::default() };
    for command in [WRITE, ZERO, Command::Trim(Persist::Lazily)] {
        assert_eq!(refused(Limits { features, ..limits() }, command, 0, 512), Some(Errno::Perm));
    }
    assert_eq!(refused(Limits { features, ..limits() }, Command::Read, 0, 512), None);
}

#[test]
fn what_was_not_offered_is_refused() {
    let features = Features::from_bits(0);
    for command in [Command::Flush, Command::Cache, ZERO, Command::Write(Persist::First)] {
        assert_eq!(refused(Limits { features, ..limits() }, command, 0, 0), Some(Errno::Inval));
    }
    let status = Command::BlockStatus { extents: Extents::One };
    assert_eq!(refused(Limits { allocation: false, ..limits() }, status, 0, 512), Some(Errno::Inval));
    assert_eq!(refused(limits(), Command::Unknown(99), 0, 512), Some(Errno::Inval));
}

#[test]
fn a_write_longer_than_allowed_is_refused_and_skipped_and_only_one_that_never_ends_closes_the_connection() {
    let limits = || Limits { size: 1 << 40, ..limits() };
    let length = u64::from(crate::LARGEST_PAYLOAD) + 512;
    for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
        let request = Request { cookie: 1, command: WRITE, offset: 0, length };
        assert_eq!(parse(limits(), framing, request), Parsed::Refused(request, length as u32, Errno::Inval));
        let allowed = Request { length: length - 512, ..request };
        assert_eq!(parse(limits(), framing, allowed), Parsed::Request(allowed, length as u32 - 512));
    }
    let mut bytes = Vec::new();
    Request { cookie: 1, command: WRITE, offset: 0, length: 1 << 32 }.encode(Framing::Extended, &mut bytes);
    let read = RequestReader::new(Framing::Extended, limits()).read(&bytes);
    assert!(matches!(read, Err(Violation::TooLong { .. })));
    assert!(matches!(RequestReader::new(Framing::Simple, limits()).read(&[0; 28]), Err(Violation::Magic { .. })));
}

#[test]
fn an_extended_write_without_its_data_is_refused_and_nothing_is_skipped() {
    let mut bytes = Vec::new();
    Request { cookie: 1, command: WRITE, offset: 0, length: 512 }.encode(Framing::Extended, &mut bytes);
    bytes[4..6].copy_from_slice(&[0, 0]);
    let (_, parsed) = RequestReader::new(Framing::Extended, limits()).read(&bytes).unwrap();
    assert!(matches!(parsed, Parsed::Refused(_, 0, Errno::Inval)));
    // Data that no command expects are also skipped.
    let mut bytes = Vec::new();
    Request { cookie: 1, command: Command::Cache, offset: 0, length: 512 }.encode(Framing::Extended, &mut bytes);
    bytes[5] |= modifier::PAYLOAD_LEN as u8;
    let (_, parsed) = RequestReader::new(Framing::Extended, limits()).read(&bytes).unwrap();
    assert!(matches!(parsed, Parsed::Refused(_, 512, Errno::Inval)));
}

#[test]
fn an_extended_trim_may_be_longer_than_32_bits() {
    let limits = Limits { size: 1 << 40, ..limits() };
    let request = Request { cookie: 9, command: Command::Trim(Persist::Lazily), offset: 0, length: 1 << 36 };
    assert_eq!(parse(limits, Framing::Extended, request), Parsed::Request(request, 0));
}
