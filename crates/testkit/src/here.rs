//! Outside programs that may be missing.

use std::env;
use std::path::PathBuf;

/// The program of that name on the search path.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Whether `program` of the Debian package `package` is here. If not, this is printed so that `cargo xtask test` says
/// that the test was skipped; where the variable `required` is set, it must not be.
///
/// # Panics
/// If it is not here and `required` is set.
pub fn is_here(program: &str, package: &str, required: &str) -> bool {
    let here = self::program(program).is_some();
    if !here {
        let reason = format!("the Debian package {package} is not installed");
        assert!(env::var_os(required).is_none(), "{reason}, and {required} is set");
        println!("skipped: {reason}");
    }
    here
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_the_search_path_is_here() {
        assert!(program("sh").is_some_and(|path| path.is_absolute()));
        assert!(is_here("sh", "dash", "PATH"));
        assert!(!is_here("no-such-program", "none", "BLKSCHED_NO_SUCH_VARIABLE"));
    }

    #[test]
    #[should_panic(expected = "the Debian package none is not installed, and PATH is set")]
    fn what_is_required_and_missing_fails_the_test() {
        is_here("no-such-program", "none", "PATH");
    }
}
