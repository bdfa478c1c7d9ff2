//! Options about the job itself and its engine.

use super::{Category, Kind, OptionEntry, Support, Takes};
use crate::fio::settings::{Engine, Settings};

const ENGINES: &[&str] =
    &["sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "solarisaio", "windowsaio"];

const fn entry(name: &'static str, category: Category, kind: Kind, doc: &'static str) -> OptionEntry {
    OptionEntry { name, aliases: &[], category, doc, support: Support::Supported(Takes(kind)) }
}

fn set_engine(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.engine = match word {
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => Engine::Synchronous,
        "libaio" => Engine::AsynchronousIfDirect,
        _ => Engine::Asynchronous,
    };
    Ok(())
}

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry("name", Category::Job, Kind::Text(|s, name| s.name = Some(name)), "the job's name in reports"),
    entry("description", Category::Job, Kind::Text(|s, text| s.description = Some(text)), "a line about the job"),
    entry(
        "ioengine",
        Category::Engine,
        Kind::Word { words: ENGINES, set: set_engine },
        "how I/O is submitted; synchronous engines mean depth 1",
    ),
    entry(
        "iodepth",
        Category::Engine,
        Kind::Int { min: 1, max: 65_536, set: |s, depth| s.iodepth = depth },
        "how many I/Os an asynchronous engine keeps in flight",
    ),
];
