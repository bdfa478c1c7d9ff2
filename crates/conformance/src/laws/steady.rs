//! Nothing is allocated once the number of requests has reached its maximum.

use blksched::author::Elevator;
use blksched::{
    Bio, BlockQueue, Delivery, InFlight, Instant, Limits, Next, Outcome, Plugging, QueueConfig, Sector, Slots, Span,
    Submitted, SubmitterId,
};

use super::violation::Violation;

/// The number of rounds before counting begins, and of rounds counted.
const ROUNDS: u64 = 3_000;
/// Each round serves the queue until this many requests are left.
const STAY_QUEUED: u32 = 48;

/// Runs a steady load with merging, requeues and full slots. `count` runs the given function and returns the number of
/// its allocations; the caller provides it, because a library must not bring a global allocator.
///
/// # Errors
/// If anything was allocated.
pub fn check(make: &dyn Fn() -> Box<dyn Elevator>, count: &dyn Fn(&mut dyn FnMut()) -> u64) -> Result<(), Violation> {
    for plugging in [Plugging::LINUX_2_6, Plugging::LINUX_3] {
        let mut load = SteadyLoad::new(make(), plugging);
        load.run(ROUNDS);
        let allocations = count(&mut || load.run(ROUNDS));
        if allocations > 0 {
            let what = format!("{allocations} allocations in {ROUNDS} rounds of eight bios, {plugging:?}");
            return Err(Violation::new("no allocation in steady state", what));
        }
    }
    Ok(())
}

/// Eight streams: four with back merges, two with front merges, two random. A submitter that sleeps for a slot submits
/// nothing, so the number of bios in the queue is bounded even if its elevator leaves the device idle.
struct SteadyLoad {
    queue: BlockQueue,
    now: Instant,
    round: u64,
    tags: u64,
    /// The commands in the device, with room for its maximum.
    flying: Vec<InFlight>,
    asleep: [bool; STREAMS],
}

const STREAMS: usize = 8;
const DEPTH: u32 = 4;

impl SteadyLoad {
    fn new(elevator: Box<dyn Elevator>, plugging: Plugging) -> SteadyLoad {
        let limits = Limits { max_sectors: 64, volatile_cache: true, ..Limits::default() };
        let config = QueueConfig { limits, depth: DEPTH, plugging, slots: Slots::LINUX_2_6, ..QueueConfig::default() };
        let flying = Vec::with_capacity(DEPTH as usize);
        SteadyLoad {
            queue: BlockQueue::new(config, elevator),
            now: Instant::ZERO,
            round: 0,
            tags: 0,
            flying,
            asleep: [false; STREAMS],
        }
    }

    fn run(&mut self, rounds: u64) {
        for _ in 0..rounds {
            self.round += 1;
            self.now += Span::from_us(700);
            self.submit();
            self.serve();
        }
    }

    fn submit(&mut self) {
        for stream in 0..STREAMS as u32 {
            if self.asleep[stream as usize] {
                continue;
            }
            let base = u64::from(stream) << 32;
            let jump = self.round.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
            let start = match stream {
                0..=3 => base + self.round * 8,
                4 | 5 => base + ((1 << 31) - self.round % (1 << 28)) * 8,
                _ => base + jump * 8,
            };
            self.tags += 1;
            let (submitter, start) = (SubmitterId(stream), Sector(start));
            let sectors = if stream == 6 && self.round.is_multiple_of(5) { 200 } else { 8 };
            let bio = match stream % 2 {
                0 => Bio::read(self.tags, submitter, start, sectors),
                _ => Bio::write_back(self.tags, submitter, start, sectors),
            };
            self.asleep[stream as usize] = self.queue.submit(self.now, bio) == Submitted::Asleep;
            if self.round.is_multiple_of(4) {
                self.queue.waits(self.now, submitter);
            }
        }
        if self.round.is_multiple_of(16) {
            self.queue.submit(self.now, Bio::flush(self.tags + (1 << 60), SubmitterId(0)));
        }
    }

    fn wake(&mut self) {
        for delivery in self.queue.deliveries() {
            if let Delivery::Awake(SubmitterId(stream)) = delivery {
                self.asleep[stream as usize] = false;
            }
        }
    }

    fn serve(&mut self) {
        loop {
            while let Next::Issue(command) = self.queue.next(self.now) {
                self.flying.push(command);
            }
            self.wake();
            if self.queue.queued() <= STAY_QUEUED && self.flying.len() < DEPTH as usize {
                break;
            }
            let Some(command) = self.flying.pop() else { break };
            self.now += Span::from_us(50);
            if self.tags.is_multiple_of(37) && command.rq.index().is_multiple_of(8) {
                self.queue.requeue(self.now, command);
                self.tags += 1;
            } else {
                self.queue.complete(self.now, command, Outcome::Ok);
            }
        }
    }
}
