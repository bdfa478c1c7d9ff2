//! The knob that a wait hangs on: which decision it made, and what its next value would do.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use blksched::reasons::{Domain, HeldBack};
use blksched::tunables::{Knob, Tunables};
use blksched::{Dir, GroupId, Instant, Span};
use blksched_measure::Reasons;
use blksched_simulate::story::{Batched, Part, Rule, StoriesAsked, Storyteller, Whose};
use blksched_simulate::{Surroundings, Trial};

use super::capped::Capped;
use super::names::Names;
use super::phrase::time;
use crate::error::Error;

/// A wait that is less than this part of its waiter's time is not named: 20 %.
pub(super) const NAMED: f64 = 0.2;
/// Two means that differ by less than this part of the former are the same to a user.
pub(super) const SAME: f64 = 0.05;

/// A knob, and the direction that shortens the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lever {
    Lower(&'static str),
    Raise(&'static str),
    /// The `io.max` of another's group, under which metadata wait for all.
    Cap(GroupId),
    /// How many requests the disk gets at a time, which is no scheduler's.
    Depth,
}
use Lever::{Cap, Depth, Lower, Raise};

impl Lever {
    fn knob(self) -> &'static str {
        match self {
            Lower(knob) | Raise(knob) => knob,
            Cap(_) => "io.max",
            Depth => "queue_depth",
        }
    }

    fn is_of(self, tunables: &dyn Tunables) -> bool {
        matches!(self, Depth | Cap(_)) || tunables.find(self.knob()).is_ok()
    }

    /// Its value in this trial, and the same trial with half of it, or twice as much, if the knob takes that.
    fn turned(self, trial: &Trial) -> Option<(String, Option<(String, Trial)>)> {
        if self == Depth {
            let depth = trial.surroundings.depth.unwrap_or_else(|| trial.disk.build(0).facts().depth);
            let surroundings = Surroundings { depth: Some(depth / 2), ..trial.surroundings };
            let next = (depth > 1)
                .then(|| ((depth / 2).to_string(), Trial { surroundings, ..trial.clone() }.for_all_members(trial)));
            return Some((depth.to_string(), next));
        }
        if let Cap(group) = self {
            let capped = Capped::above(&trial.plan, group)?;
            return Some((capped.text(&trial.plan), Some(("max".to_owned(), capped.lifted(trial)))));
        }
        let built = trial.elevator.build();
        let knob = built.elevator.tunables().find(self.knob()).ok()?;
        let set = trial.knobs.iter().find(|(name, _)| name == knob.name).map(|(_, raw)| *raw);
        let raw = set.or_else(|| built.elevator.tunables().get(knob.name))?;
        let turned =
            |next| Trial { knobs: with(&trial.knobs, knob.name, next), ..trial.clone() }.for_all_members(trial);
        let next = self.next(knob, raw).map(|next| (knob.unit.show(next), turned(next)));
        Some((knob.unit.show(raw), next))
    }

    fn next(self, knob: &Knob, raw: i64) -> Option<i64> {
        let next = match self {
            Raise(_) => raw.max(1).checked_mul(2)?,
            Lower(_) | Cap(_) | Depth => raw / 2,
        };
        (next != raw && knob.check(next).is_ok()).then_some(next)
    }
}

/// The knobs that a wait can hang on; that of the scheduler at hand is the first that it has.
fn levers(part: Part) -> &'static [Lever] {
    match part {
        Part::Behind(_, Rule::Batch(Dir::Write, Batched::Starved) | Rule::CacheOf(Batched::Starved)) => {
            &[Raise("writes_starved")]
        }
        Part::Behind(_, Rule::Batch(Dir::Write, Batched::Expired) | Rule::CacheOf(Batched::Expired)) => {
            &[Raise("write_expire")]
        }
        Part::Behind(_, Rule::Batch(Dir::Read, Batched::Expired)) => &[Raise("read_expire")],
        Part::Behind(_, Rule::Batch(Dir::Write, _) | Rule::CacheOf(_)) => {
            &[Lower("fifo_batch"), Lower("write_batch_expire")]
        }
        Part::Behind(_, Rule::Batch(Dir::Read, _)) => &[Lower("fifo_batch"), Lower("read_batch_expire")],
        Part::Behind(_, Rule::Slice) => &[Lower("slice_sync"), Lower("timeout_sync")],
        Part::Behind(_, Rule::WriteBackSlice) => &[Lower("slice_async"), Lower("timeout_sync")],
        Part::Behind(_, Rule::Token(Domain::Read)) => &[Lower("read_lat_nsec")],
        Part::Behind(_, Rule::Token(Domain::Write)) => &[Raise("write_lat_nsec")],
        Part::Behind(_, Rule::Held(HeldBack::Quantum)) => &[Raise("quantum")],
        Part::IdleFor(_) => &[Lower("slice_idle"), Lower("antic_expire")],
        Part::IdleForGroup(_) => &[Lower("group_idle"), Lower("slice_idle")],
        Part::Behind(_, Rule::InDrive) | Part::Drive(..) => &[Depth],
        _ => &[],
    }
}

/// The knob on which most of what the jobs called `who` waited for others hangs, and how much that was.
fn decisive(teller: &Storyteller, names: &Names, who: &str, tunables: &dyn Tunables) -> Option<(Lever, Span)> {
    let mut sums: BTreeMap<Lever, Span> = BTreeMap::new();
    let blame = teller.blame();
    // Whatever went ahead of the journal's write did so until its deadline.
    let own = blame.totals().filter(|(by, _)| names.job(*by) == who);
    let (until, all) = own.fold((Span::ZERO, Span::ZERO), |(until, all), (by, total)| {
        (until + teller.until_deadline(by), all + total.time)
    });
    let deadline = Lower("write_expire");
    if until.as_ns() * 2 > all.as_ns() && deadline.is_of(tunables) {
        return Some((deadline, until));
    }
    for (by, part, cell) in blame.cells() {
        let is_own = matches!(part.whose(), Whose::Process(process) if process == by);
        if names.job(by) != who || is_own {
            continue;
        }
        let cap = match part {
            Part::Max(group) if !names.is_within(by, group) => Some(Cap(group)),
            _ => None,
        };
        if let Some(lever) = cap.or_else(|| levers(part).iter().find(|lever| lever.is_of(tunables)).copied()) {
            *sums.entry(lever).or_default() += cell.time;
        }
    }
    sums.into_iter().max_by_key(|&(_, time)| time)
}

/// The mean time of an I/O of the jobs called `who` in a run of this length; one that hangs, older at the end than any
/// that ended, counts with its age.
fn mean(teller: &Storyteller, elapsed: Span, names: &Names, who: &str) -> Option<Span> {
    let of = teller.blame().totals().filter(|(by, _)| names.job(*by) == who);
    let ended = of.fold((Span::ZERO, 0), |(time, ios), (_, total)| (time + total.time, ios + total.ios));
    let open = teller.unfinished().filter(|(begun, _)| names.job(begun.by) == who);
    let open = open.map(|(begun, at)| (begun.by, (Instant::ZERO + elapsed).since(at)));
    let hangs = open.filter(|&(by, age)| {
        teller.slowest_of_each().filter(|story| story.begun.by == by).all(|story| story.latency() < age)
    });
    let (time, ios) = hangs.fold(ended, |(time, ios), (_, age)| (time + age, ios + 1));
    (ios > 0).then(|| Span::from_ns(time.as_ns() / ios))
}

/// What a knob had to do with it.
pub(super) struct LeverSaid {
    pub text: String,
    /// Whether another value of it makes shorter what was waited for; unknown counts as yes.
    pub helps: bool,
}

impl LeverSaid {
    fn of(text: String) -> LeverSaid {
        LeverSaid { text, helps: true }
    }
}

/// What decided about the waits of the jobs called `who` in this trial: the knob, its value, and what half or twice as
/// much does in the same run. `None` if no knob of the scheduler has a part of [`NAMED`] in their time.
///
/// # Errors
/// If the run stands still.
pub(super) fn sentence(
    teller: &Storyteller,
    names: &Names,
    who: &str,
    (trial, elapsed): (&Trial, Span),
) -> Result<Option<LeverSaid>, Error> {
    let built = trial.elevator.build();
    let tunables = built.elevator.tunables();
    let Some((lever, waited)) = decisive(teller, names, who, tunables) else { return Ok(None) };
    let totals = teller.blame().totals().filter(|(by, _)| names.job(*by) == who);
    let all = totals.fold(Span::ZERO, |sum, (_, total)| sum + total.time);
    let share = waited.as_ns() as f64 / (all.as_ns() as f64).max(1.0);
    if share < NAMED {
        return Ok(None);
    }
    let Some((value, next)) = lever.turned(trial) else { return Ok(None) };
    let knob = match lever {
        Cap(group) => format!("the io.max of {} ({value})", names.group(group)),
        lever => format!("{} = {value}", lever.knob()),
    };
    let said = format!("{:.0} % of {who}'s time is what {knob} decides", 100.0 * share);
    let Some((next, changed)) = next else { return Ok(Some(LeverSaid::of(format!("{said}.")))) };
    let then = Rc::new(RefCell::new(changed.storyteller(StoriesAsked::nothing())));
    let findings = changed.simulate_before(then.clone(), Reasons::new()).map_err(Error::input)?;
    let (now, then) = (mean(teller, elapsed, names, who), mean(&then.borrow(), findings.elapsed, names, who));
    let Some((now, then)) = now.zip(then) else { return Ok(Some(LeverSaid::of(format!("{said}.")))) };
    let (before, after) = (now.as_ns() as f64, then.as_ns() as f64);
    let changes = (after - before).abs() > SAME * before;
    let (said, effect) = match !changes {
        // What changes nothing decides nothing.
        true => (format!("{:.0} % of {who}'s time is spent under {knob}", 100.0 * share), "changes little"),
        false if after < before => (said, "helps"),
        false => (said, "makes it worse"),
    };
    let effect = if matches!(lever, Cap(_)) { "without it".to_owned() } else { format!("{next} {effect}:") };
    let text = format!(
        "{said}; {effect} in a second run with the same seed its I/Os take {} on average, not {}.",
        time(then),
        time(now)
    );
    Ok(Some(LeverSaid { text, helps: changes && after < before }))
}

/// The knobs with this one changed.
fn with(knobs: &[(String, i64)], name: &str, raw: i64) -> Vec<(String, i64)> {
    let others = knobs.iter().filter(|(known, _)| known != name).cloned();
    others.chain([(name.to_owned(), raw)]).collect()
}
