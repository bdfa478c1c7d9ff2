//! What surrounds an elevator in a run: the queue's settings, how the disk is attached, and the host.

use blksched::surroundings::{DispatchAhead, Wakes, wbt};
use blksched::{BlockQueue, Built, Choice, Kernel, Listener, Plugging, QueueConfig, Span, SubmitterId};
use blksched_disks::{Attached, Facts};
use blksched_text::nearest;
use blksched_workloads::host::{HostKnobs, Ticks, WriteBack};

use crate::cpu::{HostCpus, SchedulerCosts};
use crate::world::{Observer, RaceOdds, World};

/// The settings around an elevator; `None` for the default of its era and disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// How many requests the disk gets at a time; at most as many as it accepts.
    pub depth: Option<u32>,
    /// How many requests may exist (per direction, before blk-mq).
    pub nr_requests: Option<u32>,
    /// The tags that the disk's driver has, if fewer are used (`nr_requests` under `none` cuts them).
    pub driver_tags: Option<u32>,
    /// The largest request \[512-byte sectors\]; at most the largest that the disk accepts.
    pub max_sectors: Option<u32>,
    /// Where requests are plugged.
    pub plugging: Option<Plugging>,
    /// How the disk is attached to the host.
    pub attached: Option<Attached>,
    /// Whether the driver takes a request out of the elevator while the disk is full; by default as the disk is
    /// attached.
    pub ahead: Option<DispatchAhead>,
    /// Writeback throttling's target for reads (`wbt_lat_usec`); zero for off. Only with blk-mq.
    pub wbt_latency: Option<Span>,
    /// The host's memory, for buffered I/O.
    pub host: HostKnobs,
    /// The host's processors; `None` if I/O costs them nothing. Only with blk-mq.
    pub cpus: Option<HostCpus>,
    /// How many hardware queues an NVMe drive or a virtual disk has, each with its own tags and submission queue.
    /// `None`: NVMe has as many as processors, which share what tags there are, virtio one. Only where I/O costs the
    /// processors something.
    pub hardware_queues: Option<u32>,
    /// Whether they share the host's tags, as some SCSI hosts' do (`host_tagset`).
    pub shares_tags: bool,
    /// Which task runs first among those that a completion wakes.
    pub odds: RaceOdds,
    /// When processes begin.
    pub starts: Starts,
}

/// When the processes of a run begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Starts {
    /// Exactly as specified: those without a start time, together.
    #[default]
    AsSaid,
    /// Each up to [`LATEST_START`] later, drawn anew for each seed, since real processes do not start simultaneously
    /// either (BFQ merges the queues of those that do). The number distinguishes draws for the same seed.
    Drawn(u64),
    /// So that BFQ merges none of their queues: the one told to begin first 200 ms before the others, and these drawn.
    /// On real machines it is fio itself that comes first, if it has to read an inode before it starts its jobs
    /// (docs/host.md).
    OneFirst(u64),
}

/// The greatest delay of a start: the time that a shell takes to start a few processes.
pub const LATEST_START: Span = Span::from_ms(10);
/// Longer than BFQ takes processes for created together with the last (180 ms), and shorter than it remembers that one
/// (600 ms): the others find neither it nor each other.
pub const AHEAD: Span = Span::from_ms(200);

impl Starts {
    /// Every kind, by its word, the default first.
    pub const WORDS: [(&str, Starts); 3] =
        [("as-said", Starts::AsSaid), ("drawn", Starts::Drawn(0)), ("one-first", Starts::OneFirst(0))];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Starts::Drawn(_) => "drawn",
            Starts::AsSaid => "as-said",
            Starts::OneFirst(_) => "one-first",
        }
    }

    /// The kind with this word.
    ///
    /// # Errors
    /// Which words there are, and the nearest.
    pub fn named(word: &str) -> Result<Starts, String> {
        if let Some((_, starts)) = Starts::WORDS.iter().find(|(name, _)| *name == word) {
            return Ok(*starts);
        }
        let names = Starts::WORDS.map(|(name, _)| name);
        let meant = nearest(word, names).map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        Err(format!("expected {}, not `{word}`{meant}", names.join(", ")))
    }

    /// The same, but that one process comes first.
    pub fn one_first(self) -> Starts {
        match self {
            Starts::AsSaid => Starts::OneFirst(0),
            Starts::Drawn(draw) | Starts::OneFirst(draw) => Starts::OneFirst(draw),
        }
    }

    /// The delay of each of these processes; `told`: those that begin when they are told to, and when.
    pub(crate) fn later(self, seed: u64, processes: usize, told: &[(SubmitterId, Span)]) -> Vec<Span> {
        let (draw, ahead) = match self {
            Starts::AsSaid => return vec![Span::ZERO; processes],
            Starts::Drawn(draw) => (draw, Span::ZERO),
            Starts::OneFirst(draw) => (draw, AHEAD),
        };
        let mut state = seed.rotate_left(32) ^ draw.wrapping_mul(0xd1b5_4a32_d192_ed03);
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            Span::from_ns((z ^ (z >> 31)) % LATEST_START.as_ns())
        };
        let first = told.iter().min_by_key(|(_, at)| *at).map(|(who, _)| who.0 as usize);
        let later = |nth| next() + if Some(nth) == first { Span::ZERO } else { ahead };
        (0..processes).map(later).collect()
    }
}

impl Surroundings {
    /// How this elevator's kernel treats dirty memory.
    pub(crate) fn write_back(&self, elevator: &Choice) -> WriteBack {
        let processors = self.cpus.map_or(HostCpus::USUAL, |cpus| cpus.cpus);
        WriteBack::of(elevator.kernel(), Ticks::per_second(HZ), processors)
    }

    /// The host's processors under this elevator; I/O costs no processor time before blk-mq.
    pub fn cpus_under(&self, built: &Built) -> Option<HostCpus> {
        self.cpus.filter(|_| built.slots.era().is_some())
    }

    /// The scheduler's costs, and the disk's hardware queues, on these processors.
    pub(crate) fn on_cpus(&self, cpus: &HostCpus, elevator: &Choice, attached: Attached) -> (SchedulerCosts, u32) {
        let hardware_queues = self.attached.unwrap_or(attached).hardware_queues(cpus.cpus);
        let hardware_queues = self.several_queues(attached).unwrap_or(hardware_queues);
        (cpus.costs.of(elevator.entry.name), hardware_queues)
    }

    /// The world with the races of this elevator's host; nobody traced those before 4.19, whose processes run in
    /// lockstep. The last kernels before blk-mq ran on hosts like those traced.
    pub(crate) fn race<L: Listener, O: Observer>(
        &self,
        world: World<L, O>,
        elevator: &Choice,
        (wakes, seed): (Wakes, u64),
    ) -> World<L, O> {
        match wakes {
            Wakes::ByDriver => world.with_races(seed, self.odds),
            _ if elevator.kernel() >= LAST_BEFORE_BLK_MQ => world.with_late_owners(seed),
            _ => world,
        }
    }

    /// The number of hardware queues that have tags and submission queues of their own; `None` if they share them.
    pub(crate) fn own_queues(&self, attached: Attached) -> Option<u32> {
        let shares = self.shares_tags && self.attached.unwrap_or(attached) == Attached::Scsi;
        self.several_queues(attached).filter(|_| !shares)
    }

    /// The number of hardware queues, if it was said.
    pub(crate) fn several_queues(&self, attached: Attached) -> Option<u32> {
        let may_have = self.attached.unwrap_or(attached).has_hardware_queues() && self.cpus.is_some();
        self.hardware_queues.filter(|_| may_have)
    }

    /// Switches on the policies that hold bios back before they have a slot, as that kernel does by default.
    pub(crate) fn throttle<L: Listener>(
        &self,
        queue: &mut BlockQueue<L>,
        config: &QueueConfig,
        facts: &Facts,
        attached: Attached,
    ) {
        let Some(throttle) = self.throttling(config, facts, attached) else { return };
        let mut throttle = wbt::Throttle::new(throttle);
        // As if written to `wbt_lat_usec`: what a user set is not switched off together with the default, under BFQ.
        if let Some(target) = self.wbt_latency {
            throttle.set_target(config.born, target, &mut Vec::new());
        }
        queue.add_policy(config.born, Box::new(throttle));
    }

    /// Writeback throttling as this disk has it; none before blk-mq.
    fn throttling(&self, config: &QueueConfig, facts: &Facts, attached: Attached) -> Option<wbt::Config> {
        let era = config.slots.era()?;
        let tags = self.driver_tags.unwrap_or_else(|| self.attached.unwrap_or(attached).tags(facts.depth));
        Some(wbt::Config {
            era,
            hz: HZ,
            target: self.wbt_latency.unwrap_or(wbt::Config::default_target(config.limits.rotational)),
            queue_depth: match config.driver.ahead {
                DispatchAhead::Budget => config.depth,
                // What the disk was made with: writes to `nr_requests` do not reach it (RECORDED on 6.18 with loop
                // devices made with 128: the greatest limit is 8 at step 1 and 31 at step -1 with 4, or with 8 under
                // mq-deadline; MEMORY: one that comes up under a scheduler is made with twice its tags, not modelled).
                DispatchAhead::OneMore => tags,
            },
            write_cache: config.limits.volatile_cache,
            born: config.born,
        })
    }
}

/// Presets from this kernel on that are not blk-mq are those of 4.19 and 4.20.
const LAST_BEFORE_BLK_MQ: Kernel = Kernel::new(4, 19, 0);
/// Ticks per second of the kernels since 6.1, as Debian builds them.
const HZ: u32 = 250;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::queue_config;

    /// What throttling takes for the disk's queue, with these settings in force.
    fn throttled_depth(attached: Attached, elevator: &str, set: Surroundings) -> u32 {
        let facts = blksched_disks::load("fixed").expect("a preset").with_depth(31).build(1).facts();
        let elevator = blksched::Catalogue::builtin().parse(elevator).expect("a scheduler");
        let config = queue_config(&elevator.build(), &set, &facts, attached);
        set.throttling(&config, &facts, attached).expect("blk-mq throttles").queue_depth
    }

    #[test]
    fn all_but_one_begin_later_and_otherwise_as_drawn() {
        // The first was recorded, and the second is told to begin much later than the others.
        let told = [(1, 15), (2, 0), (3, 0)].map(|(nth, at)| (SubmitterId(nth), Span::from_secs(at)));
        let (drawn, first) = (Starts::Drawn(3).later(7, 4, &told), Starts::Drawn(3).one_first().later(7, 4, &told));
        let added = [AHEAD, AHEAD, Span::ZERO, AHEAD];
        assert_eq!(drawn.iter().zip(added).map(|(&later, added)| later + added).collect::<Vec<_>>(), first);
        for (word, starts) in Starts::WORDS {
            assert_eq!((Starts::named(word), starts.word()), (Ok(starts), word));
        }
        let wrong = |word| Starts::named(word).unwrap_err();
        assert_eq!(wrong("apart"), "expected as-said, drawn, one-first, not `apart`");
        assert_eq!(
            wrong("one-frist"),
            "expected as-said, drawn, one-first, not `one-frist`; did you mean `one-first`?"
        );
    }

    #[test]
    fn throttling_keeps_to_the_requests_that_the_disk_was_made_with() {
        let nr_requests = |n| Surroundings { nr_requests: Some(n), ..Surroundings::default() };
        for (elevator, set) in [("none", nr_requests(4)), ("none", nr_requests(31)), ("mq-deadline", nr_requests(8))] {
            assert_eq!(throttled_depth(Attached::Loop, elevator, set), 31, "{elevator} {set:?}");
        }
        let cut = Surroundings { driver_tags: Some(256), ..nr_requests(4) };
        assert_eq!(throttled_depth(Attached::Virtio, "none", cut), 256);
    }

    /// A disk that is driven as SCSI tells it of each change.
    #[test]
    fn throttling_follows_queue_depth() {
        for depth in [1, 4, 31] {
            let set = Surroundings { depth: Some(depth), nr_requests: Some(2), ..Surroundings::default() };
            assert_eq!(throttled_depth(Attached::Sata, "none", set), depth);
        }
    }
}
