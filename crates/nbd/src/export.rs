//! Exports: what a server offers under one name.

/// One export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name; at most 4096 bytes.
    pub name: String,
    /// A description for people; may be empty.
    pub description: String,
    /// Its size \[bytes\].
    pub size: u64,
    /// The operations that it supports.
    pub features: Features,
    /// The sizes that requests should have.
    pub block_size: BlockSize,
}

impl Export {
    /// An export of `size` bytes with every feature.
    pub fn of(name: &str, size: u64) -> Export {
        Export {
            name: name.to_owned(),
            description: String::new(),
            size,
            features: Features::default(),
            block_size: BlockSize::default(),
        }
    }
}

/// The operations that an export supports: the transmission flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Writes are refused.
    pub read_only: bool,
    /// FLUSH.
    pub flush: bool,
    /// The flag FUA is allowed.
    pub fua: bool,
    /// The device is rotational.
    pub rotational: bool,
    /// TRIM.
    pub trim: bool,
    /// WRITE_ZEROES.
    pub write_zeroes: bool,
    /// The flag DF is allowed; only with structured or extended replies.
    pub do_not_fragment: bool,
    /// A flush covers all connections.
    pub multi_conn: bool,
    /// CACHE.
    pub cache: bool,
    /// The flag FAST_ZERO is allowed.
    pub fast_zero: bool,
}

impl Default for Features {
    /// All features, on a non-rotational disk.
    fn default() -> Features {
        Features {
            read_only: false,
            flush: true,
            fua: true,
            rotational: false,
            trim: true,
            write_zeroes: true,
            do_not_fragment: true,
            multi_conn: true,
            cache: true,
            fast_zero: true,
        }
    }
}

impl Features {
    /// The flags as sent, including the first bit ("there are flags").
    pub fn bits(self) -> u16 {
        self.list().into_iter().fold(1, |bits, (bit, set)| bits | (u16::from(set) << bit))
    }

    /// The features for received flags; unknown bits are ignored.
    pub fn from_bits(bits: u16) -> Features {
        let is_set = |bit: u16| bits & (1 << bit) != 0;
        Features {
            read_only: is_set(1),
            flush: is_set(2),
            fua: is_set(3),
            rotational: is_set(4),
            trim: is_set(5),
            write_zeroes: is_set(6),
            do_not_fragment: is_set(7),
            multi_conn: is_set(8),
            cache: is_set(10),
            fast_zero: is_set(11),
        }
    }

    fn list(self) -> [(u16, bool); 10] {
        [
            (1, self.read_only),
            (2, self.flush),
            (3, self.fua),
            (4, self.rotational),
            (5, self.trim),
            (6, self.write_zeroes),
            (7, self.do_not_fragment),
            (8, self.multi_conn),
            (10, self.cache),
            (11, self.fast_zero),
        ]
    }
}

/// Sizes of requests \[bytes\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSize {
    /// Offsets and lengths are multiples of it; a power of two.
    pub minimum: u32,
    /// The preferred size; a power of two.
    pub preferred: u32,
    /// The longest data of one request.
    pub maximum: u32,
}

impl Default for BlockSize {
    fn default() -> BlockSize {
        BlockSize { minimum: 1, preferred: 4096, maximum: crate::LARGEST_PAYLOAD }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_read_back_as_they_were_written() {
        for bit in 1..12 {
            let features = Features::from_bits(1 << bit);
            assert_eq!(Features::from_bits(features.bits()), features);
        }
        assert_eq!(Features::default().bits(), 0b1101_1110_1101);
    }
}
