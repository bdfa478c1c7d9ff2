//! Options about the finer pattern: several block sizes, skewed offsets, stable writes.

use crate::fio::ddir::PerDdir;

use super::{Category, OptionEntry, OptionKind, supported_entry as entry};
use crate::fio::blocks;
use crate::fio::buffered::RangePlan;
use crate::fio::distribution::{Distribution, distribution};
use crate::fio::settings::{Durable, Sequencer, Settings};
use crate::fio::values::{self, KbBase, ValueError};
use crate::host::RangeSync;

fn read_kb_base(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    settings.kb_base = match values::word(text, &["1000", "1024"])? {
        "1000" => KbBase::Decimal,
        _ => KbBase::Binary,
    };
    Ok(())
}

fn read_bsrange(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    let ranges = values::lists(text, |part| blocks::range(part, settings.kb_base))?;
    settings.bsrange = PerDdir::from_fn(|dir| ranges[dir].first().copied());
    Ok(())
}

fn read_bssplit(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    settings.bssplit = values::lists(text, |part| blocks::split(part, settings.kb_base))?;
    Ok(())
}

/// The second part of a list may omit the distribution's name.
fn read_distribution(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    let name = text.split(':').next().unwrap_or("").trim();
    let read = |part: &str| -> Result<Vec<Distribution>, ValueError> {
        let named = part.starts_with(|c: char| c.is_ascii_alphabetic());
        let whole = if named { part.to_owned() } else { format!("{name}:{part}") };
        Ok(vec![distribution(&whole, settings.kb_base)?])
    };
    let lists = values::lists(text, read)?;
    settings.random_distribution = PerDdir::from_fn(|dir| lists[dir].first().cloned().unwrap_or_default());
    Ok(())
}

fn set_sync(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.sync = match word {
        "none" | "0" => Durable::No,
        "dsync" => Durable::Data,
        _ => Durable::All,
    };
    Ok(())
}

/// Parses `wait_before,write:4`; by default after each write.
fn read_range_sync(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    let (words, every) = text.split_once(':').map_or((text, "1"), |(words, every)| (words, every.trim()));
    let mut what = RangeSync::default();
    for word in words.split(',') {
        match values::word(word.trim(), &["wait_before", "write", "wait_after"])? {
            "wait_before" => what.waits_before = true,
            "write" => what.writes = true,
            _ => what.waits_after = true,
        }
    }
    let every = values::int(every, 1, MOST, settings.kb_base)?;
    settings.rare.sync_file_range = Some(RangePlan { what, every });
    Ok(())
}

/// fio's checksums of what it writes; they cost no time here.
const SUMS: &[&str] = &[
    "0",
    "md5",
    "crc64",
    "crc32",
    "crc32c",
    "crc32c-intel",
    "crc16",
    "crc7",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "xxhash",
    "meta",
    "pattern",
    "null",
];

fn set_verify(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.rare.verify = word != "0";
    Ok(())
}

fn set_sequencer(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.rw_sequencer = if word == "identical" { Sequencer::Identical } else { Sequencer::Sequential };
    Ok(())
}

const MOST: u64 = u32::MAX as u64;

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry(
        "verify",
        &[],
        Category::Host,
        OptionKind::Word { words: SUMS, set: set_verify },
        "read back what was written at the end of each pass",
    ),
    entry(
        "do_verify",
        &[],
        Category::Host,
        OptionKind::Bool(|s, on| s.rare.skips_verify = !on),
        "0: what was written is not read back whatever verify says",
    ),
    entry(
        "verify_only",
        &[],
        Category::Host,
        OptionKind::Flag(|s, on| s.rare.only_verifies = on),
        "read what verify would read back, without writing it",
    ),
    entry(
        "kb_base",
        &[],
        Category::Size,
        OptionKind::Own { form: "1000 or 1024", read: read_kb_base },
        "what k, m, g mean in the options below it; ki, mi, gi mean the other",
    ),
    entry(
        "bsrange",
        &["blocksize_range"],
        Category::Size,
        OptionKind::Own { form: "bytes-bytes[,bytes-bytes]", read: read_bsrange },
        "range of block sizes: multiples of the first; goes before bs",
    ),
    entry(
        "bs_unaligned",
        &["blocksize_unaligned"],
        Category::Size,
        OptionKind::Flag(|s, on| s.rare.bs_unaligned = on),
        "sizes of bsrange and bssplit that are not multiples of the least, in whole sectors",
    ),
    entry(
        "file_append",
        &[],
        Category::Size,
        OptionKind::Bool(|s, on| s.rare.file_append = on),
        "append to the files, once: no loops, no time_based; files are empty before, so this starts at their beginning",
    ),
    entry(
        "sync_file_range",
        &[],
        Category::Pattern,
        OptionKind::Own { form: "[wait_before,write,wait_after][:writes]", read: read_range_sync },
        "after this many writes of a buffered job, write their data to the disk, without a flush of its cache",
    ),
    entry(
        "bssplit",
        &[],
        Category::Size,
        OptionKind::Own { form: "bytes/%:bytes/%…[,…]", read: read_bssplit },
        "mix of block sizes; goes before bs and bsrange",
    ),
    entry(
        "blockalign",
        &["ba"],
        Category::Size,
        OptionKind::PerDdir { min: 1, max: u64::MAX, set: |s, align| s.blockalign = align },
        "boundary of random blocks; offsets may then repeat",
    ),
    entry(
        "offset_align",
        &[],
        Category::Size,
        OptionKind::Bytes(|s, align| s.offset_align = align),
        "boundary to which a percentage offset is rounded up, if not the block size",
    ),
    entry(
        "rw_sequencer",
        &[],
        Category::Pattern,
        OptionKind::Word { words: &["sequential", "identical"], set: set_sequencer },
        "what the number after rw means for random jobs: continue sequentially, or stay at one offset",
    ),
    entry(
        "percentage_random",
        &[],
        Category::Pattern,
        OptionKind::PerDdir {
            min: 0,
            max: 100,
            set: |s, share| s.percentage_random = PerDdir::from_fn(|dir| share[dir].unwrap_or(100)),
        },
        "share of a random job's I/Os that jump; the others continue after the last [%]",
    ),
    entry(
        "random_distribution",
        &[],
        Category::Pattern,
        OptionKind::Own { form: "random|zipf|pareto|normal|zoned|zoned_abs:numbers", read: read_distribution },
        "which part of the region random offsets prefer",
    ),
    entry(
        "fsync",
        &[],
        Category::Pattern,
        OptionKind::Int { min: 0, max: MOST, set: |s, n| s.fsync = n },
        "flush the disk's cache after this many writes",
    ),
    entry(
        "fdatasync",
        &[],
        Category::Pattern,
        OptionKind::Int { min: 0, max: MOST, set: |s, n| s.fdatasync = n },
        "like fsync; the difference is metadata, which is not simulated",
    ),
    entry("end_fsync", &[], Category::Pattern, OptionKind::Bool(|s, on| s.end_fsync = on), "flush at the job's end"),
    entry(
        "fsync_on_close",
        &[],
        Category::Pattern,
        OptionKind::Bool(|s, on| s.rare.fsync_on_close = on),
        "fsync of each file when it is closed",
    ),
    entry(
        "sync",
        &[],
        Category::Pattern,
        OptionKind::Word { words: &["none", "0", "sync", "1", "dsync"], set: set_sync },
        "each write is stable when it completes (FUA)",
    ),
];
