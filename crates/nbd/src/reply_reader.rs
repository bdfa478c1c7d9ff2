//! Replies, as read by a client.

use crate::errno::Errno;
use crate::reply::{Extent, ExtentState};
use crate::request::Framing;
use crate::wire::{self, Cursor, chunk};

/// The longest chunk that is buffered whole (extents, an error's message) \[bytes\].
const LONGEST_CHUNK: u64 = 1 << 20;

/// One piece of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// The reply is complete, with an error if there is one.
    Done(Option<Errno>),
    /// Data follow; `last` if they end the reply.
    Data {
        /// Their offset \[bytes\]; `None` in a simple reply: that of the request.
        offset: Option<u64>,
        /// How many bytes follow.
        length: u64,
        /// Whether the reply is complete with them.
        last: bool,
    },
    /// A range that reads as zeroes.
    Hole {
        /// Its offset \[bytes\].
        offset: u64,
        /// Its length \[bytes\].
        length: u64,
        /// Whether the reply is complete.
        last: bool,
    },
    /// An answer about extents.
    Extents {
        /// The extents, from the request's offset on.
        extents: Vec<Extent>,
        /// Whether the reply is complete.
        last: bool,
    },
    /// Something failed, and more chunks follow.
    Error(Errno),
}

/// The server has violated the protocol: close the connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// No reply starts like this.
    #[error("a reply begins with {0:#010x}")]
    Magic(u32),
    /// A reply without a request.
    #[error("a reply to {0:#x}, which was not asked")]
    Unasked(u64),
    /// A chunk that contradicts itself.
    #[error("a malformed chunk of type {kind} and {length} bytes")]
    Malformed {
        /// Its type.
        kind: u16,
        /// The length that it states.
        length: u64,
    },
}

/// Reads the replies of one connection.
#[derive(Clone, Copy, Debug)]
pub struct ReplyReader {
    framing: Framing,
}

impl ReplyReader {
    /// Creates a reader for a connection with this framing.
    pub fn new(framing: Framing) -> ReplyReader {
        ReplyReader { framing }
    }

    /// Reads the chunk at the front of `input`; returns how many bytes were used (without data), the cookie and the
    /// chunk, or nothing while the chunk is incomplete. `asked` returns how many bytes a cookie's request reads (0 if
    /// it is not a read), or `None` if there is no such request.
    ///
    /// # Errors
    /// If the connection cannot continue.
    pub fn read(
        &self,
        input: &[u8],
        asked: impl Fn(u64) -> Option<u64>,
    ) -> Result<Option<(usize, u64, Chunk)>, ReplyError> {
        let mut cursor = Cursor(input);
        let Some(magic) = cursor.u32() else { return Ok(None) };
        let read = match (magic, self.framing) {
            (wire::SIMPLE_REPLY, Framing::Simple | Framing::Structured) => simple(&mut cursor, &asked),
            (wire::STRUCTURED_REPLY, Framing::Structured) | (wire::EXTENDED_REPLY, Framing::Extended) => {
                self.chunk(&mut cursor, &asked)
            }
            _ => return Err(ReplyError::Magic(magic)),
        }?;
        Ok(read.map(|(cookie, chunk)| (input.len() - cursor.0.len(), cookie, chunk)))
    }

    fn chunk(
        &self,
        cursor: &mut Cursor<'_>,
        asked: &impl Fn(u64) -> Option<u64>,
    ) -> Result<Option<(u64, Chunk)>, ReplyError> {
        let Some((last, kind, cookie, length)) = self.chunk_header(cursor) else { return Ok(None) };
        let asked = asked(cookie).ok_or(ReplyError::Unasked(cookie))?;
        let malformed = ReplyError::Malformed { kind, length };
        if kind == chunk::OFFSET_DATA {
            // The data themselves need not be here.
            let count = length.checked_sub(8).filter(|&count| count > 0 && count <= asked).ok_or(malformed)?;
            let offset = cursor.u64();
            return Ok(offset.map(|at| (cookie, Chunk::Data { offset: Some(at), length: count, last })));
        }
        if length > LONGEST_CHUNK {
            return Err(malformed);
        }
        let Some(body) = cursor.bytes(length as usize) else { return Ok(None) };
        body_of(kind, body, last).map(|chunk| Some((cookie, chunk))).ok_or(malformed)
    }

    fn chunk_header(&self, cursor: &mut Cursor<'_>) -> Option<(bool, u16, u64, u64)> {
        let (bits, kind, cookie) = (cursor.u16()?, cursor.u16()?, cursor.u64()?);
        let length = match self.framing {
            Framing::Extended => cursor.u64().and_then(|_offset| cursor.u64())?,
            _ => u64::from(cursor.u32()?),
        };
        Some((bits & chunk::DONE != 0, kind, cookie, length))
    }
}

fn simple(cursor: &mut Cursor<'_>, asked: &impl Fn(u64) -> Option<u64>) -> Result<Option<(u64, Chunk)>, ReplyError> {
    let (Some(error), Some(cookie)) = (cursor.u32(), cursor.u64()) else { return Ok(None) };
    let length = asked(cookie).ok_or(ReplyError::Unasked(cookie))?;
    let chunk = match (error, length) {
        (0, 0) => Chunk::Done(None),
        (0, length) => Chunk::Data { offset: None, length, last: true },
        (code, _) => Chunk::Done(Some(Errno::from_code(code))),
    };
    Ok(Some((cookie, chunk)))
}

/// A chunk whose body is complete; `None` if it contradicts itself.
fn body_of(kind: u16, body: &[u8], last: bool) -> Option<Chunk> {
    let mut cursor = Cursor(body);
    if kind & chunk::ERROR != 0 {
        let code = cursor.u32().filter(|&code| code != 0)?;
        let length = cursor.u16()?;
        cursor.bytes(usize::from(length))?;
        let errno = Errno::from_code(code);
        return Some(if last { Chunk::Done(Some(errno)) } else { Chunk::Error(errno) });
    }
    match kind {
        chunk::NONE => (body.is_empty() && last).then_some(Chunk::Done(None)),
        chunk::OFFSET_HOLE => {
            let (offset, length) = (cursor.u64()?, u64::from(cursor.u32()?));
            (cursor.is_empty() && length > 0).then_some(Chunk::Hole { offset, length, last })
        }
        chunk::BLOCK_STATUS => {
            cursor.u32()?;
            let extents = extents(cursor, |cursor| Some((u64::from(cursor.u32()?), cursor.u32()?)))?;
            Some(Chunk::Extents { extents, last })
        }
        chunk::BLOCK_STATUS_EXT => {
            let (_context, count) = (cursor.u32()?, cursor.u32()?);
            let extents = extents(cursor, |cursor| Some((cursor.u64()?, cursor.u64()? as u32)))?;
            (count == 0 || count as usize == extents.len()).then_some(Chunk::Extents { extents, last })
        }
        _ => None,
    }
}

fn extents(mut cursor: Cursor<'_>, next: impl Fn(&mut Cursor<'_>) -> Option<(u64, u32)>) -> Option<Vec<Extent>> {
    let mut extents = Vec::new();
    while !cursor.is_empty() {
        let (length, bits) = next(&mut cursor).filter(|&(length, _)| length > 0)?;
        extents.push(Extent { length, state: ExtentState::from_bits(bits) });
    }
    (!extents.is_empty()).then_some(extents)
}
