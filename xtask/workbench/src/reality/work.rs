//! Every job under every scheduler, several times, on several disks at a time.

use std::collections::VecDeque;
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result};
use blksched_simulate::reality::{RealitySetting, Row, Set};

use super::chain::Chain;
use super::workers::Workers;
use super::{Job, check};

/// How often a run disturbed by the machine is repeated.
const TRIES: u32 = 4;
/// A greater mean delay, relative to a synchronous read's time, counts as disturbed.
const DISTURBED: f64 = 0.05;

#[derive(Clone)]
struct Task<'a> {
    job: &'a Job,
    scheduler: &'a str,
    repeat: u32,
    tries: u32,
}

/// What to do on one setting.
pub struct Work<'a> {
    pub set: &'a Set,
    pub setting: &'a RealitySetting,
    pub jobs: &'a [Job],
    pub schedulers: &'a [String],
    pub repeats: u32,
    pub at_a_time: usize,
}

/// Rows, and what could not be measured.
#[derive(Default)]
pub struct Found {
    pub rows: Vec<Row>,
    pub refused: Vec<String>,
}

struct Shared<'a> {
    left: Mutex<VecDeque<Task<'a>>>,
    found: Mutex<Found>,
    workers: Mutex<Workers>,
}

impl Work<'_> {
    /// # Errors
    /// If the disk cannot be mounted.
    pub fn run(&self, folder: &Path) -> Result<Found> {
        let spec = self.setting.spec(0.0).map_err(anyhow::Error::msg)?;
        let make = |nth| Chain::make(self.set, self.setting, &spec, folder, nth);
        let mut workers = Workers::default();
        workers.hurry();
        let first = make(0)?;
        let (refused, seen) = check::refused(self.set, self.setting, &first)?;
        println!("{}: {seen}", self.setting.name);
        if let Some(refused) = refused {
            return Ok(Found { rows: Vec::new(), refused: vec![format!("{}: {refused}", self.setting.name)] });
        }
        let mut chains = vec![first];
        for nth in 1..self.at_a_time {
            chains.push(make(nth)?);
        }
        let tasks = (0..self.repeats).flat_map(|repeat| {
            let of = move |job| self.schedulers.iter().map(move |name| (job, name));
            self.jobs.iter().flat_map(of).map(move |(job, scheduler)| Task { job, scheduler, repeat, tries: TRIES })
        });
        let shared =
            Shared { left: Mutex::new(tasks.collect()), found: Mutex::default(), workers: Mutex::new(workers) };
        std::thread::scope(|scope| {
            let workers: Vec<_> = chains.iter().map(|chain| scope.spawn(|| self.go_on(chain, &shared))).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("it does not panic"))
        })?;
        eprintln!();
        let mut found = shared.found.into_inner().unwrap_or_default();
        found.rows.sort_by(|a, b| place(a).cmp(&place(b)));
        Ok(found)
    }

    fn go_on(&self, chain: &Chain<'_>, shared: &Shared<'_>) -> Result<()> {
        let next = || shared.left.lock().expect("nobody panics").pop_front();
        while let Some(task) = next() {
            let Task { job, scheduler, repeat, .. } = task;
            shared.workers.lock().expect("nobody panics").hurry();
            let ran = chain.run(&job.name, &job.text, scheduler, repeat);
            let ran = ran.with_context(|| format!("{} {} {scheduler}", self.setting.name, job.name))?;
            let mut found = shared.found.lock().expect("nobody panics");
            let late = ran.late.as_secs_f64() > DISTURBED * self.usual(&found.rows).as_secs_f64();
            match (late, task.tries) {
                (false, _) => found.rows.extend(ran.rows),
                (true, 1) => found.refused.push(format!(
                    "{} {} {scheduler}: answers {:?} late {TRIES} times",
                    self.setting.name, job.name, ran.late
                )),
                (true, tries) => {
                    let again = Task { tries: tries - 1, ..task };
                    shared.left.lock().expect("nobody panics").push_back(again);
                }
            }
            eprint!("{}", if late { 'x' } else { '.' });
            std::io::stderr().flush().ok();
        }
        Ok(())
    }

    /// A synchronous read's time, as measured, or a safe guess before that.
    fn usual(&self, rows: &[Row]) -> Duration {
        let mut own = rows.iter().filter(|row| row.job == self.set.calibrates);
        own.next().map_or(Duration::from_millis(5), |row| Duration::from_secs_f64(row.latency_us / 1e6))
    }
}

fn place(row: &Row) -> (&str, &str, &str, u32, &str, &str) {
    (&row.setting, &row.job, &row.scheduler, row.repeat, &row.process, &row.dir)
}
