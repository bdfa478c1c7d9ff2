//! Where what is remembered between runs is kept.

use std::path::PathBuf;

/// `$XDG_STATE_HOME/blksched`, or below `~/.local/state`; `None` if neither that nor HOME is set.
pub(crate) fn folder() -> Option<PathBuf> {
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
