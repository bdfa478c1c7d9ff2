//! Clients that do anything at any time, with limits small enough to be reached constantly: everything is answered
//! once, no client hangs, and nothing of a disconnected client remains.

use std::os::fd::AsRawFd;

use blksched_nbd::{Command, Errno, Extents, Holes, Persist, Speed};

use super::rig::*;
use crate::config::Shares;
use crate::connection::Room;
use crate::engine::{EngineEvent, Io};

const SIZE: u64 = 1 << 30;

/// A client, and what it still wants to send.
struct Wild {
    number: usize,
    unsent: Vec<u8>,
    asked: Vec<u64>,
    gone: bool,
}

fn command(numbers: &mut Numbers) -> (Command, u64) {
    let persist = [Persist::Lazily, Persist::First][numbers.below(2) as usize];
    let sectors = 512 << numbers.below(9);
    match numbers.below(12) {
        0..4 => (Command::Read, sectors),
        4..8 => (Command::Write(persist), sectors),
        8 => (Command::Flush, 0),
        9 => (Command::Trim(persist), sectors),
        10 => (Command::WriteZeroes { persist, holes: Holes::Allowed, speed: Speed::Any }, sectors),
        _ => (Command::BlockStatus { extents: Extents::Many }, sectors),
    }
}

/// Completes any one operation; sends and receives of `gone` sockets fail.
fn end_any(rig: &mut Rig, numbers: &mut Numbers, gone: &[i32]) -> bool {
    let mut fake = rig.fake.lock().unwrap();
    let ends = |io: &Io| match io {
        Io::Poll(_) | Io::Hangup(_) => false,
        Io::Receive(socket, ..) => gone.contains(&socket.as_raw_fd()),
        _ => true,
    };
    let places: Vec<usize> = (0..fake.begun.len()).filter(|&at| ends(&fake.begun[at].1)).collect();
    if places.is_empty() {
        return false;
    }
    let (token, mut io) = fake.begun.remove(places[numbers.below(places.len() as u64) as usize]);
    tell_extents(&mut io);
    let failed = numbers.below(20) == 0;
    let result = match &io {
        Io::Receive(..) => Ok(0),
        Io::Send(socket, _) if gone.contains(&socket.as_raw_fd()) => Err(32),
        Io::Send(socket, tx) => {
            let peer = rig.clients.iter_mut().rfind(|peer| peer.fd == socket.as_raw_fd()).unwrap();
            tx.rest(0).for_each(|bytes| peer.replies.extend_from_slice(bytes));
            Ok(tx.len())
        }
        Io::Read(..) | Io::Write(..) if failed => Err(5),
        io => Ok(length_of(io)),
    };
    fake.ended.push(EngineEvent { token, io, result });
    drop(fake);
    rig.turn();
    true
}

fn send_some(rig: &mut Rig, wild: &mut Wild, numbers: &mut Numbers) {
    let count = wild.unsent.len().min(1 + numbers.below(100_000) as usize);
    let sent = rig.send(wild.number, &wild.unsent[..count]);
    wild.unsent.drain(..sent);
}

fn play(seed: u64, elevator: &str) {
    let mut numbers = Numbers(seed * 2 + 1);
    let mut rig = Rig::with_memory(elevator, 1 + numbers.below(4) as u32, 2 << 20);
    rig.shard
        .connections
        .set_room(Room { requests: 1 + numbers.below(4) as u32, questions: 1 + numbers.below(3) as u32 });
    rig.shard.setting.shares = if seed.is_multiple_of(2) { Shares::ByTime } else { Shares::ByScheduler };
    let mut clients: Vec<Wild> = (0..4)
        .map(|nth| Wild { number: rig.client(nth % 2), unsent: Vec::new(), asked: Vec::new(), gone: false })
        .collect();
    let mut gone = Vec::new();
    for cookie in 0..400 {
        let at = numbers.below(4) as usize;
        match numbers.below(8) {
            0..4 if !clients[at].gone => {
                let (command, length) = command(&mut numbers);
                let offset = if length > 0 { numbers.below((SIZE - length) / 4096) * 4096 } else { 0 };
                let bytes = rig.request(clients[at].number, cookie, command, offset, length);
                clients[at].unsent.extend(bytes);
                clients[at].asked.push(cookie);
                send_some(&mut rig, &mut clients[at], &mut numbers);
            }
            // One of them leaves, now or in the middle.
            7 if numbers.below(40) == 0 && gone.len() < 2 && !clients[at].gone => {
                clients[at].gone = true;
                gone.push(rig.clients[clients[at].number].fd);
            }
            _ => drop(end_any(&mut rig, &mut numbers, &gone)),
        }
    }
    finish(rig, clients, numbers, &gone, seed);
}

/// Does everything that can happen.
fn finish(mut rig: Rig, mut clients: Vec<Wild>, mut numbers: Numbers, gone: &[i32], seed: u64) {
    let mut idle = 0;
    while idle < 3 {
        let mut moved = false;
        for wild in clients.iter_mut().filter(|wild| !wild.gone) {
            let before = wild.unsent.len();
            send_some(&mut rig, wild, &mut numbers);
            moved |= wild.unsent.len() < before;
        }
        while end_any(&mut rig, &mut numbers, gone) {
            moved = true;
        }
        // What waits for its time (flushes, deadlines of the elevator) gets it.
        rig.shard.clock.pass(std::time::Duration::from_secs(1));
        rig.turn();
        idle = if moved { 0 } else { idle + 1 };
    }
    for wild in clients.iter().filter(|wild| !wild.gone) {
        assert!(wild.unsent.is_empty(), "seed {seed}: client {} is not read from any more", wild.number);
        let mut told = rig.told(wild.number);
        assert!(told.iter().all(|(_, errno)| matches!(errno, None | Some(Errno::Io))), "seed {seed}: {told:?}");
        told.sort_by_key(|&(cookie, _)| cookie);
        let told: Vec<u64> = told.into_iter().map(|(cookie, _)| cookie).collect();
        assert_eq!(told, wild.asked, "seed {seed}: client {}", wild.number);
    }
    let stay = clients.iter().filter(|wild| !wild.gone).count();
    assert_eq!(rig.shard.connections.len(), stay, "seed {seed}");
    assert_eq!((rig.shard.requests.len(), rig.shard.segments.len()), (0, 0), "seed {seed}");
    assert!(rig.shard.tenants.iter().all(|tenant| tenant.pool.free() == tenant.pool.ceiling()), "seed {seed}");
    assert_eq!(rig.outstanding(is_disk), 0, "seed {seed}");
}

#[test]
fn whatever_clients_do_at_the_limits_everything_is_answered_once_and_nothing_stays() {
    for seed in 0..60 {
        play(seed, ["noop", "mq-deadline", "bfq"][seed as usize % 3]);
    }
}
