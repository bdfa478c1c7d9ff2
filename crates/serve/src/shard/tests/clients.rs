//! Clients that stall, flood, disappear or send nonsense harm only themselves; and a stop.

use std::os::fd::AsRawFd;
use std::time::Duration;

use blksched_nbd::{Command, Extents};

use super::rig::*;
use crate::backend::Through;
use crate::connection::ConnectionPhase;
use crate::engine::Io;
use crate::orders::Order;
use crate::pulse::{Awaits, Beat};

#[test]
fn a_client_that_takes_no_replies_is_not_read_from_for_ever() {
    let memory = 40 << 20;
    let mut rig = Rig::with_memory("noop", 8, memory);
    let client = rig.client(0);
    let read = rig.request(client, 1, Command::Read, 0, 256 << 10);
    let flood = read.repeat(5000);
    let mut taken = 0;
    // Nothing that is sent arrives; the disk continues.
    loop {
        let count = rig.send(client, &flood[taken..]);
        taken += count;
        rig.let_disk_work();
        if count == 0 {
            break;
        }
    }
    assert!(taken < flood.len(), "it was read to the end");
    // When it takes them after all, it continues.
    let mut told = 0;
    while told < 5000 {
        taken += rig.send(client, &flood[taken..]);
        rig.let_disk_work();
        let more = rig.told(client).len();
        let c = &rig.shard.connections[0];
        assert!(
            more > 0,
            "stuck at {told}: {:?} {} {:?} {}",
            c.phase,
            c.outstanding,
            c.reading,
            c.inbox.unread().len()
        );
        told += more;
    }
    assert_eq!(taken, flood.len());
}

#[test]
fn a_client_that_stops_in_the_middle_of_its_data_stops_nobody_else() {
    let mut rig = Rig::with_memory("noop", 8, 40 << 20);
    let (stalled, other) = (rig.client(0), rig.client(1));
    let write = rig.request(stalled, 1, WRITE, 0, 32 << 20);
    rig.send(stalled, &write[..100_000]);
    rig.ask(other, 2, Command::Read, 0, 4096);
    rig.let_disk_work();
    assert_eq!(rig.told(other), [(2, None)]);
    // It leaves: its data was never written, and its memory is free.
    let fd = rig.clients[stalled].fd;
    rig.end(Ok(0), |io| matches!(io, Io::Receive(socket, ..) if socket.as_raw_fd() == fd));
    assert_eq!(rig.outstanding(is_write), 0);
    let again = rig.client(0);
    rig.ask(again, 3, WRITE, 0, 32 << 20);
    rig.let_disk_work();
    assert_eq!(rig.told(again), [(3, None)]);
}

#[test]
fn a_client_that_stops_in_the_middle_of_its_data_is_cut_off_after_half_a_minute() {
    let mut rig = settled("mq-deadline", 4);
    let (stalled, _idle) = (rig.client(0), rig.client(0));
    let write = rig.request(stalled, 1, WRITE, 0, 1 << 20);
    rig.send(stalled, &write[..100_000]);
    let gone = |rig: &Rig| rig.shard.connections.iter().filter(|(_, one)| one.phase == ConnectionPhase::Gone).count();
    for (seconds, cut_off) in [(29, 0), (3, 1)] {
        assert!(rig.shard.timeout().is_some(), "it is looked for");
        rig.shard.clock.pass(Duration::from_secs(seconds));
        rig.turn();
        assert_eq!(gone(&rig), cut_off);
    }
    rig.shard.clock.pass(Duration::from_secs(60));
    rig.turn();
    assert_eq!(rig.shard.timeout(), None, "nobody is in the middle of anything");
}

#[test]
fn a_client_that_vanishes_leaves_nothing_behind() {
    let mut rig = settled("noop", 1);
    let (gone, other) = (rig.client(0), rig.client(1));
    for cookie in 0..20 {
        rig.ask(gone, cookie, WRITE, cookie * 8192, 4096);
    }
    let fd = rig.clients[gone].fd;
    rig.end(Ok(0), |io| matches!(io, Io::Receive(socket, ..) if socket.as_raw_fd() == fd));
    rig.ask(other, 1, Command::Read, 0, 512);
    rig.let_disk_work();
    assert_eq!(rig.told(other), [(1, None)]);
    rig.told(gone);
    assert_eq!((rig.shard.connections.len(), rig.shard.requests.len(), rig.shard.segments.len()), (1, 0, 0));
    assert_eq!(rig.shard.tenants[0].connections, 0);
}

#[test]
fn garbage_closes_its_own_connection_only() {
    let mut rig = settled("noop", 4);
    let (bad, good) = (rig.client(0), rig.client(0));
    rig.send(bad, &[0xff; 64]);
    rig.ask(good, 1, Command::Read, 0, 4096);
    rig.let_disk_work();
    assert_eq!(rig.told(good), [(1, None)]);
    assert_eq!(rig.shard.connections.len(), 1);
}

#[test]
fn a_stop_serves_what_is_in_flight_and_reads_no_more() {
    let mut rig = settled("noop", 1);
    let client = rig.client(0);
    for cookie in 0..5 {
        rig.ask(client, cookie, WRITE, cookie * 8192, 4096);
    }
    rig.order(Order::Stop);
    assert!(!rig.shard.is_over());
    rig.let_disk_work();
    assert_eq!(rig.told(client).len(), 5);
    let fd = rig.clients[client].fd;
    rig.end(Ok(0), |io| matches!(io, Io::Receive(socket, ..) if socket.as_raw_fd() == fd));
    assert!(rig.shard.is_over());
}

#[test]
fn a_client_that_floods_with_requests_that_need_no_memory_is_read_from_no_further() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    rig.ask(client, 1, WRITE, 0, 4096);
    rig.let_disk_work();
    let flush = rig.request(client, 2, Command::Flush, 0, 0);
    let flood = flush.repeat(20_000);
    // The sync does not end, so none of them is answered.
    let taken = rig.send(client, &flood);
    assert!(taken < flood.len(), "it was read to the end");
    assert!(rig.shard.requests.len() <= 1024, "{} at a time", rig.shard.requests.len());
}

/// Half a minute passes in which nothing happens.
fn half_a_minute(rig: &mut Rig) {
    rig.shard.clock.pass(Duration::from_secs(31));
    rig.turn();
    rig.turn();
}

#[test]
fn who_stops_in_the_middle_of_its_data_for_half_a_minute_is_cut_off_and_who_is_silent_is_not() {
    let mut rig = settled("noop", 4);
    let (stalled, silent) = (rig.client(0), rig.client(0));
    let write = rig.request(stalled, 1, WRITE, 0, 1 << 20);
    rig.send(stalled, &write[..1000]);
    half_a_minute(&mut rig);
    let phases: Vec<ConnectionPhase> = rig.shard.connections.iter().map(|(_, connection)| connection.phase).collect();
    assert_eq!(phases, [ConnectionPhase::Gone, ConnectionPhase::Open]);
    rig.ask(silent, 2, Command::Read, 0, 4096);
    rig.let_disk_work();
    assert_eq!(rig.told(silent), [(2, None)]);
}

#[test]
fn who_takes_no_replies_for_half_a_minute_is_cut_off_once_others_need_the_memory() {
    let mut rig = Rig::with_memory("noop", 8, 40 << 20);
    let (greedy, other) = (rig.client(0), rig.client(0));
    rig.ask(greedy, 1, Command::Read, 0, 32 << 20);
    rig.let_disk_work();
    half_a_minute(&mut rig);
    assert!(
        rig.shard.connections.iter().all(|(_, connection)| connection.phase == ConnectionPhase::Open),
        "nobody needs it"
    );
    let read = rig.request(other, 2, Command::Read, 0, 32 << 20);
    assert_eq!(rig.send(other, &read), read.len());
    assert_eq!(rig.outstanding(is_disk), 0, "there is no room for both");
    // The first check sees how much it has taken, the next that it has taken no more.
    half_a_minute(&mut rig);
    half_a_minute(&mut rig);
    let gone = rig.shard.connections.iter().filter(|(_, connection)| connection.phase == ConnectionPhase::Gone).count();
    assert_eq!(gone, 1);
}

#[test]
fn a_client_that_takes_no_replies_leaves_as_much_memory_to_others_as_it_holds() {
    let mut rig = settled("noop", 8);
    let (greedy, other) = (rig.client(0), rig.client(0));
    let reads = rig.request(greedy, 1, Command::Read, 0, 256 << 10).repeat(400);
    rig.send(greedy, &reads);
    rig.let_disk_work();
    let held = rig.shard.connections[0].held;
    assert!((16 << 20..=32 << 20).contains(&held), "of 64 MiB it has {held} bytes");
    rig.ask(other, 2, Command::Read, 0, 16 << 20);
    rig.let_disk_work();
    let told = rig.told(other);
    assert!(told.iter().all(|told| *told == (2, None)) && !told.is_empty(), "{told:?}");
}

#[test]
fn what_a_client_that_has_gone_had_queued_is_taken_back() {
    for shares in [crate::config::Shares::ByTime, crate::config::Shares::ByScheduler] {
        let mut rig = settled("noop", 2);
        rig.shard.setting.shares = shares;
        rig.shard.answer(&crate::orders::Question::Set("tenants/a/iops".to_owned(), "10".to_owned())).unwrap();
        rig.shard.answer(&crate::orders::Question::Set("tenants/a/burst_ops".to_owned(), "20".to_owned())).unwrap();
        let (gone, other) = (rig.client(0), rig.client(0));
        for cookie in 0..40 {
            rig.ask(gone, cookie, WRITE, cookie << 20, 4096);
        }
        rig.ask(gone, 40, Command::Flush, 0, 0);
        rig.ask(other, 1, Command::Read, 0, 512);
        drop(rig.clients[gone].other_end.take());
        rig.turn();
        let fd = rig.clients[gone].fd;
        rig.end(Ok(0), |io| matches!(io, Io::Receive(socket, ..) if socket.as_raw_fd() == fd));
        let mut writes = 0;
        while rig.end(Ok(4096), is_write) {
            writes += 1;
        }
        rig.shard.clock.pass(Duration::from_secs(10));
        rig.turn();
        rig.let_disk_work();
        assert_eq!(rig.told(other), [(1, None)]);
        let most = if shares == crate::config::Shares::ByTime { 2 } else { 22 };
        assert!((1..=most).contains(&writes), "{shares:?}: {writes} of 40 were done for nobody");
        assert!(rig.shard.tenants[0].used.cancelled >= 40 - writes, "{shares:?}");
        assert_eq!((rig.shard.connections.len(), rig.shard.requests.len(), rig.shard.segments.len()), (1, 0, 0));
    }
}

#[test]
fn who_says_no_more_and_stays_is_answered() {
    let mut rig = settled("noop", 1);
    let client = rig.client(0);
    for cookie in 0..5 {
        rig.ask(client, cookie, WRITE, cookie << 20, 4096);
    }
    rig.clients[client].other_end.as_ref().unwrap().shutdown(std::net::Shutdown::Write).unwrap();
    let fd = rig.clients[client].fd;
    rig.end(Ok(0), |io| matches!(io, Io::Receive(socket, ..) if socket.as_raw_fd() == fd));
    rig.let_disk_work();
    assert_eq!(rig.told(client).len(), 5);
}

#[test]
fn the_pulse_of_a_disk_that_ends_says_what_has_not_come_back() {
    for (command, own, awaits) in [
        (Command::Read, Through::Flag, Awaits::Operations),
        (Command::Flush, Through::Flag, Awaits::Sync),
        (Command::Flush, Through::Sync, Awaits::Operations),
        (STABLE, Through::Flag, Awaits::Sync),
    ] {
        let mut rig = settled("mq-deadline", 4);
        rig.shard.tenants.iter_mut().for_each(|tenant| tenant.backend.through = own);
        let client = rig.client(0);
        rig.ask(client, 0, WRITE, 0, 4096);
        rig.let_disk_work();
        assert_eq!(rig.told(client), [(0, None)]);
        rig.ask(client, 1, command, 0, if command == Command::Flush { 0 } else { 4096 });
        assert_eq!(rig.shard.pulse.last(), Beat::default(), "nobody looks before the end");
        rig.order(Order::Stop);
        let seen = rig.shard.pulse.last();
        assert_eq!((seen.turns > 0, seen.back, seen.awaits), (true, 1, awaits), "{command:?}");
        rig.turn();
        assert_eq!(rig.shard.pulse.last(), Beat { turns: seen.turns + 1, ..seen });
        // It comes back after all, and is answered.
        rig.let_disk_work();
        assert_eq!(rig.told(client), [(1, None)]);
        let last = rig.shard.pulse.last();
        assert_eq!((last.back, last.awaits), (2, Awaits::Clients));
    }
}

#[test]
fn a_question_that_a_file_system_does_not_answer_is_something_in_the_disk() {
    let mut rig = settled("noop", 1);
    let client = rig.client(0);
    rig.ask(client, 1, Command::BlockStatus { extents: Extents::Many }, 0, 4096);
    rig.order(Order::Stop);
    assert_eq!(rig.shard.pulse.last().awaits, Awaits::Operations);
}

#[test]
fn who_takes_no_replies_does_not_hold_up_the_end() {
    let mut rig = settled("noop", 1);
    let client = rig.client(0);
    rig.ask(client, 1, Command::Read, 0, 4096);
    rig.let_disk_work();
    // The answer is sent, and stays in the socket.
    rig.fake.lock().unwrap().unsent = 4096;
    rig.order(Order::Stop);
    for (ms, cut) in [(990, false), (250, true)] {
        rig.shard.clock.pass(Duration::from_millis(ms));
        rig.turn();
        let phase = rig.shard.connections.iter().map(|(_, one)| one.phase).next();
        assert_eq!(phase == Some(ConnectionPhase::Gone), cut, "after {ms} ms more");
    }
}
