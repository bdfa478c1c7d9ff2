//! What an array of disks is made of, and how that is read from TOML or from a name such as `raid5:4xhdd-7200`.

use blksched::nearest;

use super::error::DiskError;
use super::published;
use super::reader::{Located, Section, Source};
use super::{DiskSpec, Model, PRESETS, parse, preset_names, read_disk};
use crate::Attached;

/// An array of disks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaidSpec {
    /// How data is laid out.
    pub level: Level,
    /// What lies on one member before the next one's turn \[512-byte sectors\]; of no importance to level 1.
    pub chunk_sectors: u64,
    /// Largest command \[512-byte sectors\].
    pub max_sectors: u32,
    /// Commands at a time; members keep their own depth, and what they do not take waits in the array.
    pub depth: u32,
    /// From which mirror is read; of no importance without mirrors.
    pub reads: MirrorReads,
    /// The disks. Each gives as much as the smallest.
    pub members: Vec<DiskSpec>,
    /// How many of them have failed: the last ones, of pairs of mirrors one each.
    pub failed: u32,
}

/// How an array lays out data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Striped, not redundant.
    Raid0,
    /// Everything on every member.
    Raid1,
    /// Striped with one rotating parity chunk per stripe.
    Raid5,
    /// The same with two.
    Raid6,
    /// Striped over pairs of mirrors.
    Raid10,
}

impl Level {
    /// How many of so many members may fail without loss.
    pub fn most_failed(self, members: u32) -> u32 {
        match self {
            Level::Raid0 => 0,
            Level::Raid1 => members - 1,
            Level::Raid5 => 1,
            Level::Raid6 => 2,
            Level::Raid10 => members / 2,
        }
    }

    /// The fewest members.
    pub fn least_members(self) -> u32 {
        match self {
            Level::Raid0 | Level::Raid1 => 2,
            Level::Raid5 => 3,
            Level::Raid6 | Level::Raid10 => 4,
        }
    }
}

/// From which mirror is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorReads {
    /// Always from the first.
    First,
    /// From the one whose last command the read continues, else the less busy, else the nearer.
    Balanced,
}

/// The keys at the top of a raid's file.
pub(super) const KEYS: &[&str] = &[
    "kind",
    "description",
    "attached",
    "level",
    "chunk",
    "max_command",
    "depth",
    "mirror_reads",
    "members",
    "member",
    "failed",
    "fault",
    "delay",
    "caps",
    "tracer",
    "published",
];

const LEVELS: [(&str, Level); 5] =
    [("0", Level::Raid0), ("1", Level::Raid1), ("5", Level::Raid5), ("6", Level::Raid6), ("10", Level::Raid10)];
const CHUNK_SECTORS: u64 = 1_024;
const MAX_SECTORS: u32 = 65_536;
const MOST_MEMBERS: u32 = 64;
const MOST_DEPTH: u32 = 1_024;

pub(super) fn read(top: &Section<'_>) -> Result<RaidSpec, DiskError> {
    let level = top.word("level", &LEVELS)?;
    let members = members(top)?;
    let count = members.len() as u32;
    let place = if top.has("members") {
        top.words("members")?.first().map_or(top.at(), |word| word.at.clone())
    } else {
        top.at()
    };
    check_count(level, count).map_err(|problem| top.invalid(place, problem))?;
    let reads = [("first", MirrorReads::First), ("balanced", MirrorReads::Balanced)];
    let failed = if top.has("failed") { top.count("failed", 0..=65_536)? } else { 0 };
    check_failed(level, count, failed).map_err(|problem| top.invalid(top.at(), problem))?;
    Ok(RaidSpec {
        level,
        failed,
        chunk_sectors: if top.has("chunk") { top.sectors("chunk", 8..=65_536)?.value } else { CHUNK_SECTORS },
        max_sectors: if top.has("max_command") { super::max_command(top)? } else { MAX_SECTORS },
        depth: if top.has("depth") { top.count("depth", 1..=65_536)? } else { usual_depth(&members) },
        reads: if top.has("mirror_reads") { top.word("mirror_reads", &reads)? } else { MirrorReads::Balanced },
        members,
    })
}

fn check_count(level: Level, count: u32) -> Result<(), String> {
    let least = level.least_members();
    if count < least || count > MOST_MEMBERS {
        return Err(format!("{count} members: this level needs from {least} to {MOST_MEMBERS}"));
    }
    if level == Level::Raid10 && !count.is_multiple_of(2) {
        return Err(format!("{count} members: mirrors come in pairs, expected an even number"));
    }
    Ok(())
}

fn check_failed(level: Level, members: u32, failed: u32) -> Result<(), String> {
    let most = level.most_failed(members);
    let problem = || format!("{failed} failed members: {members} of this level can do without {most} at most");
    if failed > most { Err(problem()) } else { Ok(()) }
}

/// What all members take together.
fn usual_depth(members: &[DiskSpec]) -> u32 {
    members.iter().map(|member| member.depth()).fold(0, u32::saturating_add).min(MOST_DEPTH)
}

/// `members = ["preset", …]` and then every `[[member]]`, which is a disk's own table.
fn members(top: &Section<'_>) -> Result<Vec<DiskSpec>, DiskError> {
    let mut members = Vec::new();
    if top.has("members") {
        for Located { value, at } in top.words("members")? {
            members.push(preset(&value).map_err(|nearest| top.source().invalid(at, not_a_preset(&value), nearest))?);
        }
    }
    for (table, at) in top.tables("member")? {
        let (section, model, attached, middleware) = read_disk(top.source(), table, at)?;
        let name = format!("member {}", members.len());
        let description = if section.has("description") { section.text("description")?.value } else { name.clone() };
        members.push(DiskSpec {
            name,
            description,
            model,
            attached,
            middleware,
            published: published::read(&section)?,
        });
    }
    Ok(members)
}

fn preset(name: &str) -> Result<DiskSpec, Option<&'static str>> {
    match PRESETS.iter().find(|(preset, _)| *preset == name) {
        Some((name, text)) => Ok(parse(name, text).expect("a test loads every preset")),
        None => Err(nearest(name, preset_names())),
    }
}

fn not_a_preset(name: &str) -> String {
    let known: Vec<&str> = preset_names().collect();
    format!("`{name}` is not a preset: expected one of {}, or a table [[member]]", known.join(", "))
}

/// `raid5:4xhdd-7200`, `raid5:4xhdd-7200,failed=1`: level, number, preset, failed members;
/// `None` if the text does not begin so.
pub(super) fn short(text: &str) -> Option<Result<DiskSpec, DiskError>> {
    let (level, rest) = text.strip_prefix("raid")?.split_once(':')?;
    Some(read_short(text, level, rest))
}

fn read_short(text: &str, level: &str, rest: &str) -> Result<DiskSpec, DiskError> {
    let source = Source { file: text, text };
    let behind = text.len() - rest.len();
    let wrong = |at: usize, problem: String| source.invalid(at..at, problem, None);
    let Some(&(_, known)) = LEVELS.iter().find(|(name, _)| *name == level) else {
        return Err(wrong(4, format!("`{level}` is not a level: expected one of 0, 1, 5, 6, 10")));
    };
    let count = rest.split_once('x').and_then(|(count, name)| Some((count.parse::<u32>().ok()?, name)));
    let Some((count, name)) = count else {
        return Err(wrong(behind, format!("`{rest}` says no members: expected as in \"raid5:4xhdd-7200\"")));
    };
    check_count(known, count).map_err(|problem| wrong(behind, problem))?;
    let at = text.len() - name.len();
    let (name, change) = name.split_once(',').map_or((name, None), |(name, change)| (name, Some(change)));
    let failed = match change.map(|change| (change, change.strip_prefix("failed=").map(str::parse::<u32>))) {
        None => 0,
        Some((_, Some(Ok(failed)))) => failed,
        Some((change, _)) => {
            let problem = format!("`{change}`: expected `failed=` and how many members have failed");
            return Err(wrong(text.len() - change.len(), problem));
        }
    };
    check_failed(known, count, failed).map_err(|problem| wrong(at, problem))?;
    let member = preset(name).map_err(|nearest| source.invalid(at..at, not_a_preset(name), nearest))?;
    let members = vec![member; count as usize];
    Ok(DiskSpec {
        name: text.to_owned(),
        description: match failed {
            0 => format!("{count} {name} as RAID {level}, chunks of 512 KiB"),
            failed => format!("{count} {name} as RAID {level}, chunks of 512 KiB, {failed} failed"),
        },
        model: Model::Raid(RaidSpec {
            level: known,
            failed,
            chunk_sectors: CHUNK_SECTORS,
            max_sectors: MAX_SECTORS,
            depth: usual_depth(&members),
            reads: MirrorReads::Balanced,
            members,
        }),
        attached: Attached::Scsi,
        middleware: Default::default(),
        published: Vec::new(),
    })
}
