//! An array by its name: `raid5:4xhdd-7200`, `raid6:6xhdd-7200,failed=1,rebuild=10%,stripe_cache_size=4096`.

use blksched_text::document::{Complaint, Source};
use blksched_text::nearest;

use super::error::DiskError;
use super::raid::{self, LEVELS, RaidSpec, RebuildSpec};
use super::{DiskSpec, MirrorReads, Model, units};
use crate::Attached;

/// The words that may follow the members.
const WORDS: [&str; 7] =
    ["failed", "rebuild", "sync_speed_min", "sync_speed_max", "stripe_cache_size", "preread_bypass_threshold", "chunk"];

/// The options so far, with their places in the text.
#[derive(Default)]
struct WordsSaid<'t> {
    words: Vec<(&'static str, &'t str, usize)>,
}

impl<'t> WordsSaid<'t> {
    fn get(&self, word: &str) -> Option<(&'t str, usize)> {
        self.words.iter().find(|said| said.0 == word).map(|&(_, value, at)| (value, at))
    }
}

/// An array with this name; `None` if the text does not begin like one.
pub(super) fn short(text: &str) -> Option<Result<DiskSpec, DiskError>> {
    let (level, rest) = text.strip_prefix("raid")?.split_once(':')?;
    Some(read(text, level, rest).map_err(DiskError::from))
}

fn read(text: &str, level: &str, rest: &str) -> Result<DiskSpec, Complaint> {
    let source = Source { file: text, text };
    let behind = text.len() - rest.len();
    let wrong = |at: usize, problem: String| source.complain(&(at..at), problem);
    let Some(&(_, known)) = LEVELS.iter().find(|(name, _)| *name == level) else {
        return Err(wrong(4, format!("`{level}` is not a level: expected one of 0, 1, 5, 6, 10")));
    };
    let (members, options) = rest.split_once(',').map_or((rest, None), |(members, rest)| (members, Some(rest)));
    let count = members.split_once('x').and_then(|(count, name)| Some((count.parse::<u32>().ok()?, name)));
    let Some((count, name)) = count else {
        return Err(wrong(behind, format!("`{members}` gives no number of members, as in \"raid5:4xhdd-7200\"")));
    };
    raid::check_count(known, count).map_err(|problem| wrong(behind, problem))?;
    let at = behind + members.len() - name.len();
    let member = raid::preset(name).map_err(|nearest| wrong(at, raid::not_a_preset(name)).meaning(nearest))?;
    let said = options.map_or(Ok(WordsSaid::default()), |options| split(source, options))?;
    let members = vec![member; count as usize];
    let raid = options_of(
        source,
        &said,
        RaidSpec {
            level: known,
            failed: 0,
            rebuild: None,
            stripe_cache_size: raid::STRIPE_CACHE_SIZE,
            preread_bypass_threshold: raid::PREREAD_BYPASS_THRESHOLD,
            chunk_sectors: raid::CHUNK_SECTORS,
            max_sectors: raid::MAX_SECTORS,
            depth: raid::usual_depth(&members),
            reads: MirrorReads::Balanced,
            members,
        },
    )?;
    Ok(DiskSpec {
        name: text.to_owned(),
        description: description(level, name, &raid),
        model: Model::Raid(raid),
        attached: Attached::Scsi,
        middleware: Default::default(),
        published: Vec::new(),
        validated: Vec::new(),
        fits: Vec::new(),
    })
}

fn description(level: &str, name: &str, raid: &RaidSpec) -> String {
    let kib = raid.chunk_sectors / 2;
    let mut text = format!("{} {name} as RAID {level}, chunks of {kib} KiB", raid.members.len());
    if raid.failed > 0 {
        text += &format!(", {} failed", raid.failed);
    }
    if let Some(rebuild) = raid.rebuild {
        text += &format!(", one being rebuilt, {} % done", rebuild.percent);
    }
    text
}

/// Splits `word=value,word=value`.
fn split<'t>(source: Source<'t>, options: &'t str) -> Result<WordsSaid<'t>, Complaint> {
    let mut said = WordsSaid::default();
    let mut at = source.text.len() - options.len();
    for option in options.split(',') {
        let (word, value) = option.split_once('=').unwrap_or((option, ""));
        let Some(known) = WORDS.into_iter().find(|known| *known == word) else {
            let problem = format!("an array has no `{word}`: expected one of {}", WORDS.join(", "));
            return Err(source.complain(&(at..at), problem).meaning(nearest(word, WORDS)));
        };
        if said.get(known).is_some() {
            return Err(source.complain(&(at..at), format!("`{word}` is given twice: expected once")));
        }
        said.words.push((known, value, at));
        at += option.len() + 1;
    }
    Ok(said)
}

fn options_of(source: Source<'_>, said: &WordsSaid<'_>, mut raid: RaidSpec) -> Result<RaidSpec, Complaint> {
    let wrong = |at: usize, problem: String| source.complain(&(at..at), problem);
    let number = |word: &str, range: core::ops::RangeInclusive<u32>, usual: u32| {
        let Some((value, at)) = said.get(word) else { return Ok(usual) };
        let (low, high) = (range.start(), range.end());
        let expected = format!("`{value}` is not a value for `{word}`: expected a whole number from {low} to {high}");
        value.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| wrong(at, expected))
    };
    raid.failed = number("failed", 0..=raid.level.most_members(), 0)?;
    if let Some((value, at)) = said.get("rebuild") {
        let percent = value.strip_suffix('%').and_then(|number| number.parse().ok()).filter(|percent| *percent < 100);
        let expected = || {
            format!(
                "`{value}` is not a value for `rebuild`: expected how much is done, from 0% to 99%, as in `rebuild=10%`"
            )
        };
        raid.rebuild = Some(RebuildSpec {
            percent: percent.ok_or_else(|| wrong(at, expected()))?,
            sync_speed_min: number("sync_speed_min", raid::SYNC_SPEEDS, raid::SYNC_SPEED_MIN)?,
            sync_speed_max: number("sync_speed_max", raid::SYNC_SPEEDS, raid::SYNC_SPEED_MAX)?,
        });
    } else if let Some((word, at)) =
        ["sync_speed_min", "sync_speed_max"].into_iter().find_map(|word| Some((word, said.get(word)?.1)))
    {
        return Err(wrong(at, raid::without_rebuild(word)));
    }
    let at = said.get("failed").or(said.get("rebuild")).map_or(0, |(_, at)| at);
    raid::check_lost(raid.level, raid.members.len() as u32, raid.failed, raid.rebuild.is_some())
        .map_err(|problem| wrong(at, problem))?;
    raid.stripe_cache_size = number("stripe_cache_size", raid::STRIPE_CACHE_SIZES, raid.stripe_cache_size)?;
    raid.preread_bypass_threshold =
        number("preread_bypass_threshold", 0..=raid.stripe_cache_size, raid.preread_bypass_threshold)?;
    if let Some((value, at)) = said.get("chunk") {
        let sectors = units::sectors(value).filter(|sectors| (8..=65_536).contains(sectors));
        let expected =
            format!("`{value}` is not a value for `chunk`: expected a size from 4KiB to 32768KiB, as in 64KiB");
        raid.chunk_sectors = sectors.ok_or_else(|| wrong(at, expected))?;
        raid::check_chunk(raid.level, raid.chunk_sectors).map_err(|problem| wrong(at, problem))?;
    }
    Ok(raid)
}
