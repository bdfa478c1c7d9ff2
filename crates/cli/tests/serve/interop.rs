//! The clients that everybody has. Each test is skipped, saying so, where its Debian package is not installed; with
//! `BLKSCHED_REQUIRE_NBD=1` that is a failure.

use std::process::{Command, Stdio};

use blksched_testkit::{is_here, output, status};

use crate::kit::{ENGINES, Folder, Process, Server, visited, works};

/// Whether this program is installed; if not, the test is skipped, or fails.
pub(crate) fn have(program: &str, package: &str) -> bool {
    is_here(program, package, "BLKSCHED_REQUIRE_NBD")
}

/// Debian's Python, to which its package of libnbd belongs.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// Whether it has libnbd; if not, the test is skipped, or fails.
pub(crate) fn python_has_libnbd() -> bool {
    let here = status(Command::new(PYTHON).args(["-c", "import nbd"]).stderr(Stdio::null()));
    let here = here.is_ok_and(|status| status.success());
    if !here {
        let reason = "the Debian package python3-libnbd is not installed";
        assert!(std::env::var_os("BLKSCHED_REQUIRE_NBD").is_none(), "{reason}");
        println!("skipped: {reason}");
    }
    here
}

/// Runs a command against a file-backed export, with every engine and under several schedulers.
fn everywhere(folder: &Folder, size: u64, command: &str) -> Vec<String> {
    let file = format!("a={}", folder.file("disk.img", size));
    let mut outputs = Vec::new();
    for engine in ENGINES.into_iter().filter(|engine| works(engine)) {
        for elevator in ["mq-deadline", "cfq"] {
            let arguments = ["--export", &file, "--engine", engine, "--elevator", elevator];
            let (good, text) = visited(&arguments, &["a"], &format!("cd {} && {command}", folder.text("")));
            assert!(good, "{engine}, {elevator}: {text}");
            outputs.push(text);
        }
    }
    outputs
}

/// A file with varied content: numbers, with a hole in the middle.
fn content(folder: &Folder, size: usize) {
    let mut bytes: Vec<u8> = (0..size as u32 / 4).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    bytes[size / 3..size / 2].fill(0);
    std::fs::write(folder.path("content"), bytes).unwrap();
}

#[test]
fn nbdinfo_understands_every_export() {
    if !have("nbdinfo", "libnbd-bin") {
        return;
    }
    let folder = Folder::new();
    for text in everywhere(&folder, 8 << 20, "nbdinfo $uri && nbdinfo --list $uri && nbdinfo --map $uri") {
        for word in ["export-size: 8388608", "can_multi_conn: true", "can_fua: true", "base:allocation", "hole,zero"] {
            assert!(text.contains(word), "{word} is not in {text}");
        }
    }
}

#[test]
fn nbdcopy_brings_back_what_it_took() {
    if !have("nbdcopy", "libnbd-bin") {
        return;
    }
    let folder = Folder::new();
    content(&folder, 40 << 20);
    everywhere(&folder, 40 << 20, "nbdcopy --flush content $uri && nbdcopy $uri back && cmp content back");
}

#[test]
fn qemu_converts_compares_and_hammers() {
    if !have("qemu-img", "qemu-utils") {
        return;
    }
    let folder = Folder::new();
    content(&folder, 24 << 20);
    let command = "qemu-img convert -n -f raw -O raw content $uri && qemu-img compare -f raw -F raw content $uri \
                   && qemu-img bench -f raw -c 500 -d 32 -s 4096 $uri \
                   && qemu-img bench -w --flush-interval 50 -f raw -c 500 -d 32 -s 4096 $uri";
    everywhere(&folder, 24 << 20, command);
}

#[test]
fn qemu_io_writes_zeroes_discards_and_flushes() {
    if !have("qemu-io", "qemu-utils") {
        return;
    }
    let folder = Folder::new();
    let command = r#"qemu-io -f raw -c "write -P 7 1M 3M" -c "write -f -P 9 0 4k" -c "write -z 2M 64k" \
        -c "write -z -u 3M 64k" -c "discard 8M 1M" -c flush -c "read -P 7 1M 1M" -c "read -P 0 2M 64k" \
        -c "read -P 0 3M 64k" -c "read -P 9 0 4k" -c "aio_write -P 5 5M 1M" -c "aio_read 0 1M" -c aio_flush $uri"#;
    for text in everywhere(&folder, 16 << 20, command) {
        assert!(!text.contains("failed") && !text.contains("error"), "{text}");
    }
}

#[test]
fn fio_verifies_what_mixed_clients_wrote() {
    let has_engine = output(Command::new("fio").arg("--enghelp"))
        .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).lines().any(|line| line.trim() == "nbd"));
    if !have("fio", "fio") || !has_engine {
        return;
    }
    let folder = Folder::new();
    let job = "[global]\nioengine=nbd\nuri=${uri}\nverify=crc32c\nverify_fatal=1\nsize=6m\n\
               [random]\nrw=randwrite\nbsrange=4k-64k\niodepth=16\n\
               [stream]\noffset=6m\nrw=write\nbs=128k\niodepth=4\n\
               [mixed]\noffset=12m\nrw=randrw\nbs=4k\niodepth=8\n";
    std::fs::write(folder.path("verify.fio"), job).unwrap();
    for text in everywhere(&folder, 18 << 20, "uri=$uri fio verify.fio") {
        assert!(text.contains("err= 0") && !text.contains("verify:"), "{text}");
    }
}

#[test]
fn python_uses_every_command() {
    if !python_has_libnbd() {
        return;
    }
    let folder = Folder::new();
    std::fs::write(folder.path("client.py"), include_str!("client.py")).unwrap();
    for text in everywhere(&folder, 40 << 20, &format!("{PYTHON} client.py")) {
        assert!(text.contains("all is well"), "{text}");
    }
}

#[test]
fn a_file_system_lives_on_nbdfuse_and_a_loop_device() {
    if !have("nbdfuse", "libnbd-bin") || !have("mkfs.ext4", "e2fsprogs") {
        return;
    }
    let folder = Folder::new();
    let script = include_str!("file_system.sh");
    std::fs::write(folder.path("file_system.sh"), script).unwrap();
    let file = format!("a={}", folder.file("disk.img", 64 << 20));
    let command = format!("sh {} {}", folder.text("file_system.sh"), folder.text(""));
    let (good, text) = visited(&["--export", &file], &["a"], &command);
    if text.contains("cannot mount here") {
        println!("skipped: this machine lets nobody mount: {text}");
        return;
    }
    assert!(good && text.contains("all is well"), "{text}");
}

#[test]
fn one_server_serves_all_of_them_at_once() {
    if !have("nbdcopy", "libnbd-bin") || !have("qemu-img", "qemu-utils") {
        return;
    }
    let folder = Folder::new();
    content(&folder, 8 << 20);
    let server = Server::start(&["--export", "a=mem:8M", "--export", "b=mem:8M", "--export", "c=mem:8M"]);
    let uri = |name: &str| format!("nbd+unix:///{name}?socket={}", server.control.with_file_name("s").display());
    let (content, (a, b, c)) = (folder.text("content"), (uri("a"), uri("b"), uri("c")));
    let spawn = |program: &str, words: &[&str]| Process::spawn(Command::new(program).args(words).stdout(Stdio::null()));
    let clients = [
        spawn("nbdcopy", &[&content, &a]),
        spawn("nbdcopy", &[&content, &b]),
        spawn("qemu-img", &["bench", "-f", "raw", "-c", "2000", "-d", "16", "-w", &c]),
    ];
    for mut client in clients {
        assert!(client.end().success());
    }
    for export in ["a", "b"] {
        let bytes = server.open(export).read(0, 8 << 20).unwrap();
        assert!(bytes == std::fs::read(&content).unwrap());
    }
}
