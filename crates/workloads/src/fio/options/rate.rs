//! Options about pace: think time and rates.

use super::{Category, Kind, OptionEntry, Support, Takes};
use crate::fio::settings::{RateProcess, Settings};
use crate::fio::values::Bare;

const fn entry(name: &'static str, kind: Kind, doc: &'static str) -> OptionEntry {
    OptionEntry { name, aliases: &[], category: Category::Rate, doc, support: Support::Supported(Takes(kind)) }
}

fn set_process(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.rate_process = if word == "poisson" { RateProcess::Poisson } else { RateProcess::Linear };
    Ok(())
}

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry(
        "thinktime",
        Kind::Time { bare: Bare::Microseconds, set: |s, span| s.thinktime = span },
        "pause after an I/O has completed, before the next",
    ),
    entry(
        "thinktime_blocks",
        Kind::Int { min: 1, max: u64::MAX, set: |s, blocks| s.thinktime_blocks = blocks },
        "I/Os between two pauses of thinktime",
    ),
    entry(
        "rate",
        Kind::PerDdir { min: 0, max: u64::MAX, set: |s, rate| s.rate = rate },
        "most bytes per second, for reads, writes, trims",
    ),
    entry(
        "rate_iops",
        Kind::PerDdir { min: 0, max: u64::MAX, set: |s, rate| s.rate_iops = rate },
        "most I/Os per second, for reads, writes, trims",
    ),
    entry(
        "rate_process",
        Kind::Word { words: &["linear", "poisson"], set: set_process },
        "rated I/O arrives evenly, or as a Poisson process",
    ),
];
