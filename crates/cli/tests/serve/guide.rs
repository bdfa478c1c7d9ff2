//! `docs/operations.md`, followed line by line in a folder of its own: what stands there indented is what is run here.
//! Left out is what needs root or a systemd that runs: users, owners, `systemctl`, and mounts (`tls` and `mount` have
//! those).

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use blksched_testkit::port::Port;

use crate::interop::have;
use crate::kit::{BLKSCHED, Folder, Process, output};

const GUIDE: &str = include_str!("../../../../docs/operations.md");

/// The indented lines of the section whose heading begins with this, without their indent; an empty line separates
/// blocks.
fn lines(heading: &str) -> String {
    let start = GUIDE.find(heading).unwrap_or_else(|| panic!("{heading} is gone"));
    let section = GUIDE[start..].split("\n## ").next().unwrap();
    let told = section.lines().map(|line| line.strip_prefix("    ").unwrap_or_default());
    told.map(|line| format!("{line}\n")).collect()
}

/// A place with the guide's paths, addresses and names.
struct Place {
    folder: Folder,
    metrics: Port,
    nbd: Port,
}

impl Place {
    fn new() -> Place {
        let place = Place { folder: Folder::new(), metrics: Port::reserve(), nbd: Port::reserve() };
        for folder in ["etc/blksched", "etc/nbd", "srv", "run/blksched", "bin"] {
            std::fs::create_dir_all(place.folder.path(folder)).unwrap();
        }
        std::os::unix::fs::symlink(BLKSCHED, place.folder.path("bin/blksched")).unwrap();
        place
    }

    /// The guide's text with the values of this place.
    fn here(&self, text: &str) -> String {
        let root = self.folder.text("");
        let mut text = text.to_owned();
        for folder in ["etc", "srv", "run"] {
            text = text.replace(&format!("/{folder}/"), &format!("{root}{folder}/"));
        }
        // The caller is on this machine, under its only user.
        text.replace("127.0.0.1:9559", &format!("127.0.0.1:{}", self.metrics))
            .replace("0.0.0.0:10809", &format!("127.0.0.1:{}", self.nbd))
            .replace("1000:*", "any:*")
            .replace("DNS:$who.example", "DNS:$who.example,IP:127.0.0.1")
            .replace("nbds://server.example", &format!("nbds://127.0.0.1:{}", self.nbd))
            .replace("host=server.example,port=10809", &format!("host=127.0.0.1,port={}", self.nbd))
            .replace(" && chown blksched", " && : ")
            .replace("install -D -o blksched", "install -D")
    }

    /// Runs the lines of this section that begin with these words; each must succeed.
    fn run(&self, heading: &str, begins: &[&str]) -> String {
        let text = lines(heading);
        let chosen = text.lines().filter(|line| begins.iter().any(|begin| line.trim_start().starts_with(begin)));
        let script: String = chosen.map(|line| format!("{line}\n")).collect();
        assert!(!script.is_empty(), "{heading}: nothing begins with {begins:?}");
        let script = format!("set -eu\n{}", self.here(&script));
        let path = format!("{}:{}", self.folder.text("bin"), std::env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        let output = output(bash.args(["-c", &script]).env("PATH", path).current_dir(self.folder.path(""))).unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success(), "{script}\n{text}");
        text
    }

    /// Starts a server like the unit or the guide does.
    fn serve(&self, more: &[&str]) -> Process {
        let mut serve = Command::new(BLKSCHED);
        serve.args(["serve", "--config", &self.folder.text("etc/blksched.toml")]).args(more);
        Process::spawn(serve.stdout(Stdio::null()))
    }

    fn await_server(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        let control = self.folder.text("run/blksched/control.sock");
        while !output(Command::new(BLKSCHED).args(["ctl", &control, "list"])).unwrap().status.success() {
            assert!(Instant::now() < until, "the server does not answer");
        }
    }
}

#[test]
fn who_follows_the_guide_has_what_it_promises() {
    if !have("openssl", "openssl") || !have("nbdinfo", "libnbd-bin") || !have("qemu-img", "qemu-utils") {
        return;
    }
    let place = Place::new();
    // 1. The file: its first block, up to the commands.
    let first = lines("## 1. A configuration file");
    let config = place.here(first.trim_start().split("\ntruncate").next().unwrap());
    std::fs::write(place.folder.path("etc/blksched.toml"), &config).unwrap();
    let said = place.run("## 1. A configuration file", &["truncate", "blksched serve"]);
    assert!(said.contains("2 exports: understood"), "{said}");
    // 2. What the unit starts, and what is said about it.
    let server = place.serve(&[]);
    place.await_server();
    assert!(lines("## 2. A unit").contains("blksched serve --config /etc/blksched.toml --take-over\n"));
    let replaced = |mut before: Process| {
        let next = place.serve(&["--take-over"]);
        assert!(before.end().success());
        place.await_server();
        next
    };
    let server = replaced(server);
    let said = place.run("## 2. A unit", &["truncate", "blksched ctl"]);
    assert!(said.contains("4294967296 bytes become 8589934592"), "{said}");
    // 3. Certificates, and the keys of the file above its first table.
    place.run("## 3. Beyond this machine", &["openssl", "for who", "printf", "done", "install"]);
    let tls = lines("## 3. Beyond this machine");
    let keys = tls.trim_start().split("\n\n").next().unwrap();
    let before = config.lines().filter(|line| !line.starts_with("allow")).map(|line| format!("{line}\n"));
    let file = format!("{}\n{}", place.here(keys), before.collect::<String>());
    std::fs::write(place.folder.path("etc/blksched.toml"), file).unwrap();
    let server = replaced(server);
    let said = place.run("## 3. Beyond this machine", &["nbdinfo", "qemu-img", "--image-opts", "blksched load"]);
    assert!(said.contains("export-size: 10737418240") && said.contains("virtual size: 10 GiB"), "{said}");
    // 4. and 5. Its visible figures.
    let top = place.here(lines("## 4. Look at it").trim());
    let said = output(Command::new(BLKSCHED).args(top.split(' ').skip(1)).args(["--count", "1"])).unwrap();
    assert!(String::from_utf8_lossy(&said.stdout).contains("waits for"));
    assert!(std::net::TcpStream::connect(place.metrics.address()).is_ok());
    drop(server);
}
