//! Banned words, each with what to write instead.

use super::Finding;
use super::tokens::lines_with;
use super::tree::{RustFile, Tree};

/// Macros that are never committed or never wanted.
const MACROS: &[(&str, &str)] = &[
    ("todo", "write it, or return an error that says what is missing"),
    ("unimplemented", "write it, or return an error that says what is missing"),
    ("dbg", "remove it"),
    ("bitflags", "use an enum: a soup of booleans has states that are not legal"),
];

/// Words that mark unfinished work, anywhere. Spelt in parts, or this file would contain them.
const REMINDERS: &[(&str, &str)] = &[
    (concat!("FIX", "ME"), "put it right, or write an issue"),
    (concat!("X", "XX"), "say what is wrong, or write an issue"),
    (concat!("HA", "CK"), "say why it is needed"),
];

/// Every banned word.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found: Vec<Finding> = tree.rust.iter().flat_map(in_code).collect();
    let texts = tree.rust.iter().map(|file| (&file.path, &file.text));
    let texts = texts.chain(tree.manifests.iter().chain(&tree.markdown).map(|file| (&file.path, &file.text)));
    found.extend(texts.flat_map(|(path, text)| reminders(path, text)));
    found
}

fn in_code(file: &RustFile) -> Vec<Finding> {
    let mut found = Vec::new();
    for (word, instead) in MACROS {
        let message = format!("{word}! is banned: {instead}");
        found.extend(lines_with(&file.tokens, &[word, "!"]).map(|line| file.finding(line, "words", message.clone())));
    }
    // A literal (which has no text) is the value of another type's field.
    let declares = |word: &str| !matches!(word, ":" | "");
    // A knob has its name from sysfs.
    let is_ours = !file.path.ends_with("/tunables.rs");
    let fields =
        file.tokens.windows(3).filter(|w| is_flags(&w[0].text) && w[1].text == ":" && declares(&w[2].text) && is_ours);
    let message = "a field of flags is banned: name its states in an enum";
    found.extend(fields.map(|window| file.finding(window[0].line, "words", message)));
    found
}

fn is_flags(word: &str) -> bool {
    word == "flags" || word.ends_with("_flags")
}

fn reminders(path: &str, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for (word, instead) in REMINDERS.iter().filter(|(word, _)| text.contains(word)) {
        for (at, line) in text.lines().enumerate() {
            if line.split(|c: char| !c.is_alphanumeric()).any(|w| w == *word) {
                let message = format!("{word} is banned: {instead}");
                found.push(Finding { file: path.to_owned(), line: at + 1, rule: "words", message });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        check(&Tree::planted(&[(path, text)])).into_iter().map(|finding| (finding.line, finding.message)).collect()
    }

    #[test]
    fn each_banned_macro_is_found_with_its_replacement() {
        for (word, instead) in MACROS {
            let found = found("crates/disks/src/a.rs", &format!("fn a() {{\n    {word}!(1);\n}}\n"));
            assert_eq!(found, [(2, format!("{word}! is banned: {instead}"))]);
        }
    }

    #[test]
    fn each_reminder_is_found_in_code_manifests_and_prose() {
        for (word, _) in REMINDERS {
            assert_eq!(found("crates/disks/src/a.rs", &format!("\n// {word}: later\n")).len(), 1);
            assert_eq!(found("crates/disks/Cargo.toml", &format!("# {word}\n")).len(), 1);
            assert_eq!(found("docs/a.md", &format!("({word})\n")).len(), 1);
            assert_eq!(found("docs/a.md", &format!("{word}L\n")), []);
        }
    }

    #[test]
    fn a_field_of_flags_is_found_but_not_a_path() {
        assert_eq!(found("crates/disks/src/a.rs", "struct A {\n    flags: u8,\n}\n")[0].0, 2);
        assert_eq!(found("crates/disks/src/a.rs", "struct A {\n    rq_flags: u8,\n}\n")[0].0, 2);
        assert_eq!(found("crates/disks/src/a.rs", "use a::flags::b;\nuse flags::b;\n"), []);
    }
}
