//! Stage 4: files onto the disk, spread evenly in the order in which they first occur.
//!
//! **Rule** file *i* of *n* begins at the lengths of the files before it plus *i* equal gaps; the gap is the free
//! space divided by *n*. Lengths and gaps are whole MiB. A file of unknown length gets an equal share of the free
//! space instead, and the gaps are zero.

const MIB: u64 = 1 << 20;

/// What a file needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The whole disk: a device.
    WholeDisk,
    /// At least this \[bytes\].
    Bytes(u64),
    /// It exists; nobody says how long it is.
    Existing,
}

/// Where a file lies \[bytes\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub start: u64,
    pub length: u64,
}

/// Why files cannot be laid out: the first that does not fit, and how much room there is \[bytes\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge {
    pub file: usize,
    pub free: u64,
}

/// Places `files` on a disk of `disk` bytes.
pub(crate) fn lay_out(files: &[Need], disk: u64) -> Result<Vec<Extent>, TooLarge> {
    let mut free = disk;
    for (file, need) in files.iter().enumerate() {
        if let Need::Bytes(bytes) = need {
            let too_large = TooLarge { file, free };
            free = bytes.checked_next_multiple_of(MIB).and_then(|b| free.checked_sub(b)).ok_or(too_large)?;
        }
    }
    let existing = files.iter().filter(|n| **n == Need::Existing).count() as u64;
    let regular = files.iter().filter(|n| **n != Need::WholeDisk).count() as u64;
    let whole_mib = |bytes: u64| bytes - bytes % MIB;
    let share = whole_mib(free.checked_div(existing).unwrap_or(0));
    let gap = if existing > 0 { 0 } else { whole_mib(free.checked_div(regular).unwrap_or(0)) };
    let mut at = 0;
    let mut place = |(file, need): (usize, &Need)| {
        let length = match need {
            Need::WholeDisk => return Ok(Extent { start: 0, length: disk }),
            Need::Bytes(bytes) => bytes.next_multiple_of(MIB),
            Need::Existing if share == 0 => return Err(TooLarge { file, free }),
            Need::Existing => share,
        };
        let start = at;
        at += length + gap;
        Ok(Extent { start, length })
    };
    files.iter().enumerate().map(&mut place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_spread_with_equal_gaps_from_sector_zero() {
        let extents = lay_out(&[Need::Bytes(10 * MIB), Need::Bytes(MIB / 2)], 101 * MIB).unwrap();
        assert_eq!(extents[0], Extent { start: 0, length: 10 * MIB });
        assert_eq!(extents[1], Extent { start: (10 + 45) * MIB, length: MIB });
    }

    #[test]
    fn a_device_is_the_disk_and_files_of_unknown_length_share_what_is_left() {
        let needs = [Need::Existing, Need::WholeDisk, Need::Bytes(MIB), Need::Existing];
        let extents = lay_out(&needs, 10 * MIB).unwrap();
        let got: Vec<(u64, u64)> = extents.iter().map(|e| (e.start / MIB, e.length / MIB)).collect();
        assert_eq!(got, [(0, 4), (0, 10), (4, 1), (5, 4)]);
    }

    #[test]
    fn the_first_file_that_does_not_fit_is_named() {
        let needs = [Need::Bytes(6 * MIB), Need::Bytes(5 * MIB), Need::Bytes(1)];
        assert_eq!(lay_out(&needs, 10 * MIB), Err(TooLarge { file: 1, free: 4 * MIB }));
        assert_eq!(lay_out(&[Need::Bytes(u64::MAX)], 10 * MIB), Err(TooLarge { file: 0, free: 10 * MIB }));
    }
}
