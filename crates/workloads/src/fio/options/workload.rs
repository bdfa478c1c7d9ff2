//! Options about what is read and written: pattern, blocks, sizes, random numbers.

use super::{Category, OptionEntry, OptionKind, supported_entry as entry};
use crate::fio::ddir::PerDdir;
use crate::fio::settings::{Hint, Jumps, Mix, OffsetOrder, Settings};
use crate::fio::values::{self, ValueError};

const RW: &[&str] = &[
    "read",
    "write",
    "randread",
    "randwrite",
    "rw",
    "readwrite",
    "randrw",
    "trim",
    "randtrim",
    "trimwrite",
    "randtrimwrite",
];

/// Parses `randread`, `randread:8`, `read:-8k`.
fn read_rw(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    let (word, number) = text.split_once(':').map_or((text, None), |(word, number)| (word, Some(number)));
    (settings.order, settings.mix) = match values::word(word.trim(), RW)? {
        "read" => (OffsetOrder::Sequential, Mix::Read),
        "write" => (OffsetOrder::Sequential, Mix::Write),
        "rw" | "readwrite" => (OffsetOrder::Sequential, Mix::Both),
        "randread" => (OffsetOrder::Random, Mix::Read),
        "randwrite" => (OffsetOrder::Random, Mix::Write),
        "randrw" => (OffsetOrder::Random, Mix::Both),
        "trim" => (OffsetOrder::Sequential, Mix::Trim),
        "randtrim" => (OffsetOrder::Random, Mix::Trim),
        "trimwrite" => (OffsetOrder::Sequential, Mix::TrimWrite),
        _ => (OffsetOrder::Random, Mix::TrimWrite),
    };
    settings.jumps = Jumps { stride: 0, every: 1 };
    let Some(number) = number.map(str::trim) else { return Ok(()) };
    match settings.order {
        OffsetOrder::Sequential => {
            let (digits, sign) = number.strip_prefix('-').map_or((number, 1), |digits| (digits, -1));
            settings.jumps.stride = sign * values::int(digits, 0, FARTHEST, settings.kb_base)? as i64;
        }
        OffsetOrder::Random => settings.jumps.every = values::int(number, 1, u64::MAX, settings.kb_base)?,
    }
    Ok(())
}

fn set_hint(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.fadvise_hint = match word {
        "0" => Hint::None,
        "random" => Hint::Said(OffsetOrder::Random),
        "sequential" => Hint::Said(OffsetOrder::Sequential),
        _ => Hint::Own,
    };
    Ok(())
}

/// The longest stride \[bytes\].
const FARTHEST: u64 = 1 << 50;

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry(
        "rw",
        &["readwrite"],
        Category::Pattern,
        OptionKind::Own {
            form: "read|write|rw|trim|trimwrite|randread|randwrite|randrw|randtrim|randtrimwrite[:number]",
            read: read_rw,
        },
        "pattern of the I/O; the number is a stride of sequential jobs, and a run's length of random ones",
    ),
    entry("direct", &[], Category::Pattern, OptionKind::Bool(|s, on| s.direct = on), "bypass the page cache"),
    entry("buffered", &[], Category::Pattern, OptionKind::Bool(|s, on| s.direct = !on), "opposite of direct"),
    entry(
        "invalidate",
        &[],
        Category::Target,
        OptionKind::Bool(|s, on| s.invalidate = on),
        "before each pass of a buffered job, the clean pages of its files leave memory; on unless set to 0",
    ),
    entry(
        "pre_read",
        &[],
        Category::Target,
        OptionKind::Flag(|s, on| s.pre_read = on),
        "a buffered job's files are in memory when it begins; invalidate is off then",
    ),
    entry(
        "fadvise_hint",
        &[],
        Category::Target,
        OptionKind::Word { words: &["0", "1", "random", "sequential"], set: set_hint },
        "what a buffered job tells the kernel about its order: nothing, its own (1), or this; readahead depends on it",
    ),
    entry(
        "rwmixread",
        &[],
        Category::Pattern,
        OptionKind::Int { min: 0, max: 100, set: |s, percent| s.rwmixread_percent = percent },
        "share of reads in a mixed workload [%]",
    ),
    entry(
        "rwmixwrite",
        &[],
        Category::Pattern,
        OptionKind::Int { min: 0, max: 100, set: |s, percent| s.rwmixread_percent = 100 - percent },
        "share of writes in a mixed workload [%]; of rwmixread and rwmixwrite, the later one counts",
    ),
    entry(
        "randrepeat",
        &[],
        Category::Pattern,
        OptionKind::Bool(|s, on| s.randrepeat = Some(on)),
        "if set to 1, random offsets are the same for every seed of the simulation",
    ),
    entry(
        "allrandrepeat",
        &[],
        Category::Pattern,
        OptionKind::Bool(|s, on| s.allrandrepeat = on),
        "if set to 1, everything random is the same for every seed of the simulation",
    ),
    entry(
        "randseed",
        &[],
        Category::Pattern,
        OptionKind::Int { min: 0, max: u64::MAX, set: |s, seed| s.randseed = Some(seed) },
        "seed of everything random, instead of the simulation's",
    ),
    entry(
        "norandommap",
        &[],
        Category::Pattern,
        OptionKind::Flag(|s, on| s.norandommap = on),
        "random offsets may repeat before every block has been used",
    ),
    entry(
        "bs",
        &["blocksize"],
        Category::Size,
        OptionKind::PerDdir {
            min: 1,
            max: u64::MAX,
            set: |s, bs| s.bs = PerDdir::from_fn(|ddir| bs[ddir].unwrap_or(4096)),
        },
        "block size for reads, writes, trims",
    ),
    entry(
        "bs_is_seq_rand",
        &[],
        Category::Size,
        OptionKind::Bool(|s, on| s.bs_is_seq_rand = on),
        "the block size for reads is that of sequential I/O, the one for writes that of random I/O",
    ),
    entry("size", &[], Category::Size, OptionKind::Extent(|s, size| s.size = Some(size)), "length of the region"),
    entry(
        "io_size",
        &["io_limit"],
        Category::Size,
        OptionKind::Extent(|s, size| s.io_size = Some(size)),
        "how much to transfer, if not the size of the region",
    ),
    entry("offset", &["fileoffset"], Category::Size, OptionKind::Extent(|s, at| s.offset = at), "start of the region"),
    entry(
        "offset_increment",
        &[],
        Category::Size,
        OptionKind::Extent(|s, step| s.offset_increment = step),
        "added to offset for each further process of numjobs",
    ),
    entry(
        "number_ios",
        &[],
        Category::Size,
        OptionKind::Int { min: 0, max: u64::MAX, set: |s, n| s.number_ios = (n > 0).then_some(n) },
        "stop after this many",
    ),
];
