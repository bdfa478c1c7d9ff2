//! Stage 3: does each job make sense by itself? Checks that need the disk's size are part of the plan.

use std::collections::BTreeMap;

use blksched_text::nearest;

use super::blocks::Blocks;
use super::ddir::{Ddir, PerDdir};
use super::errors::{Note, Problem};
use super::files::is_device;
use super::grain::Grain;
use super::names::names_in;
use super::options::{MAX_FILES, MAX_PROCESSES};
use super::sections::JobSection;
use super::settings::{IoEngine, Settings};
use super::values::{KbBase, LengthOrShare};
use crate::host::PAGE_BYTES;

const SECTOR_BYTES: u64 = 512;
/// Larger blocks are refused: a call transfers at most a page less than this, and fio repeats it for the rest; here a
/// block of this size is one call.
const MAX_BLOCK_BYTES: u64 = 1 << 31;

/// Everything wrong with the jobs, in their order.
pub(crate) fn check(jobs: &[JobSection]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for job in jobs {
        problems.extend(RULES.iter().filter_map(|rule| rule(job, &job.settings)));
    }
    problems.extend(waited_for(jobs));
    problems.extend(too_many(jobs));
    problems.extend(too_many_files(jobs));
    problems.extend(too_wide_flows(jobs));
    problems
}

type Rule = fn(&JobSection, &Settings) -> Option<Problem>;

const RULES: &[Rule] = &[
    shared_locks,
    two_rates,
    block_size,
    offset,
    filename,
    two_command_priorities,
    floor_above_rate,
    zones_of_one_file,
    target_without_window,
    alignment,
    mapped_pages,
    behind_nothing,
];

/// `msync` takes whole pages (fio 3.33 ends with `Invalid argument`, tried).
fn mapped_pages(job: &JobSection, s: &Settings) -> Option<Problem> {
    let whole = |bytes: u64| bytes.is_multiple_of(PAGE_BYTES);
    let begins = |extent| if let LengthOrShare::Bytes(bytes) = extent { whole(bytes) } else { true };
    let is_whole = s.all_blocks().all(|blocks| blocks.are_multiples_of(PAGE_BYTES))
        && begins(s.offset)
        && begins(s.offset_increment)
        && whole(s.jumps.stride.unsigned_abs());
    let title = format!("`direct` of job `{}`, which has its file mapped, cannot be used", job.name);
    (s.engine == IoEngine::Mapped && s.direct && !is_whole).then(|| {
        let expected = "blocks and offsets of whole pages of 4096 bytes, which an msync needs, or direct=0";
        Problem::new(s.place_of("direct", &job.place), title, expected)
    })
}

/// What fio reports as a block size larger than the data set's range (tried).
fn behind_nothing(job: &JobSection, s: &Settings) -> Option<Problem> {
    let no_size = matches!(s.size, None | Some(LengthOrShare::Bytes(0)));
    let unsaid = no_size && s.files.filesize.is_none() && !s.unreadable.contains("size");
    let is_device = s.files.filename.as_deref().is_some_and(is_device);
    let title = format!("`file_append` of job `{}` needs `size`", job.name);
    let place = s.place_of("file_append", &job.place);
    (s.rare.file_append && unsaid && !is_device)
        .then(|| Problem::new(place, title, "how much is written after a file's end"))
}

fn alignment(job: &JobSection, s: &Settings) -> Option<Problem> {
    let bad = !s.files.replay.align.is_power_of_two() || s.files.replay.align < SECTOR_BYTES;
    let title = format!("`replay_align` of job `{}` cannot be used", job.name);
    bad.then(|| Problem::new(s.place_of("replay_align", &job.place), title, "expected a power of 2 from 512 bytes on"))
}

/// Files of its own a process never waits for.
fn shared_locks(job: &JobSection, s: &Settings) -> Option<Problem> {
    let place = s.place_of("lockfile", &job.place);
    let title = format!("`lockfile` of job `{}` is not supported yet for a file that jobs may share", job.name);
    (s.rare.locks && s.files.filename.is_some())
        .then(|| Problem::new(place, title, "expected files of its own, or none"))
}

/// Of a job that replays a trace, what it says of places and amounts is left out, as by fio: the trace has its own
/// files, offsets and end (each tried with fio 3.33).
pub(super) fn leave_to_the_trace(job: &mut JobSection) -> Vec<Note> {
    if job.settings.files.replay.log.is_none() {
        return Vec::new();
    }
    let (before, none) = (job.settings.clone(), Settings::default());
    let s = &mut job.settings;
    let left_out: Vec<&'static str> = OF_A_PATTERN.into_iter().filter(|option| s.said.contains_key(*option)).collect();
    (s.files.filename, s.files.nrfiles, s.files.filesize) = (None, none.files.nrfiles, None);
    (s.offset, s.offset_increment, s.io_size) = (none.offset, none.offset_increment, None);
    (s.loops, s.time_based, s.zones) = (none.loops, false, none.zones);
    let why = "the trace that it replays has its own places and its own end: left out, as by fio";
    let note = |option| Note { place: before.place_of(option, &job.place), option, why: why.to_owned() };
    left_out.into_iter().map(note).collect()
}

const OF_A_PATTERN: [&str; 9] =
    ["filename", "nrfiles", "filesize", "offset", "offset_increment", "io_size", "loops", "time_based", "zonemode"];

/// Without a `runtime`, `time_based` is left out, as by fio, which says so and goes on (tried).
pub(super) fn end_by_amount(job: &mut JobSection) -> Option<Note> {
    let s = &mut job.settings;
    let endless = s.time_based && s.runtime.is_none() && !s.unreadable.contains("runtime");
    s.time_based &= !endless;
    let why = "without `runtime` it is left out, as by fio: the job does its amount".to_owned();
    endless.then(|| Note { place: s.place_of("time_based", &job.place), option: "time_based", why })
}

fn two_rates(job: &JobSection, s: &Settings) -> Option<Problem> {
    let both = s.said.contains_key("rate") && s.said.contains_key("rate_iops");
    let title = format!("job `{}` has both `rate` and `rate_iops`", job.name);
    both.then(|| Problem::new(s.place_of("rate_iops", &job.place), title, "expected only one of the two"))
}

fn block_size(job: &JobSection, s: &Settings) -> Option<Problem> {
    let is_fine = Grain::of(s).is_fine();
    let fits = |b: &Blocks| is_fine || b.are_multiples_of(SECTOR_BYTES);
    let bad = s.all_blocks().find(|b| !fits(b) || b.min() == 0 || b.max() > MAX_BLOCK_BYTES)?;
    let option = match bad {
        Blocks::One(_) => "bs",
        Blocks::Range(..) => "bsrange",
        Blocks::Split(_) => "bssplit",
    };
    let expected = "disks are read and written in multiples of 512 bytes; at most 2g";
    let title = format!("`{option}` of job `{}` cannot be used", job.name);
    let problem = Problem::new(s.place_of(option, &job.place), title, expected);
    // `8KiB`, a mistake of fio's making: with kb_base=1024, its default, `Ki` is 1000.
    let bytes = bad.max();
    let thousands = bytes > 0 && bytes.is_multiple_of(1000) && s.kb_base == KbBase::Binary;
    let thousands = thousands && !bytes.is_multiple_of(SECTOR_BYTES);
    let help = format!(
        "{bytes} bytes: if `{}KiB` stands there, that is 1000 bytes each to fio, unless kb_base=1000; `{0}k` is {}",
        bytes / 1000,
        (bytes / 1000).saturating_mul(1024)
    );
    Some(if thousands { problem.help(help) } else { problem })
}

fn offset(job: &JobSection, s: &Settings) -> Option<Problem> {
    if Grain::of(s).is_fine() {
        return None;
    }
    let good = |bytes: u64| bytes.is_multiple_of(SECTOR_BYTES);
    let extent = |extent: LengthOrShare| match extent {
        LengthOrShare::Bytes(bytes) => good(bytes),
        LengthOrShare::Percent(_) => true,
    };
    let aligned = |dir: &Ddir| s.blockalign[*dir].is_none_or(good);
    let bad = match () {
        () if !extent(s.offset) => "offset",
        () if !extent(s.offset_increment) => "offset_increment",
        () if !good(s.offset_align) => "offset_align",
        () if !good(s.jumps.stride.unsigned_abs()) => "rw",
        () if !s.dirs().iter().all(aligned) => "blockalign",
        () => return None,
    };
    let title = format!("`{bad}` of job `{}` cannot be used", job.name);
    Some(Problem::new(s.place_of(bad, &job.place), title, "disks are read and written in multiples of 512 bytes"))
}

fn two_command_priorities(job: &JobSection, s: &Settings) -> Option<Problem> {
    let both = s.said.contains_key("cmdprio_percentage") && s.said.contains_key("cmdprio_bssplit");
    let title = format!("job `{}` has both `cmdprio_percentage` and `cmdprio_bssplit`", job.name);
    both.then(|| Problem::new(s.place_of("cmdprio_bssplit", &job.place), title, "expected only one of the two"))
}

/// A name to wait for must be that of one job above.
fn waited_for(jobs: &[JobSection]) -> impl Iterator<Item = Problem> {
    let problem = |(index, job): (usize, &JobSection)| {
        let name = job.settings.wait_for.as_deref()?;
        let named = jobs[..index].iter().filter(|other| other.name == name).count();
        let title = format!("job `{}` waits for `{name}`, which names {named} jobs above it", job.name);
        let place = job.settings.place_of("wait_for", &job.place);
        // Long names are unlikely to be misspelt, and comparing many names would take long.
        let few = jobs[..index].iter().take(100).map(|other| other.name.as_str());
        let nearest = nearest(name, few.filter(|other| name.len().max(other.len()) <= 64));
        let nearest = nearest.map(|name| format!("did you mean `{name}`?"));
        let problem = Problem::new(place, title, "expected the name of exactly one job above");
        (named != 1).then(|| nearest.into_iter().fold(problem, |problem, help| problem.help(help)))
    };
    jobs.iter().enumerate().filter_map(problem).collect::<Vec<_>>().into_iter()
}

fn filename(job: &JobSection, s: &Settings) -> Option<Problem> {
    let names = names_in(s.files.filename.as_deref()?);
    let title = format!("`filename` of job `{}` is standard input or output", job.name);
    let problem = Problem::new(s.place_of("filename", &job.place), title, "expected files or /dev/…");
    names.iter().any(|name| name == "-").then_some(problem)
}

fn target_without_window(job: &JobSection, s: &Settings) -> Option<Problem> {
    let lacks = s.pace.latency_target.is_some() && s.pace.latency_window.is_zero();
    let title = format!("`latency_target` of job `{}` needs `latency_window`", job.name);
    (lacks && !s.unreadable.contains("latency_window"))
        .then(|| Problem::new(s.place_of("latency_target", &job.place), title, "how long to try each depth?"))
}

fn zones_of_one_file(job: &JobSection, s: &Settings) -> Option<Problem> {
    let files = s.files.filename.as_deref().map_or(s.files.nrfiles, |names| names_in(names).len() as u64);
    let place = s.place_of("zonemode", &job.place);
    match () {
        () if !s.zones.strided => None,
        () if s.zones.size.is_none() && !s.unreadable.contains("zonesize") => {
            let title = format!("`zonemode=strided` of job `{}` needs `zonesize`", job.name);
            Some(Problem::new(place, title, "how much to transfer in each zone?"))
        }
        () if files > 1 => {
            let title = format!("`zonemode=strided` of job `{}` has several files", job.name);
            Some(Problem::new(place, title, "expected one file"))
        }
        () => None,
    }
}

/// As in fio (tried).
fn floor_above_rate(job: &JobSection, s: &Settings) -> Option<Problem> {
    let pairs =
        [("rate_min", &s.pace.rate_min, &s.pace.rate), ("rate_iops_min", &s.pace.rate_iops_min, &s.pace.rate_iops)];
    let above = |least: Option<u64>, most: Option<u64>| {
        Some(most?).filter(|most| *most > 0 && least.is_some_and(|least| least > *most))
    };
    let found = |(option, least, most): (&'static str, &PerDdir<Option<u64>>, &PerDdir<Option<u64>>)| {
        let most = s.dirs().iter().find_map(|ddir| above(least[*ddir], most[*ddir]))?;
        let title = format!("`{option}` of job `{}` exceeds its `{}`", job.name, option.replace("_min", ""));
        Some(Problem::new(s.place_of(option, &job.place), title, format!("at most {most}")))
    };
    pairs.into_iter().find_map(found)
}

/// Each member of a flow tells all others of each I/O.
fn too_wide_flows(jobs: &[JobSection]) -> Option<Problem> {
    let mut members: BTreeMap<u64, u64> = BTreeMap::new();
    let wide = |job: &&JobSection| {
        let pace = &job.settings.pace;
        let count = members.entry(pace.flow_id).or_default();
        *count += if pace.flow.is_some() { job.settings.numjobs } else { 0 };
        *count > MOST_IN_A_FLOW
    };
    let job = jobs.iter().find(wide)?;
    let title = format!("flow {} has more than {MOST_IN_A_FLOW} processes", job.settings.pace.flow_id);
    Some(Problem::new(job.settings.place_of("flow", &job.place), title, "fewer, or flows of their own by `flow_id`"))
}

const MOST_IN_A_FLOW: u64 = 64;

/// Bounds the memory for the files of a run.
fn too_many_files(jobs: &[JobSection]) -> Option<Problem> {
    let mut files: u64 = 0;
    let job = jobs.iter().find(|job| {
        let s = &job.settings;
        let each = s.files.filename.as_deref().map_or(s.files.nrfiles, |names| names.len() as u64);
        files = files.saturating_add(each.saturating_mul(s.numjobs));
        files > MAX_FILES
    })?;
    let title = format!("job `{}` makes more than {MAX_FILES} files in all", job.name);
    let option = if job.settings.files.filename.is_some() { "filename" } else { "nrfiles" };
    Some(Problem::new(job.settings.place_of(option, &job.place), title, "fewer files, or fewer processes"))
}

fn too_many(jobs: &[JobSection]) -> Option<Problem> {
    let mut processes = 0;
    let job = jobs.iter().find(|job| {
        processes += job.settings.numjobs;
        processes > MAX_PROCESSES
    })?;
    let title = format!("job `{}` makes more than {MAX_PROCESSES} processes in all", job.name);
    Some(Problem::new(job.settings.place_of("numjobs", &job.place), title, "fewer"))
}
