//! A disk that is full says so, and only to those who want more of it. Needs root, for a small file system of its own.

use std::process::{Command as Process, Stdio};

use blksched_nbd::{Command, Errno, Persist};

use crate::kit::{Client, ENGINES, Folder, Server, status, works};

const BLOCK: u64 = 256 << 10;

/// A small file system, unmounted at the end.
struct Small {
    folder: Folder,
}

impl Small {
    /// 8 MiB in memory, or ext4 in a file; `None` if this machine does not allow mounting.
    fn mount(kind: &str) -> Option<Small> {
        let folder = Folder::new();
        std::fs::create_dir(folder.path("mount")).unwrap();
        let command = match kind {
            "tmpfs" => "mount -t tmpfs -o size=8m tmpfs mount",
            _ => "truncate -s 16M image && mkfs.ext4 -q -F -m 0 image && mount -o loop image mount",
        };
        let mut sh = Process::new("sh");
        let sh = status(sh.current_dir(folder.path("")).args(["-c", command]).stderr(Stdio::null()));
        if !sh.is_ok_and(|status| status.success()) {
            println!("skipped: this machine lets nobody mount {kind}");
            return None;
        }
        Some(Small { folder })
    }

    fn text(&self, name: &str) -> String {
        self.folder.text(&format!("mount/{name}"))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = status(Process::new("umount").arg(self.folder.path("mount")));
    }
}

fn block(number: u64) -> Vec<u8> {
    vec![number as u8 + 1; BLOCK as usize]
}

/// Writes block after block until one fails; returns its number.
fn fill(client: &mut Client, from: u64) -> u64 {
    let mut number = from;
    loop {
        assert!(number < 256, "64 MiB fit into less");
        match client.write(number * BLOCK, &block(number)) {
            Ok(_) => number += 1,
            Err(errno) => {
                assert_eq!(errno, Errno::NoSpc);
                return number;
            }
        }
    }
}

#[test]
fn a_full_disk_is_told_as_that_and_hurts_no_other_tenant() {
    let engines = || ENGINES.into_iter().filter(|engine| works(engine));
    for (kind, engine) in ["tmpfs", "ext4"].into_iter().flat_map(|kind| engines().map(move |engine| (kind, engine))) {
        let Some(small) = Small::mount(kind) else { continue };
        let elsewhere = Folder::new();
        std::fs::File::create(small.text("a.img")).unwrap().set_len(64 << 20).unwrap();
        std::fs::write(small.text("ballast"), vec![1; 2 << 20]).unwrap();
        let exports =
            [format!("a={},disk=small", small.text("a.img")), format!("b={}", elsewhere.file("b.img", 1 << 20))];
        let server = Server::start(&["--export", &exports[0], "--export", &exports[1], "--engine", engine]);
        let (mut a, mut b) = (server.open("a"), server.open("b"));
        let errors = || server.ctl(&["get", "small/tenants/a/stat"]).unwrap();
        assert!(errors().contains("errors=0"));

        let full = fill(&mut a, 0);
        println!("{kind}, {engine}: full after {full} blocks");
        assert!(full > 4 && errors().contains("errors=1"), "{full} {}", errors());
        assert_eq!(b.write(0, &block(7)), Ok(vec![]));
        assert_eq!(b.flush(), Ok(vec![]));
        assert_eq!(b.read(0, BLOCK), Ok(block(7)));
        // Acknowledged data are on the disk, and a flush succeeds: the write that failed was never acknowledged.
        assert_eq!(a.flush(), Ok(vec![]));
        for number in 0..full {
            assert!(a.read(number * BLOCK, BLOCK) == Ok(block(number)), "block {number}");
        }

        std::fs::remove_file(small.text("ballast")).unwrap();
        let more = fill(&mut a, full);
        assert!(more > full, "there is room again");
        assert_eq!(a.command(Command::Trim(Persist::Lazily), 0, 4 * BLOCK), Ok(vec![]));
        assert_eq!(a.write(more * BLOCK, &block(more)), Ok(vec![]), "a trim makes room");
        assert_eq!(a.flush(), Ok(vec![]));
        assert_eq!(a.read(more * BLOCK, BLOCK), Ok(block(more)));
        drop((a, b, server));
    }
}
