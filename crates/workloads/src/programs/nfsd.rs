//! `nfsd`: a file server whose threads read one file for one client that streams it.
//!
//! **Model** The client keeps `window` reads of `rsize` bytes in flight, in order, over one connection. Any idle thread
//! of the server takes the next; after a while of its own (`jitter`: interrupts, locks, the CPU's scheduler) it checks
//! the memory, which all threads share. nfsd keeps one state of readahead per file (READ: "nfsd: bypass readahead cache
//! when have struct file", commit fa0a2126); a thread works with a copy of it and gives it back (MEMORY), or, with
//! `readahead = "shared"`, with the state itself. The thread reads missing pages itself, so the disk gets the file's
//! pieces from several processes, slightly out of order. Each reply costs a CPU `cpu` and the wire its bytes. The last
//! process is the machine around: client, wire, memory.
//! **Origin** "single streaming reader over NFS" of the mail of 2009-10-23. Readahead is
//! [`Readahead`](crate::host::Readahead).
//! **Left out** TCP, lost packets, the client's own readahead and the order in which it asks, other CPUs' caches.

use std::collections::VecDeque;

use blksched::{Instant, SubmitterId, Tag};

use super::parameter::{Parameter, ParameterKind};
use super::stepper::{Io, Step, Stepper, Steps};
use super::{Launch, Program, ProgramProcess};
use crate::Delivered;
use crate::host::PAGE_SECTORS;

mod cache;
mod machine;

use machine::NfsServer;

pub(super) const PROGRAM: Program = Program {
    name: "nfsd",
    about: "a file server: one client streams a file, and any of several threads reads the next piece",
    source: "Jeff Moyer, 2009-10-23, \"cfq: implement merging and breaking up of cfq_queues\"",
    parameters: &[
        Parameter { name: "threads", kind: ParameterKind::Count, default: "8", doc: "processes that read" },
        Parameter { name: "size", kind: ParameterKind::Bytes, default: "256MiB", doc: "the file's size" },
        Parameter { name: "at", kind: ParameterKind::Place, default: "10%", doc: "where it lies" },
        Parameter {
            name: "window",
            kind: ParameterKind::Count,
            default: "16",
            doc: "reads that the client keeps in flight",
        },
        Parameter { name: "rsize", kind: ParameterKind::Bytes, default: "32KiB", doc: "size of each read" },
        Parameter {
            name: "wire",
            kind: ParameterKind::Time,
            default: "8.9ms",
            doc: "how long a MiB takes on the wire",
        },
        Parameter {
            name: "latency",
            kind: ParameterKind::Time,
            default: "0.1ms",
            doc: "latency from client to server",
        },
        Parameter { name: "cpu", kind: ParameterKind::Time, default: "0.5ms", doc: "CPU time of a reply" },
        Parameter { name: "cpus", kind: ParameterKind::Count, default: "2", doc: "number of CPUs of the server" },
        Parameter {
            name: "jitter",
            kind: ParameterKind::Time,
            default: "0.2ms",
            doc: "until a thread looks for its data, drawn from the exponential distribution with this mean",
        },
        Parameter {
            name: "stall_every",
            kind: ParameterKind::Count,
            default: "0",
            doc: "in one of N cases, at random, a thread first loses its CPU; 0: never",
        },
        Parameter { name: "stall", kind: ParameterKind::Time, default: "4ms", doc: "how long it loses its CPU" },
        Parameter {
            name: "readahead",
            kind: ParameterKind::Word(&["shared", "copied"]),
            default: "shared",
            doc: "readahead's state: one for the file, or a copy that a thread takes for each read and puts back",
        },
        Parameter {
            name: "read_ahead_kb",
            kind: ParameterKind::Count,
            default: "128",
            doc: "readahead: the largest window",
        },
    ],
    processes,
};

fn processes(launch: &Launch<'_>) -> Result<Vec<ProgramProcess>, String> {
    let threads = launch.settings.some("threads", 1_000)?;
    let machine = NfsServer::of(launch, threads)?;
    let thread = |nth: u32| {
        let steps = Thread { machine: launch.submitter(threads), ..Thread::default() };
        let source = Box::new(Stepper::new(launch.submitter(nth), launch.at, steps));
        ProgramProcess::new(launch.process_name(nth, threads), source)
    };
    let mut processes: Vec<ProgramProcess> = (0..threads).map(thread).collect();
    let source = Box::new(Stepper::new(launch.submitter(threads), launch.at, machine));
    processes.push(ProgramProcess::new(format!("client-{}", launch.name), source));
    Ok(processes)
}

/// The pages that a thread is told to read, and reports when it has; they count from the beginning of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PageRun {
    page: u64,
    pages: u64,
}

/// What a thread is told when the file has ended.
const END: u64 = u64::MAX;

impl PageRun {
    fn word(self) -> u64 {
        self.page << 20 | self.pages
    }

    fn of(word: u64) -> PageRun {
        PageRun { page: word >> 20, pages: word & 0xf_ffff }
    }
}

/// The disk's view of a thread: it reads what it is told to, and reports when it has.
#[derive(Default)]
struct Thread {
    machine: SubmitterId,
    told: VecDeque<u64>,
    /// The messages of reads in flight, by their tags.
    reading: Vec<(Tag, u64)>,
    done: VecDeque<u64>,
    /// The number of reads so far, which is the stepper's tag.
    reads: u64,
}

impl Steps for Thread {
    fn step(&mut self, _now: Instant) -> Step {
        if let Some(word) = self.done.pop_front() {
            return Step::Tell(self.machine, word);
        }
        match self.told.pop_front() {
            None => Step::Listen,
            Some(END) if self.reading.is_empty() => Step::Exit,
            // What was read ahead is still in flight.
            Some(END) => {
                self.told.push_back(END);
                Step::Listen
            }
            Some(word) => {
                self.reading.push((Tag(self.reads), word));
                self.reads += 1;
                let PageRun { page, pages } = PageRun::of(word);
                Step::Start(Io::read(page * PAGE_SECTORS, (pages * PAGE_SECTORS) as u32))
            }
        }
    }

    fn hear(&mut self, what: Delivered) {
        match what {
            Delivered::Told { word, .. } => self.told.push_back(word),
            Delivered::Done { tag, .. } => {
                let at = self.reading.iter().position(|(known, _)| *known == tag).expect("its own read");
                self.done.push_back(self.reading.remove(at).1);
            }
            Delivered::Awake | Delivered::Exited(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use blksched::Span;

    use super::*;
    use crate::programs::Settings;
    use crate::{Emission, Source};

    /// A server whose disk takes 1 ms for any I/O.
    struct Rig {
        sources: Vec<Box<dyn Source>>,
        in_flight: Vec<(Instant, usize, Tag)>,
        read: Vec<(u64, u64)>,
        now: Instant,
    }

    impl Rig {
        fn new(said: &[(&str, &str)]) -> Rig {
            let settings = Settings::of(&PROGRAM, said.iter().copied()).unwrap_or_else(|e| panic!("{e}"));
            let processes = PROGRAM.start(&Launch::new("nfsd", &settings, 1 << 24)).expect("it fits");
            let sources = processes.into_iter().map(|process| process.source).collect();
            Rig { sources, in_flight: Vec::new(), read: Vec::new(), now: Instant::ZERO }
        }

        fn run(mut self) -> Rig {
            while self.sources.iter().any(|source| !source.is_finished()) {
                let wakes = self.sources.iter().filter_map(|source| source.next());
                let ends = self.in_flight.iter().map(|&(at, ..)| at);
                self.now = wakes.chain(ends).min().expect("somebody waits for something").max(self.now);
                if let Some(at) = self.in_flight.iter().position(|&(at, ..)| at <= self.now) {
                    let (_, nth, tag) = self.in_flight.remove(at);
                    self.sources[nth].delivered(self.now, Delivered::Done { tag, failed: false });
                }
                (0..self.sources.len()).for_each(|nth| self.emit(nth));
            }
            self
        }

        fn emit(&mut self, nth: usize) {
            let mut out = Vec::new();
            while self.sources[nth].next().is_some_and(|at| at <= self.now) {
                self.sources[nth].emit(self.now, &mut out);
                for emission in out.drain(..) {
                    match emission {
                        Emission::Submit(bio) => {
                            self.read.push((bio.start.0, u64::from(bio.sectors)));
                            self.in_flight.push((self.now + Span::from_ms(1), nth, bio.tag));
                        }
                        Emission::Tell { to, word } => {
                            let told = Delivered::Told { from: SubmitterId(nth as u32), word };
                            self.sources[to.0 as usize].delivered(self.now, told);
                        }
                        Emission::Waits | Emission::Exit => {}
                        other => panic!("it goes past the page cache: {other:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn the_whole_file_is_read_once_however_many_threads_there_are() {
        for threads in ["1", "2", "5", "16", "40"] {
            let said = [("threads", threads), ("size", "2052KiB"), ("at", "50%"), ("rsize", "32KiB")];
            let mut rig = Rig::new(&said).run();
            rig.read.sort_unstable();
            let mut next = 1 << 23;
            for (start, sectors) in rig.read {
                assert_eq!(start, next, "{threads} threads: nothing twice, nothing left out");
                next = start + sectors;
            }
            assert_eq!(next, (1 << 23) + 2052 * 2);
        }
    }

    #[test]
    fn one_thread_takes_its_time_for_each_read_and_more_threads_share_it() {
        let took = |threads| {
            let said = [("threads", threads), ("size", "4MiB"), ("jitter", "0ms"), ("cpu", "2ms"), ("cpus", "8")];
            Rig::new(&said).run().now.since(Instant::ZERO).as_ms_f64()
        };
        // 128 reads of 2 ms.
        assert!((256.0..300.0).contains(&took("1")), "{}", took("1"));
        assert!(took("8") < took("1") / 4.0, "{}", took("8"));
    }
}
