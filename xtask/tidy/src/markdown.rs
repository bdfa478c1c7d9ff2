//! Markdown: one `# ` title per file, no blanks at the end of a line, and a README that fits a screen.

use super::Finding;
use super::tree::{TextFile, Tree};

const README_LINES: usize = 80;

/// Everything wrong with the form of prose.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.markdown.iter().flat_map(in_file).collect()
}

fn in_file(file: &TextFile) -> Vec<Finding> {
    let mut found = Vec::new();
    let titles = titles(&file.text);
    match titles.first() {
        None => found.push(file.finding(1, "markdown", "no title: begin the file with `# …`")),
        Some(_) => found.extend(titles[1..].iter().map(|&line| file.finding(line, "markdown", "a second title"))),
    }
    let blanks = file.text.lines().enumerate().filter(|(_, line)| line.ends_with([' ', '\t']));
    found.extend(blanks.map(|(at, _)| file.finding(at + 1, "markdown", "blanks at the end of the line")));
    let lines = file.text.lines().count();
    if file.path == "README.md" && lines > README_LINES {
        let message = format!("{lines} lines, and {README_LINES} are the limit: move the rest to docs/");
        found.push(file.finding(README_LINES + 1, "markdown", message));
    }
    found
}

/// Lines of `# …`, except in code blocks (where it is a shell's comment).
fn titles(text: &str) -> Vec<usize> {
    let (mut titles, mut in_code) = (Vec::new(), false);
    for (at, line) in text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        if !in_code && line.starts_with("# ") {
            titles.push(at + 1);
        }
    }
    titles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        check(&Tree::planted(&[(path, text)])).into_iter().map(|finding| (finding.line, finding.message)).collect()
    }

    #[test]
    fn a_missing_and_a_second_title_are_found() {
        assert_eq!(found("docs/a.md", "## No\n")[0].0, 1);
        assert_eq!(found("docs/a.md", "# One\n\n# Two\n"), [(3, "a second title".to_owned())]);
    }

    #[test]
    fn a_comment_in_a_code_block_is_no_title() {
        assert_eq!(found("docs/a.md", "# One\n```sh\n# comment\n```\n"), []);
    }

    #[test]
    fn blanks_at_the_end_of_a_line_are_found() {
        assert_eq!(found("docs/a.md", "# One\na \nb\t\nc\n").iter().map(|f| f.0).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn a_readme_of_81_lines_is_found_and_one_of_80_is_not() {
        let text = |lines: usize| format!("# One\n{}", "a\n".repeat(lines - 1));
        assert_eq!(found("README.md", &text(80)), []);
        assert_eq!(found("README.md", &text(81))[0].0, 81);
        assert_eq!(found("docs/README.md", &text(81)), []);
    }
}
