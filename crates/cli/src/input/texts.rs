//! Texts that people write, from files and pipes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use blksched_lab::Error;
use blksched_text::utf8;

/// No job file and no experiment is longer; an endless file (`/dev/zero`) is longer than this \[bytes\].
const MOST_BYTES: u64 = 16 << 20;

/// All of an input, or enough of it to show that it is too long for a text that people write.
pub(crate) fn bytes_of(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn bounded(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    match bytes.len() as u64 {
        0..=MOST_BYTES => Ok(bytes),
        _ => Err(io::Error::other("longer than 16 MiB: expected a text file")),
    }
}

/// The input as text; `name` is for error messages.
pub(crate) fn text_of(name: &str, read: io::Result<Vec<u8>>) -> Result<String, Error> {
    let read = read.and_then(bounded);
    let bytes = read.map_err(|error| Error::Input(format!("{name}: {error}")))?;
    utf8(bytes).map_err(|error| Error::Input(format!("{name}:{error}")))
}

/// The text of a file that another file names; the reader of that other file adds the place to errors.
pub(crate) fn text_of_file(path: &Path) -> Result<String, String> {
    let bytes = File::open(path).and_then(bytes_of).and_then(bounded).map_err(|error| error.to_string())?;
    utf8(bytes).map_err(|error| error.to_string())
}
