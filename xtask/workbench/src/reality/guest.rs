//! The same in a guest of an older kernel: Debian's kernel for clouds under emulation, with fio in its memory, on a
//! virtio disk that is a model's file ([`TimedDisk`]), or, with `--served`, an export of `blksched serve` with
//! the model behind it and nothing that schedules. `docs/two-guests.sh --fetch` gets the kernel.
//!
//! That export is the guest's by vhost-user, not by NBD: QEMU 7.2 answers the guest only once all its outstanding NBD
//! commands are done (traced: four replies 20 ms apart become one interrupt after 80 ms), and no disk does that.
//!
//! An emulated processor takes a millisecond where a real one takes some microseconds, so the set has a slow disk and
//! few tags, the disk's own check is repeated in the guest, and rows are taken one guest after another.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};
use blksched_simulate::reality::{RealitySetting, Row, Set};

use super::work::Found;
use super::{Job, check, fio};
use crate::shell;
use crate::timed_disk::TimedDisk;

const INIT: &str = include_str!("guest/init.sh");
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
/// The bytes of the disk that the server needs for itself, rounded up.
const OWN_BYTES: u64 = 16 << 20;
/// The guest's memory.
const MEMORY: &str = "768M";
/// The prefix of the check's jobs, before their depth.
const CHECK: &str = "self-check-";
const PROGRAMS: [&str; 3] = ["qemu-system-x86_64", "busybox", "fio"];

/// What this machine lacks.
pub fn missing() -> Option<String> {
    let program = PROGRAMS.into_iter().find(|name| shell::find_program(name).is_none());
    program.map(|name| format!("no {name} (Debian packages qemu-system-x86, busybox-static, fio)"))
}

/// How the guest is run.
pub struct How<'a> {
    pub repeats: u32,
    pub folder: &'a Path,
    /// Whether the guest's disk is an export of our server.
    pub served: bool,
}

/// The guest's disk.
enum Drive {
    File(TimedDisk),
    Served { model: PathBuf, bytes: u64, socket: PathBuf },
}

impl Drive {
    /// QEMU's options for it.
    fn words(&self) -> String {
        match self {
            Drive::File(mounted) => format!(
                "-drive 'file={},format=raw,if=none,id=d,cache=none' -device virtio-blk-pci,drive=d,num-queues=1",
                mounted.path().display()
            ),
            // The server does its I/O in the guest's memory.
            Drive::Served { socket, .. } => format!(
                "-object memory-backend-memfd,id=memory,size={MEMORY},share=on -machine memory-backend=memory \
                 -chardev 'socket,id=d,path={}' -device vhost-user-blk-pci,chardev=d,num-queues=1",
                socket.display()
            ),
        }
    }
}

/// All runs of one disk in one guest, and the guest's kernel.
///
/// # Errors
/// If the guest cannot be made, or does not finish.
pub fn run(set: &Set, setting: &RealitySetting, jobs: &[Job], how: &How<'_>) -> Result<(String, Found)> {
    let spec = setting.spec(0.0).map_err(anyhow::Error::msg)?;
    let (folder, repeats) = (how.folder.join("guest"), how.repeats);
    fs::create_dir_all(&folder)?;
    let disk = match how.served {
        true => {
            let model = folder.join("model.toml");
            fs::write(&model, &setting.disk.1)?;
            // The server keeps a label and a table of its own.
            let bytes = spec.build(0).facts().sectors * 512 - OWN_BYTES;
            Drive::Served { model, bytes, socket: folder.join("socket") }
        }
        false => Drive::File(TimedDisk::mount(&spec, &folder.join("disk"))?),
    };
    let root = folder.join("root");
    pack(&root)?;
    fs::create_dir_all(root.join("jobs"))?;
    let checks = [1, setting.tags].map(|depth| Job { name: format!("{CHECK}{depth}"), text: check::job(depth) });
    for job in jobs.iter().chain(&checks) {
        let text = job.text.replace("filename=/dev/sda", "filename=/dev/vda");
        fs::write(root.join(format!("jobs/{}.fio", job.name)), text)?;
    }
    let facts = spec.build(0).facts();
    let about = format!(
        "tags={}\nmax_sectors_kb={}\nnr_requests={}\nrotational={}\nwrite_cache='{}'\n",
        setting.tags,
        set.max_sectors_kb,
        set.nr_requests,
        u8::from(facts.rotational),
        if facts.volatile_cache { "write back" } else { "write through" }
    );
    fs::write(root.join("disk"), about)?;
    let lines = (0..repeats).flat_map(|repeat| {
        let of = move |job| SCHEDULERS.map(move |name: &str| (job, name));
        jobs.iter().flat_map(of).map(move |(job, scheduler)| format!("{} {scheduler} {repeat}\n", job.name))
    });
    let first: String = checks.iter().map(|check| format!("{} none 0\n", check.name)).collect();
    fs::write(root.join("work"), first + &lines.collect::<String>())?;
    let console = boot(&folder, &root, &disk, 2 + jobs.len() as u64 * 4 * u64::from(repeats))?;
    drop(disk);
    let (kernel, found) = read(&console, setting)?;
    Ok((kernel, checked(set, setting, found)?))
}

/// The rows without those of the check; empty if the guest was too slow.
fn checked(set: &Set, setting: &RealitySetting, found: Found) -> Result<Found> {
    let Found { rows, mut refused } = found;
    let (checks, rows): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.job.starts_with(CHECK));
    let at = |depth: u32| checks.iter().filter(|row| row.job == format!("{CHECK}{depth}")).cloned().collect();
    let (wrong, seen) = check::held(set, setting, &[1, setting.tags].map(|depth| (depth, at(depth))))?;
    println!("{}: in the guest: {seen}", setting.name);
    match wrong {
        None => Ok(Found { rows, refused }),
        Some(wrong) => {
            refused.push(format!("{}: {wrong}", setting.name));
            Ok(Found { rows: Vec::new(), refused })
        }
    }
}

/// The guest's files: busybox, fio and its libraries, the modules.
fn pack(root: &Path) -> Result<()> {
    let kernel = kernel()?;
    for name in ["bin", "dev", "proc", "sys", "usr/bin"] {
        fs::create_dir_all(root.join(name))?;
    }
    let program = |name| shell::find_program(name).with_context(|| format!("no {name}"));
    fs::copy(program("busybox")?, root.join("bin/busybox"))?;
    let fio = program("fio")?;
    fs::copy(&fio, root.join("usr/bin/fio"))?;
    let mut ldd = Command::new("ldd");
    ldd.arg(&fio);
    for word in shell::capture(ldd)?.output.split_whitespace().filter(|word| word.starts_with('/')) {
        let there = root.join(word.trim_start_matches('/'));
        fs::create_dir_all(there.parent().unwrap_or(root))?;
        fs::copy(word, &there).with_context(|| format!("copying {word}"))?;
    }
    modules(&kernel.join("lib"), root)?;
    let init = root.join("init");
    fs::write(&init, INIT)?;
    let mut chmod = Command::new("chmod");
    chmod.arg("+x").arg(&init);
    shell::attached(chmod)
}

/// The unpacked package of the guest's kernel.
fn kernel() -> Result<PathBuf> {
    let kernel = shell::target().join("guest-kernel");
    if !kernel.exists() {
        shell::attached(shell::command("sh", &["docs/two-guests.sh", "--fetch"]))?;
    }
    Ok(kernel)
}

fn modules(folder: &Path, root: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let wanted = name.starts_with("virtio") || ["bfq.ko", "kyber-iosched.ko"].contains(&name.as_str());
        match path.is_dir() {
            true => modules(&path, root)?,
            false if wanted && name.ends_with(".ko") => drop(fs::copy(&path, root.join(name))?),
            false => {}
        }
    }
    Ok(())
}

/// Runs it from power on to power off; returns the console output.
fn boot(folder: &Path, root: &Path, disk: &Drive, runs: u64) -> Result<String> {
    let image = folder.join("image");
    let pack = format!("find . | busybox cpio -o -H newc > '{}' 2>/dev/null", image.display());
    let mut cpio = Command::new("sh");
    cpio.args(["-c", &pack]).current_dir(root);
    shell::attached(cpio)?;
    let boot = kernel()?.join("boot");
    let entries = fs::read_dir(&boot)?.flatten().map(|entry| entry.path());
    let is_kernel = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz"));
    let kernel = entries.into_iter().find(is_kernel).ok_or_else(|| anyhow!("no kernel in {}", boot.display()))?;
    let qemu = format!(
        "timeout {} chrt -f 30 qemu-system-x86_64 -accel tcg -m {MEMORY} -nodefaults -display none -no-reboot \
         -serial stdio -kernel '{}' -initrd '{}' -append 'console=ttyS0 quiet panic=-1' \
         {}",
        300 + 60 * runs,
        kernel.display(),
        image.display(),
        disk.words()
    );
    let mut host = match disk {
        Drive::File(_) => Command::new("sh"),
        Drive::Served { model, bytes, socket } => serve(model, *bytes, socket)?,
    };
    host.arg(if matches!(disk, Drive::File(_)) { "-c" } else { "--run" }).arg(qemu);
    println!("a guest with {runs} runs, some {} minutes", 2 + runs / 4);
    let done = shell::capture(host)?;
    let console = shell::target().join("xtask/guest-console");
    fs::write(&console, &done.output)?;
    if !done.output.contains("\nDONE") {
        bail!("the guest did not come to its end: {}", console.display());
    }
    Ok(done.output.replace('\r', ""))
}

/// Our server with only the model, at a priority above other processes.
fn serve(model: &Path, bytes: u64, socket: &Path) -> Result<Command> {
    shell::attached(shell::cargo(&["build", "--quiet", "--release", "--package", "blksched-cli"]))?;
    let mut serve = Command::new("chrt");
    serve.args(["-f", "40"]).arg(shell::target().join("release/blksched")).arg("serve").arg("--model").arg(model);
    serve.args(["--elevator", "noop", "--depth", "31", "--export"]).arg(format!("a=mem:{bytes}"));
    serve.arg("--vhost-user").arg(format!("a={}", socket.display()));
    Ok(serve)
}

fn read(console: &str, setting: &RealitySetting) -> Result<(String, Found)> {
    let version = console.lines().find_map(|line| line.strip_prefix("GUEST ")).context("the guest says no version")?;
    let numbers: Vec<&str> = version.trim().split(['.', '-']).take(2).collect();
    let mut found = Found::default();
    for part in console.split("\nBEGIN ").skip(1) {
        let (head, rest) = part.split_once('\n').unwrap_or((part, ""));
        let output = rest.split("\nEND").next().unwrap_or_default();
        let &[job, scheduler, repeat] = head.split(' ').collect::<Vec<_>>().as_slice() else {
            bail!("the guest says `{head}`");
        };
        let place = Row {
            setting: setting.name.clone(),
            job: job.to_owned(),
            scheduler: scheduler.to_owned(),
            repeat: repeat.parse()?,
            ..Row::default()
        };
        match fio::parsed(output) {
            Ok(value) => found.rows.extend(fio::rows(&value, &place)),
            Err(error) => found.refused.push(format!("{head}: {error:#}")),
        }
    }
    Ok((numbers.join("."), found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_whose_disk_is_not_the_models_gives_no_rows() {
        let folder = shell::root().join(super::super::GUEST);
        let set = super::super::load(&folder).unwrap();
        let setting = set.settings[0].clone();
        let row = |job: &str, bandwidth| Row { job: job.to_owned(), bandwidth, ..Row::default() };
        let of = |alone: f64, full: f64| {
            let rows = vec![row("self-check-1", alone), row("self-check-4", full), row("01-one-reader", 1.0)];
            checked(&set, &setting, Found { rows, refused: Vec::new() }).unwrap()
        };
        // 20 ms a block, one at a time.
        let bare = 4096.0 * 50.0;
        let good = of(0.95 * bare, 0.99 * bare);
        assert_eq!((good.rows.len(), good.refused.len()), (1, 0), "{:?}", good.refused);
        let slow = of(0.85 * bare, 0.99 * bare);
        assert!(slow.rows.is_empty() && slow.refused[0].contains("too slow a machine"), "{:?}", slow.refused);
        let missing = checked(&set, &setting, Found { rows: vec![row("self-check-1", bare)], refused: Vec::new() });
        assert!(missing.unwrap().rows.is_empty());
    }

    #[test]
    fn what_stands_on_the_console_becomes_rows_and_what_failed_is_named() {
        let setting = RealitySetting {
            name: "slow".to_owned(),
            disk: (String::new(), String::new()),
            tags: 4,
            model: String::new(),
            without: Vec::new(),
            odds: Default::default(),
        };
        let console = "boot\nGUEST 6.1.0-56-cloud-amd64\nBEGIN one none 2\nnote\n{\n\"jobs\": [{\"jobname\": \"r\", \
                       \"read\": {\"total_ios\": 3}}]\n}\nEND\nBEGIN two bfq 0\nfio: no\nEND\nDONE\n";
        let (version, found) = read(console, &setting).unwrap();
        assert_eq!((version.as_str(), found.rows.len(), found.refused.len()), ("6.1", 1, 1));
        assert_eq!((found.rows[0].repeat, found.rows[0].ios, found.rows[0].scheduler.as_str()), (2, 3, "none"));
        assert!(found.refused[0].starts_with("two bfq 0: fio: fio: no"), "{:?}", found.refused);
    }
}
