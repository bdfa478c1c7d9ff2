//! A line that people paste, as a shell would read it: which of its commands call fio, and with which words.
//!
//! **Rule** quotes, backslashes and comments as in a shell; a command ends at `;`, `&`, `|` or a line's end, unless the
//! next line begins with an option; where its output goes is left out. Nothing is substituted or run, except that
//! `$(nproc)` is fio's `$ncpus`. What mails and pages put around a command is passed over: `> `, `1. `, `**`, back
//! quotes, a prompt, `=3D`.

use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

use super::command_line::{is_fio, is_launcher, is_prompt, option};

/// The commands of fio in a text, each with its launcher; none in the name of a file, or in a single word.
pub fn commands_in(text: &str) -> Vec<Vec<String>> {
    if !text.contains(char::is_whitespace) || !text.contains("fio") || Path::new(text).exists() {
        return Vec::new();
    }
    calls(&plain(text))
}

/// The quote that is opened in a text and not closed, also inside `$(…)` and back quotes.
pub(super) fn unclosed_quote(text: &str) -> Option<char> {
    let shell = Shell::read(text);
    shell.unclosed.or_else(|| shell.inside.iter().find_map(|inner| unclosed_quote(inner)))
}

/// The words of all commands of a text.
pub(super) fn words(text: &str) -> Vec<String> {
    Shell::read(text).commands.concat()
}

/// What people quote, without the marks around it.
fn plain(text: &str) -> String {
    let is_encoded = text.contains("=3D") && text.matches('=').count() == text.matches("=3D").count();
    let decoded = if is_encoded { text.replace("=3D", "=") } else { text.to_owned() };
    let mut rest = decoded.trim();
    loop {
        let before = rest;
        rest = rest.trim_start_matches(['>', '`', '*', '|']).trim_start();
        rest = rest.strip_prefix("- ").unwrap_or(rest);
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_item = number.len() < rest.len() && (number.starts_with(". ") || number.starts_with(") "));
        rest = if is_item { &number[2..] } else { rest };
        if rest == before {
            break;
        }
    }
    let is_marked = rest.len() < decoded.trim().len();
    (if is_marked { rest.trim_end_matches(['`', '*']) } else { rest }).to_owned()
}

fn calls(text: &str) -> Vec<Vec<String>> {
    let Shell { commands, inside, .. } = Shell::read(text);
    let mut found: Vec<Vec<String>> = commands.iter().filter_map(|words| call(words)).collect();
    // In `x=$(fio …)`, between back quotes, or in the quotes of `sh -c '…'`; each is shorter than the whole.
    let within = inside.iter().chain(commands.iter().flatten().filter(|_| found.is_empty() && inside.is_empty()));
    let deeper: Vec<_> = within
        .filter(|inner| inner.len() < text.len() && inner.contains("fio") && inner.contains(' '))
        .flat_map(|inner| calls(inner))
        .collect();
    found.extend(deeper);
    found
}

/// The words of a command that calls fio, from its launcher on.
fn call(words: &[String]) -> Option<Vec<String>> {
    const KEYWORDS: [&str; 7] = ["do", "then", "else", "if", "while", "!", "{"];
    let keywords = words.iter().take_while(|word| KEYWORDS.contains(&word.as_str())).count();
    let words = &words[keywords..];
    let at = words.iter().position(|word| is_fio(word))?;
    let says = |word: &String| is_prompt(word) || word.ends_with(':');
    let from = match words[..at].iter().rposition(says) {
        _ if at == 0 || is_launcher(&words[0]) => 0,
        Some(prompt) => prompt + 1,
        None => return None,
    };
    let has_jobs = words[at + 1..].iter().any(|word| option(word).is_some() || word.ends_with(".fio") || word == "-");
    let processors = |word: &String| word.replace("$(nproc)", "$ncpus").replace("`nproc`", "$ncpus");
    has_jobs.then(|| words[from..].iter().map(processors).collect())
}

/// A text on its way into words.
struct Shell<'t> {
    letters: Peekable<Chars<'t>>,
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: String,
    has_word: bool,
    /// The next word is a file of a redirection.
    is_target: bool,
    /// Open parentheses of commands.
    open: u32,
    /// Commands whose output would be part of a word.
    inside: Vec<String>,
    /// The quote that the end of the text left open.
    unclosed: Option<char>,
}

impl Shell<'_> {
    fn read(text: &str) -> Shell<'_> {
        let mut shell = Shell {
            letters: text.chars().peekable(),
            commands: Vec::new(),
            words: Vec::new(),
            word: String::new(),
            has_word: false,
            is_target: false,
            open: 0,
            inside: Vec::new(),
            unclosed: None,
        };
        while let Some(letter) = shell.letters.next() {
            shell.take(letter);
        }
        shell.end_command();
        shell
    }

    fn take(&mut self, letter: char) {
        match letter {
            '\'' => self.quoted('\''),
            '"' => self.quoted('"'),
            '\\' => self.escaped(),
            '`' => self.substituted('`'),
            '$' if self.letters.peek() == Some(&'(') => self.substituted(')'),
            '\n' if !self.goes_on() => self.end_command(),
            '#' if !self.has_word && self.words.is_empty() => {
                // A prompt, or a command that is commented out.
                self.put('#');
                self.end_word();
            }
            '#' if !self.has_word => while self.letters.next_if(|letter| *letter != '\n').is_some() {},
            '&' if self.letters.peek() == Some(&'>') => self.end_word(),
            ';' | '&' | '|' => self.end_command(),
            '<' if self.is_placeholder() => self.put('<'),
            '>' if self.word.contains('<') => self.put('>'),
            '<' | '>' => self.redirect(),
            '(' if !self.has_word => {
                self.open += 1;
                self.end_command();
            }
            ')' if self.open > 0 => {
                self.open -= 1;
                self.end_command();
            }
            letter if letter.is_whitespace() => self.end_word(),
            letter => self.put(letter),
        }
    }

    fn put(&mut self, letter: char) {
        self.word.push(letter);
        self.has_word = true;
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if std::mem::take(&mut self.has_word) && !std::mem::take(&mut self.is_target) {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.is_target = false;
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }

    /// Whether the next line belongs to this command although nothing at the line's end says so.
    fn goes_on(&self) -> bool {
        let next = self.letters.clone().find(|letter| !letter.is_whitespace());
        self.open == 0 && next == Some('-')
    }

    fn quoted(&mut self, quote: char) {
        self.has_word = true;
        while let Some(letter) = self.letters.next() {
            match letter {
                letter if letter == quote => return,
                // In quotes a backslash is one, but before these.
                '\\' if quote == '"' && matches!(self.letters.peek(), Some('$' | '`' | '"' | '\\' | '\n' | '\r')) => {
                    self.escaped();
                }
                '$' if quote == '"' && self.letters.peek() == Some(&'(') => self.substituted(')'),
                letter => self.word.push(letter),
            }
        }
        self.unclosed.get_or_insert(quote);
    }

    fn escaped(&mut self) {
        match self.letters.next() {
            // A line that goes on, perhaps pasted into one line.
            Some('\n') | None => {}
            Some('\r') => drop(self.letters.next_if_eq(&'\n')),
            Some(' ' | '\t') if !self.has_word => {}
            Some(letter) => self.put(letter),
        }
    }

    /// `$(…)` or back quotes, which stay in the word as they are.
    fn substituted(&mut self, end: char) {
        let (mut inner, mut depth) = (String::new(), 0);
        if end == ')' {
            self.letters.next();
        }
        loop {
            match self.letters.next() {
                None => {
                    self.unclosed = self.unclosed.or((end == '`').then_some(end));
                    break;
                }
                Some(letter) if letter == end && depth == 0 => break,
                Some(letter) => {
                    depth += i32::from(letter == '(') - i32::from(letter == ')' && depth > 0);
                    inner.push(letter);
                }
            }
        }
        let (open, close) = if end == ')' { ("$(", ")") } else { ("`", "`") };
        self.word += &format!("{open}{inner}{close}");
        self.has_word = true;
        self.inside.push(inner);
    }

    /// `<device>`, as in a manual.
    fn is_placeholder(&self) -> bool {
        let mut rest = self.letters.clone();
        let name = |letter: &char| letter.is_alphanumeric() || "_- ".contains(*letter);
        let mut length = 0;
        while rest.next_if(name).is_some() {
            length += 1;
        }
        length > 0 && rest.next() == Some('>')
    }

    /// `>`, `2>&1`, `<<EOF`: the file is left out, with the number before it.
    fn redirect(&mut self) {
        if self.word.bytes().all(|byte| byte.is_ascii_digit()) {
            self.word.clear();
            self.has_word = false;
        }
        self.end_word();
        while self.letters.next_if(|letter| "<>&|-".contains(*letter)).is_some() {}
        self.is_target = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        commands_in(text).iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn a_call_is_found_in_what_stands_around_it() {
        let call = "fio --name=a --bs=4k";
        for text in [
            "fio --name=a --bs=4k > out.txt 2>&1",
            "fio --name=a --bs=4k >/dev/null 2>&1 &",
            "fio --name=a --bs=4k 2>/dev/null | grep -E \"read:|write:\" | head -2",
            "fio --name=a --bs=4k | awk '{ print $2}'",
            "fio --name=a --bs=4k; sleep 10; done",
            "sync;fio --name=a --bs=4k # a comment",
            "#fio --name=a --bs=4k",
            "fio --name=a \\    --bs=4k",
            "fio --name=a \\\n  --bs=4k",
            "fio --name=a\n  --bs=4k\n",
            "guest $ fio --name=a --bs=4k",
            "> > >>1. fio --name=3Da --bs=3D4k",
            "- **fio --name=a --bs=4k**",
            "Example: `fio --name=a --bs=4k`",
            "result=$(fio --name=a --bs=4k 2>&1)",
            "for i in 1 2 3; do fio --name=a --bs=4k; done",
            "(cd /mnt && fio --name=a --bs=4k)",
            "bpftrace -e 'kprobe:x { @ = count(); }' -c \"fio --name=a --bs=4k\"",
            "fio --name=a --bs=4k <<EOF",
        ] {
            let calls = found(text);
            let ours = calls.iter().map(|call| call.trim_start_matches("# ")).collect::<Vec<_>>();
            assert_eq!(ours, [call], "{text}");
        }
    }

    #[test]
    fn words_keep_what_a_shell_would_keep_in_them() {
        assert_eq!(found("fio --name=\"a b\" --filename=/mnt/my\\ disk"), ["fio --name=a b --filename=/mnt/my disk"]);
        assert_eq!(found(r#"fio --name=a --filename="/x\:0 \"b\"""#), [r#"fio --name=a --filename=/x\:0 "b""#]);
        assert_eq!(found("fio --name=a --filename=/dev/<disk>"), ["fio --name=a --filename=/dev/<disk>"]);
        assert_eq!(found("fio --name=t-`date +%s` --bs=4k"), ["fio --name=t-`date +%s` --bs=4k"]);
        assert_eq!(found("fio --name=a --numjobs=$(nproc)"), ["fio --name=a --numjobs=$ncpus"]);
        assert_eq!(found("fio --name=a && fio --name=b"), ["fio --name=a", "fio --name=b"]);
    }

    #[test]
    fn a_quote_that_is_not_closed_is_found_wherever_it_opens() {
        for (text, quote) in [
            ("fio --name='a", '\''),
            ("`fio --name='a --bs=4k`", '\''),
            ("x=$(fio --name=\"a --bs=4k)", '"'),
            ("Example: `fio --name=a --bs=4k", '`'),
        ] {
            assert_eq!(unclosed_quote(text), Some(quote), "{text}");
        }
        for text in ["`fio --name='a b'`", "x=$(fio --name=\"a b\")", "fio --name=a"] {
            assert_eq!(unclosed_quote(text), None, "{text}");
        }
    }

    #[test]
    fn other_commands_are_none_of_fios() {
        for text in ["apt install fio", "man fio | less", "echo fio is nice", "fio", "ls -l fio", "cat fio.txt --x"] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
        assert_eq!(words("a 'b c' d;e"), ["a", "b c", "d", "e"]);
    }
}
