//! Every fio option that we support has a test in which flipping it changes the run: a `#[test]` named
//! `option_<name>_…` in one of `crates/workloads/tests/it/options*.rs`.

use super::Finding;
use super::tree::{RustFile, Tree};

const FILE: &str = "crates/workloads/tests/it/options.rs";
/// Where further tests are.
const FILES: &str = "crates/workloads/tests/it/options";

/// Every option of `supported` without a test. A test belongs to the longest option that its name begins with.
pub fn check(tree: &Tree, supported: &[&str]) -> Vec<Finding> {
    let files = tree.rust.iter().filter(|file| file.path.starts_with(FILES));
    let tests: Vec<String> = files.flat_map(tests).collect();
    let tested: Vec<_> = tests.iter().filter_map(|test| option_of(test, supported)).collect();
    let untested = supported.iter().filter(|option| !tested.contains(option));
    let message = |option| format!("no test flips `{option}`: write `option_{option}_…`, whose run changes with it");
    let finding = |option| Finding { file: FILE.to_owned(), line: 1, rule: "options", message: message(option) };
    untested.map(finding).collect()
}

/// Names of the functions that are tests.
fn tests(file: &RustFile) -> Vec<String> {
    let items = file.items.as_ref().map_or(&[][..], |file| &file.items);
    let functions =
        items.iter().filter_map(|item| if let syn::Item::Fn(function) = item { Some(function) } else { None });
    let tests = functions.filter(|function| function.attrs.iter().any(|attribute| attribute.path().is_ident("test")));
    tests.map(|function| function.sig.ident.to_string()).collect()
}

/// The option that a test is about: `option_rate_iops_…` is about `rate_iops`, not `rate`.
fn option_of<'a>(test: &str, supported: &[&'a str]) -> Option<&'a str> {
    let name = test.strip_prefix("option_")?;
    let about = |option: &str| name.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    supported.iter().copied().filter(|option| about(option)).max_by_key(|option| option.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn untested(text: &str, supported: &[&str]) -> Vec<String> {
        check(&Tree::planted(&[(FILE, text)]), supported).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn an_option_without_a_test_is_found() {
        let found = untested("#[test]\nfn option_bs_makes_requests_larger() {}\n", &["bs", "size"]);
        assert_eq!(found, ["no test flips `size`: write `option_size_…`, whose run changes with it"]);
    }

    #[test]
    fn a_function_that_is_no_test_does_not_count() {
        assert_eq!(untested("fn option_bs_makes_requests_larger() {}\n", &["bs"]).len(), 1);
    }

    #[test]
    fn a_test_of_a_longer_option_is_not_one_of_a_shorter() {
        let text = "#[test]\nfn option_rate_iops_limits() {}\n";
        assert_eq!(untested(text, &["rate", "rate_iops"]).len(), 1);
        assert_eq!(
            untested(&format!("{text}#[test]\nfn option_rate_limits() {{}}\n"), &["rate", "rate_iops"]).len(),
            0
        );
    }

    #[test]
    fn without_the_file_every_option_is_untested() {
        assert_eq!(check(&Tree::planted(&[]), &["bs", "size"]).len(), 2);
    }
}
