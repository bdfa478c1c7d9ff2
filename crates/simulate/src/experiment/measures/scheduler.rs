//! Measures of the scheduler's decisions, computed from its reasons: waiting by cause, batches, decisions, the cost of
//! searches.

use blksched::Span;
use blksched::reasons::BatchStart;

use super::argument::{Argument, dir, index, waited};
use super::decision;
use super::{Measure, Needs};

const DIR: &[Argument] = &[Argument::Dir];
const INDEX: &[Argument] = &[Argument::Index];

pub(super) const MEASURES: &[Measure] = &[
    Measure {
        name: "waiting",
        needs: Needs::Reasons,
        arguments: &[Argument::Dir, Argument::Word(super::argument::STATISTICS)],
        unit: "ms",
        doc: "how long a request waited in the scheduler",
        values: |outcome, words| {
            let histogram = &outcome.reasons.waiting(dir(&words[0])).histogram;
            let ms = match words[1].as_str() {
                "mean" => histogram.mean() / 1e6,
                "max" => histogram.max().as_ms_f64(),
                "p50" => histogram.percentile(50.0).as_ms_f64(),
                _ => histogram.percentile(99.0).as_ms_f64(),
            };
            vec![ms]
        },
    },
    Measure {
        name: "waited_for",
        needs: Needs::Reasons,
        arguments: &[Argument::Dir, Argument::Cause],
        unit: "%",
        doc: "the part of that waiting which had this cause; `own` are requests of the same direction, the next six \
              the other direction's by what began their batch",
        values: |outcome, words| {
            let waiting = outcome.reasons.waiting(dir(&words[0]));
            let part = waited(waiting, dir(&words[0]), &words[1]).as_secs_f64() / waiting.total().as_secs_f64();
            vec![100.0 * part]
        },
    },
    Measure {
        name: "batches",
        needs: Needs::Reasons,
        arguments: DIR,
        unit: "",
        doc: "how many batches began (deadline and its kin)",
        values: |outcome, words| vec![outcome.reasons.batches().count(dir(&words[0])) as f64],
    },
    Measure {
        name: "batch_length",
        needs: Needs::Reasons,
        arguments: DIR,
        unit: "requests",
        doc: "the mean length of a batch",
        values: |outcome, words| vec![outcome.reasons.batches().lengths(dir(&words[0])).mean()],
    },
    Measure {
        name: "batch_after_other",
        needs: Needs::Reasons,
        arguments: DIR,
        unit: "requests",
        doc: "the mean length of a batch of 2.5 that came directly after one of the other direction",
        values: |outcome, words| vec![outcome.tally.after_other[dir(&words[0])].mean()],
    },
    Measure {
        name: "batches_expired",
        needs: Needs::Reasons,
        arguments: DIR,
        unit: "",
        doc: "how many batches began because the oldest request's time was up",
        values: |outcome, words| {
            let expired = BatchStart::Expired { late: Span::ZERO };
            vec![outcome.reasons.batches().started_at(dir(&words[0]), expired) as f64]
        },
    },
    Measure {
        name: "most_passed_over",
        needs: Needs::Reasons,
        arguments: &[],
        unit: "",
        doc: "the most times in a row that waiting writes were passed over for reads",
        values: |outcome, _| vec![f64::from(outcome.tally.most_passed_over)],
    },
    Measure {
        name: "count",
        needs: Needs::Counts,
        arguments: &[Argument::Word(decision::NAMES)],
        unit: "",
        doc: "how often a decision was made",
        values: |outcome, words| vec![decision::count(outcome, &words[0]) as f64],
    },
    Measure {
        name: "searches",
        needs: Needs::Counts,
        arguments: INDEX,
        unit: "",
        doc: "how many searches went through that index",
        values: |outcome, words| vec![outcome.reasons.effort().of(index(&words[0])).count() as f64],
    },
    Measure {
        name: "steps",
        needs: Needs::Counts,
        arguments: INDEX,
        unit: "",
        doc: "nodes visited or comparisons made by a search, on average",
        values: |outcome, words| vec![outcome.reasons.effort().of(index(&words[0])).mean()],
    },
];
