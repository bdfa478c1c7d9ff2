//! The back end of an export: a file, a block device, or memory.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use blksched_nbd::reply::{Extent, ExtentState};
use rustix::fs::{OFlags, SeekFrom, seek};
use rustix::io::Errno;

use crate::buffer::Pool;
use crate::config::{Access, Caching, ExportConfig, ExportSource};
use crate::engine::Stable;
use crate::memory::Memory;

/// The size of a sector \[bytes\].
pub const SECTOR: u64 = 512;

/// Where the data is.
pub enum Store {
    /// In a file or block device, from this offset on.
    File(Arc<OwnedFd>, u64),
    /// In memory.
    Memory(Memory),
}

/// The identity of a file or device, whatever its names: its device and its inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity(pub u64, pub u64);

/// The kind of a back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// A file, which another program may truncate.
    File,
    /// A block device.
    Device,
    /// Memory.
    Memory,
}

/// How a single write becomes stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    /// By a flag of its own (RWF_DSYNC), known to be honoured here.
    Flag,
    /// By a sync after it: file systems outside the kernel (FUSE) get the flag but may ignore it.
    Sync,
}

/// An open back end.
pub struct Backend {
    /// Where the data is.
    pub store: Store,
    /// Its size \[bytes\].
    pub size: u64,
    /// The size of the file or device of which it is a range \[bytes\].
    pub whole: u64,
    /// The smallest piece that it reads or writes \[bytes\].
    pub block: u32,
    /// Whether it seeks.
    pub rotational: bool,
    /// Its kind.
    pub kind: BackendKind,
    /// Whether it uses the page cache.
    pub caching: Caching,
    /// The identity of its file or device; `None` for memory.
    pub identity: Option<Identity>,
    /// How a single write becomes stable.
    pub through: Through,
    /// Which disk it is on: equal for back ends that share one.
    pub disk: String,
}

impl Backend {
    /// Opens an export's back end.
    ///
    /// # Errors
    /// If it cannot be opened, or its range is not within the file or not of whole sectors.
    pub fn open(export: &ExportConfig, caching: Caching) -> Result<Backend, String> {
        match &export.source {
            ExportSource::Memory(size) => {
                let store = Store::Memory(Memory::new(size.next_multiple_of(SECTOR)));
                Ok(Backend { size: *size, whole: *size, ..Backend::nothing(store) })
            }
            ExportSource::File { path, offset, size } => {
                let said = |error: io::Error| format!("{}: {error}", path.display());
                let (mut file, mut caching) = open(path, export.access, caching).map_err(said)?;
                let (kind, identity) = kind(&file).map_err(|why| format!("{}: {why}", path.display()))?;
                if export.access == Access::ReadWrite && is_read_only(&file).map_err(said)? {
                    return Err(format!("{}: the device is read-only: expected the option `ro`", path.display()));
                }
                let end = length(&file).map_err(said)?;
                let size = range(end, *offset, *size).map_err(|why| format!("{}: {why}", path.display()))?;
                if !size.is_multiple_of(SECTOR) && caching == Caching::Direct {
                    // Without the page cache only whole sectors can be read and written.
                    (file, caching) = open(path, export.access, Caching::PageCache).map_err(said)?;
                }
                let block = block_size(&file, caching);
                let through = through(&file).map_err(said)?;
                let (disk, rotational) = disk_of(&file).map_err(said)?;
                let odd = |bytes: u64| !bytes.is_multiple_of(u64::from(block));
                if odd(*offset) || (odd(size) && offset + size < end) || (odd(size) && caching == Caching::Direct) {
                    return Err(format!("{}: offset and size must be multiples of {block} here", path.display()));
                }
                Ok(Backend {
                    store: Store::File(Arc::new(file.into()), *offset),
                    size,
                    whole: end,
                    block,
                    rotational,
                    kind,
                    caching,
                    identity: Some(identity),
                    through,
                    disk,
                })
            }
        }
    }

    /// A back end with nothing but this store.
    pub fn nothing(store: Store) -> Backend {
        Backend {
            store,
            size: 0,
            whole: 0,
            block: SECTOR as u32,
            rotational: false,
            kind: BackendKind::Memory,
            caching: Caching::Direct,
            identity: None,
            through: Through::Flag,
            disk: "memory".to_owned(),
        }
    }

    /// When a write is done, with or without FUA.
    pub fn stable(&self, fua: bool) -> Stable {
        if fua && self.through == Through::Flag { Stable::Now } else { Stable::Later }
    }

    /// Whether its file is still as long as the export.
    pub fn is_whole(&self) -> bool {
        let Store::File(file, base) = &self.store else { return true };
        let length = || rustix::fs::fstat(file).map_or(0, |stat| stat.st_size as u64);
        self.kind != BackendKind::File || length() >= base + self.size
    }

    /// Whether data that is read once stays in the page cache, so that reading ahead is useful.
    pub fn keeps_what_is_read(&self) -> bool {
        self.kind != BackendKind::Memory && self.caching == Caching::PageCache
    }
}

fn open(path: &Path, access: Access, caching: Caching) -> io::Result<(File, Caching)> {
    let options = |direct: bool| {
        let extra = if direct { OFlags::DIRECT.bits() as i32 } else { 0 };
        let mut options = OpenOptions::new();
        options.read(true).write(access == Access::ReadWrite).custom_flags(extra).open(path)
    };
    if caching == Caching::PageCache {
        return Ok((options(false)?, caching));
    }
    match options(true) {
        Ok(file) => Ok((file, Caching::Direct)),
        // tmpfs and some others do not support O_DIRECT.
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
            tracing::info!(path = %path.display(), "no O_DIRECT here: through the page cache");
            Ok((options(false)?, Caching::PageCache))
        }
        Err(error) => Err(error),
    }
}

/// Only files and block devices can be served.
fn kind(file: &File) -> Result<(BackendKind, Identity), String> {
    let meta = file.metadata().map_err(|error| error.to_string())?;
    let kind = meta.file_type();
    match () {
        () if kind.is_file() => Ok((BackendKind::File, Identity(meta.dev(), meta.ino()))),
        () if kind.is_block_device() => Ok((BackendKind::Device, Identity(u64::MAX, meta.rdev()))),
        () => Err("it is neither a file nor a block device".to_owned()),
    }
}

/// The size of a file, or of the device behind it.
fn length(file: &File) -> io::Result<u64> {
    Ok(seek(file, SeekFrom::End(0))?)
}

/// The new size of an export: for memory the size asked for; for a file, the size that it has, or less.
///
/// # Errors
/// If the file is shorter, or this is not a valid size of an export.
pub fn new_size(source: &ExportSource, wished: Option<u64>) -> Result<u64, String> {
    match (source, wished) {
        (ExportSource::Memory(_), Some(size)) if size <= crate::memory::LARGEST => Ok(size),
        (ExportSource::Memory(_), Some(_)) => Err(format!("memory is of at most {}G", crate::memory::LARGEST >> 30)),
        (ExportSource::Memory(_), None) => Err("expected its new size: memory has none of its own".to_owned()),
        (ExportSource::File { path, offset, .. }, wished) => {
            let end = File::open(path).and_then(|file| length(&file));
            let end = end.map_err(|error| format!("{}: {error}", path.display()))?;
            range(end, *offset, wished).map_err(|why| format!("{}: {why}", path.display()))
        }
    }
}

/// The size of the export.
fn range(end: u64, offset: u64, size: Option<u64>) -> Result<u64, String> {
    whole(offset, "its offset")?;
    let left = end.checked_sub(offset).ok_or_else(|| format!("its offset {offset} is beyond its end, {end}"))?;
    match size {
        Some(size) if size > left => Err(format!("it has {left} bytes from its offset on, not {size}")),
        // The last sector of a part would be its neighbour's, too.
        Some(size) if size < left => whole(size, "its size"),
        _ => Ok(left),
    }
}

fn whole(bytes: u64, what: &str) -> Result<u64, String> {
    if bytes.is_multiple_of(SECTOR) {
        Ok(bytes)
    } else {
        Err(format!("{what}, {bytes}, is not a multiple of {SECTOR}"))
    }
}

/// The smallest unit that can be read; for a file opened without the page cache it is found by trying.
fn block_size(file: &File, caching: Caching) -> u32 {
    if caching == Caching::PageCache {
        return SECTOR as u32;
    }
    let mut pool = Pool::new(1 << 20);
    let Some(mut buffer) = pool.take(4096) else { return 4096 };
    let reads = |length: usize, bytes: &mut [u8]| file.read_at(&mut bytes[..length], length as u64).is_ok();
    if reads(SECTOR as usize, buffer.bytes_mut()) { SECTOR as u32 } else { 4096 }
}

/// The kernel's own file systems that make a write with RWF_DSYNC stable, with or without the page cache: ext2 to ext4,
/// XFS, Btrfs, and tmpfs, which has nothing to make stable (linux/magic.h).
const HONEST: [u64; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];

/// How a write to this file becomes stable. Block devices honour the flag.
fn through(file: &File) -> io::Result<Through> {
    let device = file.metadata()?.file_type().is_block_device();
    let kind = rustix::fs::fstatfs(file)?.f_type as u64;
    Ok(if device || HONEST.contains(&kind) { Through::Flag } else { Through::Sync })
}

/// Whether it is a block device that refuses writes, although it can be opened for them (`blockdev --setro`).
fn is_read_only(file: &File) -> io::Result<bool> {
    let meta = file.metadata()?;
    let (major, minor) = (rustix::fs::major(meta.rdev()), rustix::fs::minor(meta.rdev()));
    let said = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/ro"));
    Ok(meta.file_type().is_block_device() && said.is_ok_and(|text| text.trim() == "1"))
}

/// The disk that a file is on, and whether it seeks.
fn disk_of(file: &File) -> io::Result<(String, bool)> {
    let meta = file.metadata()?;
    let device = if meta.file_type().is_block_device() { meta.rdev() } else { meta.dev() };
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let sys = format!("/sys/dev/block/{major}:{minor}");
    // A partition's queue is its disk's.
    let place = std::fs::canonicalize(&sys).ok();
    let whole = place.map(|path| match path.join("partition").exists() {
        true => path.parent().map(Path::to_owned).unwrap_or(path),
        false => path,
    });
    let Some(whole) = whole else { return Ok((format!("{major}:{minor}"), false)) };
    let rotational = std::fs::read_to_string(whole.join("queue/rotational")).is_ok_and(|text| text.trim() == "1");
    let name = whole.file_name().map_or(format!("{major}:{minor}"), |name| name.to_string_lossy().into_owned());
    Ok((name, rotational))
}

/// Data and holes as reported by the file system; if it does not report them, everything is data. The question moves
/// the file's position, which nothing else uses: data is read and written at offsets.
pub fn file_extents(file: &OwnedFd, start: u64, length: u64, most: usize) -> Vec<Extent> {
    let end = start + length;
    let mut extents = Vec::new();
    let mut at = start;
    while at < end && extents.len() < most {
        let (next, state) = match seek(file.as_fd(), SeekFrom::Data(at)) {
            Ok(data) if data > at => (data.min(end), ExtentState::Hole),
            Ok(_) => (seek(file.as_fd(), SeekFrom::Hole(at)).unwrap_or(end).clamp(at + 1, end), ExtentState::Data),
            Err(Errno::NXIO) => (end, ExtentState::Hole),
            Err(_) => (end, ExtentState::Data),
        };
        // Extents are reported in whole sectors; if a hole begins within a sector, the sector is data.
        let next = if next < end && state == ExtentState::Data { next.next_multiple_of(SECTOR).min(end) } else { next };
        let next = if next < end && state == ExtentState::Hole { next - next % SECTOR } else { next };
        match next > at {
            true => extents.push(Extent { length: next - at, state }),
            false => {
                let sector = SECTOR.min(end - at);
                extents.push(Extent { length: sector, state: ExtentState::Data });
                at += sector;
                continue;
            }
        }
        at = next;
    }
    extents
}

/// What loses its cache as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// One file.
    File(Identity),
    /// A disk, with all its partitions.
    Disk(String),
    /// Nobody else's.
    Own,
}

impl Place {
    /// Whether it is the one of this back end.
    pub fn is_the_place_of(&self, backend: &Backend) -> bool {
        *self != Place::Own && *self == backend.place()
    }
}

impl Backend {
    /// What loses its cache together with it.
    pub fn place(&self) -> Place {
        match (self.identity, self.kind) {
            (None, _) => Place::Own,
            (Some(_), BackendKind::Device) => Place::Disk(self.disk.clone()),
            (Some(identity), _) => Place::File(identity),
        }
    }
}
