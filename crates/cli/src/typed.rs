//! fio's options on the command line: `--name=a --rw=randread --name=b`, as a job file.

use std::ffi::OsString;

use blksched_workloads::fio::is_option;
use clap::CommandFactory;

use crate::args::Arguments;

/// A word of blksched's own goes before fio's (`--threads`).
fn is_own(name: &str) -> bool {
    let command = Arguments::command();
    let mut words = command.get_subcommands().flat_map(|verb| verb.get_arguments());
    words.any(|word| word.get_long() == Some(name))
}

/// What is left for blksched, and the job file that fio's options make; each `--name` begins a job.
pub(crate) fn split(arguments: impl Iterator<Item = OsString>) -> (Vec<OsString>, Option<String>) {
    let (mut rest, mut typed) = (Vec::new(), String::new());
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
        assert_eq!(split([OsString::from("--frobnicate=1")].into_iter()).1, None);
    }
}
