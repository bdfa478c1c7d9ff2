//! Every limit of a connection, one below it, at it and one above: the connection continues, and its end is noticed.

use blksched_nbd::{Command, Extents, Persist};

use super::rig::*;
use crate::connection::Room;

const ASK: Command = Command::BlockStatus { extents: Extents::Many };

/// Each tenant has 8 MiB.
fn small() -> Rig {
    let mut rig = Rig::with_memory("noop", 4, 8 << 20);
    rig.shard.tenants.iter_mut().for_each(|tenant| tenant.stability.unsynced = false);
    rig
}

/// This many requests at a time, in one send and one by one; then the client's other requests are answered too.
fn it_goes_on(command: Command, count: u64, length: u64) {
    for one_by_one in [false, true] {
        let mut rig = small();
        let client = rig.client(0);
        let bytes: Vec<u8> = (0..count).flat_map(|n| rig.request(client, n, command, n * length, length)).collect();
        let step = if one_by_one { bytes.len() / count as usize } else { bytes.len() };
        let sent: usize = bytes.chunks(step).map(|part| rig.send(client, part)).sum();
        let mut told = 0;
        let mut rest = bytes[sent..].to_vec();
        for _ in 0..3 {
            rig.let_disk_work();
            told += rig.told(client).len();
            let more = rig.send(client, &rest);
            rest.drain(..more);
        }
        assert_eq!(told as u64, count, "{command:?}, all of them");
        rig.ask(client, 5000, Command::Read, 0, 512);
        rig.let_disk_work();
        assert_eq!(rig.told(client), [(5000, None)], "{count} of {command:?} at a time, and then one more");
    }
}

/// This many requests at a time, and then the client has gone: nothing of it stays.
fn it_ends(command: Command, count: u64, length: u64) {
    let mut rig = small();
    let client = rig.client(0);
    let bytes: Vec<u8> = (0..count).flat_map(|n| rig.request(client, n, command, n * length, length)).collect();
    rig.send(client, &bytes);
    // First it takes no replies, then it is gone.
    rig.vanish(client);
    for _ in 0..3 {
        rig.let_disk_work();
        rig.vanish(client);
        rig.turn();
    }
    assert_eq!(rig.shard.connections.len(), 0, "{count} of {command:?}");
    assert_eq!((rig.shard.requests.len(), rig.shard.segments.len(), rig.shard.tenants[0].connections), (0, 0, 0));
}

#[test]
fn requests_at_a_time() {
    let most = u64::from(Room::default().requests);
    for count in [most - 1, most, most + 1, 2 * most] {
        it_goes_on(Command::Read, count, 512);
        it_ends(Command::Read, count, 512);
    }
}

#[test]
fn questions_at_a_time() {
    let most = u64::from(Room::default().questions);
    for count in [most - 1, most, most + 1, 2 * most] {
        it_goes_on(ASK, count, 4096);
        it_ends(ASK, count, 4096);
    }
}

#[test]
fn memory_at_a_time() {
    // All of it in pieces of 1 MiB, and half of it at a time.
    for (count, length) in [(7, 1 << 20), (8, 1 << 20), (9, 1 << 20), (1, 4 << 20), (2, 4 << 20), (3, 4 << 20)] {
        it_goes_on(Command::Read, count, length);
        it_ends(Command::Read, count, length);
        it_goes_on(Command::Write(Persist::Lazily), count, length);
    }
}
