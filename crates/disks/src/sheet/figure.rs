//! The figures of a data sheet: their names in a disk's file, their units, and the disks to which they apply.

use crate::{Before, DiskSpec, Facts, Model, SsdSpec};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Sequential reads at the disk's start.
    SequentialRead,
    /// Sequential reads in its middle.
    SequentialReadMiddle,
    /// Sequential reads at its end.
    SequentialReadInner,
    /// Sequential writes at its start.
    SequentialWrite,
    /// Random 4 KiB reads, one at a time.
    RandomRead1,
    /// Random 4 KiB reads, 32 in flight.
    RandomRead32,
    /// Random 4 KiB writes, one at a time, after the write cache of a spinning disk has filled.
    RandomWrite1,
    /// Random 4 KiB writes, 32 in flight, likewise.
    RandomWrite32,
    /// The arm's part of a random read.
    AverageSeek,
    /// The platter's part of a random read.
    AverageRotation,
    /// A 4 KiB write on an idle disk.
    CachedWrite,
    /// A 64 KiB read that follows the last one, 50 ms later.
    ReadAheadHit,
    /// Sequential reads of 1 MiB, 16 in flight.
    DeepRead,
    /// Sequential reads of 4 KiB, 256 in flight, or as many as it accepts.
    DeepSequentialRead,
    /// Random reads of 4 KiB, likewise.
    DeepRandomRead,
    /// Sequential writes of 1 MiB, 16 in flight.
    DeepWrite,
    /// Sequential writes of 4 KiB, 256 in flight, or as many as it accepts.
    DeepSequentialWrite,
    /// Random writes of 4 KiB, likewise.
    DeepRandomWrite,
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureUnit {
    /// Bytes per second.
    Rate,
    /// Commands per second.
    PerSecond,
    /// Nanoseconds.
    Time,
}

impl Figure {
    /// All of them, in the order of a data sheet.
    pub const ALL: [Figure; 18] = [
        Figure::SequentialRead,
        Figure::SequentialReadMiddle,
        Figure::SequentialReadInner,
        Figure::SequentialWrite,
        Figure::RandomRead1,
        Figure::RandomRead32,
        Figure::RandomWrite1,
        Figure::RandomWrite32,
        Figure::AverageSeek,
        Figure::AverageRotation,
        Figure::CachedWrite,
        Figure::ReadAheadHit,
        Figure::DeepRead,
        Figure::DeepSequentialRead,
        Figure::DeepRandomRead,
        Figure::DeepWrite,
        Figure::DeepSequentialWrite,
        Figure::DeepRandomWrite,
    ];

    /// Its name in a disk's file.
    pub fn name(self) -> &'static str {
        match self {
            Figure::SequentialRead => "sequential_read",
            Figure::SequentialReadMiddle => "sequential_read_middle",
            Figure::SequentialReadInner => "sequential_read_inner",
            Figure::SequentialWrite => "sequential_write",
            Figure::RandomRead1 => "random_read_1",
            Figure::RandomRead32 => "random_read_32",
            Figure::RandomWrite1 => "random_write_1",
            Figure::RandomWrite32 => "random_write_32",
            Figure::AverageSeek => "average_seek",
            Figure::AverageRotation => "average_rotation",
            Figure::CachedWrite => "cached_write",
            Figure::ReadAheadHit => "read_ahead_hit",
            Figure::DeepRead => "deep_read",
            Figure::DeepSequentialRead => "deep_sequential_read",
            Figure::DeepRandomRead => "deep_random_read",
            Figure::DeepWrite => "deep_write",
            Figure::DeepSequentialWrite => "deep_sequential_write",
            Figure::DeepRandomWrite => "deep_random_write",
        }
    }

    /// What it is, for people.
    pub fn meaning(self) -> &'static str {
        match self {
            Figure::SequentialRead => "sequential read, outermost zone or anywhere",
            Figure::SequentialReadMiddle => "sequential read, middle of the disk",
            Figure::SequentialReadInner => "sequential read, innermost zone",
            Figure::SequentialWrite => "sequential write, outermost zone or anywhere",
            Figure::RandomRead1 => "random read 4KiB, iodepth 1",
            Figure::RandomRead32 => "random read 4KiB, iodepth 32, or as deep as it goes",
            Figure::RandomWrite1 => "random write 4KiB, iodepth 1; write cache full, flash fresh",
            Figure::RandomWrite32 => "random write 4KiB, iodepth 32; write cache full, flash fresh",
            Figure::AverageSeek => "average seek of a random read",
            Figure::AverageRotation => "average rotation of a random read",
            Figure::CachedWrite => "write 4KiB on an idle disk (the write cache)",
            Figure::ReadAheadHit => "next 64KiB of a stream, 50ms later (the look-ahead)",
            Figure::DeepRead => "sequential read 1MiB, iodepth 16",
            Figure::DeepSequentialRead => "sequential read 4KiB, iodepth 256, or as deep as it goes",
            Figure::DeepRandomRead => "random read 4KiB, iodepth 256, or as deep as it goes",
            Figure::DeepWrite => "sequential write 1MiB, iodepth 16, sustained",
            Figure::DeepSequentialWrite => "sequential write 4KiB, iodepth 256, sustained",
            Figure::DeepRandomWrite => "random write 4KiB, iodepth 256, sustained",
        }
    }

    /// The same, with the state of this disk's flash when it is measured.
    pub fn meaning_on(self, disk: &DiskSpec) -> String {
        let Model::Ssd(SsdSpec { page_map: Some(map), .. }) = &disk.model else { return self.meaning().to_owned() };
        let flash = match map.before {
            Before::Empty => "flash fresh",
            Before::Sequential => "flash full, written in order",
            Before::Random => "flash full, as long random writes leave it",
        };
        self.meaning().replace("flash fresh", flash)
    }

    /// Its unit.
    pub fn unit(self) -> FigureUnit {
        match self {
            Figure::SequentialRead
            | Figure::SequentialReadMiddle
            | Figure::SequentialReadInner
            | Figure::SequentialWrite
            | Figure::DeepRead
            | Figure::DeepWrite => FigureUnit::Rate,
            Figure::RandomRead1
            | Figure::RandomRead32
            | Figure::RandomWrite1
            | Figure::RandomWrite32
            | Figure::DeepSequentialRead
            | Figure::DeepRandomRead
            | Figure::DeepSequentialWrite
            | Figure::DeepRandomWrite => FigureUnit::PerSecond,
            Figure::AverageSeek | Figure::AverageRotation | Figure::CachedWrite | Figure::ReadAheadHit => {
                FigureUnit::Time
            }
        }
    }

    /// Only a spinning disk has zones and seeks and reads ahead.
    pub(super) fn applies_to(self, facts: &Facts) -> bool {
        let turns = matches!(
            self,
            Figure::SequentialReadMiddle
                | Figure::SequentialReadInner
                | Figure::AverageSeek
                | Figure::AverageRotation
                | Figure::ReadAheadHit
        );
        facts.rotational || !turns
    }

    /// Measured only if published: the figures of `io.cost`.
    pub(super) fn only_if_published(self) -> bool {
        matches!(
            self,
            Figure::DeepRead
                | Figure::DeepSequentialRead
                | Figure::DeepRandomRead
                | Figure::DeepWrite
                | Figure::DeepSequentialWrite
                | Figure::DeepRandomWrite
        )
    }
}
