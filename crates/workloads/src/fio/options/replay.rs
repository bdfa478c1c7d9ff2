//! `read_iolog` and its companions: a recorded trace in place of a pattern.

use blksched::Op;

use super::{Category, OptionEntry, OptionKind, supported_entry};
use crate::fio::settings::Settings;
use crate::fio::values::{self, ValueError};

const fn entry(name: &'static str, kind: OptionKind, doc: &'static str) -> OptionEntry {
    supported_entry(name, &[], Category::Target, kind, doc)
}

fn read_skip(settings: &mut Settings, text: &str) -> Result<(), ValueError> {
    let skipped = |word: &str| match word.trim() {
        "read" => Ok(Op::Read),
        "write" => Ok(Op::Write),
        "trim" => Ok(Op::Discard),
        "sync" => Ok(Op::Flush),
        _ => values::expected("read, write, trim, sync, or several of them"),
    };
    settings.files.replay.skip = text.split(',').map(skipped).collect::<Result<_, _>>()?;
    Ok(())
}

fn set_align(settings: &mut Settings, bytes: u64) {
    settings.files.replay.align = bytes;
}

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry("read_iolog", OptionKind::Text(|s, name| s.files.replay.log = Some(name)), "the block trace to replay"),
    entry(
        "replay_no_stall",
        OptionKind::Bool(|s, yes| s.files.replay.no_stall = yes),
        "replay as fast as iodepth allows, without the recorded pauses",
    ),
    entry(
        "replay_time_scale",
        OptionKind::Int { min: 1, max: 1_000_000, set: |s, percent| s.files.replay.time_scale = percent },
        "the recorded rate [%]",
    ),
    entry(
        "replay_scale",
        OptionKind::Int { min: 1, max: 1 << 32, set: |s, by| s.files.replay.scale = by },
        "divide offsets by this",
    ),
    entry("replay_align", OptionKind::Bytes(set_align), "round offsets down to a multiple of this power of 2"),
    entry(
        "replay_skip",
        OptionKind::Own { form: "read,write,trim,sync", read: read_skip },
        "leave out I/O of these kinds",
    ),
];
