//! `cat directory/*`: every file of one directory, one dependent read after the other.

use rand_pcg::Pcg64Mcg;

use super::parameter::{Parameter, ParameterKind};
use super::stepper::Stepper;
use super::tree::{DirectoryShape, Places, Walk, tree_parameters};
use super::{Launch, Program, ProgramProcess};

pub(super) const PROGRAM: Program = Program {
    name: "cat",
    about: "reads the files of a directory; each is known only after the previous one has been read",
    source: "Andrew Morton, 2002-09-26, \"Re: [PATCH] deadline io scheduler\"",
    parameters: tree_parameters!("31", "1KiB", "48KiB", "0.1ms";
        Parameter { name: "at", kind: ParameterKind::Place, default: "4%", doc: "where the directory lies" }
    ),
    processes,
};

fn processes(launch: &Launch<'_>) -> Result<Vec<ProgramProcess>, String> {
    let shape = DirectoryShape::of(launch)?;
    let at = launch.room("at", shape.most())?;
    let walk = Walk::new(shape, Once(Some(at)), launch.random(0, 0));
    let source = Stepper::new(launch.submitter(0), launch.at, walk);
    Ok(vec![ProgramProcess::new(launch.name.to_owned(), Box::new(source))])
}

/// One directory.
struct Once(Option<u64>);

impl Places for Once {
    fn next(&mut self, _random: &mut Pcg64Mcg) -> Option<u64> {
        self.0.take()
    }
}
