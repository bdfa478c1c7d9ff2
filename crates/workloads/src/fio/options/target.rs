//! Options about the job itself and its engine.

use super::{Category, OptionEntry, OptionKind, supported_entry};
use crate::fio::settings::{IoEngine, Settings};

const ENGINES: &[&str] = &[
    "sync",
    "psync",
    "vsync",
    "pvsync",
    "pvsync2",
    "libaio",
    "io_uring",
    "io_uring_cmd",
    "posixaio",
    "solarisaio",
    "windowsaio",
    "sg",
];

const fn entry(name: &'static str, category: Category, kind: OptionKind, doc: &'static str) -> OptionEntry {
    supported_entry(name, &[], category, kind, doc)
}

fn set_engine(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.engine = match word {
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => IoEngine::Synchronous,
        "libaio" => IoEngine::AsynchronousIfDirect,
        "sg" => IoEngine::SynchronousCommands,
        "io_uring_cmd" => IoEngine::AsynchronousCommands,
        _ => IoEngine::Asynchronous,
    };
    Ok(())
}

const SG_WRITES: &[&str] = &[
    "write",
    "0",
    "write_same",
    "same",
    "write_same_ndob",
    "verify_bytchk_00",
    "verify_bytchk_01",
    "verify_bytchk_11",
];

fn set_sg_write(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.sg_verifies = word.starts_with("verify");
    Ok(())
}

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry("name", Category::Job, OptionKind::Text(|s, name| s.name = Some(name)), "the job's name in reports"),
    entry("description", Category::Job, OptionKind::Text(|s, text| s.description = Some(text)), "a line about the job"),
    entry(
        "ioengine",
        Category::Engine,
        OptionKind::Word { words: ENGINES, set: set_engine },
        "how I/O is submitted; synchronous engines mean depth 1, sg and io_uring_cmd go past the page cache",
    ),
    entry(
        "cmd_type",
        Category::Engine,
        OptionKind::Word { words: &["nvme"], set: |_, _| Ok(()) },
        "what io_uring_cmd sends",
    ),
    entry(
        "sg_write_mode",
        Category::Engine,
        OptionKind::Word { words: SG_WRITES, set: set_sg_write },
        "what sg sends for a write; a verification reads the medium, and is counted as a read",
    ),
    entry(
        "iodepth",
        Category::Engine,
        OptionKind::Int { min: 1, max: 65_536, set: |s, depth| s.iodepth = depth },
        "how many I/Os an asynchronous engine keeps in flight",
    ),
];
