//! The file system of a run: mounted on its disk, with the outcomes of races and the clock's phase drawn from the seed.

use blksched::{Sector, Span};
use blksched_workloads::host::fs::layout::{Ext4Geometry, XfsGeometry};
use blksched_workloads::host::fs::{
    BLOCK_BYTES, BLOCK_SECTORS, Ext4, Ext4Settings, FileSystem, FsKind, FsMount, JournalRace, Places, TickPhase, Xfs,
    XfsSettings,
};

/// The most blocks of a journal, and sectors of a log, that `mke2fs(8)` and `mkfs.xfs(8)` make.
const LONGEST_JOURNAL: u64 = 10_240_000;
const LONGEST_LOG: u64 = 2 << 21;

/// A fresh file system on a disk of this length \[512-byte sectors\], for requests of at most `max_sectors`; its log
/// may have a disk of its own: the first sector and its length.
pub(crate) fn file_system(
    (mount, log_disk): (FsMount, Option<(Sector, u64)>),
    sectors: u64,
    max_sectors: u32,
    seed: u64,
) -> Option<FileSystem> {
    let phase = TickPhase::at(Span::from_ns(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % TickPhase::TICK.as_ns()));
    let said = mount.options;
    match mount.kind {
        FsKind::None => None,
        FsKind::Ext4 | FsKind::Ext3 | FsKind::Ext2 => {
            let geometry = Ext4Geometry::of_kind(mount.kind, sectors);
            let (journal_start, journal_blocks) = match log_disk {
                // Behind the superblock of the journal's device.
                Some((first, sectors)) => {
                    let blocks = (sectors / BLOCK_SECTORS).saturating_sub(1).min(LONGEST_JOURNAL);
                    (Sector(first.0 + BLOCK_SECTORS), blocks)
                }
                None => geometry.journal(),
            };
            let said_blocks = said.journal_size.map(|bytes| bytes / BLOCK_BYTES);
            let settings = Ext4Settings {
                data: said.data,
                commit: said.commit,
                barrier: said.barrier,
                new_blocks: said.new_blocks(),
                sync: said.sync,
                dirsync: said.dirsync,
                batch: (said.min_batch, said.max_batch),
                async_commit: said.async_commit,
                journal_ioprio: said.journal_ioprio,
                has_journal: said.has_journal,
                own_disk: log_disk.is_some(),
                journal_start,
                // A disk of its own may be shorter than what was said.
                journal_blocks: said_blocks.map_or(journal_blocks, |said| match log_disk {
                    Some(_) => said.min(journal_blocks),
                    None => said,
                }),
                ..Ext4Settings::default()
            };
            let fs = Ext4::new(settings, geometry, u64::from(max_sectors) / BLOCK_SECTORS);
            Some(FileSystem::Ext4(Box::new(fs.with(JournalRace::Drawn { state: seed }, phase, Places::new()))))
        }
        FsKind::Xfs => {
            let (log_start, most) = match log_disk {
                Some((first, sectors)) => (first, sectors.min(LONGEST_LOG)),
                None => XfsGeometry { sectors }.log(),
            };
            let log_sectors = said.logsize.map_or(most, |bytes| match log_disk {
                Some(_) => most.min(bytes / 512),
                None => bytes / 512,
            });
            let own_disk = log_disk.is_some();
            // An inode has a sector.
            let inodes_per_group = XfsGeometry { sectors }.group();
            let (iclog_bytes, log_buffers) = (said.logbsize, said.logbufs);
            let settings = XfsSettings { own_disk, log_start, log_sectors, iclog_bytes, log_buffers, inodes_per_group };
            Some(FileSystem::Xfs(Box::new(Xfs::new(settings).with_phase(phase))))
        }
    }
}
