//! Tests that start our program as a process of its own: each costs a start and hides what went wrong in the words that
//! are printed. What a verb answers, prints and refuses is tested in the test's own process, through the command line's
//! library; a process is for signals, environments, memory limits, and an end in the middle of work.
//!
//! A test starts the program if it names its file (`CARGO_BIN_EXE_…`), or a function or constant of the same test that
//! does, directly or through others. Names are followed through imports, not through types: of two methods of one name,
//! both are meant. Tests that a macro makes are not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::Finding;
use super::tokens::Token;
use super::tree::{RustFile, Tree};

/// How many tests may start our program.
const MOST: usize = 70;

/// What Cargo calls a program's file.
const PROGRAM: &str = "CARGO_BIN_EXE_";

/// One finding that names all of them, if there are too many.
pub fn check(tree: &Tree) -> Vec<Finding> {
    too_many(&starting(tree), MOST)
}

fn too_many(starting: &[Named], most: usize) -> Vec<Finding> {
    let Some(last) = starting.last().filter(|_| starting.len() > most) else { return Vec::new() };
    let all: Vec<&str> = starting.iter().map(|test| test.name.as_str()).collect();
    let message = format!(
        "{} tests start our program, and {most} are the limit: ask `blksched_cli::printed` or the library instead ({})",
        all.len(),
        all.join(", ")
    );
    vec![Finding { file: last.file.clone(), line: last.line, rule: "programs", message }]
}

/// How many there are, for information.
pub fn figures(tree: &Tree) -> String {
    format!("tests that start our program: {} of {MOST}", starting(tree).len())
}

/// A test that starts our program.
struct Named {
    name: String,
    file: String,
    line: usize,
}

fn starting(tree: &Tree) -> Vec<Named> {
    let mut targets: BTreeMap<String, Vec<&RustFile>> = BTreeMap::new();
    for file in &tree.rust {
        if let Some(target) = target(&file.path) {
            targets.entry(target).or_default().push(file);
        }
    }
    targets.values().flat_map(|files| of_target(files)).collect()
}

/// The integration test that a file belongs to: `crates/cli/tests/it` for `…/it.rs` and `…/it/sweep.rs`.
fn target(path: &str) -> Option<String> {
    let (package, below) = path.split_once("/tests/")?;
    let first = below.split('/').next()?;
    package.starts_with("crates/").then(|| format!("{package}/tests/{}", first.trim_end_matches(".rs")))
}

fn of_target(files: &[&RustFile]) -> Vec<Named> {
    let sources: Vec<Source<'_>> = files.iter().map(|file| Source::of(file)).collect();
    let all = || sources.iter().enumerate().flat_map(|(at, source)| source.defined.iter().map(move |one| (at, one)));
    let mut starters: BTreeSet<(usize, usize)> = BTreeSet::new();
    loop {
        let more: Vec<(usize, usize)> = all()
            .filter(|(at, one)| !starters.contains(&(*at, *one.lines.start())))
            .filter(|(at, one)| {
                let named = |(other, target): &(usize, &Definition)| {
                    starters.contains(&(*other, *target.lines.start()))
                        && target.kind != Kind::Test
                        && sources[*at].calls(one, target, at == other)
                };
                sources[*at].names_program(one) || all().any(|target| named(&target))
            })
            .map(|(at, one)| (at, *one.lines.start()))
            .collect();
        if more.is_empty() {
            break;
        }
        starters.extend(more);
    }
    let tests = all().filter(|(at, one)| one.kind == Kind::Test && starters.contains(&(*at, *one.lines.start())));
    let named = |(at, one): (usize, &Definition)| Named {
        name: one.name.clone(),
        file: files[at].path.clone(),
        line: *one.lines.start(),
    };
    tests.map(named).collect()
}

/// What a definition is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Test,
    Function,
    Constant,
    /// A function of this type.
    Method(String),
}

struct Definition {
    name: String,
    kind: Kind,
    lines: RangeInclusive<usize>,
}

/// A file: what it defines and imports.
struct Source<'f> {
    file: &'f RustFile,
    defined: Vec<Definition>,
    imported: BTreeSet<String>,
}

impl<'f> Source<'f> {
    fn of(file: &'f RustFile) -> Source<'f> {
        let mut source = Source { file, defined: Vec::new(), imported: BTreeSet::new() };
        if let Ok(items) = &file.items {
            source.visit_file(items);
        }
        source
    }

    /// The lines of this file that say the program's name.
    fn names_program(&self, one: &Definition) -> bool {
        let lines = self.file.text.lines().enumerate();
        lines.filter(|(_, line)| line.contains(PROGRAM)).any(|(at, _)| one.lines.contains(&(at + 1)))
    }

    fn add(&mut self, name: &syn::Ident, kind: Kind, span: proc_macro2::Span) {
        let lines = span.start().line..=span.end().line;
        self.defined.push(Definition { name: name.to_string(), kind, lines });
    }

    fn import(&mut self, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => self.import(&path.tree),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree)),
            syn::UseTree::Glob(_) => drop(self.imported.insert("*".to_owned())),
            syn::UseTree::Name(name) => drop(self.imported.insert(name.ident.to_string())),
            syn::UseTree::Rename(name) => drop(self.imported.insert(name.rename.to_string())),
        }
    }

    /// Whether `one`, of this file, uses `target`.
    fn calls(&self, one: &Definition, target: &Definition, is_here: bool) -> bool {
        let tokens: Vec<&Token> = self.file.tokens.iter().filter(|token| one.lines.contains(&token.line)).collect();
        let word = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map_or("", |token| token.text.as_str());
        let sees = |name: &str| is_here || self.imported.contains(name) || self.imported.contains("*");
        let defines = |name: &str| self.defined.iter().any(|own| own.name == name && own.kind == Kind::Function);
        let is_shadowed = tokens.windows(2).any(|two| two[0].text == "let" && two[1].text == target.name);
        tokens.iter().enumerate().filter(|(_, token)| token.text == target.name).any(|(at, _)| {
            let before = |back: usize| word(at.checked_sub(back));
            let module = if before(1) == ":" && before(2) == ":" { before(3) } else { "" };
            let is_called = word(Some(at + 1)) == "(" || (before(1) == "(" && word(Some(at + 1)) == ")");
            match &target.kind {
                Kind::Test => false,
                Kind::Constant => !module.is_empty() || sees(&target.name),
                Kind::Function if !module.is_empty() => module != "Self" && module.starts_with(char::is_lowercase),
                Kind::Function => {
                    let is_meant = is_here || (!defines(&target.name) && sees(&target.name));
                    is_called && before(1) != "." && before(1) != "fn" && !is_shadowed && is_meant
                }
                Kind::Method(of) if !module.is_empty() => module == of || (module == "Self" && is_here),
                Kind::Method(of) => before(1) == "." && is_called && sees(of),
            }
        })
    }
}

impl<'ast> Visit<'ast> for Source<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let is_test = item.attrs.iter().any(|attribute| attribute.path().is_ident("test"));
        self.add(&item.sig.ident, if is_test { Kind::Test } else { Kind::Function }, item.span());
        visit::visit_item_fn(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.add(&item.ident, Kind::Constant, item.span());
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let syn::Type::Path(of) = &*item.self_ty else { return };
        let of = of.path.segments.last().map_or_else(String::new, |last| last.ident.to_string());
        for inner in &item.items {
            if let syn::ImplItem::Fn(method) = inner {
                self.add(&method.sig.ident, Kind::Method(of.clone()), method.span());
            }
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(&item.tree);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIT: &str = "//! K.\npub const OURS: &str = env!(\"CARGO_BIN_EXE_ours\");\npub struct Server;\n\
                       impl Server {\n    pub fn start() -> Server {\n        Server\n    }\n\
                       pub fn process() -> Server {\n        run(OURS);\n        Server\n    }\n}\n\
                       pub fn captive() {\n    run(OURS)\n}\nfn run(_: &str) {}\n";

    fn names(files: &[(&str, &str)]) -> Vec<String> {
        starting(&Tree::planted(files)).into_iter().map(|test| test.name).collect()
    }

    fn test_of(body: &str, uses: &str) -> Vec<String> {
        let text = format!("//! T.\nuse crate::kit::{{{uses}}};\n#[test]\nfn it() {{\n    {body}\n}}\n");
        names(&[("crates/a/tests/t/kit.rs", KIT), ("crates/a/tests/t/b.rs", &text)])
    }

    #[test]
    fn a_test_that_starts_it_directly_or_through_others_is_counted() {
        for (body, uses) in [
            ("Command::new(OURS)", "OURS"),
            ("Command::new(crate::kit::OURS)", "Folder"),
            ("Command::new(env!(\"CARGO_BIN_EXE_ours\"))", "Folder"),
            ("captive()", "captive"),
            ("kit::captive()", "Folder"),
            ("assert!(captive().is_ok())", "captive"),
            ("all.map(captive)", "captive"),
            ("Server::process()", "Server"),
            ("begun(Server::process)", "Server"),
        ] {
            assert_eq!(test_of(body, uses), ["it"], "{body}");
        }
    }

    #[test]
    fn one_that_does_not_is_not() {
        for (body, uses) in [
            ("Server::start()", "Server"),
            ("run(\"x\")", "Server"),
            ("let captive = || {}; captive()", "captive"),
            ("other.captive", "captive"),
            ("Other::process()", "Server"),
        ] {
            assert_eq!(test_of(body, uses), [""; 0], "{body}");
        }
        // A helper of the same name in the same file is the one that is meant; another test's kit is not seen.
        let own = "//! T.\nuse crate::kit::*;\nfn captive() {}\n#[test]\nfn it() {\n    captive()\n}\n";
        assert_eq!(names(&[("crates/a/tests/t/kit.rs", KIT), ("crates/a/tests/t/b.rs", own)]), [""; 0]);
        let other = "//! U.\nuse super::*;\n#[test]\nfn it() {\n    captive()\n}\n";
        assert_eq!(names(&[("crates/a/tests/t/kit.rs", KIT), ("crates/a/tests/u.rs", other)]), [""; 0]);
    }

    #[test]
    fn the_limit_may_be_reached_and_not_passed() {
        let tests = |count: usize| -> String {
            let one = |n| format!("#[test]\nfn t{n}() {{\n    start(env!(\"CARGO_BIN_EXE_ours\"));\n}}\n");
            format!("//! T.\n{}", (0..count).map(one).collect::<String>())
        };
        let found = |count| check(&Tree::planted(&[("crates/a/tests/t.rs", &tests(count))]));
        assert_eq!(found(MOST), []);
        let [one] = &found(MOST + 1)[..] else { panic!("one finding") };
        assert!(one.message.starts_with("71 tests start our program, and 70 are the limit"), "{}", one.message);
        assert!(figures(&Tree::planted(&[("crates/a/tests/t.rs", &tests(3))])).ends_with(": 3 of 70"));
    }
}
