//! What a recorded call does, and to which inode.

use blksched_traces::fs_recording::FsEvent;
use blksched_workloads::host::fs::{Blocks, Change, InodeId, NamedIn};
use blksched_workloads::host::{RangeSync, SyncAll};

use super::{Made, Names, Opened};

pub(super) fn inode_in<'a>(mut events: impl Iterator<Item = &'a FsEvent>) -> Option<u64> {
    let tells = |event: &&FsEvent| {
        matches!(
            event.ev.as_str(),
            "ext4_sync_file_enter"
                | "ext4_mark_inode_dirty"
                | "writeback_mark_inode_dirty"
                | "ext4_allocate_inode"
                | "xfs_file_fsync"
                | "xfs_dir_fsync"
                | "xfs_file_buffered_write"
                | "xfs_file_direct_write"
        )
    };
    events.find(tells).and_then(|event| event.number("ino"))
}

pub(super) fn made(
    event: &FsEvent,
    own: &[&FsEvent],
    mark: &str,
    later: Option<u64>,
    names: &mut Names,
) -> Result<(InodeId, Made), String> {
    let file = event.text("file");
    let find = |ev: &str, field: &str| own.iter().find(|other| other.ev == ev).and_then(|other| other.number(field));
    let bytes = (event.number("off").unwrap_or(0), event.number("len").unwrap_or(0));
    let blocks = Blocks { start: bytes.0 / 4096, end: (bytes.0 + bytes.1).div_ceil(4096) };
    let name = file.rsplit('/').next().unwrap_or("").len() as u64;
    let op = event.text("op");
    Ok(match op {
        "write" | "store" => {
            let how = Opened {
                direct: op == "write" && mark.contains("O_DIRECT"),
                dsync: mark.contains("O_DSYNC"),
                sync: mark.contains("O_SYNC"),
            };
            let inode = names.of(file, inode_in(own.iter().copied()));
            (inode, Made::Write { at: bytes.0, bytes: bytes.1, how })
        }
        "fsync" => (names.of(file, inode_in(own.iter().copied())), Made::Sync),
        "sync" => (InodeId(2), Made::SyncAll(SyncAll::Everything)),
        "syncfs" => (InodeId(2), Made::SyncAll(SyncAll::FileSystem)),
        "fdatasync" | "msync" => (names.of(file, inode_in(own.iter().copied())), Made::SyncData),
        "sync_file_range" => {
            let flags = event.text("flags");
            let has = |word: &str| flags.split('|').any(|flag| flag == word);
            let (waits_before, writes, waits_after) = (has("WAIT_BEFORE"), has("WRITE"), has("WAIT_AFTER"));
            let what = RangeSync { waits_before, writes, waits_after };
            (names.of(file, None), Made::Range { at: bytes.0, bytes: bytes.1, what })
        }
        "open" if event.text("flags").contains("O_CREAT") => create(event, own, later, names),
        "ftruncate" => (names.of(file, None), Made::Change(Change::Truncate(bytes.1.div_ceil(4096)))),
        "open" | "close" => (names.of(file, None), Made::Nothing),
        "chmod" | "fchmod" | "utime" | "utimes" => {
            (names.of(file, inode_in(own.iter().copied())), Made::Change(Change::Attributes))
        }
        "fallocate" => {
            let inode = names.of(file, find("ext4_allocate_blocks", "ino"));
            (inode, Made::Change(Change::Preallocate(blocks)))
        }
        "unlink" => {
            let dir = names.dir(file, find("ext4_unlink_enter", "parent"));
            let inode = names.of(file, find("ext4_unlink_enter", "ino"));
            names.known.remove(file);
            (inode, Made::Change(Change::Unlink(NamedIn { dir, name })))
        }
        "rename" => rename(event, own, names),
        "mkdir" | "symlink" | "rmdir" => {
            let dir = names.dir(file, find("ext4_allocate_inode", "dir"));
            let inode = names.of(file, find("ext4_allocate_inode", "ino"));
            let named = NamedIn { dir, name };
            let change = match op {
                "mkdir" => Change::MakeDirectory(named),
                "symlink" => Change::Symlink(named),
                _ => Change::RemoveDirectory(named),
            };
            (inode, Made::Change(change))
        }
        other => return Err(format!("the call {other}")),
    })
}

fn rename(event: &FsEvent, own: &[&FsEvent], names: &mut Names) -> (InodeId, Made) {
    let (from, to) = (event.text("file"), event.text("to"));
    let dir = names.dir(from, None);
    let evicted = own.iter().find(|other| other.ev == "ext4_evict_inode").and_then(|other| other.number("ino"));
    let replaces = own.iter().any(|other| other.ev == "xfs_inodegc_queue");
    if replaces {
        names.uses(to, false);
    }
    names.used.insert(to.to_owned());
    let known = names.known.remove(to).or_else(|| replaces.then(|| names.of(to, None)));
    let over = known.map(|known| evicted.map_or(known, InodeId)).or(evicted.map(InodeId));
    let seen = own.iter().filter(|other| other.ev == "ext4_mark_inode_dirty").filter_map(|other| other.number("ino"));
    let seen = seen.map(InodeId).find(|inode| *inode != dir && Some(*inode) != over);
    let inode = names.of(from, seen.map(|inode| inode.0));
    names.known.remove(from);
    names.known.insert(to.to_owned(), inode);
    let length = |name: &str| name.rsplit('/').next().unwrap_or("").len() as u64;
    let change = Change::Rename { from: NamedIn { dir, name: length(from) }, to: length(to), over };
    (inode, Made::Change(change))
}

fn create(event: &FsEvent, own: &[&FsEvent], later: Option<u64>, names: &mut Names) -> (InodeId, Made) {
    let file = event.text("file");
    let find = |field: &str| own.iter().find(|other| other.ev == "ext4_allocate_inode")?.number(field);
    let dir = names.dir(file, find("dir"));
    names.known.remove(file);
    // A new inode of xfs is the last that becomes part of the list.
    let pinned = own.iter().rev().find(|other| other.ev == "xfs_inode_pin");
    let pinned = pinned.and_then(|other| other.number("ino")).filter(|ino| *ino != dir.0);
    let inode = names.of(file, find("ino").or(later).or(pinned));
    let name = file.rsplit('/').next().unwrap_or("").len() as u64;
    (inode, Made::Change(Change::Create(NamedIn { dir, name })))
}
