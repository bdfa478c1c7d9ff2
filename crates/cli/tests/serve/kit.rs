//! A server, in this process or in one of its own, and a plain client of it.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use blksched_cli::{printed, served};
use blksched_nbd::{
    Chunk, ClientHandshake, ClientStep, ClientWish, Command as Asked, Errno, Framing, Opened, Persist, ReplyReader,
    Request,
};
use blksched_serve::StopSwitch;

pub use blksched_testkit::process::{Process, output, status};
pub use blksched_testkit::{Folder, Random as Numbers};

/// The program under test.
pub const BLKSCHED: &str = env!("CARGO_BIN_EXE_blksched");
/// Both engines.
pub const ENGINES: [&str; 2] = ["io_uring", "threads"];

/// A running server.
pub struct Server {
    runs: Runs,
    socket: PathBuf,
    pub control: PathBuf,
    _folder: Folder,
}

/// Where it runs.
enum Runs {
    /// In this process; the code and the output of what `serve` would have been.
    Here { switch: Arc<StopSwitch>, thread: Option<JoinHandle<(u8, String, String)>> },
    /// In a process of its own: for signals, for its end in the middle of work, for what it prints.
    Alone(Process),
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
    let (works, why) = tried(&["--export", "m=mem:1M", "--engine", engine]);
    if !works {
        println!("skipped: the engine {engine} does not work here: {why}");
    }
    works
}

/// Whether a server begins with these arguments, and what it says; it ends at once.
pub fn tried(arguments: &[&str]) -> (bool, String) {
    let (code, text, errors) = printed(&[&["serve"], arguments, &["--run", "true"]].concat(), 1000);
    (code == 0, text + &errors)
}

/// Until when a server must answer, and must have ended.
const PATIENCE: Duration = Duration::from_secs(60);

impl Server {
    /// One in this process.
    pub fn start(arguments: &[&str]) -> Server {
        Server::begun(arguments, |words| {
            let switch = StopSwitch::new().unwrap();
            let stopped = switch.clone();
            let serve = move || served(&words.iter().map(String::as_str).collect::<Vec<_>>(), stopped);
            Runs::Here { switch, thread: Some(std::thread::spawn(serve)) }
        })
    }

    /// One in a process of its own.
    pub fn process(arguments: &[&str]) -> Server {
        Server::logged(arguments, Stdio::inherit())
    }

    /// The same, with its log there.
    pub fn logged(arguments: &[&str], log: Stdio) -> Server {
        Server::begun(arguments, |words| {
            Runs::Alone(Process::spawn(Command::new(BLKSCHED).args(words).stdout(Stdio::null()).stderr(log)))
        })
    }

    /// Waits until it answers.
    fn begun(arguments: &[&str], begin: impl FnOnce(Vec<String>) -> Runs) -> Server {
        let folder = Folder::new();
        let (socket, control) = (folder.path("s"), folder.path("c"));
        let own = ["--unix", socket.to_str().unwrap(), "--control", control.to_str().unwrap()];
        let words = [&["serve"], arguments, &own].concat().into_iter().map(str::to_owned).collect();
        let mut server = Server { runs: begin(words), socket, control, _folder: folder };
        let until = Instant::now() + PATIENCE;
        while UnixStream::connect(&server.socket).is_err() {
            if let Runs::Here { thread, .. } = &mut server.runs
                && thread.as_ref().is_some_and(JoinHandle::is_finished)
            {
                panic!("the server has ended: {:?}", thread.take().unwrap().join());
            }
            assert!(Instant::now() < until, "the server does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        server
    }

    /// Stops it, and returns whether it ended well.
    pub fn stop(mut self) -> bool {
        match &mut self.runs {
            Runs::Here { .. } => self.stop_here() == Some(0),
            Runs::Alone(process) => {
                terminate(process, "TERM");
                process.end().success()
            }
        }
    }

    /// The exit code of one that runs here; `None` if it has ended before.
    fn stop_here(&mut self) -> Option<u8> {
        let Runs::Here { switch, thread } = &mut self.runs else { return None };
        let thread = thread.take()?;
        // It may have ended of itself.
        let _ = switch.stop();
        let until = Instant::now() + PATIENCE;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(std::thread::panicking() || thread.is_finished(), "the server does not stop");
        thread.is_finished().then(|| thread.join().map_or(101, |(code, ..)| code))
    }

    /// Its process.
    pub fn child(&mut self) -> &mut Process {
        match &mut self.runs {
            Runs::Alone(process) => process,
            Runs::Here { .. } => panic!("it has no process of its own: see `Server::process`"),
        }
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
        let (code, text, errors) = printed(&[&["ctl", self.control.to_str().unwrap()], words].concat(), 1000);
        if code == 0 { Ok(text.trim().to_owned()) } else { Err(errors.trim().to_owned()) }
    }

    pub fn signal(&mut self, name: &str) {
        terminate(self.child(), name);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop_here();
    }
}

fn terminate(process: &Process, signal: &str) {
    let pid = process.id().to_string();
    assert!(status(Command::new("kill").args([format!("-{signal}"), pid])).unwrap().success());
}

/// Runs a client's command with `$uri` of a server's first export, `$uri_NAME` of the others and `$control`; returns
/// whether it succeeded, and its output.
pub fn visited(arguments: &[&str], exports: &[&str], command: &str) -> (bool, String) {
    let server = Server::start(arguments);
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("uri", server.uri(exports[0])).env("control", &server.control);
    shell.envs(exports.iter().map(|name| (format!("uri_{name}"), server.uri(name))));
    let output = output(&mut shell).unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.success(), text)
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
