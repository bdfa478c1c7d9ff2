//! Which part of the disk a process uses, and how much it transfers there.

use crate::fio::ddir::PerDdir;
use blksched::Sector;

use super::blocks::Blocks;
use super::errors::Problem;
use super::files::Clone;
use super::layout;
use super::settings::{Order, Settings};
use super::values::Extent;

const SECTOR_BYTES: u64 = 512;

/// The part of the disk that a clone uses.
pub(super) struct Region {
    pub start: Sector,
    /// How far each direction's sequential blocks reach \[sectors\].
    pub reach: PerDdir<u64>,
    /// To transfer in one loop \[bytes\].
    pub bytes: u64,
    pub sectors: u64,
}

fn resolve(extent: Extent, whole: u64) -> u64 {
    match extent {
        Extent::Bytes(bytes) => bytes,
        Extent::Percent(percent) => (u128::from(whole) * u128::from(percent) / 100) as u64,
    }
}

/// From `offset` for `size`, within the file.
pub(super) fn region(clone: &Clone<'_>, file: layout::Extent) -> Result<Region, Problem> {
    let (job, s) = (clone.job, &clone.job.settings);
    let align = if s.offset_align > 0 { s.offset_align } else { s.min_bs() };
    let of_file = |extent| match extent {
        Extent::Bytes(bytes) => bytes,
        percent => resolve(percent, file.length).checked_next_multiple_of(align).unwrap_or(u64::MAX),
    };
    let offset = of_file(s.offset).saturating_add(of_file(s.offset_increment).saturating_mul(clone.number));
    let left = file.length.saturating_sub(offset);
    let size = match s.size {
        None | Some(Extent::Bytes(0)) => left,
        Some(Extent::Percent(percent)) => whole_blocks(resolve(Extent::Percent(percent), file.length), s).min(left),
        Some(Extent::Bytes(bytes)) => bytes.min(left),
    };
    if size < s.max_bs() {
        let title = format!("the region of job `{}` is smaller than one block", job.name);
        let expected = format!("{size} bytes from offset {offset} on, block size {}", s.max_bs());
        let option = if left < s.max_bs() { "offset" } else { "size" };
        return Err(Problem::new(s.place_of(option, &job.place), title, expected));
    }
    let reach = PerDdir::from_fn(|dir| match (s.order, s.blocks(dir)) {
        (Order::Sequential, Blocks::One(bs)) if size.next_multiple_of(bs) <= left => size.next_multiple_of(bs),
        (_, Blocks::One(bs)) => size - size % bs,
        _ => size,
    });
    let bytes = match s.io_size {
        None | Some(Extent::Bytes(0)) => size,
        Some(extent) => resolve(extent, file.length),
    };
    let bytes = if s.order == Order::Random { whole_blocks(bytes, s) } else { bytes };
    let start = Sector((file.start + offset) / SECTOR_BYTES);
    let reach = PerDdir::from_fn(|dir| reach[dir] / SECTOR_BYTES);
    Ok(Region { start, reach, bytes, sectors: size / SECTOR_BYTES })
}

/// At least one.
fn whole_blocks(bytes: u64, s: &Settings) -> u64 {
    (bytes - bytes % s.min_bs()).max(s.min_bs())
}
