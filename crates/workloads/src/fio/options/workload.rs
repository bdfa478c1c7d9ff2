//! Options about what is read and written: pattern, blocks, sizes, random numbers.

use super::{Category, Kind, OptionEntry, Support, Takes};
use crate::fio::settings::{Mix, Order, Settings};

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

const fn entry(
    name: &'static str,
    aliases: &'static [&'static str],
    category: Category,
    kind: Kind,
    doc: &'static str,
) -> OptionEntry {
    OptionEntry { name, aliases, category, doc, support: Support::Supported(Takes(kind)) }
}

fn set_rw(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    (settings.order, settings.mix) = match word {
        "read" => (Order::Sequential, Mix::Read),
        "write" => (Order::Sequential, Mix::Write),
        "rw" | "readwrite" => (Order::Sequential, Mix::Both),
        "randread" => (Order::Random, Mix::Read),
        "randwrite" => (Order::Random, Mix::Write),
        "randrw" => (Order::Random, Mix::Both),
        _ => return Err("a pattern without trims: read, write, randread, randwrite, rw or randrw"),
    };
    Ok(())
}

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry("rw", &["readwrite"], Category::Pattern, Kind::Word { words: RW, set: set_rw }, "pattern of the I/O"),
    entry("direct", &[], Category::Pattern, Kind::Bool(|s, on| s.direct = on), "bypass the page cache"),
    entry("buffered", &[], Category::Pattern, Kind::Bool(|s, on| s.direct = !on), "opposite of direct"),
    entry(
        "rwmixread",
        &[],
        Category::Pattern,
        Kind::Int { min: 0, max: 100, set: |s, percent| s.rwmixread_percent = percent },
        "share of reads in a mixed workload [%]",
    ),
    entry(
        "rwmixwrite",
        &[],
        Category::Pattern,
        Kind::Int { min: 0, max: 100, set: |s, percent| s.rwmixread_percent = 100 - percent },
        "share of writes in a mixed workload [%]; the later of it and rwmixread holds",
    ),
    entry(
        "randrepeat",
        &[],
        Category::Pattern,
        Kind::Bool(|s, on| s.randrepeat = Some(on)),
        "if said and 1, random offsets are the same for every seed of the simulation",
    ),
    entry(
        "allrandrepeat",
        &[],
        Category::Pattern,
        Kind::Bool(|s, on| s.allrandrepeat = on),
        "everything random is the same for every seed of the simulation",
    ),
    entry(
        "randseed",
        &[],
        Category::Pattern,
        Kind::Int { min: 0, max: u64::MAX, set: |s, seed| s.randseed = Some(seed) },
        "seed of everything random, instead of the simulation's",
    ),
    entry(
        "norandommap",
        &[],
        Category::Pattern,
        Kind::Flag(|s, on| s.norandommap = on),
        "random offsets may repeat before every block has been used",
    ),
    entry(
        "bs",
        &["blocksize"],
        Category::Size,
        Kind::PerDir {
            min: 1,
            set: |s, bs| {
                s.bs.read = bs.read.unwrap_or(4096);
                s.bs.write = bs.write.unwrap_or(4096);
            },
        },
        "block size for reads, writes",
    ),
    entry("size", &[], Category::Size, Kind::Extent(|s, size| s.size = Some(size)), "length of the region"),
    entry(
        "io_size",
        &["io_limit"],
        Category::Size,
        Kind::Extent(|s, size| s.io_size = Some(size)),
        "how much to transfer, if not the size of the region",
    ),
    entry("offset", &["fileoffset"], Category::Size, Kind::Extent(|s, at| s.offset = at), "start of the region"),
    entry(
        "offset_increment",
        &[],
        Category::Size,
        Kind::Bytes(|s, step| s.offset_increment = step),
        "added to offset for each further process of numjobs",
    ),
    entry(
        "number_ios",
        &[],
        Category::Size,
        Kind::Int { min: 0, max: u64::MAX, set: |s, n| s.number_ios = (n > 0).then_some(n) },
        "stop after this many",
    ),
];
