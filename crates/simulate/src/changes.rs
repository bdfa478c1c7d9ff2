//! Where jobs come and go: what each has done by then, so that what they do side by side can be told apart afterwards.
//!
//! **Rule** A job comes with its first submission and goes when it exits. Copies of all tallies are made at those
//! moments and at no other, so that an I/O costs nothing more. Of too many moments those go that are closest to the one
//! before; where jobs are many, none is kept.

use blksched::Instant;
use blksched_measure::{JobId, Recorder, Tally};

/// More jobs than these come and go unseen.
const MOST_JOBS: usize = 64;
/// The most moments that are kept.
const MOST: usize = 48;

/// A moment at which a job came or went.
#[derive(Clone, Debug)]
pub struct Change {
    /// When.
    pub at: Instant,
    /// What each job had done until then, by [`Work`](blksched_measure::Work), its ramp left out.
    pub done: Vec<[Tally; 4]>,
}

/// The moments so far.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    came: Vec<Option<Instant>>,
    seen: Vec<Change>,
}

impl Changes {
    pub(crate) fn of(jobs: usize) -> Changes {
        Changes { came: vec![None; jobs], seen: Vec::new() }
    }

    /// Whether that job has not come yet.
    pub(crate) fn awaits(&self, job: usize) -> bool {
        self.came[job].is_none()
    }

    /// A job submits for the first time.
    #[cold]
    pub(crate) fn comes(&mut self, now: Instant, job: usize, recorder: &Recorder) {
        self.came[job] = Some(now);
        self.sees(now, recorder);
    }

    /// A job has exited, and its record is complete.
    #[cold]
    pub(crate) fn goes(&mut self, now: Instant, recorder: &Recorder) {
        self.sees(now, recorder);
    }

    fn sees(&mut self, now: Instant, recorder: &Recorder) {
        let jobs = self.came.len();
        // Who comes or goes at one moment does so together.
        if jobs > MOST_JOBS || self.seen.last().is_some_and(|last| last.at == now) {
            return;
        }
        if self.seen.len() == MOST {
            let gap = |nth: &usize| self.seen[*nth].at.since(self.seen[nth - 1].at);
            let closest = (1..MOST).min_by_key(gap).expect("there are many");
            self.seen.remove(closest);
        }
        self.seen.push(Change { at: now, done: (0..jobs).map(|job| recorder.tallies(JobId(job))).collect() });
    }

    /// When each job came, and the moments in order.
    pub(crate) fn into_parts(self) -> (Vec<Option<Instant>>, Vec<Change>) {
        (self.came, self.seen)
    }
}
