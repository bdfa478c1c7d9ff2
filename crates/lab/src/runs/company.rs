//! Who ran beside whom, and what was done meanwhile: jobs come and go.
//!
//! **Rule** A row is there from its first submission until it has ended. The times at which the same rows are there are
//! taken together. What each did in them is what it had done at their ends less what it had done at their beginnings
//! ([`Change`]), so percentiles are known as for the whole run.

use blksched::{Instant, Span};
use blksched_measure::{Tally, Work};
use blksched_simulate::{Change, Findings};
use blksched_workloads::Plan;

use super::work_done::Done;

/// Phases of more rows than these are no phases to a reader.
const MOST_ROWS: usize = 32;
/// A phase of a smaller part of the run says nothing.
const LEAST: f64 = 0.02;

/// Rows that ran side by side.
pub(crate) struct Company {
    /// The rows, in order.
    pub(crate) rows: Vec<usize>,
    /// The part of the run in which they did, and nobody else, and which counts for all of them.
    pub(crate) part: f64,
    /// What each of them did in that time, by [`Work`]; a warm-up does not count.
    pub(crate) done: Vec<[Done; 4]>,
}

/// From when to when a row was there.
type Stay = (Instant, Instant);

/// All companies of a run, in the order in which they first met; empty if nobody came or went, or if there are too many
/// rows.
pub(crate) fn companies(plan: &Plan, run: &Findings) -> Vec<Company> {
    let rows = plan.members_by_row();
    if rows.len() > MOST_ROWS || run.changes.is_empty() {
        return Vec::new();
    }
    let stays: Vec<Option<Stay>> = rows.iter().map(|members| stay(run, members)).collect();
    let end = Instant::ZERO + run.elapsed;
    let last = run.changes.last().filter(|change| change.at < end);
    let known: Vec<Instant> = run.changes.iter().map(|change| change.at).chain(last.map(|_| end)).collect();
    let sets = sets(&stays, &known);
    if sets.len() < 2 {
        return Vec::new();
    }
    let of = |(set, times): (Vec<usize>, Vec<Stay>)| {
        let all: Vec<usize> = set.iter().flat_map(|&row| rows[row].iter().copied()).collect();
        let part = counted(run, &all, &times).as_secs_f64() / run.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        (part >= LEAST).then(|| {
            let done = set.iter().map(|&row| done(run, &rows[row], &times)).collect();
            Company { rows: set, part, done }
        })
    };
    sets.into_iter().filter_map(of).collect()
}

/// `None` if it did nothing.
fn stay(run: &Findings, members: &[usize]) -> Option<Stay> {
    let ended = |&job: &usize| run.jobs[job].exited.unwrap_or(Instant::ZERO + run.elapsed);
    Some((members.iter().filter_map(|&job| run.jobs[job].came).min()?, members.iter().map(ended).max()?))
}

/// Each set of rows that was there at the same time, and when; between two moments of which is `known` what had been
/// done by then. Where somebody came or went between such moments, nothing is known.
fn sets(stays: &[Option<Stay>], known: &[Instant]) -> Vec<(Vec<usize>, Vec<Stay>)> {
    let mut sets: Vec<(Vec<usize>, Vec<Stay>)> = Vec::new();
    let is_between = |pair: &[Instant], at: Instant| pair[0] < at && at < pair[1];
    let is_steady = |pair: &&[Instant]| {
        !stays.iter().flatten().any(|&(from, until)| is_between(pair, from) || is_between(pair, until))
    };
    for pair in known.windows(2).filter(is_steady) {
        let is_there = |stay: &Option<Stay>| stay.is_some_and(|(from, until)| from <= pair[0] && pair[1] <= until);
        let set: Vec<usize> = (0..stays.len()).filter(|&row| is_there(&stays[row])).collect();
        match sets.iter_mut().find(|(known, _)| *known == set) {
            _ if set.is_empty() => {}
            Some((_, times)) => times.push((pair[0], pair[1])),
            None => sets.push((set, vec![(pair[0], pair[1])])),
        }
    }
    sets
}

fn length(times: &[Stay]) -> Span {
    times.iter().fold(Span::ZERO, |sum, (from, until)| sum + until.since(*from))
}

/// What these processes did in these times, which begin and end at moments that are known.
fn done(run: &Findings, members: &[usize], times: &[Stay]) -> [Done; 4] {
    Work::ALL.map(|work| {
        let mut sum = Tally::default();
        for &job in members {
            for &(from, until) in times {
                sum.merge(&by(run, job, work, until).since(&by(run, job, work, from)));
            }
        }
        Done::of_tally(&sum, counted(run, members, times))
    })
}

/// What a process had done by a moment.
fn by(run: &Findings, job: usize, work: Work, at: Instant) -> Tally {
    let known = |change: &&Change| change.at == at;
    let change = run.changes.iter().find(known);
    change.map_or_else(|| Tally::of(run.jobs[job].record.work(work)), |change| change.done[job][work as usize].clone())
}

/// How much of these times counts for all of these processes: not what was before a warm-up's end.
fn counted(run: &Findings, members: &[usize], times: &[Stay]) -> Span {
    let begins = |&job: &usize| {
        let record = &run.jobs[job].record;
        Instant::ZERO + record.ended.since(Instant::ZERO + record.runtime)
    };
    let begins = members.iter().map(begins).max().unwrap_or(Instant::ZERO);
    length(&times.iter().map(|&(from, until)| (from.max(begins).min(until), until)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn the_times_at_which_the_same_rows_are_there_are_one_company() {
        let (whole, update) = (Some((at(0), at(100))), Some((at(30), at(50))));
        let known = [0, 30, 50, 100].map(at);
        assert_eq!(sets(&[whole], &[at(0), at(100)]), [(vec![0], vec![(at(0), at(100))])]);
        let expected = [(vec![0], vec![(at(0), at(30)), (at(50), at(100))]), (vec![0, 1], vec![(at(30), at(50))])];
        assert_eq!(sets(&[whole, update, None], &known), expected);
        // One after the other: nobody is there between them.
        let (first, second) = (Some((at(0), at(40))), Some((at(60), at(100))));
        let both = [(vec![0], vec![(at(0), at(40))]), (vec![1], vec![(at(60), at(100))])];
        assert_eq!(sets(&[first, second], &[0, 40, 60, 100].map(at)), both);
        assert_eq!(length(&expected[0].1), Span::from_ms(80));
        // What was done until 30 ms is not known: nothing is said of the time around it.
        let less = [(vec![0], vec![(at(50), at(100))])];
        assert_eq!(sets(&[whole, update], &[0, 50, 100].map(at)), less);
    }
}
