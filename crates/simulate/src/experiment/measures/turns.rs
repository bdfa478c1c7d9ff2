//! Slices (CFQ and related schedulers): why they ended.

use blksched::reasons::{Preempt, SliceEnd};

use super::argument::Argument;
use super::{Measure, Needs};

/// The names in experiments of the reasons why a slice ended; all preemptions have one name.
const ENDS: [(&str, SliceEnd); 7] = [
    ("used", SliceEnd::Used),
    ("nothing_queued", SliceEnd::NothingQueued),
    ("cooperator", SliceEnd::Cooperator),
    ("idled_in_vain", SliceEnd::IdledInVain),
    ("async_share", SliceEnd::AsyncShare),
    ("preempted", SliceEnd::Preempted(Preempt::Close)),
    ("gone", SliceEnd::Gone),
];
const WORDS: &[&str] = &["used", "nothing_queued", "cooperator", "idled_in_vain", "async_share", "preempted", "gone"];

pub(super) const MEASURES: &[Measure] = &[Measure {
    name: "turns_ended",
    needs: Needs::Counts,
    arguments: &[Argument::Word(WORDS)],
    unit: "",
    doc: "how many slices ended for this reason: time used up, nothing queued and not waited for, \
          a cooperator served next, waited for in vain, preempted, exited",
    values: |outcome, words| {
        let end = ENDS.iter().find(|(name, _)| *name == words[0]).expect("arguments are checked").1;
        vec![outcome.reasons.turns().ended(end) as f64]
    },
}];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_its_reason() {
        assert_eq!(ENDS.map(|(name, _)| name), WORDS);
    }
}
