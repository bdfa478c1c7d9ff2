//! The parts of the disk that a process uses, and the amount it transfers there.

use blksched::Sector;

use super::blocks::Blocks;
use super::ddir::PerDdir;
use super::errors::Problem;
use super::files::{JobClone, share_of};
use super::layout::{self, Need};
use super::options::MAX_FILES;
use super::sections::JobSection;
use super::settings::{OffsetOrder, Settings};
use super::values::LengthOrShare;

const SECTOR_BYTES: u64 = 512;

/// The part of a file that a clone uses.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub start: Sector,
    /// How far each direction's sequential blocks reach \[sectors\].
    pub reach: PerDdir<u64>,
    /// To transfer in one pass over it \[bytes\].
    pub bytes: u64,
    pub sectors: u64,
    /// From the file's beginning \[sectors\].
    pub offset: u64,
    /// The length of that file \[sectors\].
    pub file: u64,
}

/// What a clone uses of all its files.
pub(super) struct Regions {
    pub all: Vec<Region>,
    /// What one pass over them all may transfer \[bytes\].
    pub whole: u64,
    /// To transfer before its files are dropped from memory again \[bytes\].
    pub pass: u64,
    /// To transfer in all loops \[bytes\].
    pub bytes: u64,
    /// The most passes over its files; more than that only `io_size` asks for.
    pub passes: u64,
    /// It only ends by time.
    pub repeats: bool,
}

fn resolve(extent: LengthOrShare, whole: u64) -> u64 {
    match extent {
        LengthOrShare::Bytes(bytes) => bytes,
        LengthOrShare::Percent(percent) => (u128::from(whole) * u128::from(percent) / 100) as u64,
    }
}

/// The region of each file: from `offset`, with its share of `size`. `files` has every file's place, `needs` what was
/// asked for it.
pub(super) fn regions(clone: &JobClone<'_>, files: &[layout::FileExtent], needs: &[Need]) -> Result<Regions, Problem> {
    let s = &clone.job.settings;
    let share = clone.files.len() as u64;
    let each = |file: &usize| {
        let end = match needs[*file] {
            Need::Bytes(bytes) | Need::Exactly(bytes) => bytes,
            Need::WholeDisk | Need::Existing => files[*file].length,
        };
        region(clone.job, (clone.number, share), (files[*file], end))
    };
    let all = clone.files.iter().map(each).collect::<Result<Vec<_>, _>>()?;
    let to_do = all.iter().fold(0, |sum: u64, region| sum.saturating_add(region.bytes));
    let all = if s.zones.strided { zones(clone.job, &all[0])? } else { all };
    let whole = clone.files.iter().fold(0u64, |sum, file| sum.saturating_add(files[*file].length));
    let (pass, bytes) = match (s.io_size, s.size) {
        // A loop does no more than the files have, and there are more loops if `io_size` is not done by then, each
        // whole if `loops` times `io_size` is more (tried).
        (Some(extent), _) if extent != LengthOrShare::Bytes(0) => {
            let io_size = resolve(extent, to_do);
            let of_loop = io_size.min(to_do).max(1);
            let whole = of_loop.saturating_mul(s.loops.max(io_size.div_ceil(of_loop)));
            (io_size, whole.min(io_size.saturating_mul(s.loops)))
        }
        // With `filesize`, `size` only sets how much is transferred, at most what the files have (tried).
        (_, Some(extent)) if s.files.filesize.is_some() && extent != LengthOrShare::Bytes(0) => {
            let size = resolve(extent, whole).min(to_do);
            (size, size.saturating_mul(s.loops))
        }
        _ => (to_do, to_do.saturating_mul(s.loops)),
    };
    let passes = match s.io_size {
        Some(extent) if extent != LengthOrShare::Bytes(0) => u64::MAX,
        _ if s.time_based => u64::MAX,
        _ => s.loops,
    };
    let appends = s.rare.file_append && clone.files.iter().all(|file| needs[*file] != Need::WholeDisk);
    if appends {
        // There is no further pass after a file's end; without a map `io_size` is done all the same (tried).
        let bytes = if s.keeps_map() { pass.min(to_do) } else { pass };
        return Ok(Regions { all, whole: to_do, pass: bytes, bytes, passes: 1, repeats: false });
    }
    Ok(Regions { all, whole: to_do, pass, bytes, passes, repeats: s.time_based })
}

fn region(
    job: &JobSection,
    (number, share): (u64, u64),
    (file, end): (layout::FileExtent, u64),
) -> Result<Region, Problem> {
    let s = &job.settings;
    let align = if s.offset_align > 0 { s.offset_align } else { s.min_bs() };
    let of_file = |extent| match extent {
        LengthOrShare::Bytes(bytes) => bytes,
        percent => resolve(percent, end).checked_next_multiple_of(align).unwrap_or(u64::MAX),
    };
    let offset = of_file(s.offset).saturating_add(of_file(s.offset_increment).saturating_mul(number));
    let left = end.saturating_sub(offset);
    let size = match s.size {
        _ if s.files.filesize.is_some() || s.files.fill_device => left,
        None | Some(LengthOrShare::Bytes(0)) => left,
        Some(LengthOrShare::Percent(percent)) => {
            whole_blocks(resolve(LengthOrShare::Percent(percent), end), s).min(left)
        }
        Some(LengthOrShare::Bytes(bytes)) => share_of(bytes, share, s).min(left),
    };
    // Larger blocks of a range or mix are not drawn there (tried).
    if size < s.min_bs() {
        return Err(too_small(job, (offset, left, size)));
    }
    let reach = PerDdir::from_fn(|dir| match (s.order, s.blocks(dir)) {
        (OffsetOrder::Sequential, Blocks::One(bs)) if size.next_multiple_of(bs) <= left => size.next_multiple_of(bs),
        (_, Blocks::One(bs)) => size - size % bs,
        _ => size,
    });
    let start = Sector((file.start + offset) / SECTOR_BYTES);
    let reach = PerDdir::from_fn(|dir| reach[dir] / SECTOR_BYTES);
    let (offset, file) = (offset / SECTOR_BYTES, end / SECTOR_BYTES);
    Ok(Region { start, reach, bytes: size, sectors: size / SECTOR_BYTES, offset, file })
}

/// The zones of `zonemode=strided`, each of `zonerange` and followed by `zoneskip`, from `offset` to the file's end
/// however small `size` is (tried); a remainder that is too short for one is not used.
fn zones(job: &JobSection, region: &Region) -> Result<Vec<Region>, Problem> {
    let s = &job.settings;
    let whole = (region.file - region.offset).max(region.sectors) * SECTOR_BYTES;
    let of_file =
        |extent: Option<LengthOrShare>| extent.map(|extent| resolve(extent, whole)).filter(|bytes| *bytes > 0);
    let size = of_file(s.zones.size).unwrap_or(whole);
    let (range, skip) = (of_file(s.zones.range).unwrap_or(size), of_file(s.zones.skip).unwrap_or(0));
    let unit = s.max_bs().max(SECTOR_BYTES);
    let place = s.place_of(if s.zones.range.is_some() { "zonerange" } else { "zonesize" }, &job.place);
    let refuse = |what: String| {
        let title = format!("the zones of job `{}` cannot be used", job.name);
        Err(Problem::new(place.clone(), title, what))
    };
    if range % SECTOR_BYTES != 0 || skip % SECTOR_BYTES != 0 || range < unit || range > whole {
        return refuse(format!("zones of multiples of 512 bytes, from {unit} bytes to the {whole} of the region"));
    }
    let count = (whole - range) / range.saturating_add(skip) + 1;
    if count > MAX_FILES {
        return refuse(format!("{count} zones, and at most {MAX_FILES} are possible"));
    }
    let zone = |nth: u64| {
        let start = region.start.0 + nth * (range + skip) / SECTOR_BYTES;
        let reach = PerDdir::from_fn(|ddir| match s.blocks(ddir) {
            Blocks::One(bs) => range - range % bs,
            _ => range,
        });
        let reach = PerDdir::from_fn(|ddir| reach[ddir] / SECTOR_BYTES);
        let sectors = range / SECTOR_BYTES;
        Region { start: Sector(start), reach, bytes: size, sectors, offset: 0, file: sectors }
    };
    Ok((0..count).map(zone).collect())
}

fn too_small(job: &JobSection, (offset, left, size): (u64, u64, u64)) -> Problem {
    let s = &job.settings;
    let title = format!("the region of job `{}` is smaller than one block", job.name);
    let expected = format!("{size} bytes from offset {offset} on, block size {}", s.min_bs());
    let option = match () {
        () if s.files.nrfiles > 1 && offset == 0 => "nrfiles",
        () if left < s.min_bs() && offset > 0 => "offset",
        () if s.files.filesize.is_some() => "filesize",
        () => "size",
    };
    Problem::new(s.place_of(option, &job.place), title, expected)
}

/// At least one.
fn whole_blocks(bytes: u64, s: &Settings) -> u64 {
    (bytes - bytes % s.min_bs()).max(s.min_bs())
}
