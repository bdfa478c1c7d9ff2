//! Links that land: in Markdown every relative link, and everywhere a mention of a rule, `docs/NAME.md#rule`, with the
//! further rules of the same file behind it (`docs/NAME.md#c5, #c15 and #c16`).

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::tree::Tree;

/// The places of a Markdown file that a link can name.
type Anchors<'t> = BTreeMap<&'t str, BTreeSet<String>>;

/// Everything that points nowhere.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let anchors: Anchors = tree.markdown.iter().map(|file| (file.path.as_str(), anchors(&file.text))).collect();
    let mut found = Vec::new();
    for file in &tree.markdown {
        for (line, target) in links(&file.text) {
            if let Err(why) = follow(tree, &anchors, &file.path, &target) {
                found.push(file.finding(line, "links", why));
            }
        }
    }
    let texts = tree.markdown.iter().map(|file| (&file.path, &file.text));
    // This file's own tests mention rules that are not there.
    let rust = tree.rust.iter().map(|file| (&file.path, &file.text)).filter(|(path, _)| !path.ends_with("/links.rs"));
    for (path, text) in texts.chain(rust) {
        for Mention { line, file, anchor } in mentions(text) {
            let why = match anchors.get(file.as_str()) {
                None => format!("there is no `{file}`"),
                Some(there) if !there.contains(&anchor) => format!("`{file}` has no `#{anchor}`"),
                Some(_) => continue,
            };
            found.push(Finding { file: path.clone(), line, rule: "links", message: why });
        }
    }
    found
}

/// Explicit anchors, and those that a page makes of its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let explicit = text.split("<a id=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| slug(line.trim_start_matches('#')));
    explicit.chain(headings).collect()
}

/// A heading's anchor as code hosts make it: small letters, blanks as hyphens, no other punctuation.
fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|&c| c.is_alphanumeric() || "-_ ".contains(c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Relative links outside code, with their lines.
fn links(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut in_code) = (Vec::new(), false);
    for (at, line) in text.lines().enumerate() {
        in_code ^= line.trim_start().starts_with("```");
        if in_code {
            continue;
        }
        // Odd parts between backticks are code.
        for prose in line.split('`').step_by(2) {
            let targets = prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
            let near = targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"));
            found.extend(near.map(|target| (at + 1, target.to_owned())));
        }
    }
    found
}

fn follow(tree: &Tree, anchors: &Anchors, from: &str, target: &str) -> Result<(), String> {
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { from.to_owned() } else { beside(from, path) };
    if !tree.names.contains(&path) {
        return Err(format!("a link to `{target}`, and there is no `{path}`"));
    }
    match anchor {
        Some(anchor) if !anchors.get(path.as_str()).is_some_and(|there| there.contains(anchor)) => {
            Err(format!("a link to `{target}`, and `{path}` has no `#{anchor}`"))
        }
        _ => Ok(()),
    }
}

/// `path` as it is read in the file `from`.
fn beside(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// A rule that is named in code or prose.
#[derive(Debug, PartialEq, Eq)]
struct Mention {
    line: usize,
    file: String,
    anchor: String,
}

/// `docs/NAME.md#rule`, and each `#rule` after it until its sentence or its paragraph ends.
fn mentions(text: &str) -> Vec<Mention> {
    let (mut found, mut file) = (Vec::new(), None::<String>);
    for (at, line) in text.lines().enumerate() {
        let prose = line.trim_start().trim_start_matches(['/', '!']);
        if prose.trim().is_empty() {
            file = None;
        }
        for word in prose.split_whitespace() {
            let ends = word.ends_with('.');
            let word = word.trim_matches(|c| "`*()[],;:.".contains(c));
            if let Some((path, anchor)) = word.split_once(".md#").filter(|(path, _)| path.starts_with("docs/")) {
                let path = format!("{path}.md");
                found.push(Mention { line: at + 1, file: path.clone(), anchor: anchor.to_owned() });
                file = Some(path);
            } else if let (Some(file), Some(anchor)) = (&file, word.strip_prefix('#').filter(|a| !a.is_empty())) {
                found.push(Mention { line: at + 1, file: file.clone(), anchor: anchor.to_owned() });
            }
            if ends {
                file = None;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: (&str, &str) = ("docs/rules.md", "# Rules\n\n## The plug (6.1)\n\n<a id=\"c5\"></a>C5. Such.\n");

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let found = check(&Tree::planted(&[RULES, (path, text)]));
        found.into_iter().map(|finding| (finding.line, finding.message)).collect()
    }

    #[test]
    fn a_link_lands_on_a_file_a_folder_an_anchor_or_a_heading() {
        let text =
            "# A\n[a](rules.md) [b](../docs) [c](rules.md#c5) [d](rules.md#the-plug-61) [e](#a)\n[f](https://x)\n";
        assert_eq!(found("docs/a.md", text), []);
    }

    #[test]
    fn a_link_to_nowhere_is_found_with_its_line() {
        let found = found("docs/a.md", "# A\n\n[a](gone.md)\n[b](rules.md#c6)\n");
        assert_eq!(found[0], (3, "a link to `gone.md`, and there is no `docs/gone.md`".to_owned()));
        assert_eq!(found[1], (4, "a link to `rules.md#c6`, and `docs/rules.md` has no `#c6`".to_owned()));
    }

    #[test]
    fn code_is_no_link() {
        assert_eq!(found("docs/a.md", "# A\n`x[0](y)`\n```\n[a](gone.md)\n```\n"), []);
    }

    #[test]
    fn a_rule_that_is_mentioned_in_code_is_there() {
        let text = "//! **Origin** docs/rules.md#c5, #c6\n//! and #c7. Not #c8.\n//!\n//! Nor #c9.\n";
        let missing = |anchor: &str| format!("`docs/rules.md` has no `#{anchor}`");
        assert_eq!(found("crates/disks/src/a.rs", text), [(1, missing("c6")), (2, missing("c7"))]);
    }

    #[test]
    fn a_file_of_rules_that_is_not_there_is_found() {
        let text = "//! **Origin** docs/old.md#c5.\n";
        assert_eq!(found("crates/disks/src/a.rs", text), [(1, "there is no `docs/old.md`".to_owned())]);
    }
}
