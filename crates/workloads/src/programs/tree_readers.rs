//! Several processes that read whole trees of small files for as long as the run lasts: `cat` of five kernel trees.
//!
//! **Model** Each tree has a region of its own. Its directories are scattered there (ext2 of 2002 spread directories
//! over its block groups), and are read in an order unrelated to their position.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::parameter::{Parameter, ParameterKind};
use super::stepper::Stepper;
use super::tree::{BLOCK, DirectoryShape, Places, Walk, tree_parameters};
use super::{Launch, Program, ProgramProcess};

pub(super) const PROGRAM: Program = Program {
    name: "tree-readers",
    about: "processes that each read a tree of small files forever, directory by directory",
    source: "Andrew Morton, 2002-09-26, \"Re: [PATCH] deadline io scheduler\"",
    parameters: tree_parameters!("20", "4KiB", "64KiB", "0.3ms";
        Parameter { name: "trees", kind: ParameterKind::Count, default: "5", doc: "number of trees, one process each" },
        Parameter { name: "tree", kind: ParameterKind::Bytes, default: "512MiB", doc: "how far a tree is scattered" },
        Parameter { name: "at", kind: ParameterKind::Place, default: "10%", doc: "where the first tree lies" },
        Parameter { name: "apart", kind: ParameterKind::Bytes, default: "2GiB", doc: "distance between two trees" },
    ),
    processes,
};

fn processes(launch: &Launch<'_>) -> Result<Vec<ProgramProcess>, String> {
    let shape = DirectoryShape::of(launch)?;
    let trees = launch.settings.some("trees", 10_000)?;
    let (tree, apart) = (launch.settings.sectors("tree"), launch.settings.sectors("apart"));
    if tree < shape.most() {
        return Err(format!("`tree` is smaller than one directory may be ({} KiB)", shape.most() / 2));
    }
    let at = launch.room("at", (u64::from(trees - 1) * apart).saturating_add(tree))?;
    let process = |nth: u32| {
        let from = at + u64::from(nth) * apart;
        let places = Scattered { from, to: from + tree - shape.most() };
        let walk = Walk::new(shape.clone(), places, launch.random(nth, 0));
        let source = Box::new(Stepper::new(launch.submitter(nth), launch.at, walk));
        ProgramProcess::new(launch.process_name(nth, trees), source)
    };
    Ok((0..trees).map(process).collect())
}

/// Directories anywhere in a region, endlessly.
struct Scattered {
    from: u64,
    to: u64,
}

impl Places for Scattered {
    fn next(&mut self, random: &mut Pcg64Mcg) -> Option<u64> {
        Some(random.random_range(self.from..=self.to) / BLOCK * BLOCK)
    }
}
