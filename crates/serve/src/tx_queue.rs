//! The data sent on one connection in one call: headers, and payload between them that is not copied.

use std::ops::Range;

use crate::buffer::{Buffer, Pool};

/// The most pieces of one send: the limit of `sendmsg` (IOV_MAX).
const MOST_PIECES: usize = 1024;

/// One piece.
enum TxPiece {
    /// This much of the headers, after the previous ones.
    Heads(usize),
    /// This part of a buffer.
    Data(Buffer, Range<usize>),
}

/// Headers and data, in the order of sending.
#[derive(Default)]
pub struct TxQueue {
    heads: Vec<u8>,
    pieces: Vec<TxPiece>,
    length: usize,
}

impl TxQueue {
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is room for another reply of `pieces` pieces.
    pub fn has_room(&self, pieces: usize) -> bool {
        self.pieces.len() + pieces <= MOST_PIECES
    }

    /// Appends a header.
    pub fn head(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.heads.len();
        write(&mut self.heads);
        let more = self.heads.len() - before;
        self.length += more;
        match self.pieces.last_mut() {
            Some(TxPiece::Heads(length)) => *length += more,
            _ => self.pieces.push(TxPiece::Heads(more)),
        }
    }

    /// Appends this part of `buffer`.
    pub fn data(&mut self, buffer: Buffer, part: Range<usize>) {
        self.length += part.len();
        self.pieces.push(TxPiece::Data(buffer, part));
    }

    /// Its pieces from the byte `sent` on.
    pub fn rest(&self, mut sent: usize) -> impl Iterator<Item = &[u8]> {
        let mut heads = self.heads.as_slice();
        self.pieces.iter().filter_map(move |piece| {
            let bytes = match piece {
                TxPiece::Heads(length) => {
                    let (these, rest) = heads.split_at(*length);
                    heads = rest;
                    these
                }
                TxPiece::Data(buffer, part) => &buffer.bytes()[part.clone()],
            };
            let skipped = sent.min(bytes.len());
            sent -= skipped;
            Some(&bytes[skipped..]).filter(|rest| !rest.is_empty())
        })
    }

    /// It is sent: empties it for the next, and returns its buffers to the pool.
    pub fn clear(&mut self, pool: &mut Pool) {
        for piece in self.pieces.drain(..) {
            if let TxPiece::Data(buffer, _) = piece {
                pool.give(buffer);
            }
        }
        self.heads.clear();
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_to_send_starts_at_any_byte() {
        let mut pool = Pool::new(1 << 20);
        let mut tx = TxQueue::default();
        let mut buffer = pool.take(9).unwrap();
        buffer.bytes_mut()[..9].copy_from_slice(b"..data...");
        tx.head(|out| out.extend_from_slice(b"he"));
        tx.head(|out| out.extend_from_slice(b"ad"));
        tx.data(buffer, 2..6);
        tx.head(|out| out.extend_from_slice(b"tail"));
        assert_eq!(tx.len(), 12);
        for sent in 0..=12 {
            assert_eq!(tx.rest(sent).collect::<Vec<_>>().concat(), b"headdatatail"[sent..]);
        }
        tx.clear(&mut pool);
        assert!(tx.is_empty() && tx.rest(0).next().is_none());
    }
}
