//! Requests of the transmission phase: writing, reading and checking them.
//!
//! **Rule** Every request that can be answered is: one that breaks a rule is [`Parsed::Refused`] with the error that
//! the document requires, and its payload is skipped. Only an error after which the next request cannot be found (a
//! wrong magic number, a payload longer than allowed) is a [`Violation`], after which the connection must be closed.

use crate::errno::Errno;
use crate::export::{BlockSize, Export, Features};
use crate::wire::{self, Cursor, Put, command, modifier};

/// The format of requests and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Framing {
    /// Compact requests, simple replies.
    Simple,
    /// Compact requests, structured replies.
    Structured,
    /// Extended requests and replies: 64-bit lengths.
    Extended,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The client's identifier, returned with the reply.
    pub cookie: u64,
    /// The command.
    pub command: Command,
    /// Its offset \[bytes\].
    pub offset: u64,
    /// Its length \[bytes\]; also that of a write's data, which follow the request.
    pub length: u64,
}

/// The commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read. (The flag DF is not kept, since replies of this crate are never fragmented.)
    Read,
    /// Write the data that follow.
    Write(Persist),
    /// No more requests follow; there is no reply.
    Disconnect,
    /// Make everything stable that has been replied to.
    Flush,
    /// These bytes may be forgotten.
    Trim(Persist),
    /// These bytes will be read soon.
    Cache,
    /// Write zeroes.
    WriteZeroes {
        /// Whether they must be stable before the reply.
        persist: Persist,
        /// Whether their storage may be deallocated.
        holes: Holes,
        /// Whether a slow way is acceptable.
        speed: Speed,
    },
    /// Report which parts are allocated.
    BlockStatus {
        /// The number of extents to return at most.
        extents: Extents,
    },
    /// A command that the protocol does not have; only within [`Parsed::Refused`].
    Unknown(u16),
}

/// When a write counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persist {
    /// As soon as reads return it.
    Lazily,
    /// Once it is stable (FUA).
    First,
}

/// Whether zeroes may be holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holes {
    /// They may.
    Allowed,
    /// They may not (NO_HOLE).
    Refused,
}

/// What to do if zeroes cannot be written faster than data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// Write them slowly.
    Any,
    /// Fail with [`Errno::NotSup`] (FAST_ZERO).
    Fast,
}

/// How many extents an answer may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extents {
    /// As many as fit.
    Many,
    /// One (REQ_ONE).
    One,
}

/// The limits that requests are checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The export's size \[bytes\].
    pub size: u64,
    /// The export's features.
    pub features: Features,
    /// The sizes accepted.
    pub block_size: BlockSize,
    /// Whether `base:allocation` was selected.
    pub allocation: bool,
}

impl Limits {
    /// The limits of `export`, for a client that has selected `base:allocation` or not.
    pub fn of(export: &Export, allocation: bool) -> Limits {
        Limits { size: export.size, features: export.features, block_size: export.block_size, allocation }
    }
}

/// The result of reading the front of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The request header is incomplete.
    More,
    /// A request; this many bytes of data follow it.
    Request(Request, u32),
    /// A request that must be answered with an error, after this many bytes of data are skipped.
    Refused(Request, u32, Errno),
}

/// The client has violated the protocol: close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// No request starts like this.
    #[error("a request begins with {found:#010x}, not with {expected:#010x}")]
    Magic {
        /// The number received.
        found: u32,
        /// The magic number expected.
        expected: u32,
    },
    /// More data than any client may send.
    #[error("a request brings {length} bytes of data, and {most} are the most")]
    TooLong {
        /// The length received.
        length: u64,
        /// The maximum allowed.
        most: u32,
    },
}

/// Reads the requests of one connection.
#[derive(Clone, Copy, Debug)]
pub struct RequestReader {
    framing: Framing,
    limits: Limits,
}

impl RequestReader {
    /// Creates a reader for a connection with this framing and these limits.
    pub fn new(framing: Framing, limits: Limits) -> RequestReader {
        RequestReader { framing, limits }
    }

    /// The format of requests and replies.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Whether extents may be asked for.
    pub fn allocation(&self) -> bool {
        self.limits.allocation
    }

    /// The length of a header \[bytes\].
    pub fn header_length(&self) -> usize {
        match self.framing {
            Framing::Simple | Framing::Structured => 28,
            Framing::Extended => 32,
        }
    }

    /// Changes the export's size.
    pub fn resize(&mut self, size: u64) {
        self.limits.size = size;
    }

    /// Reads the request header at the front of `input`; returns how many bytes were used (without data).
    ///
    /// # Errors
    /// If the connection cannot continue.
    pub fn read(&self, input: &[u8]) -> Result<(usize, Parsed), Violation> {
        let expected = magic(self.framing);
        let mut cursor = Cursor(input);
        let Some(found) = cursor.u32() else { return Ok((0, Parsed::More)) };
        if found != expected {
            return Err(Violation::Magic { found, expected });
        }
        let Some((bits, code, cookie, offset, length)) = self.fields(&mut cursor) else {
            return Ok((0, Parsed::More));
        };
        let used = input.len() - cursor.0.len();
        let payload = self.payload(bits, code, length)?;
        let request = Request { cookie, command: meaning(code, bits), offset, length };
        Ok((
            used,
            match self.refusal(bits, &request) {
                None => Parsed::Request(request, payload),
                Some(errno) => Parsed::Refused(request, payload, errno),
            },
        ))
    }

    fn fields(&self, cursor: &mut Cursor<'_>) -> Option<(u16, u16, u64, u64, u64)> {
        let (bits, code, cookie, offset) = (cursor.u16()?, cursor.u16()?, cursor.u64()?, cursor.u64()?);
        let length = if self.framing == Framing::Extended { cursor.u64()? } else { u64::from(cursor.u32()?) };
        Some((bits, code, cookie, offset, length))
    }

    /// How many bytes of data follow the header.
    fn payload(&self, bits: u16, code: u16, length: u64) -> Result<u32, Violation> {
        let follows = match self.framing {
            Framing::Extended => bits & modifier::PAYLOAD_LEN != 0,
            Framing::Simple | Framing::Structured => code == command::WRITE,
        };
        match u32::try_from(length) {
            _ if !follows => Ok(0),
            // A payload that is too long is refused and skipped.
            Ok(length) => Ok(length),
            Err(_) => Err(Violation::TooLong { length, most: u32::MAX }),
        }
    }

    /// The error of a request that cannot be served.
    fn refusal(&self, bits: u16, request: &Request) -> Option<Errno> {
        let Limits { features, allocation, .. } = self.limits;
        let Request { command, offset, length, .. } = *request;
        if bits & !self.known_bits(command) != 0 || self.lacks_payload(bits, command) {
            return Some(Errno::Inval);
        }
        let offered = match command {
            Command::Read | Command::Write(_) => true,
            Command::Disconnect => return None,
            Command::Flush => features.flush && offset == 0 && length == 0,
            Command::Trim(_) => features.trim,
            Command::Cache => features.cache,
            Command::WriteZeroes { .. } => features.write_zeroes,
            Command::BlockStatus { .. } => allocation,
            Command::Unknown(_) => false,
        };
        if !offered {
            return Some(Errno::Inval);
        }
        match command {
            Command::Flush => None,
            Command::Write(_) | Command::Trim(_) | Command::WriteZeroes { .. } if features.read_only => {
                Some(Errno::Perm)
            }
            _ => self.misplaced(request),
        }
    }

    /// Whether this is an extended write without the flag that data follow.
    fn lacks_payload(&self, bits: u16, command: Command) -> bool {
        let extended = self.framing == Framing::Extended;
        extended && matches!(command, Command::Write(_)) && bits & modifier::PAYLOAD_LEN == 0
    }

    /// The error of a request that is outside the export, empty, or not of whole blocks.
    fn misplaced(&self, request: &Request) -> Option<Errno> {
        let Request { command, offset, length, .. } = *request;
        let Limits { size, block_size, .. } = self.limits;
        let moves_data = matches!(command, Command::Read | Command::Write(_));
        if offset.checked_add(length).is_none_or(|end| end > size) {
            let grows = matches!(command, Command::Write(_) | Command::WriteZeroes { .. });
            return Some(if grows { Errno::NoSpc } else { Errno::Inval });
        }
        let block = u64::from(block_size.minimum.max(1));
        let odd = !offset.is_multiple_of(block) || !length.is_multiple_of(block);
        let too_long = moves_data && length > u64::from(block_size.maximum);
        (length == 0 || odd || too_long).then_some(Errno::Inval)
    }

    /// The flags allowed with a command. According to the document, clients set FUA anywhere.
    fn known_bits(&self, command: Command) -> u16 {
        let Limits { features, .. } = self.limits;
        let fua = if features.fua { modifier::FUA } else { 0 };
        let df = if features.do_not_fragment && self.framing != Framing::Simple { modifier::DF } else { 0 };
        let fast = if features.fast_zero { modifier::FAST_ZERO } else { 0 };
        fua | match command {
            Command::Read => df,
            Command::Write(_) if self.framing == Framing::Extended => modifier::PAYLOAD_LEN,
            Command::WriteZeroes { .. } => modifier::NO_HOLE | fast,
            Command::BlockStatus { .. } => modifier::REQ_ONE,
            _ => 0,
        }
    }
}

impl Request {
    /// Writes the request; a write's data must follow.
    pub fn encode(&self, framing: Framing, out: &mut Vec<u8>) {
        let (code, bits) = self.command.code();
        let says_payload = framing == Framing::Extended && matches!(self.command, Command::Write(_));
        out.put32(magic(framing));
        out.put16(bits | if says_payload { modifier::PAYLOAD_LEN } else { 0 });
        out.put16(code);
        out.put64(self.cookie);
        out.put64(self.offset);
        match framing {
            Framing::Extended => out.put64(self.length),
            // A longer request has no compact form, and is an error of a caller that ignores the framing.
            Framing::Simple | Framing::Structured => out.put32(u32::try_from(self.length).unwrap_or(u32::MAX)),
        }
    }
}

impl Command {
    fn code(self) -> (u16, u16) {
        let fua = |persist| if persist == Persist::First { modifier::FUA } else { 0 };
        match self {
            Command::Read => (command::READ, 0),
            Command::Write(persist) => (command::WRITE, fua(persist)),
            Command::Disconnect => (command::DISC, 0),
            Command::Flush => (command::FLUSH, 0),
            Command::Trim(persist) => (command::TRIM, fua(persist)),
            Command::Cache => (command::CACHE, 0),
            Command::WriteZeroes { persist, holes, speed } => {
                let no_hole = if holes == Holes::Refused { modifier::NO_HOLE } else { 0 };
                let fast = if speed == Speed::Fast { modifier::FAST_ZERO } else { 0 };
                (command::WRITE_ZEROES, fua(persist) | no_hole | fast)
            }
            Command::BlockStatus { extents } => {
                (command::BLOCK_STATUS, if extents == Extents::One { modifier::REQ_ONE } else { 0 })
            }
            Command::Unknown(code) => (code, 0),
        }
    }
}

fn magic(framing: Framing) -> u32 {
    match framing {
        Framing::Extended => wire::EXTENDED_REQUEST,
        Framing::Simple | Framing::Structured => wire::REQUEST,
    }
}

fn meaning(code: u16, bits: u16) -> Command {
    let is_set = |bit: u16| bits & bit != 0;
    let persist = if is_set(modifier::FUA) { Persist::First } else { Persist::Lazily };
    match code {
        command::READ => Command::Read,
        command::WRITE => Command::Write(persist),
        command::DISC => Command::Disconnect,
        command::FLUSH => Command::Flush,
        command::TRIM => Command::Trim(persist),
        command::CACHE => Command::Cache,
        command::WRITE_ZEROES => Command::WriteZeroes {
            persist,
            holes: if is_set(modifier::NO_HOLE) { Holes::Refused } else { Holes::Allowed },
            speed: if is_set(modifier::FAST_ZERO) { Speed::Fast } else { Speed::Any },
        },
        command::BLOCK_STATUS => {
            Command::BlockStatus { extents: if is_set(modifier::REQ_ONE) { Extents::One } else { Extents::Many } }
        }
        other => Command::Unknown(other),
    }
}

#[cfg(test)]
mod tests;
