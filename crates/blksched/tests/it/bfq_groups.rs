//! BFQ under random operations with nested groups: groups are created, reweighted and removed; processes change groups
//! and exit; requests merge and are requeued; knobs change. Every invariant holds after every step, and every request
//! completes.

use blksched::{
    Bio, BlockQueue, Catalogue, Class, Delivery, Group, GroupId, Instant, Limits, Next, Outcome, Priority, QueueConfig,
    Sector, Span, SubmitterId,
};

use crate::dice::Dice;

const STEPS: u32 = 4000;
const MS: i64 = 1_000_000;
/// Each knob with an extreme value and its default.
const KNOBS: [(&str, [i64; 2]); 9] = [
    ("low_latency", [0, 1]),
    ("slice_idle", [0, 8 * MS]),
    ("max_budget", [1, 0]),
    ("strict_guarantees", [1, 0]),
    ("back_seek_max", [0, 16_384]),
    ("back_seek_penalty", [1_000_000, 2]),
    ("fifo_expire_sync", [0, 125 * MS]),
    ("fifo_expire_async", [0, 250 * MS]),
    ("timeout_sync", [MS, 124 * MS]),
];

struct Use {
    queue: BlockQueue,
    now: Instant,
    random: u64,
    flying: Vec<blksched::InFlight>,
    out: u64,
    tags: u64,
    /// Processes with lower numbers have exited.
    gone: u32,
}

impl Use {
    fn new(seed: u64) -> Use {
        let era = if seed.is_multiple_of(2) { "bfq" } else { "bfq@6.1" };
        let elevator = Catalogue::builtin().build(era).unwrap().elevator;
        let limits = Limits { rotational: !seed.is_multiple_of(3), max_sectors: 64, ..Limits::default() };
        let config = QueueConfig { limits, depth: 1 + (seed % 6) as u32, ..QueueConfig::default() };
        let queue = BlockQueue::new(config, elevator);
        Use { queue, now: Instant::ZERO, random: seed, flying: Vec::new(), out: 0, tags: 0, gone: 0 }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.random >> 33) % below
    }

    fn step(&mut self) {
        let us = [0, 0, 10, 1000, 9000, 400_000][self.draw(6) as usize];
        self.now += Span::from_us(us);
        match self.draw(16) {
            0..=7 if self.out < 100 => self.submit(),
            8..=11 => self.return_one(),
            12 => self.weigh(),
            13 => {
                let id = GroupId(1 + self.draw(5) as u32);
                // The group may not exist, or have child groups.
                _ = self.queue.remove_group(self.now, id);
            }
            14 if self.draw(8) == 0 => {
                self.queue.forget(self.now, SubmitterId(self.gone));
                self.gone += 1;
            }
            15 if self.draw(10) == 0 => self.turn_a_knob(),
            _ => self.queue.elapse(self.now),
        }
        self.queue.check();
        while let Next::Issue(command) = self.queue.next(self.now) {
            self.flying.push(command);
            self.queue.check();
        }
    }

    fn submit(&mut self) {
        let submitter = SubmitterId(self.gone + self.draw(6) as u32);
        let start = Sector(if self.draw(2) == 0 { self.draw(64) * 8 } else { self.draw(1 << 20) * 8 });
        self.tags += 1;
        self.out += 1;
        let bio = match self.draw(3) {
            0 => Bio::write_back(self.tags, submitter, start, 8),
            _ => Bio::read(self.tags, submitter, start, 8),
        };
        // Most stay where they are.
        let group = if self.draw(10) == 0 { self.draw(6) as u32 } else { submitter.0 % 6 };
        let class = [Class::None, Class::None, Class::BestEffort, Class::RealTime, Class::Idle][self.draw(5) as usize];
        let class = if submitter.0.is_multiple_of(3) { class } else { Class::None };
        let priority = Priority { class, level: 2 };
        self.queue.submit(self.now, Bio { group: GroupId(group), priority, ..bio });
    }

    fn return_one(&mut self) {
        if self.flying.is_empty() {
            return;
        }
        let at = self.draw(self.flying.len() as u64) as usize;
        let command = self.flying.swap_remove(at);
        if self.draw(20) == 0 {
            self.queue.requeue(self.now, command);
        } else {
            self.queue.complete(self.now, command, Outcome::Ok);
        }
        let done = |delivery: &Delivery| matches!(delivery, Delivery::Done { .. });
        self.out -= self.queue.deliveries().filter(done).count() as u64;
    }

    fn weigh(&mut self) {
        let id = 1 + self.draw(5) as u32;
        let known = self.queue.groups().get(GroupId(id)).map(|group| group.parent);
        let parent = known.unwrap_or(GroupId(self.draw(u64::from(id)) as u32));
        let weight = [1, 50, 100, 1000, 10_000][self.draw(5) as usize];
        // Its parent may not exist, or no longer.
        _ = self.queue.set_group(self.now, GroupId(id), Group { parent, weight, ..Group::default() });
    }

    fn turn_a_knob(&mut self) {
        let (knob, values) = KNOBS[self.draw(KNOBS.len() as u64) as usize];
        let raw = values[self.draw(2) as usize];
        self.queue.set(self.now, knob, raw).unwrap();
    }
}

#[test]
fn every_invariant_holds_under_random_use_and_every_request_comes_back() {
    for seed in 1..=12 {
        let mut used = Use::new(seed);
        (0..STEPS).for_each(|_| used.step());
        let mut rounds = 0;
        while used.out > 0 {
            used.now += Span::from_ms(50);
            while let Next::Issue(command) = used.queue.next(used.now) {
                used.flying.push(command);
            }
            (0..8).for_each(|_| used.return_one());
            rounds += 1;
            assert!(rounds < 10_000, "seed {seed}: {} requests never come back", used.out);
        }
    }
}

#[test]
fn a_new_bfq_is_handed_what_a_group_that_is_gone_left_behind() {
    let build = || Catalogue::builtin().build("bfq").unwrap().elevator;
    let mut queue = BlockQueue::new(QueueConfig::default(), build());
    let bio = Bio { group: GroupId(3), ..Bio::read(1, SubmitterId(1), Sector(0), 8) };
    queue.submit(Instant::ZERO, bio);
    queue.remove_group(Instant::ZERO, GroupId(3)).unwrap();
    queue.switch(Instant::ZERO, build());
    queue.check();
    let Next::Issue(command) = queue.next(Instant::ZERO) else { panic!("there is a request") };
    queue.complete(Instant::ZERO, command, Outcome::Ok);
    assert_eq!(queue.deliveries().count(), 1);
}

/// Two schedulers under the same calls.
struct Twins {
    queues: [BlockQueue; 2],
    now: Instant,
    dice: Dice,
    flying: Vec<[blksched::InFlight; 2]>,
    tags: u64,
}

impl Twins {
    fn new(seed: u64, specs: [&str; 2]) -> Twins {
        let limits = Limits { rotational: !seed.is_multiple_of(3), max_sectors: 256, ..Limits::default() };
        let config = QueueConfig { limits, depth: 1 + (seed % 4) as u32, ..QueueConfig::default() };
        let queues = specs.map(|spec| BlockQueue::new(config, Catalogue::builtin().build(spec).unwrap().elevator));
        Twins { queues, now: Instant::ZERO, dice: Dice(seed), flying: Vec::new(), tags: 0 }
    }

    fn step(&mut self, groups: [GroupId; 2]) {
        let until = self.now + Span::from_us([0, 10, 1000, 9000, 400_000][self.dice.below(5) as usize]);
        // Idling ends at its own moments, which must be the same.
        loop {
            let due = self.queues[0].deadline();
            assert_eq!(self.queues[1].deadline(), due);
            let Some(due) = due.filter(|due| *due <= until) else { break };
            self.now = self.now.max(due);
            self.queues.iter_mut().for_each(|queue| queue.elapse(due));
            self.issue();
        }
        self.now = until;
        match self.dice.below(16) {
            0..=7 if self.flying.len() < 60 => self.submit(groups),
            8..=14 if !self.flying.is_empty() => {
                let nth = self.dice.below(self.flying.len() as u64) as usize;
                let commands = self.flying.swap_remove(nth);
                for (queue, command) in self.queues.iter_mut().zip(commands) {
                    queue.complete(self.now, command, Outcome::Ok);
                }
            }
            15 if self.dice.below(30) == 0 => {
                let who = SubmitterId(self.dice.below(12) as u32);
                self.queues.iter_mut().for_each(|queue| queue.forget(self.now, who));
            }
            _ => {}
        }
        self.issue();
    }

    fn submit(&mut self, groups: [GroupId; 2]) {
        // Six at a time: others are created shortly after each other now and then, as bursts are.
        let who = SubmitterId((self.dice.below(6) + 6 * u64::from(self.dice.below(20) == 0)) as u32);
        let start = 8 * if self.dice.below(3) == 0 {
            self.dice.below(1 << 20)
        } else {
            1000 * u64::from(who.0) + self.dice.below(60)
        };
        let level = [4, 4, 0, 7][who.0 as usize % 4];
        let priority = Priority { class: Class::BestEffort, level };
        let make = if self.dice.below(3) == 0 { Bio::write_back } else { Bio::read };
        let bio = Bio { priority, ..make(self.tags, who, Sector(start), 8 + 8 * self.dice.below(3) as u32) };
        self.tags += 1;
        let fates = [0, 1].map(|nth| self.queues[nth].submit(self.now, bio.with_group(groups[nth])));
        assert_eq!(fates[0], fates[1], "{bio:?}");
    }

    /// Asks both until they issue nothing more: the same commands, and idling for as long.
    fn issue(&mut self) {
        loop {
            let now = self.now;
            let [ours, theirs] = &mut self.queues;
            match (ours.next(now), theirs.next(now)) {
                (Next::Issue(a), Next::Issue(b)) => {
                    assert_eq!((a.start, a.sectors, a.op), (b.start, b.sectors, b.op), "at {now:?}");
                    self.flying.push([a, b]);
                }
                (Next::Idle { until: a, .. }, Next::Idle { until: b, .. }) => return assert_eq!(a, b, "at {now:?}"),
                (a, b) => return assert_eq!(format!("{a:?}"), format!("{b:?}"), "at {now:?}"),
            }
        }
    }
}

/// docs/behaviour/elevators-6.12-6.18.md: apart from how many tags a write may take, loads of the root group decide the
/// same with groups and without.
#[test]
fn without_a_group_it_decides_and_idles_as_if_there_were_none() {
    for kernel in ["5.10", "5.15", "6.1", "6.12"] {
        let specs = [format!("bfq@{kernel}+groups=off"), format!("bfq@{kernel}+groups=on")];
        for seed in 0..12 {
            let mut twins = Twins::new(seed, specs.each_ref().map(String::as_str));
            (0..STEPS / 2).for_each(|_| twins.step([GroupId::ROOT; 2]));
        }
    }
}

/// Which number a group has, and which were made before it and are empty, decides nothing.
#[test]
fn groups_with_other_numbers_decide_and_idle_the_same() {
    for kernel in ["6.1", "6.12"] {
        let spec = format!("bfq@{kernel}");
        for seed in 0..12 {
            let mut twins = Twins::new(seed, [&spec, &spec]);
            let ids = [[1, 2, 3], [6, 4, 9]].map(|ids| ids.map(GroupId));
            for (queue, ids) in twins.queues.iter_mut().zip(ids) {
                for (id, weight) in ids.into_iter().zip([100, 300, 50]) {
                    queue.set_group(Instant::ZERO, id, Group { weight, ..Group::default() }).unwrap();
                }
            }
            for step in 0..STEPS / 2 {
                // A process changes its group now and then.
                let nth = twins.dice.index(3);
                let groups = ids.map(|ids| if step / 500 % 2 == 0 { ids[nth] } else { GroupId::ROOT });
                twins.step(groups);
            }
        }
    }
}
