//! Options about processes: how many, when they run, with which priority, reported with which others.

use super::{Category, OptionEntry, OptionKind, supported_entry as entry};
use crate::cpus::CpuSet;
use crate::fio::settings::{CpuPolicy, Settings};
use crate::fio::values::{Bare, ValueError, expected};

/// The most processes of a run. fio's own limit is 4,096 (its `--max-jobs`); simulated ones take no threads.
pub(crate) const MAX_PROCESSES: u64 = 16_384;

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry(
        "numjobs",
        &[],
        Category::Process,
        OptionKind::Int { min: 1, max: MAX_PROCESSES, set: |s, n| s.numjobs = n },
        "how many processes run this job",
    ),
    entry(
        "cpus_allowed",
        &[],
        Category::Host,
        OptionKind::Own { form: "CPUs from 0 to 63, as in 0-3,6", read: read_cpus },
        "processors that it may run on",
    ),
    entry(
        "cpumask",
        &[],
        Category::Host,
        OptionKind::Int { min: 1, max: u64::MAX, set: |s, mask| s.cpus.allowed = CpuSet(mask) },
        "the same as a mask of bits",
    ),
    entry(
        "cpus_allowed_policy",
        &[],
        Category::Host,
        OptionKind::Word { words: &["shared", "split"], set: set_policy },
        "whether its processes share these CPUs, or each has one",
    ),
    entry(
        "group_reporting",
        &[],
        Category::Report,
        OptionKind::Flag(|s, on| s.group_reporting = on),
        "report the processes of a group as one job",
    ),
    entry("new_group", &[], Category::Report, OptionKind::Flag(|s, on| s.new_group = on), "start a reporting group"),
    entry(
        "stonewall",
        &["wait_for_previous"],
        Category::Process,
        OptionKind::Flag(|s, on| s.stonewall = on),
        "begin when every job above has exited",
    ),
    entry(
        "startdelay",
        &[],
        Category::Time,
        OptionKind::TimeRange(|s, delay| s.startdelay = delay),
        "do not begin before this time of the run; drawn from a range for each process",
    ),
    entry(
        "runtime",
        &["timeout"],
        Category::Time,
        OptionKind::Time { bare: Bare::Seconds, set: |s, span| s.runtime = (!span.is_zero()).then_some(span) },
        "stop after this time",
    ),
    entry(
        "time_based",
        &[],
        Category::Time,
        OptionKind::Flag(|s, on| s.time_based = on),
        "start over until runtime is over",
    ),
    entry(
        "loops",
        &[],
        Category::Time,
        OptionKind::Int { min: 1, max: u64::MAX, set: |s, n| s.loops = n },
        "how many times to do the whole job",
    ),
    entry(
        "prio",
        &[],
        Category::Process,
        OptionKind::Int { min: 0, max: 7, set: |s, level| s.prio = Some(level) },
        "I/O priority within its class, 0 is the highest; alone it means class 2",
    ),
    entry(
        "prioclass",
        &[],
        Category::Process,
        OptionKind::Int { min: 0, max: 3, set: |s, class| s.prioclass = Some(class) },
        "I/O priority class: 1 real time, 2 best effort, 3 idle",
    ),
    entry(
        "nice",
        &[],
        Category::Process,
        OptionKind::Signed { min: -20, max: 19, set: |s, nice| s.nice = nice },
        "CPU priority; without prio and prioclass it sets the I/O priority, best effort (nice + 20) / 5",
    ),
    entry(
        "wait_for",
        &[],
        Category::Process,
        OptionKind::Text(|s, name| s.wait_for = Some(name)),
        "begin when the job of this name, above, has exited",
    ),
];

fn read_cpus(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    let Some(set) = CpuSet::parse(text) else { return expected("processors from 0 to 63, as in 0-3,6") };
    settings.cpus.allowed = set;
    Ok(())
}

fn set_policy(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.cpus.policy = if word == "split" { CpuPolicy::Split } else { CpuPolicy::Shared };
    Ok(())
}
