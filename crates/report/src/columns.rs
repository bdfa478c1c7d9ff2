//! Columns of whole numbers, packed: differences, variable length, deflate, base64.
//!
//! **Format** Deflated, and in base64: the length of a JSON text (4 bytes, the lowest first), the text, the bytes of
//! all
//! columns. The text's `columns` says of each `kind`, `count`, and where its bytes are (`at`, `bytes`, from the text's
//! end). A number is 7 bits a byte, the lowest first, the top bit set in all but the last; a `delta` is the difference
//! to
//! the one before, doubled, less one if it is negative.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Value, json};

/// A column's index among all.
pub type ColumnIndex = usize;

/// Columns under construction.
#[derive(Debug, Default)]
pub struct Columns {
    heads: Vec<Value>,
    bytes: Vec<u8>,
}

impl Columns {
    /// Numbers as they are.
    pub fn plain(&mut self, numbers: impl Iterator<Item = u64>) -> ColumnIndex {
        self.add("plain", numbers)
    }

    /// Numbers that are close to the previous one.
    pub fn deltas(&mut self, numbers: impl Iterator<Item = u64>) -> ColumnIndex {
        let mut before = 0_i64;
        self.add(
            "delta",
            numbers.map(|number| {
                let number = number as i64;
                let by = number.wrapping_sub(std::mem::replace(&mut before, number));
                ((by << 1) ^ (by >> 63)) as u64
            }),
        )
    }

    fn add(&mut self, kind: &str, numbers: impl Iterator<Item = u64>) -> ColumnIndex {
        let at = self.bytes.len();
        let mut count = 0_u64;
        for number in numbers {
            variable(&mut self.bytes, number);
            count += 1;
        }
        self.heads.push(json!({ "kind": kind, "count": count, "at": at, "bytes": self.bytes.len() - at }));
        self.heads.len() - 1
    }

    /// Everything after `head`, deflated and as text.
    ///
    /// # Errors
    /// If memory cannot be written to.
    pub fn text(self, mut head: Value) -> io::Result<String> {
        head["columns"] = Value::Array(self.heads);
        let head = head.to_string();
        let mut deflated = DeflateEncoder::new(Vec::new(), Compression::new(9));
        deflated.write_all(&(head.len() as u32).to_le_bytes())?;
        deflated.write_all(head.as_bytes())?;
        deflated.write_all(&self.bytes)?;
        Ok(STANDARD.encode(deflated.finish()?))
    }
}

fn variable(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::DeflateDecoder;

    use super::*;

    /// The data as read by the page.
    fn read(text: &str) -> (Value, Vec<Vec<i64>>) {
        let mut bytes = Vec::new();
        DeflateDecoder::new(&STANDARD.decode(text).unwrap()[..]).read_to_end(&mut bytes).unwrap();
        let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        let head: Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
        let data = &bytes[4 + length..];
        let number = |key: &Value| key.as_u64().unwrap() as usize;
        let column = |head: &Value| {
            let mut at = number(&head["at"]);
            let mut before = 0_i64;
            let mut all = Vec::new();
            for _ in 0..number(&head["count"]) {
                let (mut value, mut shift) = (0_u64, 0);
                loop {
                    let byte = data[at];
                    at += 1;
                    value |= u64::from(byte & 0x7f) << shift;
                    shift += 7;
                    if byte < 0x80 {
                        break;
                    }
                }
                before = if head["kind"] == "delta" {
                    before.wrapping_add((value >> 1) as i64 ^ -((value & 1) as i64))
                } else {
                    value as i64
                };
                all.push(before);
            }
            assert_eq!(at, number(&head["at"]) + number(&head["bytes"]));
            all
        };
        let columns = head["columns"].as_array().unwrap().iter().map(column).collect();
        (head, columns)
    }

    #[test]
    fn what_is_packed_comes_out_again() {
        let mut columns = Columns::default();
        let plain = [0, 1, 127, 128, 300, u64::from(u32::MAX), 1 << 52];
        let deltas = [5_u64, 3, 3, 1 << 50, 0, 7];
        assert_eq!(columns.plain(plain.into_iter()), 0);
        assert_eq!(columns.deltas(deltas.into_iter()), 1);
        assert_eq!(columns.plain(std::iter::empty()), 2);
        let (head, read) = read(&columns.text(json!({ "a": "b" })).unwrap());
        assert_eq!(head["a"], "b");
        assert_eq!(read[0], plain.map(|number| number as i64));
        assert_eq!(read[1], deltas.map(|number| number as i64));
        assert!(read[2].is_empty());
    }
}
