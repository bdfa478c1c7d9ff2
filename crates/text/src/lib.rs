//! One way to read text that people write: sizes with units ([`units`]), TOML whose errors have positions
//! ([`document`]), bytes that should be UTF-8, file names that are not, and suggestions for misspelt words.
//!
//! It is there for blksched's own crates, none of which hands its types on except under a name of its own; it may
//! change with any release.

#![doc(test(attr(deny(warnings))))]

pub mod document;
mod file_names;
pub mod units;
mod utf8;

pub use blksched::text::nearest;
pub use file_names::{name_of_path, path_of_name, shown_name};
pub use utf8::{NotUtf8, utf8};

/// The end of an error message: "; did you mean `bfq`?", or nothing if no word of `known` is similar.
///
/// ```
/// assert_eq!(blksched_text::did_you_mean("bqf", ["cfq", "bfq"]), "; did you mean `bfq`?");
/// assert_eq!(blksched_text::did_you_mean("bananas", ["cfq", "bfq"]), "");
/// ```
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}
