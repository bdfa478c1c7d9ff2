//! `dump`: several processes take turns reading the chunks of one region of the disk, as dump(8) and similar programs
//! do.
//!
//! **Model** Reader *i* of *n* reads chunks *i*, *i* + *n*, …, and the data is written out in order:
//! * `windowed`: chunk *k* may be read once chunk *k* − *n* has been written out, as dump's slaves take turns in
//!   writing. Several reads are in flight at once.
//! * `token`: one reader at a time.
//! * `free`: each strides alone.
//!
//! Afterwards each may read chunks at random, so that access "becomes random".
//! **Origin** read-test2 of the mail of 2009-10-23 "emulates the I/O patterns of dump(8)"; its source was not found.
//! **Left out** the tape: `write_out` is all that writing costs.

use blksched::{Instant, Span, SubmitterId};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::parameter::{Parameter, ParameterKind};
use super::stepper::{Io, Step, Stepper, Steps};
use super::{Launch, Program, ProgramProcess};
use crate::Delivered;

pub(super) const PROGRAM: Program = Program {
    name: "dump",
    about: "processes that read one stretch of the disk chunk by chunk in turn, as dump(8) does",
    source: "Jeff Moyer, 2009-10-23, \"cfq: implement merging and breaking up of cfq_queues\"",
    parameters: &[
        Parameter { name: "readers", kind: ParameterKind::Count, default: "3", doc: "processes" },
        Parameter { name: "chunk", kind: ParameterKind::Bytes, default: "32KiB", doc: "size of one read" },
        Parameter { name: "size", kind: ParameterKind::Bytes, default: "128MiB", doc: "size of the stretch" },
        Parameter { name: "at", kind: ParameterKind::Place, default: "10%", doc: "where it begins" },
        Parameter {
            name: "turns",
            kind: ParameterKind::Word(&["windowed", "token", "free"]),
            default: "windowed",
            doc: "which process may read when",
        },
        Parameter {
            name: "write_out",
            kind: ParameterKind::Time,
            default: "0ms",
            doc: "how long each chunk is processed after it has been read",
        },
        Parameter {
            name: "random_chunks",
            kind: ParameterKind::Count,
            default: "0",
            doc: "chunks that each process reads afterwards, at random places of the disk",
        },
    ],
    processes,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadTurns {
    Windowed,
    Token,
    Free,
}

fn processes(launch: &Launch<'_>) -> Result<Vec<ProgramProcess>, String> {
    let settings = launch.settings;
    let readers = settings.some("readers", 10_000)?;
    let chunk = settings.sectors_within("chunk", 1..=launch.disk_sectors.min(u64::from(u32::MAX)))? as u32;
    let at = launch.room("at", settings.sectors("size"))?;
    let process = |nth: u32| {
        let steps = DumpReader {
            readers,
            me: nth,
            first: launch.first,
            at,
            chunk,
            chunks: settings.sectors("size") / u64::from(chunk),
            turns: match settings.word("turns") {
                "windowed" => ReadTurns::Windowed,
                "token" => ReadTurns::Token,
                _ => ReadTurns::Free,
            },
            write_out: settings.span("write_out"),
            written: vec![0; readers as usize],
            random_left: settings.count("random_chunks"),
            places: launch.disk_sectors / u64::from(chunk),
            random: launch.random(nth, 0),
            state: DumpState::Chooses,
        };
        let source = Box::new(Stepper::new(launch.submitter(nth), launch.at, steps));
        ProgramProcess::new(launch.process_name(nth, readers), source)
    };
    Ok((0..readers).map(process).collect())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DumpState {
    Chooses,
    /// A read; `true`: a chunk of the region, of which the others are told.
    Awaits(bool),
    WritesOut(bool),
    /// The others from this one on are still to be told.
    Tells(u32),
}

struct DumpReader {
    readers: u32,
    me: u32,
    first: SubmitterId,
    /// Where the region begins \[sectors\].
    at: u64,
    /// \[sectors\]
    chunk: u32,
    chunks: u64,
    turns: ReadTurns,
    write_out: Span,
    /// How many chunks each reader has written out.
    written: Vec<u64>,
    random_left: u64,
    /// The number of chunks on the whole disk.
    places: u64,
    random: Pcg64Mcg,
    state: DumpState,
}

impl DumpReader {
    /// Its next chunk of the region.
    fn mine(&self) -> u64 {
        self.written[self.me as usize] * u64::from(self.readers) + u64::from(self.me)
    }

    /// The first chunk that has not been written out.
    fn first_missing(&self) -> u64 {
        let next = |(reader, &written): (usize, &u64)| written * u64::from(self.readers) + reader as u64;
        self.written.iter().enumerate().map(next).min().expect("there are readers")
    }

    fn may_read(&self) -> bool {
        let (mine, missing) = (self.mine(), self.first_missing());
        match self.turns {
            ReadTurns::Windowed => mine < missing + u64::from(self.readers),
            ReadTurns::Token => mine == missing,
            ReadTurns::Free => true,
        }
    }

    fn choose(&mut self) -> Step {
        let mine = self.mine();
        if mine < self.chunks && !self.may_read() {
            return Step::Listen;
        }
        self.state = DumpState::Awaits(mine < self.chunks);
        if mine < self.chunks {
            return Step::Start(Io::read(self.at + mine * u64::from(self.chunk), self.chunk));
        }
        if self.random_left == 0 {
            return Step::Exit;
        }
        self.random_left -= 1;
        let place = self.random.random_range(0..self.places);
        Step::Start(Io::read(place * u64::from(self.chunk), self.chunk))
    }

    /// Tells one after the other that another of its chunks is out.
    fn tell(&mut self, other: u32) -> Step {
        if other == self.readers {
            self.state = DumpState::Chooses;
            return self.choose();
        }
        self.state = DumpState::Tells(other + 1);
        match other == self.me {
            true => self.tell(other + 1),
            false => Step::Tell(SubmitterId(self.first.0 + other), 1),
        }
    }
}

impl Steps for DumpReader {
    fn step(&mut self, _now: Instant) -> Step {
        match self.state {
            DumpState::Chooses => self.choose(),
            DumpState::Awaits(counts) => {
                self.state = DumpState::WritesOut(counts);
                Step::Await(0)
            }
            DumpState::WritesOut(counts) => {
                self.state = if counts { DumpState::Tells(0) } else { DumpState::Chooses };
                Step::Think(self.write_out)
            }
            DumpState::Tells(other) => {
                self.written[self.me as usize] += u64::from(other == 0);
                self.tell(other)
            }
        }
    }

    fn hear(&mut self, what: Delivered) {
        if let Delivered::Told { from, .. } = what {
            self.written[(from.0 - self.first.0) as usize] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::Settings;
    use crate::{Emission, Source};

    fn readers(said: &[(&str, &str)]) -> Vec<Box<dyn Source>> {
        let settings = Settings::of(&PROGRAM, said.iter().copied()).unwrap_or_else(|e| panic!("{e}"));
        let launch = Launch::new("dump", &settings, 1 << 24);
        PROGRAM.start(&launch).expect("it fits").into_iter().map(|process| process.source).collect()
    }

    /// The chunks that each reader has asked for when nothing more happens without a completion; all messages are
    /// delivered.
    fn asked(readers: &mut [Box<dyn Source>], chunk: u64, out: &mut Vec<(usize, u64)>) {
        while let Some(nth) = readers.iter().position(|reader| reader.next().is_some_and(|at| at <= Instant::ZERO)) {
            let mut emissions = Vec::new();
            readers[nth].emit(Instant::ZERO, &mut emissions);
            for emission in emissions {
                match emission {
                    Emission::Submit(bio) => out.push((nth, bio.start.0 / chunk)),
                    Emission::Tell { to, word } => {
                        let from = SubmitterId(nth as u32);
                        readers[to.0 as usize].delivered(Instant::ZERO, Delivered::Told { from, word });
                    }
                    Emission::Waits | Emission::Exit => {}
                    other => panic!("it goes past the page cache: {other:?}"),
                }
            }
        }
    }

    fn done(reader: &mut dyn Source, tag: u64) {
        reader.delivered(Instant::ZERO, Delivered::Done { tag: blksched::Tag(tag), failed: false });
    }

    #[test]
    fn in_a_window_nobody_reads_more_than_a_round_ahead_of_what_was_written_out() {
        let mut readers = readers(&[("readers", "3"), ("at", "0%"), ("chunk", "32KiB"), ("size", "1MiB")]);
        let mut log = Vec::new();
        asked(&mut readers, 64, &mut log);
        assert_eq!(log, [(0, 0), (1, 1), (2, 2)]);
        // Chunk 1 is read before chunk 0: its reader would continue with chunk 4, for which chunk 1 must be out, in
        // order.
        done(&mut *readers[1], 0);
        asked(&mut readers, 64, &mut log);
        assert_eq!(log.len(), 3);
        done(&mut *readers[0], 0);
        asked(&mut readers, 64, &mut log);
        assert_eq!(log[3..], [(0, 3), (1, 4)]);
    }

    #[test]
    fn with_a_token_one_reads_at_a_time_and_each_alone_strides_on() {
        let said = [("readers", "3"), ("at", "0%"), ("size", "1MiB"), ("turns", "token")];
        let mut one_at_a_time = readers(&said);
        let mut log = Vec::new();
        asked(&mut one_at_a_time, 64, &mut log);
        assert_eq!(log, [(0, 0)]);
        done(&mut *one_at_a_time[0], 0);
        asked(&mut one_at_a_time, 64, &mut log);
        assert_eq!(log, [(0, 0), (1, 1)]);
        let mut free = readers(&[("readers", "2"), ("at", "0%"), ("size", "1MiB"), ("turns", "free")]);
        let mut log = Vec::new();
        asked(&mut free, 64, &mut log);
        done(&mut *free[1], 0);
        asked(&mut free, 64, &mut log);
        assert_eq!(log, [(0, 0), (1, 1), (1, 3)]);
    }
}
