//! A server that is replaced: who connects is not refused, who is connected goes on, what was written is there. And one
//! that is stopped and started again: clients that can connect again go on.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use blksched_nbd::{ClientWish, Command as Asked, Framing, Persist};
use blksched_testkit::port::Port;

use crate::interop::have;
use crate::kit::{BLKSCHED, Client, ENGINES, Folder, Process, SetWhenDropped, output, works};

/// Successive servers of one file at the same sockets.
pub struct Line {
    pub folder: Folder,
    engine: &'static str,
    pub export: String,
    pub tcp: Port,
    pub now: Process,
}

impl Line {
    pub fn new() -> Line {
        Line::on("auto")
    }

    pub fn on(engine: &'static str) -> Line {
        let folder = Folder::new();
        let export = format!("a={}", folder.file("image", 8 << 20));
        let tcp = Port::reserve();
        let now = Line::start(&folder, &export, &tcp, &["--engine", engine]);
        let line = Line { folder, engine, export, tcp, now };
        line.await_server();
        line
    }

    pub fn start(folder: &Folder, export: &str, tcp: &Port, more: &[&str]) -> Process {
        let mut serve = Command::new(BLKSCHED);
        serve.args(["serve", "--export", export, "--unix", &folder.text("s"), "--control", &folder.text("c")]);
        serve
            .args(["--metrics", &folder.text("m"), "--tcp", &tcp.address().to_string()])
            .args(more)
            .stdout(Stdio::null());
        Process::spawn(&mut serve)
    }

    /// Waits until a server answers.
    pub fn await_server(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        let asks = || output(Command::new(BLKSCHED).args(["ctl", &self.folder.text("c"), "get", "queue/depth"]));
        while !asks().unwrap().status.success() {
            assert!(Instant::now() < until, "the server does not answer");
            sleep(Duration::from_millis(5));
        }
    }

    /// Stops the server, and starts it again a while later.
    fn restart(&mut self) {
        let number = self.now.id().to_string();
        assert!(blksched_testkit::status(Command::new("kill").args(["-TERM", &number])).unwrap().success());
        assert!(self.now.end().success());
        sleep(Duration::from_millis(500));
        self.now = Line::start(&self.folder, &self.export, &self.tcp, &["--engine", self.engine]);
        self.await_server();
    }

    /// The next server takes over; returns how the previous one ended.
    pub fn next(&mut self) -> bool {
        let more = ["--take-over", "--engine", self.engine];
        let next = Line::start(&self.folder, &self.export, &self.tcp, &more);
        let ended = std::mem::replace(&mut self.now, next).end_within(Duration::from_secs(120));
        self.await_server();
        ended.success()
    }
}

pub fn connect(path: &Path) -> std::io::Result<UnixStream> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    Ok(stream)
}

#[test]
fn a_server_takes_anothers_place_and_nobody_who_connects_is_refused() {
    let mut line = Line::new();
    let (socket, tcp, stop) = (line.folder.path("s"), line.tcp.address(), AtomicBool::new(false));
    let refused = |stop: &AtomicBool| {
        let (mut came, mut refused) = (0u32, 0u32);
        while !stop.load(Ordering::Relaxed) {
            let both = connect(&socket).is_ok() && std::net::TcpStream::connect(tcp).is_ok();
            (came, refused) = (came + u32::from(both), refused + u32::from(!both));
            sleep(Duration::from_millis(1));
        }
        (came, refused)
    };
    let (came, away) = std::thread::scope(|scope| {
        let newcomers = scope.spawn(|| refused(&stop));
        let _at_the_latest = SetWhenDropped(&stop);
        for round in 1..=3u8 {
            let mut client = Client::open(connect(&socket).unwrap(), ClientWish::open("a")).unwrap();
            // Acknowledged and not flushed: the server that ends makes it stable, the next one has it.
            client.write(4096 * u64::from(round), &[round; 4096]).unwrap();
            assert!(line.next(), "the server before it ended well");
            assert_eq!(client.read(4096 * u64::from(round), 4096).unwrap(), [round; 4096], "the same connection");
            client.leave();
        }
        stop.store(true, Ordering::Relaxed);
        newcomers.join().unwrap()
    });
    // The number depends on the machine's speed; one per replacement shows that clients connected meanwhile.
    assert!(came >= 3 && away == 0, "{came} came in, {away} were refused");
    assert!(UnixStream::connect(line.folder.path("m")).is_ok(), "figures are there still");
}

#[test]
fn where_nobody_is_there_it_serves_and_what_it_does_not_want_is_closed() {
    let mut line = Line::new();
    let _ = line.now.kill();
    let _ = line.now.wait();
    line.now = Line::start(&line.folder, &line.export, &line.tcp, &["--take-over"]);
    line.await_server();
    // The next one wants only a control socket.
    let mut serve = Command::new(BLKSCHED);
    serve.args(["serve", "--export", &line.export, "--control", &line.folder.text("c"), "--take-over"]);
    let other = line.folder.text("t");
    let next = Process::spawn(serve.args(["--unix", &other]).stdout(Stdio::null()));
    assert!(std::mem::replace(&mut line.now, next).end().success());
    line.await_server();
    assert!(connect(&line.folder.path("t")).is_ok());
    assert!(!line.folder.path("s").exists() && !line.folder.path("m").exists(), "nobody listens there");
    let alone = output(Command::new(BLKSCHED).args(["serve", "--export", "a=mem:1M", "--take-over"])).unwrap();
    assert!(String::from_utf8_lossy(&alone.stderr).contains("expected --control"));
}

/// Like systemd with a socket unit, which owns the sockets and passes them to each server.
#[test]
fn who_connects_between_two_servers_of_a_socket_unit_is_served_by_the_second() {
    let folder = Folder::new();
    let listener = UnixListener::bind(folder.path("s")).unwrap();
    let start = || {
        let script = format!(
            "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec {BLKSCHED} serve --export m=mem:1M --systemd"
        );
        let socket = OwnedFd::from(listener.try_clone().unwrap());
        Process::spawn(Command::new("sh").args(["-c", &script]).stdin(socket).stdout(Stdio::null()))
    };
    let mut first = start();
    Client::open(connect(&folder.path("s")).unwrap(), ClientWish::open("m")).unwrap().leave();
    let pid = first.id().to_string();
    assert!(blksched_testkit::status(Command::new("kill").args(["-TERM", &pid])).unwrap().success());
    assert!(first.end().success());
    // No server is running now.
    let waiting = connect(&folder.path("s")).unwrap();
    let _second = start();
    let mut client = Client::open(waiting, ClientWish::open("m")).unwrap();
    assert_eq!(client.read(0, 512).unwrap(), [0; 512]);
    client.leave();
}

/// The first client stops in the middle of a header and continues at the next server; the second stops in the middle of
/// its data, which the departing server reads to their end.
fn replace_while_they_speak(line: &mut Line, clients: &mut [Client; 2]) {
    let write = Asked::Write(Persist::Lazily);
    let said = [1u64, 2].map(|nth| clients[nth as usize - 1].request(write, nth << 20, 70_000, &[7; 70_000]));
    let stops = [11, 40_000];
    for ((client, (_, bytes)), stop) in clients.iter_mut().zip(&said).zip(stops) {
        client.stream.write_all(&bytes[..stop]).unwrap();
    }
    let mut second = clients[1].stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            sleep(Duration::from_millis(500));
            second.write_all(&said[1].1[stops[1]..]).unwrap();
        });
        assert!(line.next());
    });
    clients[0].stream.write_all(&said[0].1[stops[0]..]).unwrap();
    for (client, (cookie, _)) in clients.iter_mut().zip(&said) {
        assert_eq!(client.receive().unwrap(), (*cookie, Ok(Vec::new())));
    }
}

#[test]
fn what_clients_were_in_the_middle_of_goes_on_at_the_next_server() {
    let framings = [Framing::Simple, Framing::Structured, Framing::Extended];
    let engines = ENGINES.into_iter().filter(|engine| works(engine));
    for (engine, framing) in engines.flat_map(|engine| framings.map(|framing| (engine, framing))) {
        let mut line = Line::on(engine);
        let wish = || ClientWish { framing, allocation: true, ..ClientWish::open("a") };
        let open = || Client::open(connect(&line.folder.path("s")).unwrap(), wish()).unwrap();
        let (mut busy, mut others) = (open(), [open(), open()]);
        let (mut last, write) = ([0u64; 16], Asked::Write(Persist::Lazily));
        for round in 0..200u64 {
            let slot = round % 16;
            last[slot as usize] = round + 1;
            let cookie = busy.send(write, slot * 8192, 8192, &[round as u8 + 1; 8192]).unwrap();
            if round == 100 {
                replace_while_they_speak(&mut line, &mut others);
            }
            assert_eq!(busy.receive().unwrap(), (cookie, Ok(Vec::new())), "{engine}, {framing:?}, {round}");
        }
        for (nth, client) in others.iter_mut().enumerate() {
            assert_eq!(
                client.read((1 + nth as u64) << 20, 70_000).unwrap(),
                [7; 70_000],
                "{engine}, {framing:?}, {nth}"
            );
        }
        for (slot, round) in last.into_iter().enumerate() {
            assert_eq!(busy.read(slot as u64 * 8192, 8192).unwrap(), [round as u8; 8192], "{engine}, {framing:?}");
        }
    }
}

#[test]
fn qemu_goes_on_where_it_may_connect_again_and_where_the_server_is_replaced_it_need_not() {
    if !have("qemu-io", "qemu-utils") {
        return;
    }
    let mut line = Line::new();
    let path = line.folder.text("s");
    let image = |delay: &str| {
        format!("driver=raw,file.driver=nbd,file.server.type=unix,file.server.path={path},file.export=a{delay}")
    };
    // It writes continuously while servers come and go, and reads everything back.
    let rounds = 300u64;
    let mut commands = String::new();
    for round in 0..rounds {
        let at = round * 16;
        commands += &format!("write -P {} {at}k 16k\nsleep 20\n", round % 250 + 1);
    }
    for round in 0..rounds {
        commands += &format!("read -P {} {}k 16k\n", round % 250 + 1, round * 16);
    }
    commands += "quit\n";
    let run = |image: String| {
        let mut qemu = Command::new("qemu-io");
        qemu.args(["--image-opts", &image]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Process::spawn(&mut qemu);
        let (mut input, text) = (child.stdin.take().unwrap(), commands.clone());
        std::thread::spawn(move || input.write_all(text.as_bytes()));
        child
    };
    let said = |child: Process| {
        let output = child.output();
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()
    };
    let all_is_well = |text: &str| {
        let (written, read) = (text.matches("wrote 16384").count() as u64, text.matches("read 16384").count() as u64);
        !text.contains("failed") && !text.contains("rror") && written == rounds && read == rounds
    };
    let (goes_on, gives_up) = (run(image(",file.reconnect-delay=60")), run(image("")));
    for _ in 0..2 {
        sleep(Duration::from_millis(1000));
        line.restart();
    }
    let text = said(goes_on);
    assert!(all_is_well(&text), "{text}");
    assert!(said(gives_up).contains("failed"), "without the delay a restart is an error");
    let hears_nothing = run(image(""));
    for _ in 0..3 {
        sleep(Duration::from_millis(500));
        assert!(line.next());
    }
    let text = said(hears_nothing);
    assert!(all_is_well(&text), "{text}");
}
