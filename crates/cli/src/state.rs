//! Where what is remembered between runs is kept.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use crate::output;

thread_local! {
    /// Where a test keeps it.
    static FOR_TEST: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// Runs `work`, which remembers things in this folder.
pub(crate) fn within<T>(folder: &Path, work: impl FnOnce() -> T) -> T {
    FOR_TEST.set(Some(folder.to_owned()));
    let result = work();
    FOR_TEST.take();
    result
}

/// `$XDG_STATE_HOME/blksched`, or below `~/.local/state`; `None` if neither that nor HOME is set, or if a test has said
/// no folder.
pub(crate) fn folder() -> Option<PathBuf> {
    if output::is_kept_for_test() {
        return FOR_TEST.with_borrow(Clone::clone);
    }
    let said = std::env::var_os("XDG_STATE_HOME").filter(|said| !said.is_empty()).map(PathBuf::from);
    let folder = said.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state")))?;
    Some(folder.join("blksched"))
}

/// Where the model that was measured of a disk of this machine is kept, whether it is there or not.
pub(crate) fn measured(disk: &str) -> Option<PathBuf> {
    let plain = disk.strip_prefix("/dev/").unwrap_or(disk);
    (!plain.is_empty() && !plain.contains('/')).then_some(())?;
    Some(folder()?.join("disks").join(format!("{plain}.toml")))
}
