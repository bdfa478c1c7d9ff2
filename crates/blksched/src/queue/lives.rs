//! Random lives of a queue, in every era, whatever policies are in front of the slots: after each call, what the queue
//! promises of itself holds ([`BlockQueue::check`]), no deadline is forgotten, and nothing is lost.
//!
//! **In the kernel** `blk_mq_submit_bio`.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::mq::Task;
use super::{BlockQueue, Delivery, Next, Outcome, QueueConfig, Wakes, wbt};
use crate::Catalogue;
use crate::request::{Bio, GroupId, InFlight, Sector, SubmitterId};
use crate::time::{Instant, Span};

/// The policies in front of the slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Policies {
    Nothing,
    Throttle,
    /// These, io.cost and io.latency.
    All,
}

struct Life {
    queue: BlockQueue,
    random: u64,
    now: Instant,
    flying: Vec<InFlight>,
    runnable: VecDeque<Task>,
    /// Bios in flight.
    out: usize,
    /// Submitted and delivered.
    submitted: usize,
    delivered: usize,
}

impl Life {
    fn new(name: &str, policies: Policies, wakes: Wakes, seed: u64) -> Life {
        let built = Catalogue::builtin().build(name).expect("a built-in elevator");
        let slots = built.slots.with_nr_requests(24);
        let depth = 1 + seed as u32 % 4;
        let config = QueueConfig { slots, plugging: built.plugging, depth, wakes, ..QueueConfig::default() };
        let mut queue = BlockQueue::new(config, built.elevator);
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
        let (flying, runnable) = (Vec::new(), VecDeque::new());
        Life { queue, random: seed, now, flying, runnable, out: 0, submitted: 0, delivered: 0 }
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
            0..6 => _ = self.queue.submit_alone(self.now, bio),
            nth @ 6..10 => {
                self.queue.submit(self.now, bio);
                if nth < 9 {
                    self.queue.waits(self.now, bio.submitter);
                }
            }
            _ => return,
        }
        (self.out, self.submitted) = (self.out + 1, self.submitted + 1);
        self.look();
    }

    fn run(&mut self) {
        loop {
            let next = self.queue.next(self.now);
            self.look();
            let Next::Issue(command) = next else { break };
            self.flying.push(command);
        }
    }

    /// Takes what is delivered; what the queue promises of itself holds.
    fn look(&mut self) {
        self.queue.check();
        let came: Vec<Delivery> = self.queue.deliveries().collect();
        for delivery in &came {
            match *delivery {
                Delivery::Done { .. } => (self.out, self.delivered) = (self.out - 1, self.delivered + 1),
                Delivery::Runnable(task) => self.runnable.push_back(task),
                _ => {}
            }
        }
    }

    /// Until nothing is left: whoever sleeps is woken at some deadline.
    fn ends(mut self) {
        for _ in 0..10_000 {
            if self.out == 0 {
                break;
            }
            self.run();
            while let Some(command) = self.flying.pop() {
                self.queue.complete(self.now, command, Outcome::Ok);
                self.look();
            }
            while let Some(task) = self.runnable.pop_front() {
                self.queue.run_task(self.now, task);
                self.look();
            }
            self.now = self.queue.deadline().map_or(self.now, |at| at.max(self.now)) + Span::from_us(10);
        }
        assert_eq!((self.out, self.delivered), (0, self.submitted), "a bio was lost");
    }
}

#[test]
fn whatever_policies_are_there_no_deadline_is_forgotten_and_no_bio_lost() {
    for name in Catalogue::builtin().eras() {
        for policies in [Policies::Nothing, Policies::Throttle, Policies::All] {
            for (wakes, seed) in [(Wakes::AtOnce, 1), (Wakes::ByDriver, 2), (Wakes::ByDriver, 3), (Wakes::AtOnce, 4)] {
                Life::new(&name, policies, wakes, seed).live().ends();
            }
        }
    }
}
