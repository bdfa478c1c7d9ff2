//! Durability: flushes, failing syncs, writes that must be stable.

use std::time::Duration;

use blksched::{Sector, Span};
use blksched_nbd::{Command, Errno, Holes, Persist, Speed};

use super::rig::*;
use crate::engine::{Allocation, Io, Stable};

#[test]
fn a_flush_covers_what_other_connections_were_told() {
    let mut rig = settled("noop", 4);
    let (writer, flusher) = (rig.client(0), rig.client(0));
    rig.ask(writer, 1, WRITE, 0, 4096);
    assert!(rig.end(Ok(4096), is_write));
    assert_eq!(rig.told(writer), [(1, None)]);
    rig.ask(flusher, 2, Command::Flush, 0, 0);
    assert_eq!(rig.told(flusher), [], "nothing is stable yet");
    assert!(rig.end(Ok(0), is_sync));
    assert_eq!(rig.told(flusher), [(2, None)]);
}

#[test]
fn what_two_tenants_have_written_in_one_request_is_unstable_for_both() {
    // Since blk-mq no request belongs to two groups; before, they merged.
    let mut rig = settled("noop", 1);
    // Adjacent ranges of one file.
    rig.shard.tenants[1].base = Sector((1 << 30) / 512);
    let (before, behind) = (rig.client(0), rig.client(1));
    rig.ask(before, 1, WRITE, 0, 4096);
    rig.ask(before, 2, WRITE, (1 << 30) - 4096, 4096);
    rig.ask(behind, 3, WRITE, 0, 4096);
    assert!(rig.end(Ok(4096), is_write));
    assert!(rig.end(Ok(8192), is_write), "they are one request");
    assert_eq!(rig.told(behind), [(3, None)]);
    rig.ask(behind, 4, Command::Flush, 0, 0);
    assert_eq!(rig.told(behind), [], "nothing is stable yet");
    assert!(rig.end(Ok(0), is_sync));
    assert_eq!(rig.told(behind), [(4, None)]);
}

#[test]
fn a_flush_is_not_answered_by_a_sync_that_began_before_it() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    rig.ask(client, 1, WRITE, 0, 4096);
    rig.end(Ok(4096), is_write);
    rig.ask(client, 2, Command::Flush, 0, 0);
    // Another write is acknowledged while the first sync is in flight.
    rig.ask(client, 3, WRITE, 8192, 4096);
    rig.end(Ok(4096), is_write);
    assert_eq!(rig.told(client), [(1, None), (3, None)]);
    rig.ask(client, 4, Command::Flush, 0, 0);
    rig.end(Ok(0), is_sync);
    assert_eq!(rig.told(client), [(2, None)]);
    assert!(rig.end(Ok(0), is_sync), "the second flush has a sync of its own");
    assert_eq!(rig.told(client), [(4, None)]);
}

#[test]
fn a_flush_waits_for_a_sync_in_flight_even_if_nothing_was_written_since() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    rig.ask(client, 1, WRITE, 0, 4096);
    rig.end(Ok(4096), is_write);
    rig.ask(client, 2, Command::Flush, 0, 0);
    rig.ask(client, 3, Command::Flush, 0, 0);
    assert_eq!(rig.told(client), [(1, None)]);
    rig.let_disk_work();
    assert_eq!(rig.told(client), [(2, None), (3, None)]);
}

#[test]
fn a_flush_with_nothing_to_make_stable_needs_no_sync() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    rig.ask(client, 1, Command::Flush, 0, 0);
    assert_eq!(rig.outstanding(is_sync), 0);
    assert_eq!(rig.told(client), [(1, None)]);
    // But what an earlier server left unsynced does need one.
    let mut fresh = Rig::new("noop", 4);
    let client = fresh.client(0);
    fresh.ask(client, 1, Command::Flush, 0, 0);
    assert_eq!(fresh.outstanding(is_sync), 1);
}

#[test]
fn flushes_of_several_clients_and_tenants_coalesce() {
    let mut rig = settled("noop", 1);
    let clients = [rig.client(0), rig.client(0), rig.client(1)];
    for (cookie, client) in (1..).zip(clients) {
        rig.ask(client, cookie, WRITE, 0, 4096);
        rig.let_disk_work();
    }
    // The device is busy: the flushes meet behind a read.
    rig.ask(clients[0], 10, Command::Read, 0, 512);
    for (cookie, client) in (11..).zip(clients) {
        rig.ask(client, cookie, Command::Flush, 0, 0);
    }
    assert!(rig.end(Ok(512), |io| matches!(io, Io::Read(..))));
    assert_eq!(rig.outstanding(is_sync), 2, "one sync per file for three flushes");
    rig.let_disk_work();
    for (cookie, client) in (11..).zip(clients) {
        assert_eq!(rig.told(client).last(), Some(&(cookie, None)));
    }
}

#[test]
fn a_tenant_that_flushes_in_a_loop_waits_while_others_want_the_disk() {
    let mut rig = settled("noop", 1);
    let (flusher, other) = (rig.client(0), rig.client(1));
    let flush = |rig: &mut Rig, cookie: u64| {
        rig.shard.tenants[0].stability.unsynced = true;
        rig.ask(flusher, cookie, Command::Flush, 0, 0);
    };
    // Alone: one after the other, without a pause.
    for cookie in 1..4 {
        flush(&mut rig, cookie);
        assert!(rig.end(Ok(0), is_sync));
    }
    flush(&mut rig, 4);
    rig.ask(other, 5, Command::Read, 0, 512);
    std::thread::sleep(Duration::from_millis(50));
    assert!(rig.end(Ok(0), is_sync));
    let until = rig.shard.tenants[0].flushes_from;
    assert!(until >= rig.shard.now + Span::from_ms(25), "as long as the flush took, at equal weights");
    flush(&mut rig, 6);
    assert_eq!((rig.shard.wished.len(), rig.outstanding(is_sync)), (0, 0), "the read is in flight, the flush waits");
    rig.let_disk_work();
    rig.turn();
    rig.told(other);
    rig.turn();
    assert_eq!(rig.outstanding(is_sync), 1, "nobody else wants the disk any more");
    rig.let_disk_work();
    assert_eq!(rig.told(flusher).last(), Some(&(6, None)));
}

#[test]
fn a_sync_that_failed_is_never_forgotten_and_hits_nobody_else() {
    let mut rig = settled("noop", 4);
    let (unlucky, lucky) = (rig.client(0), rig.client(1));
    for client in [unlucky, lucky] {
        rig.ask(client, 1, WRITE, 0, 4096);
        rig.let_disk_work();
    }
    rig.ask(unlucky, 2, Command::Flush, 0, 0);
    assert!(rig.end(Err(5), is_sync));
    rig.ask(lucky, 2, Command::Flush, 0, 0);
    rig.ask(unlucky, 3, Command::Flush, 0, 0);
    rig.let_disk_work();
    assert_eq!(rig.told(lucky), [(1, None), (2, None)]);
    assert_eq!(rig.told(unlucky), [(1, None), (2, Some(Errno::Io)), (3, Some(Errno::Io))]);
}

#[test]
fn a_write_that_must_be_stable_is_written_through() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    rig.ask(client, 1, STABLE, 0, 4096);
    assert_eq!(rig.outstanding(|io| matches!(io, Io::Write(_, _, _, Stable::Now))), 1);
    rig.let_disk_work();
    assert_eq!(rig.told(client), [(1, None)]);
    // Zeroes that must be stable are followed by a sync.
    let zeroes = Command::WriteZeroes { persist: Persist::First, holes: Holes::Refused, speed: Speed::Any };
    rig.ask(client, 2, zeroes, 0, 4096);
    assert!(rig.end(Ok(0), |io| matches!(io, Io::Allocate(_, Allocation::Zero, ..))));
    assert_eq!((rig.outstanding(is_sync), rig.told(client)), (1, vec![]));
    rig.let_disk_work();
    assert_eq!(rig.told(client), [(2, None)]);
}
