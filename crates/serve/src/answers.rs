//! A shard's answers as another front end reads them: NBD replies, parsed as they arrive.

use blksched_nbd::{Chunk, Framing, ReplyError, ReplyReader};

/// What was asked, by its cookies.
pub trait Asked {
    /// How much a request reads (0: it is no read); none: there is no such request.
    fn reads(&self, cookie: u64) -> Option<u64>;
    /// Where on the disk a request begins \[bytes\].
    fn begins(&self, cookie: u64) -> u64;
    /// This much of what is read is here; `at` counts from where the request begins.
    fn fill(&mut self, cookie: u64, at: u64, bytes: &[u8]);
    /// It fails with this error of Linux.
    fn fails(&mut self, cookie: u64, errno: i32);
    /// Everything of it has been said.
    fn finish(&mut self, cookie: u64);

    /// These bytes of what is read are zeroes.
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
    /// What has come and is not understood yet: less than a head.
    rest: Vec<u8>,
    filling: Option<Filling>,
}

/// Data that come.
struct Filling {
    cookie: u64,
    at: u64,
    left: u64,
    last: bool,
}

impl Answers {
    /// Of a connection with this framing.
    pub fn new(framing: Framing) -> Answers {
        Answers { reader: ReplyReader::new(framing), rest: Vec::new(), filling: None }
    }

    /// Understand what has come.
    ///
    /// # Errors
    /// If it makes no sense.
    pub fn understand(&mut self, input: &[u8], asked: &mut impl Asked) -> Result<(), ReplyError> {
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

    /// Answers how much of it was used.
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
