//! `reader-with-writeback`: readers that dirty memory as they go, and the flusher that cleans it. A reader that finds
//! too much dirty memory sleeps until enough is clean, so slow write-back makes readers slow.
//!
//! **Model** Each reader reads at random, thinks, and after every `reads_per_dirty` reads dirties `dirty` bytes of the
//! shared [`DirtyPool`]. The flusher writes what is dirty beyond `background`, `depth` writes at a time, upwards with
//! gaps or anywhere. It is a separate process, the last; write-back belongs to it. With `endless` there is always
//! something to write, and no reader sleeps for it.
//! **Origin** memory coupling readers to write-back: the mail of 2009-11-26, on a machine with 512 MB.
//! **Left out** the memory itself: which pages are dirty, reclaim's scan, swapping.

use std::collections::{BTreeMap, VecDeque};

use blksched::{Instant, Span, SubmitterId, Tag};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::parameter::{Parameter, ParameterKind};
use super::stepper::{Io, Step, Stepper, Steps};
use super::{Launch, Program, ProgramProcess};
use crate::Delivered;
use crate::host::{DirtyLimits, DirtyPool};

pub(super) const PROGRAM: Program = Program {
    name: "reader-with-writeback",
    about: "readers that dirty memory as they go, and sleep when write-back cleans it too slowly",
    source: "Corrado Zoccolo, Mel Gorman and Jens Axboe, 2009-11-26, \"cfq: improve async ramp-up formula\"",
    parameters: &[
        Parameter { name: "readers", kind: ParameterKind::Count, default: "8", doc: "processes that read" },
        Parameter { name: "reads", kind: ParameterKind::Count, default: "1000", doc: "reads of each process" },
        Parameter { name: "read", kind: ParameterKind::Bytes, default: "32KiB", doc: "size of each read" },
        Parameter {
            name: "read_at",
            kind: ParameterKind::Place,
            default: "0%",
            doc: "beginning of the region that is read",
        },
        Parameter { name: "read_within", kind: ParameterKind::Place, default: "30%", doc: "how long that region is" },
        Parameter { name: "think", kind: ParameterKind::Time, default: "2ms", doc: "think time before each read" },
        Parameter {
            name: "thinks",
            kind: ParameterKind::Word(&["exponential", "evenly", "always"]),
            default: "exponential",
            doc: "how `think` is drawn: exponentially, evenly (from 0 to twice it), or always the same",
        },
        Parameter {
            name: "dirty",
            kind: ParameterKind::Bytes,
            default: "64KiB",
            doc: "what a reader dirties at a time",
        },
        Parameter {
            name: "reads_per_dirty",
            kind: ParameterKind::Count,
            default: "1",
            doc: "number of reads after which a reader does so",
        },
        Parameter {
            name: "limit",
            kind: ParameterKind::Bytes,
            default: "16MiB",
            doc: "readers sleep when this much is dirty",
        },
        Parameter {
            name: "background",
            kind: ParameterKind::Bytes,
            default: "8MiB",
            doc: "dirty data beyond this is written",
        },
        Parameter {
            name: "hysteresis",
            kind: ParameterKind::Bytes,
            default: "2MiB",
            doc: "how far below the limit all sleepers continue at once",
        },
        Parameter {
            name: "endless",
            kind: ParameterKind::Word(&["no", "yes"]),
            default: "no",
            doc: "whether there is always something to write",
        },
        Parameter { name: "write", kind: ParameterKind::Bytes, default: "32KiB", doc: "the size of a write" },
        Parameter { name: "depth", kind: ParameterKind::Count, default: "128", doc: "writes at a time" },
        Parameter {
            name: "write_at",
            kind: ParameterKind::Place,
            default: "50%",
            doc: "beginning of the region that is written",
        },
        Parameter { name: "write_within", kind: ParameterKind::Place, default: "10%", doc: "how long that region is" },
        Parameter {
            name: "order",
            kind: ParameterKind::Word(&["ascending", "random"]),
            default: "ascending",
            doc: "order in which it is written",
        },
        Parameter {
            name: "gap",
            kind: ParameterKind::Bytes,
            default: "32KiB",
            doc: "ascending: mean distance between writes",
        },
    ],
    processes,
};

fn processes(launch: &Launch<'_>) -> Result<Vec<ProgramProcess>, String> {
    let settings = launch.settings;
    let readers = settings.some("readers", 10_000)?;
    let flusher = Flusher::of(launch, readers)?;
    let mut processes = Vec::new();
    for nth in 0..readers {
        let steps = Reader::of(launch, nth, launch.submitter(readers))?;
        let source = Box::new(Stepper::new(launch.submitter(nth), launch.at, steps));
        processes.push(ProgramProcess::new(launch.process_name(nth, readers), source));
    }
    let source = Box::new(Stepper::new(launch.submitter(readers), launch.at, flusher));
    processes.push(ProgramProcess::new(format!("flusher-{}", launch.name), source));
    Ok(processes)
}

/// A region of the disk in pieces of one size \[sectors\].
struct Region {
    start: u64,
    sectors: u64,
    piece: u32,
}

impl Region {
    fn of(launch: &Launch<'_>, at: &str, within: &str, piece: &str) -> Result<Region, String> {
        let sectors = launch.settings.place(within).sector(launch.disk_sectors);
        let size = u32::try_from(launch.settings.sectors(piece)).ok().filter(|n| *n > 0 && u64::from(*n) <= sectors);
        let size = size.ok_or_else(|| format!("`{piece}` does not fit into `{within}`"))?;
        Ok(Region { start: launch.room(at, sectors)?, sectors, piece: size })
    }

    fn any(&self, random: &mut Pcg64Mcg) -> u64 {
        self.start + random.random_range(0..self.sectors / u64::from(self.piece)) * u64::from(self.piece)
    }
}

/// How long a reader thinks.
#[derive(Clone, Copy)]
enum Think {
    Exponential(Span),
    Evenly(Span),
    Always(Span),
}

impl Think {
    fn draw(self, random: &mut Pcg64Mcg) -> Span {
        match self {
            Think::Always(span) => span,
            Think::Evenly(mean) => Span::from_ns(random.random_range(0..=mean.as_ns().saturating_mul(2))),
            Think::Exponential(mean) => {
                Span::from_ns((-libm::log(1.0 - random.random::<f64>()) * mean.as_ns() as f64) as u64)
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WritebackState {
    Thinks,
    Reads,
    Waits,
    Dirties,
    /// Sleeps until it is told that memory is available.
    Sleeps,
}

struct Reader {
    flusher: SubmitterId,
    region: Region,
    reads: u64,
    left: u64,
    think: Think,
    /// \[bytes\]
    dirty: u64,
    reads_per_dirty: u64,
    random: Pcg64Mcg,
    state: WritebackState,
}

impl Reader {
    fn of(launch: &Launch<'_>, nth: u32, flusher: SubmitterId) -> Result<Reader, String> {
        let settings = launch.settings;
        let think = settings.span("think");
        Ok(Reader {
            flusher,
            region: Region::of(launch, "read_at", "read_within", "read")?,
            reads: settings.count("reads"),
            left: settings.count("reads"),
            think: match settings.word("thinks") {
                "always" => Think::Always(think),
                "evenly" => Think::Evenly(think),
                _ => Think::Exponential(think),
            },
            dirty: settings.sectors("dirty") * 512,
            reads_per_dirty: u64::from(settings.some("reads_per_dirty", u32::MAX)?),
            random: launch.random(nth, 0),
            state: WritebackState::Thinks,
        })
    }

    fn dirties(&self) -> bool {
        self.dirty > 0 && (self.reads - self.left).is_multiple_of(self.reads_per_dirty)
    }
}

impl Steps for Reader {
    fn step(&mut self, _now: Instant) -> Step {
        match self.state {
            WritebackState::Thinks if self.left == 0 => Step::Exit,
            WritebackState::Thinks => {
                self.state = WritebackState::Reads;
                Step::Think(self.think.draw(&mut self.random))
            }
            WritebackState::Reads => {
                self.left -= 1;
                self.state = WritebackState::Waits;
                Step::Start(Io::read(self.region.any(&mut self.random), self.region.piece))
            }
            WritebackState::Waits => {
                self.state = if self.dirties() { WritebackState::Dirties } else { WritebackState::Thinks };
                Step::Await(0)
            }
            WritebackState::Dirties => {
                self.state = WritebackState::Sleeps;
                Step::Tell(self.flusher, self.dirty)
            }
            WritebackState::Sleeps => Step::Listen,
        }
    }

    fn hear(&mut self, what: Delivered) {
        if matches!(what, Delivered::Told { .. }) {
            self.state = WritebackState::Thinks;
        }
    }
}

/// The process that writes, and keeps the pool.
struct Flusher {
    pool: DirtyPool<(SubmitterId, u64)>,
    endless: bool,
    region: Region,
    /// When writing in ascending order: the mean gap \[sectors\].
    gap: Option<u64>,
    /// Where it writes next \[sectors from the region's beginning\].
    cursor: u64,
    depth: u64,
    in_flight: u64,
    /// When writing at random: the places of the present writes by tag, so that memory being written is not written a
    /// second time meanwhile.
    places: BTreeMap<Tag, u64>,
    /// The stepper's tag of its next write.
    writes: u64,
    /// Readers to be told that memory is available.
    awake: VecDeque<SubmitterId>,
    readers: core::ops::Range<u32>,
    /// Readers that have not exited.
    alive: u32,
    random: Pcg64Mcg,
}

impl Flusher {
    fn of(launch: &Launch<'_>, readers: u32) -> Result<Flusher, String> {
        let settings = launch.settings;
        let bytes = |name| settings.sectors(name) * 512;
        let limits =
            DirtyLimits { background: bytes("background"), limit: bytes("limit"), hysteresis: bytes("hysteresis") };
        let region = Region::of(launch, "write_at", "write_within", "write")?;
        if region.sectors / u64::from(region.piece) <= settings.count("depth") {
            return Err("`write_within` has no room for `depth` writes at a time".to_owned());
        }
        Ok(Flusher {
            pool: DirtyPool::new(limits),
            endless: settings.word("endless") == "yes",
            region,
            gap: (settings.word("order") == "ascending").then(|| settings.sectors("gap")),
            cursor: 0,
            depth: u64::from(settings.some("depth", 1 << 16)?),
            in_flight: 0,
            places: BTreeMap::new(),
            writes: 0,
            awake: VecDeque::new(),
            readers: launch.first.0..launch.first.0 + readers,
            alive: readers,
            random: launch.random(readers, 0),
        })
    }

    fn write_bytes(&self) -> u64 {
        u64::from(self.region.piece) * 512
    }

    fn wants_to_write(&self) -> bool {
        let dirty = self.pool.wants_writeback() && self.pool.dirty() >= self.write_bytes();
        (dirty || self.endless) && self.alive > 0 && self.in_flight < self.depth
    }

    fn place(&mut self) -> u64 {
        let Some(gap) = self.gap else { return self.any_place() };
        let size = u64::from(self.region.piece);
        let at = if self.cursor + size > self.region.sectors { 0 } else { self.cursor };
        self.cursor = at + size + self.random.random_range(0..=2 * gap / 8) * 8;
        self.region.start + at
    }

    fn any_place(&mut self) -> u64 {
        let taken = |place: u64, places: &BTreeMap<Tag, u64>| places.values().any(|other| *other == place);
        let mut place = self.region.any(&mut self.random);
        while taken(place, &self.places) {
            place = self.region.any(&mut self.random);
        }
        self.places.insert(Tag(self.writes), place);
        place
    }

    fn dirtied(&mut self, who: SubmitterId, bytes: u64) {
        if !self.endless {
            self.pool.dirtied(bytes);
        }
        self.awake.push_back(who);
    }

    fn written(&mut self, tag: Tag) {
        self.in_flight -= 1;
        self.places.remove(&tag);
        if self.endless {
            return;
        }
        self.pool.written(self.write_bytes());
        for (who, bytes) in self.pool.wake() {
            self.dirtied(who, bytes);
        }
    }
}

impl Steps for Flusher {
    fn step(&mut self, _now: Instant) -> Step {
        if let Some(reader) = self.awake.pop_front() {
            return Step::Tell(reader, 0);
        }
        if self.wants_to_write() {
            self.in_flight += 1;
            if !self.endless {
                self.pool.submitted(self.write_bytes());
            }
            let place = self.place();
            self.writes += 1;
            return Step::Start(Io::write(place, self.region.piece));
        }
        if self.alive == 0 && self.in_flight == 0 { Step::Exit } else { Step::Listen }
    }

    fn hear(&mut self, what: Delivered) {
        match what {
            Delivered::Done { tag, .. } => self.written(tag),
            Delivered::Told { from, word } if self.endless || self.pool.has_room(word) => self.dirtied(from, word),
            Delivered::Told { from, word } => self.pool.sleep((from, word)),
            Delivered::Exited(who) => self.alive -= u32::from(self.readers.contains(&who.0)),
            Delivered::Awake => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::programs::Settings;

    fn flusher(said: &[(&str, &str)]) -> Flusher {
        let settings = Settings::of(&PROGRAM, said.iter().copied()).unwrap_or_else(|e| panic!("{e}"));
        Flusher::of(&Launch::new("load", &settings, 1 << 24), 2).expect("it fits")
    }

    fn told(from: u32, word: u64) -> Delivered {
        Delivered::Told { from: SubmitterId(from), word }
    }

    fn steps(flusher: &mut Flusher) -> Vec<Step> {
        let mut steps = Vec::new();
        loop {
            let step = flusher.step(Instant::ZERO);
            steps.push(step);
            if matches!(step, Step::Listen | Step::Exit) {
                return steps;
            }
        }
    }

    const SMALL: [(&str, &str); 5] =
        [("limit", "128KiB"), ("background", "32KiB"), ("hysteresis", "64KiB"), ("write", "32KiB"), ("gap", "0")];

    #[test]
    fn an_endless_thought_is_drawn_like_any_other() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        assert!(Think::Evenly(Span::from_ns(1 << 63)).draw(&mut random) > Span::ZERO);
    }

    #[test]
    fn a_reader_goes_on_at_once_while_there_is_room_and_sleeps_until_enough_is_clean() {
        let mut flusher = flusher(&SMALL);
        flusher.hear(told(0, 96 << 10));
        // Beyond the background limit it writes, until it is below: 96 - 32 KiB.
        let write = |start| Step::Start(Io::write(start, 64));
        let first = steps(&mut flusher);
        let at = (1 << 24) / 2;
        assert_eq!(first, [Step::Tell(SubmitterId(0), 0), write(at), write(at + 64), Step::Listen]);
        flusher.hear(told(1, 96 << 10));
        assert_eq!(steps(&mut flusher)[0], write(at + 128), "no room: it sleeps, and everything is written");
        flusher.hear(Delivered::Done { tag: Tag(0), failed: false });
        assert_eq!(steps(&mut flusher)[0], Step::Tell(SubmitterId(1), 0), "64 KiB below the limit");
    }

    #[test]
    fn it_ends_when_its_readers_have_gone_and_its_writes_are_done() {
        let mut flusher = flusher(&[("endless", "yes"), ("depth", "1")]);
        assert!(matches!(steps(&mut flusher)[..], [Step::Start(_), Step::Listen]));
        flusher.hear(Delivered::Exited(SubmitterId(0)));
        flusher.hear(Delivered::Exited(SubmitterId(1)));
        assert_eq!(steps(&mut flusher), [Step::Listen], "a write is on its way");
        flusher.hear(Delivered::Done { tag: Tag(0), failed: false });
        assert_eq!(steps(&mut flusher), [Step::Exit]);
    }

    #[test]
    fn thinking_is_as_long_on_average_as_said() {
        let mut random = Pcg64Mcg::new(7);
        let ms = Span::from_ms(2);
        for think in [Think::Exponential(ms), Think::Evenly(ms), Think::Always(ms)] {
            let mean = (0..20_000).map(|_| think.draw(&mut random).as_ms_f64()).sum::<f64>() / 20_000.0;
            assert!((1.95..2.05).contains(&mean), "{mean}");
        }
    }
}
