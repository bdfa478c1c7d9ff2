//! Names of types: few share theirs with two others, so that a word in a signature says what it means.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::Finding;
use super::tree::{RustFile, Tree};

/// The greatest share of types that may share their name with at least two others \[%\]: ripgrep's share.
const MOST_PERCENT: usize = 8;

/// Where the types of one name are defined: file and line.
type Homes<'a> = Vec<(&'a RustFile, usize)>;

/// Every type that shares its name with two others, if there are too many of those.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let names = Names::of(tree);
    if names.shared().count() * 100 <= names.all() * MOST_PERCENT {
        return Vec::new();
    }
    let finding = |(name, count, file, line): (&str, usize, &RustFile, usize)| {
        let message = format!("{count} types are called {name}, and {MOST_PERCENT} % may share a name with two others");
        file.finding(line, "names", message)
    };
    names.shared().map(finding).collect()
}

/// How many share their names, for information.
pub fn figures(tree: &Tree) -> String {
    let names = Names::of(tree);
    format!("names of types: {} of {} shared with two others", names.shared().count(), names.all())
}

/// All types of the crates by their names; without those of tests, of traits (associated ones) and of functions.
#[derive(Default)]
struct Names<'a> {
    homes: BTreeMap<String, Homes<'a>>,
}

impl<'a> Names<'a> {
    fn of(tree: &'a Tree) -> Names<'a> {
        let mut names = Names::default();
        let is_meant = |file: &&RustFile| file.path.starts_with("crates/") && !file.is_test();
        for file in tree.rust.iter().filter(is_meant).filter(|file| file.path.contains("/src/")) {
            let Ok(items) = &file.items else { continue };
            let mut walk = Walk::default();
            walk.visit_file(items);
            for (name, line) in walk.found {
                names.homes.entry(name).or_default().push((file, line));
            }
        }
        names
    }

    fn all(&self) -> usize {
        self.homes.values().map(Vec::len).sum()
    }

    fn shared(&self) -> impl Iterator<Item = (&str, usize, &'a RustFile, usize)> {
        let shared = self.homes.iter().filter(|(_, homes)| homes.len() > 2);
        shared.flat_map(|(name, homes)| homes.iter().map(|&(file, line)| (name.as_str(), homes.len(), file, line)))
    }
}

#[derive(Default)]
struct Walk {
    found: Vec<(String, usize)>,
}

impl Walk {
    fn add(&mut self, name: &syn::Ident) {
        self.found.push((name.to_string(), name.span().start().line));
    }
}

impl<'ast> Visit<'ast> for Walk {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !super::size::is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Struct(item) => self.add(&item.ident),
            syn::Item::Enum(item) => self.add(&item.ident),
            syn::Item::Union(item) => self.add(&item.ident),
            syn::Item::Trait(item) => self.add(&item.ident),
            syn::Item::Type(item) => self.add(&item.ident),
            syn::Item::Mod(module) => self.visit_item_mod(module),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `shared` files with a `State` each, and also `own` types with unique names.
    fn tree(shared: usize, own: usize) -> Tree {
        let states = (0..shared).map(|n| (format!("crates/disks/src/s{n}.rs"), "//! S.\nstruct State;\n".to_owned()));
        let others: String = (0..own).map(|n| format!("struct Own{n};\n")).collect();
        let files: Vec<_> = states.chain([("crates/disks/src/own.rs".to_owned(), others)]).collect();
        Tree::planted(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>())
    }

    #[test]
    fn a_name_that_three_share_is_found_if_too_many_do() {
        let found = check(&tree(3, 34));
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2, 2, 2]);
        assert_eq!(found[0].message, "3 types are called State, and 8 % may share a name with two others");
        assert_eq!(check(&tree(3, 35)), [], "3 of 38 are fewer than 8 %");
        assert_eq!(check(&tree(2, 0)), [], "two may");
        assert_eq!(figures(&tree(3, 34)), "names of types: 3 of 37 shared with two others");
    }

    #[test]
    fn types_of_tests_and_associated_types_are_not_counted() {
        let text = "//! A.\nimpl A for B {\n    type State = u8;\n}\n#[cfg(test)]\nmod tests {\n    struct State;\n}\n";
        let [a, b, c] = ["a", "b", "c"].map(|name| format!("crates/disks/src/{name}.rs"));
        let tree = Tree::planted(&[(&a, text), (&b, text), (&c, text), ("crates/disks/tests/d.rs", "struct State;\n")]);
        assert_eq!(Names::of(&tree).all(), 0);
    }
}
