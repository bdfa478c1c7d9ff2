//! `dd-reader`: processes that each read a file from front to back, as `dd if=FILE` does, through readahead and the
//! file system's own blocks.
//!
//! **Model** First a few seeky reads of one block each, far apart: directories and inodes, what the mail of 2009-09-03
//! calls "initial 7-10 reads". Then the file, one read at a time: windows that double from `first` to `ahead`, and
//! before each `run` bytes of data a block with their positions (ext3's indirect block, one per 4 MiB; the inode itself
//! knows the first 48 KiB). Before it continues, a process copies the data that it has read. With `in_flight` = 2 the
//! next window is requested before the current one has arrived: a kernel's reader continues with the first available
//! page, and reads ahead when it enters a window, while the rest of that window is still queued.
//! **Left out** that step by pages: windows come whole.

use std::collections::VecDeque;

use blksched::{Class, Instant, Priority, Span};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::parameter::{Parameter, ParameterKind};
use super::stepper::{Io, Step, Stepper, Steps};
use super::tree::BLOCK;
use super::{Launch, Program, ProgramProcess};

/// What an inode maps by itself: 12 blocks \[512-byte sectors\].
const DIRECT: u64 = 12 * BLOCK;

pub(super) const PROGRAM: Program = Program {
    name: "dd-reader",
    about: "processes that each read a file from front to back, through readahead and the file system's blocks",
    source: "Vivek Goyal and Jeff Moyer, 2009-09-03, \"Re: [RFC] Improve CFQ fairness\"",
    parameters: &[
        Parameter {
            name: "processes",
            kind: ParameterKind::Count,
            default: "4",
            doc: "number of processes, one file each",
        },
        Parameter { name: "size", kind: ParameterKind::Bytes, default: "256MiB", doc: "a file's size" },
        Parameter { name: "at", kind: ParameterKind::Place, default: "0%", doc: "where the first file lies" },
        Parameter {
            name: "apart",
            kind: ParameterKind::Place,
            default: "0%",
            doc: "distance from the start of one file to the next; 0%: files are adjacent",
        },
        Parameter {
            name: "level",
            kind: ParameterKind::Count,
            default: "4",
            doc: "I/O priority, best effort: 0 (first) to 7",
        },
        Parameter {
            name: "metadata",
            kind: ParameterKind::Count,
            default: "0",
            doc: "seeky reads of a block at the beginning",
        },
        Parameter {
            name: "metadata_within",
            kind: ParameterKind::Place,
            default: "30%",
            doc: "these blocks lie between the disk's beginning and here",
        },
        Parameter { name: "first", kind: ParameterKind::Bytes, default: "16KiB", doc: "readahead: the first window" },
        Parameter {
            name: "ahead",
            kind: ParameterKind::Bytes,
            default: "128KiB",
            doc: "readahead: the largest window",
        },
        Parameter {
            name: "in_flight",
            kind: ParameterKind::Count,
            default: "1",
            doc: "readahead: windows that a process has in flight at once, 1 or 2",
        },
        Parameter {
            name: "run",
            kind: ParameterKind::Bytes,
            default: "4MiB",
            doc: "data between two of the file system's blocks; 0: there are none",
        },
        Parameter { name: "think", kind: ParameterKind::Time, default: "30us", doc: "think time after each read" },
        Parameter { name: "copy", kind: ParameterKind::Time, default: "1ms", doc: "time to copy out a MiB" },
        Parameter {
            name: "start_within",
            kind: ParameterKind::Time,
            default: "1ms",
            doc: "each begins at a time between 0 and this, drawn evenly",
        },
        Parameter { name: "runtime", kind: ParameterKind::Time, default: "3600s", doc: "it stops after this time" },
    ],
    processes,
};

fn processes(launch: &Launch<'_>) -> Result<Vec<ProgramProcess>, String> {
    let settings = launch.settings;
    let count = settings.some("processes", 10_000)?;
    let level = u8::try_from(settings.count("level")).ok().filter(|level| *level < 8);
    let level = level.ok_or("`level` goes from 0 to 7")?;
    let most_in_flight = settings.some("in_flight", 2)?;
    let (size, run) = (settings.sectors("size").next_multiple_of(BLOCK), settings.sectors("run") / BLOCK * BLOCK);
    let whole = size + size.checked_div(run).map_or(0, |runs| (runs + 2) * BLOCK);
    let apart = settings.place("apart").sector(launch.disk_sectors);
    let apart = if apart == 0 { whole } else { apart };
    if apart < whole {
        return Err("`apart` is less than a file: they would overlap".to_owned());
    }
    let at = launch.room("at", u64::from(count - 1) * apart + whole)?;
    let ahead = settings.sectors_within("ahead", BLOCK..=1 << 16)?;
    let window = settings.sectors_within("first", BLOCK..=ahead)?;
    let process = |nth: u32| {
        let mut random = launch.random(nth, 0);
        let delay = Span::from_ns(random.random_range(0..=settings.span("start_within").as_ns()));
        let steps = DdReader {
            start: at + u64::from(nth) * apart,
            size,
            run: if run == 0 { u64::MAX } else { run },
            metadata_left: settings.count("metadata"),
            metadata_blocks: settings.place("metadata_within").sector(launch.disk_sectors).max(BLOCK) / BLOCK,
            window,
            ahead,
            most_in_flight,
            in_flight: VecDeque::new(),
            data_is_coming: false,
            think: settings.span("think"),
            copy: settings.span("copy"),
            end: launch.at + settings.span("runtime"),
            offset: 0,
            mapped: if run == 0 { u64::MAX } else { DIRECT },
            blocks: 0,
            arrived: 0,
            random,
            state: DdState::Reads,
        };
        let priority = Priority { class: Class::BestEffort, level };
        let source = Stepper::new(launch.submitter(nth), launch.at + delay, steps).with_priority(priority);
        ProgramProcess { priority, ..ProgramProcess::new(launch.process_name(nth, count), Box::new(source)) }
    };
    Ok((0..count).map(process).collect())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DdState {
    Reads,
    CopiesOut,
}

/// One process. All places and lengths are in sectors.
struct DdReader {
    start: u64,
    size: u64,
    run: u64,
    metadata_left: u64,
    metadata_blocks: u64,
    window: u64,
    ahead: u64,
    think: Span,
    /// The time to copy a MiB.
    copy: Span,
    end: Instant,
    /// Its position in the file.
    offset: u64,
    /// Up to where in the file it knows the mapping.
    mapped: u64,
    /// The indirect blocks read so far; each precedes the data that it maps.
    blocks: u64,
    most_in_flight: u32,
    /// The lengths of the reads in flight, oldest first.
    in_flight: VecDeque<u64>,
    /// The last read is of the file's data, not of an indirect block.
    data_is_coming: bool,
    /// The length of what has arrived and is to be copied out.
    arrived: u64,
    random: Pcg64Mcg,
    state: DdState,
}

impl DdReader {
    /// Whether it may read before what is in flight has arrived: not beyond an indirect block.
    fn may_read_on(&self) -> bool {
        let knows_where = self.data_is_coming && self.offset < self.mapped;
        self.in_flight.is_empty() || (knows_where && self.in_flight.len() < self.most_in_flight as usize)
    }

    /// Where it reads next, and how much.
    fn next_read(&mut self) -> Option<(u64, u64)> {
        self.data_is_coming = false;
        if self.metadata_left > 0 {
            self.metadata_left -= 1;
            return Some((self.random.random_range(0..self.metadata_blocks) * BLOCK, BLOCK));
        }
        if self.offset >= self.size {
            return None;
        }
        let place = self.start + self.offset + self.blocks * BLOCK;
        if self.offset >= self.mapped {
            self.blocks += 1;
            self.mapped = self.offset + self.run;
            return Some((place, BLOCK));
        }
        self.data_is_coming = true;
        let end = (self.offset + self.window).min(self.mapped).min(self.size);
        let sectors = end - self.offset;
        self.offset = end;
        self.window = (self.window * 2).min(self.ahead);
        Some((place, sectors))
    }
}

impl Steps for DdReader {
    fn step(&mut self, now: Instant) -> Step {
        match self.state {
            DdState::Reads => {
                let next = if now < self.end && self.may_read_on() { self.next_read() } else { None };
                if let Some((start, sectors)) = next {
                    self.in_flight.push_back(sectors);
                    return Step::Start(Io::read(start, sectors as u32));
                }
                let Some(oldest) = self.in_flight.pop_front() else { return Step::Exit };
                self.arrived = oldest;
                self.state = DdState::CopiesOut;
                Step::Await(self.in_flight.len() as u32)
            }
            DdState::CopiesOut => {
                self.state = DdState::Reads;
                Step::Think(self.think + self.copy * self.arrived / 2048)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::Settings;

    fn reads(said: &[(&str, &str)]) -> Vec<(u64, u64)> {
        let settings = Settings::of(&PROGRAM, said.iter().copied()).unwrap_or_else(|e| panic!("{e}"));
        let launch = Launch::new("dd", &settings, 1 << 24);
        let mut source = PROGRAM.start(&launch).expect("it fits").remove(0).source;
        let (mut log, mut out) = (Vec::new(), Vec::new());
        while let Some(now) = source.next() {
            source.emit(now, &mut out);
            for emission in out.drain(..) {
                if let crate::Emission::Submit(bio) = emission {
                    log.push((bio.start.0, u64::from(bio.sectors)));
                    source.delivered(now, crate::Delivered::Done { tag: bio.tag, failed: false });
                }
            }
        }
        log
    }

    #[test]
    fn windows_double_and_the_file_systems_blocks_lie_before_what_they_describe() {
        let log = reads(&[("processes", "1"), ("size", "200KiB"), ("run", "64KiB"), ("ahead", "64KiB")]);
        // 48 KiB mapped by the inode: 16 + 32 KiB; a block; 64 KiB of data; a block; 64 KiB; a block; the rest.
        let expected = [(0, 32), (32, 64), (96, 8), (104, 128), (232, 8), (240, 128), (368, 8), (376, 48)];
        assert_eq!(log, expected);
    }

    #[test]
    fn a_second_window_is_in_flight_before_the_first_has_come_but_not_beyond_a_block_that_says_where() {
        let said = [("processes", "1"), ("size", "176KiB"), ("run", "64KiB"), ("ahead", "32KiB"), ("in_flight", "2")];
        let settings = Settings::of(&PROGRAM, said).unwrap_or_else(|e| panic!("{e}"));
        let mut source = PROGRAM.start(&Launch::new("dd", &settings, 1 << 24)).expect("it fits").remove(0).source;
        let (mut rounds, mut out, mut in_flight) = (Vec::new(), Vec::new(), VecDeque::new());
        while let Some(now) = source.next() {
            source.emit(now, &mut out);
            in_flight.extend(out.drain(..).filter_map(|emission| match emission {
                crate::Emission::Submit(bio) => Some((bio.start.0, bio.tag)),
                _ => None,
            }));
            if source.next().is_none() {
                rounds.push(in_flight.iter().map(|&(start, _)| start).collect::<Vec<_>>());
                let Some((_, tag)) = in_flight.pop_front() else { break };
                source.delivered(now, crate::Delivered::Done { tag, failed: false });
            }
        }
        // 16 and 32 KiB mapped by the inode; a block at 96, alone; then 104 and 168 together; a block at 232, alone.
        assert_eq!(rounds[0], [0, 32], "{rounds:?}");
        assert!(
            rounds.contains(&vec![96]) && rounds.contains(&vec![104, 168]) && rounds.contains(&vec![232]),
            "{rounds:?}"
        );
        assert!(rounds.iter().all(|round| round.len() <= 2), "{rounds:?}");
    }

    #[test]
    fn it_begins_with_as_many_seeky_reads_as_it_is_told_and_then_reads_its_whole_file() {
        let log = reads(&[("processes", "1"), ("size", "1MiB"), ("metadata", "7"), ("run", "0"), ("at", "50%")]);
        assert!(log[..7].iter().all(|&(start, sectors)| sectors == BLOCK && start < (1 << 24) * 3 / 10));
        assert_eq!(log[7..].iter().map(|&(_, sectors)| sectors).sum::<u64>(), 2048);
    }

    #[test]
    fn files_that_would_overlap_are_refused() {
        let settings = Settings::of(&PROGRAM, [("apart", "1MB")]).expect("a place");
        let refused = PROGRAM.start(&Launch::new("dd", &settings, 1 << 24)).err().expect("a file is larger");
        assert!(refused.contains("overlap"), "{refused}");
    }
}
