//! fio's options on the command line: `--name=a --rw=randread --name=b`, as a job file, for the verbs that run jobs.

use std::ffi::OsString;

use blksched_workloads::fio::{Text, is_option};
use clap::CommandFactory;

use crate::args::Arguments;

/// The name of typed options in messages.
const COMMAND_LINE: &str = "command line";

/// The job file that they make; `None` if there are none.
pub(crate) fn job_file(typed: Option<String>) -> Option<Text> {
    typed.map(|text| Text { name: COMMAND_LINE.to_owned(), text })
}

/// An option of blksched itself takes precedence over fio's (`--threads`).
fn is_own(name: &str) -> bool {
    let command = Arguments::command();
    let mut words = command.get_subcommands().flat_map(|verb| verb.get_arguments());
    words.any(|word| word.get_long() == Some(name))
}

/// The verbs that accept them; to any other verb, fio's options are unknown arguments.
const VERBS: [&str; 3] = ["compare", "simulate", "explain"];

/// Separates blksched's own arguments from the job file that fio's options make; each `--name` begins a job.
pub(crate) fn split(mut arguments: impl Iterator<Item = OsString>) -> (Vec<OsString>, Option<String>) {
    let (mut rest, mut typed): (Vec<OsString>, _) = (arguments.by_ref().take(2).collect(), String::new());
    if !rest.get(1).is_some_and(|verb| VERBS.iter().any(|known| verb == known)) {
        rest.extend(arguments);
        return (rest, None);
    }
    for argument in arguments {
        let option = argument.to_str().and_then(|argument| argument.strip_prefix("--"));
        let name = |option: &&str| option.split('=').next().map(str::to_owned).unwrap_or_default();
        let option = option.filter(|option| is_option(&name(option)) && !is_own(&name(option)));
        match option.map(|option| (option, option.strip_prefix("name="))) {
            None => rest.push(argument),
            Some((_, Some(name))) => typed += &format!("[{}]\n", name.replace(['\n', ']'], "_")),
            Some((option, None)) => typed += &format!("{}\n", option.replace('\n', " ")),
        }
    }
    (rest, (!typed.is_empty()).then_some(typed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fios_options_make_a_job_file_and_the_others_stay() {
        let own = "blksched compare --threads 2 --disk ide-2002";
        let typed = format!("{own} --name=a --rw=randread --group_reporting x.fio --name=b --seeds=2");
        let (rest, job) = split(typed.split(' ').map(OsString::from));
        assert_eq!(
            rest.join(std::ffi::OsStr::new(" ")),
            "blksched compare --threads 2 --disk ide-2002 x.fio --seeds=2"
        );
        assert_eq!(job.as_deref(), Some("[a]\nrw=randread\ngroup_reporting\n[b]\n"));
        assert_eq!(split("blksched compare --frobnicate=1".split(' ').map(OsString::from)).1, None);
    }

    #[test]
    fn verbs_that_run_no_jobs_are_left_to_refuse_them() {
        for words in ["blksched experiment --rw=read", "blksched serve --export a=x --size=5", "blksched", ""] {
            let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
            assert_eq!(split(words.clone().into_iter()), (words, None));
        }
    }
}
