//! The same in a guest of an older kernel: Debian's kernel for clouds under emulation, with fio in its memory, on a
//! virtio disk that is a model's file ([`TimedDisk`]). `docs/two-guests.sh --fetch` gets the kernel.
//!
//! An emulated processor takes a millisecond where a real one takes some microseconds, so the set has a slow disk and
//! few tags, the disk's own check is repeated in the guest, and rows are taken one guest after another.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};
use blksched_simulate::reality::{Row, Set, Setting};

use super::work::Found;
use super::{Job, fio};
use crate::shell;
use crate::timed_disk::TimedDisk;

const INIT: &str = include_str!("guest/init.sh");
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
const PROGRAMS: [&str; 3] = ["qemu-system-x86_64", "busybox", "fio"];

/// What this machine lacks.
pub fn missing() -> Option<String> {
    let program = PROGRAMS.into_iter().find(|name| shell::find_program(name).is_none());
    program.map(|name| format!("no {name} (Debian packages qemu-system-x86, busybox-static, fio)"))
}

/// All runs of one disk in one guest, and the guest's kernel.
///
/// # Errors
/// If the guest cannot be made, or does not come to its end.
pub fn run(set: &Set, setting: &Setting, jobs: &[Job], repeats: u32, folder: &Path) -> Result<(String, Found)> {
    let spec = setting.spec(0.0).map_err(anyhow::Error::msg)?;
    let folder = folder.join("guest");
    let disk = TimedDisk::mount(&spec, &folder.join("disk"))?;
    let root = folder.join("root");
    pack(&root)?;
    fs::create_dir_all(root.join("jobs"))?;
    for job in jobs {
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
    fs::write(root.join("work"), lines.collect::<String>())?;
    let console = boot(&folder, &root, &disk.path(), jobs.len() as u64 * 4 * u64::from(repeats))?;
    drop(disk);
    read(&console, setting)
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

/// From power on to power off; what was on the console.
fn boot(folder: &Path, root: &Path, disk: &Path, runs: u64) -> Result<String> {
    let image = folder.join("image");
    let pack = format!("find . | busybox cpio -o -H newc > '{}' 2>/dev/null", image.display());
    let mut cpio = Command::new("sh");
    cpio.args(["-c", &pack]).current_dir(root);
    shell::attached(cpio)?;
    let boot = kernel()?.join("boot");
    let entries = fs::read_dir(&boot)?.flatten().map(|entry| entry.path());
    let is_kernel = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz"));
    let kernel = entries.into_iter().find(is_kernel).ok_or_else(|| anyhow!("no kernel in {}", boot.display()))?;
    let mut qemu = Command::new("timeout");
    qemu.arg((300 + 60 * runs).to_string()).args(["chrt", "-f", "30", "qemu-system-x86_64"]);
    qemu.args(["-accel", "tcg", "-m", "768M", "-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio"]);
    qemu.arg("-kernel").arg(kernel).arg("-initrd").arg(&image);
    qemu.args(["-append", "console=ttyS0 quiet panic=-1"]);
    let drive = format!("file={},format=raw,if=none,id=d,cache=none,aio=threads", disk.display());
    qemu.args(["-drive", &drive, "-device", "virtio-blk-pci,drive=d,num-queues=1"]);
    println!("a guest with {runs} runs, some {} minutes", 2 + runs / 4);
    let done = shell::capture(qemu)?;
    let console = shell::target().join("xtask/guest-console");
    fs::write(&console, &done.output)?;
    if !done.output.contains("\nDONE") {
        bail!("the guest did not come to its end: {}", console.display());
    }
    Ok(done.output.replace('\r', ""))
}

fn read(console: &str, setting: &Setting) -> Result<(String, Found)> {
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
    fn what_stands_on_the_console_becomes_rows_and_what_failed_is_named() {
        let setting = Setting {
            name: "slow".to_owned(),
            disk: (String::new(), String::new()),
            tags: 4,
            model: String::new(),
            without: Vec::new(),
        };
        let console = "boot\nGUEST 6.1.0-56-cloud-amd64\nBEGIN one none 2\nnote\n{\n\"jobs\": [{\"jobname\": \"r\", \
                       \"read\": {\"total_ios\": 3}}]\n}\nEND\nBEGIN two bfq 0\nfio: no\nEND\nDONE\n";
        let (version, found) = read(console, &setting).unwrap();
        assert_eq!((version.as_str(), found.rows.len(), found.refused.len()), ("6.1", 1, 1));
        assert_eq!((found.rows[0].repeat, found.rows[0].ios, found.rows[0].scheduler.as_str()), (2, 3, "none"));
        assert!(found.refused[0].starts_with("two bfq 0: fio: fio: no"), "{:?}", found.refused);
    }
}
