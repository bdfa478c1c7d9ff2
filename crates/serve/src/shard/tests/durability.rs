//! Durability: flushes, failing syncs, writes that must be stable.

use std::time::Duration;

use blksched::{Sector, Span};
use blksched_nbd::{Command, Errno, Holes, Persist, Speed};

use super::rig::*;
use crate::backend::{BackendKind, Identity, Through};
use crate::engine::{Allocation, Io, Stable};
use crate::orders::{Change, Leave, Order, Question};
use crate::pulse::Watch;
use crate::shard::Shard;
use crate::shard::clock::Clock;

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
    // By the real clock the next flush might come when the wait is over.
    rig.shard.clock = Clock::Told(rig.shard.clock.now());
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
    rig.shard.clock.pass(Duration::from_millis(50));
    assert!(rig.end(Ok(0), is_sync));
    let until = rig.shard.tenants[0].flushes_from;
    assert!(until >= rig.shard.now + Span::from_ms(25), "as long as the flush took, at equal weights");
    flush(&mut rig, 6);
    assert_eq!(
        (rig.shard.flights.flushes_expected(), rig.outstanding(is_sync)),
        (0, 0),
        "the read is in flight, the flush waits"
    );
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

/// Three tenants: the first two are parts of one device, the third is another.
fn two_parts_and_another() -> (Rig, [usize; 3]) {
    let mut rig = Rig::of("noop", 4, 3, 64 << 20, false);
    for (at, tenant) in rig.shard.tenants.iter_mut().enumerate() {
        tenant.stability.unsynced = false;
        tenant.backend.kind = BackendKind::File;
        // So it never looks shorter than its export, as /dev/null would.
        tenant.backend.size = 0;
        tenant.backend.identity = Some(Identity(8, at as u64 / 2));
    }
    let clients = [0, 1, 2].map(|tenant| rig.client(tenant));
    for client in clients {
        rig.ask(client, 1, WRITE, 0, 4096);
        rig.let_disk_work();
        assert_eq!(rig.told(client), [(1, None)]);
    }
    (rig, clients)
}

fn health(rig: &mut Rig, tenant: &str) -> String {
    rig.shard.answer(&Question::Get(format!("tenants/{tenant}/health"))).unwrap()
}

#[test]
fn a_failed_sync_breaks_every_export_of_that_device_for_flushes_and_for_fua() {
    let (mut rig, [a, b, other]) = two_parts_and_another();
    rig.ask(a, 2, Command::Flush, 0, 0);
    assert!(rig.end(Err(5), is_sync));
    assert_eq!(rig.told(a), [(2, Some(Errno::Io))]);
    // The device works again, but b's first write was in the cache that it lost.
    for (client, errno) in [(a, Some(Errno::Io)), (b, Some(Errno::Io)), (other, None)] {
        rig.ask(client, 3, Command::Flush, 0, 0);
        rig.let_disk_work();
        assert_eq!(rig.told(client), [(3, errno)], "a flush");
        rig.ask(client, 4, STABLE, 0, 4096);
        rig.let_disk_work();
        assert_eq!(rig.told(client), [(4, errno)], "a write that must be stable");
        rig.ask(client, 5, Command::Trim(Persist::First), 0, 4096);
        rig.let_disk_work();
        assert_eq!(rig.told(client), [(5, errno)], "a trim that must be stable");
        rig.ask(client, 6, WRITE, 0, 4096);
        rig.ask(client, 7, Command::Read, 0, 4096);
        rig.let_disk_work();
        assert_eq!(rig.told(client), [(6, None), (7, None)], "what promises nothing goes on");
    }
    assert!(health(&mut rig, "a").starts_with("state=broken for_s=0 last_error=sync:5"), "{}", health(&mut rig, "a"));
    assert!(health(&mut rig, "b").starts_with("state=broken "), "{}", health(&mut rig, "b"));
    assert!(health(&mut rig, "c").starts_with("state=ok "), "{}", health(&mut rig, "c"));
}

#[test]
fn a_sync_that_was_in_flight_when_anothers_failed_promises_nothing() {
    let (mut rig, [a, b, _]) = two_parts_and_another();
    // Two changes that are followed by a sync of their own, so that both are in flight.
    for client in [a, b] {
        rig.ask(client, 2, Command::Trim(Persist::First), 0, 4096);
        assert!(rig.end(Ok(0), |io| matches!(io, Io::Allocate(..))));
    }
    assert_eq!(rig.outstanding(is_sync), 2);
    assert!(rig.end(Err(5), is_sync));
    assert!(rig.end(Ok(0), is_sync));
    assert_eq!((rig.told(a), rig.told(b)), (vec![(2, Some(Errno::Io))], vec![(2, Some(Errno::Io))]));
}

#[test]
fn of_a_failed_stable_write_a_second_try_says_whether_the_device_has_lost_its_cache() {
    let stable = |io: &Io| matches!(io, Io::Write(_, _, _, Stable::Now));
    let plain = |io: &Io| matches!(io, Io::Write(_, _, _, Stable::Later));
    for (second, broken) in [(Err(5), None), (Ok(4096), Some(Errno::Io))] {
        let (mut rig, [a, b, other]) = two_parts_and_another();
        rig.ask(a, 2, STABLE, 0, 4096);
        assert!(rig.end(Err(5), stable));
        assert!(rig.end(second, plain), "the same without its flush");
        assert_eq!(rig.told(a), [(2, Some(Errno::Io))]);
        for (client, errno) in [(a, broken), (b, broken), (other, None)] {
            rig.ask(client, 3, Command::Flush, 0, 0);
            rig.let_disk_work();
            assert_eq!(rig.told(client), [(3, errno)], "second try {second:?}");
        }
    }
    // A full disk is no lost cache, and is not tried again.
    let (mut rig, [a, ..]) = two_parts_and_another();
    rig.ask(a, 2, STABLE, 0, 4096);
    assert!(rig.end(Err(28), stable));
    assert_eq!((rig.outstanding(plain), rig.told(a)), (0, vec![(2, Some(Errno::NoSpc))]));
}

#[test]
fn a_sync_that_fails_while_an_export_is_removed_breaks_the_others_of_its_device() {
    let (mut rig, [a, b, other]) = two_parts_and_another();
    rig.vanish(a);
    let (answer, heard) = std::sync::mpsc::channel();
    // Its file is /dev/null, which cannot be synced.
    rig.order(Order::Change(Change::Remove { tenant: 0, how: Leave::IfUnused }, answer));
    let said = heard.recv_timeout(Duration::from_secs(60)).unwrap().unwrap();
    assert!(said.contains("may be lost"), "{said}");
    // The report has come with a wakeup of its own.
    assert!(rig.end(Ok(0), |io| matches!(io, Io::Poll(_))));
    for (client, errno) in [(b, Some(Errno::Io)), (other, None)] {
        rig.ask(client, 3, Command::Flush, 0, 0);
        rig.let_disk_work();
        assert_eq!(rig.told(client), [(3, errno)]);
    }
}

/// A disk of so many exports that ends; each of their syncs takes so long by a told clock. How many there were, and
/// whether the front end went on without it.
fn last_syncs(exports: usize, each: Duration, shard: &mut Shard) -> (usize, bool) {
    let (pulse, begin) = (shard.pulse.clone(), std::time::Instant::now());
    let mut watch = Watch::new(begin, begin + Duration::from_secs(600));
    let (mut looks, mut syncs, mut gave_up) = (0, 0, false);
    let all = shard.sync_everything(|_| {
        syncs += 1;
        // The front end looks all 10 ms.
        for _ in 0..each.as_millis() / 10 {
            looks += 1;
            gave_up |= watch.gives_up(begin + Duration::from_millis(10) * looks, pulse.last());
        }
        Ok(())
    });
    assert!(all.is_ok() && syncs <= exports);
    (syncs, gave_up)
}

#[test]
fn each_last_sync_that_comes_back_is_a_sign_of_life() {
    for (through, each_ms, gives_up) in [
        // A FUSE file may be silent for a second, however many of them there are.
        (Through::Sync, 900, false),
        (Through::Sync, 1100, true),
        (Through::Flag, 1100, false),
        (Through::Flag, 59_000, false),
        (Through::Flag, 61_000, true),
    ] {
        let mut rig = Rig::of("noop", 4, 5, 64 << 20, false);
        rig.shard.tenants.iter_mut().for_each(|tenant| tenant.backend.through = through);
        let seen = last_syncs(5, Duration::from_millis(each_ms), &mut rig.shard);
        assert_eq!(seen, (5, gives_up), "{through:?}, {each_ms} ms each");
    }
}

#[test]
fn what_was_made_stable_for_a_next_server_is_not_synced_again() {
    let mut rig = Rig::of("noop", 4, 2, 64 << 20, false);
    let none = Duration::ZERO;
    assert_eq!(last_syncs(2, none, &mut rig.shard).0, 2, "what an earlier server left unsynced is made stable");
    assert_eq!(last_syncs(2, none, &mut rig.shard).0, 0, "the disk may be silent now, and it is the next server's");
    // A server that goes on, since the next one did not begin, has something to make stable when something is written.
    let writer = rig.client(1);
    rig.ask(writer, 1, WRITE, 0, 4096);
    rig.let_disk_work();
    assert_eq!(last_syncs(2, none, &mut rig.shard).0, 1);
}
