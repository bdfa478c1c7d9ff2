//! Stage 1: text into lines. Sections, settings and comments; nothing is known of options here.
//!
//! As fio has it: a line is `[section]`, `key=value` or a bare `key`; everything from the first `;` or `#` on is a
//! comment (tried with fio 3.33: in the middle of a line too). Looser than fio: white space around `=` is dropped.
//!
//! A line that is a comment and begins with `blksched:` holds an option that only this program knows, so that fio
//! accepts the same file unchanged: `; blksched: cgroup_files=io.max: rbps=1048576`.

use super::errors::Problem;
use super::place::{LineText, Word};

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    Section(Word<'a>),
    Setting {
        key: Word<'a>,
        value: Option<Word<'a>>,
    },
    /// An option of this program's own, in what fio takes for a comment.
    Own {
        key: Word<'a>,
        value: Option<Word<'a>>,
    },
    /// Another file's lines belong here.
    Include(Word<'a>),
}

/// Splits `text` into lines; invalid lines become problems, and the rest is still read.
pub(crate) fn scan(text: &str, of: u32) -> (Vec<Line<'_>>, Vec<Problem>) {
    let mut lines = Vec::new();
    let mut problems = Vec::new();
    let mut start = 0;
    for (index, raw) in text.split_inclusive('\n').enumerate() {
        let own = own_words(raw);
        let end = own.map_or(without_comment(raw).len(), |from| from + without_comment(&raw[from..]).len());
        let line = LineText { text: &raw[..end], start, number: index as u32 + 1, of };
        start += raw.len();
        match own.map_or_else(|| read(line), |from| Ok(Some(read_own(line, from)))) {
            Ok(Some(read)) => lines.push(read),
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
    }
    (lines, problems)
}

fn without_comment(raw: &str) -> &str {
    raw.split([';', '#']).next().unwrap_or(raw)
}

/// The beginning of a comment that is for this program, after its `;` or `#`.
pub(crate) const OWN: &str = "blksched:";

/// Where the option begins in a line that is such a comment.
fn own_words(raw: &str) -> Option<usize> {
    let comment = raw.trim_start().strip_prefix([';', '#'])?;
    let option = comment.trim_start().strip_prefix(OWN)?;
    Some(raw.len() - option.len())
}

fn read_own(line: LineText<'_>, from: usize) -> Line<'_> {
    let Some(equals) = line.text[from..].find('=') else {
        return Line::Own { key: line.word(from..line.text.len()), value: None };
    };
    let (key, value) = (line.word(from..from + equals), line.word(from + equals + 1..line.text.len()));
    Line::Own { key, value: Some(value) }
}

fn read(line: LineText<'_>) -> Result<Option<Line<'_>>, Problem> {
    let whole = line.word(0..line.text.len());
    if whole.text.is_empty() {
        return Ok(None);
    }
    if whole.text.starts_with('[') {
        return section(line).map(Some);
    }
    if whole.text.split_whitespace().next() == Some("include") && !whole.text.contains('=') {
        let from = line.text.find("include").map_or(0, |at| at + "include".len());
        let name = line.word(from..line.text.len());
        if name.text.is_empty() {
            return Err(Problem::new(whole.place, "`include` needs a file", "expected include NAME"));
        }
        return Ok(Some(Line::Include(name)));
    }
    let Some(equals) = line.text.find('=') else {
        return Ok(Some(Line::Setting { key: whole, value: None }));
    };
    let key = line.word(0..equals);
    if key.text.is_empty() {
        return Err(Problem::new(whole.place, "an option's name is missing before `=`", "expected name=value"));
    }
    Ok(Some(Line::Setting { key, value: Some(line.word(equals + 1..line.text.len())) }))
}

fn section(line: LineText<'_>) -> Result<Line<'_>, Problem> {
    let open = line.text.find('[').unwrap_or(0);
    let Some(length) = line.text[open..].rfind(']') else {
        let place = line.word(open..line.text.len()).place;
        return Err(Problem::new(place, "a section's name is not closed", "expected `]` on this line"));
    };
    let behind = &line.text[open + length + 1..];
    if behind.starts_with(char::is_whitespace) && !behind.trim().is_empty() {
        let rest = line.word(open + length + 1..line.text.len());
        return Err(Problem::new(rest.place, "there is text after a section's name", "expected the line to end"));
    }
    // fio's name of `[a]b` is `a]`: all but the first and the last letter (tried).
    let whole = line.text.trim_end();
    let last = whole.char_indices().next_back().map_or(open + length, |(at, _)| at);
    let close = last.max(open + length);
    let name = line.word(open + 1..close);
    if name.text.is_empty() {
        let place = line.word(open..close + 1).place;
        return Err(Problem::new(place, "a section has no name", "expected a job's name, or `global`"));
    }
    Ok(Line::Section(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<String> {
        let show = |line: &Line<'_>| match line {
            Line::Include(name) => format!("include {}@{}", name.text, name.place),
            Line::Section(name) => format!("[{}]@{}", name.text, name.place),
            Line::Own { key, value } => {
                let value = value.as_ref().map_or(String::new(), |value| format!("={}@{}", value.text, value.place));
                format!("own {}@{}{value}", key.text, key.place)
            }
            Line::Setting { key, value: None } => format!("{}@{}", key.text, key.place),
            Line::Setting { key, value: Some(value) } => {
                format!("{}@{}={}@{}", key.text, key.place, value.text, value.place)
            }
        };
        scan(text, 0).0.iter().map(show).collect()
    }

    #[test]
    fn words_know_line_and_column_in_characters() {
        assert_eq!(kinds("; c\n[ä b]\r\n\tbs = 4k ; blocks\nthread\n"), ["[ä b]@2:2", "bs@3:2=4k@3:7", "thread@4:1"]);
    }

    #[test]
    fn a_value_may_hold_further_equals_signs_and_a_comment_may_start_anywhere() {
        assert_eq!(kinds("filename=a=b#c=d\n#x\n"), ["filename@1:1=a=b@1:10"]);
    }

    #[test]
    fn a_comment_for_this_program_is_an_option_and_any_other_is_none() {
        let text = "; blksched: a_file = io.max: rbps=1 ; why\n #blksched:b\n; blkshed: c=1\nrw=read ; blksched: d=1\n";
        assert_eq!(kinds(text), ["own a_file@1:13=io.max: rbps=1@1:22", "own b@2:12", "rw@4:1=read@4:4"]);
    }

    #[test]
    fn a_byte_range_finds_the_word_in_the_file() {
        let text = "# é\n[a]\nrw=réad\n";
        let (lines, _) = scan(text, 0);
        let Line::Setting { value: Some(value), .. } = &lines[1] else { panic!("{lines:?}") };
        assert_eq!(&text[value.place.range.clone()], "réad");
    }

    #[test]
    fn malformed_lines_are_all_reported() {
        let (lines, problems) = scan("[a\n[]\n=4k\n[b] c\ninclude\n[b]c\n[ok]\n", 0);
        // A letter behind a name's end is taken for its end, as by fio.
        let sections =
            lines.iter().filter_map(|line| if let Line::Section(name) = line { Some(name.text) } else { None });
        assert_eq!(sections.collect::<Vec<_>>(), ["b]", "ok"]);
        let places: Vec<String> = problems.iter().map(|p| p.place.to_string()).collect();
        assert_eq!(places, ["1:1", "2:1", "3:1", "4:5", "5:1"]);
    }
}
