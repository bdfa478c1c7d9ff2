//! Exports as files of a directory (FUSE): for programs without NBD, such as loop devices and Firecracker.
//!
//! A file represents its export: its requests go to the server one by one, bypassing the page cache, so that a file has
//! its export's weight and the server has written data when the call returns. Any number of requests can be in flight,
//! up to the number of threads.
//!
//! **Rule** The server takes whole blocks. Other reads are enlarged. Other writes first read the blocks around them,
//! and run alone on their file meanwhile, so that of two writes to one block neither is lost. `fsync` is a FLUSH.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, UNIX_EPOCH};

use blksched_nbd::{Command, Holes, Persist, Speed, Uri};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, MountOption,
    OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};

mod pool;

use pool::{ConnectionPool, MountAnswer};

/// How long names and sizes may be cached.
const TTL: Duration = Duration::from_secs(1);
/// Files are numbered after the directory itself.
const FIRST: u64 = 2;

/// One file.
struct Image {
    pool: ConnectionPool,
    name: String,
    /// Held exclusively by a call that changes a part of a block.
    whole_blocks: RwLock<()>,
}

/// The directory.
struct Directory {
    images: Vec<Image>,
    owner: (u32, u32),
}

/// Shows these exports as files in a directory until it is unmounted, or a signal arrives.
///
/// # Errors
/// If an export cannot be opened, or the directory cannot be mounted on.
pub fn mount(directory: &Path, uris: &[Uri], threads: usize, say: &mut dyn FnMut(&str)) -> Result<(), String> {
    let mut images: Vec<Image> = Vec::new();
    for uri in uris {
        let pool = ConnectionPool::open(uri.clone())?;
        let name = if uri.export.is_empty() { "disk".to_owned() } else { uri.export.replace('/', "_") };
        if images.iter().any(|image| image.name == name) {
            return Err(format!("two files would be called `{name}`"));
        }
        images.push(Image { pool, name, whole_blocks: RwLock::new(()) });
    }
    let names: Vec<String> = images.iter().map(|image| directory.join(&image.name).display().to_string()).collect();
    let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut config = fuser::Config::default();
    config.mount_options =
        vec![MountOption::FSName("blksched".to_owned()), MountOption::NoSuid, MountOption::NoDev, MountOption::NoExec];
    config.n_threads = Some(threads);
    config.clone_fd = true;
    let said = |error: io::Error| format!("{}: {error}", directory.display());
    let (heard, wakeup) = UnixStream::pair().map_err(said)?;
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        let ring = wakeup.try_clone().map_err(said)?;
        signal_hook::low_level::pipe::register(signal, ring).map_err(said)?;
    }
    let mut session = fuser::Session::new(Directory { images, owner }, directory, &config).map_err(said)?;
    let mut unmounter = session.unmount_callable();
    std::thread::spawn(move || {
        let _ = rustix::net::recv(heard.as_fd(), &mut [0; 1], rustix::net::RecvFlags::empty());
        if let Err(error) = unmounter.unmount() {
            tracing::warn!(%error, "it is in use");
        }
    });
    names.iter().for_each(|name| say(name));
    session.run().map_err(said)
}

impl Image {
    fn size(&self) -> u64 {
        self.pool.export().size
    }

    fn block(&self) -> u64 {
        u64::from(self.pool.export().block_size.minimum.max(1))
    }

    fn is_whole(&self, offset: u64, length: u64) -> bool {
        offset.is_multiple_of(self.block()) && length.is_multiple_of(self.block())
    }

    /// The blocks that contain any of it.
    fn around(&self, offset: u64, length: u64) -> (u64, u64) {
        let from = offset - offset % self.block();
        (from, (offset + length).next_multiple_of(self.block()) - from)
    }

    fn read(&self, offset: u64, length: u64) -> MountAnswer {
        let length = length.min(self.size().saturating_sub(offset));
        if length == 0 {
            return Ok(Vec::new());
        }
        let (from, all) = self.around(offset, length);
        let mut data = self.pool.ask(Command::Read, from, all, &[])?;
        data.truncate((offset - from + length) as usize);
        data.drain(..(offset - from) as usize);
        Ok(data)
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), i32> {
        let length = data.len() as u64;
        if offset.checked_add(length).is_none_or(|end| end > self.size()) {
            return Err(libc::ENOSPC);
        }
        let write = Command::Write(Persist::Lazily);
        if self.is_whole(offset, length) {
            let _shared = self.whole_blocks.read().unwrap_or_else(PoisonError::into_inner);
            return self.pool.ask(write, offset, length, data).map(drop);
        }
        let _alone = self.whole_blocks.write().unwrap_or_else(PoisonError::into_inner);
        let (from, all) = self.around(offset, length);
        let mut blocks = self.pool.ask(Command::Read, from, all, &[])?;
        blocks[(offset - from) as usize..][..data.len()].copy_from_slice(data);
        self.pool.ask(write, from, all, &blocks).map(drop)
    }

    /// Writes zeroes, with or without their storage.
    fn zero(&self, offset: u64, length: u64, holes: Holes) -> Result<(), i32> {
        if offset.checked_add(length).is_none_or(|end| end > self.size()) || !self.is_whole(offset, length) {
            return Err(libc::EOPNOTSUPP);
        }
        let _shared = self.whole_blocks.read().unwrap_or_else(PoisonError::into_inner);
        let zero = Command::WriteZeroes { persist: Persist::Lazily, holes, speed: Speed::Any };
        self.pool.ask(zero, offset, length, &[]).map(drop)
    }
}

impl Directory {
    fn image(&self, number: INodeNo) -> Option<&Image> {
        self.images.get(usize::try_from(u64::from(number).checked_sub(FIRST)?).ok()?)
    }

    /// The attributes of a file, or of the directory itself.
    fn attributes(&self, number: INodeNo) -> Option<FileAttr> {
        let image = self.image(number);
        let (kind, perm, size) = match image {
            None if number == INodeNo::ROOT => (FileType::Directory, 0o700, 0),
            None => return None,
            Some(image) if image.pool.export().features.read_only => (FileType::RegularFile, 0o400, image.size()),
            Some(image) => (FileType::RegularFile, 0o600, image.size()),
        };
        Some(FileAttr {
            ino: number,
            size,
            blocks: size.div_ceil(512),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        })
    }
}

fn number(nth: usize) -> INodeNo {
    INodeNo(FIRST + nth as u64)
}

impl Filesystem for Directory {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let named = |image: &Image| parent == INodeNo::ROOT && name == OsStr::new(&image.name);
        let found = self.images.iter().position(named).and_then(|nth| self.attributes(number(nth)));
        match found {
            Some(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(ino) {
            Some(attributes) => reply.attr(&TTL, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// An export's size is fixed; changes of other attributes are ignored.
    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<std::time::SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<std::time::SystemTime>,
        _chgtime: Option<std::time::SystemTime>,
        _bkuptime: Option<std::time::SystemTime>,
        _bsd: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        match self.attributes(ino) {
            Some(attributes) if size.is_none_or(|size| size == attributes.size) => reply.attr(&TTL, &attributes),
            Some(_) => reply.error(Errno::EPERM),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        if ino != INodeNo::ROOT {
            reply.error(Errno::ENOTDIR);
            return;
        }
        let own = [".", ".."].into_iter().map(|name| (INodeNo::ROOT, FileType::Directory, name));
        let files = self.images.iter().enumerate();
        let files = files.map(|(nth, image)| (number(nth), FileType::RegularFile, image.name.as_str()));
        for (nth, (ino, kind, name)) in own.chain(files).enumerate().skip(offset as usize) {
            if reply.add(ino, nth as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let Some(image) = self.image(ino) else { return reply.error(Errno::ENOENT) };
        match image.read(offset, u64::from(size)) {
            Ok(data) => reply.data(&data),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let Some(image) = self.image(ino) else { return reply.error(Errno::ENOENT) };
        match image.write(offset, data) {
            Ok(()) => reply.written(data.len() as u32),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }

    /// A close makes nothing stable, as for any file.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let Some(image) = self.image(ino) else { return reply.error(Errno::ENOENT) };
        match image.pool.ask(Command::Flush, 0, 0, &[]) {
            Ok(_) => reply.ok(),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let Some(image) = self.image(ino) else { return reply.error(Errno::ENOENT) };
        let holes = match mode & !libc::FALLOC_FL_KEEP_SIZE {
            libc::FALLOC_FL_PUNCH_HOLE => Holes::Allowed,
            libc::FALLOC_FL_ZERO_RANGE => Holes::Refused,
            _ => return reply.error(Errno::EOPNOTSUPP),
        };
        match image.zero(offset, length, holes) {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }
}
