//! A shard's answers as another front end reads them: NBD replies, parsed as they arrive.

use blksched_nbd::{Chunk, Framing, ReplyError, ReplyReader};

/// Outstanding requests, by their cookies.
pub trait Asked {
    /// How much a request reads (0 if it is not a read); `None` if there is no such request.
    fn reads(&self, cookie: u64) -> Option<u64>;
    /// Where on the disk a request begins \[bytes\].
    fn begins(&self, cookie: u64) -> u64;
    /// This much of the data has arrived; `at` counts from the request's beginning.
    fn fill(&mut self, cookie: u64, at: u64, bytes: &[u8]);
    /// The request fails with this Linux error.
    fn fails(&mut self, cookie: u64, errno: i32);
    /// The reply is complete.
    fn finish(&mut self, cookie: u64);

    /// These bytes of the data are zeroes.
    fn clear(&mut self, cookie: u64, at: u64, length: u64) {
        const ZEROES: [u8; 4096] = [0; 4096];
        let (mut at, end) = (at, at.saturating_add(length));
        while at < end {
            let count = (end - at).min(ZEROES.len() as u64);
            self.fill(cookie, at, &ZEROES[..count as usize]);
            at += count;
        }
    }
}

/// Reads the answers of one connection.
pub struct Answers {
    reader: ReplyReader,
    /// Received bytes that are not parsed yet: less than a header.
    rest: Vec<u8>,
    filling: Option<Filling>,
}

/// Data being received.
struct Filling {
    cookie: u64,
    at: u64,
    left: u64,
    last: bool,
}

impl Answers {
    /// Replies of a connection with this framing.
    pub fn new(framing: Framing) -> Answers {
        Answers { reader: ReplyReader::new(framing), rest: Vec::new(), filling: None }
    }

    /// Parses received bytes.
    ///
    /// # Errors
    /// If they are invalid.
    pub fn parse(&mut self, input: &[u8], asked: &mut impl Asked) -> Result<(), ReplyError> {
        if self.rest.is_empty() {
            let used = self.take(input, asked)?;
            self.rest.extend_from_slice(&input[used..]);
        } else {
            let mut rest = std::mem::take(&mut self.rest);
            rest.extend_from_slice(input);
            let used = self.take(&rest, asked)?;
            rest.drain(..used);
            self.rest = rest;
        }
        Ok(())
    }

    /// Returns how many bytes were used.
    fn take(&mut self, input: &[u8], asked: &mut impl Asked) -> Result<usize, ReplyError> {
        let mut used = 0;
        loop {
            if let Some(data) = &mut self.filling {
                let count = data.left.min((input.len() - used) as u64);
                asked.fill(data.cookie, data.at, &input[used..used + count as usize]);
                (data.at, data.left) = (data.at + count, data.left - count);
                used += count as usize;
                if data.left > 0 {
                    return Ok(used);
                }
                if data.last {
                    asked.finish(data.cookie);
                }
                self.filling = None;
            }
            let read = self.reader.read(&input[used..], |cookie| asked.reads(cookie))?;
            let Some((count, cookie, chunk)) = read else { return Ok(used) };
            used += count;
            let begins = asked.begins(cookie);
            match chunk {
                Chunk::Data { offset, length, last } => {
                    let at = offset.unwrap_or(begins).saturating_sub(begins);
                    self.filling = Some(Filling { cookie, at, left: length, last });
                }
                Chunk::Hole { offset, length, last } => {
                    asked.clear(cookie, offset.saturating_sub(begins), length);
                    if last {
                        asked.finish(cookie);
                    }
                }
                Chunk::Done(errno) => {
                    if let Some(errno) = errno {
                        asked.fails(cookie, errno.code() as i32);
                    }
                    asked.finish(cookie);
                }
                Chunk::Error(errno) => asked.fails(cookie, errno.code() as i32),
                Chunk::Extents { .. } => {}
            }
        }
    }
}
