//! `blksched mount`: a file is its export, whatever is done to it. Skipped, saying so, where nobody may mount.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::kit::{BLKSCHED, Folder, Process, Server, output};

pub struct Mounted {
    child: Process,
    folder: Folder,
}

impl Mounted {
    /// Exports of a server as files in `disks`; `None` if this machine does not allow mounting.
    pub fn new(server: &Server, exports: &[&str]) -> Option<Mounted> {
        let folder = Folder::new();
        std::fs::create_dir(folder.path("disks")).unwrap();
        let uris = exports.iter().map(|export| server.uri(export));
        let mut mount = Command::new(BLKSCHED);
        mount.arg("mount").arg(folder.path("disks")).args(uris).stdout(Stdio::null());
        let mut mounted = Mounted { child: Process::spawn(&mut mount), folder };
        for _ in 0..3000 {
            if mounted.file(exports[0]).is_ok() {
                return Some(mounted);
            }
            if mounted.child.try_wait().unwrap().is_some() {
                println!("skipped: this machine lets nobody mount");
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it is not mounted");
    }

    pub fn file(&self, name: &str) -> std::io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.folder.path("disks").join(name))
    }

    fn shell(&self, command: &str) -> (bool, String) {
        let output = output(Command::new("bash").args(["-c", command]).current_dir(self.folder.path(""))).unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (output.status.success(), text)
    }

    fn unmount(&self) {
        let _ = self.shell("umount mnt; fusermount3 -u disks || umount -l disks");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.unmount();
    }
}

#[test]
fn bytes_at_any_offset_are_where_they_were_written_and_the_server_has_them() {
    let server = Server::start(&["--export", "a=mem:4M", "--export", "b=mem:1M,ro"]);
    let Some(mounted) = Mounted::new(&server, &["a", "b"]) else { return };
    let file = mounted.file("a").unwrap();
    assert_eq!(file.metadata().unwrap().len(), 4 << 20);
    let mut model = vec![0u8; 4 << 20];
    let mut numbers = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = |limit: u64| {
        numbers ^= numbers << 13;
        numbers ^= numbers >> 7;
        numbers ^= numbers << 17;
        numbers % limit
    };
    for round in 0..400u32 {
        let length = 1 + below(20_000) as usize;
        let offset = below((4 << 20) - length as u64);
        let data: Vec<u8> = (0..length).map(|nth| (nth as u32 * 7 + round) as u8).collect();
        file.write_all_at(&data, offset).unwrap();
        model[offset as usize..][..length].copy_from_slice(&data);
        let mut read = vec![0; 1 + below(20_000) as usize];
        let from = below((4 << 20) - read.len() as u64);
        file.read_exact_at(&mut read, from).unwrap();
        assert!(read == model[from as usize..][..read.len()], "round {round}");
    }
    let whole = server.open("a").read(0, 4 << 20).unwrap();
    assert!(whole == model, "the server has what was written");
    // Two writers write half of a sector each, repeatedly: neither loses the other's half.
    std::thread::scope(|scope| {
        for half in 0..2u64 {
            let file = mounted.file("a").unwrap();
            scope.spawn(move || {
                (0..=255u8).for_each(|round| file.write_all_at(&[round; 256], 512 * 9 + 256 * half).unwrap());
            });
        }
    });
    let mut sector = [0; 512];
    file.read_exact_at(&mut sector, 512 * 9).unwrap();
    assert_eq!(sector, [255; 512]);
    file.sync_all().unwrap();
    assert!(server.ctl(&["get", "tenants/a/stat"]).unwrap().contains("errors=0"));
    // What is impossible is refused.
    assert_eq!(file.write_at(&[1; 512], 4 << 20).unwrap_err().raw_os_error(), Some(28));
    assert_eq!(file.read_at(&mut [0; 512], 4 << 20).unwrap(), 0);
    assert!(file.set_len(1 << 20).is_err() && File::create(mounted.folder.path("disks/new")).is_err());
    let readable = File::open(mounted.folder.path("disks/b")).unwrap();
    assert_eq!(readable.read_at(&mut [0; 100], 77).unwrap(), 100);
    assert!(mounted.file("b").is_ok_and(|file| file.write_at(&[1; 512], 0).is_err()) || mounted.file("b").is_err());
}

#[test]
fn ext4_on_a_loop_device_on_it_is_clean_after_heavy_use_and_after_kill_9() {
    let folder = Folder::new();
    let export = format!("a={}", folder.file("image", 96 << 20));
    let server = Server::start(&["--export", &export]);
    let Some(mut mounted) = Mounted::new(&server, &["a"]) else { return };
    let use_heavily = "mkfs.ext4 -q -F disks/a && mkdir -p mnt && mount -o loop disks/a mnt && \
        for n in 1 2 3 4 5 6 7 8; do (head -c 4000000 /dev/urandom > mnt/f$n; cp mnt/f$n mnt/g$n; rm mnt/f$n) & done; \
        wait; (cd mnt && sha256sum g*) > sums && fstrim -v mnt && sync";
    let (good, text) = mounted.shell(use_heavily);
    if !good && (text.contains("loop device") || text.contains("only root") || text.contains("permission")) {
        println!("skipped: {text}");
        return;
    }
    assert!(good, "{text}");
    let (good, text) = mounted.shell(
        "(cd mnt && sha256sum --quiet -c ../sums) && umount mnt && fsck.ext4 -fn disks/a && mount -o loop disks/a mnt",
    );
    assert!(good, "{text}");
    // The server dies while files are written: data that a file system has synced are there, and it is clean once
    // replayed.
    let (good, text) = mounted.shell("head -c 3000000 /dev/urandom > mnt/kept && sync && sha256sum mnt/kept > kept");
    assert!(good, "{text}");
    let mut writes = Command::new("bash");
    writes.args(["-c", "for n in $(seq 1000); do head -c 300000 /dev/urandom > mnt/w$n; done"]);
    let mut writes = Process::spawn(writes.current_dir(mounted.folder.path("")).stderr(Stdio::null()));
    std::thread::sleep(Duration::from_millis(700));
    mounted.child.kill().unwrap();
    mounted.child.end();
    writes.end();
    let _ = mounted.shell("umount -l mnt; umount -l disks; fusermount3 -uz disks");
    std::thread::sleep(Duration::from_millis(500));
    let Some(again) = Mounted::new(&server, &["a"]) else { panic!("it was mounted before") };
    std::fs::copy(mounted.folder.path("kept"), again.folder.path("kept")).unwrap();
    let (good, text) = again.shell(
        "mkdir -p mnt && (fsck.ext4 -fp disks/a; [ $? -le 1 ]) && fsck.ext4 -fn disks/a && \
         mount -o loop disks/a mnt && sha256sum --quiet -c kept",
    );
    assert!(good, "{text}");
}
