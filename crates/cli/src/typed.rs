//! fio's options on the command line: `--name=a --rw=randread --name=b`, or a whole line of fio's, for the verbs that
//! run jobs.

use std::ffi::OsString;

use blksched_workloads::fio::{OwnOption, Typed, command_line};
use clap::{ArgAction, Command, CommandFactory};

use crate::args::{Arguments, Verb};

/// The verbs that accept them; to any other verb, fio's options are unknown arguments.
const VERBS: [&str; 3] = ["compare", "simulate", "explain"];

/// Separates blksched's own arguments from what fio's options say.
pub(crate) fn split(arguments: impl Iterator<Item = OsString>) -> (Vec<OsString>, Typed) {
    let mut words: Vec<OsString> = arguments.collect();
    let verb = words.get(1).and_then(|verb| verb.to_str()).filter(|verb| VERBS.contains(verb));
    let Some(verb) = verb.map(str::to_owned) else { return (words, Typed::default()) };
    let behind = words.split_off(2);
    // A name that is no text can only be a file's.
    let (texts, files): (Vec<_>, Vec<_>) = behind.into_iter().partition(|word| word.to_str().is_some());
    let texts = texts.into_iter().filter_map(|word| word.into_string().ok()).collect();
    let command = Arguments::command();
    let own = |name: &str| own_option(&command, &verb, name);
    let (rest, typed) = command_line::split(texts, &own);
    words.extend(rest.into_iter().map(OsString::from).chain(files));
    (words, typed)
}

/// What this option of blksched's does with the next word, if the verb has it.
fn own_option(command: &Command, verb: &str, name: &str) -> Option<OwnOption> {
    let verb = command.find_subcommand(verb)?;
    let everywhere = ["help", "version"].contains(&name).then_some(OwnOption::Alone);
    let all = verb.get_arguments().chain(command.get_arguments());
    let own = all.into_iter().find(|word| word.get_long() == Some(name)).map(|word| match word.get_action() {
        ArgAction::Set | ArgAction::Append => OwnOption::TakesWord,
        _ => OwnOption::Alone,
    });
    own.or(everywhere)
}

impl Verb {
    /// Gives a verb that runs jobs what was typed besides.
    pub(crate) fn take(&mut self, typed: Typed) {
        let json = typed.json;
        match self {
            Verb::Compare(compare) => {
                compare.json |= json && !compare.csv && !compare.markdown && compare.emit.is_none();
                compare.scene.typed = typed;
            }
            Verb::Simulate(simulate) => {
                if json && !simulate.json {
                    simulate.output_format = crate::simulate::OutputFormat::Json;
                }
                simulate.scene.typed = typed;
            }
            Verb::Explain(explain) => explain.scene.typed = typed,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blksched_workloads::fio::{is_option, is_own};

    #[test]
    fn fios_options_make_a_job_file_and_the_others_stay() {
        let own = "blksched compare --threads 2 --disk ide-2002";
        let line = format!("{own} --name=a --rw=randread --group_reporting x.fio --name=b --seeds=2");
        let (rest, typed) = split(line.split(' ').map(OsString::from));
        assert_eq!(
            rest.join(std::ffi::OsStr::new(" ")),
            "blksched compare --threads 2 --disk ide-2002 x.fio --seeds=2"
        );
        assert_eq!(typed.text.unwrap().text, "[a]\nrw=randread\ngroup_reporting\n[b]\n");
        let (rest, typed) = split("blksched compare --frobnicate=1".split(' ').map(OsString::from));
        assert_eq!((rest.len(), typed), (3, Typed::default()));
    }

    #[test]
    fn verbs_that_run_no_jobs_are_left_to_refuse_them() {
        for words in ["blksched experiment --rw=read", "blksched serve --export a=x --size=5", "blksched", ""] {
            let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
            assert_eq!(split(words.clone().into_iter()), (words, Typed::default()));
        }
    }

    /// What blksched and fio both have belongs to blksched, unless `fio` stands before it: none of them may be an
    /// option that a job needs.
    #[test]
    fn what_both_have_is_known() {
        let command = Arguments::command();
        let mut both: Vec<String> = Vec::new();
        for verb in VERBS {
            let words = command.find_subcommand(verb).unwrap().get_arguments();
            let names = words.filter_map(|word| word.get_long()).filter(|name| is_option(name) && !is_own(name));
            both.extend(names.map(str::to_owned));
        }
        both.sort();
        both.dedup();
        assert_eq!(both, ["threads"]);
    }
}
