//! The file system of a run: mounted on its disk, with the outcomes of races and the clock's phase drawn from the seed.

use blksched::Span;
use blksched_workloads::host::fs::layout::{Ext4Geometry, XfsGeometry};
use blksched_workloads::host::fs::{
    BLOCK_SECTORS, Ext4, Ext4Settings, FileSystem, FsKind, JournalRace, Places, TickPhase, Xfs, XfsSettings,
};

/// A fresh file system on a disk of this length \[512-byte sectors\], for requests of at most `max_sectors`.
pub(crate) fn file_system(kind: FsKind, sectors: u64, max_sectors: u32, seed: u64) -> Option<FileSystem> {
    let phase = TickPhase(Span::from_ns(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % TickPhase::TICK.as_ns()));
    match kind {
        FsKind::None => None,
        FsKind::Ext4 => {
            let geometry = Ext4Geometry::of(sectors);
            let (journal_start, journal_blocks) = geometry.journal();
            let settings = Ext4Settings { journal_start, journal_blocks, ..Ext4Settings::default() };
            let fs = Ext4::new(settings, geometry, u64::from(max_sectors) / BLOCK_SECTORS);
            Some(FileSystem::Ext4(Box::new(fs.with(JournalRace::Drawn { state: seed }, phase, Places::new()))))
        }
        FsKind::Xfs => {
            let (log_start, log_sectors) = XfsGeometry { sectors }.log();
            let settings = XfsSettings { log_start, log_sectors, ..XfsSettings::default() };
            Some(FileSystem::Xfs(Box::new(Xfs::new(settings).with_phase(phase))))
        }
    }
}
