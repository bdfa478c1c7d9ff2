//! No fit from benchmark results: the program was built without it, and says so where it is given some.

use std::path::PathBuf;

use crate::failure::Failure;

/// There are none.
pub(super) enum NoResults {}

/// `None`: whatever these files are, they are no results; an error for what looks like some.
pub(super) fn results(paths: &[PathBuf]) -> Result<Option<NoResults>, Failure> {
    let ends = |path: &PathBuf| path.extension().is_some_and(|end| end == "json" || end == "csv");
    match paths.iter().find(|path| path.is_dir() || ends(path)) {
        Some(path) => {
            let why = "benchmark results, and this program was built without the feature `fit`";
            Err(Failure::Input(format!("{}: {why}; expected a trace", path.display())))
        }
        None => Ok(None),
    }
}

/// Never called.
pub(super) fn disk(
    none: &NoResults,
    _device: Option<&str>,
    _attached: Option<blksched_disks::Attached>,
) -> Result<String, Failure> {
    match *none {}
}
