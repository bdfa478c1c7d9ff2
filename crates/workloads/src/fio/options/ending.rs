//! Options about when results begin to count, which processes a job's end ends, errors, and the group that shares are
//! by.

use blksched::cgroup::files::{self, FileError};

use super::{Category, OptionEntry, OptionKind, supported_entry};
use crate::cpus::CpuSet;
use crate::fio::ddir::PerDdir;
use crate::fio::settings::{ExitWhat, GroupFile, GroupFileWrite, Settings};
use crate::fio::values::{Bare, ValueError, expected};
use crate::plan::{MOST_PERCENT, in_figures};

const fn entry(name: &'static str, category: Category, kind: OptionKind, doc: &'static str) -> OptionEntry {
    supported_entry(name, &[], category, kind, doc)
}

fn set_exit_what(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.ending.exit_what = match word {
        "stonewall" => ExitWhat::Stonewall,
        "all" => ExitWhat::All,
        _ => ExitWhat::Group,
    };
    Ok(())
}

const ERRORS: &[&str] = &["none", "read", "write", "io", "verify", "all", "0", "1"];

fn set_continue(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    let (read, write) = match word {
        "none" | "0" | "verify" => (false, false),
        "read" => (true, false),
        "write" => (false, true),
        _ => (true, true),
    };
    // A trim counts as a write.
    settings.ending.continues = PerDdir { read, write, trim: write };
    Ok(())
}

/// Parses `EIO,ENOSPC:5`: for reads, writes and verification. Of these errors a simulated disk only has EIO, which is
/// 5.
fn read_ignored(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    let lists = text.split(',').map(errors).collect::<Result<Vec<_>, _>>()?;
    if lists.len() > 3 {
        return expected("at most three lists, for reads, writes and verification");
    }
    let ignored = |list: usize| lists.get(list).is_some_and(|list| *list);
    settings.ending.ignores = PerDdir { read: ignored(0), write: ignored(1), trim: ignored(1) };
    Ok(())
}

/// Parses `io.max: rbps=1048576 wiops=100, web/io.latency: target=10000`. What holds if a file is written
/// to several times is decided where the groups are made.
fn read_files(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    for written in files_of(text) {
        let file = group_file(&written, GroupFileWrite::Always)?;
        if file.file == GroupFile::CPUS {
            if CpuSet::parse(&file.text.replace(' ', ",")).is_none() {
                return expected(format!("{}: processors from 0 to 63, as in 0-3,6", GroupFile::CPUS));
            }
            settings.ending.cgroup.files.push(file);
            continue;
        }
        files::parse(&file.file, &file.text).map_err(wrong_file)?;
        settings.ending.cgroup.files.push(file);
    }
    Ok(())
}

fn wrong_file(wrong: FileError) -> ValueError {
    let FileError { file, word, expected, nearest, .. } = wrong;
    let title = match file.as_str() {
        "cgroup" => format!("there is no file `{word}` of a group's I/O"),
        file if word.is_empty() => format!("what is written to {file} ends too early"),
        file => format!("`{word}` cannot be written to {file}"),
    };
    ValueError { expected, nearest, part: Some((word, title)) }
}

/// What is written to each file: the parts between commas, where `cpuset.cpus: 0-3,6` is one.
fn files_of(text: &str) -> Vec<String> {
    let is_of_cpus = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit() || " -".contains(c));
    let mut files: Vec<String> = Vec::new();
    for part in text.split(',') {
        match files.last_mut().filter(|last| is_of_cpus(part.trim()) && last.contains(GroupFile::CPUS)) {
            Some(last) => *last = format!("{last},{}", part.trim()),
            None => files.push(part.to_owned()),
        }
    }
    files
}

/// Files that a scheduler's name can ask for; the percentages in `io.max: wbps=25%, io.latency: target=150%` refer to
/// the disk's performance.
fn read_asked_files(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    for written in text.split(',') {
        let file = group_file(written, GroupFileWrite::IfAsked)?;
        if !ASKED.contains(&file.file.as_str()) {
            return expected(format!("one of {}: what +FILE after a scheduler's name asks for", ASKED.join(", ")));
        }
        let Some(text) = in_figures(&file.text, |_, percent| Some(percent)) else {
            return expected(format!("a percentage from 1 to {MOST_PERCENT}, as in io.max: wbps=25%"));
        };
        files::parse(&file.file, &text).map_err(wrong_file)?;
        settings.ending.cgroup.files.push(file);
    }
    Ok(())
}

const ASKED: [&str; 3] = ["io.max", "io.latency", "io.prio.class"];

fn group_file(written: &str, when: GroupFileWrite) -> Result<GroupFile, ValueError> {
    let Some((path, text)) = written.split_once(": ") else {
        return expected("a file, a colon and what is written to it, as in io.weight: 200");
    };
    let (group, file) = match path.trim().rsplit_once('/') {
        Some((group, file)) => (Some(group.to_owned()), file),
        None => (None, path.trim()),
    };
    Ok(GroupFile { group, file: file.to_owned(), text: text.trim().to_owned(), when })
}

/// Whether EIO is among them.
fn errors(list: &str) -> Result<bool, ValueError> {
    let mut eio = false;
    for error in list.split(':').map(str::trim).filter(|error| !error.is_empty()) {
        let symbol = error.starts_with('E') && error.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
        let number = error.bytes().all(|byte| byte.is_ascii_digit());
        if !symbol && !number {
            return expected("errors by symbol or number, as in EIO:ENOSPC,5");
        }
        eio |= matches!(error, "EIO" | "5");
    }
    Ok(eio)
}

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry(
        "ramp_time",
        Category::Time,
        OptionKind::Time { bare: Bare::Seconds, set: |s, span| s.ending.ramp_time = span },
        "how long to run before results count; runtime comes on top",
    ),
    entry(
        "exitall",
        Category::Process,
        OptionKind::Flag(|s, on| s.ending.exitall = on),
        "when a process of this job exits, others end too",
    ),
    entry(
        "exit_what",
        Category::Process,
        OptionKind::Word { words: &["group", "stonewall", "all"], set: set_exit_what },
        "which others exitall ends: the reporting group, those up to the next stonewall, all",
    ),
    entry(
        "exitall_on_error",
        Category::Process,
        OptionKind::Flag(|s, on| s.ending.exitall_on_error = on),
        "when a process of this job gives up, all others end too",
    ),
    entry(
        "cgroup",
        Category::Process,
        OptionKind::Text(|s, name| s.ending.cgroup.name = Some(name)),
        "control group that it belongs to, a/b for one below another; bfq, cfq and the controllers heed it",
    ),
    entry(
        "cgroup_weight",
        Category::Process,
        OptionKind::Int { min: 1, max: 10_000, set: |s, weight| s.ending.cgroup.weight = Some(weight as u32) },
        "that group's weight",
    ),
    entry(
        "cgroup_files",
        Category::Process,
        OptionKind::Own { form: "[group/]file: text[, …]", read: read_files },
        "what is written to files of its group, or of another: io.max: rbps=1048576, io.weight: 200",
    ),
    entry(
        "cgroup_files_if_asked",
        Category::Process,
        OptionKind::Own { form: "[group/]file: text[, …]", read: read_asked_files },
        "the same, under a scheduler that asks for it: none+io.max; io.max: wbps=25% is a part of what the disk does",
    ),
    entry(
        "continue_on_error",
        Category::Host,
        OptionKind::Word { words: ERRORS, set: set_continue },
        "failed I/O of these kinds does not end the job",
    ),
    entry(
        "ignore_error",
        Category::Host,
        OptionKind::Own { form: "errors:…[,errors:…]", read: read_ignored },
        "these errors of reads, of writes do not end the job",
    ),
];
