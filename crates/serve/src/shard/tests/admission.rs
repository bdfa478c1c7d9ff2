//! Memory is granted in the order of requests; a client that reads no replies makes room for those that wait; one that
//! reads its replies slowly is kept.

use std::os::fd::AsRawFd;
use std::time::Duration;

use blksched_nbd::Command;

use super::rig::*;
use crate::connection::ConnectionPhase;
use crate::engine::Io;

fn pass(rig: &mut Rig, time: Duration) {
    rig.shard.clock.pass(time);
    rig.turn();
}

#[test]
fn a_large_request_gets_through_beside_greedy_clients() {
    let mut rig = Rig::with_memory("noop", 4, 64 << 20);
    rig.shard.tenants[0].stability.unsynced = false;
    let greedy: Vec<usize> = (0..12).map(|_| rig.client(0)).collect();
    let large = rig.client(0);
    for &client in &greedy {
        for cookie in 0..4 {
            let read = rig.request(client, cookie, Command::Read, cookie * (4 << 20), 4 << 20);
            rig.send(client, &read);
        }
    }
    let read = rig.request(large, 99, Command::Read, 0, 32 << 20);
    rig.send(large, &read);
    let mut others = 0;
    for _ in 0..20 {
        for &client in &greedy {
            let told = rig.told(client);
            others += told.len();
            // As greedy as before.
            for (cookie, _) in told {
                let read = rig.request(client, cookie, Command::Read, cookie * (4 << 20), 4 << 20);
                rig.send(client, &read);
            }
        }
        rig.let_disk_work();
        if rig.told(large) == [(99, None)] {
            assert!(others < 100, "{others} were served first");
            return;
        }
    }
    panic!("{others} were served, and the large one never");
}

#[test]
fn a_client_that_does_not_read_makes_room_within_a_second() {
    let mut rig = Rig::with_memory("noop", 8, 40 << 20);
    let (greedy, other) = (rig.client(0), rig.client(0));
    rig.ask(greedy, 1, Command::Read, 0, 32 << 20);
    rig.let_disk_work();
    pass(&mut rig, Duration::from_secs(20));
    let read = rig.request(other, 2, Command::Read, 0, 32 << 20);
    rig.send(other, &read);
    for _ in 0..3 {
        pass(&mut rig, Duration::from_millis(260));
    }
    let gone: Vec<bool> = rig.shard.connections.iter().map(|(_, one)| one.phase == ConnectionPhase::Gone).collect();
    assert_eq!(gone, [true, false]);
    let fd = rig.clients[greedy].fd;
    rig.end(Err(32), |io| matches!(io, Io::Send(socket, _) if socket.as_raw_fd() == fd));
    rig.let_disk_work();
    assert_eq!(rig.told(other), [(2, None)]);
}

#[test]
fn a_slow_but_steady_reader_is_not_cut_off_while_others_wait() {
    let mut rig = Rig::with_memory("noop", 8, 40 << 20);
    let (slow, other) = (rig.client(0), rig.client(0));
    rig.ask(slow, 1, Command::Read, 0, 32 << 20);
    rig.let_disk_work();
    let read = rig.request(other, 2, Command::Read, 0, 32 << 20);
    rig.send(other, &read);
    for byte in 0..400 {
        rig.fake.lock().unwrap().unsent = 200_000 - byte;
        pass(&mut rig, Duration::from_millis(250));
    }
    assert!(rig.shard.connections.iter().all(|(_, one)| one.phase == ConnectionPhase::Open));
    assert_eq!(rig.told(slow), [(1, None)]);
    rig.let_disk_work();
    assert_eq!(rig.told(other), [(2, None)]);
}

#[test]
fn who_waits_in_line_and_goes_lets_the_next_in() {
    let mut rig = Rig::with_memory("noop", 8, 40 << 20);
    let (holder, first, second) = (rig.client(0), rig.client(0), rig.client(0));
    rig.ask(holder, 1, Command::Read, 0, 20 << 20);
    for (client, length) in [(first, 32 << 20), (second, 4096)] {
        let read = rig.request(client, 2, Command::Read, 0, length);
        rig.send(client, &read);
    }
    rig.let_disk_work();
    assert_eq!((rig.told(holder).len(), rig.told(second).len()), (1, 0));
    rig.let_disk_work();
    assert_eq!((rig.told(first).len(), rig.told(second).len()), (1, 1), "once the holder was answered");
    rig.ask(holder, 3, Command::Read, 0, 20 << 20);
    for (client, length) in [(first, 32 << 20), (second, 4096)] {
        let read = rig.request(client, 4, Command::Read, 0, length);
        rig.send(client, &read);
    }
    assert_eq!(rig.shard.tenants[0].line, [first, second], "in order");
    rig.shard.hang_up(first);
    rig.turn();
    rig.turn();
    assert!(rig.shard.tenants[0].line.is_empty(), "the second went on");
    rig.let_disk_work();
    assert_eq!(rig.told(second), [(4, None)]);
}

#[test]
fn a_client_that_writes_steadily_is_heard_of_while_its_data_come_straight_in() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    let write = rig.request(client, 1, WRITE, 0, 1 << 20);
    let mut at = rig.send(client, &write[..1000]);
    // Four bytes a second, for two minutes.
    for _ in 0..120 {
        pass(&mut rig, Duration::from_secs(1));
        at += rig.send(client, &write[at..at + 4]);
    }
    assert!(rig.shard.connections.iter().all(|(_, one)| one.phase == ConnectionPhase::Open));
    rig.send(client, &write[at..]);
    rig.let_disk_work();
    assert_eq!(rig.told(client), [(1, None)]);
}

#[test]
fn memory_that_idles_for_some_seconds_is_given_back() {
    let mut rig = Rig::with_memory("noop", 8, 40 << 20);
    let client = rig.client(0);
    rig.ask(client, 1, Command::Read, 0, 32 << 20);
    rig.let_disk_work();
    assert_eq!(rig.told(client), [(1, None)]);
    assert!(rig.shard.tenants[0].pool.keeps_some(), "for its next request");
    for _ in 0..2 {
        pass(&mut rig, Duration::from_millis(2010));
    }
    assert!(!rig.shard.tenants[0].pool.keeps_some());
    assert!(rig.shard.sweep.is_none(), "and nothing wakes the idle shard any more");
}

#[test]
fn tenants_that_share_a_limit_all_get_through_with_requests_larger_than_it() {
    let mut rig = Rig::of("noop", 8, 3, 64 << 20, false);
    let budget = std::sync::Arc::new(crate::buffer::Budget::new(4 << 20));
    rig.shard.tenants.iter_mut().for_each(|tenant| tenant.pool.share(budget.clone()));
    let clients = [0, 1, 2].map(|tenant| rig.client(tenant));
    for (client, length) in clients.into_iter().zip([4, 8, 8]) {
        rig.ask(client, 1, Command::Read, 0, length << 20);
    }
    let taken = |rig: &Rig| [0, 1, 2].map(|at: usize| rig.shard.tenants[at].pool.taken() >> 20);
    assert_eq!(taken(&rig), [4, 8, 0], "the second exceeds the limit, and the third waits until it no longer does");
    rig.let_disk_work();
    assert_eq!([0, 1, 2].map(|at| rig.told(clients[at])), [vec![(1, None)], vec![(1, None)], vec![]]);
    // Nothing of its own wakes the third: it looks now and then.
    pass(&mut rig, Duration::from_secs(1));
    rig.let_disk_work();
    assert_eq!((rig.told(clients[2]), taken(&rig)), (vec![(1, None)], [0; 3]));
}
