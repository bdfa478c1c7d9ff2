//! The shares that groups really get, by weight, on two simple disks: within 2.5 percentage points of their due, nested
//! groups within 3, as the recorded scheduler's shares were.

use std::collections::VecDeque;

use blksched::reasons::Charged;
use blksched::{
    Bio, BlockQueue, Catalogue, Group, GroupId, Instant, Limits, Next, Outcome, QueueConfig, Reason, Sector, Span,
    SubmitterId,
};

const MS: i64 = 1_000_000;

/// A disk with an arm (one request at a time, 8 ms for a seek to another reader's place, 2 ms for one within its own)
/// or without (eight at a time).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Disk {
    Hdd,
    Ssd,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    InOrder,
    Anywhere,
}

/// One process in each group sends this many reads, waits for all of them, and repeats.
#[derive(Clone, Copy)]
struct Load {
    spec: &'static str,
    disk: Disk,
    depth: u32,
    reads: Reads,
    burst: u32,
    knobs: &'static [(&'static str, i64)],
    /// Parent, weight and leaf weight of groups 0, 1, …
    groups: &'static [(u32, u32, u32)],
    /// The groups that read.
    readers: &'static [u32],
}

const FLAT: Load = Load {
    spec: "cfq@4.20+groups",
    disk: Disk::Hdd,
    depth: 1,
    reads: Reads::InOrder,
    burst: 1,
    knobs: &[],
    groups: &[(0, 1000, 1000), (0, 100, 100), (0, 200, 200), (0, 700, 700)],
    readers: &[1, 2, 3],
};
const FAST: &[(&str, i64)] = &[("slice_sync", 2 * MS), ("target_latency", 10 * MS)];

struct World {
    load: Load,
    queue: BlockQueue<Vec<(Instant, Reason)>>,
    now: Instant,
    head: Sector,
    busy_until: Instant,
    /// The commands in the disk with their completion times, in that order.
    at_disk: VecDeque<(Instant, blksched::InFlight, usize)>,
    /// When a process continues.
    thinking: VecDeque<(Instant, usize)>,
    outstanding: Vec<u32>,
    position: Vec<u64>,
    done: Vec<u64>,
    random: u64,
}

impl World {
    fn new(load: Load) -> World {
        let limits = Limits { rotational: load.disk == Disk::Hdd, ..Limits::default() };
        let config = QueueConfig { limits, depth: load.depth, ..QueueConfig::default() };
        let elevator = Catalogue::builtin().build(load.spec).unwrap().elevator;
        let mut queue = BlockQueue::with_listener(config, elevator, Vec::new());
        for (id, &(parent, weight, leaf_weight)) in (0..).zip(load.groups) {
            let group = Group { parent: GroupId(parent), weight, leaf_weight };
            queue.set_group(Instant::ZERO, GroupId(id), group).unwrap();
        }
        for &(knob, value) in load.knobs {
            queue.set(Instant::ZERO, knob, value).unwrap();
        }
        let readers = load.readers.len();
        World {
            load,
            queue,
            now: Instant::ZERO,
            head: Sector(0),
            busy_until: Instant::ZERO,
            at_disk: VecDeque::new(),
            thinking: (0..readers).map(|reader| (Instant::ZERO, reader)).collect(),
            outstanding: vec![0; readers],
            position: (0..readers as u64).map(|reader| reader << 32).collect(),
            done: vec![0; readers],
            random: 1,
        }
    }

    fn send_burst(&mut self, reader: usize) {
        for _ in 0..self.load.burst {
            if self.load.reads == Reads::Anywhere {
                self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                self.position[reader] = ((reader as u64) << 32) + (self.random >> 40) * 64;
            }
            let start = Sector(self.position[reader]);
            self.position[reader] += 64;
            let group = GroupId(self.load.readers[reader]);
            let bio = Bio { group, ..Bio::read(0, SubmitterId(reader as u32 + 1), start, 64) };
            if matches!(self.queue.submit(self.now, bio), blksched::Submitted::Inserted(_)) {
                self.outstanding[reader] += 1;
            }
        }
    }

    fn issue(&mut self) {
        while let Next::Issue(command) = self.queue.next(self.now) {
            let reader = command.submitter.0 as usize - 1;
            let service = match self.load.disk {
                Disk::Hdd if command.start == self.head => Span::from_us(400),
                Disk::Hdd if self.load.reads == Reads::Anywhere => Span::from_ms(2),
                Disk::Hdd => Span::from_ms(8),
                // Eight at a time, 160 us each.
                Disk::Ssd => Span::from_us(20),
            };
            self.head = command.start + command.sectors;
            self.busy_until = self.busy_until.max(self.now) + service;
            let latency = if self.load.disk == Disk::Ssd { Span::from_us(140) } else { Span::ZERO };
            self.at_disk.push_back((self.busy_until + latency, command, reader));
        }
    }

    /// The number of each reader's requests within this time.
    fn run(&mut self, span: Span) -> Vec<f64> {
        let end = self.now + span;
        let before = self.done.clone();
        while self.now < end {
            let events = [self.at_disk.front().map(|e| e.0), self.thinking.front().map(|e| e.0), self.queue.deadline()];
            self.now = events.into_iter().flatten().min().expect("somebody reads or thinks").max(self.now);
            if self.at_disk.front().is_some_and(|e| e.0 <= self.now) {
                let (_, command, reader) = self.at_disk.pop_front().unwrap();
                self.queue.complete(self.now, command, Outcome::Ok);
                self.queue.deliveries().for_each(drop);
                self.done[reader] += 1;
                self.outstanding[reader] -= 1;
                if self.outstanding[reader] == 0 {
                    self.thinking.push_back((self.now + Span::from_us(50), reader));
                }
            } else if self.thinking.front().is_some_and(|e| e.0 <= self.now) {
                let (_, reader) = self.thinking.pop_front().unwrap();
                self.send_burst(reader);
            } else {
                self.queue.elapse(self.now);
            }
            self.issue();
        }
        let had: Vec<u64> = self.done.iter().zip(before).map(|(now, before)| now - before).collect();
        let all: u64 = had.iter().sum();
        had.into_iter().map(|had| 100.0 * had as f64 / all as f64).collect()
    }
}

/// Checks that each share is within `off` percentage points of the expected one.
fn expect(load: Load, shares: &[f64], off: f64) {
    let span = if load.disk == Disk::Hdd { Span::from_secs(60) } else { Span::from_secs(2) };
    let had = World::new(load).run(span);
    let near = had.iter().zip(shares).all(|(had, share)| (had - share).abs() <= off);
    assert!(near, "{had:.1?}, not {shares:?}");
}

#[test]
fn sequential_readers_share_an_arm_by_their_groups_weights() {
    expect(FLAT, &[10.0, 20.0, 70.0], 2.5);
}

#[test]
fn random_readers_share_an_arm_by_their_groups_weights() {
    expect(Load { reads: Reads::Anywhere, burst: 16, depth: 31, ..FLAT }, &[10.0, 20.0, 70.0], 2.5);
}

#[test]
fn without_an_arm_requests_are_counted_and_shared_by_weight() {
    let load = Load { disk: Disk::Ssd, reads: Reads::Anywhere, burst: 16, depth: 31, knobs: FAST, ..FLAT };
    expect(load, &[10.0, 20.0, 70.0], 2.5);
    let mut world = World::new(load);
    world.run(Span::from_ms(100));
    let counted = |(_, reason): &(Instant, Reason)| {
        matches!(reason, Reason::GroupCharged { charged: Charged::Requests(1..), .. })
    };
    assert!(world.queue.listener().iter().any(counted));
}

#[test]
fn without_idling_for_groups_a_disk_without_an_arm_knows_no_weights() {
    const NO_GROUP_IDLE: &[(&str, i64)] = &[FAST[0], FAST[1], ("group_idle", 0)];
    let load = Load { disk: Disk::Ssd, reads: Reads::Anywhere, burst: 16, depth: 31, knobs: NO_GROUP_IDLE, ..FLAT };
    expect(load, &[33.3, 33.4, 33.3], 1.0);
}

#[test]
fn nested_groups_share_what_their_parent_has() {
    let groups = &[(0, 1000, 1000), (0, 500, 500), (0, 250, 500), (1, 300, 500), (1, 600, 500)];
    expect(Load { groups, readers: &[0, 3, 4, 2], ..FLAT }, &[54.2, 11.1, 19.5, 15.2], 3.0);
}

#[test]
fn with_groups_off_weights_mean_nothing() {
    expect(Load { spec: "cfq@4.20", ..FLAT }, &[33.3, 33.3, 33.3], 2.0);
}

#[test]
fn weights_written_while_running_count_from_the_next_charge_on() {
    let mut world = World::new(FLAT);
    world.run(Span::from_secs(20));
    // Each group reads alone, so its subtree becomes active again at each charge.
    for (id, weight) in [(1, 700), (3, 100)] {
        let group = Group { weight, leaf_weight: weight, ..Group::default() };
        world.queue.set_group(world.now, GroupId(id), group).unwrap();
    }
    world.run(Span::from_secs(5));
    let had = world.run(Span::from_secs(60));
    let near = had.iter().zip([70.0, 20.0, 10.0]).all(|(had, share)| (had - share).abs() <= 2.5);
    assert!(near, "{had:.1?}");
}

#[test]
fn a_leaf_weight_divides_a_group_between_its_own_readers_and_its_children() {
    let groups = &[(0, 1000, 1000), (0, 500, 750), (1, 250, 500)];
    expect(Load { groups, readers: &[1, 2], ..FLAT }, &[75.0, 25.0], 2.0);
}

#[test]
fn a_group_that_is_gone_has_its_requests_served_and_its_place_taken_by_a_new_one() {
    let mut world = World::new(FLAT);
    world.run(Span::from_secs(1));
    world.queue.remove_group(world.now, GroupId(2)).unwrap();
    // Its next read creates it again, with the default weight of 100.
    let had = world.run(Span::from_secs(60));
    let near = had.iter().zip([11.1, 11.1, 77.8]).all(|(had, share)| (had - share).abs() <= 2.0);
    assert!(near, "{had:.1?}");
    world.queue.check();
}

#[test]
fn a_charge_says_for_what_and_of_which_share() {
    let mut world = World::new(FLAT);
    world.run(Span::from_secs(2));
    let charges: Vec<_> = world
        .queue
        .listener()
        .iter()
        .filter_map(|(_, reason)| match *reason {
            Reason::GroupCharged { group, charged: Charged::Time(time), fraction } => Some((group, time, fraction)),
            _ => None,
        })
        .collect();
    let of = |group| charges.iter().rfind(|charge| charge.0 == GroupId(group)).unwrap();
    assert_eq!([1, 2, 3].map(|group| of(group).2), [409, 819, 2867]);
    assert!(charges.iter().all(|charge| charge.1 <= Span::from_ms(110)), "{charges:?}");
    let served = |(_, reason): &&(Instant, Reason)| matches!(reason, Reason::GroupServed { .. });
    assert!(world.queue.listener().iter().filter(served).count() > 3);
}
