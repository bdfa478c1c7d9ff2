//! Completions and man pages, from the same description as the parser.

use std::fs;
use std::path::Path;

use clap::CommandFactory;

use crate::args::Arguments;
use crate::failure::Failure;
use crate::output;

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "blksched", &mut script);
    Ok(output::print(&String::from_utf8_lossy(&script))?)
}

/// One page for the command and one per verb. Each is written beside its place and moved there when it is whole.
pub(crate) fn man_pages(directory: &Path) -> Result<(), Failure> {
    let at = |error: std::io::Error| Failure::Outside(format!("{}: {error}", directory.display()));
    fs::create_dir_all(directory).map_err(at)?;
    let mut command = Arguments::command();
    command.build();
    let verbs: Vec<_> = command.get_subcommands().filter(|verb| verb.get_name() != "help").cloned().collect();
    for page in std::iter::once(command).chain(verbs) {
        let name = match page.get_display_name() {
            Some(name) => name.to_owned(),
            None => page.get_name().to_owned(),
        };
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text).map_err(at)?;
        let path = directory.join(format!("{name}.1"));
        let partial = directory.join(format!(".{name}.1.partial"));
        fs::write(&partial, text).and_then(|()| fs::rename(&partial, &path)).map_err(at)?;
    }
    Ok(())
}
