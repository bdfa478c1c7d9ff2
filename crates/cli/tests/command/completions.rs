//! What shells complete: each that is installed loads its script and is asked. What man pages look like to mandoc.
//!
//! Skipped, saying so, where a program is not installed; `BLKSCHED_REQUIRE_SHELLS=1` makes that a failure.

use std::path::Path;
use std::process::Command;

use blksched_testkit::Folder;

use super::{done, stdout};

/// What is typed, and what the shell then offers, in alphabetical order: a verb, an option, a name, a value.
const QUESTIONS: [(&str, &[&str]); 5] = [
    ("blksched comp", &["compare", "completions"]),
    ("blksched compare --d", &["--depth", "--disk"]),
    ("blksched compare --disk hdd-", &["hdd-7200", "hdd-7200-starves"]),
    ("blksched compare --starts ", &["as-said", "drawn"]),
    ("blksched list hdd-", &["hdd-7200", "hdd-7200-starves"]),
];

/// Calls the function that bash would call, in the same way; prints a line of answers for each question.
const BASH: &str = r#"
. "$1"; shift
function=$(complete -p blksched | sed 's/.*-F \([^ ]*\).*/\1/')
for line; do
    COMP_WORDS=($line)
    case $line in *' ') COMP_WORDS+=("") ;; esac
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
    "$function" blksched "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    echo "${COMPREPLY[*]}"
done
"#;

/// Types into an interactive zsh on a terminal of its own, and reads until the expected text appears: pairs of a
/// question and a pattern. It does not end if the text never appears.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty z zsh -f -i
setup="PS1=; PS2=; unsetopt beep; stty cols 200 rows 200; LISTMAX=9999; fpath=(${1:h} \$fpath)"
zpty -w z "$setup; autoload -Uz compinit; compinit -u -D; print rea''dy"
zpty -r -m z out '*ready*'
shift
for line pattern; do
    zpty -w -n z "$line"$'\t\t'
    zpty -r -m z out "$pattern" && print -r -- "$line"
    zpty -w -n z $'\x15'
done
"#;

/// Whether the program of this Debian package is installed.
fn is_here(program: &str) -> bool {
    blksched_testkit::is_here(program, program, "BLKSCHED_REQUIRE_SHELLS")
}

/// Runs a shell that finds our program, has no user configuration, and ends within two minutes; returns its output.
fn said_by(folder: &Folder, words: &[&str]) -> String {
    let own = Path::new(env!("CARGO_BIN_EXE_blksched")).parent().expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(own.to_owned()).chain(std::env::split_paths(&path)));
    let mut shell = Command::new("timeout");
    shell.arg("120").args(words).env("PATH", path.expect("no colons")).env("HOME", &**folder).env("TERM", "xterm");
    let output = blksched_testkit::output(&mut shell).expect("it runs");
    stdout(&output)
}

fn offers(shell: &str, question: &str, said: &str, words: &[&str]) {
    for word in words {
        assert!(
            said.split_whitespace().any(|offered| offered == *word),
            "{shell}: {question}: {word} is not in\n{said}"
        );
    }
}

#[test]
fn bash_completes_what_the_script_says() {
    let folder = Folder::new();
    let script = folder.written("blksched.bash", done(&["completions", "bash"]));
    let asking = folder.written("ask.bash", BASH);
    let mut words = vec!["bash", "--norc", asking.to_str().expect("UTF-8"), script.to_str().expect("UTF-8")];
    words.extend(QUESTIONS.map(|(question, _)| question));
    let said = said_by(&folder, &words);
    assert_eq!(said.lines().count(), QUESTIONS.len(), "{said}");
    for ((question, words), line) in QUESTIONS.iter().zip(said.lines()) {
        offers("bash", question, line, words);
    }
}

#[test]
fn zsh_completes_what_the_script_says() {
    if !is_here("zsh") {
        return;
    }
    let folder = Folder::new();
    let script = folder.written("_blksched", done(&["completions", "zsh"]));
    let asking = folder.written("ask.zsh", ZSH);
    let patterns = QUESTIONS.map(|(_, words)| format!("*{}*", words.join("*")));
    let mut words = vec!["zsh", "-f", asking.to_str().expect("UTF-8"), script.to_str().expect("UTF-8")];
    words.extend(QUESTIONS.iter().zip(&patterns).flat_map(|((question, _), pattern)| [*question, pattern]));
    let said = said_by(&folder, &words);
    assert_eq!(said.lines().collect::<Vec<_>>(), QUESTIONS.map(|(question, _)| question), "the next one has no answer");
}

#[test]
fn fish_completes_what_the_script_says() {
    if !is_here("fish") {
        return;
    }
    let folder = Folder::new();
    let script = folder.written("blksched.fish", done(&["completions", "fish"]));
    for (question, words) in QUESTIONS {
        let asking = format!("source '{}'; complete -C '{question}'", script.display());
        offers("fish", question, &said_by(&folder, &["fish", "--no-config", "-c", &asking]), words);
    }
}

#[test]
fn man_pages_have_no_errors() {
    if !is_here("mandoc") {
        return;
    }
    let folder = Folder::new();
    done(&["man", folder.to_str().expect("UTF-8")]);
    let pages = std::fs::read_dir(&*folder).expect("a folder").map(|page| page.expect("a page").path());
    let mut lint = Command::new("mandoc");
    let output = blksched_testkit::output(lint.args(["-T", "lint", "-W", "error"]).args(pages)).expect("it runs");
    assert!(output.status.success(), "{}", stdout(&output));
}
