//! Knots: the files among which the methods of one struct call each other, in both directions. What a method of such a
//! struct may change can only be said after reading all of them: nothing but names separates them.
//!
//! A file calls another if a method in it calls `self.x()` and `x` is in the other; files that reach one another are
//! one knot. Not seen: `Self::x(self)`, and calls through a borrowed whole (`cfq.x()`). Structs of one name in one
//! crate count as one. A struct that had a greater one when this rule reached it may keep it, and must write it down
//! when it shrinks.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::Finding;
use super::size::is_for_tests;
use super::tree::{RustFile, Tree};

/// The most files of a knot.
const MOST: usize = 6;

/// Greater ones, which there are none of: the crate, the struct, and the files of its greatest knot.
const ALLOWED: &[(&str, &str, usize)] = &[];

/// The methods of one struct: which file has each, and what it calls.
#[derive(Default)]
struct Methods<'a> {
    files: BTreeMap<String, BTreeSet<&'a str>>,
    calls: Vec<(&'a RustFile, BTreeSet<String>)>,
}

/// Every knot that is too great, and every permission that is greater than needed.
pub fn check(tree: &Tree) -> Vec<Finding> {
    check_with(tree, ALLOWED)
}

fn check_with(tree: &Tree, allowed: &[(&str, &str, usize)]) -> Vec<Finding> {
    let mut structs: BTreeMap<(&str, String), Methods> = BTreeMap::new();
    for file in tree.rust.iter().filter(|file| !file.is_test() && is_source(&file.path)) {
        let Ok(items) = &file.items else { continue };
        let mut walk = Impls::default();
        walk.visit_file(items);
        for Method { of, name, calls } in walk.methods {
            let methods = structs.entry((file.package(), of)).or_default();
            methods.files.entry(name).or_default().insert(&file.path);
            methods.calls.push((file, calls));
        }
    }
    let mut found: Vec<Finding> =
        structs.iter().filter_map(|((package, name), methods)| of_struct(package, name, methods, allowed)).collect();
    let is_there = |&&(package, name, _): &&(&str, &str, usize)| {
        structs.contains_key(&(package, name.to_owned())) || !structs.keys().any(|known| known.0 == package)
    };
    let first = tree.rust.first();
    for (package, name, _) in allowed.iter().filter(|known| !is_there(known)) {
        let message = format!("{package} has no struct {name} with methods: remove it from `ALLOWED`");
        found.extend(first.map(|file| file.finding(1, "knots", message)));
    }
    found
}

/// Of a crate, and no bench or example, which may have structs of the same names.
fn is_source(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/")
}

fn of_struct(package: &str, name: &str, methods: &Methods, allowed: &[(&str, &str, usize)]) -> Option<Finding> {
    let known = allowed.iter().find(|known| (known.0, known.1) == (package, name)).map(|known| known.2);
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (file, calls) in &methods.calls {
        let to = calls.iter().filter_map(|call| methods.files.get(call)).flatten().copied();
        arrows.entry(&file.path).or_default().extend(to);
    }
    let knot = greatest_knot(&arrows);
    let first = methods.calls.iter().find(|(file, _)| knot.first() == Some(&file.path.as_str()))?.0;
    let short: Vec<&str> = knot.iter().map(|path| path.rsplit('/').next().unwrap_or(path)).collect();
    let message = match known {
        Some(_) if knot.len() <= MOST => {
            format!("{name} has a knot of {}, which needs no permission: remove it from `ALLOWED`", knot.len())
        }
        Some(most) if knot.len() < most => {
            format!("{name} has a knot of {}, no more of {most}: write that down in `ALLOWED`", knot.len())
        }
        _ if knot.len() > known.unwrap_or(MOST) => format!(
            "the methods of {name} in {} files call each other ({}): give a part of its fields a struct and a file of \
             its own",
            knot.len(),
            short.join(", ")
        ),
        _ => return None,
    };
    Some(first.finding(1, "knots", message))
}

/// The greatest set of files that all reach one another.
fn greatest_knot<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<&'a str> {
    let reach: BTreeMap<&str, BTreeSet<&str>> = arrows.keys().map(|&from| (from, reached(arrows, from))).collect();
    let knot = |&from: &&'a str| -> Vec<&'a str> {
        let both = reach[from].iter().filter(|&&to| reach[to].contains(from));
        both.map(|&to| *arrows.get_key_value(to).expect("it is a file of the struct").0).collect()
    };
    let mut greatest = Vec::new();
    for found in arrows.keys().map(knot) {
        if found.len() > greatest.len() {
            greatest = found;
        }
    }
    greatest
}

/// The files reached from one, itself among them.
fn reached<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let (mut seen, mut next) = (BTreeSet::from([from]), vec![from]);
    while let Some(at) = next.pop() {
        next.extend(arrows[at].iter().copied().filter(|&to| seen.insert(to)));
    }
    seen
}

/// One method.
struct Method {
    of: String,
    name: String,
    /// The methods of the same struct that it calls.
    calls: BTreeSet<String>,
}

/// The methods of a file.
#[derive(Default)]
struct Impls {
    methods: Vec<Method>,
}

impl Visit<'_> for Impls {
    fn visit_item_mod(&mut self, module: &syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_impl(&mut self, item: &syn::ItemImpl) {
        let syn::Type::Path(of) = &*item.self_ty else { return };
        let Some(of) = of.path.segments.last().map(|segment| segment.ident.to_string()) else { return };
        for item in &item.items {
            if let syn::ImplItem::Fn(method) = item {
                let mut calls = Calls::default();
                calls.visit_block(&method.block);
                let name = method.sig.ident.to_string();
                self.methods.push(Method { of: of.clone(), name, calls: calls.0 });
            }
        }
    }
}

/// The calls `self.x()` of a method, in macros, too.
#[derive(Default)]
struct Calls(BTreeSet<String>);

impl Visit<'_> for Calls {
    fn visit_expr_method_call(&mut self, call: &syn::ExprMethodCall) {
        if matches!(&*call.receiver, syn::Expr::Path(path) if path.path.is_ident("self")) {
            self.0.insert(call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, called: &syn::Macro) {
        self.tokens(called.tokens.clone());
    }

    /// Its `self` is another.
    fn visit_item(&mut self, _: &syn::Item) {}
}

impl Calls {
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for window in tokens.windows(4) {
            if let [TokenTree::Ident(own), TokenTree::Punct(dot), TokenTree::Ident(name), TokenTree::Group(_)] = window
                && own == "self"
                && dot.as_char() == '.'
            {
                self.0.insert(name.to_string());
            }
        }
        for token in tokens {
            if let TokenTree::Group(group) = token {
                self.tokens(group.stream());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of a crate, each with one method of `Big`, which calls that of the next.
    fn ring(files: usize, closed: bool) -> Vec<(String, String)> {
        let file = |at: usize| {
            let next = if closed { (at + 1) % files } else { at + 1 };
            let text =
                format!("//! A.\nimpl Big {{\n    fn m{at}(&mut self) {{\n        self.m{next}();\n    }}\n}}\n");
            (format!("crates/disks/src/f{at}.rs"), text)
        };
        (0..files).map(file).collect()
    }

    fn found(files: &[(String, String)], allowed: &[(&str, &str, usize)]) -> Vec<String> {
        let planted: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        check_with(&Tree::planted(&planted), allowed).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn seven_files_that_call_each_other_are_found_and_six_are_not() {
        assert_eq!(found(&ring(6, true), &[]), [""; 0]);
        let found = found(&ring(7, true), &[]);
        assert!(found.len() == 1 && found[0].contains("in 7 files") && found[0].contains("f0.rs, f1.rs"), "{found:?}");
    }

    #[test]
    fn calls_in_one_direction_are_no_knot() {
        assert_eq!(found(&ring(20, false), &[]), [""; 0]);
    }

    #[test]
    fn a_permission_holds_for_its_size_and_must_shrink_with_the_knot() {
        assert_eq!(found(&ring(8, true), &[("disks", "Big", 8)]), [""; 0]);
        assert!(found(&ring(8, true), &[("disks", "Big", 7)])[0].contains("in 8 files"));
        assert!(found(&ring(8, true), &[("disks", "Big", 9)])[0].contains("write that down"));
        assert!(found(&ring(3, true), &[("disks", "Big", 9)])[0].contains("a knot of 3, which needs no permission"));
        assert!(found(&ring(6, true), &[("disks", "Big", 6)])[0].contains("needs no permission"));
        assert!(found(&ring(3, true), &[("disks", "Gone", 9)])[0].contains("no struct Gone"));
    }

    #[test]
    fn another_structs_method_of_that_name_ties_nothing_and_a_macros_call_does() {
        let mut files = ring(7, true);
        files[6].1 = "//! A.\nimpl Other {\n    fn m6(&self) {\n        self.m0();\n    }\n}\n".to_owned();
        assert_eq!(found(&files, &[]), [""; 0]);
        files[6].1 = "//! A.\nimpl Big {\n    fn m6(&self) {\n        assert!(1 < self.m0());\n    }\n}\n".to_owned();
        assert_eq!(found(&files, &[]).len(), 1);
        files[6].1 = "//! A.\nimpl Big {\n    fn m6(&self) {\n        self.part.m0();\n    }\n}\n".to_owned();
        assert_eq!(found(&files, &[]), [""; 0]);
    }
}
