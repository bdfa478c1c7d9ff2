//! The answers to clients: not before they are true, and with the real error.

use blksched_nbd::{Command, Errno, Extents, Holes, Persist, Speed};

use super::rig::*;
use crate::engine::{Allocation, Io};

#[test]
fn what_the_back_end_says_reaches_the_client_and_is_counted() {
    for (code, errno) in [(5, Errno::Io), (28, Errno::NoSpc), (122, Errno::NoSpc), (61, Errno::Io), (12, Errno::NoMem)]
    {
        let mut rig = settled("mq-deadline", 4);
        let client = rig.client(0);
        rig.ask(client, 1, WRITE, 0, 4096);
        rig.end(Err(code), is_write);
        assert_eq!(rig.told(client), [(1, Some(errno))]);
        assert_eq!(rig.shard.tenants[0].used.errors, 1);
        // A transient error: the next one succeeds.
        rig.ask(client, 2, WRITE, 0, 4096);
        rig.let_disk_work();
        assert_eq!(rig.told(client), [(2, None)]);
    }
}

#[test]
fn a_short_write_is_tried_once_more_and_is_then_a_full_disk() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    rig.ask(client, 1, WRITE, 0, 8192);
    rig.end(Ok(4096), is_write);
    assert_eq!((rig.told(client), rig.outstanding(is_write)), (vec![], 1));
    rig.end(Ok(4096), is_write);
    assert_eq!(rig.told(client), [(1, Some(Errno::NoSpc))]);
}

#[test]
fn zeroes_where_no_file_system_helps_are_written_as_data() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    let zeroes = |speed| Command::WriteZeroes { persist: Persist::Lazily, holes: Holes::Allowed, speed };
    let unsupported = rustix::io::Errno::OPNOTSUPP.raw_os_error();
    for (cookie, speed) in [(1, Speed::Any), (2, Speed::Fast)] {
        rig.ask(client, cookie, zeroes(speed), 4096, 4096);
        assert!(rig.end(Err(unsupported), |io| matches!(io, Io::Allocate(_, Allocation::Punch, ..))));
        assert!(rig.end(Err(unsupported), |io| matches!(io, Io::Allocate(_, Allocation::Zero, ..))));
    }
    rig.let_disk_work();
    let mut told = rig.told(client);
    told.sort_by_key(|&(cookie, _)| cookie);
    assert_eq!(told, [(1, None), (2, Some(Errno::NotSup))]);
    rig.ask(client, 3, Command::Trim(Persist::Lazily), 0, 4096);
    rig.end(Err(unsupported), is_disk);
    assert_eq!(rig.told(client), [(3, None)], "a trim is a hint");
}

#[test]
fn a_write_is_answered_when_the_back_end_has_all_of_it_and_not_before() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    // Larger than one request to the disk.
    rig.ask(client, 1, WRITE, 0, 1 << 20);
    assert_eq!((rig.told(client), rig.outstanding(is_write)), (vec![], 2));
    rig.end(Ok(512 << 10), is_write);
    assert_eq!(rig.told(client), [], "half of it is there");
    rig.end(Ok(512 << 10), is_write);
    assert_eq!(rig.told(client), [(1, None)]);
    assert_eq!(rig.shard.tenants[0].used.writes, 1);
}

#[test]
fn half_a_write_that_fails_is_a_write_that_failed() {
    for failing in [0, 1] {
        let mut rig = settled("noop", 4);
        let client = rig.client(0);
        rig.ask(client, 1, WRITE, 0, 1 << 20);
        for half in [0, 1] {
            assert!(rig.end(if half == failing { Err(5) } else { Ok(512 << 10) }, is_write));
        }
        assert_eq!(rig.told(client), [(1, Some(Errno::Io))]);
    }
}

#[test]
fn a_read_that_fails_says_so_and_brings_no_data() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    rig.ask(client, 1, Command::Read, 0, 4096);
    assert_eq!(rig.told(client), []);
    rig.end(Err(5), is_disk);
    assert_eq!(rig.told(client), [(1, Some(Errno::Io))]);
    assert_eq!(rig.shard.tenants[0].used.errors, 1);
    rig.ask(client, 2, Command::Read, 0, 4096);
    rig.let_disk_work();
    assert_eq!(rig.told(client), [(2, None)]);
}

#[test]
fn a_question_for_extents_waits_for_the_file_system_and_nobody_waits_for_it() {
    let mut rig = settled("mq-deadline", 4);
    let (curious, other) = (rig.client(0), rig.client(0));
    let asks = |io: &Io| matches!(io, Io::Extents(..));
    let question = Command::BlockStatus { extents: Extents::Many };
    let questions: Vec<u8> = (0..40).flat_map(|cookie| rig.request(curious, cookie, question, 0, 1 << 20)).collect();
    rig.send(curious, &questions);
    assert_eq!(rig.outstanding(asks), 16, "answers are long: this many and no more are kept");
    rig.ask(other, 1, WRITE, 0, 4096);
    rig.end(Ok(4096), is_write);
    assert_eq!((rig.told(other), rig.told(curious)), (vec![(1, None)], vec![]));
    let mut told = Vec::new();
    while rig.end(Err(5), asks) {
        told.extend(rig.told(curious));
    }
    assert_eq!(told, (0..40).map(|cookie| (cookie, Some(Errno::Io))).collect::<Vec<_>>());
}

#[test]
fn a_long_trim_goes_on_stretch_by_stretch_and_holds_one_piece() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    rig.ask(client, 1, Command::Trim(Persist::Lazily), 0, 1 << 30);
    let mut calls = 0;
    while rig.end(Ok(0), |io| matches!(io, Io::Allocate(..))) {
        calls += 1;
        assert!(rig.shard.segments.len() <= 1);
    }
    assert!(calls >= 16, "{calls}");
    assert_eq!(rig.told(client), [(1, None)]);
}

#[test]
fn cache_reads_all_of_it_with_one_buffer_and_is_answered_without_data() {
    let mut rig = settled("noop", 4);
    let client = rig.client(0);
    rig.ask(client, 1, Command::Cache, 0, (10 << 20) + 512);
    let mut reads = 0;
    while rig.end(Ok(512 << 10), |io| matches!(io, Io::Read(..)) && length_of(io) == 512 << 10) {
        reads += 1;
        assert_eq!((rig.shard.segments.len(), rig.shard.tenants[0].pool.free()), (1, (64 << 20) - (512 << 10)));
    }
    assert_eq!(reads, 20);
    assert!(rig.end(Ok(512), |io| matches!(io, Io::Read(..))));
    assert_eq!(rig.told(client), [(1, None)]);
    assert_eq!(rig.shard.tenants[0].pool.free(), 64 << 20);
}
