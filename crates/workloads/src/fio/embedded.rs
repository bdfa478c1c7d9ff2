//! A job inside another text: a Kubernetes ConfigMap, a shell script's here-document, a Markdown page.
//!
//! **Rule** A job is a run of lines that could all be a job file's, from a `[section]` or a comment before it on, at
//! least as far indented as that line, with an option that fio has. What surrounds it becomes blank lines, so that
//! errors name the places of the whole text.

use core::ops::Range;

use super::options::is_option;

/// A job found inside a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedJob {
    /// The line where it begins, from 1.
    pub line: usize,
    /// Its lines, from 0.
    lines: Range<usize>,
}

impl EmbeddedJob {
    /// The whole text with all else blank.
    pub fn text(&self, whole: &str) -> String {
        let kept = |(nth, line): (usize, &str)| if self.lines.contains(&nth) { line.trim_end() } else { "" }.to_owned();
        whole.lines().enumerate().map(kept).collect::<Vec<_>>().join("\n") + "\n"
    }
}

/// The jobs inside a text that is no job file, in order.
pub fn embedded(text: &str) -> Vec<EmbeddedJob> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let (end, is_job) = run_at(&lines, at);
        if is_job {
            found.push(EmbeddedJob { line: at + 1, lines: at..end });
        }
        // No part of a run without options is a job either.
        at = end;
    }
    found
}

/// The end of the run of a job file's lines that begins in this line, and whether it is a job.
fn run_at(lines: &[&str], from: usize) -> (usize, bool) {
    if section(lines[from].trim()).is_none() {
        return (from + 1, false);
    }
    let indent = indent_of(lines[from]);
    let mut options = 0;
    let mut end = from + 1;
    for (at, line) in lines.iter().enumerate().skip(from + 1) {
        let word = line.trim();
        if word.is_empty() {
            continue;
        }
        let name = word.split('=').next().unwrap_or_default().trim();
        let is_known = is_option(name) && (word.contains('=') || !name.contains(' '));
        let belongs =
            indent_of(line) >= indent && (is_known || section(word).is_some() || word.starts_with(['#', ';']));
        if !belongs {
            break;
        }
        options += usize::from(is_known);
        end = at + 1;
    }
    (end, options > 0)
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The name of a section, if the line is one; a list of JSON or YAML is none.
fn section(word: &str) -> Option<&str> {
    let name = word.strip_prefix('[')?.strip_suffix(']')?;
    let plain = |c: char| c.is_alphanumeric() || "_-. /+()${}:".contains(c);
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::JobFile;

    #[test]
    fn a_config_map_and_a_here_document_hold_their_job_at_its_lines() {
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: fio\ndata:\n  job.fio: |-\n    [global]\n    \
                   bs=4k\n\n    [a]\n    rw=read\n    size=1m\n  other: |\n    text\n";
        let found = embedded(map);
        assert_eq!((found.len(), found[0].line), (1, 7));
        assert!(JobFile::parse(&found[0].text(map), "cm.yaml").is_ok());
        let broken = map.replace("size=1m", "size=x");
        let wrong = JobFile::parse(&embedded(&broken)[0].text(&broken), "cm.yaml");
        assert_eq!(wrong.unwrap_err().problems[0].place.to_string(), "12:10");
        let script =
            "#!/bin/sh\nif [ -f x ]; then echo; fi\ncat > x.fio <<EOF\n[a]\nrw=read\nsize=1m\nEOF\nfio x.fio\n";
        assert_eq!(embedded(script)[0].line, 4);
    }

    #[test]
    fn two_jobs_are_two_and_other_brackets_are_none() {
        let page = "```ini\n[a]\nrw=read\n```\ntext\n```ini\n[b]\nrw=write\n```\n";
        assert_eq!(embedded(page).iter().map(|job| job.line).collect::<Vec<_>>(), [2, 7]);
        for text in ["[package]\nversion = 1\n", "x: [1, 2]\n", "[\n  1\n]\n", "", "[a]\ntext\n"] {
            assert_eq!(embedded(text), [], "{text}");
        }
    }
}
