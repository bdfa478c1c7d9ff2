//! The decisions that can be counted by name, as in `count(queues_merged)`, and where each count is stored.

use crate::experiment::RunOutcome;

type Decision = (&'static str, fn(&RunOutcome) -> u64);

const DECISIONS: [Decision; 12] = [
    ("reads_first", |outcome| outcome.tally.reads_first),
    ("writes_starved", |outcome| outcome.tally.writes_starved),
    ("aliases_forced", |outcome| outcome.tally.aliases_forced),
    ("slices", |outcome| outcome.reasons.turns().began),
    ("cooperators_found", |outcome| outcome.reasons.turns().cooperators),
    ("merges_planned", |outcome| outcome.reasons.turns().merges_planned),
    ("queues_merged", |outcome| outcome.reasons.turns().merged),
    ("queues_split", |outcome| outcome.reasons.turns().split),
    ("held_back", |outcome| outcome.reasons.turns().held_back_in_all()),
    ("not_idled", |outcome| outcome.reasons.turns().not_idled_in_all()),
    ("armed", |outcome| outcome.tally.armed),
    ("took_oldest", |outcome| outcome.tally.took_oldest),
];

/// Their names.
pub(super) const NAMES: &[&str] = &{
    let mut names = [""; DECISIONS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = DECISIONS[at].0;
        at += 1;
    }
    names
};

/// How often the decision with this name was made.
pub(super) fn count(outcome: &RunOutcome, name: &str) -> u64 {
    DECISIONS.iter().find(|(known, _)| *known == name).expect("arguments are checked").1(outcome)
}
