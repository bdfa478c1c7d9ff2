//! One process of a recording on several disks of a world: what it does on one waits for what it waits for on another.
//!
//! **Rule** The process is one state machine ([`Replayer`]) that its members share, one on each disk. A member submits
//! what is due on its disk and hands on what completes there. It exits with the process's last I/O on any disk, so a
//! process's time is the same on all. Sleeping for a request slot of one disk holds it back on all.
//! **Left out** A burst that goes on on another disk is closed here: each disk has its part of it at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use blksched::{Instant, SubmitterId};

use super::Replay;
use super::recording::StandsFor;
use super::source::Replayer;
use crate::{Delivered, Emission, Source, Trouble};

type Shared = Arc<Mutex<Replayer>>;

/// The processes that the disks of one world share; one for each run.
#[derive(Default)]
pub struct Joint {
    processes: BTreeMap<usize, Shared>,
}

impl Joint {
    pub(super) fn process(&mut self, replay: &Replay, process: usize) -> Shared {
        let new = || Arc::new(Mutex::new(Replayer::new(replay.clone(), process, SubmitterId(0))));
        self.processes.entry(process).or_insert_with(new).clone()
    }
}

/// A process as one of its disks sees it.
pub(super) struct Member {
    process: Shared,
    disk: StandsFor,
    submitter: SubmitterId,
    errors: u64,
    finished: bool,
}

impl Member {
    pub fn new(process: Shared, disk: StandsFor, submitter: SubmitterId) -> Member {
        Member { process, disk, submitter, errors: 0, finished: false }
    }

    fn process(&self) -> MutexGuard<'_, Replayer> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the process's next I/O is for this disk.
    fn is_mine(&self, process: &Replayer) -> bool {
        process.io().is_some_and(|io| self.disk.has(io))
    }
}

impl Source for Member {
    fn next(&self) -> Option<Instant> {
        let process = self.process();
        match process.io() {
            _ if self.finished => None,
            Some(_) if self.is_mine(&process) => process.next(),
            Some(_) => None,
            // All members exit when the process would.
            None => process.ended(),
        }
    }

    fn emit(&mut self, now: Instant, out: &mut Vec<Emission>) {
        if self.next().is_none_or(|next| now < next) {
            return;
        }
        let mut process = self.process();
        if process.io().is_none() {
            drop(process);
            self.finished = true;
            return out.push(Emission::Exit);
        }
        let begin = out.len();
        process.emit(now, out);
        let goes_on_elsewhere = !self.is_mine(&process);
        drop(process);
        let mut is_closed = false;
        for emission in &mut out[begin..] {
            match emission {
                Emission::Submit(bio) => bio.submitter = self.submitter,
                Emission::Waits => is_closed = true,
                _ => {}
            }
        }
        if goes_on_elsewhere && !is_closed {
            out.push(Emission::Waits);
        }
    }

    fn delivered(&mut self, now: Instant, what: Delivered) {
        if let Delivered::Done { failed, .. } = what {
            self.errors += u64::from(failed);
        }
        self.process().delivered(now, what);
    }

    fn asleep(&mut self) {
        self.process().asleep();
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn hangs_on_other_disks(&self) -> bool {
        true
    }

    fn submitter(&self) -> SubmitterId {
        self.submitter
    }

    fn trouble(&self) -> Trouble {
        Trouble { errors: self.errors, gave_up: None }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::collections::VecDeque;

    use blksched::Span;

    use super::super::recording::{Recording, TraceAction, TraceEvent, tests::event};
    use super::*;

    const DISKS: [(u32, u32); 2] = [(8, 0), (8, 16)];

    /// A read of sda, which is waited for; one of sdb directly after it; then one of each, together.
    fn recording() -> Recording {
        let on = |disk: usize, event: TraceEvent| TraceEvent { device: DISKS[disk], ..event };
        let events = vec![
            on(0, event(0, TraceAction::Queue, 0)),
            on(0, event(400, TraceAction::Complete, 0)),
            on(1, event(500, TraceAction::Queue, 80)),
            on(1, event(700, TraceAction::Complete, 80)),
            on(0, event(700, TraceAction::Queue, 160)),
            on(1, event(700, TraceAction::Queue, 240)),
        ];
        Recording::of(events, &BTreeMap::new()).unwrap()
    }

    /// When which I/O goes to which disk \[ns\], with these latencies.
    fn played(said: &str, latency: [u64; 2]) -> Vec<(u64, usize, u64)> {
        let whole = Replay::of("trace", said, Arc::new(recording())).unwrap();
        let mut joint = Joint::default();
        let mut sources: Vec<Box<dyn Source>> = (0..2)
            .map(|disk| {
                let replay = whole.on(DISKS[disk]).unwrap();
                let parts = replay.parts(1 << 20).unwrap();
                assert_eq!(parts.len(), 1);
                replay.source(&parts[0], SubmitterId(disk as u32), &mut joint)
            })
            .collect();
        let (mut log, mut out) = (Vec::new(), Vec::new());
        let mut done: [VecDeque<_>; 2] = [VecDeque::new(), VecDeque::new()];
        while !sources.iter().all(|source| source.is_finished()) {
            let next = (0..2).filter_map(|disk| Some((sources[disk].next()?, 1, disk)));
            let ends = (0..2).filter_map(|disk| done[disk].front().map(|&(at, _)| (at, 0, disk)));
            let (now, kind, disk) = next.chain(ends).min().expect("it waits for something");
            if kind == 0 {
                let (_, tag) = done[disk].pop_front().unwrap();
                sources[disk].delivered(now, Delivered::Done { tag, failed: false });
                continue;
            }
            sources[disk].emit(now, &mut out);
            for emission in out.drain(..) {
                if let Emission::Submit(bio) = emission {
                    assert_eq!(bio.submitter, SubmitterId(disk as u32));
                    log.push((now.as_ns(), disk, bio.start.0));
                    done[disk].push_back((now + Span::from_ns(latency[disk]), bio.tag));
                }
            }
        }
        log
    }

    #[test]
    fn a_process_waits_on_one_disk_for_what_it_waited_for_on_the_other() {
        let closed = |latency| played("timing=closed", latency);
        assert_eq!(closed([400, 200]), [(0, 0, 0), (500, 1, 80), (700, 0, 160), (700, 1, 240)]);
        // A disk that is ten times slower also delays the other one's I/Os.
        assert_eq!(closed([4000, 200]), [(0, 0, 0), (4100, 1, 80), (4300, 0, 160), (4300, 1, 240)]);
        assert_eq!(closed([400, 2000]), [(0, 0, 0), (500, 1, 80), (2500, 0, 160), (2500, 1, 240)]);
    }

    #[test]
    fn at_recorded_moments_nothing_waits() {
        let expected = [(0, 0, 0), (500, 1, 80), (700, 0, 160), (700, 1, 240)];
        assert_eq!(played("", [9000, 1]), expected);
    }

    #[test]
    fn a_device_that_nothing_is_left_of_is_no_disk() {
        let whole = Replay::of("trace", "", Arc::new(recording())).unwrap();
        assert!(whole.on((9, 9)).is_none() && whole.on(DISKS[1]).is_some());
    }
}
