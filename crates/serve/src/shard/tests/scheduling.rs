//! Depth, merges, caps, switching, and the names of their knobs.

use std::time::Duration;

use blksched::{Catalogue, GroupId, Instant, Span};
use blksched_nbd::Command;

use super::matrix::{Asks, SLOW, World, load};
use super::rig::*;
use crate::config::Shares;
use crate::orders::{Order, Question};

#[test]
fn the_device_never_has_more_than_the_depth() {
    for elevator in ["noop", "mq-deadline", "deadline@2.6.33"] {
        let mut rig = settled(elevator, 3);
        let client = rig.client(0);
        let bytes: Vec<u8> = (0..40).flat_map(|n| rig.request(client, n, Command::Read, n * 1_000_448, 4096)).collect();
        rig.send(client, &bytes);
        let mut done = 0;
        while rig.outstanding(is_disk) > 0 {
            assert!(rig.outstanding(is_disk) <= 3);
            rig.end(Ok(4096), is_disk);
            done += 1;
        }
        assert_eq!((done, rig.told(client).len()), (40, 40));
    }
}

#[test]
fn the_depth_falls_and_rises_while_it_runs_whether_queue_or_server_keeps_the_shares() {
    for shares in ["scheduler", "time"] {
        let mut rig = settled("mq-deadline", 16);
        let set = |rig: &mut Rig, name: &str, value: &str| {
            rig.shard.answer(&Question::Set(name.to_owned(), value.to_owned())).unwrap();
        };
        set(&mut rig, "queue/shares", shares);
        set(&mut rig, "queue/depth", "2");
        let client = rig.client(0);
        for cookie in 0..40 {
            rig.ask(client, cookie, Command::Read, cookie * (1 << 20), 4096);
        }
        let in_device = |rig: &Rig| rig.outstanding(is_disk);
        assert_eq!(in_device(&rig), 2, "{shares}");
        set(&mut rig, "queue/depth", "9");
        rig.turn();
        assert_eq!(in_device(&rig), 9, "{shares}");
        set(&mut rig, "queue/depth", "1");
        for left in (1..9).rev() {
            assert!(rig.end(Ok(4096), is_disk));
            assert_eq!(in_device(&rig), left, "{shares}: nothing new goes");
        }
        rig.let_disk_work();
        assert_eq!(rig.told(client).len(), 40, "{shares}");
    }
}

#[test]
fn requests_that_arrive_together_merge_and_are_answered_apart() {
    let mut rig = settled("deadline@2.6.33", 1);
    let client = rig.client(0);
    let bytes: Vec<u8> = (0..5).flat_map(|n| rig.request(client, n, WRITE, n * 4096, 4096)).collect();
    rig.send(client, &bytes);
    // The first went at once or the five are one: either way no more than two operations.
    let before = rig.outstanding(is_write);
    rig.let_disk_work();
    assert_eq!(before, 1);
    assert_eq!(rig.told(client).len(), 5);
    assert_eq!(rig.shard.tenants[0].used.writes, 5);
}

#[test]
fn switching_the_scheduler_under_load_loses_nothing() {
    let names: Vec<String> = Catalogue::builtin().entries().iter().map(|entry| entry.name.to_owned()).collect();
    let mut rig = settled("noop", 2);
    let client = rig.client(0);
    let mut expected = Vec::new();
    for (round, name) in (0..).zip(names.iter().cycle().take(3 * names.len())) {
        for n in 0..10 {
            let cookie = round * 10 + n;
            let command = if n % 3 == 0 { WRITE } else { Command::Read };
            rig.ask(client, cookie, command, (cookie * 7919 % 2000) * 512, 512);
            expected.push(cookie);
        }
        let (answer, heard) = std::sync::mpsc::channel();
        rig.order(Order::Ask(Question::Set("queue/scheduler".to_owned(), name.clone()), answer));
        assert_eq!(heard.try_recv().unwrap(), Ok(String::new()));
        rig.end(Ok(512), is_disk);
    }
    rig.drain();
    let mut told: Vec<u64> = rig.told(client).into_iter().map(|(cookie, errno)| (cookie, errno).0).collect();
    told.sort_unstable();
    assert_eq!(told, expected);
}

#[test]
fn caps_hold_reads_back_and_flushes_not() {
    let mut rig = settled("noop", 32);
    let client = rig.client(0);
    rig.shard.answer(&Question::Set("tenants/a/iops".to_owned(), "10".to_owned())).unwrap();
    rig.shard.answer(&Question::Set("tenants/a/burst_ops".to_owned(), "3".to_owned())).unwrap();
    for cookie in 0..8 {
        rig.ask(client, cookie, Command::Read, cookie << 20, 4096);
    }
    assert!(rig.outstanding(is_disk) < 8, "a burst of three at ten a second");
    rig.ask(client, 100, Command::Flush, 0, 0);
    assert_eq!(rig.told(client), [(100, None)]);
    while rig.shard.tenants[0].used.reads < 8 {
        rig.let_disk_work();
        rig.told(client);
        std::thread::sleep(Duration::from_millis(1));
        rig.turn();
    }
}

#[test]
fn names_are_those_of_sysfs_and_mistakes_are_told() {
    let mut rig = settled("mq-deadline", 4);
    let get = |rig: &mut Rig, name: &str| rig.shard.answer(&Question::Get(name.to_owned()));
    let set =
        |rig: &mut Rig, name: &str, value: &str| rig.shard.answer(&Question::Set(name.to_owned(), value.to_owned()));
    assert!(get(&mut rig, "queue/scheduler").unwrap().contains("[mq-deadline]"));
    assert_eq!(get(&mut rig, "queue/iosched/read_expire"), Ok("500".to_owned()));
    set(&mut rig, "queue/iosched/read_expire", "100").unwrap();
    assert_eq!(get(&mut rig, "queue/iosched/read_expire"), Ok("100".to_owned()));
    set(&mut rig, "tenants/a/weight", "300").unwrap();
    assert_eq!(rig.shard.queue.queue().groups().get(GroupId(1)).unwrap().weight, 300);
    assert!(set(&mut rig, "tenants/a/weight", "0").unwrap_err().contains("1..=10000"));
    assert!(set(&mut rig, "tenants/a/wieght", "1").unwrap_err().contains("tenants/a/weight"));
    assert!(set(&mut rig, "queue/engine", "x").unwrap_err().contains("read only"));
    set(&mut rig, "queue/depth", "3").unwrap();
    set(&mut rig, "queue/shares", "time").unwrap();
    assert!(set(&mut rig, "queue/depth", "5").unwrap_err().contains("1..=4"));
    set(&mut rig, "queue/depth", "2").unwrap();
    assert_eq!(get(&mut rig, "queue/depth"), Ok("2".to_owned()));
    assert!(set(&mut rig, "queue/scheduler", "mq-deadlin").unwrap_err().contains("mq-deadline"));
    let all = rig.shard.answer(&Question::List("tenants/b".to_owned())).unwrap();
    assert_eq!(all.lines().count(), 15, "{all}");
    let refused = set(&mut rig, "tenants/a/io.max", "rbps=1000").unwrap_err();
    assert!(refused.contains("expected --shares scheduler"), "{refused}");
    set(&mut rig, "tenants/a/io.prio.class", "idle").unwrap();
    set(&mut rig, "queue/shares", "scheduler").unwrap();
    set(&mut rig, "tenants/a/io.max", "rbps=1000 wiops=5").unwrap();
    set(&mut rig, "tenants/a/io.max", "wiops=max").unwrap();
    assert_eq!(get(&mut rig, "tenants/a/io.max"), Ok("rbps=1000 wiops=max".to_owned()));
    assert!(set(&mut rig, "tenants/a/io.max", "rpbs=1").unwrap_err().contains("column 1: `rpbs`"));
    assert!(set(&mut rig, "queue/shares", "time").unwrap_err().contains("io.max is written"));
    assert!(set(&mut rig, "tenants/a/io.latency", "target=100").unwrap_err().contains("started without"));
    assert!(set(&mut rig, "queue/io.cost.qos", "enable=1").unwrap_err().contains("started without"));
}

#[test]
fn caps_charge_zeroes_and_trims_and_count_operations_as_they_were_asked() {
    use blksched_nbd::{Holes, Persist, Speed};
    let mut rig = settled("mq-deadline", 1);
    let client = rig.client(0);
    rig.shard.answer(&Question::Set("tenants/a/bps".to_owned(), "1M".to_owned())).unwrap();
    let zeroes = Command::WriteZeroes { persist: Persist::Lazily, holes: Holes::Refused, speed: Speed::Any };
    for (cookie, command) in [(1, zeroes), (2, Command::Trim(Persist::Lazily)), (3, zeroes)] {
        rig.ask(client, cookie, command, 0, 64 << 20);
        rig.let_disk_work();
    }
    assert_eq!(rig.told(client), [(1, None)], "the first is larger than the burst, and is paid for afterwards");
    for (seconds, told) in [(63, vec![]), (2, vec![(2, None)]), (61, vec![]), (4, vec![(3, None)])] {
        rig.shard.clock.pass(Duration::from_secs(seconds));
        rig.turn();
        rig.let_disk_work();
        assert_eq!(rig.told(client), told, "after {seconds} s more");
    }
    rig.shard.answer(&Question::Set("tenants/a/bps".to_owned(), "max".to_owned())).unwrap();
    rig.shard.answer(&Question::Set("tenants/a/iops".to_owned(), "100".to_owned())).unwrap();
    let bytes: Vec<u8> = (0..64).flat_map(|n| rig.request(client, n, Command::Read, n * 4096, 4096)).collect();
    rig.send(client, &bytes);
    rig.let_disk_work();
    let told = rig.told(client).len();
    assert!((10..20).contains(&told), "a burst of ten, and sequential ones cost as much as others: {told}");
}

/// What each of four seconds gave two tenants that want all of a disk of 2 ms, by time shares.
fn of_two(first: &[(&str, &str)]) -> [u64; 2] {
    let deep = load(Asks::Reads, 1, 16);
    let mut world = World::with_depth(SLOW, 1, Shares::ByTime, &[deep, deep]);
    for (what, value) in first {
        world.rig.shard.answer(&Question::Set(format!("tenants/a/{what}"), (*value).to_owned())).unwrap();
    }
    world.ask_all();
    world.pass(Instant::ZERO + Span::from_secs(4));
    [world.had[0].done, world.had[1].done]
}

#[test]
fn classes_go_one_after_the_other_under_time_shares_and_levels_are_parts_of_the_weight() {
    let [a, b] = of_two(&[]);
    assert!(a.abs_diff(b) <= 20, "the control: {a} and {b}");
    for (files, first) in [
        ([("class", "rt")].as_slice(), true),
        (&[("class", "idle")], false),
        (&[("io.prio.class", "promote-to-rt")], true),
        (&[("io.prio.class", "idle")], false),
        // A weight does not lift it out of its class.
        (&[("class", "idle"), ("weight", "10000")], false),
    ] {
        let [a, b] = of_two(files);
        let (most, least) = if first { (a, b) } else { (b, a) };
        assert!(most > 1900 && least < 40, "{files:?}: {a} and {b}");
    }
    for (level, part) in [("0", 1.8), ("4", 1.0), ("7", 0.4)] {
        let [a, b] = of_two(&[("level", level)]);
        assert!((a as f64 / b as f64 / part - 1.0).abs() < 0.05, "level {level}: {a} and {b}");
    }
}

#[test]
fn a_class_that_is_passed_over_for_ten_seconds_gets_a_turn() {
    let loads = [load(Asks::Reads, 1, 16), load(Asks::Reads, 1, 1)];
    let mut world = World::with_depth(SLOW, 1, Shares::ByTime, &loads);
    world.rig.shard.answer(&Question::Set("tenants/b/class".to_owned(), "idle".to_owned())).unwrap();
    world.ask_all();
    world.pass(Instant::ZERO + Span::from_ms(9_900));
    assert_eq!(world.had[1].done, 0, "nothing for 9.9 s");
    world.pass(Instant::ZERO + Span::from_ms(10_100));
    assert_eq!(world.had[1].done, 1, "one after 10 s");
    world.pass(Instant::ZERO + Span::from_ms(19_900));
    assert_eq!(world.had[1].done, 1, "and no more for 10 s");
}
