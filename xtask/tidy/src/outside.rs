//! Nothing outside: the crate that answers questions (`lab`) reads no words, prints nothing, opens no file, ends no
//! process and looks at no environment. Its callers hand in texts and readers, and do what its answer says.

use super::Finding;
use super::tokens::lines_with;
use super::tree::{RustFile, Tree};

const INSIDE: &str = "crates/lab/src/";
const INSTEAD: &str = "lab is data in, data out: let the caller do it (crates/lab/src/files.rs, watch.rs)";

/// Words that reach outside, as consecutive tokens, and their names.
const BANNED: &[(&[&str], &str)] = &[
    (&["clap"], "clap"),
    (&["println", "!"], "println!"),
    (&["eprintln", "!"], "eprintln!"),
    (&["print", "!"], "print!"),
    (&["eprint", "!"], "eprint!"),
    (&["std", ":", ":", "process"], "std::process"),
    (&["std", ":", ":", "env"], "std::env"),
    (&["std", ":", ":", "fs"], "std::fs"),
    (&["std", ":", ":", "net"], "std::net"),
    (&["File", ":", ":", "open"], "File::open"),
    (&["with_environment"], "Host::with_environment"),
    (&["blksched_disks", ":", ":", "load"], "blksched_disks::load"),
];

/// Every use of something outside.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust.iter().filter(|file| file.path.starts_with(INSIDE)).flat_map(in_file).collect()
}

fn in_file(file: &RustFile) -> Vec<Finding> {
    let lines = BANNED.iter().flat_map(|(words, name)| lines_with(&file.tokens, words).map(move |line| (line, name)));
    let mut grouped = Vec::new();
    for module in ["process", "env", "fs", "net"] {
        grouped.extend(super::clock::grouped(&file.tokens, module).map(|line| (line, module)));
    }
    lines
        .map(|(line, name)| (line, (*name).to_owned()))
        .chain(grouped.into_iter().map(|(line, module)| (line, format!("std::{module}"))))
        .map(|(line, name)| file.finding(line, "outside", format!("{name}: {INSTEAD}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::planted(&[(path, text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn words_printing_files_processes_and_the_environment_are_found() {
        for text in [
            "use clap::Args;\n",
            "fn a() { println!(\"a\"); }\n",
            "fn a() { eprint!(\"a\"); }\n",
            "fn a() { std::process::exit(1) }\n",
            "fn a() -> Option<String> { std::env::var(\"A\").ok() }\n",
            "use std::fs::File;\n",
            "use std::{io, fs::File};\n",
            "fn a() { blksched_disks::load(\"a.toml\"); }\n",
        ] {
            assert_eq!(lines("crates/lab/src/a.rs", text), [1], "{text}");
        }
    }

    #[test]
    fn data_and_the_other_crates_are_free() {
        let text = "use std::fmt;\nfn a() -> &'static str { env!(\"CARGO_PKG_VERSION\") }\n// println!\n";
        assert_eq!(lines("crates/lab/src/a.rs", text), [0; 0]);
        assert_eq!(lines("crates/cli/src/a.rs", "use std::fs::File;\n"), [0; 0]);
    }
}
