//! The packages for crates.io: every crate is packaged as by `cargo publish` and unpacked, and three crates outside the
//! workspace are built against the unpacked files, so that a file missing from a package is found here: one that uses
//! the command line; an embedder, which is the library's own example and has the library without any feature; and a
//! library without `std`, for a processor that has none.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::libtest::Skip;
use super::report::Outcome;
use crate::shell;

/// The program of the outside crate: it calls one function each of the library and the command line.
const PROGRAM: &str = r#"//! Built against the packaged files.
fn main() {
    assert!(blksched::Catalogue::builtin().build("mq-deadline").is_ok());
    let _ = blksched_cli::main_with;
}
"#;

/// A library for a machine without an operating system: it has an allocator, and drives a queue.
const BARE_PROGRAM: &str = r#"//! Built against the packaged library, without `std`.
#![no_std]

extern crate alloc;

use alloc::vec::Vec;

use blksched::{Bio, Catalogue, Instant, Limits, Next, Outcome, Sector, SubmitterId};

/// What is delivered when an elevator is given one read.
pub fn delivered(elevator: &str) -> Vec<blksched::Delivery> {
    let Ok(built) = Catalogue::builtin().build(elevator) else { return Vec::new() };
    let mut queue = built.queue(Limits::default(), 1);
    queue.submit_burst(Instant::ZERO, &[Bio::read(1, SubmitterId(7), Sector(4096), 8)]);
    while let Next::Issue(command) = queue.next(Instant::ZERO) {
        queue.complete(Instant::ZERO, command, Outcome::Ok);
    }
    queue.deliveries().collect()
}
"#;

/// Targets without `std`; the first installed one is used.
const BARE: [&str; 2] = ["thumbv7em-none-eabi", "x86_64-unknown-none"];

/// Packages all crates, and builds against the packages.
pub fn packaged() -> Result<Outcome> {
    // `publish` checks what the registry would; `package` leaves the files. Neither builds: the outside crate does.
    for verb in [&["publish", "--dry-run"][..], &["package"]] {
        let mut cargo = shell::cargo(verb);
        cargo
            .args(["--workspace", "--exclude", "xtask", "--exclude", "blksched-python", "--no-verify", "--allow-dirty"])
            .env("CARGO_TARGET_DIR", shell::target());
        let finished = shell::capture(cargo)?;
        if !finished.good {
            return Ok(failed_or_offline(finished.output));
        }
    }
    let outside = shell::target().join("outside");
    let packages = unpacked(&outside)?;
    write_outside(&outside, &packages)?;
    let embedder = outside.join("embedder");
    write_embedder(&embedder, library(&packages)?)?;
    let bare = outside.join("bare");
    write_bare(&bare, library(&packages)?)?;
    let target = bare_target()?;
    for (folder, target) in [(&outside, None), (&embedder, None), (&bare, target)] {
        let mut check = shell::cargo(&["check", "--quiet", "--manifest-path"]);
        // The workspace's target directory, so that shared dependencies are compiled once.
        check.arg(folder.join("Cargo.toml")).env("CARGO_TARGET_DIR", shell::target());
        if let Some(target) = target {
            check.args(["--target", target]);
        }
        let checked = shell::capture(check)?;
        if !checked.good {
            return Ok(Outcome::Failed(checked.output));
        }
    }
    let bare = target.map_or_else(
        || format!("without std only for this machine (`rustup target add {}`)", BARE[0]),
        |target| format!("without std for {target}"),
    );
    Ok(Outcome::Passed(format!("{} packages; three crates outside build against them, {bare}", packages.len())))
}

/// Without the registry's index nothing can be packaged, which is not a failure of the tests.
fn failed_or_offline(output: String) -> Outcome {
    let offline = ["Could not resolve host", "failed to query", "Connection refused", "network failure"];
    if offline.iter().any(|word| output.contains(word)) {
        let reason = "the registry's index cannot be reached".to_owned();
        return Outcome::Skipped(Skip { what: "packages".to_owned(), reason, packages: vec![] });
    }
    Outcome::Failed(output)
}

/// Each package, `name-version`, unpacked below that folder.
fn unpacked(outside: &Path) -> Result<Vec<String>> {
    if outside.exists() {
        fs::remove_dir_all(outside).context("removing what was unpacked before")?;
    }
    fs::create_dir_all(outside.join("src"))?;
    let folder = shell::target().join("package");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "crate") {
            continue;
        }
        // All files of a package have dates of 2006: by their age cargo would reuse what it built of them before.
        let mut tar = shell::command("tar", &["--extract", "--touch", "--gzip", "--file"]);
        tar.arg(&path).arg("--directory").arg(outside);
        let finished = shell::capture(tar)?;
        if !finished.good {
            bail!("{}", finished.output);
        }
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// The outside crate, which uses every package of ours from where it was unpacked.
fn write_outside(outside: &Path, packages: &[String]) -> Result<()> {
    let mut manifest = String::from(
        "[package]\nname = \"outside\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n[workspace]\n\n\
         [dependencies]\nblksched = \"*\"\nblksched-cli = \"*\"\n\n[patch.crates-io]\n",
    );
    for package in packages {
        let Some((name, _version)) = package.rsplit_once('-') else { bail!("`{package}` has no version") };
        writeln!(manifest, "{name} = {{ path = \"{package}\" }}")?;
    }
    fs::write(outside.join("Cargo.toml"), manifest)?;
    fs::write(outside.join("src/main.rs"), PROGRAM)?;
    // The same versions of everything else as in the workspace.
    fs::copy(shell::root().join("Cargo.lock"), outside.join("Cargo.lock"))?;
    Ok(())
}

/// The library among the packages.
fn library(packages: &[String]) -> Result<&str> {
    let is_library = |package: &&String| package.rsplit_once('-').is_some_and(|(name, _)| name == "blksched");
    packages.iter().find(is_library).map(String::as_str).context("the library is not among the packages")
}

/// The embedder: `examples/embed.rs` as it was packaged, with only the library, without its features.
fn write_embedder(embedder: &Path, library: &str) -> Result<()> {
    write_manifest(embedder, "embedder", library)?;
    let example = embedder.join("..").join(library).join("examples/embed.rs");
    fs::copy(&example, embedder.join("src/main.rs")).with_context(|| format!("copying {}", example.display()))?;
    Ok(())
}

fn write_bare(bare: &Path, library: &str) -> Result<()> {
    write_manifest(bare, "bare", library)?;
    fs::write(bare.join("src/lib.rs"), BARE_PROGRAM)?;
    Ok(())
}

/// A package with the library as its only dependency.
fn write_manifest(folder: &Path, name: &str, library: &str) -> Result<()> {
    fs::create_dir_all(folder.join("src"))?;
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n[workspace]\n\n\
         [dependencies]\nblksched = {{ path = \"../{library}\" }}\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    Ok(())
}

/// The first target without `std` that is installed here.
fn bare_target() -> Result<Option<&'static str>> {
    let sysroot = shell::capture(shell::command("rustc", &["--print", "sysroot"]))?;
    let libraries = Path::new(sysroot.output.trim()).join("lib/rustlib");
    Ok(BARE.into_iter().find(|target| libraries.join(target).is_dir()))
}
