//! A slow file: one millisecond for each read and write, four at a time; it stores nothing. A loop device over it is
//! slow enough for a scheduler to have a choice.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use fuser::{
    BackgroundSession, Config, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, MountOption,
    OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};

use crate::timed_disk::file::{FILE, attributes};

/// Its description for people.
pub const DESCRIPTION: &str = "a file of 256 MiB that takes 1 ms for each request, four at a time";
const SIZE: u64 = 256 << 20;
const TIME: Duration = Duration::from_millis(1);
const AT_A_TIME: usize = 4;
const NAME: &str = "disk";
const FOREVER: Duration = Duration::from_secs(3600);

/// The mounted file; unmounted when dropped.
pub struct SlowFile {
    folder: PathBuf,
    session: Option<BackgroundSession>,
}

impl SlowFile {
    /// Mounts it in `folder`.
    pub fn mount(folder: &Path) -> Result<SlowFile> {
        fs::create_dir_all(folder)?;
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("blksched-slow-file".to_owned())];
        config.n_threads = Some(AT_A_TIME);
        let session = fuser::spawn_mount(Slow, folder, &config).context("mounting the slow file")?;
        Ok(SlowFile { folder: folder.to_owned(), session: Some(session) })
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }
}

impl Drop for SlowFile {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.session.take().map(BackgroundSession::umount_and_join) {
            eprintln!("the slow file stays mounted at {}: {error}", self.folder.display());
        }
    }
}

struct Slow;

impl Filesystem for Slow {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == NAME {
            reply.entry(&FOREVER, &attributes(FILE, SIZE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &attributes(ino, SIZE));
    }

    /// Bypassing the page cache, so that every request comes here.
    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        std::thread::sleep(TIME);
        reply.data(&vec![0; size as usize]);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        std::thread::sleep(TIME);
        reply.written(data.len() as u32);
    }
}
