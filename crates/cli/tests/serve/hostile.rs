//! Clients that mean no good harm nobody else.

use std::io::{Read, Write};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use blksched_nbd::{ClientWish, Command as Asked, Persist};
use blksched_testkit::port::Port;

use crate::kit::{BLKSCHED, Client, ENGINES, Folder, Numbers, Process, Server, output, works};
use crate::restart::connect;

#[test]
fn garbage_floods_stalls_and_departures_leave_others_served() {
    for engine in ENGINES.into_iter().filter(|engine| works(engine)) {
        let exports = ["--export", "m=mem:4M", "--export", "other=mem:4M"];
        let server = Server::start(&[&exports[..], &["--engine", engine]].concat());
        let mut good = server.open("other");
        let mut numbers = Numbers(7);
        let mut held = Vec::new();
        for round in 0..60 {
            let mut raw = server.raw();
            let garbage: Vec<u8> = (0..numbers.below(3000)).map(|_| numbers.below(256) as u8).collect();
            match round % 6 {
                // Garbage instead of a handshake, garbage after it, and none at all.
                0 => drop(raw.write_all(&garbage)),
                1 => drop(raw.write_all(&[&[0, 0, 0, 3], &garbage[..]].concat())),
                2 => held.push(raw),
                // A write whose data never arrive, and requests whose replies are never read.
                3 => {
                    let mut client = server.open("m");
                    client.send(Asked::Write(Persist::Lazily), 0, 1 << 20, &garbage).unwrap();
                    held.push(client.stream.try_clone().unwrap());
                    std::mem::forget(client);
                }
                4 => {
                    let mut client = server.open("m");
                    for _ in 0..20 {
                        client.send(Asked::Read, 0, 1 << 20, &[]).unwrap();
                    }
                    held.push(client.stream.try_clone().unwrap());
                    std::mem::forget(client);
                }
                // Garbage in the middle of a session.
                _ => {
                    let mut client = server.open("m");
                    drop(client.stream.write_all(&garbage));
                }
            }
            good.write(4096 * round, &[round as u8; 4096]).unwrap();
            assert_eq!(good.read(4096 * round, 4096).unwrap(), [round as u8; 4096]);
        }
        good.flush().unwrap();
        good.leave();
    }
}

#[test]
fn a_handshake_that_never_ends_is_ended() {
    let server = Server::start(&["--export", "m=mem:1M", "--patience", "100ms"]);
    let mut raw = server.raw();
    let mut rest = Vec::new();
    raw.read_to_end(&mut rest).unwrap();
    assert_eq!(rest.len(), 18, "the greeting, and then the end");
}

#[test]
fn idle_sockets_keep_neither_a_newcomer_nor_a_question_out() {
    // They last longer than this test waits for anything.
    let server = Server::start(&["--export", "m=mem:1M", "--patience", "900s"]);
    let idle: Vec<_> = (0..600).map(|_| server.raw()).collect();
    let mut client = server.open("m");
    client.write(0, &[7; 4096]).unwrap();
    assert_eq!(server.ctl(&["get", "tenants/m/weight"]).unwrap(), "100");
    // Nor do idle connections at the control socket.
    let askers: Vec<_> = (0..200).map(|_| std::os::unix::net::UnixStream::connect(&server.control).unwrap()).collect();
    assert_eq!(server.ctl(&["get", "tenants/m/weight"]).unwrap(), "100");
    assert_eq!(client.read(0, 4096).unwrap(), [7; 4096]);
    drop((idle, askers));
}

#[test]
fn newcomers_win_over_those_who_talk_and_never_finish() {
    let server = Server::start(&["--export", "m=mem:1M", "--patience", "900s"]);
    // More than can be in their handshakes, and each of them says something.
    let mut talkers: Vec<_> = (0..300).map(|_| server.raw()).collect();
    let say = |talkers: &mut Vec<std::os::unix::net::UnixStream>, bytes: &[u8]| {
        talkers.retain_mut(|talker| talker.write_all(bytes).is_ok());
    };
    say(&mut talkers, &[0, 0, 0, 3]);
    for _ in 0..20 {
        // The first bytes of an option, one at a time, and as many newcomers of theirs.
        say(&mut talkers, b"I");
        talkers.extend((0..20).map(|_| server.raw()));
        assert_eq!(server.open("m").read(0, 512).unwrap(), [0; 512]);
    }
}

#[test]
fn long_answers_are_whole_however_slowly_they_are_read() {
    const EXPORTS: usize = 500;
    let folder = Folder::new();
    let metrics = folder.text("metrics");
    let exports: Vec<String> = (0..EXPORTS).map(|nth| format!("--export=e{nth}=mem:1M")).collect();
    let arguments: Vec<&str> = exports.iter().map(String::as_str).chain(["--metrics", &metrics]).collect();
    let server = Server::start(&arguments);
    let mut clients: Vec<_> = (0..EXPORTS).map(|nth| server.open(&format!("e{nth}"))).collect();
    clients.iter_mut().for_each(|client| drop(client.read(0, 512).unwrap()));
    let all = server.ctl(&["list", "tenants"]).unwrap();
    let of_one = all.lines().filter(|line| line.starts_with("tenants/e499/")).count();
    assert_eq!(all.lines().count(), EXPORTS * of_one, "every value of every export");
    let mut top = Command::new(BLKSCHED);
    let top = output(top.arg("top").arg(&server.control).args(["--interval", "10ms", "--count", "1"])).unwrap();
    let table = String::from_utf8(top.stdout).unwrap();
    assert!(top.status.success());
    for nth in 0..EXPORTS {
        let name = format!("e{nth}");
        assert!(table.lines().any(|line| line.split_whitespace().any(|word| word == name)), "{name} in {table}");
    }
    let mut stream = std::os::unix::net::UnixStream::connect(&metrics).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    // It is longer than any socket's buffer, and nobody reads it yet.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}, and {} bytes came", body.len());
    assert_eq!(body.lines().filter(|line| line.starts_with("blksched_clients{")).count(), EXPORTS);
}

#[test]
fn a_file_that_hangs_keeps_neither_clients_nor_questions_nor_the_end_waiting() {
    let folder = Folder::new();
    let sockets = format!(
        "unix = [{:?}]\ncontrol = {:?}\nmetrics = {:?}\n",
        folder.text("s"),
        folder.text("c"),
        folder.text("m")
    );
    std::fs::write(folder.path("c.toml"), sockets + "[[export]]\nname = \"a\"\npath = \"mem:1M\"\n").unwrap();
    let systemd = UnixDatagram::bind(folder.path("notify")).unwrap();
    systemd.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let mut serve = Command::new(BLKSCHED);
    serve.args(["serve", "--config", &folder.text("c.toml")]).env("NOTIFY_SOCKET", folder.path("notify"));
    let mut child = Process::spawn(serve.stdout(Stdio::null()));
    let hears = |word: &str| {
        let mut text = [0; 200];
        let count = systemd.recv(&mut text).unwrap();
        assert!(text[..count].starts_with(word.as_bytes()));
    };
    let signal = |name: &str| {
        assert!(
            blksched_testkit::status(Command::new("kill").args([name, &child.id().to_string()])).unwrap().success()
        );
    };
    hears("READY=1");
    // Nobody ever writes to these pipes, so whoever opens them waits for ever.
    std::fs::remove_file(folder.path("c.toml")).unwrap();
    for pipe in ["c.toml", "disk"] {
        assert!(blksched_testkit::status(Command::new("mkfifo").arg(folder.path(pipe))).unwrap().success());
    }
    signal("-HUP");
    hears("RELOADING=1");
    let ctl = |words: &[&str]| {
        let mut ctl = Command::new(BLKSCHED);
        ctl.arg("ctl").arg(folder.path("c")).args(words).stdout(Stdio::piped()).stderr(Stdio::null());
        Process::spawn(&mut ctl)
    };
    let mut hangs = ctl(&["export", "add", &format!("d={},ro", folder.text("disk"))]);
    for _ in 0..3 {
        let stream = connect(&folder.path("s")).unwrap();
        assert_eq!(Client::open(stream, ClientWish::open("a")).unwrap().read(0, 512).unwrap(), [0; 512]);
        assert!(ctl(&["get", "queue/depth"]).end().success());
        let mut metrics = connect(&folder.path("m")).unwrap();
        metrics.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut text = String::new();
        metrics.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    }
    assert!(ctl(&["export", "add", "e=mem:1M"]).end().success(), "other exports can be added");
    assert!(hangs.try_wait().unwrap().is_none(), "it waits for the disk");
    signal("-TERM");
    assert!(child.end().success());
}

#[test]
fn a_server_that_hangs_at_its_start_ends_when_it_is_told_to() {
    let folder = Folder::new();
    assert!(blksched_testkit::status(Command::new("mkfifo").arg(folder.path("pipe"))).unwrap().success());
    // Nobody ever writes to it: opening the disk, or reading the configuration, lasts for ever.
    let export = format!("d={},ro", folder.text("pipe"));
    for hangs in [["--export", &export], ["--config", &folder.text("pipe")]] {
        let mut serve = Command::new(BLKSCHED);
        serve.arg("serve").args(hangs).args(["--unix", &folder.text("s")]).stdout(Stdio::null());
        let mut child = Process::spawn(&mut serve);
        std::thread::sleep(Duration::from_millis(300));
        assert!(child.try_wait().unwrap().is_none(), "{hangs:?} does not hang");
        blksched_testkit::status(Command::new("kill").args(["-TERM", &child.id().to_string()])).unwrap();
        child.end();
        assert!(!folder.path("s").exists());
    }
}

#[test]
fn a_server_in_a_container_knows_the_users_of_clients_outside() {
    // Seen from inside its PID namespace, a client outside has no number.
    let folder = Folder::new();
    let alone = ["--user", "--map-current-user", "--pid", "--fork", "--kill-child"];
    if !blksched_testkit::status(Command::new("unshare").args(alone).arg("true")).is_ok_and(|end| end.success()) {
        println!("skipped: there are no PID namespaces here");
        return;
    }
    let mut serve = Command::new("unshare");
    serve.args(alone).args([BLKSCHED, "serve", "--export", "m=mem:1M", "--unix", &folder.text("s")]);
    serve.args(["--control", &folder.text("c"), "--allow", &format!("{}:m", crate::tls::own_user())]);
    let _child = Process::spawn(serve.stdout(Stdio::null()));
    while connect(&folder.path("c")).is_err() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut client = Client::open(connect(&folder.path("s")).unwrap(), ClientWish::open("m")).unwrap();
    assert_eq!(client.read(0, 512).unwrap(), [0; 512]);
    let mut ctl = Command::new(BLKSCHED);
    ctl.arg("ctl").arg(folder.path("c")).args(["get", "queue/depth"]).stdout(Stdio::null());
    assert!(Process::spawn(&mut ctl).end().success());
}

#[test]
fn what_one_origin_causes_in_the_log_is_bounded_and_what_is_left_out_is_counted() {
    const CONNECTIONS: usize = 300;
    let folder = Folder::new();
    let log = std::fs::File::create(folder.path("log")).unwrap();
    let begun = std::time::Instant::now();
    let mut server = Server::logged(&["--export", "m=mem:1M", "--log", "info"], log.into());
    for _ in 0..CONNECTIONS {
        server.open("m").leave();
    }
    while !server.ctl(&["get", "tenants/m/stat"]).unwrap().contains("clients=0 ") {
        std::thread::sleep(Duration::from_millis(10));
    }
    server.signal("TERM");
    assert!(server.child().end().success());
    let log = std::fs::read_to_string(folder.path("log")).unwrap();
    let lines = log.lines().filter(|line| line.contains("INFO connected") || line.contains("INFO left")).count();
    let more = |line: &str| line.split("more=").nth(1)?.split_whitespace().next()?.parse::<usize>().ok();
    let left_out: usize = log.lines().filter(|line| line.contains("lines of its clients")).filter_map(more).sum();
    assert_eq!(lines + left_out, 2 * CONNECTIONS, "{log}");
    assert!(lines <= 101 + begun.elapsed().as_secs() as usize, "a hundred at once, and one a second: {lines}");
}

#[test]
fn one_origin_leaves_half_of_the_files_to_others() {
    const FILES: usize = 128;
    let folder = Folder::new();
    let port = Port::reserve();
    let mut serve = Command::new("sh");
    let script = "ulimit -n $1; shift; exec \"$@\"";
    serve.args(["-c", script, "sh", &FILES.to_string(), BLKSCHED, "serve", "--export", "m=mem:1M"]);
    serve.args(["--unix", &folder.text("s"), "--tcp", &port.address().to_string()]);
    let _child = Process::spawn(serve.stdout(Stdio::null()).stderr(Stdio::null()));
    while connect(&folder.path("s")).is_err() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let open = || Client::open(connect(&folder.path("s")).unwrap(), ClientWish::open("m"));
    let reads = |client: &mut Client| {
        client.send(Asked::Read, 0, 512, &[]).map_err(|error| error.to_string()).and_then(|_| client.receive())
    };
    let mut held: Vec<Client> = (0..FILES / 2).map(|_| open().unwrap()).collect();
    assert!(held.iter_mut().all(|client| reads(client).is_ok()), "as many as it may have");
    assert!(open().is_err() || reads(&mut open().unwrap()).is_err(), "and no more");
    // Another origin has a place.
    let socket = std::net::TcpStream::connect(port.address()).unwrap();
    let stream = std::os::unix::net::UnixStream::from(std::os::fd::OwnedFd::from(socket));
    assert_eq!(reads(&mut Client::open(stream, ClientWish::open("m")).unwrap()).unwrap().1.unwrap(), [0; 512]);
    held.pop().unwrap().leave();
    let comes_in = || open().is_ok_and(|mut client| reads(&mut client).is_ok());
    assert!(
        (0..3000).any(|_| comes_in() || {
            std::thread::sleep(Duration::from_millis(10));
            false
        }),
        "the place of one that has left"
    );
}
