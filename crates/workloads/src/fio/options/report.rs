//! Options about results: latencies, percentiles, logs.

use blksched::Span;

use super::{Category, OptionEntry, OptionKind, supported_entry};
use crate::fio::settings::{LogNames, LogValue, Settings, Unified};
use crate::fio::values::{ValueError, expected};

const fn entry(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: OptionKind,
    doc: &'static str,
) -> OptionEntry {
    supported_entry(name, aliases, Category::Report, kind, doc)
}

/// As many as fio accepts.
const MOST_PERCENTILES: usize = 20;

/// Parses `50:99:99.9`.
fn read_percentiles(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    let read = |part: &str| part.trim().parse::<f64>().ok().filter(|p| *p > 0.0 && *p <= 100.0);
    let list: Option<Vec<f64>> = text.split(':').map(read).collect();
    let Some(mut list) = list.filter(|list| list.len() <= MOST_PERCENTILES) else {
        return expected("at most 20 percentages above 0, as in 50:99:99.9");
    };
    list.sort_by(f64::total_cmp);
    settings.report.percentiles = list;
    Ok(())
}

fn set_unified(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.report.unified = match word {
        "mixed" | "1" => Unified::Mixed,
        "both" | "2" => Unified::Both,
        _ => Unified::Apart,
    };
    Ok(())
}

fn reduce_clock(settings: &mut Settings, on: bool) {
    if on {
        let report = &mut settings.report;
        (report.slat.measured, report.clat.measured, report.lat.measured) = (false, false, false);
        report.samples = false;
    }
}

/// An option whose value, a log's name, may be omitted.
const fn log(name: &'static str, set: fn(&mut Settings, String), doc: &'static str) -> OptionEntry {
    entry(name, &[], OptionKind::OptionalText(set), doc)
}

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry("disable_slat", &[], OptionKind::Bool(|s, on| s.report.slat.measured = !on), "no submission latency"),
    entry("disable_clat", &[], OptionKind::Bool(|s, on| s.report.clat.measured = !on), "no completion latency"),
    entry("disable_lat", &[], OptionKind::Bool(|s, on| s.report.lat.measured = !on), "no latency as a whole"),
    entry(
        "disable_bw_measurement",
        &["disable_bw"],
        OptionKind::Bool(|s, on| s.report.samples = !on),
        "no samples of bandwidth and I/Os per second",
    ),
    entry("gtod_reduce", &[], OptionKind::Bool(reduce_clock), "no latencies and no samples"),
    entry("slat_percentiles", &[], OptionKind::Bool(|s, on| s.report.slat.percentiles = on), "of submission latency"),
    entry("clat_percentiles", &[], OptionKind::Bool(|s, on| s.report.clat.percentiles = on), "of completion latency"),
    entry("lat_percentiles", &[], OptionKind::Bool(|s, on| s.report.lat.percentiles = on), "of latency as a whole"),
    entry(
        "percentile_list",
        &[],
        OptionKind::Own { form: "%:%…", read: read_percentiles },
        "which percentiles fio's JSON reports",
    ),
    entry(
        "unified_rw_reporting",
        &[],
        OptionKind::Word { words: &["none", "0", "mixed", "1", "both", "2"], set: set_unified },
        "reads, writes and trims as one in fio's JSON",
    ),
    entry("stats", &[], OptionKind::Bool(|s, on| s.report.shown = on), "whether the job is reported"),
    log("write_bw_log", |s, prefix| s.report.logs.bw = Some(prefix), "log bandwidth, into PREFIX_bw.N.log"),
    log("write_lat_log", |s, prefix| s.report.logs.lat = Some(prefix), "log latencies, into PREFIX_clat.N.log …"),
    log("write_iops_log", |s, prefix| s.report.logs.iops = Some(prefix), "log I/Os per second"),
    entry(
        "log_avg_msec",
        &[],
        OptionKind::Int { min: 0, max: 86_400_000, set: |s, ms| s.report.logs.window = Span::from_ms(ms) },
        "average logs over this time [ms]",
    ),
    entry(
        "log_max_value",
        &[],
        OptionKind::Bool(|s, on| s.report.logs.value = if on { LogValue::Greatest } else { LogValue::Mean }),
        "log the greatest, not the mean",
    ),
    entry("log_offset", &[], OptionKind::Bool(|s, on| s.report.logs.offset = on), "log offsets"),
    entry("log_prio", &[], OptionKind::Bool(|s, on| s.report.logs.prio = on), "log priorities"),
    entry(
        "per_job_logs",
        &[],
        OptionKind::Bool(|s, on| s.report.logs.names = if on { LogNames::PerProcess } else { LogNames::Shared }),
        "logs have the process's number in their names",
    ),
];
