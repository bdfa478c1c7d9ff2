//! The file system below a job file's files: which one, and what is in each file when the run begins.
//!
//! **Rule** fio lays a file out before the run if any job reads it or overwrites it; otherwise it exists with places
//! in which nothing has been written, or is empty with `fallocate=none`.

use std::borrow::Cow;

use crate::disks::{DiskPlaces, whole_disk};
use crate::fio::buffered::NamesPlan;
use crate::fio::errors::{Note, Problem};
use crate::fio::files::{Files, JobClone, are_devices};
use crate::fio::layout::{FileExtent, Need};
use crate::fio::sections::JobSection;
use crate::fio::settings::{IoEngine, Mix, Preallocated, Settings};
use crate::fio::values::LengthOrShare;
use crate::host::fs::{BlockMap, FsKind, FsMount, JournalMode};
use crate::host::{PAGE_BYTES, Pages, pages_of};
use crate::plan::{FileState, PlannedFile};

/// The file system on a disk of this length \[512-byte sectors\]: what the jobs say, or else this one.
pub(super) fn file_system(jobs: &[JobSection], otherwise: FsMount, sectors: u64) -> Result<FsMount, Problem> {
    let says = |job: &&JobSection| job.settings.rare.fs.is_some();
    let Some(first) = jobs.iter().find(says) else { return Ok(otherwise) };
    let said = first.settings.rare.fs.unwrap_or(otherwise);
    if let Some(other) = jobs.iter().filter(says).find(|job| job.settings.rare.fs != Some(said)) {
        let title = format!("job `{}` is on another file system than job `{}`", other.name, first.name);
        let place = other.settings.place_of("fs", &other.place);
        return Err(Problem::new(place, title, "one file system for all files of a load".to_owned()));
    }
    if let Err(wrong) = said.fits(sectors) {
        let title = format!("job `{}` says fs={said}", first.name);
        return Err(Problem::new(first.settings.place_of("fs", &first.place), title, wrong.why));
    }
    let is_raw = |job: &&JobSection| job.settings.files.filename.as_ref().is_some_and(|name| are_devices(name));
    let raw = jobs.iter().filter(says).find(is_raw).filter(|_| said != FsKind::None);
    match raw {
        None => Ok(said),
        Some(raw) => {
            let title = format!("job `{}` uses a raw device, and says fs={said}", raw.name);
            let place = raw.settings.place_of("fs", &raw.place);
            let problem = Problem::new(place, title, "a file name outside /dev, or fs=none".to_owned());
            Err(problem)
        }
    }
}

/// The disk that the file system's log has for itself: its first sector, and its length \[512-byte sectors\].
pub(super) fn log_disk(
    jobs: &[JobSection],
    fs: FsMount,
    disks: &DiskPlaces,
    files: &Files,
) -> Result<Option<(blksched::Sector, u64)>, Problem> {
    let (Some(word), Some(first)) = (fs.options.log_disk, jobs.first()) else { return Ok(None) };
    let wrong = |why: &str, expected: String| {
        let says = jobs.iter().find(|job| job.settings.rare.fs.is_some()).unwrap_or(first);
        let place = says.settings.place_of("fs", &says.place);
        let title = format!("the log of {fs} is to be on {}, {why}", word.as_str());
        Err(Problem { is_of_file_system: true, ..Problem::new(place, title, expected) })
    };
    let device = format!("/dev/{}", word.as_str());
    let place = disks.of_file(&device);
    let other = &disks.all()[place];
    let is_named = other.names.iter().any(|name| whole_disk(name) == whole_disk(&device));
    match place {
        0 if is_named => wrong("which its files are on", "another disk".to_owned()),
        _ if !is_named => wrong("and there is no such disk", format!("--disk sda=…,{}=…", word.as_str())),
        _ if files.disks.contains(&place) => wrong("which a job uses", "a disk without jobs".to_owned()),
        _ => match fs.fits_log_disk(other.sectors) {
            Err(too_long) => wrong("which is too short", too_long.why),
            Ok(()) => Ok(Some((other.first, other.sectors))),
        },
    }
}

/// The jobs as they run on this file system: with `data=journal`, ext4 (and ext3) has no direct I/O on files
/// (Documentation/admin-guide/ext4.rst), so that such jobs go through memory, with a note for each.
pub(super) fn through_memory(jobs: &[JobSection], fs: FsMount) -> (Cow<'_, [JobSection]>, Vec<Note>) {
    if !fs.kind.is_ext() || fs.options.data != JournalMode::Journal {
        return (Cow::Borrowed(jobs), Vec::new());
    }
    let mut jobs = jobs.to_vec();
    let is_raw = |job: &JobSection| job.settings.files.filename.as_ref().is_some_and(|name| are_devices(name));
    let mut notes = Vec::new();
    for job in jobs.iter_mut().filter(|job| job.settings.direct && !is_raw(job)) {
        let why = format!("with data=journal, {} has no direct I/O: it goes through memory", fs.kind);
        notes.push(Note { place: job.settings.place_of("direct", &job.place), option: "direct", why });
        job.settings.direct = false;
    }
    (Cow::Owned(jobs), notes)
}

/// The files of a file system, in order.
pub(super) fn files(fs: FsKind, clones: &[JobClone<'_>], files: &Files, extents: &[FileExtent]) -> Vec<PlannedFile> {
    let needs = &files.needs;
    if fs == FsKind::None {
        return Vec::new();
    }
    let regular = (0..needs.len()).filter(|file| needs[*file] != Need::WholeDisk && files.disks[*file] == 0);
    let mut states: Vec<Option<FileState>> = vec![None; needs.len()];
    for clone in clones {
        let state = match state(clone) {
            // `fallocate` is refused there, and fio goes on without it.
            FileState::Unwritten if fs.block_map() == BlockMap::Indirect => FileState::Empty,
            state => state,
        };
        for &file in &clone.files {
            let known = states[file].get_or_insert(state);
            *known = [*known, state].into_iter().min_by_key(|state| *state as u8).unwrap_or(state);
        }
    }
    let planned = |file: usize| {
        let FileExtent { start, length } = extents[file];
        let pages = pages_of(blksched::Sector(start / 512), length.div_ceil(512));
        PlannedFile { pages, state: states[file].unwrap_or(FileState::Written) }
    };
    regular.map(planned).collect()
}

/// Pages of new files that a job may write in part: nothing is read for that. A file that is written in whole pages
/// is left out, so that nobody has to keep account of it.
pub(super) fn blank(clones: &[JobClone<'_>], needs: &[Need], extents: &[FileExtent]) -> Vec<Pages> {
    let in_part = |clone: &&JobClone<'_>| {
        let s = &clone.job.settings;
        let is_whole =
            |extent| if let LengthOrShare::Bytes(at) = extent { at.is_multiple_of(PAGE_BYTES) } else { true };
        let whole = s.all_blocks().all(|blocks| blocks.are_multiples_of(PAGE_BYTES));
        !(whole && is_whole(s.offset) && is_whole(s.offset_increment))
    };
    let mut partly = vec![false; needs.len()];
    let mut written = vec![false; needs.len()];
    for clone in clones {
        let (in_part, was_there) = (in_part(&clone), state(clone) == FileState::Written);
        for &file in &clone.files {
            partly[file] |= in_part;
            written[file] |= was_there;
        }
    }
    let is_new =
        |file: &usize| matches!(needs[*file], Need::Bytes(_) | Need::Exactly(_)) && partly[*file] && !written[*file];
    let new = (0..needs.len()).filter(is_new);
    new.map(|file| pages_of(blksched::Sector(extents[file].start / 512), extents[file].length.div_ceil(512))).collect()
}

/// Whether its files come to be when they are opened.
pub(super) fn creates(s: &Settings) -> bool {
    s.rare.create_on_open && s.mix == Mix::Write && s.engine != IoEngine::Mapped
}

/// What a job does with the names of its files, if they come or go while it runs.
pub(super) fn names(s: &Settings, longest: usize) -> Option<NamesPlan> {
    let plan = NamesPlan {
        creates: creates(s),
        unlinks_each_pass: s.rare.unlink_each_loop && s.mix != Mix::Read,
        // fio removes what was only read, too (tried with 3.33).
        unlinks_at_end: s.rare.unlink || s.rare.unlink_each_loop,
        name: u8::try_from(longest).unwrap_or(u8::MAX),
    };
    (plan.creates || plan.unlinks_at_end).then_some(plan)
}

fn state(clone: &JobClone<'_>) -> FileState {
    let s = &clone.job.settings;
    match (s.mix, s.rare.preallocated) {
        _ if creates(s) => FileState::Empty,
        // What is mapped has to be there.
        _ if s.rare.overwrite || s.engine == IoEngine::Mapped || matches!(s.mix, Mix::Read | Mix::Both) => {
            FileState::Written
        }
        (_, Preallocated::Yes) => FileState::Unwritten,
        (_, Preallocated::No) => FileState::Empty,
    }
}
