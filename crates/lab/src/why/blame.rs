//! Who waited for whom, under which rule, over the whole run.

use std::collections::{BTreeMap, BTreeSet};

use blksched::{Span, SubmitterId};
use blksched_measure::{Cell, Column, Quantity, Table};
use blksched_simulate::story::{Blame, Leg, Whose};
use blksched_workloads::{JobPlan, Plan, Syncs};

use super::lever::NAMED;
use super::names::{Names, WRITE_BACK};
use super::phrase::{rule, time};
use crate::verdict::role::Role;

/// To blame for a process's own `io.max`.
pub(super) const OWN_GROUP: &str = "its own group";

/// The key of a row: the processes of one name, those of another, and a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlameKey {
    /// Who waited.
    pub who: String,
    /// Where the I/O was meanwhile.
    pub leg: Leg,
    /// `None` if no job is to blame.
    pub whom: Option<String>,
    /// Why.
    pub rule: &'static str,
}

/// All waits, summed by name.
pub struct Rows {
    /// Each with its time and its number of I/Os, the costliest first.
    pub rows: Vec<(BlameKey, Span, u64)>,
    /// All I/O time of each name, and its number of I/Os.
    pub totals: BTreeMap<String, (Span, u64)>,
    /// The names asked for; all if empty.
    only: BTreeSet<String>,
}

impl Rows {
    /// The waits of all processes, or of these alone.
    pub fn of(blame: &Blame, names: &Names, only: &BTreeSet<SubmitterId>) -> Rows {
        let counts = |by: SubmitterId| only.is_empty() || only.contains(&by);
        let mut rows: BTreeMap<BlameKey, (Span, u64)> = BTreeMap::new();
        for (by, part, cell) in blame.cells().filter(|&(by, ..)| counts(by)) {
            let whom = match part.whose() {
                Whose::Process(process) if process == by => Some("itself".to_owned()),
                Whose::Process(process) if names.job(process) == names.job(by) => {
                    Some(format!("another {}", names.job(by)))
                }
                Whose::Process(process) => Some(names.job(process)),
                Whose::Flush if !part.is_service() => Some("a flush".to_owned()),
                Whose::Group(group) if names.is_within(by, group) => Some(OWN_GROUP.to_owned()),
                Whose::Group(group) => Some(names.group(group)),
                Whose::Flush | Whose::Nobody => None,
            };
            let key = BlameKey { who: names.job(by), leg: part.leg(), whom, rule: rule(part) };
            let row = rows.entry(key).or_default();
            row.0 += cell.time;
            row.1 += cell.ios;
        }
        let mut totals: BTreeMap<String, (Span, u64)> = BTreeMap::new();
        for (by, total) in blame.totals().filter(|&(by, _)| counts(by)) {
            let sum = totals.entry(names.job(by)).or_default();
            sum.0 += total.time;
            sum.1 += total.ios;
        }
        let mut rows: Vec<_> = rows.into_iter().map(|(key, (time, ios))| (key, time, ios)).collect();
        rows.sort_by_key(|row| core::cmp::Reverse(row.1));
        let only = only.iter().map(|&by| names.job(by)).collect();
        Rows { rows, totals, only }
    }

    /// Whether the processes of this name are among those asked for.
    pub(super) fn is_about(&self, who: &str) -> bool {
        self.only.is_empty() || self.only.contains(who)
    }

    /// The costliest rows; the others are summed up in a note.
    pub fn table(&self, most: usize) -> Table {
        let mut table = Table::new(
            "who waited for whom",
            vec![
                Column::words("who", "who waited"),
                Column::words("whom", "for whom"),
                Column::words("rule", "why"),
                Column::words("leg", "where"),
                Column::numbers("time", "time", Quantity::Time),
                Column::numbers("share", "of its time", Quantity::Fraction),
                Column::numbers("ios", "I/Os", Quantity::Count),
            ],
        );
        for (key, time, ios) in self.rows.iter().take(most) {
            table.row([
                key.who.as_str().into(),
                key.whom.as_deref().unwrap_or("-").into(),
                key.rule.into(),
                super::phrase::leg(key.leg).into(),
                Cell::from(time.as_ns() as f64),
                Cell::from(self.share(key, *time)),
                (*ios).into(),
            ]);
        }
        let rest = self.rows.iter().skip(most).fold(Span::ZERO, |sum, row| sum + row.1);
        if !rest.is_zero() {
            table.note(format!("{} more rows, {} together: --json has all", self.rows.len() - most, time(rest)));
        }
        table
    }

    /// The part of a name's whole I/O time that it spent this way.
    fn share(&self, key: &BlameKey, time: Span) -> f64 {
        self.part(&key.who, time)
    }

    /// The part that this is of a name's whole I/O time.
    fn part(&self, who: &str, time: Span) -> f64 {
        time.as_ns() as f64 / self.totals.get(who).map_or(1.0, |total| (total.0.as_ns() as f64).max(1.0))
    }

    /// The job that others waited for longest, and the rule that cost most; waits of background jobs count only if all
    /// jobs are background jobs, and no job that only fills memory waits for write-back as for another. Nothing below
    /// a fifth of its waiter's time is named.
    pub fn culprit(&self, plan: Option<&Plan>) -> Option<Culprit> {
        let background: BTreeSet<&str> = plan.map_or(BTreeSet::new(), background);
        let by_memory: BTreeSet<&str> = plan.map_or(BTreeSet::new(), writers_by_memory);
        let all_are = self.totals.keys().all(|who| background.contains(who.as_str()));
        let counts = |who: &str| all_are || !background.contains(who);
        let blamed = |(key, ..): &&(BlameKey, Span, u64)| {
            let whom = key.whom.as_deref();
            // What write-back writes then is what they wrote.
            let is_own = by_memory.contains(key.who.as_str()) && whom.is_some_and(|whom| whom.starts_with(WRITE_BACK));
            counts(&key.who)
                && !is_own
                && whom.is_some_and(|whom| {
                    !["itself", "a flush", OWN_GROUP].contains(&whom) && !whom.starts_with("another ")
                })
        };
        let mut pairs: BTreeMap<(&str, &str), Span> = BTreeMap::new();
        for (key, time, _) in self.rows.iter().filter(blamed) {
            *pairs.entry((key.whom.as_deref().unwrap_or_default(), &key.who)).or_default() += *time;
        }
        pairs.retain(|(_, who), time| self.part(who, *time) >= NAMED);
        let mut by_whom: BTreeMap<&str, (Span, Span)> = BTreeMap::new();
        for (&(whom, who), time) in &pairs {
            let (sum, all) = by_whom.entry(whom).or_default();
            *sum += *time;
            *all += self.totals.get(who).map_or(Span::ZERO, |total| total.0);
        }
        // Not by time alone: a job with many I/Os in flight waits for hours within a second.
        let percent = |sum: Span, all: Span| 100.0 * sum.as_ns() as f64 / (all.as_ns() as f64).max(1.0);
        let worst = |&(_, (sum, all)): &(&str, (Span, Span))| (1e6 * percent(sum, all)) as u64;
        let (whom, (sum, all)) = by_whom.into_iter().max_by_key(worst)?;
        let percent = percent(sum, all);
        let of = |(key, ..): &&(BlameKey, Span, u64)| {
            key.whom.as_deref() == Some(whom) && pairs.contains_key(&(whom, key.who.as_str()))
        };
        let share = |row: &&(BlameKey, Span, u64)| (1e6 * self.share(&row.0, row.1)) as u64;
        let (key, time_of_worst, _) = self.rows.iter().filter(blamed).filter(of).max_by_key(share)?;
        let who = &key.who;
        // The rules in the drive say that they are there.
        let place = match key.leg {
            Leg::Drive => String::new(),
            leg => format!(", {}", super::phrase::leg(leg)),
        };
        let worst = time(*time_of_worst);
        let most = match self.share(key, *time_of_worst) >= NAMED {
            true if *time_of_worst * 2 >= sum => format!("most of it {worst} ({who}: {}{place})", key.rule),
            true => format!("hardest hit {who}: {worst} of its {} ({}{place})", time(self.totals[who].0), key.rule),
            false => "for no single reason".to_owned(),
        };
        let sentence = format!(
            "Others waited most for {whom}, as a part of their time: {} of their {} ({percent:.0} %), {most}.",
            time(sum),
            time(all)
        );
        Some(Culprit { who: who.clone(), sentence })
    }

    /// What the largest part of this job's time went to, in a sentence; `None` if nothing has a part of [`NAMED`].
    pub(super) fn most_of(&self, who: &str) -> Option<String> {
        let (key, most, _) = self.rows.iter().find(|(key, ..)| key.who == who)?;
        let percent = 100.0 * self.share(key, *most);
        let all = time(self.totals.get(who)?.0);
        let place = if key.leg == Leg::Service { ", in the drive" } else { "" };
        let (rule, most) = (key.rule, time(*most));
        let said = format!("The largest part of {who}'s I/O time: {rule}{place}, {most} of {all} ({percent:.0} %).");
        (percent >= 100.0 * NAMED).then_some(said)
    }
}

/// The job that others waited for longest.
pub struct Culprit {
    /// Who waited for it longest.
    pub who: String,
    /// All of it in a sentence.
    pub sentence: String,
}

/// The names of jobs that only write, into memory, and never wait until it is on the disk.
fn writers_by_memory(plan: &Plan) -> BTreeSet<&str> {
    let writes = |job: &&JobPlan| {
        let does = &job.character;
        job.is_buffered && does.writes && !does.reads && does.syncs == Syncs::Never
    };
    plan.jobs.iter().filter(writes).map(|job| job.name.as_str()).collect()
}

/// The names of jobs that no user waits for.
fn background(plan: &Plan) -> BTreeSet<&str> {
    let rows = (0..plan.rows()).map(|row| plan.members(row));
    let background = rows.filter(|members| Role::of(plan, members).0 == Role::Background);
    background.map(|members| plan.jobs[members[0]].name.as_str()).collect()
}
