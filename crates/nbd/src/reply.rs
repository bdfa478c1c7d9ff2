//! Replies, as written by a server in the agreed framing.

use crate::ALLOCATION_ID;
use crate::errno::Errno;
use crate::request::{Command, Extents, Framing, Request};
use crate::wire::{self, Put, chunk, state};

/// The greatest number of extents in one answer; a client that needs more asks again.
pub const MOST_EXTENTS: usize = 1024;

/// A range of an export in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its length \[bytes\]; not 0.
    pub length: u64,
    /// Its state.
    pub state: ExtentState,
}

/// The state of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtentState {
    /// Allocated, of any content.
    Data,
    /// Allocated, and reads as zeroes.
    Zeroes,
    /// Not allocated, and reads as zeroes.
    Hole,
}

impl ExtentState {
    /// The state as sent.
    pub fn bits(self) -> u32 {
        match self {
            ExtentState::Data => 0,
            ExtentState::Zeroes => state::ZERO,
            ExtentState::Hole => state::HOLE | state::ZERO,
        }
    }

    /// The state for received bits; a hole of unknown content counts as data.
    pub fn from_bits(bits: u32) -> ExtentState {
        match bits & (state::HOLE | state::ZERO) {
            both if both == state::HOLE | state::ZERO => ExtentState::Hole,
            state::ZERO => ExtentState::Zeroes,
            _ => ExtentState::Data,
        }
    }
}

/// Writes a reply without data: the request succeeded.
pub fn done(framing: Framing, request: &Request, out: &mut Vec<u8>) {
    match framing {
        Framing::Simple => simple(request, 0, out),
        _ => header(framing, request, chunk::NONE, 0, out),
    }
}

/// Writes a reply with an error.
pub fn error(framing: Framing, request: &Request, errno: Errno, out: &mut Vec<u8>) {
    if framing == Framing::Simple {
        simple(request, errno.code(), out);
        return;
    }
    let message = errno.to_string();
    header(framing, request, chunk::ERROR_PLAIN, 6 + message.len() as u64, out);
    out.put32(errno.code());
    out.put16(message.len() as u16);
    out.extend_from_slice(message.as_bytes());
}

/// Writes the header of a read's reply: `request.length` bytes of data must follow.
pub fn data(framing: Framing, request: &Request, out: &mut Vec<u8>) {
    if framing == Framing::Simple {
        simple(request, 0, out);
        return;
    }
    header(framing, request, chunk::OFFSET_DATA, 8 + request.length, out);
    out.put64(request.offset);
}

/// Writes a read's reply if everything read is zeroes: no data follow.
///
/// # Panics
/// With simple replies, which have no holes.
pub fn hole(framing: Framing, request: &Request, out: &mut Vec<u8>) {
    assert!(framing != Framing::Simple);
    header(framing, request, chunk::OFFSET_HOLE, 12, out);
    out.put64(request.offset);
    // No caller reads more than one payload at a time, so the length fits.
    out.put32(request.length as u32);
}

/// Writes the answer to a request for extents. Those beyond [`MOST_EXTENTS`], or beyond the single one requested, are
/// left out.
///
/// # Panics
/// If there is no extent, or the framing is simple, in which such requests are refused.
pub fn extents(framing: Framing, request: &Request, extents: &[Extent], out: &mut Vec<u8>) {
    assert!(!extents.is_empty() && framing != Framing::Simple);
    let one = matches!(request.command, Command::BlockStatus { extents: Extents::One });
    let extents = &extents[..extents.len().min(if one { 1 } else { MOST_EXTENTS })];
    let count = extents.len() as u64;
    if framing == Framing::Extended {
        header(framing, request, chunk::BLOCK_STATUS_EXT, 8 + 16 * count, out);
        out.put32(ALLOCATION_ID);
        out.put32(extents.len() as u32);
        for extent in extents {
            out.put64(extent.length);
            out.put64(u64::from(extent.state.bits()));
        }
        return;
    }
    header(framing, request, chunk::BLOCK_STATUS, 4 + 8 * count, out);
    out.put32(ALLOCATION_ID);
    for extent in extents {
        // The request was not longer than this, and an answer may be shorter.
        out.put32(u32::try_from(extent.length).unwrap_or(u32::MAX));
        out.put32(extent.state.bits());
    }
}

fn simple(request: &Request, error: u32, out: &mut Vec<u8>) {
    out.put32(wire::SIMPLE_REPLY);
    out.put32(error);
    out.put64(request.cookie);
}

/// The header of a chunk that is its reply's last.
fn header(framing: Framing, request: &Request, kind: u16, length: u64, out: &mut Vec<u8>) {
    let extended = framing == Framing::Extended;
    out.put32(if extended { wire::EXTENDED_REPLY } else { wire::STRUCTURED_REPLY });
    out.put16(chunk::DONE);
    out.put16(kind);
    out.put64(request.cookie);
    if extended {
        out.put64(request.offset);
        out.put64(length);
    } else {
        out.put32(length as u32);
    }
}
