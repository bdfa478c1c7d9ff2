//! Tests that are not part of every run, found in the source: `#[ignore = "slow: why"]`. Nextest does not tell why a
//! test was left out.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::libtest::{Skip, skip};
use crate::shell;

/// The mark of such a test, as rustfmt leaves it.
const MARK: &str = "#[ignore";

/// Every Rust file of the crates, from the repository's root, with its text.
///
/// # Errors
/// If one cannot be read.
pub fn sources() -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    walk(&shell::root(), "crates", &mut found)?;
    Ok(found)
}

fn walk(root: &Path, below: &str, found: &mut Vec<(String, String)>) -> Result<()> {
    let folder = root.join(below);
    for entry in fs::read_dir(&folder).with_context(|| format!("listing {}", folder.display()))? {
        let (name, kind) = entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)))?;
        let path = format!("{below}/{}", name.to_string_lossy());
        if kind.is_dir() && name != "target" {
            walk(root, &path, found)?;
        } else if kind.is_file() && path.ends_with(".rs") {
            let text = fs::read_to_string(root.join(&path)).with_context(|| format!("reading {path}"))?;
            found.push((path, text));
        }
    }
    Ok(())
}

/// Every ignored test: its package, its function's name, and the reason.
///
/// # Errors
/// As [`sources`].
pub fn all() -> Result<Vec<Skip>> {
    let sources = sources()?;
    Ok(sources.iter().flat_map(|(path, text)| of_file(package(path), text)).collect())
}

/// `crates/disks/src/lib.rs` belongs to `blksched-disks`.
fn package(path: &str) -> String {
    match path.split('/').nth(1).unwrap_or_default() {
        "blksched" => "blksched".to_owned(),
        folder => format!("blksched-{folder}"),
    }
}

fn of_file(package: String, text: &str) -> Vec<Skip> {
    let mut lines = text.lines().map(str::trim);
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let Some(rest) = line.strip_prefix(MARK) else { continue };
        let reason = rest.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"'));
        let reason = reason.map_or("marked #[ignore] without a reason", |(reason, _)| reason);
        let function = lines.by_ref().find_map(|line| line.split_once("fn ")?.1.split('(').next());
        found.extend(function.map(|function| skip(&package, function, reason)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_tests_are_found_with_their_reason_and_package() {
        let text = "#[test]\nfn a() {}\nmod inner {\n#[test]\n    #[ignore = \"slow: with fio\"]\n    fn b() {}\n\
                    #[ignore]\n#[cfg(unix)]\n#[test]\npub fn c() {}\n}\n";
        let found = of_file(package("crates/disks/src/a.rs"), text);
        let shown: Vec<_> = found.iter().map(|skip| (skip.what.as_str(), skip.reason.as_str())).collect();
        let without = "marked #[ignore] without a reason";
        assert_eq!(shown, [("blksched-disks b", "slow: with fio"), ("blksched-disks c", without)]);
        assert_eq!(found[0].packages[0].name, "fio");
    }

    #[test]
    fn the_repositorys_own_are_found() {
        let all = all().unwrap();
        assert!(all.iter().any(|skip| skip.reason.starts_with("slow: ")), "{all:?}");
        assert!(all.iter().any(|skip| skip.reason.starts_with("root: ")), "{all:?}");
    }
}
