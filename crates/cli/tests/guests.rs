//! The guide's two virtual machines, really run: `docs/two-guests.sh` as a newcomer starts it. Skipped by name where a
//! Debian package is missing; with `BLKSCHED_REQUIRE_GUESTS=1` that is a failure.
//!
//! The guests are emulated and boot in seconds. Shares are the server's own count of a disk that needs 10 ms a request,
//! so neither the guests' clocks nor the speed of this machine matter.

#![cfg(all(feature = "serve", target_os = "linux", target_arch = "x86_64"))]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

#[path = "serve/kit.rs"]
#[allow(dead_code, unused_imports, reason = "the other tests of the server use the rest")]
mod kit;

/// Guests are emulated, and give up earlier by themselves.
const LONGEST: Duration = Duration::from_secs(30 * 60);
const TARGET: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/..");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/two-guests.sh");

/// The Debian package that is missing, if one is.
fn missing() -> Option<&'static str> {
    let program = |name: &str| blksched_testkit::program(name).is_some();
    let kernel = Path::new(TARGET).join("guest-kernel/boot").is_dir();
    let packages = [
        ("qemu-system-x86", program("qemu-system-x86_64")),
        ("busybox-static", program("busybox")),
        ("linux-image-cloud-amd64", kernel),
    ];
    packages.into_iter().find(|(_, here)| !here).map(|(name, _)| name)
}

/// The output of a script that boots guests; `None`, with a message, if its requirements are missing.
fn said_by(script: &[&str]) -> Option<String> {
    if let Some(package) = missing() {
        let reason = format!("the Debian package {package} is not here");
        assert!(std::env::var_os("BLKSCHED_REQUIRE_GUESTS").is_none(), "{reason}");
        println!("skipped: {reason}");
        return None;
    }
    let mut sh = Command::new("sh");
    sh.args(script).env("blksched", kit::BLKSCHED).env("CARGO_TARGET_DIR", TARGET);
    let output = blksched_testkit::process::output_within(&mut sh, LONGEST).unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    println!("{text}");
    assert!(output.status.success(), "{text}");
    Some(text)
}

/// Whether Debian's kernel with the ublk driver is missing; the test gets it where apt can, since no other test needs
/// it.
fn lacks_ublk_kernel(script: &str) -> Option<String> {
    let kernel = Path::new(TARGET).join("guest-kernel-ublk/boot").is_dir();
    let mut fetch = Command::new("sh");
    fetch.args([script, "--fetch"]).env("CARGO_TARGET_DIR", TARGET);
    let fetched = kernel
        || blksched_testkit::process::output_within(&mut fetch, LONGEST).is_ok_and(|output| output.status.success());
    (!fetched)
        .then(|| "no kernel with ublk: `docs/ublk-guest.sh --fetch` could not get linux-image-6.12…-cloud-amd64".into())
}

#[test]
fn two_virtual_machines_share_a_disk_two_to_one() {
    let Some(text) = said_by(&[SCRIPT, "6"]) else { return };
    for race in ["read", "write"] {
        let line = text.lines().find(|line| line.starts_with(race)).unwrap();
        let ratio: f64 = line.rsplit_once(": ").unwrap().1.strip_suffix(" to 1").unwrap().parse().unwrap();
        assert!((1.5..2.7).contains(&ratio), "{line}");
    }
}

#[test]
#[ignore = "slow: a guest boots from a vhost-user disk under emulation and its load is verified, some two minutes"]
fn a_virtual_machine_boots_from_a_vhost_user_disk_and_runs_fio() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/vhost-guest.sh");
    let Some(text) = said_by(&[script]) else { return };
    let guest = text.lines().find(|line| line.contains("GUEST ")).unwrap();
    assert!(guest.contains("2 queues") && guest.contains("cache write back") && guest.contains("disk disk"), "{guest}");
    assert!(!guest.contains("discard 0") && !guest.contains("zeroes 0,"), "{guest}");
    for said in ["verify: (groupid=0, jobs=1): err= 0", "trimmed", "command ended: 0", "DONE", "errors=0"] {
        assert!(text.contains(said), "it does not say `{said}`: {text}");
    }
}

/// The lines of the guest's output that contain this.
fn lines<'t>(text: &'t str, with: &str) -> Vec<&'t str> {
    text.lines().map(str::trim_end).filter(|line| line.contains(with)).collect()
}

#[test]
#[ignore = "slow: a guest with the ublk driver serves its own disks under emulation, some five minutes"]
fn a_machine_with_the_ublk_driver_has_exports_as_its_disks() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ublk-guest.sh");
    if let Some(reason) = lacks_ublk_kernel(script) {
        assert!(std::env::var_os("BLKSCHED_REQUIRE_GUESTS").is_none(), "{reason}");
        println!("skipped: {reason}");
        return;
    }
    let Some(text) = said_by(&[script]) else { return };
    for said in [
        // What is missing is named, with what to do.
        "modprobe ublk_drv",
        "it needs root (CAP_SYS_ADMIN)",
        "only root can create block devices",
        // A disk, and one that is read-only.
        "ublkb0: sectors 196608 queues 2 blocks 512 4096 ro 0 discard 1073741824 zeroes 1073741824 \
         cache write back fua 1 depth 32",
        "ublkb1: sectors 16384 queues 2 blocks 512 4096 ro 1 discard 0 zeroes 0",
        "/dev/ublkb0: live, 2 queues of 32, served by process",
        "end it, and the device disappears",
        // Its data.
        "verify: (groupid=0, jobs=1): err= 0",
        "the file has the same",
        "reads as zeroes",
        "trimmed",
        // Ctrl-C, SIGTERM, and kill -9 with what it leaves.
        "ended by INT: 0",
        "ended by TERM: 0",
        "ended by KILL: 137",
        "/dev/ublkb0: no block device, 2 queues of 64, its server is gone: `blksched ublk remove 0` removes it",
        "ublk: its server is gone: `blksched ublk remove 0` removes it",
        "command ended: 0",
        "DONE",
    ] {
        assert!(text.contains(said), "it does not say `{said}`: {text}");
    }
    assert_eq!(lines(&text, "no device is left").len(), 3, "{text}");
    assert_eq!(lines(&text, "fsck: 0, ").len(), 2, "{text}");
    assert!(!text.contains("WRONG"), "{text}");
    let shares = lines(&text, "shares: b had ")[0].split(' ').nth(3).unwrap().parse::<u32>().unwrap();
    assert!((180..=220).contains(&shares), "{shares} hundredths of 200");
}
