//! Completions and man pages, from the same description as the parser.

use std::fs;
use std::path::Path;

use blksched::Catalogue;
use blksched_workloads::BUILTINS;
use blksched_workloads::programs::PROGRAMS;
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};

use crate::args::Arguments;
use crate::failure::Failure;
use crate::output;

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut command = with_names(Arguments::command());
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "blksched", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if shell == clap_complete::Shell::Fish {
        script.extend(command.get_subcommands().flat_map(names_for_fish));
    }
    Ok(output::print(&script)?)
}

/// Completions for positional arguments with known names, as clap's script for fish completes options only.
fn names_for_fish(verb: &Command) -> Vec<String> {
    let line = |argument: &clap::Arg| {
        let values = argument.get_possible_values();
        let names: Vec<_> = values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name()).collect();
        let condition = format!("__fish_blksched_using_subcommand {}", verb.get_name());
        (!names.is_empty()).then(|| format!("complete -c blksched -n \"{condition}\" -a \"{}\"\n", names.join(" ")))
    };
    verb.get_positionals().filter_map(line).collect()
}

/// The command as a shell should complete it: with the names of schedulers, disks, workloads and experiments. (Files,
/// variants and RAIDs are accepted too.)
fn with_names(command: Command) -> Command {
    let schedulers: Vec<&'static str> = Catalogue::builtin().entries().iter().map(|entry| entry.name).collect();
    let disks: Vec<&'static str> = blksched_disks::preset_names().collect();
    let builtins = BUILTINS.iter().map(|builtin| builtin.name);
    let workloads: Vec<&'static str> = builtins.chain(PROGRAMS.iter().map(|program| program.name)).collect();
    let listed = [&schedulers[..], &disks, &workloads].concat();
    let names = [
        ("compare", "elevators", schedulers.clone()),
        ("compare", "tune", schedulers.clone()),
        ("compare", "disk", disks.clone()),
        ("compare", "jobs", workloads.clone()),
        ("simulate", "elevator", schedulers.clone()),
        ("simulate", "disk", disks.clone()),
        ("simulate", "jobs", workloads.clone()),
        ("explain", "elevator", schedulers.clone()),
        ("explain", "disk", disks.clone()),
        ("explain", "jobs", workloads.clone()),
        ("matrix", "disks", disks),
        ("matrix", "workloads", workloads),
        ("matrix", "elevators", schedulers),
        ("list", "what", listed),
    ];
    names.into_iter().fold(command, |command, (verb, argument, names)| {
        let parser = PossibleValuesParser::new(names);
        command.mut_subcommand(verb, |verb| verb.mut_arg(argument, |argument| argument.value_parser(parser)))
    })
}

/// One page for the command, and one for each verb and subcommand. Each is written beside its place and renamed when
/// complete.
pub(crate) fn man_pages(directory: &Path) -> Result<(), Failure> {
    let at = |error: std::io::Error| Failure::Outside(format!("{}: {error}", directory.display()));
    fs::create_dir_all(directory).map_err(at)?;
    let mut command = Arguments::command();
    command.build();
    for page in with_verbs(&command) {
        let name = page.get_display_name().unwrap_or_else(|| page.get_name()).to_owned();
        let mut text = Vec::new();
        clap_mangen::Man::new(page.clone()).render(&mut text).map_err(at)?;
        let path = directory.join(format!("{name}.1"));
        let partial = directory.join(format!(".{name}.1.partial"));
        fs::write(&partial, text).and_then(|()| fs::rename(&partial, &path)).map_err(at)?;
    }
    Ok(())
}

/// The command, its verbs, their subcommands, and so on.
fn with_verbs(command: &Command) -> Vec<&Command> {
    let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help");
    std::iter::once(command).chain(verbs.flat_map(with_verbs)).collect()
}
