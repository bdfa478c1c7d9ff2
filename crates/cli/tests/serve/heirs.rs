//! Servers that are to take over and never begin: the one before them goes on, with its clients, its files and its
//! sockets.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use blksched_nbd::ClientWish;

use crate::guest::{Guest, READ, WRITE, slot_at};
use crate::kit::{BLKSCHED, Client, ENGINES, Folder, Numbers, Process, Server, output, tried, works};
use crate::restart::{Line, connect};

/// A hand-written heir that asks to take over and reads up to this line.
fn heir(control: &Path, hears: &str) -> UnixStream {
    let mut heir = connect(control).unwrap();
    heir.write_all(b"hand over\n").unwrap();
    let mut heard = Vec::new();
    while !heard.windows(hears.len().max(1)).any(|some| some == hears.as_bytes()) && !hears.is_empty() {
        let mut byte = [0];
        heir.read_exact(&mut byte).unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(&heard)));
        heard.push(byte[0]);
    }
    heir
}

fn open(line: &Line) -> Client {
    Client::open(connect(&line.folder.path("s")).unwrap(), ClientWish::open("a")).unwrap()
}

/// Checks that the same server serves the same connections and new ones, and that its file is still locked.
fn goes_on(line: &mut Line, clients: &mut [Client], round: u8) {
    for (nth, client) in clients.iter_mut().enumerate() {
        let at = 4096 * (nth as u64 + 1);
        client.write(at, &[round + 1; 4096]).unwrap();
        assert_eq!(client.read(at, 4096).unwrap(), [round + 1; 4096], "round {round}, client {nth}");
    }
    open(line).leave();
    line.await_server();
    assert!(connect(&line.folder.path("m")).is_ok(), "round {round}: figures are there still");
    let (good, text) = tried(&["--export", &line.export]);
    assert!(!good && text.contains("another program has it open"), "round {round}: {text}");
    assert!(line.now.try_wait().unwrap().is_none(), "round {round}: it has ended");
}

#[test]
fn a_server_that_ends_in_the_middle_of_taking_over_leaves_the_one_before_serving() {
    for engine in ENGINES.into_iter().filter(|engine| works(engine)) {
        let mut line = Line::on(engine);
        let mut clients = [open(&line), open(&line)];
        // The heir has asked; has the sockets; has everything; says something unexpected.
        for (round, hears) in ["", "ok\n", "\n\n", "yours?\n", "yours?\n"].into_iter().enumerate() {
            let mut heir = heir(&line.folder.path("c"), hears);
            if round == 4 {
                heir.write_all(b"what?\n").unwrap();
            }
            drop(heir);
            goes_on(&mut line, &mut clients, round as u8);
        }
        // After all that another heir really takes over.
        assert!(line.next(), "{engine}");
        for (nth, client) in clients.iter_mut().enumerate() {
            assert_eq!(client.read(4096 * (nth as u64 + 1), 4096).unwrap(), [5; 4096], "{engine}");
        }
    }
}

#[test]
fn a_guest_that_cannot_be_handed_over_is_cut_off_only_when_the_next_one_begins() {
    let folder = Folder::new();
    let socket = folder.path("v");
    let server = Server::start(&["--export", "a=mem:1M", &format!("--vhost-user=a={}", socket.display())]);
    let mut guest = Guest::connect(&socket, 1);
    assert_eq!(guest.ask(0, WRITE, 0, &[7; 4096], 0).0, 0);
    let heir = heir(&server.control, "yours?\n");
    assert!(!socket.exists(), "the next one may have a socket of its own there");
    // The guest asks meanwhile, and is answered later.
    guest.begin(0, 0, READ, 0, &[], 4096);
    drop(heir);
    assert!(guest.ended(0).is_some());
    assert_eq!(guest.get(slot_at(0, 0) + 0x1000, 4096), [7; 4096]);
    drop(guest);
    assert_eq!(Guest::connect(&socket, 1).ask(0, READ, 0, &[], 512), (0, vec![7; 512]), "who comes later is let in");
}

#[test]
fn who_takes_too_long_to_begin_is_told_that_it_is_too_late() {
    let mut line = Line::new();
    let mut clients = [open(&line)];
    let mut heir = heir(&line.folder.path("c"), "yours?\n");
    // The heir never begins; clients that ask meanwhile wait.
    goes_on(&mut line, &mut clients, 0);
    // If it can no longer say that, it is told why all the same.
    let _ = heir.write_all(b"begun\n");
    let mut word = String::new();
    heir.read_to_string(&mut word).unwrap();
    assert_eq!(word, "mine\n");
    goes_on(&mut line, &mut clients, 1);
}

#[test]
fn who_cannot_open_what_it_needs_leaves_the_one_before_serving() {
    let mut line = Line::new();
    let mut clients = [open(&line)];
    let sockets = ["--unix", &line.folder.text("s"), "--control", &line.folder.text("c"), "--take-over"];
    let nowhere = line.folder.text("nowhere/socket");
    let vhost = format!("a={nowhere}");
    for (round, more) in [
        ["--export", &format!("a={}", line.folder.text("no-image")), "--depth", "4"].map(str::to_owned),
        ["--export", &line.export, "--metrics", &nowhere].map(str::to_owned),
        ["--export", &line.export, "--vhost-user", &vhost].map(str::to_owned),
    ]
    .into_iter()
    .enumerate()
    {
        let next = output(Command::new(BLKSCHED).arg("serve").args(sockets).args(&more)).unwrap();
        let text = String::from_utf8_lossy(&next.stderr).into_owned();
        assert!(!next.status.success() && text.contains("no"), "{text}");
        goes_on(&mut line, &mut clients, round as u8);
    }
}

#[test]
fn a_server_that_is_killed_while_it_takes_over_costs_nobody_anything_until_it_has_begun() {
    let mut line = Line::new();
    let (mut client, mut numbers, mut went_on) = (open(&line), Numbers(11), 0);
    for round in 0..24u8 {
        client.write(0, &[round + 1; 4096]).unwrap();
        let more = ["--take-over", "--engine", "auto"];
        let mut next = Line::start(&line.folder, &line.export, &line.tcp, &more);
        sleep(Duration::from_micros(numbers.below(40_000)));
        next.kill().unwrap();
        next.end();
        // The previous server would end at once if the next one had begun.
        let goes_on = (0..100).all(|_| {
            sleep(Duration::from_millis(2));
            line.now.try_wait().unwrap().is_none()
        });
        went_on += u32::from(goes_on);
        if !goes_on {
            line.now = Line::start(&line.folder, &line.export, &line.tcp, &[]);
            line.await_server();
            client = open(&line);
        }
        assert_eq!(client.read(0, 4096).unwrap(), [round + 1; 4096], "round {round}");
    }
    println!("of 24 killed, {went_on} had not begun");
    assert!(went_on > 0);
    // What it has not left behind keeps no other server out.
    let mut serve = Command::new(BLKSCHED);
    serve.args(["serve", "--export", "m=mem:1M", "--unix", &line.folder.text("t"), "--run", "true"]);
    assert!(Process::spawn(serve.stdout(Stdio::null())).end().success());
}
