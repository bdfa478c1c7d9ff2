//! Stage 4: files onto the disk, spread evenly in the order in which they first occur.
//!
//! **Rule** Extent group *i* of *n* begins at the lengths of the groups before it plus *i* equal gaps; the gap is the
//! free space divided by *n*. Lengths of groups, and gaps, are whole MiB. Within a group one file follows the other,
//! each starting at a multiple of 4 KiB. A file of unknown length gets an equal share of the free space instead, and
//! the gaps are zero.

use core::ops::Range;

use crate::host::fs::layout::{Ext4Geometry, XfsGeometry};
use crate::host::fs::{BLOCK_SECTORS, FsKind};

const MIB: u64 = 1 << 20;
/// The allocation unit of a file system \[bytes\].
const BLOCK: u64 = 4096;

/// What a file needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The whole disk: a device.
    WholeDisk,
    /// At least this \[bytes\].
    Bytes(u64),
    /// Exactly this \[bytes\]; the file ends there.
    Exactly(u64),
    /// It exists, with unknown length.
    Existing,
}

/// Files that are adjacent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExtentGroup {
    pub files: Range<usize>,
}

/// A file's place \[bytes\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileExtent {
    pub start: u64,
    pub length: u64,
}

/// Why files cannot be laid out: the first that does not fit, and the available room \[bytes\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge {
    pub file: usize,
    pub free: u64,
    /// If there is room, the longest file that the file system can have \[bytes\].
    pub longest: Option<u64>,
}

/// Places files on a disk of `disk` bytes; each belongs to one extent group.
fn lay_out(needs: &[Need], extent_groups: &[ExtentGroup], disk: u64) -> Result<Vec<FileExtent>, TooLarge> {
    let mut free = disk;
    for group in extent_groups {
        let mut left = free;
        for file in group.files.clone() {
            let room = match needs[file] {
                Need::Bytes(bytes) | Need::Exactly(bytes) => bytes.checked_next_multiple_of(BLOCK),
                Need::WholeDisk | Need::Existing => Some(0),
            };
            left = room.and_then(|room| left.checked_sub(room)).ok_or(TooLarge { file, free: left, longest: None })?;
        }
        let used = (free - left).next_multiple_of(MIB);
        free = free.checked_sub(used).ok_or(TooLarge { file: group.files.start, free, longest: None })?;
    }
    let existing = needs.iter().filter(|need| **need == Need::Existing).count() as u64;
    let regular = extent_groups.iter().filter(|group| needs[group.files.start] != Need::WholeDisk).count() as u64;
    let whole_mib = |bytes: u64| bytes - bytes % MIB;
    let share = whole_mib(free.checked_div(existing).unwrap_or(0));
    let gap = if existing > 0 { 0 } else { whole_mib(free.checked_div(regular).unwrap_or(0)) };
    let mut at = 0;
    let mut extents = Vec::with_capacity(needs.len());
    for group in extent_groups {
        let alone = group.files.len() == 1;
        for file in group.files.clone() {
            let length = match needs[file] {
                Need::WholeDisk => {
                    extents.push(FileExtent { start: 0, length: disk });
                    continue;
                }
                Need::Bytes(bytes) if alone => bytes.next_multiple_of(MIB),
                Need::Bytes(bytes) | Need::Exactly(bytes) => bytes,
                Need::Existing if share == 0 => return Err(TooLarge { file, free, longest: None }),
                Need::Existing => share,
            };
            extents.push(FileExtent { start: at, length });
            at += length.next_multiple_of(BLOCK);
        }
        if needs[group.files.start] != Need::WholeDisk {
            at = at.next_multiple_of(MIB) + gap;
        }
    }
    Ok(extents)
}

/// The same; on a file system files lie one behind the other, behind the metadata, and not in the journal, unless one
/// fits on neither side of it (a real file would be in two pieces). Files of unknown length are as long as there is
/// room for, in whole MiB.
pub(crate) fn lay_out_on(
    fs: FsKind,
    needs: &[Need],
    extent_groups: &[ExtentGroup],
    disk: u64,
) -> Result<Vec<FileExtent>, TooLarge> {
    if fs == FsKind::None {
        return lay_out(needs, extent_groups, disk);
    }
    let room = FileRoom::of(fs, disk);
    let existing = needs.iter().filter(|need| **need == Need::Existing).count() as u64;
    if existing == 0 {
        return room.lay_out(needs, 0);
    }
    let (mut fits, mut too_long) = (1, (disk / MIB / existing).max(1) + 1);
    while too_long - fits > 1 {
        let middle = fits.midpoint(too_long);
        match room.lay_out(needs, middle * MIB) {
            Ok(_) => fits = middle,
            Err(_) => too_long = middle,
        }
    }
    room.lay_out(needs, fits * MIB)
}

/// Where files may lie on a file system \[bytes\].
struct FileRoom {
    disk: u64,
    first: u64,
    journal: Range<u64>,
    /// The longest file.
    longest: Option<u64>,
}

impl FileRoom {
    fn of(fs: FsKind, disk: u64) -> FileRoom {
        let sectors = disk / 512;
        let (first, (journal, length)) = match fs {
            FsKind::Xfs => {
                let xfs = XfsGeometry { sectors };
                (xfs.first_file(0), xfs.log())
            }
            FsKind::Ext4 | FsKind::Ext3 | FsKind::Ext2 | FsKind::None => {
                let ext4 = Ext4Geometry::of_kind(fs, sectors);
                let (journal, blocks) = ext4.journal();
                (ext4.first_file(), (journal, blocks * BLOCK_SECTORS))
            }
        };
        let journal = journal.0 * 512..(journal.0 + length) * 512;
        FileRoom { disk, first: first.0 * 512, journal, longest: fs.longest_file() }
    }

    /// Places files, those of unknown length with this one.
    fn lay_out(&self, needs: &[Need], unknown: u64) -> Result<Vec<FileExtent>, TooLarge> {
        let mut at = self.first;
        let mut extents = Vec::with_capacity(needs.len());
        for (file, need) in needs.iter().enumerate() {
            let length = match need {
                Need::WholeDisk => {
                    extents.push(FileExtent { start: 0, length: self.disk });
                    continue;
                }
                Need::Existing => unknown,
                Need::Bytes(bytes) | Need::Exactly(bytes) => *bytes,
            };
            let used = length.checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX);
            let is_across = at < self.journal.end && self.journal.start < at.saturating_add(used);
            let fits_behind = used <= self.disk.saturating_sub(self.journal.end);
            if is_across && (fits_behind || *need == Need::Existing) {
                at = self.journal.end;
            }
            let free = self.disk.saturating_sub(at);
            if used > free {
                return Err(TooLarge { file, free, longest: None });
            }
            if let Some(longest) = self.longest.filter(|longest| length > *longest) {
                return Err(TooLarge { file, free, longest: Some(longest) });
            }
            extents.push(FileExtent { start: at, length });
            at += used;
        }
        Ok(extents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places each file by itself.
    fn alone(needs: &[Need], disk: u64) -> Result<Vec<FileExtent>, TooLarge> {
        let extent_groups: Vec<ExtentGroup> =
            (0..needs.len()).map(|file| ExtentGroup { files: file..file + 1 }).collect();
        lay_out(needs, &extent_groups, disk)
    }

    #[test]
    fn files_are_spread_with_equal_gaps_from_sector_zero() {
        let extents = alone(&[Need::Bytes(10 * MIB), Need::Bytes(MIB / 2)], 101 * MIB).unwrap();
        assert_eq!(extents[0], FileExtent { start: 0, length: 10 * MIB });
        assert_eq!(extents[1], FileExtent { start: (10 + 45) * MIB, length: MIB });
    }

    #[test]
    fn on_a_file_system_files_lie_one_behind_the_other_and_never_in_the_journal() {
        let disk = 1024 * MIB;
        for fs in [FsKind::Ext4, FsKind::Ext3, FsKind::Ext2, FsKind::Xfs] {
            let needs = [Need::Bytes(100 * MIB), Need::Bytes(5000), Need::Bytes(300 * MIB), Need::Existing];
            let extents = lay_out_on(fs, &needs, &[], disk).unwrap();
            assert_eq!(extents[1].start, extents[0].start + 100 * MIB, "{fs}");
            let journal = match fs {
                FsKind::Xfs => XfsGeometry { sectors: disk / 512 }.log(),
                _ => Ext4Geometry::of_kind(fs, disk / 512).journal(),
            };
            let in_it = |e: &FileExtent| journal.1 > 0 && (e.start..e.start + e.length).contains(&(journal.0.0 * 512));
            assert!(!extents.iter().any(in_it), "{fs}: {extents:?}");
            let end = extents[3].start + extents[3].length;
            assert!((disk - MIB..=disk).contains(&end), "{fs}: what is left, in whole MiB: {extents:?}");
        }
    }

    #[test]
    fn a_file_that_is_longer_than_ext3_has_them_is_refused_and_one_of_unknown_length_is_no_longer() {
        let (disk, longest) = (10 << 40, 2_196_873_666_560);
        for fs in [FsKind::Ext3, FsKind::Ext2] {
            assert!(lay_out_on(fs, &[Need::Exactly(longest)], &[], disk).is_ok());
            let error = lay_out_on(fs, &[Need::Exactly(longest + 4096)], &[], disk).unwrap_err();
            assert_eq!((error.file, error.longest), (0, Some(longest)));
            let found = lay_out_on(fs, &[Need::Existing], &[], disk).unwrap()[0].length;
            assert!((longest - MIB..=longest).contains(&found), "{found}");
        }
        assert!(lay_out_on(FsKind::Ext4, &[Need::Exactly(longest + 4096)], &[], disk).is_ok());
    }

    #[test]
    fn a_file_that_fits_on_neither_side_of_the_journal_lies_across_it() {
        let disk = 1024 * MIB;
        let extents = lay_out_on(FsKind::Ext4, &[Need::Bytes(700 * MIB)], &[], disk).unwrap();
        assert_eq!(extents[0].start, Ext4Geometry::of(disk / 512).first_file().0 * 512);
        let too_large = lay_out_on(FsKind::Ext4, &[Need::Bytes(MIB), Need::Bytes(1020 * MIB)], &[], disk).unwrap_err();
        assert_eq!(too_large.file, 1);
    }

    #[test]
    fn files_of_an_extent_group_lie_together() {
        let needs = [Need::Exactly(5000), Need::Bytes(100), Need::Bytes(MIB)];
        let extents = lay_out(&needs, &[ExtentGroup { files: 0..2 }, ExtentGroup { files: 2..3 }], 100 * MIB).unwrap();
        let got: Vec<(u64, u64)> = extents.iter().map(|e| (e.start, e.length)).collect();
        assert_eq!(got, [(0, 5000), (8192, 100), (50 * MIB, MIB)]);
    }

    #[test]
    fn a_device_is_the_disk_and_files_of_unknown_length_share_what_is_left() {
        let needs = [Need::Existing, Need::WholeDisk, Need::Bytes(MIB), Need::Existing];
        let extents = alone(&needs, 10 * MIB).unwrap();
        let got: Vec<(u64, u64)> = extents.iter().map(|e| (e.start / MIB, e.length / MIB)).collect();
        assert_eq!(got, [(0, 4), (0, 10), (4, 1), (5, 4)]);
    }

    #[test]
    fn the_first_file_that_does_not_fit_is_named() {
        let needs = [Need::Bytes(6 * MIB), Need::Bytes(5 * MIB), Need::Bytes(1)];
        assert_eq!(alone(&needs, 10 * MIB), Err(TooLarge { file: 1, free: 4 * MIB, longest: None }));
        assert_eq!(alone(&[Need::Bytes(u64::MAX)], 10 * MIB), Err(TooLarge { file: 0, free: 10 * MIB, longest: None }));
        let rounded_up = [Need::Bytes(1); 4];
        assert_eq!(alone(&rounded_up, 3 * MIB), Err(TooLarge { file: 3, free: 0, longest: None }));
    }
}
