//! A disk model by the wall clock: commands go in when they arrive, and answers go out when the model says so.
//!
//! One thread sleeps until the model's next event. An answer that is late because the machine was busy is late only for
//! its caller: the model is told the times that it requested, so that lateness does not accumulate.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant as Wall};

use blksched::author::RequestId;
use blksched::{Command, Instant, Op, Sector, SubmitterId};
use blksched_disks::{CommandOutcome, Disk, DiskSpec, Facts};

/// A command for the disk.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub op: Op,
    pub start: Sector,
    pub sectors: u32,
}

/// A thread that waits for a command.
pub trait Answer: Send + 'static {
    fn done(self, outcome: CommandOutcome);
}

/// How late completions were: what the machine adds to the model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lateness {
    pub commands: u64,
    pub sum: Duration,
    pub most: Duration,
}

struct State<A> {
    disk: Box<dyn Disk>,
    /// By request number.
    waiting: Vec<Option<A>>,
    free: Vec<usize>,
    /// Those beyond the disk's depth.
    behind: VecDeque<(Asked, A)>,
    late: Lateness,
    ending: bool,
}

struct Shared<A> {
    state: Mutex<State<A>>,
    earlier: Condvar,
    began: Wall,
}

/// The model with its thread; both end when it is dropped.
pub struct Clock<A: Answer> {
    shared: Arc<Shared<A>>,
    thread: Option<JoinHandle<()>>,
}

impl<A: Answer> Clock<A> {
    pub fn start(spec: &DiskSpec) -> std::io::Result<Clock<A>> {
        let disk = spec.build(1);
        let depth = disk.facts().depth as usize;
        let state = State {
            disk,
            waiting: (0..depth).map(|_| None).collect(),
            free: (0..depth).rev().collect(),
            behind: VecDeque::new(),
            late: Lateness::default(),
            ending: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), earlier: Condvar::new(), began: Wall::now() });
        let own = shared.clone();
        let thread = std::thread::Builder::new().name("disk clock".to_owned()).spawn(move || own.run())?;
        Ok(Clock { shared, thread: Some(thread) })
    }

    pub fn ask(&self, asked: Asked, answer: A) {
        self.shared.ask(asked, answer);
    }

    pub fn facts(&self) -> Facts {
        self.shared.lock().disk.facts()
    }

    pub fn late(&self) -> Lateness {
        self.shared.lock().late
    }
}

impl<A: Answer> Drop for Clock<A> {
    fn drop(&mut self) {
        self.shared.lock().ending = true;
        self.shared.earlier.notify_one();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl<A: Answer> Shared<A> {
    fn lock(&self) -> MutexGuard<'_, State<A>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Instant {
        Instant::from_ns(self.began.elapsed().as_nanos() as u64)
    }

    fn ask(&self, asked: Asked, answer: A) {
        let mut state = self.lock();
        let now = self.now();
        let done = state.due(now);
        let before = state.disk.next();
        state.begin(now, asked, answer);
        if state.disk.next() != before {
            self.earlier.notify_one();
        }
        drop(state);
        tell(done);
    }

    fn run(&self) {
        let mut state = self.lock();
        while !state.ending {
            let now = self.now();
            let done = state.due(now);
            if !done.is_empty() {
                drop(state);
                tell(done);
                state = self.lock();
                continue;
            }
            state = match state.disk.next() {
                None => self.earlier.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(next) => {
                    let time = Duration::from_nanos(next.since(now).as_ns());
                    self.earlier.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

fn tell<A: Answer>(done: Vec<(A, CommandOutcome)>) {
    done.into_iter().for_each(|(answer, outcome)| answer.done(outcome));
}

impl<A> State<A> {
    fn begin(&mut self, now: Instant, asked: Asked, answer: A) {
        let Some(slot) = self.free.pop() else {
            self.behind.push_back((asked, answer));
            return;
        };
        self.waiting[slot] = Some(answer);
        let Asked { op, start, sectors } = asked;
        let rq = RequestId::from_index(slot as u32);
        self.disk.start(now, Command { rq, op, start, sectors, submitter: SubmitterId(0), fua: false });
    }

    /// What has completed by now; each step is made at the time that the model asked for.
    fn due(&mut self, now: Instant) -> Vec<(A, CommandOutcome)> {
        let mut done = Vec::new();
        while let Some(next) = self.disk.next().filter(|next| *next <= now) {
            while let Some(finished) = self.disk.finish(next) {
                let late = Duration::from_nanos(now.since(finished.at).as_ns());
                self.late.commands += 1;
                self.late.sum += late;
                self.late.most = self.late.most.max(late);
                let slot = finished.rq.index();
                self.free.push(slot);
                done.extend(self.waiting[slot].take().map(|answer| (answer, finished.outcome)));
            }
            while !self.free.is_empty()
                && let Some((asked, answer)) = self.behind.pop_front()
            {
                self.begin(next, asked, answer);
            }
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    struct Tell(u64, Sender<(u64, CommandOutcome)>);

    impl Answer for Tell {
        fn done(self, outcome: CommandOutcome) {
            self.1.send((self.0, outcome)).ok();
        }
    }

    /// Only that nothing is answered early, lost, or answered twice; not how fast it is.
    #[test]
    fn every_command_is_answered_once_and_none_early() {
        let spec = "kind = \"fixed\"\ndescription = \"d\"\ncapacity = \"1MiB\"\nmax_command = \"64KiB\"\ndepth = 2\n\
                    channels = 1\nservice = \"2ms\"\n";
        let spec = blksched_disks::parse("d", spec).unwrap();
        let clock = Clock::start(&spec).unwrap();
        let (sender, receiver) = channel();
        let began = Wall::now();
        for nth in 0..10 {
            let start = Sector(if nth == 3 { 1 << 30 } else { nth * 8 });
            clock.ask(Asked { op: Op::Read, start, sectors: 8 }, Tell(nth, sender.clone()));
        }
        let mut told: Vec<_> = (0..10).map(|_| receiver.recv().unwrap()).collect();
        assert!(began.elapsed() >= Duration::from_millis(18));
        told.sort_by_key(|(nth, _)| *nth);
        assert!(told.iter().enumerate().all(|(nth, (told, _))| nth as u64 == *told));
        assert!(told.iter().all(|(nth, outcome)| (*outcome == CommandOutcome::Ok) == (*nth != 3)));
        assert_eq!(clock.late().commands, 10);
        drop((clock, sender));
        assert!(receiver.recv().is_err());
    }
}
