//! What must be stable is: a loop device counts the flushes that reach it. Needs root and a loop device.

use std::process::Command as Process;

use blksched_nbd::{Command, Persist};

use crate::kit::{Client, ENGINES, Folder, Server, output, status, works};

/// A block device in a file, removed at the end. It has a cache to be flushed, which is checked: a loop device whose
/// `write_cache` was once set to "write through" keeps that for its next file, and the kernel then drops its flushes.
pub struct Loop {
    pub device: String,
}

impl Loop {
    /// Over this file.
    pub fn over(file: &str, options: &[&str]) -> Option<Loop> {
        let output = output(Process::new("losetup").args(options).args(["--find", "--show", file]));
        let Some(output) = output.ok().filter(|output| output.status.success()) else {
            println!("skipped: this machine gives us no loop device");
            return None;
        };
        let device = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        let made = Loop { device };
        let says = |file: &str| std::fs::read_to_string(made.sys(file)).unwrap();
        let (cache, back) = ("queue/write_cache", "write back");
        // A read-only device has nothing to be flushed.
        if says("ro").trim() == "0" {
            if says(cache).trim() != back {
                std::fs::write(made.sys(cache), back).unwrap();
            }
            assert_eq!(says(cache).trim(), back, "{}", made.sys(cache));
        }
        Some(made)
    }

    fn sys(&self, file: &str) -> String {
        format!("/sys/block/{}/{file}", self.device.rsplit('/').next().unwrap())
    }

    /// The number of its flushes: the 16th number of `stat` (since Linux 5.5).
    fn flushes(&self) -> u64 {
        let stat = std::fs::read_to_string(self.sys("stat")).unwrap();
        stat.split_whitespace().nth(15).unwrap().parse().unwrap()
    }

    /// How many flushes `act` adds.
    fn flushes_of(&self, act: impl FnOnce()) -> u64 {
        let before = self.flushes();
        act();
        self.flushes() - before
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = status(Process::new("losetup").args(["--detach", &self.device]));
    }
}

fn write(client: &mut Client, persist: Persist) {
    for at in 0..3 {
        let sent = client.send(Command::Write(persist), at * 8192, 4096, &[at as u8; 4096]).unwrap();
        assert_eq!(client.receive(), Ok((sent, Ok(Vec::new()))));
    }
}

#[test]
fn flushes_and_writes_through_reach_the_device_before_they_are_answered() {
    let folder = Folder::new();
    let Some(device) = Loop::over(&folder.file("disk.img", 16 << 20), &[]) else { return };
    for engine in ENGINES.into_iter().filter(|engine| works(engine)) {
        let server = Server::start(&["--export", &format!("l={}", device.device), "--engine", engine]);
        let (mut client, mut other) = (server.open("l"), server.open("l"));
        // Flushes what an earlier server has left.
        client.flush().unwrap();
        assert_eq!(device.flushes_of(|| write(&mut client, Persist::Lazily)), 0, "{engine}: nobody asked for that");
        let flushes = device.flushes_of(|| drop(other.flush().unwrap()));
        assert!(flushes >= 1, "{engine}: a flush on another connection");
        assert_eq!(device.flushes_of(|| drop(other.flush().unwrap())), 0, "{engine}: all is stable already");
        let through = device.flushes_of(|| write(&mut client, Persist::First));
        assert!(through >= 3, "{engine}: {through} flushes for three writes through");
    }
}

#[test]
fn a_read_only_device_is_served_only_if_that_is_asked_for() {
    let folder = Folder::new();
    let Some(device) = Loop::over(&folder.file("disk.img", 16 << 20), &["--read-only"]) else { return };
    let check = |options: &str| {
        let export = format!("l={}{options}", device.device);
        blksched_cli::printed(&["serve", "--check", "--export", &export], 1000)
    };
    let (code, _, why) = check("");
    assert!(code == 2 && why.contains("expected the option `ro`"), "{why}");
    assert!(check(",ro").0 == 0);
    let server = Server::start(&["--export", &format!("l={},ro", device.device)]);
    assert_eq!(server.open("l").read(0, 4096), Ok(vec![0; 4096]));
}
