//! What would make a job's syncs on a file system shorter: each is tried by a run with the same seed.
//!
//! **Rule** the same load, disk and seed, with one thing changed: the scheduler, the deadline of writes, the age at
//! which a transaction commits, the disk of the log, a group's `io.max` (and the kernel, if it is one that holds
//! metadata under it), or the job itself, which then calls `fdatasync` on a file that has been written.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use blksched::{Catalogue, Instant, Op, Span, SubmitterId};
use blksched_measure::{Cell, Column, Quantity, Reasons, Table, Work};
use blksched_simulate::story::StoriesAsked;
use blksched_simulate::{JobOutcome, Trial};
use blksched_workloads::host::fs::{FsKind, FsMount, JournalMode, MountOptions, NewBlocks};
use blksched_workloads::{JobPlan, Plan};

use super::blame::{OWN_GROUP, Rows};
use super::capped::Capped;
use super::lever::SAME;
use crate::error::Error;
use crate::files::Files;
use crate::scene::{Contender, Scene, Stage};

/// A part of a job's time that syncs must take for remedies to be tried: 20 %, as for a culprit.
const NAMED: f64 = 0.2;

/// The schedulers of today's kernels.
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// The kernel under which metadata are known to pass `io.max`.
const PASSES: &str = "6.18";

/// What was changed, and the job's syncs then.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Remedy {
    /// What was changed; empty for the run as it was.
    pub what: String,
    /// The mean of its syncs \[ns\].
    pub mean: f64,
    /// Their 99th percentile \[ns\].
    pub p99: f64,
    /// How many ended.
    pub syncs: u64,
    /// How many syncs and writes had not ended when the run did and were older than the mean: in all of these figures
    /// each counts with its age.
    pub not_ended: u64,
    /// The mean of its writes \[ns\]: they wait for a block in the log, or for room in it.
    pub mean_write: f64,
    /// The longest of both \[ns\].
    pub longest: f64,
    /// All of both, for each sync \[ns\].
    each: f64,
}

/// What was tried for a job.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Remedies {
    /// The job that waits for its syncs.
    pub who: String,
    /// The run as it was, and then what was tried, the best first.
    pub tried: Vec<Remedy>,
    /// What may help and was not tried, and how to try it: a log on another disk.
    pub untried: Option<String>,
}

impl Remedies {
    /// Tries what may help the job that spends most of its time in syncs on a file system. `None` if none does.
    ///
    /// # Errors
    /// If a run stands still.
    pub fn tried(
        stage: &Stage,
        scene: &Scene,
        contender: &Contender,
        trial: &Trial,
        blame: &Rows,
        files: &dyn Files,
    ) -> Result<Option<Remedies>, Error> {
        if trial.plan.fs == FsKind::None {
            return Ok(None);
        }
        let before = Measured::of(trial)?;
        let Some(who) = before.who_waits(&trial.plan, blame) else { return Ok(None) };
        let as_it_was = before.remedy(&trial.plan, &who, String::new());
        let mut tried = Vec::new();
        let (apart, untried) = match log_apart(stage, scene, contender, trial, files) {
            Some(LogApart::Run(what, other)) => (Some((what, *other)), None),
            Some(LogApart::Untried(how)) => (None, Some(how)),
            None => (None, None),
        };
        for (what, other) in others(stage, scene, contender, trial, &who).into_iter().chain(apart) {
            let plan = other.plan.clone();
            tried.push(Measured::of(&other)?.remedy(&plan, &who, what));
        }
        tried.sort_by(|a, b| a.each.total_cmp(&b.each));
        tried.insert(0, as_it_was);
        Ok(Some(Remedies { who, tried, untried }))
    }

    /// What helps most, in a sentence: the shortest time in syncs and writes for each sync, of what does not make the
    /// slowest slower, if there is any.
    pub fn best(&self) -> String {
        let Remedies { who, tried, .. } = self;
        let Some((as_it_was, others)) = tried.split_first() else { return String::new() };
        let of = match others {
            [] => return format!("Nothing could be tried for {who}'s syncs."),
            [_] => "One change was".to_owned(),
            all => format!("{} changes were", all.len()),
        };
        let tried = format!("{of} tried for {who}'s syncs, each in a run of its own");
        let help = || others.iter().filter(|other| other.each < (1.0 - SAME) * as_it_was.each);
        let harmless = help().find(|other| other.longest <= (1.0 + SAME) * as_it_was.longest);
        let Some(best) = harmless.or_else(|| help().next()) else {
            return format!("{tried}: none makes them shorter by 5 % on average.");
        };
        let figures = [
            ("the mean sync", best.mean, as_it_was.mean),
            ("the mean write", best.mean_write, as_it_was.mean_write),
            ("the longest sync or write", best.longest, as_it_was.longest),
        ];
        let show = |ns| Quantity::Time.show(ns);
        // Writes that take no time beside a sync are no price.
        let differs = |then: f64, now: f64| (then - now).abs() > SAME * now && then.max(now) > 0.01 * as_it_was.mean;
        let says = |(name, then, now): (&str, f64, f64)| format!("{name} {}, not {}", show(then), show(now));
        let differing = figures.into_iter().filter(|(_, then, now)| differs(*then, *now));
        let (losses, gains): (Vec<_>, Vec<_>) = differing.partition(|(_, then, now)| then > now);
        let mut gains: Vec<String> = gains.into_iter().map(says).collect();
        if gains.is_empty() {
            gains.push(says(("syncs and writes together, for each sync,", best.each, as_it_was.each)));
        }
        let losses: Vec<String> = losses.into_iter().map(says).collect();
        let but = if losses.is_empty() { String::new() } else { format!(", but {}", losses.join(", ")) };
        let open = match as_it_was.not_ended + best.not_ended > 0 {
            true => "; what had not ended counts with its age",
            false => "",
        };
        format!("{tried}; this helps most: {}: {}{but}{open}.", best.what, gains.join(", "))
    }

    /// The same as a table.
    pub fn table(&self) -> Table {
        let mut columns = vec![
            Column::words("what", "changed, in a run of its own"),
            Column::numbers("mean", &format!("{}: mean sync", self.who), Quantity::Time),
            Column::numbers("p99", "p99", Quantity::Time),
            Column::numbers("mean_write", "mean write", Quantity::Time),
            Column::numbers("longest", "longest of both", Quantity::Time),
            Column::numbers("syncs", "syncs", Quantity::Count),
        ];
        let any_open = self.tried.iter().any(|remedy| remedy.not_ended > 0);
        if any_open {
            columns.push(Column::numbers("not_ended", "not ended", Quantity::Count));
        }
        let mut table = Table::new("what would help", columns);
        for remedy in &self.tried {
            let what = if remedy.what.is_empty() { "nothing" } else { &remedy.what };
            let times = [remedy.mean, remedy.p99, remedy.mean_write, remedy.longest];
            let times = times.map(|ns| if ns > 0.0 { Cell::from(ns) } else { Cell::Missing });
            let counts = [Some(remedy.syncs), any_open.then_some(remedy.not_ended)].into_iter().flatten();
            table.row([what.into()].into_iter().chain(times).chain(counts.map(Cell::from)));
        }
        if any_open {
            table.note("what had not ended, and was older than the mean, counts with its age".to_owned());
        }
        let untried = self.untried.as_ref().map_or_else(String::new, |how| format!("; not tried: {how}"));
        table.note(format!("one seed each; `compare` says how sure{untried}"));
        table
    }
}

/// A process's calls of one kind: those that ended, and those that had not and were older than the mean.
#[derive(Default)]
struct CallFigures {
    ended: u64,
    mean: f64,
    open: u64,
    /// Of the open ones, all of it \[ns\].
    age: f64,
    /// Of both \[ns\].
    longest: f64,
}

impl CallFigures {
    fn of((ended, mean, longest): (u64, f64, Span), open: impl Iterator<Item = Span>) -> CallFigures {
        let calls = CallFigures { ended, mean, longest: longest.as_ns() as f64, ..CallFigures::default() };
        let ages = open.map(|age| age.as_ns() as f64).filter(|age| ended == 0 || *age > mean);
        ages.fold(calls, |calls, age| CallFigures {
            open: calls.open + 1,
            age: calls.age + age,
            longest: calls.longest.max(age),
            ..calls
        })
    }

    fn count(&self) -> u64 {
        self.ended + self.open
    }

    fn time(&self) -> f64 {
        self.mean * self.ended as f64 + self.age
    }
}

/// A process's syncs, their 99th percentile \[ns\], and its writes.
struct Syncs {
    by: SubmitterId,
    syncs: CallFigures,
    p99: f64,
    writes: CallFigures,
}

impl Syncs {
    /// All time in syncs and writes \[ns\].
    fn in_all(&self) -> f64 {
        self.syncs.time() + self.writes.time()
    }
}

/// What a run's processes synced.
struct Measured(Vec<Syncs>);

impl Measured {
    fn of(trial: &Trial) -> Result<Measured, Error> {
        let teller = Rc::new(RefCell::new(trial.storyteller(StoriesAsked::nothing())));
        let findings = trial.simulate_before(teller.clone(), Reasons::new()).map_err(Error::input)?;
        let (teller, end) = (teller.borrow(), Instant::ZERO + findings.elapsed);
        let of = |(job, outcome): (&JobPlan, &JobOutcome)| {
            let open = |is: fn(Op) -> bool| {
                let own = teller.unfinished().filter(move |(begun, _)| begun.by == job.submitter && is(begun.op));
                own.map(|(_, at)| end.since(at))
            };
            let ended = |work: Work| {
                let of = outcome.record.work(work);
                (of.ios, of.lat.mean(), of.clat.max())
            };
            let syncs = CallFigures::of(ended(Work::Sync), open(|op| op == Op::Flush));
            let writes = CallFigures::of(ended(Work::Write), open(|op| matches!(op, Op::Write | Op::WriteZeroes)));
            let p99 = outcome.record.work(Work::Sync).clat.percentile(99.0).as_ns() as f64;
            // One that is open is beyond that if it is more than a hundredth of all.
            let p99 = if syncs.open * 100 > syncs.count() { p99.max(syncs.longest) } else { p99 };
            Syncs { by: job.submitter, syncs, p99, writes }
        };
        Ok(Measured(trial.plan.jobs.iter().zip(&findings.jobs).map(of).collect()))
    }

    fn own<'a>(&'a self, plan: &'a Plan, who: &'a str) -> impl Iterator<Item = &'a Syncs> {
        let is_own = move |syncs: &&Syncs| plan.jobs.iter().any(|job| job.submitter == syncs.by && job.name == who);
        self.0.iter().filter(is_own)
    }

    /// All syncs of the jobs of this name.
    fn remedy(&self, plan: &Plan, who: &str, what: String) -> Remedy {
        let sum = |of: fn(&Syncs) -> f64| self.own(plan, who).map(of).sum::<f64>();
        let count = |of: fn(&Syncs) -> u64| self.own(plan, who).map(of).sum::<u64>();
        let most = |of: fn(&Syncs) -> f64| self.own(plan, who).map(of).fold(0.0, f64::max);
        let each = |time: f64, count: u64| time / count.max(1) as f64;
        let syncs = count(|own| own.syncs.count());
        Remedy {
            what,
            mean: each(sum(|own| own.syncs.time()), syncs),
            p99: most(|own| own.p99),
            syncs: count(|own| own.syncs.ended),
            not_ended: count(|own| own.syncs.open + own.writes.open),
            mean_write: each(sum(|own| own.writes.time()), count(|own| own.writes.count())),
            longest: most(|own| own.syncs.longest.max(own.writes.longest)),
            each: each(sum(Syncs::in_all), syncs),
        }
    }

    /// Of the jobs that sync, the one that spends the most time in syncs and writes, if that is a part of all its time
    /// that counts. What a job waits for its own group's cap is as it was asked for, and counts only if there is
    /// nothing else.
    fn who_waits(&self, plan: &Plan, blame: &Rows) -> Option<String> {
        let in_syncs = |name: &str| match self.own(plan, name).any(|own| own.syncs.count() > 0) {
            true => self.own(plan, name).map(Syncs::in_all).sum::<f64>(),
            false => 0.0,
        };
        let capped = |name: &str| {
            let own = blame.rows.iter().filter(|(key, ..)| key.who == name && key.whom.as_deref() == Some(OWN_GROUP));
            own.map(|(_, time, _)| time.as_ns() as f64).sum::<f64>()
        };
        let longest = |time: &dyn Fn(&str) -> f64| {
            let names = plan.jobs.iter().map(|job| &job.name);
            let open = |name: &str| self.own(plan, name).map(|own| own.syncs.age + own.writes.age).sum::<f64>();
            let ended = |name: &str| blame.totals.get(name).map_or(0.0, |total| total.0.as_ns() as f64);
            let counts = names
                .filter(|name| time(name) > 0.0 && time(name) >= NAMED * (ended(name) + open(name)))
                // Of others than the processes asked for nothing is known.
                .filter(|name| blame.is_about(name));
            counts.max_by(|a, b| time(a).total_cmp(&time(b))).cloned()
        };
        longest(&|name| in_syncs(name) - capped(name)).or_else(|| longest(&in_syncs))
    }
}

/// The runs to try: what is changed, and the trial.
fn others(stage: &Stage, scene: &Scene, contender: &Contender, trial: &Trial, who: &str) -> Vec<(String, Trial)> {
    let mut others = Vec::new();
    let (own, kernel) = contender.name.split_once('@').map_or((&*contender.name, None), |(own, at)| (own, Some(at)));
    let own = own.split([':', ' ']).next().unwrap_or_default();
    for scheduler in SCHEDULERS.into_iter().filter(|name| *name != own) {
        let named = kernel.map_or(scheduler.to_owned(), |kernel| format!("{scheduler}@{}", release(kernel)));
        let of = |name: &str| stage.alone(name, &Catalogue::builtin());
        if let Ok(other) = of(&named).or_else(|_| of(scheduler)) {
            // Of schedulers that decide alike under several kernels only the newest is there.
            let of_another = kernel.is_some() && !other.name.contains('@');
            // There metadata pass a group's cap, which would be taken for the scheduler's doing.
            if of_another && Capped::all(&trial.plan).next().is_some() {
                continue;
            }
            let of = if of_another { format!(" as of Linux {PASSES}") } else { String::new() };
            others.push((format!("{}{of}", other.name), stage.trial(scene, &other, trial.limit)));
        }
    }
    let built = trial.elevator.build();
    if let Ok(knob) = built.elevator.tunables().find("write_expire")
        && let Some(raw) = built.elevator.tunables().get(knob.name).map(|raw| raw / 10)
        && knob.check(raw).is_ok()
    {
        let kept = trial.knobs.iter().filter(|(name, _)| name != knob.name).cloned();
        let knobs = kept.chain([(knob.name.to_owned(), raw)]).collect();
        let changed = Trial { knobs, ..trial.clone() }.for_all_members(trial);
        others.push((format!("write_expire = {}", knob.unit.show(raw)), changed));
    }
    others.extend(capless(stage, scene, contender, trial));
    let fs = trial.plan.fs;
    let on = |fs: FsMount| {
        let mut plan = (*trial.plan).clone();
        plan.fs = fs;
        Trial { plan: Arc::new(plan), ..trial.clone() }
    };
    if fs.kind.is_ext() && fs.options.has_journal {
        let commit = Span::from_secs(30);
        let options = MountOptions { commit, ..fs.options };
        if fs.options.commit < commit {
            others.push(("commit=30".to_owned(), on(FsMount { options, ..fs })));
        }
        // Where a commit waits for others' data.
        if fs.options.new_blocks() != NewBlocks::Unwritten && fs.options.data == JournalMode::Ordered {
            let options = MountOptions { data: JournalMode::Writeback, ..fs.options };
            others.push(("data=writeback".to_owned(), on(FsMount { options, ..fs })));
        }
    }
    if let Some(plan) = stage.with_data_syncs(who) {
        let what = format!("fdatasync, in {who}'s files written beforehand (overwrite=1)");
        others.push((what, Trial { plan: Arc::new(plan), ..trial.clone() }));
    }
    others
}

/// A log on a disk of its own.
enum LogApart {
    /// What was changed, and the run.
    Run(String, Box<Trial>),
    /// It may help, and a user can try it so.
    Untried(String),
}

/// The log on a second disk of the same model (`journal_dev=`, `logdev=`). `None` if it is on one already, or there is
/// none. If the run has several disks or the job file says how its file system is made, only how to try it.
fn log_apart(
    stage: &Stage,
    scene: &Scene,
    contender: &Contender,
    trial: &Trial,
    files: &dyn Files,
) -> Option<LogApart> {
    let (fs, plan) = (trial.plan.fs, &trial.plan);
    let has_log = fs == FsKind::Xfs || fs.options.has_journal;
    if !has_log || fs.options.log_disk.is_some() {
        return None;
    }
    let option = if fs == FsKind::Xfs { "logdev" } else { "journal_dev" };
    let and = if fs.said().is_empty() { ':' } else { ',' };
    let on = |disk: &str| format!("{fs}{and}{option}={disk}");
    let untried = |how: String| Some(LogApart::Untried(format!("its log on another disk ({how})")));
    if !plan.disks.is_empty() || plan.member.is_some() {
        // Only what loads: not every disk of a run can hold a log, nor every file system have one elsewhere.
        let loads = |disk: &String| {
            let scene = FsMount::named(&on(disk)).map(|fs| Scene { fs: Some(fs), ..scene.clone() });
            scene.is_ok_and(|scene| Stage::load(&scene, files).is_ok())
        };
        return untried(format!("--fs {}", on(plan.disks.iter().find(|disk| loads(disk))?)));
    }
    if stage.workload.file.as_ref().is_some_and(|file| file.file_system().is_some()) {
        return untried(format!("fs={} in the job file, and --disk sda=…,sdb=…", on("sdb")));
    }
    let apart = || {
        let fs = FsMount::named(&on("sdb")).ok()?;
        let scene = Scene { disk: format!("sda={0},sdb={0}", scene.disk), fs: Some(fs), ..scene.clone() };
        let stage = Stage::load(&scene, files).ok()?.under(&[], &scene, &Catalogue::builtin()).ok()?;
        Some(stage.trial(&scene, contender, trial.limit))
    };
    match apart() {
        Some(trial) => Some(LogApart::Run(format!("its log on another such disk ({option}=)"), Box::new(trial))),
        None => untried(format!("--fs {} --disk sda=…,sdb=…", on("sdb"))),
    }
}

/// Groups that have a cap: more of it, none, and a kernel under which metadata pass it.
fn capless(stage: &Stage, scene: &Scene, contender: &Contender, trial: &Trial) -> Vec<(String, Trial)> {
    let mut others = Vec::new();
    for capped in Capped::all(&trial.plan) {
        let name = capped.name(&trial.plan);
        others.extend(capped.raised(trial).map(|(text, raised)| (format!("{name}: io.max: {text}"), raised)));
        others.push((format!("{name}: no io.max"), capped.lifted(trial)));
    }
    let newer = contender.name.split_once('@').map(|(name, _)| format!("{name}@{PASSES}"));
    let newer = newer.filter(|name| !others.is_empty() && *name != contender.name);
    if let Some(other) = newer.and_then(|name| stage.alone(&name, &Catalogue::builtin()).ok()) {
        others.push((format!("Linux {PASSES}: metadata pass io.max"), stage.trial(scene, &other, trial.limit)));
    }
    others
}

/// The kernel in a scheduler's name, without knobs.
fn release(kernel: &str) -> &str {
    kernel.split([':', ' ', '+']).next().unwrap_or(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In milliseconds: the mean sync, the mean write, the longest, and the figure that ranks.
    fn remedy(what: &str, [mean, mean_write, longest, each]: [f64; 4]) -> Remedy {
        let [mean, mean_write, longest, each] = [mean, mean_write, longest, each].map(|ms| 1e6 * ms);
        Remedy { what: what.to_owned(), mean, p99: mean, syncs: 9, not_ended: 0, mean_write, longest, each }
    }

    fn best(tried: Vec<Remedy>) -> String {
        let all = Remedies { who: "db".to_owned(), tried, untried: None }.best();
        all.split_once("each in a run of its own").expect("what was tried").1.to_owned()
    }

    #[test]
    fn the_gains_come_first_and_there_is_one() {
        let as_it_was = || remedy("", [20.0, 30.0, 100.0, 50.0]);
        let losing = remedy("none", [24.0, 20.0, 100.0, 44.0]);
        let said = "; this helps most: none: the mean write 20.0ms, not 30.0ms, but the mean sync 24.0ms, not 20.0ms.";
        assert_eq!(best(vec![as_it_was(), losing]), said);
        let by_a_little = remedy("commit=30", [19.5, 29.0, 100.0, 47.0]);
        let said = "; this helps most: commit=30: syncs and writes together, for each sync, 47.0ms, not 50.0ms.";
        assert_eq!(best(vec![as_it_was(), by_a_little]), said);
        let same = remedy("kyber", [20.0, 30.0, 90.0, 49.0]);
        assert_eq!(best(vec![as_it_was(), same]), ": none makes them shorter by 5 % on average.");
    }

    #[test]
    fn what_makes_the_slowest_slower_is_named_only_if_nothing_else_helps() {
        let as_it_was = || remedy("", [20.0, 30.0, 100.0, 50.0]);
        let (fast, steady) = (remedy("bfq", [5.0, 5.0, 300.0, 10.0]), remedy("kyber", [10.0, 15.0, 80.0, 25.0]));
        assert!(best(vec![as_it_was(), fast.clone(), steady]).starts_with("; this helps most: kyber: the mean sync "));
        let said = best(vec![as_it_was(), fast]);
        assert!(said.ends_with(", but the longest sync or write 300ms, not 100ms."), "{said}");
    }
}
