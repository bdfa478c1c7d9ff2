//! Measures of processes: run time, rate, latencies of I/Os. There is one value per selected process.

use blksched::Span;

use super::argument::{Argument, STATISTICS, processes, window};
use super::{Measure, Needs};
use crate::experiment::outcome::{ProcessOutcome, RunOutcome};

const PROCESS: &[Argument] = &[Argument::Process];

pub(super) const MEASURES: &[Measure] = &[
    Measure {
        name: "finish",
        needs: Needs::Exit,
        arguments: PROCESS,
        unit: "s",
        doc: "how long it ran, from its start to its exit; a row is outside if it did not end",
        values: |outcome, words| each(outcome, &words[0], |p| p.ran().map_or(f64::NAN, |ran| ran.as_secs_f64())),
    },
    Measure {
        name: "rate",
        needs: Needs::Processes,
        arguments: PROCESS,
        unit: "MB/s",
        doc: "what it read and wrote in the time that it ran, in units of 10^6 bytes",
        values: |outcome, words| each(outcome, &words[0], |p| bytes(p) / 1e6 / seconds(outcome, p)),
    },
    Measure {
        name: "rate_in",
        needs: Needs::Rates,
        arguments: &[Argument::Process, Argument::Window],
        unit: "MB/s",
        doc: "the same in that interval of the run, however long it ran",
        values: |outcome, words| {
            let (from, to) = window(&words[1]).expect("arguments are checked");
            each(outcome, &words[0], |p| rate_in(&p.bytes_by_second, from, to))
        },
    },
    Measure {
        name: "kib",
        needs: Needs::Processes,
        arguments: PROCESS,
        unit: "KiB",
        doc: "what it read and wrote",
        values: |outcome, words| each(outcome, &words[0], |p| bytes(p) / 1024.0),
    },
    Measure {
        name: "ios",
        needs: Needs::Processes,
        arguments: PROCESS,
        unit: "",
        doc: "how many I/Os it had completed",
        values: |outcome, words| {
            each(outcome, &words[0], |p| (p.latency.read.count() + p.latency.write.count()) as f64)
        },
    },
    Measure {
        name: "latency",
        needs: Needs::Processes,
        arguments: &[Argument::Process, Argument::Word(STATISTICS)],
        unit: "ms",
        doc: "of its reads, from submission to completion",
        values: |outcome, words| each(outcome, &words[0], |p| latency(p, &words[1])),
    },
    Measure {
        name: "latency_of_all",
        needs: Needs::Processes,
        arguments: &[Argument::Process, Argument::Word(STATISTICS)],
        unit: "ms",
        doc: "of the reads of all these processes together, as fio's group_reporting shows it; one value",
        values: |outcome, words| {
            let all: Vec<&ProcessOutcome> = processes(outcome, &words[0]).collect();
            vec![latency_of_all(&all, &words[1])]
        },
    },
    Measure {
        name: "late",
        needs: Needs::Processes,
        arguments: &[Argument::Process, Argument::Time],
        unit: "",
        doc: "how many of its reads took longer than this, from submission to completion: frames dropped",
        values: |outcome, words| {
            let limit: Span = words[1].parse().unwrap_or(Span::MAX);
            each(outcome, &words[0], |p| late(&p.reads_us, limit) as f64)
        },
    },
    Measure {
        name: "settled",
        needs: Needs::Processes,
        arguments: &[Argument::Process, Argument::Time],
        unit: "s",
        doc: "how long after its start its reads began to take no longer than this on average, 32 at a time, and went \
              on so; of a process that reads one by one without a pause; none if they never did",
        values: |outcome, words| {
            let limit: Span = words[1].parse().unwrap_or(Span::ZERO);
            each(outcome, &words[0], |p| settled(&p.reads_us, limit))
        },
    },
    Measure {
        name: "given",
        needs: Needs::Reasons,
        arguments: PROCESS,
        unit: "s",
        doc: "how much of the disk's time it was given",
        values: |outcome, words| each(outcome, &words[0], |p| p.share.given.as_secs_f64()),
    },
    Measure {
        name: "served",
        needs: Needs::Reasons,
        arguments: PROCESS,
        unit: "s",
        doc: "how long its queue was the one being served, idling for it included (CFQ; write-back is not in it); \
              under a scheduler without slices as `given`",
        values: |outcome, words| each(outcome, &words[0], |p| p.served.as_secs_f64()),
    },
    Measure {
        name: "asked",
        needs: Needs::Reasons,
        arguments: PROCESS,
        unit: "s",
        doc: "how long it had a request queued or in flight, or slept for a slot",
        values: |outcome, words| each(outcome, &words[0], |p| p.share.asked.as_secs_f64()),
    },
];

fn each(outcome: &RunOutcome, pattern: &str, value: impl Fn(&ProcessOutcome) -> f64) -> Vec<f64> {
    processes(outcome, pattern).map(value).collect()
}

fn bytes(process: &ProcessOutcome) -> f64 {
    (process.bytes.read + process.bytes.write) as f64
}

/// The mean over the whole seconds of a window \[MB/s\].
fn rate_in(by_second: &[u64], from: Span, to: Span) -> f64 {
    let whole = |span: Span| (span.as_ns() / 1_000_000_000) as usize;
    let (from, to) = (whole(from), whole(to));
    let bytes: u64 = by_second.iter().take(to).skip(from).sum();
    match to > from {
        true => bytes as f64 / 1e6 / (to - from) as f64,
        false => f64::NAN,
    }
}

/// How long it ran; until the end of the run if it did not exit.
fn seconds(outcome: &RunOutcome, process: &ProcessOutcome) -> f64 {
    let to_the_end = || (blksched::Instant::ZERO + outcome.elapsed).since(process.began);
    process.ran().unwrap_or_else(to_the_end).as_secs_f64()
}

fn latency(process: &ProcessOutcome, statistic: &str) -> f64 {
    match statistic {
        "mean" => process.latency.read.mean() / 1e6,
        "max" => process.latency.read.max() as f64 / 1e6,
        "p50" => percentile(&process.reads_us, 50),
        _ => percentile(&process.reads_us, 99),
    }
}

fn latency_of_all(processes: &[&ProcessOutcome], statistic: &str) -> f64 {
    let all: Vec<u32> = processes.iter().flat_map(|process| process.reads_us.iter().copied()).collect();
    match statistic {
        "mean" => all.iter().map(|&us| f64::from(us)).sum::<f64>() / all.len() as f64 / 1e3,
        "max" => percentile(&all, 100),
        "p50" => percentile(&all, 50),
        _ => percentile(&all, 99),
    }
}

/// The least value that this percentage does not exceed \[ms\].
fn percentile(all_us: &[u32], percent: usize) -> f64 {
    let mut sorted = all_us.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).map_or(f64::NAN, |&us| f64::from(us) / 1e3)
}

/// How many took longer than `limit`.
fn late(all_us: &[u32], limit: Span) -> usize {
    all_us.iter().filter(|&&us| u64::from(us) * 1000 > limit.as_ns()).count()
}

/// The number of reads in one group.
const A_MOMENT: usize = 32;

/// The end of the last group whose reads took longer on average \[s\].
fn settled(all_us: &[u32], limit: Span) -> f64 {
    let slow = |moment: &[u32]| {
        let sum: u64 = moment.iter().map(|&us| u64::from(us) * 1000).sum();
        sum > limit.as_ns() * moment.len() as u64
    };
    let moments = all_us.len() / A_MOMENT;
    let last = all_us.chunks_exact(A_MOMENT).rposition(slow).map_or(0, |last| last + 1);
    if moments == 0 || last == moments {
        return f64::NAN;
    }
    all_us[..last * A_MOMENT].iter().map(|&us| f64::from(us)).sum::<f64>() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_settled_after_the_last_moment_that_was_too_slow() {
        let ms = Span::from_ms;
        let reads = [vec![1000; 64], vec![5000; 32], vec![1000; 32]].concat();
        assert_eq!(settled(&reads, ms(2)), (64.0 + 160.0) / 1e3);
        assert_eq!(settled(&reads, ms(5)), 0.0);
        assert!(settled(&reads, Span::from_us(999)).is_nan(), "it never did");
        assert!(settled(&reads[..31], ms(9)).is_nan(), "nobody knows");
    }

    #[test]
    fn a_percentile_is_one_of_the_values_and_nothing_of_none() {
        assert_eq!((percentile(&[4000, 1000, 3000, 2000], 50), percentile(&[1000], 99)), (2.0, 1.0));
        assert!(percentile(&[], 50).is_nan());
    }

    #[test]
    fn a_rate_in_a_stretch_counts_its_seconds_only() {
        let second = Span::from_secs;
        let by_second = [7_000_000, 1_000_000, 3_000_000];
        assert_eq!(rate_in(&by_second, second(1), second(3)), 2.0);
        assert_eq!(rate_in(&by_second, second(1), second(5)), 1.0);
        assert!(rate_in(&by_second, second(2), second(2)).is_nan());
    }

    #[test]
    fn late_is_what_took_longer_than_the_limit_and_not_what_took_just_as_long() {
        assert_eq!(late(&[39_999, 40_000, 40_001, u32::MAX], Span::from_ms(40)), 2);
    }
}
