//! The folder with one file that FUSE serves; all requests to the file go to the clock.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use blksched::{Op, Sector};
use blksched_disks::CommandOutcome;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};

use super::clock::{Answer, Asked, Clock};

pub const NAME: &str = "disk";
/// The file in the directory.
pub const FILE: INodeNo = INodeNo(2);
const FOREVER: Duration = Duration::from_secs(3600);
const SECTOR: u64 = 512;
/// The kernel's own limit for a request, unless an administrator raised it.
const MOST: u32 = 1 << 20;

/// The calls waiting in the kernel.
pub enum Reply {
    /// What was read, when it arrived.
    Read(ReplyData, Vec<u8>),
    Write(ReplyWrite, u32),
    Flush(ReplyEmpty),
}

impl Answer for Reply {
    fn done(self, outcome: CommandOutcome) {
        match (self, outcome) {
            (Reply::Read(reply, data), CommandOutcome::Ok) => reply.data(&data),
            (Reply::Write(reply, size), CommandOutcome::Ok) => reply.written(size),
            (Reply::Flush(reply), CommandOutcome::Ok) => reply.ok(),
            (Reply::Read(reply, _), CommandOutcome::Failed(_)) => reply.error(Errno::EIO),
            (Reply::Write(reply, _), CommandOutcome::Failed(_)) => reply.error(Errno::EIO),
            (Reply::Flush(reply), CommandOutcome::Failed(_)) => reply.error(Errno::EIO),
        }
    }
}

pub struct DiskFile {
    clock: Arc<Clock<Reply>>,
    bytes: u64,
    most: u32,
    depth: u32,
    /// What it stores; without it nothing.
    contents: Option<File>,
}

impl DiskFile {
    pub fn new(clock: Arc<Clock<Reply>>, contents: Option<File>) -> DiskFile {
        let facts = clock.facts();
        let most = facts.max_sectors.saturating_mul(SECTOR as u32).min(MOST);
        DiskFile { clock, bytes: facts.sectors * SECTOR, most, depth: facts.depth, contents }
    }

    /// What is there now: the page cache above never has a read and a write of one place under way.
    fn stored(&self, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
        let mut data = vec![0; bytes as usize];
        self.contents.as_ref().map_or(Ok(()), |file| file.read_exact_at(&mut data, offset))?;
        Ok(data)
    }
}

/// The attributes of a directory with one file of this many bytes.
pub fn attributes(ino: INodeNo, bytes: u64) -> FileAttr {
    let (kind, size, perm) =
        if ino == FILE { (FileType::RegularFile, bytes, 0o600) } else { (FileType::Directory, 0, 0o700) };
    let never = UNIX_EPOCH;
    FileAttr {
        ino,
        size,
        blocks: size / SECTOR,
        atime: never,
        mtime: never,
        ctime: never,
        crtime: never,
        kind,
        perm,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        // macOS's flags; Linux has none.
        flags: 0,
    }
}

/// The sectors that these bytes touch.
fn asked(op: Op, offset: u64, bytes: u64) -> Asked {
    let start = offset / SECTOR;
    Asked { op, start: Sector(start), sectors: ((offset + bytes).div_ceil(SECTOR) - start) as u32 }
}

impl Filesystem for DiskFile {
    /// As many at a time as the disk accepts, and none larger than it accepts.
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        config.set_max_write(self.most).ok();
        config.set_max_background(self.depth.clamp(64, 1024) as u16).ok();
        config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).ok();
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == NAME {
            reply.entry(&FOREVER, &attributes(FILE, self.bytes), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &attributes(ino, self.bytes));
    }

    /// Bypassing the page cache, so that every request comes here.
    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let bytes = u64::from(size).min(self.bytes.saturating_sub(offset));
        if bytes == 0 {
            reply.data(&[]);
        } else {
            match self.stored(offset, bytes) {
                Ok(data) => self.clock.ask(asked(Op::Read, offset, bytes), Reply::Read(reply, data)),
                Err(_) => reply.error(Errno::EIO),
            }
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let size = data.len() as u32;
        if offset + u64::from(size) > self.bytes {
            reply.error(Errno::ENOSPC);
        } else if self.contents.as_ref().is_some_and(|file| file.write_all_at(data, offset).is_err()) {
            reply.error(Errno::EIO);
        } else {
            self.clock.ask(asked(Op::Write, offset, u64::from(size)), Reply::Write(reply, size));
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.clock.ask(Asked { op: Op::Flush, start: Sector(0), sectors: 0 }, Reply::Flush(reply));
    }

    /// Closing it does not concern the disk.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }
}
