//! Blocks of a buffered job that are no multiples of a disk's sectors, as in etcd's well-known test (`bs=2300`).
//!
//! **Rule** Through the page cache any length can be read and written. Here I/O is counted in sectors of 512 bytes, so
//! each block is as long as the sectors that it touches when it begins at one, and the job's files and amounts are
//! longer in proportion: it does as many I/Os and flushes as with fio (tried: `bs=2300 size=230k` is 102 writes), and
//! its bandwidth is too high by that proportion, which a note says. A block for which that would be more than a quarter
//! is refused.

use super::errors::Note;
use super::sections::JobSection;
use super::values::LengthOrShare;

const SECTOR_BYTES: u64 = 512;

/// Makes the blocks of a buffered job whole sectors; comes with a note if that changes them.
pub(super) fn make_whole(job: &mut JobSection) -> Vec<Note> {
    let s = &mut job.settings;
    let mut notes = Vec::new();
    if s.direct {
        return notes;
    }
    if let LengthOrShare::Bytes(bytes) = s.offset
        && bytes % SECTOR_BYTES != 0
    {
        s.offset = LengthOrShare::Bytes(bytes - bytes % SECTOR_BYTES);
        let why = format!("a disk's sectors have 512 bytes: the job begins at {} here", bytes - bytes % SECTOR_BYTES);
        notes.push(Note { place: s.place_of("offset", &job.place), option: "offset", why });
    }
    let Some(&first) = s.dirs().first() else { return notes };
    let bs = s.bs[first];
    let plain = s.all_blocks().all(|blocks| (blocks.min(), blocks.max()) == (bs, bs));
    let whole = bs.next_multiple_of(SECTOR_BYTES);
    if !plain || s.files.filesize.is_some() || bs == 0 || whole == bs || whole * 4 > bs * 5 {
        return notes;
    }
    let longer = |bytes: u64| (u128::from(bytes) * u128::from(whole)).div_ceil(u128::from(bs)) as u64;
    let extent = |extent: &mut Option<LengthOrShare>| {
        if let Some(LengthOrShare::Bytes(bytes)) = extent {
            // fio does whole blocks only (tried).
            *bytes = if *bytes < bs { longer(*bytes) } else { *bytes / bs * whole };
        }
    };
    extent(&mut s.size);
    extent(&mut s.io_size);
    for dir in s.dirs().to_vec() {
        s.bs[dir] = whole;
    }
    let percent = 100.0 * (whole as f64 / bs as f64 - 1.0);
    let why = format!(
        "blocks of {bs} bytes are simulated as {whole}, whole sectors, and files in proportion: counts and latencies \
         are those of {bs}, bandwidths and amounts {percent:.0} % too high"
    );
    notes.push(Note { place: s.place_of("bs", &job.place), option: "bs", why });
    notes
}
