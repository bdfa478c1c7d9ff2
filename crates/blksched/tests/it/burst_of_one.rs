//! A burst of one bio in one call: in every era the same as submitting the bio and then waiting.

use blksched::{
    Bio, BlockQueue, Built, Catalogue, Delivery, Dir, InFlight, Instant, Next, Outcome, QueueConfig, Reason, Sector,
    Span, SubmitterId,
};

/// How a burst of one is submitted.
type Send = fn(&mut BlockQueue<Vec<(Instant, Reason)>>, Instant, Bio);

struct Life {
    queue: BlockQueue<Vec<(Instant, Reason)>>,
    now: Instant,
    random: u64,
    in_flight: Vec<InFlight>,
    told: Vec<String>,
}

impl Life {
    /// A queue of this era with few slots, so that some submitters sleep.
    fn new(era: &str, seed: u64) -> Life {
        let Built { elevator, plugging, slots, .. } = Catalogue::builtin().build(era).expect("the catalogue lists it");
        let config = QueueConfig { slots: slots.with_nr_requests(8), plugging, depth: 3, ..QueueConfig::default() };
        let queue = BlockQueue::with_listener(config, elevator, Vec::new());
        Life { queue, now: Instant::ZERO, random: seed, in_flight: Vec::new(), told: Vec::new() }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.random >> 33) % below
    }

    fn bio(&mut self, tag: u64) -> Bio {
        let (who, start) = (SubmitterId(self.draw(3) as u32), Sector(8 * self.draw(40)));
        let sectors = 8 * (1 + self.draw(3) as u32);
        let dir = if self.draw(3) == 0 { Dir::Write } else { Dir::Read };
        match dir {
            Dir::Read => Bio::read(tag, who, start, sectors),
            Dir::Write => Bio::write(tag, who, start, sectors),
        }
    }

    fn run(mut self, send: Send) -> Vec<String> {
        for tag in 0..1500 {
            let pause = [0, 0, 7, 400, 2100][self.draw(5) as usize];
            self.now += Span::from_us(pause);
            match self.draw(8) {
                // A submitter that keeps its plug.
                0 => {
                    let bio = self.bio(tag);
                    let _ = self.queue.submit(self.now, bio);
                }
                1..=4 => {
                    let bio = self.bio(tag);
                    send(&mut self.queue, self.now, bio);
                }
                _ if !self.in_flight.is_empty() => {
                    let nth = self.draw(self.in_flight.len() as u64) as usize;
                    let command = self.in_flight.swap_remove(nth);
                    self.queue.complete(self.now, command, Outcome::Ok);
                }
                _ => self.queue.waits(self.now, SubmitterId(tag as u32 % 3)),
            }
            self.look();
        }
        self.told
    }

    fn look(&mut self) {
        loop {
            let next = self.queue.next(self.now);
            self.told.push(format!("{:?} {next:?}", self.now));
            let Next::Issue(command) = next else { break };
            self.in_flight.push(command);
        }
        self.queue.check();
        let came: Vec<Delivery> = self.queue.deliveries().collect();
        let deadline = self.queue.deadline();
        let heard = core::mem::take(self.queue.listener_mut());
        self.told.push(format!("{came:?} {deadline:?} {heard:?}"));
    }
}

#[test]
fn one_step_does_what_the_two_do() {
    let in_two: Send = |queue, now, bio| {
        let _ = queue.submit(now, bio);
        queue.waits(now, bio.submitter);
    };
    let in_one: Send = |queue, now, bio| _ = queue.submit_alone(now, bio);
    for era in Catalogue::builtin().eras() {
        for seed in 1..4 {
            let (two, one) = (Life::new(&era, seed).run(in_two), Life::new(&era, seed).run(in_one));
            let differs = two.iter().zip(&one).position(|(two, one)| two != one);
            assert_eq!(differs.map(|at| (&two[at], &one[at])), None, "{era}, seed {seed}");
            assert!(two.len() == one.len() && two.iter().filter(|told| told.contains("Issue")).count() > 100, "{era}");
        }
    }
}
