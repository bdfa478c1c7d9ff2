//! TLS from outside: Debian's clients with certificates that are right, expired, foreign or absent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use blksched_testkit::port::Port;
use blksched_testkit::{program, status};

use crate::kit::{BLKSCHED, Client, ENGINES, Folder, Process, Server, output, works};
use crate::restart::connect;

/// Runs it in a directory; returns whether it succeeded, and its output.
fn run(folder: &Path, command: &str) -> (bool, String) {
    let output = output(Command::new("bash").args(["-c", command]).current_dir(folder)).unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.success(), text)
}

fn must(folder: &Path, command: &str) {
    let (good, text) = run(folder, command);
    assert!(good, "{command}: {text}");
}

const NEW: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

/// An authority with this name; a GnuTLS client shows a certificate only to a server that names its authority.
fn authority(folder: &Path, name: &str, called: &str) {
    must(folder, &format!("openssl req -x509 {NEW} -keyout {name}.key -out {name}.crt -subj /CN={called} -days 30"));
}

/// A directory as libnbd and QEMU expect it, for a client of this authority; what it trusts is `ca`.
fn client(folder: &Path, name: &str, authority: &str, days: i32) {
    must(folder, &format!("mkdir {name} && cp ca.crt {name}/ca-cert.pem"));
    must(folder, &format!("openssl req -new {NEW} -keyout {name}/client-key.pem -out {name}.csr -subj /CN={name}"));
    must(folder, &format!("printf 'subjectAltName=DNS:{name}.example' > {name}.ext"));
    let sign = format!(
        "openssl x509 -req -in {name}.csr -CA {authority}.crt -CAkey {authority}.key -CAcreateserial \
         -extfile {name}.ext -days {days} -out {name}/client-cert.pem"
    );
    must(folder, &sign);
}

/// The server's own certificates, for this machine.
fn certificates(folder: &Path) {
    authority(folder, "ca", "ca");
    authority(folder, "foreign", "ca");
    must(folder, &format!("openssl req -new {NEW} -keyout server.key -out server.csr -subj /CN=localhost"));
    must(folder, "printf 'subjectAltName=DNS:localhost,IP:127.0.0.1' > server.ext");
    let sign = "openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -extfile server.ext -days 30";
    must(folder, &format!("{sign} -out server.crt"));
    client(folder, "alice", "ca", 30);
    client(folder, "bob", "ca", 30);
    client(folder, "mallory", "foreign", 30);
    client(folder, "late", "ca", -1);
    must(folder, "mkdir nobody && cp ca.crt nobody/ca-cert.pem");
}

fn have_all() -> bool {
    let missing = ["openssl", "nbdinfo", "nbdcopy", "qemu-img"].into_iter().find(|name| program(name).is_none());
    if let Some(program) = missing {
        println!("skipped: there is no {program} here");
    }
    missing.is_none()
}

/// A server with TLS on a TCP port, and the port.
fn start(folder: &Folder, engine: &str, more: &[&str]) -> (Server, Port) {
    let port = Port::reserve();
    let (tcp, key) = (format!("127.0.0.1:{port}"), folder.text("server.key"));
    let (certificate, clients) = (folder.text("server.crt"), folder.text("ca.crt"));
    let tls = ["--tls-cert", &certificate, "--tls-key", &key, "--tls-clients", &clients];
    let exports = ["--export", "a=mem:64M", "--export", "b=mem:64M", "--engine", engine, "--tcp", &tcp];
    (Server::start(&[&exports[..], &tls, more].concat()), port)
}

#[test]
fn clients_come_in_with_a_certificate_and_only_with_one_that_is_right() {
    if !have_all() {
        return;
    }
    let folder = Folder::new();
    let place = folder.path("");
    certificates(&place);
    let rules = ["--allow", "cert=alice.example:*", "--allow", "cert=bob.example:b", "--allow", "0:*"];
    let rules = [&rules[..], &["--patience", "600s"]].concat();
    for engine in ENGINES.into_iter().filter(|engine| works(engine)) {
        let (server, port) = start(&folder, engine, &rules);
        let uri = |who: &str, export: &str| format!("'nbds://127.0.0.1:{port}/{export}?tls-certificates={who}'");
        // What is written is read back, over several connections.
        must(&place, "head -c 64M /dev/urandom > data");
        must(&place, &format!("nbdcopy --connections=4 data {}", uri("alice", "a")));
        must(&place, &format!("nbdcopy --connections=4 {} back && cmp data back", uri("alice", "a")));
        let object = "--object tls-creds-x509,id=t,endpoint=client,dir=alice";
        let image = format!("driver=nbd,host=127.0.0.1,port={port},export=a,tls-creds=t");
        must(&place, &format!("qemu-img convert {object} --image-opts {image} -O raw back2 && cmp data back2"));
        let (good, text) = run(&place, &format!("nbdinfo {}", uri("alice", "b")));
        assert!(good && text.contains("export-size: 67108864"), "{text}");
        // Which client may open what.
        must(&place, &format!("nbdinfo {}", uri("bob", "b")));
        let (good, text) = run(&place, &format!("nbdinfo {}", uri("bob", "a")));
        assert!(!good && text.contains("No such file or directory for export: a"), "{text}");
        let (_, list) = run(&place, &format!("nbdinfo --list {}", uri("bob", "")));
        assert!(list.contains("export=\"b\"") && !list.contains("export=\"a\""), "{list}");
        // Clients that are not admitted at all.
        for who in ["mallory", "late", "nobody"] {
            let (good, text) = run(&place, &format!("timeout 20 nbdinfo {}", uri(who, "b")));
            assert!(!good, "{who} came in: {text}");
        }
        let (good, text) = run(&place, &format!("nbdinfo nbd://127.0.0.1:{port}/b"));
        assert!(!good && text.to_uppercase().contains("TLS"), "{text}");
        // A Unix socket is protected by its file: TLS is offered there and not required.
        assert_eq!(server.open("a").read(0, 4096).unwrap(), std::fs::read(folder.path("data")).unwrap()[..4096]);
        assert!(server.ctl(&["get", "tenants/a/stat"]).unwrap().contains("clients="));
        let _half = half_a_handshake(&port);
        assert!(server.stop(), "its end does not wait for a handshake that goes no further");
    }
}

/// A client that asks for TLS, begins its hello, and says nothing more.
fn half_a_handshake(port: &Port) -> TcpStream {
    let mut stream = TcpStream::connect(port.address()).unwrap();
    stream.read_exact(&mut [0; 18]).unwrap();
    // Its flags, then the option NBD_OPT_STARTTLS without data.
    stream.write_all(&3u32.to_be_bytes()).unwrap();
    stream.write_all(&[&b"IHAVEOPT"[..], &5u32.to_be_bytes(), &0u32.to_be_bytes()].concat()).unwrap();
    let mut answer = [0; 20];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[12..16], 1u32.to_be_bytes(), "it is acknowledged");
    // A record of 512 bytes, of which there are five and none.
    stream.write_all(&[0x16, 3, 1, 2, 0]).unwrap();
    stream
}

#[test]
fn files_that_are_no_certificates_or_keys_are_named() {
    if !have_all() {
        return;
    }
    let folder = Folder::new();
    authority(&folder.path(""), "ca", "ca");
    authority(&folder.path(""), "other", "other");
    std::fs::write(folder.path("empty"), "nothing").unwrap();
    let check = |certificate: &str, key: &str, clients: &str| {
        let files = [certificate, key, clients].map(|name| folder.text(name));
        let tls = ["--tls-cert", &files[0], "--tls-key", &files[1], "--tls-clients", &files[2]];
        let (code, _, errors) = checked(&[&["--export", "a=mem:1M"], &tls[..]].concat());
        (code, errors)
    };
    assert_eq!(check("ca.crt", "ca.key", "ca.crt").0, 0);
    let (code, _, errors) = checked(&["--export", "a=mem:1M", "--tls-key", "k"]);
    assert!(code == 2 && errors.contains("expected --tls-cert"), "{errors}");
    // The same in a configuration file.
    let [certificate, key, clients] = ["ca.crt", "ca.key", "ca.crt"].map(|name| folder.text(name));
    let keys = format!("tls_cert = {certificate:?}\ntls_key = {key:?}\ntls_clients = {clients:?}\n");
    let export = "[[export]]\nname = \"a\"\npath = \"mem:1M\"\n";
    std::fs::write(folder.path("c.toml"), keys + export).unwrap();
    let (code, _, errors) = checked(&["--config", &folder.text("c.toml")]);
    assert_eq!(code, 0, "{errors}");
    for (certificate, key, clients, named) in [
        ("empty", "ca.key", "ca.crt", "empty: there is no certificate"),
        ("absent", "ca.key", "ca.crt", "absent: expected certificates"),
        ("ca.crt", "empty", "ca.crt", "empty: expected a private key"),
        ("ca.crt", "other.key", "ca.crt", "ca.crt: "),
        ("ca.crt", "ca.key", "empty", "empty: there is no certificate"),
    ] {
        let (code, text) = check(certificate, key, clients);
        assert!(code == 2 && text.contains(named), "{named}: {text}");
    }
}

/// What `serve --check` says.
fn checked(arguments: &[&str]) -> (u8, String, String) {
    blksched_cli::printed(&[&["serve", "--check"], arguments].concat(), 1000)
}

/// The result of our own client: the export's size is read once, and a little is written.
fn load(folder: &Path, uri: &str) -> (bool, String) {
    run(folder, &format!("timeout 60 {BLKSCHED} load '{uri}' --clients 2 --depth 4 --reads 50 --time 200ms"))
}

#[test]
fn our_own_clients_come_in_with_a_certificate_and_only_to_who_has_the_right_one() {
    if !have_all() {
        return;
    }
    let folder = Folder::new();
    let place = folder.path("");
    certificates(&place);
    // A server whose certificate is of another authority, and one whose certificate has expired.
    for (name, authority, days) in [("forged", "foreign", 30), ("old", "ca", -1)] {
        must(&place, &format!("openssl req -new {NEW} -keyout {name}.key -out {name}.csr -subj /CN=localhost"));
        let sign =
            format!("openssl x509 -req -in {name}.csr -CA {authority}.crt -CAkey {authority}.key -CAcreateserial");
        must(&place, &format!("{sign} -extfile server.ext -days {days} -out {name}.crt"));
    }
    let (server, port) = start(&folder, "threads", &["--allow", "cert=alice.example:a", "--allow", "0:*"]);
    let uri = |who: &str| format!("nbds://127.0.0.1:{port}/a?tls-certificates={who}");
    let (good, text) = load(&place, &uri("alice"));
    assert!(good && text.contains("nbds://127.0.0.1"), "{text}");
    assert!(server.ctl(&["get", "tenants/a/stat"]).unwrap().contains("errors=0"));
    // It has left without disconnecting, and nothing of it remains.
    let gone = || server.ctl(&["get", "tenants/a/stat"]).unwrap().contains("clients=0 ");
    assert!((0..200).any(|_| gone() || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        false
    }));
    // Clients that the server refuses.
    for (who, why) in [("mallory", "DecryptError"), ("late", "CertificateExpired"), ("nobody", "CertificateRequired")] {
        let (good, text) = load(&place, &uri(who));
        assert!(!good && text.contains(why), "{who}: {text}");
    }
    let (good, text) = load(&place, &uri("bob"));
    assert!(!good && text.contains("refuses `a`"), "{text}");
    // A server that the client refuses, and a path that is not a directory.
    must(&place, "mkdir trusts-others && cp foreign.crt trusts-others/ca-cert.pem && mkdir empty");
    for (uri, why) in [
        (uri("trusts-others"), "invalid peer certificate: BadSignature"),
        (format!("{}&tls-hostname=disks.example", uri("alice")), "not valid for name"),
        (uri("empty"), "empty/ca-cert.pem: expected certificates"),
        (format!("nbds://127.0.0.1:{port}/a"), "expected ?tls-certificates="),
        (format!("nbds://127.0.0.1:{port}/a?tls-certificate=alice"), "expected ?tls-certificates=FOLDER"),
    ] {
        let (good, text) = load(&place, &uri);
        assert!(!good && text.contains(why), "{uri}: {text}");
    }
    for (name, why) in [("forged", "invalid peer certificate: BadSignature"), ("old", "invalid peer certificate")] {
        for file in ["crt", "key"] {
            std::fs::copy(folder.path(&format!("{name}.{file}")), folder.path(&format!("server.{file}"))).unwrap();
        }
        let (_server, port) = start(&folder, "threads", &[]);
        let (good, text) = load(&place, &format!("nbds://127.0.0.1:{port}/a?tls-certificates=alice"));
        assert!(!good && text.contains(why), "{name}: {text}");
    }
    // A server without TLS.
    let port = Port::reserve();
    let _plain = Server::start(&["--export", "a=mem:1M", "--tcp", &format!("127.0.0.1:{port}")]);
    let (good, text) = load(&place, &format!("nbds://127.0.0.1:{port}/a?tls-certificates=alice"));
    assert!(!good && text.contains("the server speaks no TLS"), "{text}");
}

#[test]
fn a_file_is_an_export_of_a_server_with_tls() {
    if !have_all() {
        return;
    }
    let folder = Folder::new();
    let place = folder.path("");
    certificates(&place);
    let (server, port) = start(&folder, "threads", &[]);
    must(&place, "mkdir disks && head -c 3000000 /dev/urandom > data");
    let mount = |who: &str| {
        let uri = format!("nbds://127.0.0.1:{port}/a?tls-certificates={who}");
        format!("{BLKSCHED} mount disks '{uri}'")
    };
    let (good, text) = run(&place, &mount("late"));
    assert!(!good && text.contains("CertificateExpired"), "{text}");
    let script = format!(
        "{} >mounted 2>&1 & mount=$!; trap 'fusermount3 -u disks || umount -l disks; wait $mount' EXIT; \
         for n in $(seq 300); do [ -e disks/a ] && break; kill -0 $mount || exit 77; sleep 0.1; done; \
         dd if=data of=disks/a conv=notrunc,fsync bs=100k 2>&1 && cmp -n 3000000 data disks/a && echo alike",
        mount("alice")
    );
    let (_, text) = run(&place, &script);
    let said = std::fs::read_to_string(folder.path("mounted")).unwrap_or_default();
    if !text.contains("alike") && (said.contains("fuse") || said.contains("not permitted")) {
        println!("skipped: this machine lets nobody mount: {said}");
        return;
    }
    assert!(text.contains("alike"), "{text} {said}");
    assert_eq!(server.open("a").read(0, 4096).unwrap(), std::fs::read(folder.path("data")).unwrap()[..4096]);
}

#[test]
fn who_is_revoked_stays_out_from_the_next_reload_on() {
    if !have_all() {
        return;
    }
    let folder = Folder::new();
    let place = folder.path("");
    certificates(&place);
    must(&place, "touch index.txt && echo 01 > crlnumber");
    let lines = ["[ca]", "default_ca=d", "[d]", "database=index.txt", "crlnumber=crlnumber", "default_md=sha256"];
    std::fs::write(folder.path("ca.cnf"), lines.join("\n") + "\ndefault_crl_days=30\n").unwrap();
    let ca = "openssl ca -config ca.cnf -keyfile ca.key -cert ca.crt";
    must(&place, &format!("{ca} -gencrl -out revoked.pem"));
    let port = Port::reserve();
    let path = |key: &str, name: &str| format!("{key} = {:?}\n", folder.text(name));
    let tls = [
        path("tls_cert", "server.crt"),
        path("tls_key", "server.key"),
        path("tls_clients", "ca.crt"),
        path("tls_revoked", "revoked.pem"),
    ];
    let config = format!("tcp = [\"127.0.0.1:{port}\"]\n{}[[export]]\nname = \"a\"\npath = \"mem:1M\"\n", tls.concat());
    std::fs::write(folder.path("c.toml"), config).unwrap();
    let mut serve = Command::new(BLKSCHED);
    serve.args(["serve", "--config", &folder.text("c.toml")]).stdout(Stdio::null());
    let child = Process::spawn(&mut serve);
    let comes_in = |who: &str| {
        let uri = format!("'nbds://127.0.0.1:{port}/a?tls-certificates={who}'");
        std::thread::sleep(std::time::Duration::from_millis(20));
        run(&place, &format!("timeout 20 nbdinfo {uri}")).0
    };
    assert!((0..1000).any(|_| comes_in("alice")), "the server starts, and nobody is revoked");
    must(&place, &format!("{ca} -revoke alice/client-cert.pem && {ca} -gencrl -out revoked.pem"));
    assert!(status(Command::new("kill").args(["-HUP", &child.id().to_string()])).unwrap().success());
    assert!((0..1000).any(|_| !comes_in("alice")), "alice is revoked");
    assert!(comes_in("bob"), "and bob is not");
}

/// A qemu-io with TLS that is told what to do one thing after the other.
struct Talker {
    child: Process,
    said: BufReader<std::process::ChildStdout>,
}

impl Talker {
    fn start(place: &Path, port: &Port) -> Talker {
        let image = format!(
            "driver=raw,file.driver=nbd,file.server.type=inet,file.server.host=localhost,file.server.port={port},\
             file.export=a,file.tls-creds=t"
        );
        let mut qemu = Command::new("qemu-io");
        qemu.args(["--object", "tls-creds-x509,id=t,endpoint=client,dir=alice", "--image-opts", &image]);
        qemu.current_dir(place).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Process::spawn(&mut qemu);
        let said = BufReader::new(child.stdout.take().unwrap());
        Talker { child, said }
    }

    fn does(&mut self, command: &str, answer: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{command}").unwrap();
        let mut line = String::new();
        while !line.contains(answer) {
            line.clear();
            assert!(self.said.read_line(&mut line).unwrap() > 0, "{command}: no answer");
            assert!(!line.contains("failed") && !line.contains("rror"), "{command}: {line}");
        }
    }
}

#[test]
fn clients_with_tls_go_on_when_their_server_is_replaced_and_it_says_how_many() {
    if !have_all() || program("qemu-io").is_none() {
        return;
    }
    let folder = Folder::new();
    let place = folder.path("");
    certificates(&place);
    let (port, image) = (Port::reserve(), format!("a={}", folder.file("image", 1 << 20)));
    let start = |more: &[&str]| {
        let mut serve = Command::new(BLKSCHED);
        serve.args(["serve", "--export", &image, "--unix", &folder.text("s"), "--control", &folder.text("c")]);
        serve.args(["--tcp", &format!("127.0.0.1:{port}"), "--log", "info"]).args(more);
        for (option, file) in [("--tls-cert", "server.crt"), ("--tls-key", "server.key"), ("--tls-clients", "ca.crt")] {
            serve.arg(option).arg(folder.path(file));
        }
        // Alice may open it, before and after: her certificate goes with her connection.
        serve.args(["--allow", "cert=alice.example:a", "--allow", &format!("{}:a", own_user())]);
        let mut child = Process::spawn(serve.stdout(Stdio::null()).stderr(Stdio::piped()));
        let log = BufReader::new(child.stderr.take().unwrap());
        (child, log)
    };
    let until = |log: &mut BufReader<std::process::ChildStderr>, said: &str| {
        let mut line = String::new();
        while !line.contains(said) {
            line.clear();
            assert!(log.read_line(&mut line).unwrap() > 0, "the log ends without {said}");
        }
        line
    };
    let (mut first, mut of_first) = start(&[]);
    while connect(&folder.path("s")).is_err() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let mut alice = Talker::start(&place, &port);
    alice.does("write -P 1 0 64k", "wrote 65536");
    let (mut second, mut of_second) = start(&["--take-over"]);
    let line = until(&mut of_first, "clients with TLS go on through this process");
    assert!(line.contains("clients=1"), "{line}");
    alice.does("read -P 1 0 64k", "read 65536");
    alice.does("write -P 2 64k 64k", "wrote 65536");
    assert!(first.try_wait().unwrap().is_none(), "it carries her bytes");
    // To a third server both go on, hers through the first one still.
    let mut other = Talker::start(&place, &port);
    other.does("read -P 2 64k 64k", "read 65536");
    let (_third, _of_third) = start(&["--take-over"]);
    until(&mut of_second, "clients with TLS go on through this process");
    for talker in [&mut alice, &mut other] {
        talker.does("read -P 2 64k 64k", "read 65536");
    }
    let mut client = Client::open(connect(&folder.path("s")).unwrap(), blksched_nbd::ClientWish::open("a")).unwrap();
    assert_eq!(client.read(64 << 10, 4096).unwrap(), [2; 4096]);
    // When she leaves, the first has nothing left to do; the second is told to end.
    writeln!(alice.child.stdin.as_mut().unwrap(), "quit").unwrap();
    assert!(first.end().success());
    assert!(second.try_wait().unwrap().is_none());
    assert!(status(Command::new("kill").args(["-TERM", &second.id().to_string()])).unwrap().success());
    assert!(second.end().success());
}

/// This process's user.
pub fn own_user() -> u32 {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap())
}
