//! The specification of an array, read from TOML or from a name such as `raid5:4xhdd-7200`.

use std::ops::RangeInclusive;

use blksched_text::document::{Complaint, Located, Section};
use blksched_text::nearest;

use super::keys;
use super::published;
use super::reader::Quantities as _;
use super::{DiskSpec, parse, preset_names, preset_text, read_disk};

/// An array of disks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaidSpec {
    /// How data is laid out.
    pub level: Level,
    /// The length of a chunk on one member \[512-byte sectors\]; irrelevant for level 1.
    pub chunk_sectors: u64,
    /// Largest command \[512-byte sectors\].
    pub max_sectors: u32,
    /// The most commands at a time; members keep their own depth, and what they do not accept waits in the array.
    pub depth: u32,
    /// Which mirror is read; irrelevant without mirrors.
    pub reads: MirrorReads,
    /// The disks. Each contributes as much as the smallest.
    pub members: Vec<DiskSpec>,
    /// How many of them have failed: the last ones; with pairs of mirrors, one of each.
    pub failed: u32,
    /// One more was lost, and is being rebuilt.
    pub rebuild: Option<RebuildSpec>,
    /// The number of pages of each member that are gathered for writing; irrelevant without parity.
    pub stripe_cache_size: u32,
    /// How many writes that need no reading may pass one that does; 0 for any number.
    pub preread_bypass_threshold: u32,
}

/// How a replaced member is rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RebuildSpec {
    /// How much of it is rebuilt when time begins.
    pub percent: u32,
    /// The goal under load \[KiB/s, per member\].
    pub sync_speed_min: u32,
    /// The goal without load \[KiB/s, per member\].
    pub sync_speed_max: u32,
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
    /// How many of this many members may fail without data loss.
    pub fn most_failed(self, members: u32) -> u32 {
        match self {
            Level::Raid0 => 0,
            Level::Raid1 => members - 1,
            Level::Raid5 => 1,
            Level::Raid6 => 2,
            Level::Raid10 => members / 2,
        }
    }

    /// The most members. Where parity is computed, and where each read considers every mirror, arrays are of moderate
    /// size.
    pub fn most_members(self) -> u32 {
        match self {
            Level::Raid0 | Level::Raid10 => 1024,
            Level::Raid1 | Level::Raid5 | Level::Raid6 => 64,
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

/// Which mirror is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorReads {
    /// Always from the first.
    First,
    /// The one whose last command the read continues, else the less busy, else the nearer.
    Balanced,
}

/// The keys at the top of a raid's file.
pub(super) const KEYS: &[&str] = keys![
    "level",
    "chunk",
    "max_command",
    "depth",
    "mirror_reads",
    "members",
    "member",
    "failed",
    "rebuild",
    "sync_speed_min",
    "sync_speed_max",
    "stripe_cache_size",
    "preread_bypass_threshold",
];

pub(super) const LEVELS: [(&str, Level); 5] =
    [("0", Level::Raid0), ("1", Level::Raid1), ("5", Level::Raid5), ("6", Level::Raid6), ("10", Level::Raid10)];
pub(super) const CHUNK_SECTORS: u64 = 1_024;
pub(super) const MAX_SECTORS: u32 = 65_536;
/// As in Linux's Documentation/admin-guide/md.rst.
pub(super) const STRIPE_CACHE_SIZE: u32 = 256;
pub(super) const STRIPE_CACHE_SIZES: RangeInclusive<u32> = 17..=32_768;
pub(super) const PREREAD_BYPASS_THRESHOLD: u32 = 1;
/// The defaults of `speed_limit_min` and `speed_limit_max` in md(4) \[KiB/s\].
pub(super) const SYNC_SPEED_MIN: u32 = 1_000;
pub(super) const SYNC_SPEED_MAX: u32 = 200_000;
pub(super) const SYNC_SPEEDS: RangeInclusive<u32> = 1..=100_000_000;
/// The stripe cache holds pages of this size \[512-byte sectors\].
const PAGE: u64 = 8;
const MOST_DEPTH: u32 = 1_024;

pub(super) fn read(top: &Section<'_>) -> Result<RaidSpec, Complaint> {
    let level = top.word("level", &LEVELS)?;
    let members = members(top)?;
    let count = members.len() as u32;
    let place = if top.has("members") {
        top.words("members")?.first().map_or_else(|| top.at().clone(), |word| word.at.clone())
    } else {
        top.at().clone()
    };
    check_count(level, count).map_err(|problem| top.complain(&place, problem))?;
    let reads = [("first", MirrorReads::First), ("balanced", MirrorReads::Balanced)];
    let count_or = |key, range, usual| if top.has(key) { top.count_within(key, range) } else { Ok(usual) };
    let failed = count_or("failed", 0..=65_536, 0)?;
    let rebuild = rebuild(top)?;
    check_lost(level, count, failed, rebuild.is_some())
        .map_err(|problem| top.complain(&top.at_key("failed"), problem))?;
    let stripe_cache_size = count_or("stripe_cache_size", STRIPE_CACHE_SIZES, STRIPE_CACHE_SIZE)?;
    let most = 0..=stripe_cache_size;
    let chunk = if top.has("chunk") { Some(top.sectors("chunk", 8..=65_536)?) } else { None };
    if let Some(chunk) = &chunk {
        check_chunk(level, chunk.value).map_err(|problem| top.complain(&chunk.at, problem))?;
    }
    Ok(RaidSpec {
        level,
        failed,
        rebuild,
        stripe_cache_size,
        preread_bypass_threshold: count_or("preread_bypass_threshold", most, PREREAD_BYPASS_THRESHOLD)?,
        chunk_sectors: chunk.map_or(CHUNK_SECTORS, |chunk| chunk.value),
        max_sectors: if top.has("max_command") { super::max_command(top)? } else { MAX_SECTORS },
        depth: if top.has("depth") { top.count_within("depth", 1..=65_536)? } else { usual_depth(&members) },
        reads: if top.has("mirror_reads") { top.word("mirror_reads", &reads)? } else { MirrorReads::Balanced },
        members,
    })
}

/// `rebuild` and the speeds that go with it.
fn rebuild(top: &Section<'_>) -> Result<Option<RebuildSpec>, Complaint> {
    if !top.has("rebuild") {
        let alone = ["sync_speed_min", "sync_speed_max"].into_iter().find(|key| top.has(key));
        return alone.map_or(Ok(None), |key| Err(top.complain(&top.at_key(key), without_rebuild(key))));
    }
    let speed = |key, usual| if top.has(key) { top.count_within(key, SYNC_SPEEDS) } else { Ok(usual) };
    Ok(Some(RebuildSpec {
        percent: top.percent("rebuild", 0..=99)?,
        sync_speed_min: speed("sync_speed_min", SYNC_SPEED_MIN)?,
        sync_speed_max: speed("sync_speed_max", SYNC_SPEED_MAX)?,
    }))
}

pub(super) fn without_rebuild(key: &str) -> String {
    format!("`{key}` says how fast a rebuild is, and nothing is rebuilt: expected `rebuild` beside it")
}

/// Parity is computed over pages.
pub(super) fn check_chunk(level: Level, sectors: u64) -> Result<(), String> {
    if !matches!(level, Level::Raid5 | Level::Raid6) || sectors.is_multiple_of(PAGE) {
        return Ok(());
    }
    Err(format!("a chunk of {} KiB: with parity a multiple of 4KiB is expected", sectors as f64 / 2.0))
}

pub(super) fn check_count(level: Level, count: u32) -> Result<(), String> {
    let (least, most) = (level.least_members(), level.most_members());
    if count < least || count > most {
        return Err(format!("{count} members: this level needs from {least} to {most}"));
    }
    if level == Level::Raid10 && !count.is_multiple_of(2) {
        return Err(format!("{count} members: mirrors come in pairs, expected an even number"));
    }
    Ok(())
}

pub(super) fn check_lost(level: Level, members: u32, failed: u32, rebuilding: bool) -> Result<(), String> {
    let (most, lost) = (level.most_failed(members), failed.saturating_add(rebuilding.into()));
    let what = if rebuilding { "failed members, one of them being rebuilt" } else { "failed members" };
    let problem = || format!("{lost} {what}: {members} of this level can do without {most} at most");
    if lost > most { Err(problem()) } else { Ok(()) }
}

/// What all members accept together.
pub(super) fn usual_depth(members: &[DiskSpec]) -> u32 {
    members.iter().map(|member| member.depth()).fold(0, u32::saturating_add).min(MOST_DEPTH)
}

/// `members = ["preset", …]` and then every `[[member]]`, which is a disk's own table.
fn members(top: &Section<'_>) -> Result<Vec<DiskSpec>, Complaint> {
    let mut members = Vec::new();
    if top.has("members") {
        for Located { value, at } in top.words("members")? {
            let unknown = |nearest| top.complain(&at, not_a_preset(&value)).meaning(nearest);
            members.push(preset(&value).map_err(unknown)?);
        }
    }
    for (table, at) in top.tables("member")? {
        let (section, model, attached, middleware) = read_disk(top.source(), table, at)?;
        let name = format!("member {}", members.len());
        let description = section.text("description")?.map_or_else(|| name.clone(), |text| text.value);
        members.push(DiskSpec {
            name,
            description,
            model,
            attached,
            middleware,
            published: published::read(&section)?,
            validated: super::fit::validated(&section)?,
            fits: Vec::new(),
        });
    }
    Ok(members)
}

pub(super) fn preset(name: &str) -> Result<DiskSpec, Option<&'static str>> {
    match preset_text(name) {
        Some(text) => Ok(parse(name, text).expect("a test loads every preset")),
        None => Err(nearest(name, preset_names())),
    }
}

pub(super) fn not_a_preset(name: &str) -> String {
    let known: Vec<&str> = preset_names().collect();
    format!("`{name}` is not a preset: expected one of {}, or a table [[member]]", known.join(", "))
}
