//! A server as a process, and a plain client of it.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use blksched_nbd::{
    Chunk, ClientHandshake, ClientStep, ClientWish, Command as Asked, Errno, Framing, Opened, Persist, ReplyReader,
    Request,
};

pub use blksched_testkit::process::{Process, output, status};
pub use blksched_testkit::{Folder, Random as Numbers};

/// The program under test.
pub const BLKSCHED: &str = env!("CARGO_BIN_EXE_blksched");
/// Both engines.
pub const ENGINES: [&str; 2] = ["io_uring", "threads"];

/// A running server.
pub struct Server {
    pub child: Process,
    socket: PathBuf,
    pub control: PathBuf,
    _folder: Folder,
}

/// The file of a disk that takes this long for every request, one after the other.
pub fn slow_disk(folder: &Folder, service: &str) -> String {
    let about = "kind = \"fixed\"\ndescription = \"slow\"\ncapacity = \"1TB\"\nmax_command = \"1MiB\"\n";
    let disk = format!("{about}depth = 1\nchannels = 1\nservice = \"{service}\"\n");
    std::fs::write(folder.path("slow.toml"), disk).unwrap();
    folder.text("slow.toml")
}

/// Whether this engine works here: io_uring may be forbidden.
pub fn works(engine: &str) -> bool {
    let mut serve = Command::new(BLKSCHED);
    serve.args(["serve", "--export", "m=mem:1M", "--engine", engine, "--run", "true"]).stderr(Stdio::null());
    let works = status(&mut serve).unwrap().success();
    if !works {
        println!("skipped: the engine {engine} does not work here");
    }
    works
}

impl Server {
    pub fn start(arguments: &[&str]) -> Server {
        Server::logged(arguments, Stdio::inherit())
    }

    /// One whose log goes there.
    pub fn logged(arguments: &[&str], log: Stdio) -> Server {
        let folder = Folder::new();
        let (socket, control) = (folder.path("s"), folder.path("c"));
        let mut serve = Command::new(BLKSCHED);
        serve.arg("serve").args(arguments).arg("--unix").arg(&socket).arg("--control").arg(&control);
        let child = Process::spawn(serve.stdout(Stdio::null()).stderr(log));
        let server = Server { child, socket, control, _folder: folder };
        for _ in 0..3000 {
            if UnixStream::connect(&server.socket).is_ok() {
                return server;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not start");
    }

    pub fn raw(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream
    }

    pub fn open(&self, export: &str) -> Client {
        self.open_as(ClientWish { framing: Framing::Extended, allocation: true, ..ClientWish::open(export) }).unwrap()
    }

    pub fn open_as(&self, wish: ClientWish) -> Result<Client, String> {
        Client::open(self.raw(), wish)
    }

    pub fn uri(&self, export: &str) -> String {
        format!("nbd+unix:///{export}?socket={}", self.socket.display())
    }

    pub fn ctl(&self, words: &[&str]) -> Result<String, String> {
        let output = output(Command::new(BLKSCHED).arg("ctl").arg(&self.control).args(words)).unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([format!("-{name}"), pid]).status().unwrap().success());
    }
}

/// Runs a captive command; returns whether it succeeded, and its output.
pub fn captive(arguments: &[&str], command: &str) -> (bool, String) {
    let output = output(Command::new(BLKSCHED).arg("serve").args(arguments).args(["--run", command])).unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.success(), text)
}

/// One connection.
pub struct Client {
    pub stream: UnixStream,
    pub opened: Opened,
    /// How many reads were answered as holes.
    pub holes: u64,
    input: Vec<u8>,
    asked: Vec<(u64, u64)>,
    next: u64,
}

pub type Answer = Result<Vec<u8>, Errno>;

impl Client {
    pub fn open(mut stream: UnixStream, wish: ClientWish) -> Result<Client, String> {
        let mut handshake = ClientHandshake::new(wish);
        let (mut input, mut output) = (Vec::new(), Vec::new());
        loop {
            let (used, step) = handshake.receive(&input, &mut output).map_err(|error| error.to_string())?;
            input.drain(..used);
            stream.write_all(&output).map_err(|error| error.to_string())?;
            output.clear();
            match step {
                ClientStep::Enter(opened) => {
                    return Ok(Client { stream, opened, holes: 0, input, asked: Vec::new(), next: 1 });
                }
                ClientStep::Secure => unreachable!("TLS was not asked for"),
                ClientStep::More if used > 0 => {}
                ClientStep::More => read_some(&mut stream, &mut input)?,
            }
        }
    }

    /// Sends a request without waiting; returns its cookie.
    pub fn send(&mut self, command: Asked, offset: u64, length: u64, data: &[u8]) -> std::io::Result<u64> {
        let (cookie, bytes) = self.request(command, offset, length, data);
        self.stream.write_all(&bytes)?;
        Ok(cookie)
    }

    /// A request's cookie and bytes, for the caller to send.
    pub fn request(&mut self, command: Asked, offset: u64, length: u64, data: &[u8]) -> (u64, Vec<u8>) {
        let request = Request { cookie: self.next, command, offset, length };
        self.next += 1;
        let mut bytes = Vec::new();
        request.encode(self.opened.framing, &mut bytes);
        bytes.extend_from_slice(data);
        self.asked.push((request.cookie, if command == Asked::Read { length } else { 0 }));
        (request.cookie, bytes)
    }

    /// The next reply.
    pub fn receive(&mut self) -> Result<(u64, Answer), String> {
        let reader = ReplyReader::new(self.opened.framing);
        loop {
            let asked = &self.asked;
            let find = |cookie| asked.iter().find(|(own, _)| *own == cookie).map(|(_, length)| *length);
            let Some((used, cookie, chunk)) = reader.read(&self.input, find).map_err(|error| error.to_string())? else {
                read_some(&mut self.stream, &mut self.input)?;
                continue;
            };
            let answer = match chunk {
                Chunk::Data { length, .. } => {
                    while self.input.len() < used + length as usize {
                        read_some(&mut self.stream, &mut self.input)?;
                    }
                    let data = self.input[used..used + length as usize].to_vec();
                    self.input.drain(..length as usize);
                    Ok(data)
                }
                Chunk::Hole { length, .. } => {
                    self.holes += 1;
                    Ok(vec![0; length as usize])
                }
                Chunk::Done(None) => Ok(Vec::new()),
                Chunk::Done(Some(errno)) => Err(errno),
                Chunk::Extents { extents, .. } => Ok(extents
                    .iter()
                    .flat_map(|e| [e.length, u64::from(e.state.bits())])
                    .flat_map(u64::to_le_bytes)
                    .collect()),
                other => return Err(format!("{other:?}")),
            };
            self.input.drain(..used);
            self.asked.retain(|(own, _)| *own != cookie);
            return Ok((cookie, answer));
        }
    }

    fn ask(&mut self, command: Asked, offset: u64, length: u64, data: &[u8]) -> Answer {
        let sent = self.send(command, offset, length, data).unwrap();
        let (cookie, answer) = self.receive().unwrap();
        assert_eq!(cookie, sent);
        answer
    }

    pub fn read(&mut self, offset: u64, length: u64) -> Answer {
        self.ask(Asked::Read, offset, length, &[])
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) -> Answer {
        self.ask(Asked::Write(Persist::Lazily), offset, data.len() as u64, data)
    }

    pub fn command(&mut self, command: Asked, offset: u64, length: u64) -> Answer {
        self.ask(command, offset, length, &[])
    }

    pub fn flush(&mut self) -> Answer {
        self.ask(Asked::Flush, 0, 0, &[])
    }

    /// Disconnects; the server closes.
    pub fn leave(mut self) {
        self.send(Asked::Disconnect, 0, 0, &[]).unwrap();
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).unwrap();
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn read_some(stream: &mut UnixStream, input: &mut Vec<u8>) -> Result<(), String> {
    let mut chunk = [0; 65536];
    let mut read = stream.read(&mut chunk);
    // A read with a timeout is not restarted automatically after the process was stopped.
    while read.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::Interrupted) {
        read = stream.read(&mut chunk);
    }
    match read {
        Ok(0) => Err("the server closed the connection".to_owned()),
        Ok(count) => {
            input.extend_from_slice(&chunk[..count]);
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Sets a flag when dropped, so that a thread waiting for it ends even if the test fails earlier.
pub struct SetWhenDropped<'a>(pub &'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
