//! Disk specifications: a preset, or a user's own TOML file of the same form.
//!
//! A file says `kind = "hdd"`, `"ssd"`, `"raid"`, `"fixed"` or `"null"`, and then that kind's keys. Every number
//! carries its unit in the value (`"8.9ms"`, `"40MB/s"`, `"2MiB"`, `"7200rpm"`, `"0.12rev"`). Tables of optional
//! mechanisms may be left out.
//! `[[fault]]`, `[delay]` and `[tracer]` can be put around a disk of any kind. `[[published]]` quotes published
//! figures, `[[validated]]` describes the validation, and `[fit]` gives the ranges of fitted values; these three change
//! nothing. `presets/` holds examples with the source of every number.

use std::fs::File;
use std::io::{self, Read};

use blksched::Span;
use blksched_text::document::{Complaint, Section, Source, TextRange};
use blksched_text::{nearest, path_of_name, utf8};

use crate::fixed::Fixed;
use crate::hdd::Hdd;
use crate::middleware::{Caps, Coalescing, CommandWindow, ControllerCache, Delay, Faults, Power, Tracer};
use crate::null::Null;
use crate::raid::Raid;
use crate::sheet::Published;
use crate::ssd::Ssd;
use crate::{Attached, Disk};

mod bound;
mod changes;
mod error;
mod fit;
mod fixed;
mod hdd;
mod iocost;
mod layout;
mod look_ahead_rules;
mod middleware;
mod other;
mod overhead;
mod published;
mod raid;
mod raid_short;
mod reader;
mod ssd;
mod tails;
mod units;

pub use changes::load_changed;
pub(crate) use changes::parse_changed;
pub use error::DiskError;
pub use fit::{Fit, TailOf, Validated};
pub use fixed::{FixedCost, FixedSpec};
pub use hdd::{
    CacheOrder, DestageSpec, FlushMode, GeometrySpec, HddSpec, LookAheadSpec, NcqSpec, OverheadSpec, QueueOrder,
    SeekSpec, WriteCacheSpec, ZonesSpec,
};
pub use iocost::{IocostModel, SixFigures, iocost_models};
pub(crate) use layout::HEAD_ORDERS;
pub use layout::{HeadOrder, LayoutSpec, ZoneSpec};
pub use look_ahead_rules::{
    AfterHit, Begins, CountsFrom, Delivered, LookAheadRules, Overwritten, Passing, Reach, WrittenData,
};
pub use middleware::{
    CapSpec, CapsSpec, CoalescingSpec, ControllerCacheSpec, DelaySpec, FaultAction, FaultSpec, MiddlewareSpec,
    PowerSpec, RareDelay,
};
use other::OtherFile;
pub use overhead::{CaseOverheads, CommandOverheads, Watermark, Watermarks};
pub use raid::{Level, MirrorReads, RaidSpec, RebuildSpec};
use reader::Quantities as _;
pub use ssd::{
    Before, BufferSpec, CollectionSpec, Duplex, FlashSpec, Interference, InterferenceSpec, MapSpec, PageMapSpec,
    PowerLoss, SsdInterfaceSpec, SsdOverheadSpec, SsdSpec,
};
pub use tails::{DriveState, MapCacheSpec, PageTimes, RetrySpec, SlcSpec, SlcWhenFull, StallSpec, TailsSpec};
pub use units::{Rate, Turn};

/// The keys at the top of a disk's file: those of its kind, together with the common ones.
macro_rules! keys {
    ($($own:literal),* $(,)?) => {
        &[
            "kind", "description", "attached", $($own,)* "fault", "power", "window", "arbitration",
            "controller_cache", "caps", "coalescing", "delay", "tracer", "published", "validated", "fit",
        ]
    };
}
use keys;

/// A disk that can be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskSpec {
    /// The preset's name, or the path as given.
    pub name: String,
    /// A description of one line.
    pub description: String,
    /// Its kind, with the parameters.
    pub model: Model,
    /// How it is attached to its host.
    pub attached: Attached,
    /// The layers around it.
    pub middleware: MiddlewareSpec,
    /// `[[published]]`: figures of others, for its data sheet.
    pub published: Vec<Published>,
    /// `[[validated]]`: what else it was compared with.
    pub validated: Vec<Validated>,
    /// `[fit]`: fitted values, and their plausible ranges.
    pub fits: Vec<Fit>,
}

/// The kinds of disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Model {
    /// Takes no time.
    Null(NullSpec),
    /// Takes the same time for every read, and for every write.
    Fixed(FixedSpec),
    /// Spins.
    Hdd(HddSpec),
    /// Is made of flash.
    Ssd(SsdSpec),
    /// Consists of other disks.
    Raid(RaidSpec),
}

/// A disk that takes no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NullSpec {
    /// Capacity \[512-byte sectors\].
    pub capacity_sectors: u64,
    /// Largest command \[512-byte sectors\].
    pub max_sectors: u32,
    /// The most commands at a time.
    pub depth: u32,
}

impl DiskSpec {
    /// A disk at rest. The seed decides the angle of platters at time zero, and every draw: which pages are slow, what
    /// is read again, a delay's jitter.
    pub fn build(&self, seed: u64) -> Box<dyn Disk> {
        let mut disk: Box<dyn Disk> = match &self.model {
            Model::Null(spec) => Box::new(Null::new(spec)),
            Model::Fixed(spec) => Box::new(Fixed::new(spec)),
            Model::Hdd(spec) => Box::new(Hdd::new(spec, seed)),
            Model::Ssd(spec) => Box::new(Ssd::new(spec, seed)),
            Model::Raid(spec) => Box::new(Raid::new(spec, seed)),
        };
        let MiddlewareSpec {
            faults,
            power,
            window,
            arbitration_burst: _,
            controller_cache,
            caps,
            coalescing,
            delay,
            tracer,
        } = &self.middleware;
        if !faults.is_empty() {
            disk = Box::new(Faults::new(disk, faults));
        }
        if let Some(power) = power {
            disk = Box::new(Power::new(disk, power));
        }
        if let Some(commands) = window {
            disk = Box::new(CommandWindow::new(disk, *commands));
        }
        if let Some(cache) = controller_cache {
            disk = Box::new(ControllerCache::new(disk, cache));
        }
        if let Some(caps) = caps {
            disk = Box::new(Caps::new(disk, caps));
        }
        if let Some(coalescing) = coalescing {
            disk = Box::new(Coalescing::new(disk, coalescing));
        }
        if let Some(delay) = delay {
            disk = Box::new(Delay::new(disk, delay, seed));
        }
        match tracer {
            Some(capacity) => Box::new(Tracer::new(disk, *capacity)),
            None => disk,
        }
    }

    /// The same disk accepting `depth` commands at a time. An hdd without a command queue gets one (shortest
    /// positioning time first, age limit 1 s) if `depth` is more than 1.
    ///
    /// # Panics
    /// If `depth` is 0.
    pub fn with_depth(mut self, depth: u32) -> DiskSpec {
        assert!(depth > 0, "a disk takes at least one command at a time");
        match &mut self.model {
            Model::Null(spec) => spec.depth = depth,
            Model::Fixed(spec) => spec.depth = depth,
            Model::Ssd(spec) => spec.depth = depth,
            Model::Raid(spec) => spec.depth = depth,
            Model::Hdd(HddSpec { ncq: Some(ncq), .. }) => ncq.depth = depth,
            Model::Hdd(_) if depth == 1 => {}
            Model::Hdd(spec) => {
                let (order, limit) = (QueueOrder::Positioning, Span::from_secs(1));
                let (age_limit, sequential_limit, sequential_wait) = (limit, limit, Span::ZERO);
                spec.ncq = Some(NcqSpec { depth, order, ahead: 0, age_limit, sequential_limit, sequential_wait });
            }
        }
        self
    }

    /// The most commands at a time.
    pub fn depth(&self) -> u32 {
        match &self.model {
            Model::Null(spec) => spec.depth,
            Model::Fixed(spec) => spec.depth,
            Model::Hdd(spec) => spec.ncq.map_or(1, |ncq| ncq.depth),
            Model::Ssd(spec) => spec.depth,
            Model::Raid(spec) => spec.depth,
        }
    }

    /// The same disk without what varies: every page takes `flash.read`, nothing is read again, the whole map is in
    /// memory, writes do not stall, nothing sleeps, the host's path has no jitter and no coalesced interrupts; for an
    /// array, in every member. Collection, interference and platters still vary.
    #[must_use]
    pub fn without_tails(mut self) -> DiskSpec {
        match &mut self.model {
            Model::Ssd(spec) => {
                spec.tails = TailsSpec::default();
                spec.interference.pulse = Span::ZERO;
            }
            Model::Raid(raid) => {
                raid.members = core::mem::take(&mut raid.members).into_iter().map(DiskSpec::without_tails).collect();
            }
            Model::Null(_) | Model::Fixed(_) | Model::Hdd(_) => {}
        }
        (self.middleware.coalescing, self.middleware.power) = (None, None);
        if let Some(delay) = &mut self.middleware.delay {
            (delay.jitter, delay.rare) = (Span::ZERO, None);
        }
        self
    }

    /// Whether [`DiskSpec::without_tails`] changes anything.
    pub fn has_tails(&self) -> bool {
        *self != self.clone().without_tails()
    }

    /// The ssd inside, for changing its switches; `None` for other kinds.
    pub fn ssd_mut(&mut self) -> Option<&mut SsdSpec> {
        match &mut self.model {
            Model::Ssd(spec) => Some(spec),
            _ => None,
        }
    }

    /// The hdd inside, for changing its switches; `None` for other kinds.
    pub fn hdd_mut(&mut self) -> Option<&mut HddSpec> {
        match &mut self.model {
            Model::Hdd(spec) => Some(spec),
            _ => None,
        }
    }
}

/// Name and TOML of every preset.
const PRESETS: [(&str, &str); 21] = [
    ("hdd-7200-ideal", include_str!("../../presets/hdd-7200-ideal.toml")),
    ("hdd-7200-starves", include_str!("../../presets/hdd-7200-starves.toml")),
    ("hdd-dt01aca200", include_str!("../../presets/hdd-dt01aca200.toml")),
    ("hdd-raptor-10k", include_str!("../../presets/hdd-raptor-10k.toml")),
    ("hdd-travelstar-7k100", include_str!("../../presets/hdd-travelstar-7k100.toml")),
    ("sata-2009", include_str!("../../presets/sata-2009.toml")),
    ("ide-2002", include_str!("../../presets/ide-2002.toml")),
    ("sata-ssd-ideal", include_str!("../../presets/sata-ssd-ideal.toml")),
    ("sata-ssd-s4610", include_str!("../../presets/sata-ssd-s4610.toml")),
    ("sata-ssd-crucial-250", include_str!("../../presets/sata-ssd-crucial-250.toml")),
    ("sata-ssd-mx200-h420i", include_str!("../../presets/sata-ssd-mx200-h420i.toml")),
    ("nvme-ssd-rocket4plus", include_str!("../../presets/nvme-ssd-rocket4plus.toml")),
    ("nvme-ssd-ideal", include_str!("../../presets/nvme-ssd-ideal.toml")),
    ("nvme-ssd-aged", include_str!("../../presets/nvme-ssd-aged.toml")),
    ("nvme-cloud-i3", include_str!("../../presets/nvme-cloud-i3.toml")),
    ("usb-stick", include_str!("../../presets/usb-stick.toml")),
    ("sd-card", include_str!("../../presets/sd-card.toml")),
    ("cloud-gp3", include_str!("../../presets/cloud-gp3.toml")),
    ("cloud-gp2", include_str!("../../presets/cloud-gp2.toml")),
    ("fixed", include_str!("../../presets/fixed.toml")),
    ("null", include_str!("../../presets/null.toml")),
];

/// Names of classes of disks, each for one measured drive of its class (docs/disks.md, "The names without a drive",
/// says why that one).
const STANDING: [(&str, &str); 3] =
    [("hdd-7200", "hdd-dt01aca200"), ("sata-ssd", "sata-ssd-s4610"), ("nvme-ssd", "nvme-ssd-rocket4plus")];

/// The measured drive's preset for which this name stands; `None` for any other name.
pub fn stands_for(name: &str) -> Option<&'static str> {
    STANDING.iter().find(|(standing, _)| *standing == name).map(|(_, preset)| *preset)
}

/// The names that stand for a measured drive's preset, each with that.
pub fn standing_names() -> impl Iterator<Item = (&'static str, &'static str)> {
    STANDING.into_iter()
}

/// A preset's TOML by its name, or by one that stands for it.
fn preset_text(name: &str) -> Option<&'static str> {
    let preset = stands_for(name).unwrap_or(name);
    PRESETS.iter().find(|(known, _)| *known == preset).map(|(_, text)| *text)
}

/// Every preset.
pub fn presets() -> Vec<DiskSpec> {
    PRESETS.iter().map(|(name, text)| parse(name, text).expect("a test loads every preset")).collect()
}

/// Every preset's name and description, without parsing the rest.
pub fn preset_descriptions() -> impl Iterator<Item = (&'static str, &'static str)> {
    PRESETS.iter().map(|(name, text)| {
        let line = text.lines().find_map(|line| line.strip_prefix("description = \""));
        let description = line.and_then(|rest| rest.strip_suffix('"'));
        (*name, description.expect("a test reads every description"))
    })
}

/// The preset that this name is, or that the members of this RAID are; `None` for anything else.
pub fn preset_of(name: &str) -> Option<&'static str> {
    let is_meant = |preset: &str| name == preset || name.strip_suffix(preset).is_some_and(|lead| lead.ends_with('x'));
    preset_names().find(|preset| is_meant(preset))
}

/// How many values of this preset its file marks as fitted; 0 for anything else.
pub fn fitted_in(preset: &str) -> usize {
    let text = preset_text(preset).unwrap_or_default();
    text.lines().filter(|line| line.contains('=') && line.contains("# FIT")).count()
}

/// Every name that [`builtin`] knows without more words: those that stand for a preset, and the presets.
pub fn preset_names() -> impl Iterator<Item = &'static str> {
    STANDING.iter().map(|(name, _)| *name).chain(PRESETS.iter().map(|(name, _)| *name))
}

/// A preset by its name, an SSD with known figures (`iocost:MODEL`), presets as a RAID (`raid5:4xhdd-7200`), or else a
/// TOML file or an `io.cost.model` of one disk by its path; with `ideal:` in front, any of them without tails.
///
/// # Errors
/// If it is neither, or the file cannot be read or is invalid; the error says where and what was expected.
pub fn load(name_or_path: &str) -> Result<DiskSpec, DiskError> {
    if let Some(varied) = name_or_path.strip_prefix(IDEAL) {
        return Ok(ideal(load(varied)?));
    }
    known(name_or_path).unwrap_or_else(|| {
        let text = text_of(name_or_path)?;
        match other::recognise(name_or_path, &text)? {
            Some(OtherFile::IoCost(line)) => iocost::load(name_or_path, line),
            Some(OtherFile::Description) => Err(other::no_model(name_or_path)),
            None => parse(name_or_path, &text),
        }
    })
}

/// In front of a disk's name: the same without tails, [`DiskSpec::without_tails`].
pub const IDEAL: &str = "ideal:";

/// The same without files: a preset, `iocost:MODEL`, or presets as a RAID.
///
/// # Errors
/// If it is none of them, with the nearest preset; or of a RAID's description.
pub fn builtin(name: &str) -> Result<DiskSpec, DiskError> {
    if let Some(varied) = name.strip_prefix(IDEAL) {
        return Ok(ideal(builtin(varied)?));
    }
    known(name).unwrap_or_else(|| Err(unknown(name)))
}

/// Words that people use for a class of disks, and the preset that stands for it.
const CLASSES: [(&str, &str); 8] = [
    ("gp2", "cloud-gp2"),
    ("gp3", "cloud-gp3"),
    ("hdd", "hdd-7200"),
    ("ide", "ide-2002"),
    ("nvme", "nvme-ssd"),
    ("sd", "sd-card"),
    ("ssd", "sata-ssd"),
    ("usb", "usb-stick"),
];

/// The preset that this word of people's stands for; any other word as it is.
///
/// ```
/// assert_eq!(["hdd", "hdd-7200", "x"].map(blksched_disks::class), ["hdd-7200", "hdd-7200", "x"]);
/// ```
pub fn class(word: &str) -> &str {
    CLASSES.iter().find(|(class, _)| *class == word).map_or(word, |(_, preset)| preset)
}

/// The same disk without tails, and named so. What it and its members were validated against holds for it no more.
fn ideal(disk: DiskSpec) -> DiskSpec {
    if !disk.has_tails() {
        return disk;
    }
    let name = format!("{IDEAL}{}", disk.name);
    let mut ideal = DiskSpec { name, validated: Vec::new(), ..disk.without_tails() };
    if let Model::Raid(raid) = &mut ideal.model {
        raid.members.iter_mut().for_each(|member| member.validated = Vec::new());
    }
    ideal
}

/// `None` unless the name is built in.
fn known(name: &str) -> Option<Result<DiskSpec, DiskError>> {
    let name = class(name);
    if let Some(text) = preset_text(name) {
        return Some(parse(name, text));
    }
    match iocost::asked(name) {
        Some(asked) => Some(iocost::load(name, asked)),
        None => raid_short::short(name),
    }
}

fn unknown(name: &str) -> DiskError {
    let known: Vec<&str> = preset_names().collect();
    let words = known.iter().copied().chain(CLASSES.map(|(class, _)| class));
    let nearest = nearest(name, words);
    DiskError::UnknownDisk { name: name.to_owned(), nearest, known }
}

/// No description of a disk is longer; an endless file (`/dev/zero`) is longer than this \[bytes\].
const MOST_BYTES: u64 = 16 << 20;

/// All of a TOML file.
fn text_of(path: &str) -> Result<String, DiskError> {
    let read = |file: File| {
        let mut bytes = Vec::new();
        match file.take(MOST_BYTES + 1).read_to_end(&mut bytes)? as u64 {
            0..=MOST_BYTES => Ok(bytes),
            _ => Err(io::Error::other("longer than 16 MiB: expected the description of a disk")),
        }
    };
    let bytes = File::open(path_of_name(path)).and_then(read).map_err(|error| {
        let is_name = !path.contains(['/', '\\']) && !path.ends_with(".toml");
        if error.kind() == io::ErrorKind::NotFound && is_name {
            return unknown(path);
        }
        DiskError::Unreadable { file: path.to_owned(), reason: error.to_string() }
    })?;
    utf8(bytes).map_err(|not| DiskError::Invalid {
        file: path.to_owned(),
        line: not.line,
        column: not.column,
        problem: not.problem(),
        nearest: None,
    })
}

/// A disk from the text of a TOML file; `file` is its name in messages.
///
/// # Errors
/// As [`load`].
pub fn parse(file: &str, text: &str) -> Result<DiskSpec, DiskError> {
    let source = Source { file, text };
    let document = source.parse()?;
    let (top, model, attached, middleware) = read_disk(source, document.get_ref(), 0..0)?;
    let (name, description) = (file.to_owned(), top.needs_text("description")?.value);
    let (published, validated) = (published::read(&top)?, fit::validated(&top)?);
    let fits = fit::read(source, document.get_ref())?;
    Ok(DiskSpec { name, description, model, attached, middleware, published, validated, fits })
}

/// A disk from a table, which may be the document or a member's.
fn read_disk<'t>(
    source: Source<'t>,
    table: &'t toml::de::DeTable<'t>,
    at: TextRange,
) -> Result<(Section<'t>, Model, Attached, MiddlewareSpec), Complaint> {
    let kind = read_kind(source, table, at.clone())?;
    let top = Section::open(source, "", table, at, kind.keys())?;
    let model = match kind {
        DiskKind::Null => Model::Null(read_null(&top)?),
        DiskKind::Fixed => Model::Fixed(fixed::read(&top)?),
        DiskKind::Hdd => Model::Hdd(hdd::read(&top)?),
        DiskKind::Ssd => Model::Ssd(ssd::read(&top)?),
        DiskKind::Raid => Model::Raid(raid::read(&top)?),
    };
    let attached = match top.has("attached") {
        true => top.word("attached", &Attached::WORDS)?,
        false => model.usually_attached(),
    };
    let middleware = middleware::read(&top, attached)?;
    Ok((top, model, attached, middleware))
}

impl Model {
    /// How a disk of this kind is attached to its host by default.
    fn usually_attached(&self) -> Attached {
        match self {
            Model::Null(_) | Model::Fixed(_) => Attached::Loop,
            Model::Hdd(_) => Attached::Sata,
            // More commands than SATA has tags.
            Model::Ssd(spec) if spec.depth > 32 => Attached::Nvme,
            Model::Ssd(_) => Attached::Sata,
            Model::Raid(_) => Attached::Scsi,
        }
    }
}

#[derive(Clone, Copy)]
enum DiskKind {
    Null,
    Fixed,
    Hdd,
    Ssd,
    Raid,
}

impl DiskKind {
    fn keys(self) -> &'static [&'static str] {
        match self {
            DiskKind::Null => keys!["capacity", "max_command", "depth"],
            DiskKind::Fixed => fixed::KEYS,
            DiskKind::Hdd => hdd::KEYS,
            DiskKind::Ssd => ssd::KEYS,
            DiskKind::Raid => raid::KEYS,
        }
    }
}

/// The kind must be known before the other keys can be checked.
fn read_kind(source: Source<'_>, table: &toml::de::DeTable<'_>, at: TextRange) -> Result<DiskKind, Complaint> {
    let kinds = [
        ("null", DiskKind::Null),
        ("fixed", DiskKind::Fixed),
        ("hdd", DiskKind::Hdd),
        ("ssd", DiskKind::Ssd),
        ("raid", DiskKind::Raid),
    ];
    let names = || kinds.iter().map(|(name, _)| *name);
    let expected = names().collect::<Vec<_>>().join(", ");
    let Some(value) = table.get("kind") else {
        let problem = format!("the disk lacks the key `kind`, one of {expected}");
        return Err(source.complain(&at, problem));
    };
    let word = value.get_ref().as_str().unwrap_or("this");
    match kinds.iter().find(|(name, _)| *name == word) {
        Some(&(_, kind)) => Ok(kind),
        None => {
            let problem = format!("`{word}` is not a kind of disk");
            Err(source.unknown(&value.span(), &problem, word, names()))
        }
    }
}

fn read_null(top: &Section<'_>) -> Result<NullSpec, Complaint> {
    Ok(NullSpec {
        capacity_sectors: top.capacity("capacity")?,
        max_sectors: max_command(top)?,
        depth: top.count_within("depth", 1..=65_536)?,
    })
}

/// The largest command, limited by a 16-bit sector count.
fn max_command(top: &Section<'_>) -> Result<u32, Complaint> {
    Ok(top.sectors("max_command", 8..=65_536)?.value as u32)
}
