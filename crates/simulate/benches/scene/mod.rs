//! What both benchmarks of the simulator run: one process that reads 4 KiB at random from an hdd, for ever.

use blksched::reasons::NoListener;
use blksched::surroundings::mq::MqEra;
use blksched::surroundings::wbt;
use blksched::{BlockQueue, Built, Catalogue, Instant, Limits, Listener, Op, QueueConfig, Span, SubmitterId};
use blksched_disks::{Disk, DiskSpec, load, parse};
use blksched_measure::{Completion, Engine, Job, JobId, Reasons, Recorder};
use blksched_simulate::{Observer, World};
use blksched_workloads::fio::JobFile;

const DISK: &str = "hdd-7200-ideal";

/// Ticks per second of a kernel with writeback throttling.
const HZ: u32 = 250;

/// Whether the disk chooses among several commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commands {
    /// One at a time.
    One,
    /// The disk has 32, and takes the one that it reaches first.
    Ncq32,
}

/// The scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedules {
    /// deadline of 4.20.
    Deadline,
    /// mq-deadline behind writeback throttling, as the simulator runs it by default.
    Throttled,
}

/// What is recorded of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing.
    Nothing,
    /// What `compare` records: reasons and records.
    All,
}

/// The date of the disk's preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Day {
    /// The current preset.
    Today,
    /// As of 2026-11-22, when the aims were set.
    OfTheAims,
}

/// The prefix of the names of benchmarks with that date.
pub const OF_THE_AIMS: &str = "2026-11-22/";

impl Day {
    /// Its disk.
    pub fn disk(self) -> DiskSpec {
        match self {
            Day::Today => load(DISK).expect("a preset"),
            Day::OfTheAims => parse(DISK, include_str!("hdd-2026-11-22.toml")).expect("a disk"),
        }
    }
}

/// One scene.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// I/Os that the process keeps in flight.
    pub depth: u32,
    /// The disk's commands.
    pub commands: Commands,
    /// The scheduler.
    pub schedules: Schedules,
    /// What is recorded.
    pub kept: Kept,
    /// The date of the disk's preset.
    pub day: Day,
}

impl Scene {
    /// Every scene.
    pub fn all() -> Vec<Scene> {
        let mut all = Vec::new();
        for kept in [Kept::Nothing, Kept::All] {
            for commands in [Commands::One, Commands::Ncq32] {
                let scene = |day, depth| Scene { depth, commands, schedules: Schedules::Deadline, kept, day };
                all.extend([1, 32, 128].map(|depth| scene(Day::Today, depth)));
                all.push(scene(Day::OfTheAims, 32));
                all.push(Scene { schedules: Schedules::Throttled, ..scene(Day::Today, 32) });
            }
        }
        all
    }

    /// `world/ncq32/kept/128`, `world/wbt/ncq32/kept/32`
    pub fn name(self) -> String {
        let commands = if self.commands == Commands::One { "one" } else { "ncq32" };
        let kept = if self.kept == Kept::Nothing { "bare" } else { "kept" };
        let day = if self.day == Day::OfTheAims { OF_THE_AIMS } else { "" };
        let wbt = if self.schedules == Schedules::Throttled { "wbt/" } else { "" };
        format!("{day}world/{wbt}{commands}/{kept}/{}", self.depth)
    }

    /// The world, ready to run.
    pub fn begin(self) -> Box<dyn Running> {
        match self.kept {
            Kept::Nothing => Box::new(self.world(NoListener, ())),
            Kept::All => Box::new(self.world(Reasons::new(), Keeper::new(self.depth))),
        }
    }

    fn world<L: Listener, O: Observer>(self, listener: L, observer: O) -> World<L, O> {
        let disk = self.disk();
        let facts = disk.facts();
        let elevator = if self.schedules == Schedules::Deadline { "deadline" } else { "mq-deadline" };
        let built = Catalogue::builtin().build(elevator).expect("a built-in elevator");
        let limits = Limits { max_sectors: built.max_sectors, rotational: true, ..Limits::default() };
        let Built { elevator, plugging, slots, .. } = built;
        let config = QueueConfig { limits, depth: facts.depth, plugging, slots, ..QueueConfig::default() };
        let mut queue = BlockQueue::with_listener(config, elevator, listener);
        if let (Schedules::Throttled, Some(era)) = (self.schedules, config.slots.era()) {
            queue.add_policy(config.born, Box::new(throttle(era, &config)));
        }
        let job = format!(
            "[j]\nrw=randread\nnorandommap\nbs=4k\nioengine=libaio\ndirect=1\niodepth={}\nfilename=/dev/sda\n\
             time_based\nruntime=1000000\n",
            self.depth
        );
        let plan = JobFile::parse(&job, "scene").and_then(|file| file.plan(facts.sectors)).expect("a job file");
        World::new(queue, disk, plan.sources(1), observer)
    }

    fn disk(self) -> Box<dyn Disk> {
        let mut spec = self.day.disk();
        match self.commands {
            Commands::One => spec.hdd_mut().expect("an hdd").ncq = None,
            Commands::Ncq32 => spec = spec.with_depth(32),
        }
        spec.build(1)
    }
}

/// Throttling as on every spinning disk.
fn throttle(era: MqEra, config: &QueueConfig) -> wbt::Throttle {
    wbt::Throttle::new(wbt::Config {
        era,
        hz: HZ,
        target: wbt::Config::default_target(config.limits.rotational),
        queue_depth: config.depth,
        write_cache: config.limits.volatile_cache,
        born: config.born,
    })
}

/// A world, whatever it records.
pub trait Running {
    /// Runs until the disk has completed at least this many more requests.
    fn complete(&mut self, requests: u64);
}

impl<L: Listener, O: Observer> Running for World<L, O> {
    fn complete(&mut self, requests: u64) {
        let target = self.completions() + requests;
        while self.completions() < target {
            let end = self.now() + Span::from_ms(50);
            self.run_until(end).expect("time passes");
        }
    }
}

/// Keeps the process's record.
struct Keeper(Recorder);

impl Keeper {
    fn new(depth: u32) -> Keeper {
        let mut recorder = Recorder::new();
        let job = recorder.add_job(Job { name: "j".to_owned(), depth, engine: Engine::Queueing, ..Job::default() });
        recorder.owns(job, SubmitterId(0));
        Keeper(recorder)
    }
}

impl Observer for Keeper {
    fn submitted(&mut self, now: Instant, _source: usize, op: Op, _bytes: u64) {
        self.0.submitted(now, SubmitterId(0), op);
    }

    fn completed(&mut self, now: Instant, _source: usize, done: &Completion) {
        self.0.completed(now, done);
    }

    fn exited(&mut self, now: Instant, _source: usize) {
        self.0.ended(JobId(0), now);
    }
}
