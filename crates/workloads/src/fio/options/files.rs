//! Options about files: their names, how many, how long, which is next.

use super::{Category, OptionEntry, OptionKind, supported_entry};
use crate::fio::blocks;
use crate::fio::distribution::distribution;
use crate::fio::settings::{FileTurn, Preallocated, Service, Settings};
use crate::fio::values::{self, KbBase, ValueError, expected};
use crate::host::fs::{FsMount, WrongMount};

const fn entry(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: OptionKind,
    doc: &'static str,
) -> OptionEntry {
    supported_entry(name, aliases, Category::Target, kind, doc)
}

/// The most files of all processes together; each costs memory.
pub(crate) const MAX_FILES: u64 = 100_000;

const TURNS: &[&str] = &["roundrobin", "sequential", "random", "zipf", "pareto", "normal", "gauss"];

/// Parses `roundrobin:4`, `zipf:1.2`.
fn read_service(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    let (word, number) = text.split_once(':').map_or((text, None), |(word, number)| (word, Some(number.trim())));
    let word = values::word(word.trim(), TURNS)?;
    let turn = match word {
        "roundrobin" => FileTurn::RoundRobin,
        "sequential" => FileTurn::Sequential,
        "random" => FileTurn::Random,
        "gauss" => FileTurn::Skewed(skewed("normal", number, settings.kb_base)?),
        word => FileTurn::Skewed(skewed(word, number, settings.kb_base)?),
    };
    let every = match (&turn, number) {
        (FileTurn::Skewed(_), _) | (_, None) => 1,
        (_, Some(number)) => values::int(number, 1, u64::from(u32::MAX), KbBase::Binary)?,
    };
    settings.files.service = Service { turn, every };
    Ok(())
}

fn skewed(
    word: &str,
    number: Option<&str>,
    base: KbBase,
) -> Result<crate::fio::distribution::Distribution, ValueError> {
    let number = number.map(|number| format!(":{number}")).unwrap_or_default();
    distribution(&format!("{word}{number}"), base)
}

/// Parses `1m`, `4k-64k`.
fn read_filesize(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    let base = settings.kb_base;
    settings.files.filesize = match text.contains(['-', ':']) {
        true => blocks::range(text, base)?.first().copied(),
        false => match values::bytes(text, base)? {
            0 => None,
            bytes => Some((bytes, bytes)),
        },
    };
    match settings.files.filesize {
        Some((_, most)) if most > LONGEST_FILE => expected("at most 8 EiB, the longest file there is"),
        _ => Ok(()),
    }
}

/// Linux's limit \[bytes\].
const LONGEST_FILE: u64 = i64::MAX as u64;

const FALLOCATE: &[&str] = &["native", "posix", "keep", "truncate", "none", "1", "0"];

fn set_fallocate(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    let none = matches!(word, "truncate" | "none" | "0");
    settings.rare.preallocated = if none { Preallocated::No } else { Preallocated::Yes };
    Ok(())
}

fn read_fs(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    settings.rare.fs = Some(FsMount::named(text).map_err(wrong_mount)?);
    Ok(())
}

fn wrong_mount(wrong: WrongMount) -> ValueError {
    let WrongMount { why, nearest } = wrong;
    let Some((title, expected)) = why.split_once(": expected ") else {
        // It is the end of a sentence that has "expected" already.
        return ValueError { expected: format!("another one ({why})"), nearest, part: None };
    };
    let word = title.split('`').nth(1).unwrap_or(title);
    let title = match title.contains('`') {
        // No title without a predicate.
        true if title == format!("`{word}`") => format!("{title} is not understood"),
        true => title.to_owned(),
        false => format!("`{title}` is not understood"),
    };
    ValueError { expected: expected.to_owned(), nearest, part: Some((word.to_owned(), title)) }
}

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry(
        "fallocate",
        &[],
        OptionKind::Word { words: FALLOCATE, set: set_fallocate },
        "whether new files have places before they are written; changes nothing without a file system",
    ),
    entry(
        "lockfile",
        &[],
        OptionKind::Word {
            words: &["none", "exclusive", "readwrite"],
            set: |s, word| {
                s.rare.locks = word != "none";
                Ok(())
            },
        },
        "lock files; of no consequence for those of one process",
    ),
    entry(
        "overwrite",
        &[],
        OptionKind::Bool(|s, yes| s.rare.overwrite = yes),
        "files that are written exist; changes nothing without a file system",
    ),
    entry(
        "create_on_open",
        &[],
        OptionKind::Bool(|s, yes| s.rare.create_on_open = yes),
        "files that are written come to be when they are first used; changes nothing without a file system",
    ),
    entry(
        "unlink",
        &[],
        OptionKind::Bool(|s, yes| s.rare.unlink = yes),
        "files are removed at the end, also those that were only read; changes nothing without a file system",
    ),
    entry(
        "unlink_each_loop",
        &[],
        OptionKind::Bool(|s, yes| s.rare.unlink_each_loop = yes),
        "and, if they are written, after each pass, so that the next one makes them anew",
    ),
    entry(
        "fs",
        &[],
        OptionKind::Own { form: "ext4|xfs|none[:option,…]", read: read_fs },
        "the file system below all files of the load, and how it is mounted: ext4:data=writeback,commit=30",
    ),
    entry(
        "filename",
        &[],
        OptionKind::Text(|s, name| s.files.filename = Some(name)),
        "the file or files, a:b; with /dev/… the whole disk",
    ),
    entry(
        "filename_format",
        &[],
        OptionKind::Text(|s, format| s.files.filename_format = Some(format)),
        "names of files without filename: $jobname, $jobnum, $filenum are replaced",
    ),
    entry(
        "directory",
        &[],
        OptionKind::Text(|s, dir| s.files.directory = Some(dir)),
        "prefix of file names; the processes of a job take turns at several, a:b",
    ),
    entry(
        "nrfiles",
        &["nr_files"],
        OptionKind::Int { min: 1, max: MAX_FILES, set: |s, n| s.files.nrfiles = n },
        "how many files a job without filename has; they share size and lie together",
    ),
    entry(
        "filesize",
        &[],
        OptionKind::Own { form: "bytes or bytes-bytes", read: read_filesize },
        "size of each file, drawn from a range; size then only says how much is transferred",
    ),
    entry(
        "openfiles",
        &[],
        OptionKind::Int { min: 1, max: MAX_FILES, set: |s, n| s.files.openfiles = Some(n) },
        "how many files are open at a time",
    ),
    entry(
        "file_service_type",
        &[],
        OptionKind::Own {
            form: "roundrobin|sequential|random[:I/Os], zipf|pareto|normal|gauss[:number]",
            read: read_service,
        },
        "which file is next",
    ),
    entry(
        "fill_device",
        &["fill_fs"],
        OptionKind::Bool(|s, on| s.files.fill_device = on),
        "size is all the space left on the disk for the file",
    ),
    entry(
        "create_only",
        &[],
        OptionKind::Bool(|s, on| s.files.create_only = on),
        "only make the files, which costs nothing here: the job exits at once",
    ),
];
