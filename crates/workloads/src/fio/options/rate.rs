//! Options about pace: think time, rates, what a job gives up at, flows.

use blksched::Span;

use super::{Category, OptionEntry, OptionKind, supported_entry};
use crate::fio::process::MAX_WEIGHT;
use crate::fio::settings::{AfterThinking, RateProcess, Settings, ThinksAfter};
use crate::fio::values::{Bare, ValueError, expected};

const fn entry(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: OptionKind,
    doc: &'static str,
) -> OptionEntry {
    supported_entry(name, aliases, Category::Rate, kind, doc)
}

fn set_process(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.pace.rate_process = if word == "poisson" { RateProcess::Poisson } else { RateProcess::Linear };
    Ok(())
}

fn set_thinks_after(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.pace.thinks_after = if word == "issue" { ThinksAfter::Submission } else { ThinksAfter::Completion };
    Ok(())
}

fn read_percentile(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    match text.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => settings.pace.latency_percentile = percent,
        _ => return expected("a percentage above 0, at most 100"),
    }
    Ok(())
}

const MICROSECONDS: Bare = Bare::Microseconds;

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry(
        "thinktime",
        &[],
        OptionKind::Time { bare: MICROSECONDS, set: |s, span| s.pace.thinktime = span },
        "pause after an I/O has completed, before the next",
    ),
    entry(
        "thinktime_blocks",
        &[],
        OptionKind::Int { min: 1, max: u64::MAX, set: |s, blocks| s.pace.thinktime_blocks = Some(blocks) },
        "I/Os between two pauses of thinktime",
    ),
    entry(
        "thinktime_blocks_type",
        &[],
        OptionKind::Word { words: &["complete", "issue"], set: set_thinks_after },
        "a pause begins when I/Os are complete, or when they were submitted",
    ),
    entry(
        "thinktime_iotime",
        &[],
        OptionKind::Time { bare: Bare::Seconds, set: |s, span| s.pace.thinktime_iotime = span },
        "time between two pauses of thinktime",
    ),
    entry(
        "rate",
        &[],
        OptionKind::PerDdir { min: 0, max: u64::MAX, set: |s, rate| s.pace.rate = rate },
        "most bytes per second, for reads, writes, trims",
    ),
    entry(
        "rate_iops",
        &[],
        OptionKind::PerDdir { min: 0, max: u64::MAX, set: |s, rate| s.pace.rate_iops = rate },
        "most I/Os per second, for reads, writes, trims",
    ),
    entry(
        "rate_process",
        &[],
        OptionKind::Word { words: &["linear", "poisson"], set: set_process },
        "rated I/O arrives evenly, or as a Poisson process",
    ),
    entry(
        "rate_ignore_thinktime",
        &[],
        OptionKind::Bool(|s, on| {
            s.pace.after_thinking = if on { AfterThinking::GoesOn } else { AfterThinking::CatchesUp };
        }),
        "a rated job does not catch up after thinktime",
    ),
    entry(
        "rate_min",
        &["ratemin"],
        OptionKind::PerDdir { min: 0, max: u64::MAX, set: |s, rate| s.pace.rate_min = rate },
        "give up below this many bytes per second, for reads, writes, trims",
    ),
    entry(
        "rate_iops_min",
        &[],
        OptionKind::PerDdir { min: 0, max: u64::MAX, set: |s, rate| s.pace.rate_iops_min = rate },
        "give up below this many I/Os per second, for reads, writes, trims",
    ),
    entry(
        "rate_cycle",
        &["ratecycle"],
        OptionKind::Int { min: 1, max: 86_400_000, set: |s, ms| s.pace.rate_cycle = Span::from_ms(ms) },
        "over how long rate_min is averaged [ms]",
    ),
    entry(
        "max_latency",
        &[],
        OptionKind::Time { bare: MICROSECONDS, set: |s, span| s.pace.max_latency = (!span.is_zero()).then_some(span) },
        "give up when an I/O takes longer",
    ),
    entry(
        "latency_target",
        &[],
        OptionKind::Time {
            bare: MICROSECONDS,
            set: |s, span| s.pace.latency_target = (!span.is_zero()).then_some(span),
        },
        "find the greatest depth at which I/O takes no longer",
    ),
    entry(
        "latency_window",
        &[],
        OptionKind::Time { bare: MICROSECONDS, set: |s, span| s.pace.latency_window = span },
        "how long latency_target tries each depth",
    ),
    entry(
        "latency_percentile",
        &[],
        OptionKind::Own { form: "%", read: read_percentile },
        "share of I/O that latency_target is for",
    ),
    entry(
        "latency_run",
        &[],
        OptionKind::Bool(|s, on| s.pace.latency_run = on),
        "go on when latency_target has found its depth",
    ),
    entry(
        "flow",
        &[],
        OptionKind::Int { min: 0, max: MAX_WEIGHT, set: |s, weight| s.pace.flow = (weight > 0).then_some(weight) },
        "weight among the jobs of a flow, which go in step",
    ),
    entry("flow_id", &[], OptionKind::Int { min: 0, max: u64::MAX, set: |s, id| s.pace.flow_id = id }, "which flow"),
    entry(
        "flow_sleep",
        &[],
        OptionKind::Int { min: 0, max: 3_600_000_000, set: |s, us| s.pace.flow_sleep = Span::from_us(us) },
        "how long a job that is ahead of its flow sleeps [us]",
    ),
];
