//! Files appear only when they are whole: written beside their place, and renamed. What stands there and is no file
//! (`/dev/null`, a pipe) stays what it is, and gets the bytes.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// The whole file `half` becomes `to`.
pub(crate) fn becomes(half: &Path, to: &Path) -> io::Result<()> {
    if !is_special(to) {
        return fs::rename(half, to);
    }
    let copied = OpenOptions::new().write(true).open(to).and_then(|mut to| io::copy(&mut File::open(half)?, &mut to));
    fs::remove_file(half)?;
    copied.map(drop)
}

/// Writes `text` into `to`, where it appears only when it is whole.
pub(crate) fn write(to: &Path, text: &str) -> io::Result<()> {
    if is_special(to) {
        return fs::write(to, text);
    }
    let mut half = to.as_os_str().to_owned();
    half.push(".half");
    fs::write(&half, text).and_then(|()| becomes(Path::new(&half), to))
}

/// Refuses a file, named by this option, that could not be written when the work is done.
pub(crate) fn has_a_place(option: &str, file: &Path) -> Result<(), String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.is_dir() {
        true => Ok(()),
        false => Err(format!("{option} {}: no folder {}", file.display(), folder.display())),
    }
}

/// Whether a device, a pipe or a socket has this name: a rename would replace it.
pub(crate) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;
    use blksched_testkit::Folder;

    #[test]
    fn a_file_whose_folder_is_missing_is_refused_before_the_work() {
        let folder = Folder::new();
        assert!(
            has_a_place("--share", &folder.path("x.json")).is_ok() && has_a_place("--share", Path::new("x")).is_ok()
        );
        let refused = has_a_place("--share", &folder.path("no/x.json")).unwrap_err();
        assert!(refused.contains("--share ") && refused.contains("no folder "), "{refused}");
    }

    #[test]
    fn a_file_is_replaced() {
        let folder = Folder::new();
        let (half, to) = (folder.path("half"), folder.path("to"));
        write(&to, "old").unwrap();
        fs::write(&half, "new").unwrap();
        becomes(&half, &to).unwrap();
        assert_eq!((fs::read_to_string(&to).unwrap().as_str(), half.exists()), ("new", false));
    }

    /// A run as root that was asked for `--output=/dev/null` replaced it with a file.
    #[cfg(unix)]
    #[test]
    fn what_is_no_file_stays_what_it_is() {
        use std::os::unix::fs::FileTypeExt;
        let folder = Folder::new();
        let (half, to) = (folder.path("half"), folder.path("to"));
        let _listener = std::os::unix::net::UnixListener::bind(&to).unwrap();
        fs::write(&half, "new").unwrap();
        // A socket cannot be written to by its name.
        assert!(becomes(&half, &to).is_err() && write(&to, "new").is_err());
        assert!(fs::metadata(&to).unwrap().file_type().is_socket() && !half.exists());
        assert!(fs::read_dir(&*folder).unwrap().count() == 1);
    }
}
