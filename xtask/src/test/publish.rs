//! What crates.io would get: every crate is packaged as `cargo publish` does it, unpacked, and a crate outside the
//! workspace is built against the unpacked files, so that a file left out of a package is found here.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::libtest::Skip;
use super::report::Outcome;
use crate::shell;

/// The program that the crate outside is: it asks the library and the command line for something each.
const PROGRAM: &str = r#"//! Built against the packaged files.
fn main() {
    assert!(blksched::Catalogue::builtin().build("mq-deadline").is_ok());
    let _ = blksched_cli::main_with;
}
"#;

/// Packages all, and builds against the packages.
pub fn packaged() -> Result<Outcome> {
    // `publish` checks what the registry would; `package` leaves the files. Neither builds: the crate outside does.
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
    let manifest = outside.join("Cargo.toml");
    let mut check = shell::cargo(&["check", "--quiet", "--manifest-path"]);
    // The workspace's target folder, so that what both use is compiled once.
    check.arg(&manifest).env("CARGO_TARGET_DIR", shell::target());
    let checked = shell::capture(check)?;
    Ok(if checked.good {
        Outcome::Passed(format!("{} packages; a crate outside builds against them", packages.len()))
    } else {
        Outcome::Failed(checked.output)
    })
}

/// Without the registry's index nothing can be packaged; that is no fault of ours.
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
        let mut tar = shell::command("tar", &["--extract", "--gzip", "--file"]);
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

/// The crate outside: it takes every package of ours from where it was unpacked.
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
    // The same versions of everything else as the workspace's.
    fs::copy(shell::root().join("Cargo.lock"), outside.join("Cargo.lock"))?;
    Ok(())
}
