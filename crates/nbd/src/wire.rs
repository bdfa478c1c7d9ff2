//! The numbers of the protocol, each once, and the reading and writing of numbers in network byte order.

/// "NBDMAGIC".
pub const INIT: u64 = 0x4e42_444d_4147_4943;
/// "IHAVEOPT": newstyle, and the start of every option.
pub const OPTION: u64 = 0x4948_4156_454f_5054;
/// The start of every reply to an option.
pub const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
/// The start of a compact request.
pub const REQUEST: u32 = 0x2560_9513;
/// The start of an extended request.
pub const EXTENDED_REQUEST: u32 = 0x21e4_1c71;
/// The start of a simple reply.
pub const SIMPLE_REPLY: u32 = 0x6744_6698;
/// The start of a structured reply chunk.
pub const STRUCTURED_REPLY: u32 = 0x668e_33ef;
/// The start of an extended reply chunk.
pub const EXTENDED_REPLY: u32 = 0x6e8a_278c;

/// Handshake flags, the server's and the client's.
pub mod hello {
    /// Fixed newstyle.
    pub const FIXED_NEWSTYLE: u16 = 1;
    /// No 124 zeroes after the answer to `EXPORT_NAME`.
    pub const NO_ZEROES: u16 = 2;
}

/// Option numbers.
pub mod option {
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const STARTTLS: u32 = 5;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
    pub const LIST_META_CONTEXT: u32 = 9;
    pub const SET_META_CONTEXT: u32 = 10;
    pub const EXTENDED_HEADERS: u32 = 11;
}

/// Replies to options.
pub mod answer {
    pub const ACK: u32 = 1;
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    pub const META_CONTEXT: u32 = 4;
    /// Every error has this bit.
    pub const ERROR: u32 = 1 << 31;
    pub const UNSUPPORTED: u32 = ERROR | 1;
    pub const INVALID: u32 = ERROR | 3;
    pub const TLS_REQUIRED: u32 = ERROR | 5;
    pub const UNKNOWN: u32 = ERROR | 6;
    pub const EXT_HEADER_REQUIRED: u32 = ERROR | 10;
}

/// The kinds of INFO replies.
pub mod info {
    pub const EXPORT: u16 = 0;
    pub const NAME: u16 = 1;
    pub const DESCRIPTION: u16 = 2;
    pub const BLOCK_SIZE: u16 = 3;
}

/// Commands.
pub mod command {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISC: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const CACHE: u16 = 5;
    pub const WRITE_ZEROES: u16 = 6;
    pub const BLOCK_STATUS: u16 = 7;
}

/// Command flags.
pub mod modifier {
    pub const FUA: u16 = 1;
    pub const NO_HOLE: u16 = 1 << 1;
    pub const DF: u16 = 1 << 2;
    pub const REQ_ONE: u16 = 1 << 3;
    pub const FAST_ZERO: u16 = 1 << 4;
    pub const PAYLOAD_LEN: u16 = 1 << 5;
}

/// Chunks of structured and extended replies.
pub mod chunk {
    pub const NONE: u16 = 0;
    pub const OFFSET_DATA: u16 = 1;
    pub const OFFSET_HOLE: u16 = 2;
    pub const BLOCK_STATUS: u16 = 5;
    pub const BLOCK_STATUS_EXT: u16 = 6;
    /// Every error has this bit.
    pub const ERROR: u16 = 1 << 15;
    pub const ERROR_PLAIN: u16 = ERROR | 1;
    /// The flag of a reply's last chunk.
    pub const DONE: u16 = 1;
}

/// States of a range in `base:allocation`.
pub mod state {
    pub const HOLE: u32 = 1;
    pub const ZERO: u32 = 2;
}

/// Reads numbers from the front of a message; `None` at its end.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    /// A string preceded by its 32-bit length.
    pub fn counted(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.bytes(length as usize)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }
}

/// Writes numbers at the end of a message.
pub trait Put {
    fn put16(&mut self, value: u16);
    fn put32(&mut self, value: u32);
    fn put64(&mut self, value: u64);
    /// A string preceded by its 32-bit length.
    fn put_counted(&mut self, text: &[u8]);
}

impl Put for Vec<u8> {
    fn put16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn put32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn put64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn put_counted(&mut self, text: &[u8]) {
        self.put32(text.len() as u32);
        self.extend_from_slice(text);
    }
}
