//! Arrows between crates: `blksched` ← text ← {conformance, traces, disks, workloads, measure, report} ←
//! {simulate, serve} ← {fit, lab} ← cli ← python. Crates on one level do not know each other. Dev-dependencies do not
//! count as arrows, as users of a crate do not get them: the library's own tests use conformance's laws.

use super::Finding;
use super::tree::{TextFile, Tree};

/// Levels from the bottom up; a crate may use those of lower levels.
const LEVELS: &[&[&str]] = &[
    &["blksched", "nbd", "testkit"],
    &["text"],
    &["conformance", "traces", "disks", "workloads", "measure", "report"],
    &["simulate", "serve"],
    &["fit", "lab"],
    &["cli"],
    &["python"],
];

/// Dependencies within one level that the design allows: (crate, used crate). The replayers read files through
/// `traces`.
const NEIGHBOURS: &[(&str, &str)] = &[("conformance", "traces")];

/// Crates that a crate may not use although they are on a lower level, or others': what answers questions neither
/// reads words nor serves.
const REFUSED: &[(&str, &str)] = &[("lab", "clap"), ("lab", "blksched-serve"), ("lab", "blksched-nbd")];

/// Every dependency that the design does not allow.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.manifests.iter().flat_map(in_manifest).collect()
}

fn in_manifest(manifest: &TextFile) -> Vec<Finding> {
    let Some(name) = manifest.path.strip_prefix("crates/").and_then(|path| path.strip_suffix("/Cargo.toml")) else {
        return Vec::new();
    };
    let Some(level) = level(name) else {
        let message = format!("crate {name} has no level yet: give it one in xtask/tidy/src/arrows.rs");
        return vec![manifest.finding(1, "arrows", message)];
    };
    let table: toml::Table = match manifest.text.parse() {
        Ok(table) => table,
        Err(error) => return vec![manifest.finding(1, "arrows", error.to_string())],
    };
    let refused = dependencies(&table).into_iter().filter(|used| !may_use(name, level, used));
    refused.map(|used| refuse(manifest, name, &used)).collect()
}

fn may_use(name: &str, own: usize, used: &str) -> bool {
    if REFUSED.contains(&(name, used)) {
        return false;
    }
    let Some(used) = ours(used) else { return true };
    NEIGHBOURS.contains(&(name, used)) || level(used).is_some_and(|theirs| theirs < own)
}

fn refuse(manifest: &TextFile, name: &str, used: &str) -> Finding {
    let line = manifest.text.lines().position(|line| line.trim_start().starts_with(used)).map_or(1, |at| at + 1);
    let message = format!("{name} may not use {used}: crates use those of lower levels, {}", drawn());
    manifest.finding(line, "arrows", message)
}

/// Everything that the crate is built with, under the name written there.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let mut tables = vec![manifest];
    if let Some(targets) = manifest.get("target").and_then(toml::Value::as_table) {
        tables.extend(targets.values().filter_map(toml::Value::as_table));
    }
    let kinds = ["dependencies", "build-dependencies"];
    let named = tables.iter().flat_map(|table| kinds.iter().filter_map(|kind| table.get(*kind)?.as_table()));
    named.flat_map(|table| table.iter().map(|(name, value)| package(name, value))).collect()
}

/// A dependency's package, which `package = "…"` can rename.
fn package(name: &str, value: &toml::Value) -> String {
    value.get("package").and_then(toml::Value::as_str).unwrap_or(name).to_owned()
}

/// The directory of our own crate, if the package is ours.
fn ours(package: &str) -> Option<&str> {
    if package == "blksched" { Some("blksched") } else { package.strip_prefix("blksched-") }
}

fn level(name: &str) -> Option<usize> {
    LEVELS.iter().position(|names| names.contains(&name))
}

fn drawn() -> String {
    LEVELS.iter().map(|names| format!("{{{}}}", names.join(", "))).collect::<Vec<_>>().join(" ← ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, manifest: &str) -> Vec<(usize, String)> {
        let tree = Tree::planted(&[(&format!("crates/{name}/Cargo.toml"), manifest)]);
        check(&tree).into_iter().map(|finding| (finding.line, finding.message)).collect()
    }

    #[test]
    fn an_arrow_upwards_is_found() {
        let found = found("disks", "[package]\nname = \"x\"\n\n[dependencies]\nblksched-simulate.workspace = true\n");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 5);
        assert!(found[0].1.starts_with("disks may not use blksched-simulate"), "{}", found[0].1);
    }

    #[test]
    fn an_arrow_to_a_neighbour_is_found() {
        for manifest in [
            "[dependencies]\nblksched-disks = { path = \"../disks\" }\n",
            "[build-dependencies]\nblksched-disks.workspace = true\n",
            "[target.'cfg(unix)'.dependencies]\nblksched-disks.workspace = true\n",
            "[dependencies]\nplatters = { package = \"blksched-disks\", path = \"../disks\" }\n",
        ] {
            assert_eq!(found("measure", manifest).len(), 1, "{manifest}");
        }
    }

    #[test]
    fn arrows_downwards_and_test_arrows_are_fine() {
        let manifest = "[dependencies]\nclap = \"4\"\nblksched-simulate.workspace = true\nblksched.workspace = true\n";
        assert_eq!(found("cli", manifest), []);
        assert_eq!(found("blksched", "[dev-dependencies]\nblksched-conformance.workspace = true\n"), []);
        assert_eq!(found("conformance", "[dependencies]\nblksched-traces.workspace = true\n"), []);
    }

    #[test]
    fn what_answers_reads_no_words_and_serves_nobody() {
        for used in ["clap = \"4\"", "blksched-serve.workspace = true"] {
            assert_eq!(found("lab", &format!("[dependencies]\n{used}\n")).len(), 1, "{used}");
        }
        assert_eq!(found("lab", "[dependencies]\nblksched-simulate.workspace = true\n"), []);
        assert_eq!(found("simulate", "[dependencies]\nblksched-lab.workspace = true\n").len(), 1);
    }

    #[test]
    fn a_crate_without_a_level_is_found() {
        assert!(found("perl", "[dependencies]\n")[0].1.contains("no level"));
    }
}
