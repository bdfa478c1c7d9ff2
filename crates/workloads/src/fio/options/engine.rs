//! Options of asynchronous engines: batches, and priorities of single I/Os.

use super::{Category, OptionEntry, OptionKind, supported_entry};
use crate::fio::blocks;
use crate::fio::ddir::PerDdir;
use crate::fio::settings::{CommandShare, Settings};
use crate::fio::values::{self, KbBase, ValueError};

const fn entry(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: OptionKind,
    doc: &'static str,
) -> OptionEntry {
    supported_entry(name, aliases, Category::Engine, kind, doc)
}

/// Parses `4k/50:64k/10/1/0`: size, share, and optionally class and level.
fn read_command_split(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    let base = settings.kb_base;
    let entry = |entry: &str| {
        let parts: Vec<&str> = entry.split('/').map(str::trim).collect();
        let own = match parts[..] {
            [_] | [_, _] => None,
            [_, _, class, level] => {
                let int = |text, min, max| values::int(text, min, max, KbBase::Binary);
                Some((int(class, 0, 3)?, int(level, 0, 7)?))
            }
            _ => return values::expected("size/percentage or size/percentage/class/level"),
        };
        let bs = values::int(parts[0], 1, u64::MAX, base)?;
        let percent = blocks::percentage(parts.get(1).unwrap_or(&"100"))?.unwrap_or(100);
        Ok((CommandShare { bs, own }, percent))
    };
    settings.cmdprio_bssplit = values::lists(text, |part| part.split(':').map(entry).collect())?;
    Ok(())
}

fn set_submit_mode(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.offload = word == "offload";
    Ok(())
}

const MOST: u64 = 65_536;

/// An I/O that would have to wait is refused instead, and fio counts that as an error.
fn set_nowait(_: &mut Settings, word: &str) -> Result<(), &'static str> {
    if word == "0" {
        Ok(())
    } else {
        Err("0: with 1 an I/O that would have to wait is refused, which is not simulated")
    }
}

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry(
        "nowait",
        &[],
        OptionKind::Word { words: &["0", "1"], set: set_nowait },
        "whether an I/O that would have to wait fails",
    ),
    entry(
        "iodepth_batch",
        &["iodepth_batch_submit"],
        OptionKind::Int { min: 0, max: MOST, set: |s, n| s.iodepth_batch = n },
        "how many I/Os to submit at once; 0 means iodepth",
    ),
    entry(
        "iodepth_batch_complete_min",
        &["iodepth_batch_complete"],
        OptionKind::Int { min: 0, max: MOST, set: |s, n| s.iodepth_batch_complete_min = n },
        "how many completions a full queue waits for",
    ),
    entry(
        "iodepth_batch_complete_max",
        &[],
        OptionKind::Int { min: 0, max: MOST, set: |s, n| s.iodepth_batch_complete_max = Some(n) },
        "how many completions it takes at most at once",
    ),
    entry(
        "iodepth_low",
        &[],
        OptionKind::Int { min: 0, max: MOST, set: |s, n| s.iodepth_low = Some(n) },
        "a full queue drains to this depth before it is filled again",
    ),
    entry(
        "io_submit_mode",
        &[],
        OptionKind::Word { words: &["inline", "offload"], set: set_submit_mode },
        "with offload a pool of threads submits: synchronous engines keep iodepth in flight too",
    ),
    entry(
        "hipri",
        &[],
        OptionKind::Flag(|s, on| s.cpus.calls.polls = on),
        "io_uring polls the drive, which does not interrupt: only where a preset of --host cpu knows what that takes",
    ),
    entry(
        "registerfiles",
        &[],
        OptionKind::Flag(|s, on| s.cpus.calls.registered_files = on),
        "io_uring's files are registered with the kernel, likewise",
    ),
    entry(
        "fixedbufs",
        &[],
        OptionKind::Flag(|s, on| s.cpus.calls.fixed_buffers = on),
        "io_uring's blocks are registered with the kernel, likewise",
    ),
    entry(
        "sqthread_poll",
        &[],
        OptionKind::Flag(|s, on| s.cpus.calls.has_thread = on),
        "a thread of the kernel submits for io_uring, on another processor if there is one, likewise",
    ),
    entry(
        "sqthread_poll_cpu",
        &[],
        OptionKind::Int { min: 0, max: 63, set: |s, cpu| s.cpus.calls.thread_cpu = Some(cpu as u32) },
        "the processor of that thread",
    ),
    entry(
        "cmdprio_percentage",
        &[],
        OptionKind::PerDdir {
            min: 0,
            max: 100,
            set: |s, share| s.cmdprio_percentage = PerDdir::from_fn(|dir| share[dir].unwrap_or(0)),
        },
        "share of I/Os with a priority of their own [%]",
    ),
    entry(
        "cmdprio_class",
        &[],
        OptionKind::PerDdir { min: 0, max: 3, set: |s, class| s.cmdprio_class = class },
        "class of these I/Os; 1 (real time) if not set",
    ),
    entry(
        "cmdprio",
        &[],
        OptionKind::PerDdir { min: 0, max: 7, set: |s, level| s.cmdprio = level },
        "level of these I/Os; 0 if not set",
    ),
    entry(
        "cmdprio_bssplit",
        &[],
        OptionKind::Own { form: "bytes/%[/class/level]:…[,…]", read: read_command_split },
        "share of I/Os of each size that have a priority of their own",
    ),
];
