//! The packages for crates.io. The usual run [lists](listed) what would be in them, and looks for what their sources
//! include. The slow one builds: every crate is packaged as by `cargo publish` and unpacked, and three crates outside
//! the workspace are built against the unpacked files, so that a file missing from a package is found here: one that
//! uses the command line; an embedder, which is the library's own example and has the library without any feature; and
//! a library without `std`, for a processor that has none.

mod included;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::libtest::Skip;
use super::report::Outcome;
use crate::{gate, shell};

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

/// Lists the files of every package: all sources are there, what they include is, and so are licences and a README.
pub fn listed() -> Result<Outcome> {
    let (mut wrong, mut packages, mut files) = (String::new(), 0, 0);
    for (name, folder) in published()? {
        let listed = shell::capture(shell::cargo(&["package", "--list", "--allow-dirty", "--package", &name]))?;
        if !listed.good {
            return Ok(failed_or_offline(listed.output));
        }
        let listed: BTreeSet<&str> = listed.output.lines().collect();
        for missing in missing(&folder, &listed)? {
            writeln!(wrong, "{name}: {missing} is not in the package")?;
        }
        (packages, files) = (packages + 1, files + listed.len());
    }
    if packages == 0 {
        bail!("no crate is to be published");
    }
    Ok(match wrong.is_empty() {
        true => Outcome::Passed(format!("{packages} packages of {files} files have all that they include")),
        false => Outcome::Failed(wrong),
    })
}

/// Names and folders of the crates that are to be published.
fn published() -> Result<Vec<(String, PathBuf)>> {
    let finished = shell::cargo(&["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let metadata: Value = serde_json::from_slice(&finished.stdout).context("reading cargo metadata")?;
    let public = gate::list(&metadata, "packages").filter(|package| package["publish"].is_null());
    let place = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        Some((package["name"].as_str()?.to_owned(), manifest.parent()?.to_path_buf()))
    };
    Ok(public.filter_map(place).collect())
}

/// What a package needs and does not list.
fn missing(folder: &Path, listed: &BTreeSet<&str>) -> Result<BTreeSet<String>> {
    let mut needed: BTreeSet<String> =
        ["Cargo.toml", "README.md", "LICENSE-APACHE", "LICENSE-MIT"].map(str::to_owned).into();
    let mut folders = vec![folder.join("src")];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).with_context(|| format!("listing {}", next.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            needed.insert(inside(folder, &path));
            if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path)?;
                let included = included::of(&text).with_context(|| format!("in {}", path.display()))?;
                needed.extend(included.iter().map(|name| inside(folder, &next.join(name))));
            }
        }
    }
    let is_there = |file: &str| match file.strip_suffix('/') {
        Some(_) => listed.iter().any(|listed| listed.starts_with(file)),
        None => listed.contains(file),
    };
    Ok(needed.into_iter().filter(|file| !is_there(file)).collect())
}

/// A path as packages list it, with `..` taken out.
fn inside(folder: &Path, path: &Path) -> String {
    let mut parts = Vec::new();
    for part in path.strip_prefix(folder).unwrap_or(path).components() {
        match part {
            Component::ParentDir if parts.last().is_some_and(|last| last != "..") => drop(parts.pop()),
            part => parts.push(part.as_os_str().to_string_lossy().into_owned()),
        }
    }
    // A folder keeps its mark.
    let mark = if path.to_string_lossy().ends_with('/') { "/" } else { "" };
    parts.join("/") + mark
}

/// Packages all crates, and builds against the packages.
pub fn built() -> Result<Outcome> {
    // `publish` checks what the registry would; `package` leaves the files. Neither builds: the outside crate does.
    for verb in [&["publish", "--dry-run"][..], &["package"]] {
        let mut cargo = shell::cargo(verb);
        cargo
            .args([
                "--workspace",
                "--exclude",
                "xtask",
                "--exclude",
                "workbench",
                "--exclude",
                "blksched-python",
                "--no-verify",
                "--allow-dirty",
            ])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_included_and_not_packaged_is_found() {
        let folder = shell::target().join(format!("xtask/package-{}", std::process::id()));
        fs::create_dir_all(folder.join("src/a")).unwrap();
        let lib = "const A: &str = include_str!(\"../presets/a.toml\");\n\
                   const C: &str = include_str!(concat!(\"../c/\", D!()));\n";
        fs::write(folder.join("src/lib.rs"), lib).unwrap();
        fs::write(folder.join("src/a/b.rs"), "const B: &[u8] = include_bytes!(\"b.bin\");\n").unwrap();
        let head = ["Cargo.toml", "README.md", "LICENSE-APACHE", "LICENSE-MIT"];
        let all: BTreeSet<&str> =
            head.into_iter().chain(["src/lib.rs", "src/a/b.rs", "src/a/b.bin", "presets/a.toml", "c/d.txt"]).collect();
        let lacks = |file: &str| {
            let listed = all.iter().copied().filter(|&one| one != file).collect();
            missing(&folder, &listed).unwrap().into_iter().collect::<Vec<_>>()
        };
        assert_eq!(lacks(""), Vec::<String>::new());
        for file in &all {
            assert_eq!(lacks(file), [file.replace("d.txt", "")]);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
