//! A real recording, as long as a benchmark wants it.

#![allow(dead_code, reason = "each benchmark uses its own part")]

/// One file per CPU, with one second of events.
pub const RECORDED: [&[u8]; 2] = [
    include_bytes!("../../../../testdata/traces/mq-deadline.blktrace.0"),
    include_bytes!("../../../../testdata/traces/mq-deadline.blktrace.1"),
];
/// The distance from one repetition to the next \[ns\].
const APART: u64 = 2_000_000_000;
/// An event's bytes without its payload, and the offsets of its time and of the payload's length.
const EVENT: usize = 48;
const TIME: usize = 8;
const REST: usize = 46;

/// The first event, if there is one.
fn event(bytes: &[u8]) -> Option<&[u8]> {
    let event = bytes.get(..EVENT)?;
    Some(&bytes[..EVENT + usize::from(u16::from_le_bytes([event[REST], event[REST + 1]]))])
}

/// How many events these are.
pub fn count(bytes: &[u8]) -> u64 {
    let (mut rest, mut count) = (bytes, 0);
    while let Some(event) = event(rest) {
        rest = &rest[event.len()..];
        count += 1;
    }
    count
}

/// This many events: the recording, repeated with later times.
pub fn events(bytes: &[u8], count: u64) -> Vec<u8> {
    let (mut all, mut rest, mut later) = (Vec::new(), bytes, 0);
    for _ in 0..count {
        if event(rest).is_none() {
            (rest, later) = (bytes, later + APART);
        }
        let event = event(rest).expect("a recording has events");
        let moment = all.len() + TIME..all.len() + TIME + 8;
        all.extend_from_slice(event);
        let moment: &mut [u8] = &mut all[moment];
        let at = moment.iter().rev().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
        moment.copy_from_slice(&(at + later).to_le_bytes());
        rest = &rest[event.len()..];
    }
    all
}
