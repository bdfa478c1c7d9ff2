//! Clients that mean no good harm nobody else.

use std::io::{Read, Write};

use blksched_nbd::{Command, Persist};

use crate::kit::{ENGINES, Numbers, Server, works};

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
                    client.send(Command::Write(Persist::Lazily), 0, 1 << 20, &garbage).unwrap();
                    held.push(client.stream.try_clone().unwrap());
                    std::mem::forget(client);
                }
                4 => {
                    let mut client = server.open("m");
                    for _ in 0..20 {
                        client.send(Command::Read, 0, 1 << 20, &[]).unwrap();
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
