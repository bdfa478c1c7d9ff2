//! Options about the job itself and its engine.

use super::{Category, Kind, OptionEntry, supported_entry};
use crate::fio::settings::{Engine, Settings};

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

const fn entry(name: &'static str, category: Category, kind: Kind, doc: &'static str) -> OptionEntry {
    supported_entry(name, &[], category, kind, doc)
}

fn set_engine(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.engine = match word {
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => Engine::Synchronous,
        "libaio" => Engine::AsynchronousIfDirect,
        "sg" => Engine::SynchronousCommands,
        "io_uring_cmd" => Engine::AsynchronousCommands,
        _ => Engine::Asynchronous,
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
    entry("name", Category::Job, Kind::Text(|s, name| s.name = Some(name)), "the job's name in reports"),
    entry("description", Category::Job, Kind::Text(|s, text| s.description = Some(text)), "a line about the job"),
    entry(
        "ioengine",
        Category::Engine,
        Kind::Word { words: ENGINES, set: set_engine },
        "how I/O is submitted; synchronous engines mean depth 1, sg and io_uring_cmd go past the page cache",
    ),
    entry("cmd_type", Category::Engine, Kind::Word { words: &["nvme"], set: |_, _| Ok(()) }, "what io_uring_cmd sends"),
    entry(
        "sg_write_mode",
        Category::Engine,
        Kind::Word { words: SG_WRITES, set: set_sg_write },
        "what sg sends for a write; a verification reads the medium, and is counted as a read",
    ),
    entry(
        "iodepth",
        Category::Engine,
        Kind::Int { min: 1, max: 65_536, set: |s, depth| s.iodepth = depth },
        "how many I/Os an asynchronous engine keeps in flight",
    ),
];
