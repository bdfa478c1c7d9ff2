//! `dist`: the files for download. One program that runs on any Linux of its architecture (linked to musl, statically),
//! with man pages, completions, licences and the unit for systemd, as an archive and as a Debian package.
//!
//! Everything is staged in `target/dist/NAME` first, and both are made from there: the archive by tar, the package by
//! `cargo deb`, whose list of files stands in `crates/cli/Cargo.toml`. Times and owners in the archive are fixed, so
//! that the same commit gives the same bytes.
//!
//! With a profile (`--pgo`) the program is built twice: the first build counts what it does in [`TRAINING`], and the
//! second is laid out by these counts. Counts differ a little from run to run, and so does the program then.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::test::packages;
use crate::{Verdict, shell};

/// The target for which Rust's standard library is linked statically.
const TRIPLE: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-musl" } else { "x86_64-unknown-linux-musl" };
/// Compiles the libraries written in C, with matching headers: from Debian's musl-tools.
const C_COMPILER: &str = "musl-gcc";
/// The profile in the workspace's manifest.
const PROFILE: &str = "dist";
/// Shells, and the file name under which each looks for a program's completions.
const COMPLETIONS: &[(&str, &str)] =
    &[("bash", "blksched.bash"), ("zsh", "_blksched"), ("fish", "blksched.fish"), ("elvish", "blksched.elv")];
/// Files beside the program, relative to the repository's root.
const BESIDE: &[&str] = &[
    "README.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "docs/systemd/blksched.service",
    "docs/grafana.json",
];

/// The training runs of the instrumented program: the most common commands, on a spinning disk and on flash, with each
/// scheduler once.
const TRAINING: &[&[&str]] = &[
    &["list"],
    &["compare", "--seeds", "2"],
    &["compare", "mixed-nvme", "--disk", "nvme-ssd", "--seeds", "1"],
    &["compare", "pg-oltp", "--disk", "sata-ssd", "--seeds", "1"],
    &["compare", "backup", "--disk", "raid5:4xhdd-7200", "--seeds", "1"],
    &["explain", "fairness", "--elevator", "cfq"],
    &["experiment", "horror"],
    &["trace", "info", "testdata/traces/mq-deadline.blktrace.0", "testdata/traces/mq-deadline.blktrace.1"],
];

/// What guides the compiler's optimisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guide {
    /// Its own estimates.
    Estimates,
    /// The counts from [`TRAINING`].
    Profile,
}

/// What to do about missing parts of the toolchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Report how to get them, and stop.
    Say,
    /// Get them.
    Install,
}

/// The results.
pub struct Made {
    /// The directory from which both were made.
    pub staged: PathBuf,
    /// The archive.
    pub archive: PathBuf,
    /// The Debian package, where `cargo deb` is installed.
    pub package: Option<PathBuf>,
}

/// Builds both, and prints where they are.
///
/// # Errors
/// If the toolchain lacks a part, or a step fails.
pub fn run(missing: Missing, guide: Guide) -> Result<Verdict> {
    let made = make(missing, guide)?;
    println!("{} (packed: {})", made.staged.display(), made.archive.display());
    match made.package {
        Some(package) => println!("{}", package.display()),
        None => println!("no Debian package: cargo-deb is not installed (`cargo install cargo-deb`, or --install)"),
    }
    Ok(Verdict::Good)
}

/// Builds both.
///
/// # Errors
/// As [`run`].
pub fn make(missing: Missing, guide: Guide) -> Result<Made> {
    prepared(missing)?;
    let program = match guide {
        Guide::Estimates => built("")?,
        Guide::Profile => built(&format!("-Cprofile-use={}", profile(missing)?.display()))?,
    };
    is_static(&program)?;
    let name = format!("blksched-{}-{TRIPLE}", env!("CARGO_PKG_VERSION"));
    let staged = stage(&program, &name)?;
    let archive = archived(&staged, &name)?;
    let package = packaged(&staged)?;
    Ok(Made { staged, archive, package })
}

/// The program, compiled with these rustc flags.
fn built(rustflags: &str) -> Result<PathBuf> {
    let mut build = shell::cargo(&["build", "--profile", PROFILE, "--target", TRIPLE, "--package", "blksched-cli"]);
    build.env(format!("CC_{}", TRIPLE.replace('-', "_")), C_COMPILER);
    if !rustflags.is_empty() {
        build.env("RUSTFLAGS", rustflags);
    }
    shell::attached(build)?;
    Ok(shell::target().join(TRIPLE).join(PROFILE).join("blksched"))
}

/// The profile of an instrumented program in [`TRAINING`].
fn profile(missing: Missing) -> Result<PathBuf> {
    let merger = merger(missing)?;
    let folder = shell::target().join("dist/profile");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let program = built(&format!("-Cprofile-generate={}", folder.display()))?;
    for words in TRAINING {
        println!("counting what `blksched {}` does", words.join(" "));
        let mut counted = shell::command(&program, words);
        // Threads would contend for the counters.
        counted.env("RAYON_NUM_THREADS", "1");
        succeeded(shell::capture(counted)?, &words.join(" "))?;
    }
    let profile = folder.join("merged.profdata");
    let mut merge = shell::command(merger, &["merge", "--output"]);
    merge.arg(&profile).arg(&folder);
    succeeded(shell::capture(merge)?, "merging the counts")?;
    Ok(profile)
}

/// `llvm-profdata` from rustup's component `llvm-tools`, which matches the compiler.
fn merger(missing: Missing) -> Result<PathBuf> {
    let folder = shell::capture(shell::command("rustc", &["--print", "target-libdir"]))?.output;
    let program = Path::new(folder.trim()).with_file_name("bin").join("llvm-profdata");
    if !program.is_file() {
        if missing == Missing::Say {
            bail!("no llvm-profdata here, which --pgo needs: `rustup component add llvm-tools`, or --install");
        }
        shell::attached(shell::command("rustup", &["component", "add", "llvm-tools"]))?;
    }
    Ok(program)
}

/// Rust's standard library for the target, a C compiler for it, and `cargo deb`, the only part that may be missing.
fn prepared(missing: Missing) -> Result<()> {
    let sysroot = shell::capture(shell::command("rustc", &["--print", "sysroot"]))?;
    let library = Path::new(sysroot.output.trim()).join("lib/rustlib").join(TRIPLE);
    if !library.is_dir() {
        if missing == Missing::Say {
            bail!("Rust's library for {TRIPLE} is not installed: `rustup target add {TRIPLE}`, or --install");
        }
        shell::attached(shell::command("rustup", &["target", "add", TRIPLE]))?;
    }
    if shell::find_program(C_COMPILER).is_none() {
        if missing == Missing::Say {
            bail!("no {C_COMPILER} here, which the libraries in C need: `apt-get install musl-tools`, or --install");
        }
        packages::get(&["musl-tools"])?;
    }
    if missing == Missing::Install && !has_cargo_deb() {
        shell::attached(shell::cargo(&["install", "cargo-deb", "--locked"]))?;
    }
    Ok(())
}

fn has_cargo_deb() -> bool {
    shell::capture(shell::cargo(&["deb", "--version"])).is_ok_and(|finished| finished.good)
}

/// A program without a dynamic loader has no `PT_INTERP` segment.
fn is_static(program: &Path) -> Result<()> {
    let bytes = fs::read(program).with_context(|| format!("reading {}", program.display()))?;
    match interpreter(&bytes) {
        Some(false) => Ok(()),
        Some(true) => bail!("{} is linked dynamically", program.display()),
        None => bail!("{} is no 64-bit ELF file", program.display()),
    }
}

/// Whether a 64-bit little-endian ELF file names an interpreter (ELF-64 object file format, program header table).
fn interpreter(elf: &[u8]) -> Option<bool> {
    const PT_INTERP: u32 = 3;
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let half = |at: usize| Some(u16::from_le_bytes(elf.get(at..at + 2)?.try_into().ok()?));
    let table = u64::from_le_bytes(elf.get(32..40)?.try_into().ok()?);
    let (size, count) = (half(54)?, half(56)?);
    for index in 0..u64::from(count) {
        let at = usize::try_from(table + index * u64::from(size)).ok()?;
        if u32::from_le_bytes(elf.get(at..at + 4)?.try_into().ok()?) == PT_INTERP {
            return Some(true);
        }
    }
    Some(false)
}

/// The program and everything beside it, in a directory with that name.
fn stage(program: &Path, name: &str) -> Result<PathBuf> {
    let folder = shell::target().join("dist").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let completions = folder.join("completions");
    fs::create_dir_all(&completions).with_context(|| format!("making {}", completions.display()))?;
    let own = folder.join("blksched");
    fs::copy(program, &own).with_context(|| format!("copying {}", program.display()))?;
    for file in BESIDE {
        let source = shell::root().join(file);
        let place = folder.join(Path::new(file).file_name().context("a file's name")?);
        fs::copy(&source, place).with_context(|| format!("copying {}", source.display()))?;
    }
    let mut pages = shell::command(&own, &["man"]);
    pages.arg(folder.join("man"));
    succeeded(shell::capture(pages)?, "writing the man pages")?;
    for (shell_name, file) in COMPLETIONS {
        let script = succeeded(shell::capture(shell::command(&own, &["completions", shell_name]))?, shell_name)?;
        fs::write(completions.join(file), script)?;
    }
    Ok(folder)
}

fn archived(staged: &Path, name: &str) -> Result<PathBuf> {
    let archive = staged.with_file_name(format!("{name}.tar.gz"));
    let last = succeeded(shell::capture(shell::command("git", &["log", "-1", "--format=%ct"]))?, "the commit's time")?;
    let mut tar = shell::command("tar", &["--create", "--gzip", "--sort=name", "--owner=0", "--group=0"]);
    tar.args(["--numeric-owner", &format!("--mtime=@{}", last.trim()), "--file"]);
    tar.arg(&archive).arg("--directory").arg(staged.parent().context("the folder above")?).arg(name);
    succeeded(shell::capture(tar)?, "packing")?;
    Ok(archive)
}

/// `cargo deb` takes its files from a directory whose name does not depend on the version.
fn packaged(staged: &Path) -> Result<Option<PathBuf>> {
    if !has_cargo_deb() {
        return Ok(None);
    }
    // At the manifest's path, wherever cargo builds.
    let current = shell::root().join("target/dist/current");
    fs::create_dir_all(current.parent().context("the folder above")?)?;
    if current.symlink_metadata().is_ok() {
        fs::remove_file(&current)?;
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(staged, &current)?;
    let output = staged.with_file_name("deb");
    if output.exists() {
        fs::remove_dir_all(&output)?;
    }
    let arguments = ["deb", "--no-build", "--no-strip", "--target", TRIPLE, "--profile", PROFILE];
    let mut deb = shell::cargo(&arguments);
    deb.args(["--package", "blksched-cli", "--output"]).arg(&output);
    succeeded(shell::capture(deb)?, "cargo deb")?;
    let mut files = fs::read_dir(&output)?.filter_map(|entry| Some(entry.ok()?.path()));
    let package = files.find(|path| path.extension().is_some_and(|extension| extension == "deb"));
    package.context("cargo deb left no package").map(Some)
}

fn succeeded(finished: shell::Finished, what: &str) -> Result<String> {
    if finished.good { Ok(finished.output) } else { bail!("{what}: {}", finished.output) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF header with one program header of that type.
    fn elf(kind: u32) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[32] = 64;
        file[54] = 56;
        file[56] = 1;
        file[64..68].copy_from_slice(&kind.to_le_bytes());
        file
    }

    #[test]
    fn a_dynamic_program_is_told_from_a_static_one() {
        assert_eq!(interpreter(&elf(3)), Some(true));
        assert_eq!(interpreter(&elf(1)), Some(false));
        assert_eq!(interpreter(b"#!/bin/sh\n"), None);
        assert_eq!(interpreter(&elf(3)[..64]), None, "cut off");
    }

    #[test]
    #[ignore = "slow: builds the program with whole-program optimisation, twice its usual time"]
    fn what_is_handed_out_runs_by_itself() {
        let made = make(Missing::Say, Guide::Estimates).expect("an archive");
        let outside = std::env::temp_dir().join(format!("blksched-dist-{}", std::process::id()));
        fs::create_dir_all(&outside).unwrap();
        let mut tar = shell::command("tar", &["--extract", "--gzip", "--file"]);
        tar.arg(&made.archive).arg("--directory").arg(&outside);
        succeeded(shell::capture(tar).unwrap(), "unpacking").unwrap();
        let folder = outside.join(made.staged.file_name().unwrap());
        let mut list = std::process::Command::new(folder.join("blksched"));
        list.args(["list", "hdd-7200"]).env_clear();
        assert!(shell::capture(list).unwrap().output.contains("hdd-7200"));
        for page in ["man/blksched.1", "man/blksched-compare.1", "completions/_blksched", "LICENSE-MIT"] {
            assert!(fs::metadata(folder.join(page)).unwrap().len() > 0, "{page}");
        }
        if let Some(package) = made.package {
            let mut contents = shell::command("dpkg-deb", &["--contents"]);
            contents.arg(package);
            let contents = shell::capture(contents).unwrap().output;
            for file in ["./usr/bin/blksched", "man1/blksched-serve.1", "system/blksched.service"] {
                assert!(contents.contains(file), "{file} is not in\n{contents}");
            }
        }
        fs::remove_dir_all(&outside).unwrap();
    }
}
