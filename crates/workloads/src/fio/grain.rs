//! Buffered jobs whose blocks are not whole sectors, as in etcd's well-known test (`bs=2300`).
//!
//! **Rule** Through the page cache any length can be read and written, from any place on. The process of such a job
//! counts in *grains* where others count in sectors: the grain is the largest number of bytes of which all its blocks,
//! offsets and steps are multiples. All its settings are scaled so that a grain is as long as a sector; what it does
//! becomes bytes of its files again where its I/O becomes calls. A remainder of a file that is shorter than a grain is
//! never used, as in fio, which does whole blocks only (tried: `bs=2300 size=230k` is 102 writes).

use std::borrow::Cow;

use blksched::Sector;

use super::blocks::Blocks;
use super::distribution::Distribution;
use super::layout::{FileExtent, Need};
use super::sections::JobSection;
use super::settings::{IoEngine, Mix, Settings};
use super::values::LengthOrShare;
use crate::host::{ByteRange, OpenFile};

const SECTOR_BYTES: u64 = 512;

/// The number of bytes that a process counts as a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grain(u64);

impl Grain {
    /// That of a job.
    pub fn of(s: &Settings) -> Grain {
        if !may_be_fine(s) {
            return Grain(SECTOR_BYTES);
        }
        let bytes = |extent| if let LengthOrShare::Bytes(bytes) = extent { bytes } else { 0 };
        let blocks = s.all_blocks().map(|blocks| of_blocks(&blocks));
        let aligned = s.dirs().iter().filter_map(|dir| s.blockalign[*dir]);
        let others = [bytes(s.offset), bytes(s.offset_increment), s.offset_align, s.jumps.stride.unsigned_abs()];
        let any_byte = s.rare.bs_unaligned.then_some(1);
        let grain = blocks.chain(aligned).chain(others).chain(any_byte).fold(0, gcd);
        Grain(if grain.is_multiple_of(SECTOR_BYTES) { SECTOR_BYTES } else { grain })
    }

    /// Its length.
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// Whether it is not a sector.
    pub fn is_fine(self) -> bool {
        self.0 != SECTOR_BYTES
    }

    /// Of a length that the process counts, the real one in whole grains \[bytes\].
    pub fn real(self, bytes: u64) -> u64 {
        (bytes / SECTOR_BYTES).saturating_mul(self.0)
    }

    /// Of an amount that a process is to transfer, what it counts. A remainder is counted too, since a process that
    /// has not done all looks for another block, and syncs before it (tried: 102 syncs, not 101).
    pub fn amount(self, bytes: u64) -> u64 {
        self.counted(bytes).saturating_add(u64::from(!bytes.is_multiple_of(self.0)))
    }

    /// The opposite, in whole grains.
    fn counted(self, bytes: u64) -> u64 {
        (u128::from(bytes / self.0) * u128::from(SECTOR_BYTES)).min(u128::from(u64::MAX)) as u64
    }

    fn extent(self, extent: LengthOrShare) -> LengthOrShare {
        match extent {
            LengthOrShare::Bytes(bytes) => LengthOrShare::Bytes(self.counted(bytes)),
            percent => percent,
        }
    }

    /// The job as its process counts.
    pub fn scale(self, job: &JobSection) -> Cow<'_, JobSection> {
        if !self.is_fine() {
            return Cow::Borrowed(job);
        }
        let mut job = job.clone();
        let s = &mut job.settings;
        s.size = s.size.map(|size| self.extent(size));
        s.io_size = s.io_size.map(|size| self.extent(size));
        (s.offset, s.offset_increment) = (self.extent(s.offset), self.extent(s.offset_increment));
        s.offset_align = self.counted(s.offset_align);
        s.jumps.stride = self.counted(s.jumps.stride.unsigned_abs()) as i64 * s.jumps.stride.signum();
        s.files.filesize = s.files.filesize.map(|(from, to)| (self.counted(from), self.counted(to)));
        for dir in s.dirs() {
            let dir = *dir;
            s.blockalign[dir] = s.blockalign[dir].map(|bytes| self.counted(bytes));
            s.pace.rate[dir] = s.pace.rate[dir].map(|bytes| self.rate(bytes));
            s.pace.rate_min[dir] = s.pace.rate_min[dir].map(|bytes| self.rate(bytes));
            s.cmdprio_bssplit[dir].iter_mut().for_each(|(share, _)| share.bs = self.counted(share.bs));
            if let Distribution::Zoned(zones) = &mut s.random_distribution[dir] {
                zones.iter_mut().for_each(|(length, _)| *length = self.extent(*length));
            }
        }
        // A random job may have the sizes of both, whatever it does.
        for dir in super::ddir::Ddir::ALL {
            s.bs[dir] = self.counted(s.bs[dir]);
            s.bsrange[dir] = s.bsrange[dir].map(|(from, to)| (self.counted(from), self.counted(to)));
            s.bssplit[dir].iter_mut().for_each(|(bytes, _)| *bytes = self.counted(*bytes));
        }
        Cow::Owned(job)
    }

    /// Bytes a second, which need not be whole grains; 0 is no limit.
    fn rate(self, bytes: u64) -> u64 {
        let counted = (u128::from(bytes) * u128::from(SECTOR_BYTES) / u128::from(self.0)).min(u128::from(u64::MAX));
        (counted as u64).max(u64::from(bytes > 0))
    }

    /// A clone's files as its process counts: one behind the other, in the order of the disk. Their numbers are those
    /// in `files`.
    pub fn files(self, files: &[usize], extents: &[FileExtent], needs: &[Need]) -> (Vec<FileExtent>, Vec<Need>) {
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by_key(|at| extents[files[*at]].start);
        let mut counted = vec![FileExtent { start: 0, length: 0 }; files.len()];
        let mut end = 0;
        for at in order {
            let length = self.counted(extents[files[at]].length);
            counted[at] = FileExtent { start: end, length };
            end += length.max(SECTOR_BYTES);
        }
        let need = |file: &usize| match needs[*file] {
            Need::Bytes(bytes) => Need::Bytes(self.counted(bytes)),
            Need::Exactly(bytes) => Need::Exactly(self.counted(bytes)),
            other => other,
        };
        (counted, files.iter().map(need).collect())
    }
}

/// Where a process's files are to it, in the order of the disk.
#[derive(Clone, Debug)]
pub(crate) struct CountedFiles {
    pub grain: Grain,
    /// The first sector of each, as the process counts.
    pub starts: Vec<Sector>,
}

impl CountedFiles {
    pub fn number(&self, start: Sector) -> usize {
        self.starts.partition_point(|file| *file <= start).saturating_sub(1)
    }

    /// The bytes of the disk that an I/O of this file transfers.
    pub fn range(&self, number: usize, file: &OpenFile, (start, sectors): (Sector, u32)) -> ByteRange {
        let into = self.grain.real((start.0 - self.starts[number].0) * SECTOR_BYTES);
        ByteRange { start: file.start.0 * SECTOR_BYTES + into, bytes: u64::from(sectors) * self.grain.0 }
    }
}

/// Whether a job's I/O may be of any length: no disk has part of a sector.
fn may_be_fine(s: &Settings) -> bool {
    let commands = matches!(s.engine, IoEngine::SynchronousCommands | IoEngine::AsynchronousCommands);
    let trims = matches!(s.mix, Mix::Trim | Mix::TrimWrite);
    !s.direct && !commands && !trims && !s.zones.strided && s.files.replay.log.is_none()
}

fn of_blocks(blocks: &Blocks) -> u64 {
    match blocks {
        Blocks::One(bytes) => *bytes,
        Blocks::Range(from, to) => gcd(*from, *to),
        Blocks::Split(parts) => parts.iter().map(|part| part.0).fold(0, gcd),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::JobFile;

    fn grain(options: &str) -> u64 {
        let file = JobFile::parse(&format!("[a]\nsize=1m\n{options}\n"), "a.fio").expect("a job file");
        Grain::of(&file.jobs[0].settings).0
    }

    #[test]
    fn a_grain_divides_every_length_and_a_sector_is_enough_for_whole_ones() {
        assert_eq!(grain("bs=2300"), 2300);
        assert_eq!(grain("rw=rw\nbs=2300,4600"), 2300);
        assert_eq!(grain("bsrange=1000-3500"), 500);
        assert_eq!(grain("bs=4k\noffset=1"), 1);
        assert_eq!(grain("bssplit=1k/50:1536/50"), 512);
        assert_eq!(grain("bs=4k\ndirect=1"), 512);
        assert_eq!(grain("bs=4k\nrw=write:100"), 4);
    }

    #[test]
    fn lengths_come_back_from_grains() {
        let fine = Grain(2300);
        assert_eq!((fine.counted(4600), fine.counted(4599), fine.amount(4599)), (1024, 512, 513));
        assert_eq!((fine.real(1024), fine.real(1023), fine.amount(4600)), (4600, 2300, 1024));
        assert_eq!((fine.rate(2300), fine.rate(1), fine.rate(0)), (512, 1, 0));
        let extents = [FileExtent { start: 8192, length: 2300 }, FileExtent { start: 4096, length: 4600 }];
        let needs = [Need::Exactly(2300), Need::Bytes(4600)];
        let (counted, _) = fine.files(&[0, 1], &extents, &needs);
        let counted: Vec<_> = counted.iter().map(|extent| (extent.start, extent.length)).collect();
        assert_eq!(counted, [(1024, 512), (0, 1024)]);
    }
}
