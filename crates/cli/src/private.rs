//! A folder for sockets that only this user may open.

use std::path::PathBuf;

use crate::failure::Failure;

/// A directory that only we can enter.
pub(crate) fn private_directory() -> Result<PathBuf, Failure> {
    use std::os::unix::fs::DirBuilderExt;
    let base = std::env::temp_dir();
    for nth in 0..1000u32 {
        let path = base.join(format!("blksched-{}-{nth}", std::process::id()));
        match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::Outside(format!("{}: {error}", path.display()))),
        }
    }
    Err(Failure::Outside(format!("{}: no room for a directory", base.display())))
}
