//! The text that tidy checks: every Rust file, manifest and markdown file of the repository, read once.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result};
use proc_macro2::TokenStream;

use super::Finding;
use super::tokens::{self, Token};

/// The repository's text.
#[derive(Default)]
pub struct Tree {
    /// `.rs`
    pub rust: Vec<RustFile>,
    /// `Cargo.toml`
    pub manifests: Vec<TextFile>,
    /// `.md`
    pub markdown: Vec<TextFile>,
    /// Every file and directory, including recordings and files without text that tidy reads.
    pub names: BTreeSet<String>,
}

/// A file of text.
pub struct TextFile {
    /// From the repository's root, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// A Rust file, in every form that a rule needs.
pub struct RustFile {
    /// From the repository's root, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
    /// Its words and signs without comments; literals are blank.
    pub tokens: Vec<Token>,
    /// Its items, or why they cannot be parsed.
    pub items: Result<syn::File, syn::Error>,
}

impl RustFile {
    /// The package's folder: `disks` for `crates/disks/…`, `xtask` for `xtask/…`.
    pub fn package(&self) -> &str {
        let path = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        path.split('/').next().unwrap_or(path)
    }

    /// Whether it contains only tests: it is below a `tests` directory, or a module's own `tests.rs`.
    pub fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "tests.rs")
    }

    /// A broken rule here.
    pub fn finding(&self, line: usize, rule: &'static str, message: impl Into<String>) -> Finding {
        Finding { file: self.path.clone(), line, rule, message: message.into() }
    }
}

impl TextFile {
    /// A broken rule here.
    pub fn finding(&self, line: usize, rule: &'static str, message: impl Into<String>) -> Finding {
        Finding { file: self.path.clone(), line, rule, message: message.into() }
    }
}

impl Tree {
    /// Everything below `root` except hidden and built files (`target`); for recordings (`testdata`) only the names.
    ///
    /// # Errors
    /// If something cannot be read.
    pub fn read(root: &Path) -> Result<Tree> {
        let mut tree = Tree::default();
        tree.walk(root, "")?;
        Ok(tree)
    }

    fn walk(&mut self, root: &Path, below: &str) -> Result<()> {
        let folder = root.join(below);
        let entries = fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
        let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(|entry| entry.file_name());
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') || name == "target" {
                continue;
            }
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            self.names.insert(path.clone());
            if entry.file_type()?.is_dir() {
                self.walk(root, &path)?;
            } else if wanted(&path) && !path.starts_with("testdata/") {
                let text = fs::read_to_string(entry.path()).with_context(|| format!("reading {path}"))?;
                self.add(path, text);
            }
        }
        Ok(())
    }

    fn add(&mut self, path: String, text: String) {
        if path.ends_with(".rs") {
            // Both forms from one parse, which takes most of tidy's time.
            let (tokens, items) = match TokenStream::from_str(&text) {
                Ok(stream) => (tokens::of(stream.clone()), syn::parse2(stream)),
                Err(error) => (Vec::new(), Err(error.into())),
            };
            self.rust.push(RustFile { path, text, tokens, items });
        } else if path.ends_with(".md") {
            self.markdown.push(TextFile { path, text });
        } else {
            self.manifests.push(TextFile { path, text });
        }
    }

    /// Files that are not valid Rust.
    pub fn unparsed(&self) -> impl Iterator<Item = Finding> {
        self.rust.iter().filter_map(|file| {
            let error = file.items.as_ref().err()?;
            Some(file.finding(error.span().start().line, "parse", error.to_string()))
        })
    }

    /// A tree of these files, for the rules' own tests.
    #[cfg(test)]
    pub fn planted(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files {
            assert!(wanted(path), "{path} is not a file that tidy reads");
            let ends = path.char_indices().filter(|&(_, c)| c == '/').map(|(at, _)| at).chain([path.len()]);
            tree.names.extend(ends.map(|end| path[..end].to_owned()));
            tree.add((*path).to_owned(), (*text).to_owned());
        }
        tree
    }
}

fn wanted(path: &str) -> bool {
    path.ends_with(".rs") || path.ends_with(".md") || path.rsplit('/').next() == Some("Cargo.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_file_is_read_from_the_repository() {
        let tree = Tree::read(&crate::shell::root()).unwrap();
        let this = tree.rust.iter().find(|file| file.path == "xtask/tidy/src/tree.rs").unwrap();
        assert_eq!(this.package(), "xtask");
        assert!(tree.manifests.iter().any(|file| file.path == "crates/blksched/Cargo.toml"));
        assert!(!tree.rust.iter().any(|file| file.path.starts_with("target/")));
    }

    #[test]
    fn a_file_that_is_no_rust_is_reported_with_its_line() {
        let tree = Tree::planted(&[("crates/disks/src/a.rs", "//! A.\n\nfn a( {}\n")]);
        let found: Vec<_> = tree.unparsed().collect();
        assert_eq!((found.len(), found[0].line), (1, 3));
    }
}
