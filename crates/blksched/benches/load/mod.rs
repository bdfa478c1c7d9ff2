//! The load of both benchmarks of the library: a queue kept at a constant length, with one request in and one out per
//! step.

use blksched::{
    Bio, BlockQueue, Built, Catalogue, Instant, Next, Outcome, QueueConfig, Sector, Span, Submitted, SubmitterId,
};

/// A bio's length: 4 KiB.
const SECTORS: u32 = 8;
/// Request slots for each queued request, so many that no era's depth limit (BFQ's goes down to three sixteenths) makes
/// a submitter sleep.
const SLOTS: u32 = 6;
/// The positions from which keys are drawn: 8 TiB of blocks, so that random ones are hardly ever adjacent.
const BLOCKS: u64 = 1 << 31;

/// The position of the next bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Anywhere; 7 of 10 are reads.
    Random,
    /// Behind the previous one: almost every bio joins a request.
    Sequential,
}

/// A queue that holds this many requests between two steps.
pub struct Load {
    queue: BlockQueue,
    queued: u32,
    keys: Keys,
    now: Instant,
    random: u64,
    position: u64,
    /// The number of processes, which submit in turn.
    processes: u32,
    submitted: u32,
}

impl Load {
    /// A queue with the elevator `name` (as the catalogue parses it) that holds `queued` requests of `processes`.
    pub fn new(name: &str, queued: u32, keys: Keys, processes: u32) -> Load {
        let built = Catalogue::builtin().build(name).expect("the catalogue lists it");
        let scans = scans_a_list(&built);
        let slots = built.slots.with_nr_requests(SLOTS * queued);
        let config = QueueConfig { slots, ..QueueConfig::default() };
        let queue = BlockQueue::new(config, built.elevator);
        let mut load =
            Load { queue, queued, keys, now: Instant::ZERO, random: 1, position: 0, processes, submitted: 0 };
        load.fill(scans);
        load
    }

    /// Fills the queue with random requests; in ascending order if each insertion would scan a list.
    fn fill(&mut self, ascending: bool) {
        let mut blocks: Vec<u64> = (0..self.queued).map(|_| self.draw() % BLOCKS).collect();
        if ascending {
            blocks.sort_unstable();
        }
        for block in blocks {
            self.submit(block);
        }
    }

    /// Submits one bio and, if the queue is longer than it should be, issues and completes one request: look-up,
    /// insert, dispatch, complete, delivery.
    pub fn step(&mut self) {
        self.now += Span::from_us(1);
        let block = match self.keys {
            Keys::Random => self.draw() % BLOCKS,
            Keys::Sequential => self.position + 1,
        };
        self.submit(block);
        if self.queue.queued() > self.queued {
            let command = loop {
                match self.queue.next(self.now) {
                    Next::Issue(command) => break command,
                    // With several processes, CFQ leaves the disk idle for a process whose queue has run empty.
                    Next::Idle { until, .. } => self.now = until,
                    other => panic!("{other:?}, but requests are queued"),
                }
            };
            assert_eq!(self.queue.next(self.now), Next::Full);
            self.queue.complete(self.now, command, Outcome::Ok);
            assert!(self.queue.deliveries().count() > 0);
        }
    }

    fn submit(&mut self, block: u64) {
        self.position = block;
        self.submitted += 1;
        let who = SubmitterId(1 + self.submitted % self.processes);
        let start = Sector(block * u64::from(SECTORS));
        let reads = self.keys == Keys::Sequential || self.draw() % 10 < 7;
        let bio = if reads { Bio::read(block, who, start, SECTORS) } else { Bio::write(block, who, start, SECTORS) };
        let became = self.queue.submit(self.now, bio);
        assert!(became != Submitted::Asleep, "the benchmark is of requests that find a slot");
    }

    /// The upper half of a linear congruential generator: cheap, so that it hardly affects the result.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.random >> 32
    }
}

/// Whether this elevator's insertion scans a list.
fn scans_a_list(built: &Built) -> bool {
    let choice = &built.choice;
    choice.preset.row.contains(&("order", "list")) && choice.variant("order") == "list"
}

/// The elevators to measure: every era, and the tree that replaced 2.5's list.
pub fn elevators() -> Vec<String> {
    let mut names = Catalogue::builtin().eras();
    names.push("deadline@2.5.45+order=tree".to_owned());
    names
}
