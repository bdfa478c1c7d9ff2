//! File names that are not UTF-8, as texts and back.
//!
//! **Rule** A byte that is not UTF-8 becomes a character of the private use area, U+10FF00 plus the byte, and vice
//! versa. So such a name is a text that can be parsed, split and passed on like any other, and opens the intended file.
//! (A name that really contains one of these 128 characters is misread.)

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::PathBuf;

/// The character that stands for the byte 0.
const ZERO: u32 = 0x10_ff00;
/// The first byte of each such character in UTF-8; nothing but characters from U+100000 on begin with it.
const FIRST: u8 = 0xf4;

/// The byte that a character stands for.
fn byte(c: char) -> Option<u8> {
    (u32::from(c).checked_sub(ZERO)).and_then(|byte| u8::try_from(byte).ok()).filter(|byte| *byte >= 0x80)
}

/// A file's name as a text.
///
/// ```
/// use blksched_text::{name_of_path, path_of_name};
/// # #[cfg(unix)] {
/// use std::os::unix::ffi::OsStrExt;
/// let path = std::ffi::OsStr::from_bytes(b"caf\xe9.fio");
/// assert_eq!(path_of_name(&name_of_path(path)), path);
/// # }
/// assert_eq!(name_of_path("plain.fio".as_ref()), "plain.fio");
/// ```
pub fn name_of_path(path: &OsStr) -> String {
    #[cfg(unix)]
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path);
    #[cfg(not(unix))]
    let bytes = path.as_encoded_bytes();
    let mut name = String::new();
    for chunk in bytes.utf8_chunks() {
        name += chunk.valid();
        name.extend(chunk.invalid().iter().filter_map(|byte| char::from_u32(ZERO + u32::from(*byte))));
    }
    name
}

/// The path of a name from [`name_of_path`].
pub fn path_of_name(name: &str) -> PathBuf {
    #[cfg(unix)]
    if name.contains(|c| byte(c).is_some()) {
        let mut bytes = Vec::new();
        for c in name.chars() {
            match byte(c) {
                Some(byte) => bytes.push(byte),
                None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        return PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes));
    }
    PathBuf::from(name)
}

/// A text that may contain such names, for people and for JSON: bytes that are not UTF-8 are shown as `\u{fffd}`.
pub fn shown_name(text: &str) -> Cow<'_, str> {
    if memchr::memchr(FIRST, text.as_bytes()).is_none() || !text.contains(|c| byte(c).is_some()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if byte(c).is_some() { char::REPLACEMENT_CHARACTER } else { c }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_goes_there_and_back() {
        for name in ["a.fio", "ä/ö.toml", ""] {
            assert_eq!((name_of_path(name.as_ref()).as_str(), path_of_name(name)), (name, PathBuf::from(name)));
        }
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_no_text_survive_and_can_be_shown() {
        use std::os::unix::ffi::OsStrExt;
        let path = OsStr::from_bytes(b"x\xff:\xe4\xf6.0");
        let name = name_of_path(path);
        assert_eq!(path_of_name(&name).as_os_str(), path);
        let (before, behind) = name.split_once(':').expect("it can be parsed");
        assert_eq!(path_of_name(before).as_os_str(), OsStr::from_bytes(b"x\xff"));
        assert_eq!((shown_name(before), shown_name(behind)), ("x\u{fffd}".into(), "\u{fffd}\u{fffd}.0".into()));
    }
}
