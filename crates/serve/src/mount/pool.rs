//! Connections to one export, each with one request at a time: a request takes a free one, or opens another.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use blksched_nbd::{Address, Chunk, Command, Errno, Export, Framing, ReplyReader, Request, Uri};

use crate::client::{Entered, enter};

/// The result of a request: its data, or the error number for the caller.
pub type MountAnswer = Result<Vec<u8>, i32>;

/// The connections of a file.
pub struct ConnectionPool {
    uri: Uri,
    export: Export,
    idle: Mutex<Vec<PoolConnection>>,
}

trait Stream: Read + Write + Send {}
impl<S: Read + Write + Send> Stream for S {}

/// One connection.
struct PoolConnection {
    stream: Box<dyn Stream>,
    framing: Framing,
    input: Vec<u8>,
    cookie: u64,
}

impl ConnectionPool {
    /// Opens the export once, to learn its properties.
    ///
    /// # Errors
    /// If there is no such export, or no server.
    pub fn open(uri: Uri) -> Result<ConnectionPool, String> {
        let (line, export) = PoolConnection::open(&uri)?;
        Ok(ConnectionPool { uri, export, idle: Mutex::new(vec![line]) })
    }

    /// The server's description of it.
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// Sends a request, and waits for the answer. A broken connection is not used again: the next request opens
    /// another.
    pub fn ask(&self, command: Command, offset: u64, length: u64, data: &[u8]) -> MountAnswer {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let line = idle().pop();
        let line = line.map_or_else(|| PoolConnection::open(&self.uri).map(|(line, _)| line), Ok);
        let mut line = line.map_err(|why| {
            tracing::warn!(uri = %self.uri, why, "no connection");
            Errno::Io.code() as i32
        })?;
        match line.ask(command, offset, length, data) {
            Ok(done) => {
                idle().push(line);
                done.map_err(|errno| errno.code() as i32)
            }
            Err(error) => {
                tracing::warn!(uri = %self.uri, %error, "a connection broke");
                Err(Errno::Io.code() as i32)
            }
        }
    }
}

impl PoolConnection {
    fn open(uri: &Uri) -> Result<(PoolConnection, Export), String> {
        let Entered { socket, opened, ahead } = enter(uri)?;
        let stream: Box<dyn Stream> = match uri.address {
            Address::Unix { .. } | Address::Tls { .. } => Box::new(UnixStream::from(socket)),
            Address::Tcp { .. } => Box::new(TcpStream::from(socket)),
        };
        Ok((PoolConnection { stream, framing: opened.framing, input: ahead, cookie: 0 }, opened.export))
    }

    fn ask(&mut self, command: Command, offset: u64, length: u64, data: &[u8]) -> io::Result<Result<Vec<u8>, Errno>> {
        self.cookie += 1;
        let request = Request { cookie: self.cookie, command, offset, length };
        let mut head = Vec::new();
        request.encode(self.framing, &mut head);
        self.stream.write_all(&head)?;
        self.stream.write_all(data)?;
        let reads = if command == Command::Read { length } else { 0 };
        let mut found = vec![0; reads as usize];
        let (reader, mut failed) = (ReplyReader::new(self.framing), None);
        loop {
            let asked = |cookie| (cookie == request.cookie).then_some(reads);
            let Some((used, _, chunk)) = reader.read(&self.input, asked).map_err(io::Error::other)? else {
                self.receive()?;
                continue;
            };
            self.input.drain(..used);
            let last = match chunk {
                Chunk::Done(errno) => {
                    failed = failed.or(errno);
                    true
                }
                Chunk::Error(errno) => {
                    failed = Some(errno);
                    false
                }
                Chunk::Data { offset: from, length, last } => {
                    self.take(&mut found, from.unwrap_or(offset).checked_sub(offset), length)?;
                    last
                }
                // There are zeroes already.
                Chunk::Hole { last, .. } | Chunk::Extents { last, .. } => last,
            };
            if last {
                return Ok(failed.map_or(Ok(found), Err));
            }
        }
    }

    /// Copies the data of a reply to their place.
    fn take(&mut self, found: &mut [u8], at: Option<u64>, length: u64) -> io::Result<()> {
        let range = at.and_then(|at| Some(at as usize..at.checked_add(length)? as usize));
        let place = range.and_then(|range| found.get_mut(range));
        let place = place.ok_or_else(|| io::Error::other("data that were not asked for"))?;
        let here = place.len().min(self.input.len());
        place[..here].copy_from_slice(&self.input[..here]);
        self.input.drain(..here);
        self.stream.read_exact(&mut place[here..])
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut chunk = [0; 4096];
        match self.stream.read(&mut chunk)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.input.extend_from_slice(&chunk[..count]);
                Ok(())
            }
        }
    }
}
