//! Files of at most 600 lines without their tests, functions of at most 70, lines of at most 120 columns.
//!
//! A file that is one state may have 900 lines: all fields of its structs are private, and nothing outside has an
//! `impl` of them. Then the compiler says what can change a field, and dealing the file out would take that away.

use std::fmt::Write;
use std::ops::RangeInclusive;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::Finding;
use super::tree::{RustFile, Tree};

const FILE_LINES: usize = 600;
/// Of a file that is one state.
const STATE_LINES: usize = 900;

const FUNCTION_LINES: usize = 70;
const COLUMNS: usize = 120;

/// Everything that is too long.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.rust {
        let Measure { lines, functions } = Measure::of(file);
        let most = if lines > FILE_LINES && is_one_state(file, tree) { STATE_LINES } else { FILE_LINES };
        if lines > most && !file.is_test() {
            let message = format!("{lines} lines without tests, and {most} are the limit: one mechanism per file");
            found.push(file.finding(1, "size", message));
        }
        for function in functions.iter().filter(|function| function.lines() > FUNCTION_LINES) {
            let (name, lines) = (&function.name, function.lines());
            let message =
                format!("fn {name} has {lines} lines, and {FUNCTION_LINES} are the limit: give its parts names");
            found.push(file.finding(*function.at.start(), "size", message));
        }
        let is_wide = |line: &str| line.len() > COLUMNS && line.chars().count() > COLUMNS;
        let wide = file.text.lines().enumerate().filter(|(_, line)| is_wide(line));
        found.extend(wide.map(|(at, _)| file.finding(at + 1, "size", format!("more than {COLUMNS} columns"))));
    }
    found
}

/// Whether all fields of a file's structs are private, and no other file of its crate has an `impl` of one of them.
fn is_one_state(file: &RustFile, tree: &Tree) -> bool {
    let own = Structs::of(file);
    let others = tree.rust.iter().filter(|other| other.path != file.path && other.package() == file.package());
    own.fields > 0
        && own.are_private
        && others.flat_map(|other| Structs::of(other).implied).all(|name| !own.names.contains(&name))
}

/// The structs of a file, and the types that it has inherent `impl`s of.
#[derive(Default)]
struct Structs {
    names: Vec<String>,
    fields: usize,
    are_private: bool,
    implied: Vec<String>,
}

impl Structs {
    fn of(file: &RustFile) -> Structs {
        let mut structs = Structs { are_private: true, ..Structs::default() };
        if let Ok(items) = &file.items {
            structs.visit_file(items);
        }
        structs
    }
}

impl Visit<'_> for Structs {
    fn visit_item_mod(&mut self, module: &syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_struct(&mut self, item: &syn::ItemStruct) {
        self.names.push(item.ident.to_string());
        self.fields += item.fields.len();
        self.are_private &= item.fields.iter().all(|field| matches!(field.vis, syn::Visibility::Inherited));
    }

    fn visit_item_impl(&mut self, item: &syn::ItemImpl) {
        if let (None, syn::Type::Path(of)) = (&item.trait_, &*item.self_ty) {
            self.implied.extend(of.path.segments.last().map(|segment| segment.ident.to_string()));
        }
    }
}

/// How long files and functions are (tests not counted), for information.
pub fn figures(tree: &Tree) -> String {
    let measures: Vec<Measure> = tree.rust.iter().filter(|file| !file.is_test()).map(Measure::of).collect();
    let files = measures.iter().map(|measure| measure.lines).collect();
    let functions =
        measures.iter().flat_map(|m| m.functions.iter().filter(|f| !f.in_tests).map(Function::lines)).collect();
    let mut text = String::new();
    let _ = writeln!(text, "{}", spread("file lines", files));
    let _ = write!(text, "{}", spread("function lines", functions));
    text
}

fn spread(what: &str, mut lines: Vec<usize>) -> String {
    lines.sort_unstable();
    let Some(last) = lines.len().checked_sub(1) else { return format!("{what}: none") };
    let at = |percent: usize| lines[last * percent / 100];
    format!("{what}: median {}, p90 {}, max {} (of {})", at(50), at(90), lines[last], lines.len())
}

/// One file's lengths.
#[derive(Default)]
struct Measure {
    /// Its lines without modules of tests.
    lines: usize,
    functions: Vec<Function>,
}

struct Function {
    name: String,
    /// From `fn` to the closing brace.
    at: RangeInclusive<usize>,
    in_tests: bool,
}

impl Function {
    fn lines(&self) -> usize {
        self.at.end() - self.at.start() + 1
    }
}

impl Measure {
    fn of(file: &RustFile) -> Measure {
        let mut walk = Walk::default();
        if let Ok(items) = &file.items {
            walk.visit_file(items);
        }
        Measure { lines: file.text.lines().count() - walk.test_lines, functions: walk.functions }
    }
}

#[derive(Default)]
struct Walk {
    functions: Vec<Function>,
    test_lines: usize,
    in_tests: bool,
}

impl Walk {
    fn measure(&mut self, signature: &syn::Signature, close: Span) {
        let at = signature.span().start().line..=close.end().line;
        self.functions.push(Function { name: signature.ident.to_string(), at, in_tests: self.in_tests });
    }
}

impl<'ast> Visit<'ast> for Walk {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let begins = !self.in_tests && is_for_tests(&module.attrs);
        if begins {
            let lines = module.span().start().line..=module.span().end().line;
            self.test_lines += lines.count();
            self.in_tests = true;
        }
        visit::visit_item_mod(self, module);
        self.in_tests &= !begins;
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.measure(&function.sig, function.block.brace_token.span.close());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.measure(&function.sig, function.block.brace_token.span.close());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.measure(&function.sig, block.brace_token.span.close());
        }
        visit::visit_trait_item_fn(self, function);
    }
}

/// Whether it exists only in test builds.
pub fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.parse_args::<syn::Ident>();
        attribute.path().is_ident("cfg") && condition.is_ok_and(|condition| condition == "test")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/disks/src/a.rs";

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        check(&Tree::planted(&[(path, text)])).into_iter().map(|finding| (finding.line, finding.message)).collect()
    }

    /// A function of this many lines in all.
    fn function(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    let _ = \"}\"; // {\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_of_71_lines_is_found_and_one_of_70_is_not() {
        assert_eq!(found(PATH, &format!("//! A.\n\n/// Long.\n{}", function(70))), []);
        let found = found(PATH, &format!("//! A.\n\n/// Long.\n{}", function(71)));
        assert_eq!(found, [(4, "fn long has 71 lines, and 70 are the limit: give its parts names".to_owned())]);
    }

    #[test]
    fn methods_and_functions_of_tests_are_measured_too() {
        let method = format!("//! A.\nimpl A {{\n{}}}\n", function(71));
        let default = format!("//! A.\ntrait A {{\n{}}}\n", function(71));
        let test = format!("//! A.\n#[cfg(test)]\nmod tests {{\n{}}}\n", function(71));
        for text in [method, default, test] {
            assert_eq!(found(PATH, &text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_file_of_601_lines_is_found_but_its_tests_do_not_count() {
        let short = "const A: u8 = 1;\n";
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", short.repeat(300));
        assert_eq!(found(PATH, &format!("//! A.\n{}{tests}", short.repeat(599))), []);
        let found = found(PATH, &format!("//! A.\n{}{tests}", short.repeat(600)));
        assert_eq!(found.len(), 1);
        assert!(found[0].1.starts_with("601 lines"), "{}", found[0].1);
    }

    #[test]
    fn a_file_that_is_one_state_may_have_900_lines() {
        let state = |field: &str, lines: usize| {
            let text = format!("//! A.\nstruct A {{\n    {field}: u8,\n}}\nimpl A {{}}\n");
            format!("{text}{}", "const A: u8 = 1;\n".repeat(lines - 5))
        };
        assert_eq!(found(PATH, &state("a", 900)), []);
        assert!(found(PATH, &state("a", 901))[0].1.contains("900 are the limit"));
        assert!(found(PATH, &state("pub a", 601))[0].1.contains("600 are the limit"));
        let elsewhere = [(PATH, state("a", 601)), ("crates/disks/src/b.rs", "//! B.\nimpl A {}\n".to_owned())];
        let planted = elsewhere.each_ref().map(|(path, text)| (*path, text.as_str()));
        assert_eq!(check(&Tree::planted(&planted)).len(), 1);
    }

    #[test]
    fn files_of_tests_alone_may_be_long() {
        let text = format!("//! A.\n{}", "const A: u8 = 1;\n".repeat(700));
        assert_eq!(found("crates/disks/tests/a.rs", &text), []);
        assert_eq!(found("crates/disks/src/hdd/tests.rs", &text), []);
    }

    #[test]
    fn a_line_of_121_columns_is_found_and_one_of_120_is_not() {
        let line = |columns: usize| format!("//! A.\n//{}\n", "é".repeat(columns - 2));
        assert_eq!(found(PATH, &line(120)), []);
        assert_eq!(found(PATH, &line(121)), [(2, "more than 120 columns".to_owned())]);
    }

    #[test]
    fn figures_leave_tests_out() {
        let text = format!("//! A.\n{}#[cfg(test)]\nmod tests {{\n{}}}\n", function(3), function(40));
        let figures = figures(&Tree::planted(&[(PATH, &text)]));
        let expected = "file lines: median 4, p90 4, max 4 (of 1)\nfunction lines: median 3, p90 3, max 3 (of 1)";
        assert_eq!(figures, expected);
    }
}
