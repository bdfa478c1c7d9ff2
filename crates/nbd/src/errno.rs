//! The errors that may be sent: the numbers of the document, which are Linux's own.

use core::fmt;

/// Why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Errno {
    /// Not allowed: a write to a read-only export.
    Perm,
    /// The back end failed.
    Io,
    /// Out of memory.
    NoMem,
    /// The request makes no sense here.
    Inval,
    /// The disk is full; also a write beyond the export's end.
    NoSpc,
    /// Too large to be answered in one reply.
    Overflow,
    /// Not supported; for a fast zero: not possible fast.
    NotSup,
    /// The server is going down.
    Shutdown,
}

impl Errno {
    /// All errors, once each.
    pub const ALL: [Errno; 8] = [
        Errno::Perm,
        Errno::Io,
        Errno::NoMem,
        Errno::Inval,
        Errno::NoSpc,
        Errno::Overflow,
        Errno::NotSup,
        Errno::Shutdown,
    ];

    /// Its number on the wire.
    pub fn code(self) -> u32 {
        match self {
            Errno::Perm => 1,
            Errno::Io => 5,
            Errno::NoMem => 12,
            Errno::Inval => 22,
            Errno::NoSpc => 28,
            Errno::Overflow => 75,
            Errno::NotSup => 95,
            Errno::Shutdown => 108,
        }
    }

    /// The error for a number; `Inval` for an unknown one, as the document says.
    pub fn from_code(code: u32) -> Errno {
        Errno::ALL.into_iter().find(|errno| errno.code() == code).unwrap_or(Errno::Inval)
    }

    /// The error for an operating system's error number; `Io` for those that cannot be sent.
    pub fn from_os(code: i32) -> Errno {
        const EROFS: i32 = 30;
        const EDQUOT: i32 = 122;
        const EFBIG: i32 = 27;
        match code {
            EROFS => Errno::Perm,
            EDQUOT | EFBIG => Errno::NoSpc,
            _ => Errno::ALL.into_iter().find(|errno| errno.code() as i32 == code).unwrap_or(Errno::Io),
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Errno::Perm => "operation not permitted",
            Errno::Io => "input/output error",
            Errno::NoMem => "out of memory",
            Errno::Inval => "invalid request",
            Errno::NoSpc => "no space left",
            Errno::Overflow => "too large",
            Errno::NotSup => "not supported",
            Errno::Shutdown => "the server is shutting down",
        })
    }
}

impl core::error::Error for Errno {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_reads_back_from_its_number() {
        for errno in Errno::ALL {
            assert_eq!(Errno::from_code(errno.code()), errno);
            assert_eq!(Errno::from_os(errno.code() as i32), errno);
        }
    }

    #[test]
    fn a_number_without_a_place_on_the_wire_is_an_io_error() {
        assert_eq!(Errno::from_os(61), Errno::Io);
        assert_eq!(Errno::from_os(122), Errno::NoSpc);
        assert_eq!(Errno::from_code(61), Errno::Inval);
    }
}
