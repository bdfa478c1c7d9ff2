//! A merged request that fails: only the bad part fails, and each tenant is charged for its own.

use blksched::Sector;
use blksched_nbd::{Command, Errno, Persist};

use super::rig::*;
use crate::engine::Io;

/// Two tenants with adjacent ranges of one file; requests at the seam merge.
fn neighbours(elevator: &str) -> Rig {
    let mut rig = settled(elevator, 1);
    rig.shard.tenants[1].base = Sector(SIZE / 512);
    rig
}

const SIZE: u64 = 1 << 30;

/// Lets the disk work, where every transfer that touches this byte fails; returns the number of transfers.
fn work_with_a_bad_block(rig: &mut Rig, bad: u64) -> usize {
    let mut transfers = 0;
    loop {
        let result = {
            let fake = rig.fake.lock().unwrap();
            let Some((_, io)) = fake.begun.iter().find(|(_, io)| is_disk(io)) else { return transfers };
            let start = match io {
                Io::Read(_, offset, _) | Io::Write(_, offset, ..) => *offset,
                _ => u64::MAX,
            };
            let length = length_of(io);
            if (start..start.saturating_add(length as u64)).contains(&bad) { Err(5) } else { Ok(length) }
        };
        transfers += 1;
        rig.end(result, is_disk);
    }
}

#[test]
fn of_many_reads_in_one_request_only_the_bad_one_fails() {
    for (elevator, command) in [
        ("mq-deadline", Command::Read),
        ("bfq", Command::Read),
        ("noop", WRITE),
        ("none", WRITE),
        ("mq-deadline", STABLE),
    ] {
        let mut rig = settled(elevator, 1);
        let client = rig.client(0);
        // The device is busy, so the others meet in the queue.
        rig.ask(client, 1000, Command::Read, 500 << 20, 4096);
        let bytes: Vec<u8> = (0..64).flat_map(|n| rig.request(client, n, command, n * 4096, 4096)).collect();
        rig.send(client, &bytes);
        work_with_a_bad_block(&mut rig, 17 * 4096 + 100);
        rig.drain();
        let told = rig.told(client);
        assert_eq!(told.len(), 65);
        for (cookie, errno) in told {
            assert_eq!(errno, (cookie == 17).then_some(Errno::Io), "{elevator} {command:?}: request {cookie}");
        }
        assert_eq!(rig.shard.tenants[0].used.errors, 1);
        assert_eq!(rig.shard.tenants[0].pool.free(), rig.shard.tenants[0].pool.ceiling());
    }
}

#[test]
fn one_tenants_bad_block_fails_nobody_elses_request() {
    // Where groups are kept apart, only the bad one's eight are tried again; otherwise all sixteen.
    for (elevator, command, expected) in [
        ("mq-deadline", Command::Read, 1 + 2 + 8),
        ("mq-deadline", WRITE, 1 + 2 + 8),
        ("noop", Command::Read, 1 + 1 + 16),
        ("noop", WRITE, 1 + 1 + 16),
    ] {
        let mut rig = neighbours(elevator);
        let (bad, good) = (rig.client(0), rig.client(1));
        rig.ask(bad, 1, Command::Read, 500 << 20, 4096);
        for n in 0..8 {
            rig.ask(bad, 10 + n, command, SIZE - (8 - n) * 4096, 4096);
            rig.ask(good, 10 + n, command, n * 4096, 4096);
        }
        // Each tenant has a file of its own to the engine; they are ranges of one.
        let transfers = work_with_a_bad_block(&mut rig, SIZE - 4096);
        rig.drain();
        assert_eq!(transfers, expected, "{elevator} {command:?}: they have merged");
        assert!(rig.told(good).iter().all(|(_, errno)| errno.is_none()));
        let failed = rig.told(bad).iter().filter(|(_, errno)| errno.is_some()).count();
        assert_eq!((failed, rig.shard.tenants[1].used.errors), (1, 0));
    }
}

/// Only before blk-mq: since then a bio joins no request of another group, and each tenant is a group.
#[test]
fn a_request_of_two_tenants_is_paid_for_by_both() {
    let mut rig = neighbours("noop");
    let (before, behind) = (rig.client(0), rig.client(1));
    rig.ask(before, 1, Command::Read, 500 << 20, 4096);
    rig.let_disk_work();
    let paid = rig.shard.tenants[0].used.in_device;
    rig.ask(before, 1, Command::Read, 500 << 20, 4096);
    rig.ask(before, 2, WRITE, SIZE - 3 * 4096, 3 * 4096);
    rig.ask(behind, 3, WRITE, 0, 4096);
    assert!(rig.end(Ok(4096), |io| matches!(io, Io::Read(..))));
    let before_it = rig.shard.tenants[0].used.in_device;
    assert!(before_it > paid);
    std::thread::sleep(std::time::Duration::from_millis(4));
    assert!(rig.end(Ok(4 * 4096), is_write), "they are one request");
    let [first, second] = [0, 1].map(|at| rig.shard.tenants[at].used.in_device);
    let (first, second) = ((first - before_it).as_ns(), second.as_ns());
    assert!(second > 0 && first.abs_diff(3 * second) <= 8, "by sectors: {first} and {second} ns");
}

#[test]
fn with_schedulers_of_blk_mq_a_request_is_of_one_tenant() {
    for elevator in ["none", "mq-deadline", "kyber", "bfq", "adios"] {
        let mut rig = neighbours(elevator);
        let (before, behind) = (rig.client(0), rig.client(1));
        rig.ask(before, 1, Command::Read, 500 << 20, 4096);
        rig.ask(before, 2, WRITE, SIZE - 4096, 4096);
        rig.ask(behind, 3, WRITE, 0, 4096);
        let mut writes = 0;
        while !rig.shard.queue.queue().requests().is_empty() {
            while let Some(length) = rig.first_of(is_disk) {
                writes += usize::from(rig.first_of(is_write).is_some());
                assert_eq!(length, 4096, "{elevator}");
                rig.end(Ok(length), is_disk);
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
            rig.turn();
        }
        assert_eq!(writes, 2, "{elevator}");
    }
}

#[test]
fn zeroes_written_the_slow_way_give_their_memory_back() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    let zeroes = Command::WriteZeroes {
        persist: Persist::Lazily,
        holes: blksched_nbd::Holes::Refused,
        speed: blksched_nbd::Speed::Any,
    };
    rig.ask(client, 1, zeroes, 0, 4096);
    rig.end(Err(95), |io| matches!(io, Io::Allocate(..)));
    rig.let_disk_work();
    assert_eq!(rig.told(client), [(1, None)]);
    assert_eq!(rig.shard.tenants[0].pool.free(), rig.shard.tenants[0].pool.ceiling());
}
