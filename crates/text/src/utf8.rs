//! Bytes as text, or the position of the first invalid byte, for helpful errors.

use core::fmt;

/// The first invalid byte, and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotUtf8 {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1 \[characters\].
    pub column: usize,
    /// The byte itself.
    pub byte: u8,
}

impl NotUtf8 {
    /// What is wrong, for callers that report the position themselves.
    pub fn problem(&self) -> String {
        format!("the byte 0x{:02x} is not UTF-8: expected text", self.byte)
    }
}

/// `line:column: …`; a caller that knows the file prepends its name and a colon.
impl fmt::Display for NotUtf8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.problem())
    }
}

impl core::error::Error for NotUtf8 {}

/// A whole file as text.
///
/// # Errors
/// The first byte that is not UTF-8.
///
/// ```
/// assert_eq!(blksched_text::utf8(b"rw=read\n".to_vec()).as_deref(), Ok("rw=read\n"));
/// let error = blksched_text::utf8(b"[a]\nrw=\xff\n".to_vec()).unwrap_err();
/// assert_eq!(error.to_string(), "2:4: the byte 0xff is not UTF-8: expected text");
/// ```
pub fn utf8(bytes: Vec<u8>) -> Result<String, NotUtf8> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..at]);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
        NotUtf8 { line, column, byte: error.as_bytes()[at] }
    })
}

#[cfg(test)]
mod tests {
    use super::utf8;

    #[test]
    fn columns_count_characters_and_a_cut_character_is_named_by_its_first_byte() {
        let error = utf8("a\näö\u{e9}".as_bytes()[..7].to_vec()).unwrap_err();
        assert_eq!((error.line, error.column, error.byte), (2, 3, 0xc3));
    }
}
