//! `zonemode` and its companions.

use super::{Category, OptionEntry, OptionKind, supported_entry};
use crate::fio::settings::Settings;

const fn entry(name: &'static str, kind: OptionKind, doc: &'static str) -> OptionEntry {
    supported_entry(name, &[], Category::Target, kind, doc)
}

fn set_mode(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    match word {
        "zbd" => {
            return Err("none or strided: zbd needs zones that must be written in order, which no simulated disk has");
        }
        word => settings.zones.strided = word == "strided",
    }
    Ok(())
}

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry(
        "zonemode",
        OptionKind::Word { words: &["none", "strided", "zbd"], set: set_mode },
        "strided: zone by zone, with gaps",
    ),
    entry("zonesize", OptionKind::Extent(|s, size| s.zones.size = Some(size)), "how much to transfer in a zone"),
    entry("zonerange", OptionKind::Extent(|s, range| s.zones.range = Some(range)), "length of a zone, if not zonesize"),
    entry("zoneskip", OptionKind::Extent(|s, skip| s.zones.skip = Some(skip)), "gap between zones"),
];
