//! Compares the queue's short path (`queue/steps/fast_path.rs`) with the long one: the same calls must have the same
//! answers, deliveries and reasons, in every era, and whatever policies are in front of the slots.
//!
//! **In the kernel** `blk_mq_submit_bio`.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::fast_path::FastPath;
use super::mq::Task;
use super::{BlockQueue, Delivery, Next, Outcome, QueueConfig, Wakes, wbt};
use crate::elevator::Due;
use crate::request::{Bio, GroupId, InFlight, Sector, SubmitterId};
use crate::time::{Instant, Span};
use crate::{Catalogue, Reason};

/// The path that the calls take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The short one, whenever it is open.
    Short,
    /// Never the short one: a queue whose elevator is always asked for its deadline never takes it.
    Long,
}

/// The policies in front of the slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Policies {
    Nothing,
    Throttle,
    /// These, io.cost and io.latency.
    All,
}

struct Life {
    queue: BlockQueue<Vec<(Instant, Reason)>>,
    random: u64,
    now: Instant,
    flying: Vec<InFlight>,
    runnable: VecDeque<Task>,
    /// Bios in flight.
    out: usize,
    log: Vec<String>,
    /// The number of calls after which the short path was open.
    fast_path: usize,
}

impl Life {
    fn new(name: &str, policies: Policies, wakes: Wakes, way: Way, seed: u64) -> Life {
        let built = Catalogue::builtin().build(name).expect("a built-in elevator");
        let slots = built.slots.with_nr_requests(24);
        let depth = 1 + seed as u32 % 4;
        let config = QueueConfig { slots, plugging: built.plugging, depth, wakes, ..QueueConfig::default() };
        let mut queue = BlockQueue::with_listener(config, built.elevator, Vec::new());
        let now = Instant::ZERO;
        if let (Policies::Throttle | Policies::All, Some(era)) = (policies, slots.era()) {
            let target = Span::from_ms(4);
            let (hz, queue_depth, write_cache) = (250, depth, seed.is_multiple_of(2));
            let config = wbt::Config { era, hz, target, queue_depth, write_cache, born: now };
            queue.add_policy(now, Box::new(wbt::Throttle::new(config)));
        }
        if policies == Policies::All {
            queue.set_group(now, GroupId(1), crate::group::Group::default()).expect("a new group");
            queue.write_group_file(now, GroupId(1), "io.latency", "8:0 target=3000").expect("a target");
            queue.write_group_file(now, GroupId::ROOT, "io.cost.qos", "8:0 enable=1").expect("it is of the root");
        }
        if way == Way::Long {
            queue.core.state.due = Due { asked: true, at: Instant::ZERO };
        }
        let (flying, runnable, log) = (Vec::new(), VecDeque::new(), Vec::new());
        Life { queue, random: seed, now, flying, runnable, out: 0, log, fast_path: 0 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.random >> 33) % bound
    }

    fn bio(&mut self, tag: u64) -> Bio {
        let who = SubmitterId(1 + self.below(4) as u32);
        let (start, sectors) = (Sector(8 * self.below(400)), 8 * (1 + self.below(2) as u32));
        let group = GroupId(self.below(2) as u32);
        let bio = match self.below(8) {
            0..3 => Bio::write_back(tag, who, start, sectors),
            3 => Bio::write(tag, who, start, sectors),
            _ => Bio::read(tag, who, start, sectors),
        };
        Bio { group, ..bio }
    }

    fn live(mut self) -> Life {
        for step in 0..3_000 {
            let pause = [0, 20, 300, 2_500][self.below(4) as usize];
            self.now += Span::from_us(pause);
            if self.out < 40 {
                self.submit(step);
            }
            self.run();
            if !self.flying.is_empty() && self.below(3) > 0 {
                let nth = self.below(self.flying.len() as u64) as usize;
                let command = self.flying.swap_remove(nth);
                self.queue.complete(self.now, command, Outcome::Ok);
                self.look();
            }
            self.run();
            if self.below(400) == 0 {
                self.queue.waited_for_memory(self.now);
            }
            if self.below(3) == 0
                && let Some(task) = self.runnable.pop_front()
            {
                self.queue.run_task(self.now, task);
                self.look();
            }
        }
        self
    }

    fn submit(&mut self, step: u64) {
        let bio = self.bio(step);
        match self.below(12) {
            // If it is collected first, the answer on the long path is that it is held.
            0..6 => _ = self.queue.submit_alone(self.now, bio),
            nth @ 6..10 => {
                let became = self.queue.submit(self.now, bio);
                self.log.push(format!("{became:?}"));
                if nth < 9 {
                    self.queue.waits(self.now, bio.submitter);
                }
            }
            _ => return,
        }
        self.out += 1;
        self.look();
    }

    fn run(&mut self) {
        loop {
            let next = self.queue.next(self.now);
            self.log.push(format!("{next:?}"));
            self.look();
            let Next::Issue(command) = next else { break };
            self.flying.push(command);
        }
    }

    /// Compares the deliveries, the reasons, and the time of the next call.
    fn look(&mut self) {
        self.fast_path += usize::from(self.queue.core.state.fast_path != FastPath::UNKNOWN);
        if self.log.len().is_multiple_of(8) {
            self.queue.check();
        }
        let came: Vec<Delivery> = self.queue.deliveries().collect();
        for delivery in &came {
            match *delivery {
                Delivery::Done { .. } => self.out -= 1,
                Delivery::Runnable(task) => self.runnable.push_back(task),
                _ => {}
            }
        }
        let deadline = self.queue.deadline();
        let heard = core::mem::take(self.queue.listener_mut());
        self.log.push(format!("{:?} {came:?} {deadline:?} {heard:?}", self.now));
    }
}

/// Runs both paths; returns how often the short one was open.
fn lived_alike(name: &str, policies: Policies, wakes: Wakes, seed: u64) -> usize {
    let [short, long] = [Way::Short, Way::Long].map(|way| Life::new(name, policies, wakes, way, seed).live());
    let differs = short.log.iter().zip(&long.log).position(|(short, long)| short != long);
    let where_to = differs.map(|at| (at, &short.log[at], &long.log[at]));
    assert_eq!(where_to, None, "{name} with {policies:?}, {wakes:?}, seed {seed}: the short path decided otherwise");
    assert!(short.log.len() == long.log.len() && long.fast_path == 0);
    short.fast_path
}

#[test]
fn the_short_way_decides_as_the_long_one() {
    for name in Catalogue::builtin().eras() {
        for policies in [Policies::Nothing, Policies::Throttle, Policies::All] {
            for (wakes, seed) in [(Wakes::AtOnce, 1), (Wakes::ByDriver, 2), (Wakes::ByDriver, 3), (Wakes::AtOnce, 4)] {
                lived_alike(&name, policies, wakes, seed);
            }
        }
    }
}

#[test]
fn a_queue_with_policies_takes_the_short_path_often() {
    // Under BFQ, some submitter nearly always sleeps for a tag in this load.
    for name in ["none", "mq-deadline", "kyber"] {
        for policies in [Policies::Throttle, Policies::All] {
            let fast_path = lived_alike(name, policies, Wakes::ByDriver, 7);
            assert!(fast_path > 1_000, "{name} with {policies:?}: after {fast_path} calls");
        }
    }
}
