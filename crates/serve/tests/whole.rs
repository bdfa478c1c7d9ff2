//! A whole server with a small client: written data reads back, whatever the engine, the size and the file's I/O mode;
//! registered buffers are used; CACHE reads.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use blksched::{Catalogue, Span};
use blksched_nbd::{ClientHandshake, ClientStep, ClientWish, Command, Export, Framing, Persist, Request};
use blksched_serve::{Caching, Ending, EngineKind, Listen, Question, ServerConfig, Shares, StopSwitch, ask, serve};

/// The export's size \[bytes\].
const SIZE: u64 = 80 << 20;

/// A server that cannot be reached yet.
fn config(export: &str, catalogue: &Catalogue) -> ServerConfig {
    ServerConfig {
        exports: vec![export.parse().unwrap()],
        elevator: catalogue.parse("mq-deadline").unwrap(),
        knobs: Vec::new(),
        disk_files: blksched_serve::WrittenFiles::default(),
        shares: Shares::default(),
        depth: blksched_serve::DepthChoice::Fixed(8),
        disks: Vec::new(),
        max_sectors: None,
        caching: Caching::default(),
        engine: EngineKind::default(),
        memory: 40 << 20,
        total_memory: blksched_serve::TotalMemory::of(1 << 30),
        model: None,
        listen: Vec::new(),
        vhost: Vec::new(),
        ublk: Vec::new(),
        tls: None,
        control: None,
        metrics: None,
        rules: Vec::new(),
        record: None,
        arrival: blksched_serve::Arrival::First,
        reload: None,
        patience: Span::from_secs(10),
        run: Some("exit 0".to_owned()),
        ending: Ending::Signals,
    }
}

/// A server in a directory of its own, until it is dropped.
struct Server {
    folder: PathBuf,
    switch: Arc<StopSwitch>,
    thread: Option<JoinHandle<u8>>,
}

impl Server {
    fn start(name: &str, caching: Caching, engine: EngineKind) -> Server {
        let folder = std::env::temp_dir().join(format!("blksched-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        File::create(folder.join("disk")).unwrap().set_len(SIZE).unwrap();
        let (catalogue, switch) = (Catalogue::builtin(), StopSwitch::new().unwrap());
        let export = format!("disk={}", folder.join("disk").display());
        let config = ServerConfig {
            caching,
            engine,
            listen: vec![Listen::Unix(folder.join("socket"))],
            control: Some(folder.join("control")),
            run: None,
            ending: Ending::Caller(switch.clone()),
            ..config(&export, &catalogue)
        };
        let thread = thread::spawn(move || serve(config, &catalogue, &mut |_| {}).unwrap());
        Server { folder, switch, thread: Some(thread) }
    }

    /// A number of `queue/engine_stat`; `None` if this engine does not count it.
    fn stat(&self, name: &str) -> Option<u64> {
        let text = ask(&self.folder.join("control"), &Question::Get("queue/engine_stat".to_owned())).unwrap();
        let mut words = text.split_whitespace().filter_map(|word| word.split_once('='));
        words.find(|(key, _)| *key == name).map(|(_, value)| value.parse().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended of itself.
        let _ = self.switch.stop();
        let thread = self.thread.take();
        let ends = || thread.as_ref().is_none_or(JoinHandle::is_finished);
        // One that does not end is left until this process ends.
        for _ in 0..2400 {
            if !ends() {
                thread::sleep(Duration::from_millis(50));
            }
        }
        let ended = ends().then(|| thread.map(JoinHandle::join)).flatten();
        let _ = std::fs::remove_dir_all(&self.folder);
        assert!(thread::panicking() || matches!(ended, Some(Ok(0))));
    }
}

/// A client with simple replies and one request at a time.
struct Client {
    stream: UnixStream,
    export: Export,
}

impl Client {
    fn open(server: &Server) -> Client {
        let socket = server.folder.join("socket");
        let tries = (0..400)
            .find_map(|_| UnixStream::connect(&socket).inspect_err(|_| thread::sleep(Duration::from_millis(50))).ok());
        let mut stream = tries.expect("the server listens");
        // A test that hangs fails.
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(120))).unwrap();
        let mut handshake = ClientHandshake::new(ClientWish { framing: Framing::Simple, ..ClientWish::open("disk") });
        let (mut input, mut output) = (Vec::new(), Vec::new());
        loop {
            let (used, step) = handshake.receive(&input, &mut output).unwrap();
            input.drain(..used);
            stream.write_all(&output).unwrap();
            output.clear();
            match step {
                ClientStep::Enter(opened) => return Client { stream, export: opened.export },
                ClientStep::Secure => unreachable!("TLS was not asked for"),
                ClientStep::More if used > 0 => {}
                ClientStep::More => {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    input.push(byte[0]);
                }
            }
        }
    }

    /// The data of the answer, or the error's number.
    fn ask(&mut self, command: Command, offset: u64, length: u64, data: &[u8]) -> Result<Vec<u8>, u32> {
        let mut bytes = Vec::new();
        Request { cookie: 1, command, offset, length }.encode(Framing::Simple, &mut bytes);
        bytes.extend_from_slice(data);
        self.stream.write_all(&bytes).unwrap();
        let mut reply = [0; 16];
        self.stream.read_exact(&mut reply).unwrap();
        match u32::from_be_bytes(reply[4..8].try_into().unwrap()) {
            0 if command == Command::Read => {
                let mut data = vec![0; length as usize];
                self.stream.read_exact(&mut data).unwrap();
                Ok(data)
            }
            0 => Ok(Vec::new()),
            error => Err(error),
        }
    }
}

fn content(round: usize, length: usize) -> Vec<u8> {
    let pattern: Vec<u8> = (0..4099).map(|at: usize| (((at + round) * 31) >> 3) as u8).collect();
    pattern.repeat(length / pattern.len() + 1)[..length].to_vec()
}

/// From 512 bytes to 32 MiB, large ones between small ones, so that buffers make room for each other.
fn there_and_back(caching: Caching, engine: EngineKind, name: &str) -> Server {
    let server = Server::start(name, caching, engine);
    let mut client = Client::open(&server);
    let least = client.export.block_size.minimum as usize;
    let sizes = [512, 4096, 32 << 20, 512, 12 << 10, 64 << 10, 1 << 20, 4096, (32 << 20) - 4096, 5 << 20, 4096];
    for (round, length) in sizes.into_iter().enumerate().filter(|(_, length)| length % least == 0) {
        let (offset, data) = (round as u64 * 4096, content(round, length));
        client.ask(Command::Write(Persist::Lazily), offset, length as u64, &data).unwrap();
        let back = client.ask(Command::Read, offset, length as u64, &[]).unwrap();
        assert!(back == data, "{name}: {length} bytes at {offset} differ");
    }
    server
}

#[test]
fn what_was_written_reads_back_in_every_engine_cached_and_direct() {
    there_and_back(Caching::PageCache, EngineKind::Threads, "threads");
    there_and_back(Caching::Direct, EngineKind::Threads, "threads-direct");
    for (caching, name) in [(Caching::PageCache, "auto"), (Caching::Direct, "auto-direct")] {
        let server = there_and_back(caching, EngineKind::Auto, name);
        match server.stat("registered_buffers") {
            Some(buffers) if buffers > 0 => assert!(server.stat("fixed_ios").unwrap() >= 20),
            _ => eprintln!("skipped: registered buffers, which the engine's own test asks for where they must be"),
        }
    }
}

#[test]
fn cache_reads_all_of_it_a_stretch_at_a_time_and_is_not_offered_where_nothing_is_kept() {
    let server = Server::start("cache", Caching::PageCache, EngineKind::Auto);
    let mut client = Client::open(&server);
    assert!(client.export.features.cache);
    // Longer than any buffer, and than all the memory of the export.
    client.ask(Command::Cache, 4096, SIZE - 4096, &[]).unwrap();
    if let (Some(fixed), Some(plain)) = (server.stat("fixed_ios"), server.stat("plain_ios")) {
        assert!(fixed + plain >= SIZE / (1 << 20), "{fixed} and {plain} reads of at most 1 MiB");
    }
    drop(server);
    let server = Server::start("no-cache", Caching::Direct, EngineKind::Auto);
    let mut client = Client::open(&server);
    match client.export.features.cache {
        true => eprintln!("skipped: O_DIRECT, which the file system of the temporary directory does not have"),
        false => assert_eq!(client.ask(Command::Cache, 0, 4096, &[]), Err(22), "EINVAL"),
    }
}

#[test]
fn a_model_whose_commands_are_too_short_for_a_reply_in_one_send_is_refused() {
    let catalogue = Catalogue::builtin();
    let served = |command: &str| {
        let text = format!(
            "kind = \"null\"\ndescription = \"short\"\ncapacity = \"1GB\"\nmax_command = \"{command}\"\ndepth = 4"
        );
        let model = Some(blksched_disks::parse("short.toml", &text).unwrap().into());
        let config = ServerConfig { model, ..config("m=mem:1M", &catalogue) };
        serve(config, &catalogue, &mut |_| {}).map_err(|error| error.to_string())
    };
    let why = served("16KiB").unwrap_err();
    assert!(why.contains("at most 16 KiB; at least 128"), "{why}");
    assert_eq!(served("128KiB"), Ok(0));
}
