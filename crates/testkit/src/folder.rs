//! A folder that goes with its test.

use std::fs;
use std::io::ErrorKind;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of a test's own, empty at first, removed with all in it when it is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes one. Its path is short, as that of a socket must be, and is on a real file system where there is one, as
    /// `O_DIRECT` wants.
    ///
    /// # Panics
    /// If it cannot be made.
    #[allow(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let base = Some(PathBuf::from("/var/tmp")).filter(|path| path.is_dir()).unwrap_or_else(std::env::temp_dir);
        // A killed process with our number may have left a folder behind, even one that something is mounted in.
        loop {
            let name = format!("blksched-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = base.join(name);
            match fs::create_dir(&path) {
                Ok(()) => return Folder(path),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => panic!("making {}: {error}", path.display()),
            }
        }
    }

    /// The path of a file in it, which need not exist.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The same as text.
    ///
    /// # Panics
    /// If the folder for temporary files has a name that is no text.
    pub fn text(&self, name: &str) -> String {
        self.path(name).into_os_string().into_string().expect("a temporary folder's name is text")
    }

    /// Writes a file, and returns its path.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn written(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("writing {}: {error}", path.display()));
        path
    }

    /// Makes a sparse file of this size \[bytes\], and returns its path as text.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn file(&self, name: &str, size: u64) -> String {
        let made = fs::File::create(self.path(name)).and_then(|file| file.set_len(size));
        made.unwrap_or_else(|error| panic!("making {name} of {size} bytes: {error}"));
        self.text(name)
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What ends slowly may still hold a file.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_another_and_goes_with_all_in_it() {
        let (one, other) = (Folder::new(), Folder::new());
        assert_ne!(one.path(""), other.path(""));
        one.written("a", "text");
        assert_eq!(fs::metadata(other.file("b", 1 << 40)).unwrap().len(), 1 << 40);
        let (path, text) = (one.path("a"), one.text("a"));
        assert_eq!(path.to_str(), Some(text.as_str()));
        assert!(path.is_file());
        drop(one);
        assert!(!path.exists() && other.path("b").exists());
    }
}
