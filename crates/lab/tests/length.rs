//! Runs are long enough: ten times as long, they say the same.
//!
//! **Rule** Of 40 drawn questions, a built-in job on a preset, those in which neither length says "may be chance" or
//! that it does not know get the same proposal in at least 95 of 100 cases; and as many get a proposal, within 3 in
//! 100. **Left out** The default effort: both are scaled by the same factor, so that it takes minutes and not an hour.

use blksched_lab::verdict::action::Kept;
use blksched_lab::{Comparison, FitSearch, Scene};
use blksched_workloads::QUESTIONS;

const CELLS: usize = 40;
const EFFORT: f64 = 0.3;
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
/// Disks of constant speed are no disks.
const NO_DISKS: [&str; 2] = ["null", "fixed"];

/// What is proposed; `None` for the default. Unknown if chance may explain it, or if the runs do not say.
#[derive(Debug, PartialEq)]
enum Said {
    Proposes(Option<String>),
    Unknown,
}

/// What the usual length says, and the long one, of this job on this disk.
type Judged<'a> = (Said, Said, (&'a str, &'a str));

fn said(load: &str, disk: &str, effort: f64) -> Said {
    let elevators = SCHEDULERS.map(str::to_owned).to_vec();
    let question =
        Comparison { elevators, effort, fits: FitSearch::None, ..Comparison::of(Scene::of(load, disk, 1), 3) };
    let verdict = question.answer().unwrap().verdict;
    match (&verdict.unranked, verdict.kept) {
        (Some(_), _) | (_, Some(Kept::MayBeChance | Kept::DefaultInTwoModes)) => Said::Unknown,
        _ => Said::Proposes(verdict.proposal.map(|proposal| proposal.to_string())),
    }
}

#[test]
#[ignore = "slow: 40 comparisons, each also ten times as long, some minutes"]
fn ten_times_as_long_says_the_same() {
    let disks: Vec<&str> =
        blksched_disks::preset_descriptions().map(|(name, _)| name).filter(|name| !NO_DISKS.contains(name)).collect();
    let mut state = 0x6c65_6e67_7468_u64;
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below
    };
    let cells: Vec<(&str, &str)> =
        (0..CELLS).map(|_| (QUESTIONS[draw(QUESTIONS.len())], disks[draw(disks.len())])).collect();
    let mut known: Vec<Judged> = Vec::new();
    for (load, disk) in cells {
        let (usual, long) = (said(load, disk, EFFORT), said(load, disk, 10.0 * EFFORT));
        if usual != Said::Unknown && long != Said::Unknown {
            known.push((usual, long, (load, disk)));
        }
    }
    let differ: Vec<_> = known.iter().filter(|(usual, long, _)| usual != long).collect();
    assert!(known.len() >= CELLS / 2, "only {} of {CELLS} say anything", known.len());
    assert!(20 * differ.len() <= known.len(), "{} of {} differ: {differ:#?}", differ.len(), known.len());
    let proposals = |of: &dyn Fn(&Judged) -> bool| known.iter().filter(|cell| of(cell)).count();
    let is_one = |said: &Said| matches!(said, Said::Proposes(Some(_)));
    let (usual, long) = (proposals(&|cell| is_one(&cell.0)), proposals(&|cell| is_one(&cell.1)));
    assert!(100 * usual.abs_diff(long) <= 3 * known.len(), "{usual} or {long} of {} get a proposal", known.len());
}
