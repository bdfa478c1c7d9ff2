//! Stage 3: does each job make sense by itself? What needs the disk's size comes with the plan.

use super::errors::Problem;
use super::options::MAX_PROCESSES;
use super::sections::JobSection;
use super::settings::Settings;

const SECTOR_BYTES: u64 = 512;
/// Larger blocks are refused; the kernel itself transfers less than 2 GiB per call.
const MAX_BLOCK_BYTES: u64 = 1 << 30;

/// Everything wrong with the jobs, in their order.
pub(crate) fn check(jobs: &[JobSection]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for job in jobs {
        problems.extend(RULES.iter().filter_map(|rule| rule(job, &job.settings)));
    }
    problems.extend(buffered(jobs));
    problems.extend(too_many(jobs));
    problems
}

type Rule = fn(&JobSection, &Settings) -> Option<Problem>;

const RULES: &[Rule] = &[endless, two_rates, block_size, offset, filename, directory];

/// One problem for all of them, at the first: it is usually one missing line in [global].
fn buffered(jobs: &[JobSection]) -> Option<Problem> {
    let unclear = |s: &Settings| s.unreadable.contains("direct") || s.unreadable.contains("buffered");
    let mut buffered = jobs.iter().filter(|job| !job.settings.direct && !unclear(&job.settings));
    let job = buffered.next()?;
    let said = ["direct", "buffered"].iter().filter_map(|option| job.settings.said.get(option));
    let place = said.max_by_key(|place| place.range.start).unwrap_or(&job.place).clone();
    let others = match buffered.count() {
        0 => "does".to_owned(),
        others => format!("and {others} more do"),
    };
    let title = format!("job `{}` {others} buffered I/O, which is not supported yet", job.name);
    let expected = "without `direct=1`, fio goes through the page cache, and that is not simulated yet";
    Some(Problem::new(place, title, expected).help("add `direct=1` to this section, or to [global] above it"))
}

fn endless(job: &JobSection, s: &Settings) -> Option<Problem> {
    let place = s.place_of("time_based", &job.place);
    (s.time_based && s.runtime.is_none() && !s.unreadable.contains("runtime"))
        .then(|| Problem::new(place, format!("`time_based` of job `{}` needs `runtime`", job.name), "for how long?"))
}

fn two_rates(job: &JobSection, s: &Settings) -> Option<Problem> {
    let both = s.said.contains_key("rate") && s.said.contains_key("rate_iops");
    let title = format!("job `{}` has both `rate` and `rate_iops`", job.name);
    both.then(|| Problem::new(s.place_of("rate_iops", &job.place), title, "expected only one of the two"))
}

fn block_size(job: &JobSection, s: &Settings) -> Option<Problem> {
    let good = |bs: u64| bs.is_multiple_of(SECTOR_BYTES) && bs <= MAX_BLOCK_BYTES;
    if good(s.min_bs()) && good(s.max_bs()) {
        return None;
    }
    let expected = "direct I/O needs multiples of 512 bytes, at most 1g";
    Some(Problem::new(s.place_of("bs", &job.place), format!("`bs` of job `{}` cannot be used", job.name), expected))
}

fn offset(job: &JobSection, s: &Settings) -> Option<Problem> {
    let good = |bytes: u64| bytes.is_multiple_of(SECTOR_BYTES);
    let bad = match s.offset {
        super::values::Extent::Bytes(bytes) if !good(bytes) => "offset",
        _ if !good(s.offset_increment) => "offset_increment",
        _ => return None,
    };
    let title = format!("`{bad}` of job `{}` cannot be used", job.name);
    Some(Problem::new(s.place_of(bad, &job.place), title, "direct I/O needs multiples of 512 bytes"))
}

fn filename(job: &JobSection, s: &Settings) -> Option<Problem> {
    let several = s.filename.as_deref().is_some_and(|name| name.replace("\\:", "").contains(':'));
    let title = format!("`filename` of job `{}` names several files, which is not supported yet", job.name);
    let problem = Problem::new(s.place_of("filename", &job.place), title, "expected one file");
    several.then(|| problem.help("a colon within a name is written `\\:`"))
}

fn directory(job: &JobSection, s: &Settings) -> Option<Problem> {
    let several = s.directory.as_deref().is_some_and(|name| name.replace("\\:", "").contains(':'));
    let title = format!("`directory` of job `{}` names several directories, which is not supported yet", job.name);
    several.then(|| Problem::new(s.place_of("directory", &job.place), title, "expected one directory"))
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
