//! Sockets that systemd opens and passes, with the variables and file numbers of sd_listen_fds(3).

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use blksched_nbd::{ClientHandshake, ClientStep, ClientWish};
use blksched_testkit::port::Port;

use crate::kit::{BLKSCHED, Client, Folder, Process, output};

/// Starts a server like systemd does: the sockets are files 3 and 4, and the variables say so.
fn activate(unix: UnixListener, tcp: TcpListener, words: &str) -> Process {
    let script = format!(
        "exec 3<&0 4<&1 </dev/null >&2; LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=one:two \
         exec {BLKSCHED} serve --export m=mem:1M --systemd {words}"
    );
    let mut sh = Command::new("sh");
    Process::spawn(sh.arg("-c").arg(script).stdin(OwnedFd::from(unix)).stdout(OwnedFd::from(tcp)))
}

/// Writes through the Unix socket; the greeting on the TCP socket is that of an NBD server.
fn use_both(unix: &Path, tcp: std::net::SocketAddr) {
    let stream = UnixStream::connect(unix).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let mut client = Client::open(stream, ClientWish::open("m")).unwrap();
    client.write(4096, &[9; 4096]).unwrap();
    assert_eq!(client.read(4096, 4096).unwrap(), [9; 4096]);
    let mut stream = TcpStream::connect(tcp).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    assert_eq!(size_of(&mut stream), 1 << 20);
    client.leave();
}

/// The size of the export `m` as the server reports it on this socket.
fn size_of(stream: &mut TcpStream) -> u64 {
    use std::io::{Read, Write};
    let mut handshake = ClientHandshake::new(ClientWish::open("m"));
    let (mut input, mut output) = (Vec::new(), Vec::new());
    loop {
        let (used, step) = handshake.receive(&input, &mut output).unwrap();
        input.drain(..used);
        stream.write_all(&output).unwrap();
        output.clear();
        if let ClientStep::Enter(opened) = step {
            return opened.export.size;
        }
        if used == 0 {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            input.extend(byte);
        }
    }
}

#[test]
fn clients_are_served_at_the_sockets_that_are_passed() {
    let folder = Folder::new();
    let (unix, tcp) = (UnixListener::bind(folder.path("s")).unwrap(), TcpListener::bind(("127.0.0.1", 0)).unwrap());
    let address = tcp.local_addr().unwrap();
    let server = activate(unix, tcp, "");
    use_both(&folder.path("s"), address);
    drop(server);
    assert!(folder.path("s").exists(), "the socket is systemd's to remove");
}

#[test]
fn a_captive_command_is_not_taken_for_an_activated_one() {
    let folder = Folder::new();
    let (unix, tcp) = (UnixListener::bind(folder.path("s")).unwrap(), TcpListener::bind(("127.0.0.1", 0)).unwrap());
    let told = folder.text("told");
    let command = format!("env | grep ^LISTEN_ >{told}; readlink /proc/$$/fd/3 /proc/$$/fd/4 >>{told}; true");
    let mut server = activate(unix, tcp, &format!("--run '{command}'"));
    assert!(server.end().success());
    let told = std::fs::read_to_string(told).unwrap();
    assert!(!told.contains("LISTEN_") && !told.contains("socket:"), "passed on: {told}");
}

#[test]
fn no_socket_passed_is_an_error_that_says_so() {
    let mut serve = Command::new(BLKSCHED);
    serve.args(["serve", "--export", "m=mem:1M", "--systemd"]).env_remove("LISTEN_FDS");
    let output = output(&mut serve).unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("LISTEN_FDS"), "{text}");
}

#[test]
fn systemd_socket_activate_starts_it_with_the_first_client() {
    let program = "systemd-socket-activate";
    let here = blksched_testkit::status(Command::new(program).arg("--version").stdout(Stdio::null()));
    if !here.is_ok_and(|status| status.success()) {
        println!("skipped: the Debian package systemd, which has {program}, is not installed");
        return;
    }
    let folder = Folder::new();
    let port = Port::reserve();
    let address = port.address();
    let mut activate = Command::new(program);
    activate.args(["--fdname=one:two", "--listen", &folder.text("s"), "--listen", &address.to_string()]);
    activate.args([BLKSCHED, "serve", "--export", "m=mem:1M", "--systemd"]).stderr(Stdio::null());
    let _server = Process::spawn(&mut activate);
    for _ in 0..3000 {
        if folder.path("s").exists() && TcpStream::connect(address).is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    use_both(&folder.path("s"), address);
}
