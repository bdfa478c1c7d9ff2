//! The file system of a run: mounted on its disk, with the outcomes of races and the clock's phase drawn from the seed.

use blksched::Span;
use blksched_workloads::host::fs::layout::{Ext4Geometry, XfsGeometry};
use blksched_workloads::host::fs::{
    BLOCK_BYTES, BLOCK_SECTORS, Ext4, Ext4Settings, FileSystem, FsKind, FsMount, JournalRace, Places, TickPhase, Xfs,
    XfsSettings,
};

/// A fresh file system on a disk of this length \[512-byte sectors\], for requests of at most `max_sectors`.
pub(crate) fn file_system(mount: FsMount, sectors: u64, max_sectors: u32, seed: u64) -> Option<FileSystem> {
    let phase = TickPhase(Span::from_ns(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % TickPhase::TICK.as_ns()));
    let said = mount.options;
    match mount.kind {
        FsKind::None => None,
        FsKind::Ext4 => {
            let geometry = Ext4Geometry::of(sectors);
            let (journal_start, journal_blocks) = geometry.journal();
            let settings = Ext4Settings {
                data: said.data,
                commit: said.commit,
                barrier: said.barrier,
                async_commit: said.async_commit,
                journal_ioprio: said.journal_ioprio,
                has_journal: said.has_journal,
                journal_start,
                journal_blocks: said.journal_size.map_or(journal_blocks, |bytes| bytes / BLOCK_BYTES),
                ..Ext4Settings::default()
            };
            let fs = Ext4::new(settings, geometry, u64::from(max_sectors) / BLOCK_SECTORS);
            Some(FileSystem::Ext4(Box::new(fs.with(JournalRace::Drawn { state: seed }, phase, Places::new()))))
        }
        FsKind::Xfs => {
            let (log_start, log_sectors) = XfsGeometry { sectors }.log();
            let log_sectors = said.logsize.map_or(log_sectors, |bytes| bytes / 512);
            let settings = XfsSettings { log_start, log_sectors, iclog_bytes: said.logbsize };
            Some(FileSystem::Xfs(Box::new(Xfs::new(settings).with_phase(phase))))
        }
    }
}
