//! Circles: no file of a crate depends, directly or through others, on a file that depends on it. Files in a circle
//! can only be understood, tested and changed together. Crates that had circles when this rule reached them may keep
//! circles of that size, and none greater.
//!
//! Which file needs which is read from imports and written-out paths (`use super::queue::Qid`, `crate::time::Tick`),
//! each followed through re-exports to the file that defines the name. A module's `pub use` is a re-export, not a
//! dependency.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;

use super::Finding;
use super::tree::{RustFile, Tree};

/// A module's path inside its crate.
type Module = Vec<String>;

/// A file's imports and re-exports.
#[derive(Default)]
struct Imports {
    /// Names that it uses.
    uses: Vec<Vec<String>>,
    /// Names that it re-exports: the new name, and the original path.
    doors: Vec<(String, Vec<String>)>,
}

/// The most files that a circle of a crate may have; no circle at all in the others.
const ALLOWED: &[(&str, usize)] = &[
    ("cli", 2),
    ("conformance", 2),
    ("disks", 45),
    ("measure", 3),
    ("report", 2),
    ("serve", 24),
    ("simulate", 9),
    ("traces", 2),
    ("workloads", 6),
];

/// Every circle greater than its crate may have, reported at its first file.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, BTreeMap<Module, &RustFile>> = BTreeMap::new();
    for file in tree.rust.iter().filter(|file| !file.is_test()) {
        if let Some((name, module)) = module(file) {
            crates.entry(name).or_default().insert(module, file);
        }
    }
    crates.iter().flat_map(|(name, files)| of_crate(name, files)).collect()
}

fn of_crate(name: &str, files: &BTreeMap<Module, &RustFile>) -> Vec<Finding> {
    let allowed = ALLOWED.iter().find(|(known, _)| *known == name).map_or(1, |(_, most)| *most);
    let imports: BTreeMap<&Module, Imports> = files.iter().map(|(module, file)| (module, read(file))).collect();
    let arrows = arrows(files, &imports);
    let reach: BTreeMap<&Module, BTreeSet<&Module>> =
        arrows.keys().map(|&from| (from, reached(&arrows, from))).collect();
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for (&module, reachable) in &reach {
        let others = reachable.iter().copied().filter(|other| reach[other].contains(module));
        let circle: Vec<&Module> = others.collect();
        if circle.len() <= allowed || !told.insert(circle.clone()) {
            continue;
        }
        let names: Vec<String> = circle.iter().map(|member| member.join("::")).collect();
        let size = circle.len();
        let message =
            format!("a circle of {size} files: {}; move what both need into a file of its own", names.join(", "));
        findings.push(files[module].finding(1, "circles", message));
    }
    findings
}

/// The file's crate, and its module there.
fn module(file: &RustFile) -> Option<(&str, Module)> {
    let (name, below) = file.path.strip_prefix("crates/")?.split_once("/src/")?;
    let below = below.strip_suffix(".rs").unwrap_or(below);
    let parts = below.split('/').filter(|&part| part != "lib" && part != "mod");
    Some((name, parts.map(str::to_owned).collect()))
}

fn arrows<'a>(
    files: &'a BTreeMap<Module, &RustFile>,
    imports: &BTreeMap<&'a Module, Imports>,
) -> BTreeMap<&'a Module, BTreeSet<&'a Module>> {
    let to = |from: &Module, path: &Vec<String>| {
        let path = absolute(files, from, path)?;
        let (to, _) = files.get_key_value(&defined_in(files, imports, path, 8))?;
        (to != from && !to.is_empty()).then_some(to)
    };
    imports.iter().map(|(&from, said)| (from, said.uses.iter().filter_map(|path| to(from, path)).collect())).collect()
}

/// A path from the crate's root; `None` if it leads into another crate.
fn absolute(files: &BTreeMap<Module, &RustFile>, from: &Module, path: &[String]) -> Option<Vec<String>> {
    let first = path.first()?;
    let ups = path.iter().take_while(|part| *part == "super").count();
    let child = [from.as_slice(), std::slice::from_ref(first)].concat();
    match first.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([from.as_slice(), &path[1..]].concat()),
        "super" if ups <= from.len() => Some([&from[..from.len() - ups], &path[ups..]].concat()),
        _ if files.contains_key(&child) => Some([from.as_slice(), path].concat()),
        _ => None,
    }
}

/// The module that defines the name at the end of a path, through at most `doors` re-exports.
fn defined_in(
    files: &BTreeMap<Module, &RustFile>,
    imports: &BTreeMap<&Module, Imports>,
    path: Vec<String>,
    doors: usize,
) -> Module {
    let known = (0..=path.len()).rev().find(|&n| files.contains_key(&path[..n])).unwrap_or(0);
    let module = path[..known].to_vec();
    let (Some(name), Some(said)) = (path.get(known), imports.get(&module)) else { return module };
    let door = said.doors.iter().find(|(passed, _)| passed == name).filter(|_| doors > 0);
    match door.and_then(|(_, whence)| absolute(files, &module, whence)) {
        Some(behind) => defined_in(files, imports, behind, doors - 1),
        None => module,
    }
}

fn reached<'a>(arrows: &BTreeMap<&'a Module, BTreeSet<&'a Module>>, from: &'a Module) -> BTreeSet<&'a Module> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(at) = next.pop() {
        next.extend(arrows[at].iter().copied().filter(|&to| seen.insert(to)));
    }
    seen
}

fn read(file: &RustFile) -> Imports {
    let mut imports = Imports::default();
    if let Ok(items) = &file.items {
        imports.visit_file(items);
    }
    imports
}

impl Imports {
    fn add(&mut self, tree: &syn::UseTree, before: &[String], is_door: bool) {
        match tree {
            syn::UseTree::Path(path) => {
                self.add(&path.tree, &[before, &[path.ident.to_string()]].concat(), is_door);
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.add(tree, before, is_door)),
            syn::UseTree::Glob(_) => self.uses.push(before.to_vec()),
            syn::UseTree::Name(name) => self.name(&name.ident.to_string(), &name.ident.to_string(), before, is_door),
            syn::UseTree::Rename(as_) => self.name(&as_.ident.to_string(), &as_.rename.to_string(), before, is_door),
        }
    }

    fn name(&mut self, name: &str, passed_as: &str, before: &[String], is_door: bool) {
        let whole = if name == "self" { before.to_vec() } else { [before, &[name.to_owned()]].concat() };
        if is_door { self.doors.push((passed_as.to_owned(), whole)) } else { self.uses.push(whole) }
    }
}

impl Visit<'_> for Imports {
    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        let is_test = item.attrs.iter().any(|attribute| {
            attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|what| what == "test")
        });
        if !is_test {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &syn::ItemUse) {
        self.add(&item.tree, &[], !matches!(item.vis, syn::Visibility::Inherited));
    }

    fn visit_visibility(&mut self, _: &syn::Visibility) {}

    fn visit_path(&mut self, path: &syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if words.len() > 1 && matches!(words[0].as_str(), "crate" | "super") {
            self.uses.push(words);
        }
        syn::visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "crates/blksched/src/elevators/x/a.rs";
    const B: &str = "crates/blksched/src/elevators/x/b.rs";
    const X: &str = "crates/blksched/src/elevators/x.rs";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::planted(files)).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn two_files_that_need_one_another_are_a_circle_however_they_say_so() {
        let there = (A, "//! A.\nuse super::b::B;\n");
        for back in [
            "//! B.\nuse crate::elevators::x::{a::A, c::C};\n",
            "//! B.\nfn b() -> super::a::A { todo!() }\n",
            "//! B.\nuse super::a::A as Other;\n",
            "//! B.\nuse super::A;\n",
            "//! B.\nuse super::a::*;\n",
        ] {
            let found = found(&[there, (B, back), (X, "//! X.\npub use a::A;\n")]);
            assert_eq!(found.len(), 1, "{back}");
            assert!(found[0].contains("elevators::x::a, elevators::x::b"), "{found:?}");
        }
    }

    #[test]
    fn a_door_a_test_and_an_arrow_down_are_none() {
        let there = (A, "//! A.\nuse super::b::B;\n");
        for back in [
            "//! B.\n#[cfg(test)]\nmod tests {\n    use super::super::a::A;\n}\n",
            "//! B.\nuse super::c::C;\n",
            "//! B.\nuse std::fmt;\npub(super) fn b() {}\n",
        ] {
            assert_eq!(found(&[there, (B, back), (X, "//! X.\npub use a::A;\npub use b::B;\n")]), [""; 0], "{back}");
        }
    }

    #[test]
    fn a_circle_of_three_is_told_once_in_any_folder() {
        let c = ("crates/blksched/src/elevators/x/c.rs", "//! C.\nuse super::a::A;\n");
        assert_eq!(found(&[(A, "//! A.\nuse super::b::B;\n"), (B, "//! B.\nuse super::c::C;\n"), c]).len(), 1);
        let queue = [
            ("crates/blksched/src/queue/a.rs", "//! A.\nuse super::b::B;\n"),
            ("crates/blksched/src/queue/b.rs", "//! B.\nuse super::a::A;\n"),
        ];
        assert_eq!(found(&queue).len(), 1);
    }
}
