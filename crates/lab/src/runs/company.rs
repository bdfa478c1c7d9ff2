//! Who ran beside whom, and what was done meanwhile: jobs come and go.
//!
//! **Rule** A row is there from its first completion until it has ended. The times at which the same rows are there are
//! taken together.

use blksched::{Instant, Span};
use blksched_measure::{Series, Work};
use blksched_simulate::Findings;
use blksched_workloads::Plan;

use super::half::Half;

/// Phases of more rows than these are no phases to a reader.
const MOST_ROWS: usize = 32;
/// A phase of a smaller part of the run says nothing.
const LEAST: f64 = 0.02;

/// Rows that ran side by side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Company {
    /// The rows, in order.
    pub(crate) rows: Vec<usize>,
    /// The part of the run in which they did, and nobody else, their warm-up left out.
    pub(crate) part: f64,
    /// What each of them did in that time, by [`Work`].
    pub(crate) done: Vec<[Half; 4]>,
}

/// From when to when a row was there.
type Stay = (Instant, Instant);

/// All companies of a run, in the order in which they first met; empty if nobody came or went, or if there are too many
/// rows.
pub(crate) fn companies(plan: &Plan, run: &Findings) -> Vec<Company> {
    let rows = plan.members_by_row();
    if rows.len() > MOST_ROWS {
        return Vec::new();
    }
    let stays: Vec<Option<Stay>> = rows.iter().map(|members| stay(run, members)).collect();
    let begins: Vec<Instant> =
        rows.iter().zip(&stays).map(|(members, stay)| counts_from(plan, members, *stay)).collect();
    let sets = sets(&stays);
    if sets.len() < 2 {
        return Vec::new();
    }
    let of = |(set, times): (Vec<usize>, Vec<Stay>)| {
        let from = set.iter().map(|&row| begins[row]).max().unwrap_or(Instant::ZERO);
        let times: Vec<Stay> = times.into_iter().map(|(begin, until)| (begin.max(from).min(until), until)).collect();
        let part = length(&times).as_secs_f64() / run.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        (part >= LEAST).then(|| {
            let done = set.iter().map(|&row| done(run, &rows[row], &times)).collect();
            Company { rows: set, part, done }
        })
    };
    sets.into_iter().filter_map(of).collect()
}

/// From when on what these processes do counts.
fn counts_from(plan: &Plan, members: &[usize], stay: Option<Stay>) -> Instant {
    let ramp = members.iter().map(|&job| plan.jobs[job].report.ramp).max().unwrap_or_default();
    stay.map_or(Instant::ZERO, |(from, _)| from + ramp)
}

/// `None` if it did nothing.
fn stay(run: &Findings, members: &[usize]) -> Option<Stay> {
    let first = |&job: &usize| run.jobs[job].series.iter().filter_map(Series::first).min();
    let ended = |&job: &usize| run.jobs[job].exited.unwrap_or(Instant::ZERO + run.elapsed);
    Some((members.iter().filter_map(first).min()?, members.iter().map(ended).max()?))
}

/// Each set of rows that was there at the same time, and when.
fn sets(stays: &[Option<Stay>]) -> Vec<(Vec<usize>, Vec<Stay>)> {
    let mut moments: Vec<Instant> = stays.iter().flatten().flat_map(|&(from, until)| [from, until]).collect();
    moments.sort_unstable();
    moments.dedup();
    let mut sets: Vec<(Vec<usize>, Vec<Stay>)> = Vec::new();
    for pair in moments.windows(2) {
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

/// What these processes did in these times, which are not empty.
fn done(run: &Findings, members: &[usize], times: &[Stay]) -> [Half; 4] {
    Work::ALL.map(|work| {
        let mut series = Series::default();
        members.iter().for_each(|&job| series.merge(&run.jobs[job].series[work as usize]));
        let (mut ios, mut latency) = (0, 0.0);
        for &(from, until) in times {
            let stretch = series.between(from, until);
            ios += stretch.ios;
            latency += if stretch.ios == 0 { 0.0 } else { stretch.mean() * stretch.ios as f64 };
        }
        let mean = if ios == 0 { f64::NAN } else { latency / ios as f64 };
        Half { iops: ios as f64 / length(times).as_secs_f64().max(f64::MIN_POSITIVE), mean }
    })
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
        assert_eq!(sets(&[whole]), [(vec![0], vec![(at(0), at(100))])]);
        let expected = [(vec![0], vec![(at(0), at(30)), (at(50), at(100))]), (vec![0, 1], vec![(at(30), at(50))])];
        assert_eq!(sets(&[whole, update, None]), expected);
        // One after the other: nobody is there between them.
        let (first, second) = (Some((at(0), at(40))), Some((at(60), at(100))));
        assert_eq!(sets(&[first, second]), [(vec![0], vec![(at(0), at(40))]), (vec![1], vec![(at(60), at(100))])]);
        assert_eq!(length(&expected[0].1), Span::from_ms(80));
    }
}
