//! Command lines that stand in a text as lists of words: `["fio", "--name=a"]` of a pod or of Python's `subprocess`,
//! and YAML's lists with a word a line.

/// Each list that calls fio, with its line and its words from `fio` on.
pub(super) fn lists(text: &str) -> Vec<(usize, Vec<String>)> {
    let mut found = bracketed(text);
    found.extend(dashed(text));
    found
}

fn called(words: Vec<String>) -> Option<Vec<String>> {
    let is_fio = |word: &String| word == "fio" || word.ends_with("/fio");
    let names = words.iter().any(|word| word.starts_with("--name") || word.starts_with("-name"));
    match words.iter().position(is_fio) {
        Some(at) if words.len() > at + 1 => Some(words[at..].to_vec()),
        None if names => Some(std::iter::once("fio".to_owned()).chain(words).collect()),
        _ => None,
    }
}

/// `["a", "b"]`, over several lines too.
fn bracketed(text: &str) -> Vec<(usize, Vec<String>)> {
    let lists = text.match_indices('[').filter_map(|(at, _)| {
        let words = called(quoted_words(&text[at + 1..])?)?;
        Some((text[..at].matches('\n').count() + 1, words))
    });
    lists.collect()
}

/// The quoted words up to `]`; `None` if anything else stands there.
fn quoted_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        if rest.starts_with(']') {
            return Some(words);
        }
        // Python's f"…" too.
        let open = rest.strip_prefix('f').unwrap_or(rest);
        let quote = open.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
        let (word, behind) = open[1..].split_once(quote)?;
        words.push(word.to_owned());
        rest = behind;
    }
}

/// `- --name=a` and the lines below it.
fn dashed(text: &str) -> Vec<(usize, Vec<String>)> {
    let item = |line: &str| {
        let word = line.trim().strip_prefix("- ")?.trim().trim_matches(['"', '\'']);
        (word == "fio" || word.starts_with('-')).then(|| word.to_owned())
    };
    let (mut found, mut words, mut begin) = (Vec::new(), Vec::new(), 0);
    for (at, line) in text.lines().chain([""]).enumerate() {
        match item(line) {
            Some(word) => {
                if words.is_empty() {
                    begin = at + 1;
                }
                words.push(word);
            }
            None => found.extend(called(std::mem::take(&mut words)).map(|words| (begin, words))),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, String)> {
        lists(text).into_iter().map(|(line, words)| (line, words.join(" "))).collect()
    }

    #[test]
    fn a_call_is_found_in_a_list_of_words() {
        let pod = "spec:\n  command: [\"fio\"]\n  args: [\"--name=test\", '--rw=randread',\"--size=1g\"]\n";
        assert_eq!(found(pod), [(3, "fio --name=test --rw=randread --size=1g".to_owned())]);
        let python = "r = run([\n    \"fio\", \"--name=a\",\n    f\"--filename={x}\",\n], text=True)\n";
        assert_eq!(found(python), [(1, "fio --name=a --filename={x}".to_owned())]);
        let list = "args:\n  - --name=a\n  - \"--rw=read\"\n  - --size=1g\nother: 1\n";
        assert_eq!(found(list), [(2, "fio --name=a --rw=read --size=1g".to_owned())]);
    }

    #[test]
    fn other_lists_are_none() {
        for text in ["x[1]", "[\"a\", \"b\"]", "[job1]\nrw=read", "- --help\n", "[\"fio\"]", "[\"a", "[", "- a\n- b"] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
